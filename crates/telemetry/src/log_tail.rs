//! The last lines of this process's log, for whoever looks at it on the page: as many as fit, and as the log itself has them.
//!
//! Never: a line that the log would not have, one below INFO, or a link that lets somebody in.
//! Start at [`since`].

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::sync::{LazyLock, Mutex};

use jiff::Timestamp;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::FilterExt as _;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::writer::MakeWriter;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer};

use crate::{TelemetryError, hidden};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::lock::lock;

/// So many lines are kept.
pub const LINES_MAX: usize = 1_000;
const LINE_BYTES_MAX: usize = 4_000;

static TAIL: LazyLock<LogTail> = LazyLock::new(LogTail::default);

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailLine {
    /// Each has the next number, from 1 on, in this process.
    pub id: u64,
    pub at: Timestamp,
    /// How bad it is.
    pub level: Level,
    /// Which part of the program says it.
    pub target: String,
    /// The spans around it, the message and its fields. Without secrets.
    pub text: String,
}

/// The last lines.
#[derive(Debug, Default)]
struct LogTail(Mutex<KeptLines>);

#[derive(Debug, Default)]
struct KeptLines {
    lines: VecDeque<TailLine>,
    last: u64,
}

impl LogTail {
    fn add(&self, level: Level, target: &str, text: String) {
        let at = SystemClock.now();
        let mut kept = lock(&self.0);
        kept.last += 1;
        let id = kept.last;
        if kept.lines.len() >= LINES_MAX {
            kept.lines.pop_front();
        }
        kept.lines.push_back(TailLine { id, at, level, target: target.to_owned(), text });
    }

    fn since(&self, id: u64, level: Level, most: usize) -> (Vec<TailLine>, u64) {
        let kept = lock(&self.0);
        // The levels are ordered by how much is told: an error is the least.
        let wanted = kept.lines.iter().rev().take_while(|line| line.id > id).filter(|line| line.level <= level);
        let mut lines: Vec<TailLine> = wanted.take(most).cloned().collect();
        lines.reverse();
        (lines, kept.last)
    }
}

/// The newest lines after the one with this number, at most so many, as bad as `level` or worse; and the newest number of
/// all. A number that is greater than it is another process's.
pub fn since(id: u64, level: Level, most: usize) -> (Vec<TailLine>, u64) {
    TAIL.since(id, level, most)
}

/// What keeps the lines of a log with this filter.
pub(super) fn layer<S>(filter: &str) -> Result<Box<dyn Layer<S> + Send + Sync>, TelemetryError>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let filter = EnvFilter::builder().parse(filter)?.and(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .fmt_fields(LogFields(DefaultFields::new()))
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_ansi(false)
        .with_writer(LineKeeper(&TAIL));
    Ok(lines.with_filter(filter).boxed())
}

/// Fields as the log has them. Under the same name both would add to the fields of a span what is recorded later.
struct LogFields(DefaultFields);

impl<'writer> FormatFields<'writer> for LogFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        self.0.format_fields(writer, fields)
    }
}

/// Makes what takes one line.
struct LineKeeper(&'static LazyLock<LogTail>);

impl<'a> MakeWriter<'a> for LineKeeper {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> LineWriter<'a> {
        LineWriter { tail: self.0, level: Level::INFO, target: String::new() }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> LineWriter<'a> {
        LineWriter { tail: self.0, level: *about.level(), target: about.target().to_owned() }
    }
}

/// Takes one line, which comes whole.
struct LineWriter<'a> {
    tail: &'a LogTail,
    level: Level,
    target: String,
}

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = hidden(String::from_utf8_lossy(line).trim_end());
        let end = text.floor_char_boundary(LINE_BYTES_MAX.min(text.len()));
        self.tail.add(self.level, &self.target, text.get(..end).unwrap_or_default().to_owned());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_the_last_lines_are_kept_and_told_from_a_number_on() {
        let tail = LogTail::default();
        assert_eq!(tail.since(0, Level::INFO, 10), (Vec::new(), 0));
        for number in 1..=LINES_MAX + 5 {
            let level = if number % 100 == 0 { Level::WARN } else { Level::INFO };
            tail.add(level, "hob", format!("line {number}"));
        }
        let texts = |(lines, last): (Vec<TailLine>, u64)| {
            assert_eq!(last, 1_005);
            lines.into_iter().map(|line| line.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(tail.since(0, Level::INFO, usize::MAX)).len(), LINES_MAX);
        assert_eq!(texts(tail.since(1_003, Level::INFO, 10)), ["line 1004", "line 1005"]);
        assert_eq!(texts(tail.since(800, Level::WARN, 10)), ["line 900", "line 1000"]);
        assert_eq!(texts(tail.since(0, Level::INFO, 2)), ["line 1004", "line 1005"], "the newest");
        assert!(texts(tail.since(0, Level::ERROR, 10)).is_empty());
        assert!(texts(tail.since(9_999, Level::INFO, 10)).is_empty(), "of an earlier process");
    }
}
