//! What is in files: whether two are the same, and what can be shown of one. Bounded in bytes.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::OwnedFd;

use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use crate::changes::look::{Bound, Closeness, READ_BYTES_MAX};
use crate::changes::set::{Content, hex};
use crate::changes::{ChangesError, io};

/// A file that is longer is not shown as text.
const TEXT_BYTES_MAX: u64 = 64 << 10;
/// A text of more lines is not compared line by line.
const LINES_MAX: usize = 2_000;
/// All texts that are kept to be shown are at most so long.
const SHOWN_BYTES_MAX: usize = 256 << 10;
/// How much is read at once.
const PIECE: usize = 128 << 10;

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
        let (mut file, mut hasher, mut length) = (opened(new)?, Sha256::new(), 0);
        loop {
            let count = fill(&mut file, &mut self.pieces.0)?;
            hasher.update(&self.pieces.0[..count]);
            length += count;
            if count < PIECE {
                break;
            }
        }
        // What fits one piece is still in it.
        let text = if size <= TEXT_BYTES_MAX { text(&self.pieces.0[..length.min(PIECE)]) } else { None };
        let content = match (text.map(str::to_owned), old) {
            (Some(new), Some((old, size))) if size <= TEXT_BYTES_MAX => {
                self.count(size)?;
                let count = fill(&mut opened(old)?, &mut self.pieces.1)?;
                self::text(&self.pieces.1[..count]).map_or(Content::Hidden, |old| compared(old, &new))
            }
            (Some(new), None) => Content::Text(new),
            _ => Content::Hidden,
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

fn text(bytes: &[u8]) -> Option<&str> {
    if bytes.contains(&0) { None } else { std::str::from_utf8(bytes).ok() }
}

fn compared(old: &str, new: &str) -> Content {
    if old.lines().count().max(new.lines().count()) > LINES_MAX {
        return Content::Hidden;
    }
    let diff = TextDiff::from_lines(old, new);
    Content::Diff(diff.unified_diff().context_radius(2).missing_newline_hint(true).to_string())
}
