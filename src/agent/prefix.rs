//! What a conversation's requests begin with, and why a provider's cache cannot go on from where it was. Pure.
//!
//! A cache keeps a request's beginning, byte for byte: model, tools, instructions, then the history. What differs first
//! is the reason; the history grows from turn to turn, and breaks the prefix only where it begins elsewhere.

use serde::{Deserialize, Serialize};

use crate::agent::machine::begun::Begun;
use crate::domain::ids::UserId;

/// What the requests of a run begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    model: String,
    tools: String,
    system: String,
    reader: UserId,
    history_from: i64,
}

impl Prefix {
    /// The beginning of a run's requests, as `reader` may see the conversation.
    #[must_use]
    pub fn of(begun: &Begun, reader: UserId) -> Self {
        Self {
            model: begun.models.first().cloned().unwrap_or_default(),
            tools: begun.context.tools.0.clone(),
            system: begun.context.system.0.clone(),
            reader,
            history_from: begun.context.history_from,
        }
    }

    /// The first thing in which it differs from the one before.
    #[must_use]
    pub fn break_since(&self, before: &Self) -> Option<&'static str> {
        if self.model != before.model {
            Some("another model")
        } else if self.tools != before.tools {
            Some("other tools")
        } else if self.system != before.system {
            Some("other instructions")
        } else if self.reader != before.reader {
            Some("another person")
        } else if self.history_from != before.history_from {
            Some("the history begins elsewhere")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_the_reason() {
        let prefix = |model: &str, tools: &str, system: &str, reader, history_from| Prefix {
            model: model.to_owned(),
            tools: tools.to_owned(),
            system: system.to_owned(),
            reader: UserId(reader),
            history_from,
        };
        let before = prefix("m", "t", "s", 1, 1);
        let table = [
            (prefix("m", "t", "s", 1, 1), None),
            (prefix("n", "u", "s", 1, 1), Some("another model")),
            (prefix("m", "u", "v", 1, 1), Some("other tools")),
            (prefix("m", "t", "v", 2, 1), Some("other instructions")),
            (prefix("m", "t", "s", 2, 3), Some("another person")),
            (prefix("m", "t", "s", 1, 3), Some("the history begins elsewhere")),
        ];
        for (prefix, reason) in table {
            assert_eq!(prefix.break_since(&before), reason);
        }
    }
}
