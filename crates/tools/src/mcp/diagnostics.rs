//! What became of a server, as far as it is known: for the words about why it does not answer.

use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::mcp::listed::plain;

/// How much of its last words on standard error is kept, in bytes.
const LAST_BYTES_MAX: usize = 2_000;
/// How many characters of them are shown.
const SHOWN_CHARS_MAX: usize = 300;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct ServerDiagnostics {
    facts: Mutex<Facts>,
    /// It said too much: its end.
    pub(super) flood: CancellationToken,
}

#[derive(Debug, Default)]
struct Facts {
    exit: Option<ExitStatus>,
    flood: Option<String>,
    babble: Option<String>,
    last: VecDeque<u8>,
}

impl ServerDiagnostics {
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It ended by itself.
    pub(super) fn note_exit(&self, status: ExitStatus) {
        self.facts().exit = Some(status);
    }

    /// It said too much.
    pub(super) fn note_flood(&self, how: &str) {
        self.facts().flood = Some(how.to_owned());
        self.flood.cancel();
    }

    /// It said something that is not a message; the first is kept.
    pub(super) fn note_non_message(&self, line: &str) {
        self.facts().babble.get_or_insert_with(|| plain(line, SHOWN_CHARS_MAX));
    }

    /// It wrote this to its standard error.
    pub(super) fn note_stderr(&self, bytes: &[u8]) {
        let mut facts = self.facts();
        facts.last.extend(bytes);
        let excess = facts.last.len().saturating_sub(LAST_BYTES_MAX);
        facts.last.drain(..excess);
    }

    /// All of it, in words for people; none: nothing is known.
    pub(super) fn summary(&self) -> String {
        let facts = self.facts();
        let flood = facts.flood.clone();
        let exit = facts.exit.map(|status| format!("it ended ({status})"));
        let babble = facts.babble.as_ref().map(|line| format!("it said what is not MCP: {line:?}"));
        let last = String::from_utf8_lossy(&facts.last.iter().copied().collect::<Vec<u8>>()).into_owned();
        let last = last.trim();
        let from = last.char_indices().rev().nth(SHOWN_CHARS_MAX).map_or(0, |(at, _)| at);
        let last = plain(&last[from..], SHOWN_CHARS_MAX).split_whitespace().collect::<Vec<_>>().join(" ");
        let last = (!last.is_empty()).then(|| format!("its last words were {last:?}"));
        // Who says that it floods needs no more words.
        let rest = [exit, babble, last].into_iter().filter(|_| flood.is_none());
        flood.clone().into_iter().chain(rest.flatten()).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn what_became_of_a_server_is_told_in_a_line() {
        let fate = ServerDiagnostics::default();
        assert_eq!(fate.summary(), "");
        fate.note_exit(ExitStatus::from_raw(256));
        fate.note_stderr(&b"x".repeat(5_000));
        fate.note_stderr(b" npm error\n  404 Not\x1b[0m Found\n");
        let told = fate.summary();
        assert!(told.starts_with("it ended (exit status: 1); its last words were \"xxx"), "{told}");
        assert!(told.ends_with("npm error 404 Not[0m Found\"") && told.len() < 400, "{told}");
        fate.note_flood("it floods");
        assert_eq!(fate.summary(), "it floods");
    }
}
