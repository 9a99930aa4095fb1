//! What a command prints, in a file of bounded size: its head, and its tail in a ring.
//!
//! The file has no name; it is gone with whoever holds it, a killed Hob too.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The output of a command of any length.
pub(super) struct Spool {
    file: File,
    half: u64,
    total: u64,
    /// How much was printed since the file could not be written.
    unkept: u64,
}

/// A stretch of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SpoolExcerpt {
    /// What is kept before the gap, or all.
    head: Vec<u8>,
    /// How much was printed between the two and is not kept.
    lost: u64,
    /// What is kept after it.
    tail: Vec<u8>,
    /// How much was printed after all that and could not be kept.
    unkept: u64,
}

impl Spool {
    /// An empty one, of at most so many bytes, in this folder's file system.
    pub(super) fn new(dir: &Path, bytes_max: u64) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile_in(dir)?, half: (bytes_max / 2).max(1), total: 0, unkept: 0 })
    }

    /// How much was printed up to now.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes what was printed next. Where the disk is full that is lost, and said: no reason to end the command.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        let before = self.total;
        let kept = if self.unkept == 0 { self.push(bytes) } else { Ok(()) };
        if let Err(error) = kept {
            tracing::warn!(%error, "what a command prints cannot be kept any more");
        } else if self.unkept == 0 {
            return;
        }
        self.unkept += bytes.len() as u64 - (self.total - before);
    }

    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (at, room) = self.place(self.total);
            let count = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(count);
            self.file.write_all_at(now, at)?;
            self.total += count as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Where a byte has its place, and how many follow it there without a break.
    fn place(&self, at: u64) -> (u64, u64) {
        if at < self.half {
            return (at, self.half - at);
        }
        let around = (at - self.half) % self.half;
        (self.half + around, self.half - around)
    }

    /// What was printed from there on, as far as it is kept.
    pub(super) fn excerpt_from(&self, from: u64) -> io::Result<SpoolExcerpt> {
        let from = from.min(self.total);
        let tail_from = self.total.saturating_sub(self.half).max(self.half);
        let head_end = self.half.min(self.total);
        let head = if from < head_end { self.read(from, head_end)? } else { Vec::new() };
        let next = from.max(head_end);
        let begin = next.max(tail_from).min(self.total);
        let tail = self.read(begin, self.total)?;
        Ok(SpoolExcerpt { head, lost: begin - next.min(begin), tail, unkept: self.unkept })
    }

    fn read(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut at = from;
        while at < to {
            let (place, room) = self.place(at);
            let count = room.min(to - at);
            let start = all.len();
            all.resize(start + usize::try_from(count).unwrap_or(0), 0);
            self.file.read_exact_at(&mut all[start..], place)?;
            at += count;
        }
        Ok(all)
    }
}

impl SpoolExcerpt {
    /// Its text; what is not UTF-8 is replaced.
    pub(super) fn into_text(self) -> String {
        let kept = if self.lost == 0 {
            String::from_utf8_lossy(&[self.head, self.tail].concat()).into_owned()
        } else {
            let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
            format!("{head}\n… {} bytes left out …\n{tail}", self.lost)
        };
        if self.unkept == 0 {
            return kept;
        }
        let unkept = self.unkept;
        let end = format!("… {unkept} bytes more were printed and could not be kept: the disk is full or broken …");
        [kept, end].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
impl Spool {
    /// One whose disk has no room at all.
    pub(super) fn on_full_disk() -> Self {
        let file = File::options().write(true).open("/dev/full").unwrap();
        Self { file, half: 8, total: 0, unkept: 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spool(bytes_max: u64) -> Spool {
        Spool::new(&std::env::temp_dir(), bytes_max).unwrap()
    }

    #[test]
    fn c9_output_is_kept_whole_up_to_the_bound_and_then_by_its_ends() {
        let mut spool = spool(8);
        assert_eq!(spool.excerpt_from(0).unwrap().into_text(), "");
        spool.push(b"12345").unwrap();
        assert_eq!(spool.excerpt_from(0).unwrap().into_text(), "12345");
        assert_eq!(spool.excerpt_from(4).unwrap().into_text(), "5");
        spool.push(b"6789").unwrap();
        assert_eq!(spool.excerpt_from(0).unwrap().into_text(), "1234\n… 1 bytes left out …\n6789");
        assert_eq!(spool.excerpt_from(5).unwrap().into_text(), "6789");
        assert_eq!((spool.total(), spool.file.metadata().unwrap().len()), (9, 8));
    }

    proptest! {
        #[test]
        fn c9_whatever_was_printed_in_whatever_pieces(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            half in 1_u64..60,
            from in 0_usize..900,
        ) {
            let mut spool = spool(half * 2);
            for piece in &pieces {
                spool.push(piece).unwrap();
            }
            let all = pieces.concat();
            let from = from.min(all.len());
            let SpoolExcerpt { head, lost, tail, .. } = spool.excerpt_from(from as u64).unwrap();
            let lost = usize::try_from(lost).unwrap();
            prop_assert_eq!(head.len() + lost + tail.len(), all.len() - from);
            prop_assert_eq!(&head[..], &all[from..from + head.len()]);
            prop_assert_eq!(&tail[..], &all[all.len() - tail.len()..]);
            // Nothing is lost that there was room for.
            let room = usize::try_from(half).unwrap();
            prop_assert!(lost == 0 || tail.len() == room);
            prop_assert!(lost == 0 || from >= room || head.len() == room - from);
            prop_assert!(spool.file.metadata().unwrap().len() <= half * 2);
        }
    }
}
