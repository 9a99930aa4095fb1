//! Lines for systemd's journal: each begins with its priority, so that `journalctl -p warning` finds what it should.

use std::fmt;

use rustix::fs::fstat;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Whether standard error goes to the journal; `told`: what systemd says in `$JOURNAL_STREAM`.
pub fn is_read(told: Option<&str>) -> bool {
    fstat(std::io::stderr()).is_ok_and(|stream| names(told, stream.st_dev, stream.st_ino))
}

/// Is this the stream that is named? A shell may have sent it elsewhere since.
fn names(told: Option<&str>, device: u64, inode: u64) -> bool {
    let told = told.and_then(|told| told.split_once(':'));
    told.is_some_and(|(of, at)| of.parse() == Ok(device) && at.parse() == Ok(inode))
}

/// Syslog's priority of a level.
const fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

/// Puts the priority before each event, if the journal reads it.
pub(super) struct PriorityFormat<F> {
    pub(super) inner: F,
    pub(super) is_on: bool,
}

impl<S, N, F> FormatEvent<S, N> for PriorityFormat<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if self.is_on {
            write!(writer, "<{}>", priority(*event.metadata().level()))?;
        }
        self.inner.format_event(context, writer, event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_known_by_its_stream() {
        for (told, expected) in
            [(Some("8:4711"), true), (Some("8:12"), false), (Some("9:4711"), false), (Some("x"), false), (None, false)]
        {
            assert_eq!(names(told, 8, 4711), expected, "{told:?}");
        }
        assert!(!is_read(None));
    }

    #[test]
    fn levels_have_syslogs_priorities() {
        let all = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
        assert_eq!(all.map(priority), [3, 4, 6, 7, 7]);
    }
}
