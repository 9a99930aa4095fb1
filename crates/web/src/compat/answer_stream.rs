//! What is told of an answer while it comes: each word once, whatever is written, begun anew, or said in between.

use std::collections::BTreeSet;

use hob_core::domain::ids::OutboxId;

/// Between two things that are said.
const BREAK: &str = "\n\n";

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutgoingText {
    pub(super) id: OutboxId,
    pub(super) text: String,
    /// The last word, which may have been seen growing.
    pub(super) is_reply: bool,
    /// It waits for an answer.
    pub(super) is_question: bool,
}

/// What was told last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastEmitted {
    #[default]
    Nothing,
    Growing,
    Words,
}

/// Tells an answer.
#[derive(Debug, Default)]
pub(super) struct AnswerStream {
    told: BTreeSet<OutboxId>,
    /// As much as was told of what is being written.
    grown: String,
    last: LastEmitted,
}

impl AnswerStream {
    /// What comes next of a reply that is being written, of which there is so much.
    pub(super) fn grow(&mut self, text: &str) -> Option<String> {
        let text = text.trim_start();
        let goes_on = !self.grown.is_empty() && text.starts_with(&self.grown);
        let more = if goes_on { text.get(self.grown.len()..) } else { Some(text) };
        let more = more.filter(|more| !more.is_empty())?.to_owned();
        text.clone_into(&mut self.grown);
        let is_seamless = self.last == LastEmitted::Nothing || (goes_on && self.last == LastEmitted::Growing);
        self.last = LastEmitted::Growing;
        Some(if is_seamless { more } else { format!("{BREAK}{more}") })
    }

    /// What comes next when something was said.
    pub(super) fn emit_text(&mut self, words: &OutgoingText) -> Option<String> {
        if !self.told.insert(words.id) {
            return None;
        }
        let text = words.text.trim();
        let grown = std::mem::take(&mut self.grown);
        // The last word ends in no blank, what was seen of it may.
        let seen = if text.starts_with(&grown) { grown.as_str() } else { grown.trim_end() };
        if words.is_reply && self.last == LastEmitted::Growing && !seen.is_empty() && text.starts_with(seen) {
            self.last = LastEmitted::Words;
            return text.get(seen.len()..).filter(|rest| !rest.is_empty()).map(str::to_owned);
        }
        if !words.is_reply {
            // What is being written goes on behind it.
            self.grown = grown;
        }
        if text.is_empty() {
            return None;
        }
        let is_first = self.last == LastEmitted::Nothing;
        self.last = LastEmitted::Words;
        Some(if is_first { text.to_owned() } else { format!("{BREAK}{text}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Grow(&'static str),
        Say(i64, &'static str),
        Reply(i64, &'static str),
    }
    use Step::{Grow, Reply, Say};

    #[test]
    fn each_word_is_told_once() {
        let table: [(&[Step], &str); 11] = [
            (&[Reply(1, "Five.")], "Five."),
            (&[Grow("Fi"), Grow("Five"), Reply(1, "Five.")], "Five."),
            (&[Grow("Five."), Reply(1, "Five."), Reply(1, "Five.")], "Five."),
            (&[Grow("\n Five. "), Reply(1, "Five.")], "Five. "),
            (&[Grow("At "), Reply(1, "At five.")], "At five."),
            (&[Grow("Five"), Grow("Five"), Reply(1, "Five, (and a note)")], "Five, (and a note)"),
            // What was written before a tool was called stays, and what follows is a paragraph of its own.
            (
                &[Grow("Let me see."), Grow("It"), Grow("It is five."), Reply(1, "It is five.")],
                "Let me see.\n\nIt is five.",
            ),
            // It was made again.
            (&[Grow("Six"), Reply(1, "Five.")], "Six\n\nFive."),
            (&[Say(1, "A note."), Grow("Fi"), Reply(2, "Five.")], "A note.\n\nFive."),
            (&[Grow("Fi"), Say(1, "A note."), Grow("Five"), Say(1, "A note.")], "Fi\n\nA note.\n\nve"),
            (&[Say(1, ""), Say(2, "May I?")], "May I?"),
        ];
        for (steps, expected) in table {
            let mut teller = AnswerStream::default();
            let told = steps.iter().filter_map(|step| match step {
                Grow(text) => teller.grow(text),
                Say(id, text) => teller.emit_text(&OutgoingText {
                    id: OutboxId(*id),
                    text: (*text).to_owned(),
                    is_reply: false,
                    is_question: false,
                }),
                Reply(id, text) => teller.emit_text(&OutgoingText {
                    id: OutboxId(*id),
                    text: (*text).to_owned(),
                    is_reply: true,
                    is_question: false,
                }),
            });
            assert_eq!(told.collect::<String>(), expected);
        }
    }
}
