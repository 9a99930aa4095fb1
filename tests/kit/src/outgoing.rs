//! What goes out.

use hob_core::domain::ids::{OutboxId, RunId};
use hob_core::domain::outgoing::{Destination, Outgoing};

/// Plain words, as the first row of the outbox.
pub fn plain(destination: Destination, run: Option<RunId>, text: &str) -> Outgoing {
    Outgoing {
        id: OutboxId(1),
        destination,
        run,
        text: text.to_owned(),
        markup: None,
        replaces: None,
        envelope: None,
        choices: Vec::new(),
        file: None,
        may_repeat: false,
    }
}
