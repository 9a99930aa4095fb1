//! What of a reply has been streamed already, so that nothing is shown twice. Pure.

/// What is left to show of a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest<'a> {
    /// All of it was streamed; `at_end` if nothing was streamed behind it.
    Nothing {
        /// Whether the streamed text is used up.
        at_end: bool,
    },
    /// Its beginning was streamed; this continues it.
    Tail(&'a str),
    /// Something else was streamed, or nothing.
    Whole,
}

/// The text streamed for one run.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    text: String,
    /// How much of it has been confirmed by chunks, in bytes.
    confirmed: usize,
}

impl Streamed {
    pub(super) fn push(&mut self, delta: &str) {
        self.text.push_str(delta);
    }

    /// Forgets what was not confirmed; tells whether there was any.
    pub(super) fn void(&mut self) -> bool {
        let shown = !self.ahead().trim().is_empty();
        self.confirmed = self.text.len();
        shown
    }

    /// Compares the next chunk with what was streamed. White space does not count: chunks are cut and trimmed at it.
    pub(super) fn take<'a>(&mut self, chunk: &'a str) -> Rest<'a> {
        let ahead = self.ahead();
        if ahead.trim().is_empty() {
            return Rest::Whole;
        }
        let mut streamed = ahead.char_indices().filter(|(_, c)| !c.is_whitespace());
        let mut matched = 0;
        for (at, c) in chunk.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            match streamed.next() {
                Some((index, same)) if same == c => matched = index + c.len_utf8(),
                Some(_) => return self.take_ending(chunk),
                None => {
                    let spaced = ahead.ends_with(char::is_whitespace);
                    self.confirmed = self.text.len();
                    return Rest::Tail(rest_of(chunk, at, spaced));
                }
            }
        }
        let at_end = streamed.next().is_none();
        self.confirmed += matched;
        Rest::Nothing { at_end }
    }

    /// The chunk is not what comes next: perhaps it is what was streamed last, after words that came before a tool
    /// call and are no part of the reply. In any case, the rest is settled.
    fn take_ending<'a>(&mut self, chunk: &str) -> Rest<'a> {
        let mut streamed = self.ahead().chars().rev().filter(|c| !c.is_whitespace());
        let ends_so = chunk.chars().rev().filter(|c| !c.is_whitespace()).all(|c| streamed.next() == Some(c));
        self.confirmed = self.text.len();
        if ends_so { Rest::Nothing { at_end: true } } else { Rest::Whole }
    }

    fn ahead(&self) -> &str {
        self.text.get(self.confirmed..).unwrap_or_default()
    }
}

/// The chunk from its first unseen character on, with the white space before it unless that was streamed.
fn rest_of(chunk: &str, at: usize, spaced: bool) -> &str {
    let (before, rest) = chunk.split_at_checked(at).unwrap_or(("", chunk));
    if spaced { rest } else { chunk.get(before.trim_end().len()..).unwrap_or(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(deltas: &[&str]) -> Streamed {
        let mut streamed = Streamed::default();
        for delta in deltas {
            streamed.push(delta);
        }
        streamed
    }

    #[test]
    fn what_was_streamed_is_not_left() {
        let mut reply = streamed(&["Hel", "lo ", "world.\n"]);
        assert_eq!(reply.take("Hello world."), Rest::Nothing { at_end: true });
        assert_eq!(reply.take("Hello world."), Rest::Whole);
    }

    #[test]
    fn chunks_confirm_one_after_the_other_whatever_the_space_between() {
        let mut reply = streamed(&["First part.\n\nSecond part."]);
        assert_eq!(reply.take("First part."), Rest::Nothing { at_end: false });
        assert_eq!(reply.take("Second part."), Rest::Nothing { at_end: true });
    }

    #[test]
    fn a_stream_that_broke_off_is_continued() {
        assert_eq!(streamed(&["Hello"]).take("Hello world"), Rest::Tail(" world"));
        assert_eq!(streamed(&["Hello "]).take("Hello world"), Rest::Tail("world"));
        assert_eq!(streamed(&["He"]).take("Hello world"), Rest::Tail("llo world"));
    }

    #[test]
    fn another_text_is_left_whole_and_settles_the_stream() {
        let mut reply = streamed(&["The key is abc and more"]);
        assert_eq!(reply.take("The key is [secret]"), Rest::Whole);
        assert_eq!(reply.take("and more"), Rest::Whole);
    }

    #[test]
    fn words_before_a_tool_call_do_not_hide_the_reply() {
        let mut reply = streamed(&["Let me look.\n", "It is five."]);
        assert_eq!(reply.take("It is five."), Rest::Nothing { at_end: true });
    }

    #[test]
    fn what_is_void_does_not_count() {
        let mut reply = streamed(&["It is f"]);
        assert!(reply.void());
        assert!(!reply.void());
        reply.push("It is five.");
        assert_eq!(reply.take("It is five."), Rest::Nothing { at_end: true });
    }
}
