//! What a conversation's requests begin with, and why a provider's cache cannot go on from where it was. Pure.
//!
//! A cache keeps a request's beginning, byte for byte: model, tools, instructions, then the history. What differs first
//! is the reason; the history grows from turn to turn, and breaks the prefix only where it begins elsewhere.

use serde::{Deserialize, Serialize};

use crate::machine::compaction::plan;
use crate::machine::digest::Digest;
use crate::machine::state::ActiveState;
use hob_core::domain::ids::UserId;

/// What the requests of a run begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPrefix {
    model: String,
    tools: String,
    system: String,
    reader: UserId,
    history_from: i64,
    /// What stands before the history in its place, by hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<Digest>,
}

impl RequestPrefix {
    /// The beginning of a run's requests, as its sender may see the conversation.
    pub fn of(run: &ActiveState) -> Self {
        Self {
            model: run.models.first().cloned().unwrap_or_default(),
            tools: run.context.tools.0.clone(),
            system: run.context.system.0.clone(),
            reader: run.input.principal.user,
            history_from: plan::through(run) + 1,
            earlier: run.view.body().map(|body| Digest::of("earlier1", &[body.as_bytes()])),
        }
    }

    /// The first thing in which it differs from the one before.
    pub(crate) fn break_since(&self, before: &Self) -> Option<&'static str> {
        if self.model != before.model {
            Some("another model")
        } else if self.tools != before.tools {
            Some("other tools")
        } else if self.system != before.system {
            Some("other instructions")
        } else if self.reader != before.reader {
            Some("another person")
        } else if self.earlier.is_some() && self.earlier != before.earlier {
            Some("the conversation was compacted")
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
        let prefix = |model: &str, tools: &str, system: &str, reader, history_from| RequestPrefix {
            model: model.to_owned(),
            tools: tools.to_owned(),
            system: system.to_owned(),
            reader: UserId(reader),
            history_from,
            earlier: None,
        };
        let compacted = |of: RequestPrefix, text: &str| RequestPrefix {
            earlier: Some(Digest::of("earlier1", &[text.as_bytes()])),
            ..of
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
        let once = compacted(prefix("m", "t", "s", 1, 3), "a");
        assert_eq!(once.break_since(&before), Some("the conversation was compacted"));
        assert_eq!(once.break_since(&once), None);
        assert_eq!(compacted(once.clone(), "b").break_since(&once), Some("the conversation was compacted"));
        assert_eq!(before.break_since(&once), Some("the history begins elsewhere"));
    }
}
