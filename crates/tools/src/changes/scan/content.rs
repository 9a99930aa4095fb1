//! What is in files: whether two are the same, and what can be shown of one. Bounded in bytes.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::OwnedFd;

use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use crate::changes::scan::limits::READ_BYTES_MAX;
use crate::changes::scan::{ScanDetail, ScanLimit};
use crate::changes::set::ContentPreview;
use crate::changes::{ChangesError, io};
use hob_core::domain::text::hex;

/// So much of a text is shown at most.
pub(in crate::changes) const TEXT_BYTES_MAX: u64 = PIECE as u64;
/// Between the first and the last difference no more lines are compared.
const LINES_MAX: usize = 2_000;
/// All texts that are kept to be shown are at most so long.
const SHOWN_BYTES_MAX: usize = 8 << 20;
/// How much is read at once.
const PIECE: usize = 1 << 20;

/// How much was read, and what is to be known.
pub(super) struct ContentReader {
    closeness: ScanDetail,
    read: u64,
    shown: usize,
    pieces: (Vec<u8>, Vec<u8>),
}

impl ContentReader {
    pub(super) fn new(closeness: ScanDetail) -> Self {
        Self { closeness, read: 0, shown: 0, pieces: (vec![0; PIECE], vec![0; PIECE]) }
    }

    /// Must contents be read?
    pub(super) fn is_wanted(&self) -> bool {
        self.closeness == ScanDetail::Contents
    }

    /// So much more is going to be read.
    fn count(&mut self, bytes: u64) -> Result<(), ScanLimit> {
        self.read = self.read.saturating_add(bytes);
        if self.read > READ_BYTES_MAX { Err(ScanLimit::Bytes) } else { Ok(()) }
    }

    /// Do both hold the same?
    pub(super) fn is_same(&mut self, new: (&OwnedFd, u64), old: (&OwnedFd, u64)) -> Result<bool, ChangesError> {
        if new.1 != old.1 {
            return Ok(false);
        }
        if let Err(bound) = self.count(new.1.saturating_mul(2)) {
            // Whoever only wants to know the paths keeps what may be the same.
            return if self.is_wanted() { Err(bound.into()) } else { Ok(false) };
        }
        let (mut new, mut old) = (reopened_file(new.0)?, reopened_file(old.0)?);
        loop {
            let count = fill(&mut new, &mut self.pieces.0)?;
            if fill(&mut old, &mut self.pieces.1)? != count || self.pieces.0[..count] != self.pieces.1[..count] {
                return Ok(false);
            }
            if count == 0 {
                return Ok(true);
            }
        }
    }

    /// The hash of a file, and what can be shown of it.
    pub(super) fn content(
        &mut self,
        new: &OwnedFd,
        size: u64,
        old: Option<(&OwnedFd, u64)>,
    ) -> Result<(Option<String>, ContentPreview), ChangesError> {
        if !self.is_wanted() {
            return Ok((None, ContentPreview::Hidden));
        }
        self.count(size)?;
        let (mut file, mut hasher, mut content) = (reopened_file(new)?, Sha256::new(), None);
        let mut old = old.map(|(old, _)| reopened_file(old)).transpose()?;
        for piece in 0_u64.. {
            let count = fill(&mut file, &mut self.pieces.0)?;
            hasher.update(&self.pieces.0[..count]);
            if content.is_none() {
                let before = old.as_mut().map(|old| fill(old, &mut self.pieces.1)).transpose()?;
                self.count(u64::try_from(before.unwrap_or_default()).unwrap_or(u64::MAX))?;
                let bytes = &self.pieces.0[..count];
                content = match before {
                    Some(before) => different(piece, bytes, &self.pieces.1[..before]),
                    None => {
                        Some(text(bytes).map_or(ContentPreview::Hidden, |text| ContentPreview::Text(text.to_owned())))
                    }
                };
            }
            if count < PIECE {
                break;
            }
        }
        // No piece is different: its mode is.
        let content = self.clip_preview(content.unwrap_or(ContentPreview::Diff(String::new())));
        Ok((Some(hex(&hasher.finalize())), content))
    }

    /// Only so much is kept to be shown.
    fn clip_preview(&mut self, content: ContentPreview) -> ContentPreview {
        let length = match &content {
            ContentPreview::Hidden => 0,
            ContentPreview::Diff(text) | ContentPreview::Text(text) => text.len(),
        };
        if self.shown + length > SHOWN_BYTES_MAX {
            return ContentPreview::Hidden;
        }
        self.shown += length;
        content
    }
}

/// What is different in a file from its first piece on that is; none: this piece is not.
fn different(piece: u64, new: &[u8], old: &[u8]) -> Option<ContentPreview> {
    if new == old && !new.is_empty() {
        return None;
    }
    let [old, new] = [old, new].map(|bytes| text(trimmed(piece, bytes)));
    let Some((old, new)) = old.zip(new) else { return Some(ContentPreview::Hidden) };
    let from = if piece == 0 { String::new() } else { format!("(from byte {} on)\n", piece * TEXT_BYTES_MAX) };
    Some(ContentPreview::Diff(from + &line_diff(old, new)))
}

/// Of a piece that is not the first, without the rest of a character that began before it.
fn trimmed(piece: u64, bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| piece > 0 && (0x80..=0xBF).contains(*byte)).count();
    &bytes[rest..]
}

/// From its beginning; the handle stays the caller's.
fn reopened_file(handle: &OwnedFd) -> Result<File, ChangesError> {
    let mut file = File::from(handle.try_clone().map_err(io("a file"))?);
    file.rewind().map_err(io("a file"))?;
    Ok(file)
}

/// Reads until the piece is full or the file ends.
fn fill(file: &mut File, piece: &mut [u8]) -> Result<usize, ChangesError> {
    let mut count = 0;
    while count < piece.len() {
        match file.read(&mut piece[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io("a file")(error)),
        }
    }
    Ok(count)
}

/// The bytes as text, if they are; of a text that goes on the last character may be halved.
fn text(bytes: &[u8]) -> Option<&str> {
    let Some(chunk) = bytes.utf8_chunks().next() else { return Some("") };
    let is_whole = chunk.invalid().is_empty();
    let is_cut = bytes.len() + 4 > PIECE && bytes.len() - chunk.valid().len() < 4;
    ((is_whole || is_cut) && !bytes.contains(&0)).then(|| chunk.valid())
}

/// The differences, line by line.
fn line_diff(old: &str, new: &str) -> String {
    let (was, is): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    if was.len().max(is.len()) <= LINES_MAX {
        return unified(&was, &is);
    }
    let same = was.iter().zip(&is).take_while(|(was, is)| was == is).count();
    let (was, is) = (&was[same..], &is[same..]);
    let after = was.iter().rev().zip(is.iter().rev()).take_while(|(was, is)| was == is).count();
    let (was, is) = (&was[..was.len() - after], &is[..is.len() - after]);
    let text = format!("(lines counted from line {} on)\n", same + 1);
    let first = |lines: &[&str]| lines.len().min(LINES_MAX);
    let compared = unified(&was[..first(was)], &is[..first(is)]);
    match was.len().max(is.len()).saturating_sub(LINES_MAX) {
        0 => text + &compared,
        // What was put in moves all that follows: it would be told as gone and new.
        more => format!("{text}{compared}\n(the {more} lines from there on are not compared)"),
    }
}

fn unified(was: &[&str], is: &[&str]) -> String {
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(was, is);
    diff.unified_diff().context_radius(2).missing_newline_hint(true).to_string()
}
