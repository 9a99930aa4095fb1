//! What is in files: whether two are the same, and what can be shown of one. Bounded in bytes.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::OwnedFd;

use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use crate::changes::look::{Bound, Closeness, READ_BYTES_MAX};
use crate::changes::set::{Content, hex};
use crate::changes::{ChangesError, io};

/// So much of a text is shown at most.
pub(in crate::changes) const TEXT_BYTES_MAX: u64 = PIECE as u64;
/// More lines between the first and the last difference are not searched for what has stayed.
const LINES_MAX: usize = 2_000;
/// All texts that are kept to be shown are at most so long.
const SHOWN_BYTES_MAX: usize = 8 << 20;
/// How much is read at once.
const PIECE: usize = 1 << 20;

/// How much was read, and what is to be known.
pub(super) struct Reading {
    closeness: Closeness,
    read: u64,
    shown: usize,
    pieces: (Vec<u8>, Vec<u8>),
}

impl Reading {
    pub(super) fn new(closeness: Closeness) -> Self {
        Self { closeness, read: 0, shown: 0, pieces: (vec![0; PIECE], vec![0; PIECE]) }
    }

    /// Must contents be read?
    pub(super) fn is_wanted(&self) -> bool {
        self.closeness == Closeness::Contents
    }

    /// So much more is going to be read.
    fn count(&mut self, bytes: u64) -> Result<(), Bound> {
        self.read = self.read.saturating_add(bytes);
        if self.read > READ_BYTES_MAX { Err(Bound::Bytes) } else { Ok(()) }
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
        let (mut new, mut old) = (opened(new.0)?, opened(old.0)?);
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
        (new, size): (&OwnedFd, u64),
        old: Option<(&OwnedFd, u64)>,
    ) -> Result<(Option<String>, Content), ChangesError> {
        if !self.is_wanted() {
            return Ok((None, Content::Hidden));
        }
        self.count(size)?;
        let (mut file, mut hasher, mut head) = (opened(new)?, Sha256::new(), None);
        loop {
            let count = fill(&mut file, &mut self.pieces.0)?;
            let piece = &self.pieces.0[..count];
            hasher.update(piece);
            head.get_or_insert_with(|| text(piece).map(str::to_owned));
            if count < PIECE {
                break;
            }
        }
        let content = match (head.flatten(), old) {
            (Some(new), Some((old, size))) => {
                self.count(size.min(TEXT_BYTES_MAX))?;
                let count = fill(&mut opened(old)?, &mut self.pieces.1)?;
                text(&self.pieces.1[..count]).map_or(Content::Hidden, |old| Content::Diff(compared(old, &new)))
            }
            (Some(new), None) => Content::Text(new),
            (None, _) => Content::Hidden,
        };
        Ok((Some(hex(&hasher.finalize())), self.within(content)))
    }

    /// Only so much is kept to be shown.
    fn within(&mut self, content: Content) -> Content {
        let length = match &content {
            Content::Hidden => 0,
            Content::Diff(text) | Content::Text(text) => text.len(),
        };
        if self.shown + length > SHOWN_BYTES_MAX {
            return Content::Hidden;
        }
        self.shown += length;
        content
    }
}

/// From its beginning; the handle stays the caller's.
fn opened(handle: &OwnedFd) -> Result<File, ChangesError> {
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
    let is_cut = bytes.len() == PIECE && bytes.len() - chunk.valid().len() < 4;
    ((is_whole || is_cut) && !bytes.contains(&0)).then(|| chunk.valid())
}

/// The differences, line by line.
fn compared(old: &str, new: &str) -> String {
    let (was, is): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    if was.len().max(is.len()) <= LINES_MAX {
        return unified(&was, &is);
    }
    let same = was.iter().zip(&is).take_while(|(was, is)| was == is).count();
    let (was, is) = (&was[same..], &is[same..]);
    let after = was.iter().rev().zip(is.iter().rev()).take_while(|(was, is)| was == is).count();
    let (was, is) = (&was[..was.len() - after], &is[..is.len() - after]);
    let mut text = format!("(lines counted from line {} on)\n", same + 1);
    if was.len().max(is.len()) <= LINES_MAX {
        return text + &unified(was, is);
    }
    for (mark, line) in was.iter().map(|line| ('-', line)).chain(is.iter().map(|line| ('+', line))) {
        text.push(mark);
        text.push_str(line.trim_end_matches('\n'));
        text.push('\n');
    }
    text
}

fn unified(was: &[&str], is: &[&str]) -> String {
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(was, is);
    diff.unified_diff().context_radius(2).missing_newline_hint(true).to_string()
}
