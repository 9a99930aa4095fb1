//! Words for whoever sits at the terminal, and for no log: by them somebody gets in.

use std::io::{self, IsTerminal as _, Write as _};

/// Tells them; false: nobody sits there. What a service manager or a file would keep is not a terminal.
pub(super) fn tell_terminal(words: &str) -> bool {
    let mut terminal = io::stderr();
    if !terminal.is_terminal() {
        return false;
    }
    let told = writeln!(terminal, "{words}");
    told.inspect_err(|error| tracing::debug!(%error, "the terminal is gone")).is_ok()
}

/// Does somebody sit there?
pub(super) fn is_at_terminal() -> bool {
    io::stderr().is_terminal()
}
