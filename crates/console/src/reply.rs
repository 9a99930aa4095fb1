//! What of a reply has been streamed already, so that nothing is shown twice. Pure.

/// What is left to show of a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UnseenRest<'a> {
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

/// How a reply that is made again compares with what stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepeatMatch<'a> {
    /// It says the same so far.
    SoFar,
    /// It has said all of it; this continues it.
    All {
        /// What comes then.
        more: &'a str,
    },
    /// It says something else.
    No,
}

/// The text streamed for one run.
#[derive(Debug, Default)]
pub(super) struct StreamedReply {
    text: String,
    /// How much of it has been confirmed by chunks, in bytes.
    confirmed: usize,
}

impl StreamedReply {
    pub(super) fn push(&mut self, delta: &str) {
        self.text.push_str(delta);
    }

    /// Forgets what was not confirmed; tells whether there was any.
    pub(super) fn discard_unconfirmed(&mut self) -> bool {
        let shown = !self.ahead().trim().is_empty();
        self.confirmed = self.text.len();
        shown
    }

    /// Whether anything stands there that was not confirmed.
    pub(super) fn has_shown(&self) -> bool {
        !self.ahead().trim().is_empty()
    }

    /// Compares a reply that is made again, as far as it is written, with what stands there. White space does not count.
    pub(super) fn repeats<'a>(&self, again: &'a str) -> RepeatMatch<'a> {
        let mut shown = self.ahead().chars().filter(|c| !c.is_whitespace());
        for (at, c) in again.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            match shown.next() {
                Some(same) if same == c => {}
                Some(_) => return RepeatMatch::No,
                None => return RepeatMatch::All { more: rest_of(again, at, true) },
            }
        }
        // What is blank behind the last word may be an indentation.
        RepeatMatch::SoFar
    }

    /// Compares the next chunk with what was streamed. White space does not count: chunks are cut and trimmed at it.
    pub(super) fn take<'a>(&mut self, chunk: &'a str) -> UnseenRest<'a> {
        let ahead = self.ahead();
        if ahead.trim().is_empty() {
            return UnseenRest::Whole;
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
                    return UnseenRest::Tail(rest_of(chunk, at, spaced));
                }
            }
        }
        let at_end = streamed.next().is_none();
        self.confirmed += matched;
        UnseenRest::Nothing { at_end }
    }

    /// The chunk is not what comes next: perhaps it is what was streamed last, after words that came before a tool
    /// call and are not part of the reply. In any case, the rest is settled.
    fn take_ending<'a>(&mut self, chunk: &str) -> UnseenRest<'a> {
        let mut streamed = self.ahead().chars().rev().filter(|c| !c.is_whitespace());
        let ends_so = chunk.chars().rev().filter(|c| !c.is_whitespace()).all(|c| streamed.next() == Some(c));
        self.confirmed = self.text.len();
        if ends_so { UnseenRest::Nothing { at_end: true } } else { UnseenRest::Whole }
    }

    fn ahead(&self) -> &str {
        self.text.get(self.confirmed..).unwrap_or_default()
    }
}

/// The chunk from its first unseen character on. Of the white space before it, that counts which is on its line: it may mean
/// something there.
fn rest_of(chunk: &str, at: usize, spaced: bool) -> &str {
    let (before, rest) = chunk.split_at_checked(at).unwrap_or(("", chunk));
    let words = before.trim_end().len();
    let line = before.rfind('\n').map(|end| end + 1).filter(|line| *line >= words);
    match line {
        Some(line) => chunk.get(line..).unwrap_or(rest),
        None if spaced => rest,
        None => chunk.get(words..).unwrap_or(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streamed(deltas: &[&str]) -> StreamedReply {
        let mut streamed = StreamedReply::default();
        for delta in deltas {
            streamed.push(delta);
        }
        streamed
    }

    #[test]
    fn what_was_streamed_is_not_left() {
        let mut reply = streamed(&["Hel", "lo ", "world.\n"]);
        assert_eq!(reply.take("Hello world."), UnseenRest::Nothing { at_end: true });
        assert_eq!(reply.take("Hello world."), UnseenRest::Whole);
    }

    #[test]
    fn chunks_confirm_one_after_the_other_whatever_the_space_between() {
        let mut reply = streamed(&["First part.\n\nSecond part."]);
        assert_eq!(reply.take("First part."), UnseenRest::Nothing { at_end: false });
        assert_eq!(reply.take("Second part."), UnseenRest::Nothing { at_end: true });
    }

    #[test]
    fn a_stream_that_broke_off_is_continued() {
        assert_eq!(streamed(&["Hello"]).take("Hello world"), UnseenRest::Tail(" world"));
        assert_eq!(streamed(&["Hello "]).take("Hello world"), UnseenRest::Tail("world"));
        assert_eq!(streamed(&["He"]).take("Hello world"), UnseenRest::Tail("llo world"));
        assert_eq!(streamed(&["Hello\n\n"]).take("Hello\n\n    code"), UnseenRest::Tail("    code"));
    }

    #[test]
    fn another_text_is_left_whole_and_settles_the_stream() {
        let mut reply = streamed(&["The key is abc and more"]);
        assert_eq!(reply.take("The key is [secret]"), UnseenRest::Whole);
        assert_eq!(reply.take("and more"), UnseenRest::Whole);
    }

    #[test]
    fn words_before_a_tool_call_do_not_hide_the_reply() {
        let mut reply = streamed(&["Let me look.\n", "It is five."]);
        assert_eq!(reply.take("It is five."), UnseenRest::Nothing { at_end: true });
    }

    #[test]
    fn a_reply_that_is_made_again_is_compared_with_what_stands_there() {
        let reply = streamed(&["One.\n\n", "Two.\n"]);
        assert_eq!(reply.repeats("One. T"), RepeatMatch::SoFar);
        assert_eq!(reply.repeats("One.\n\nTwo.\n\n    code"), RepeatMatch::All { more: "    code" });
        assert_eq!(reply.repeats("One.\n\nThree"), RepeatMatch::No);
        assert_eq!(streamed(&[]).repeats("One"), RepeatMatch::All { more: "One" });
        assert!(reply.has_shown() && !streamed(&["\n"]).has_shown());
    }

    #[test]
    fn what_is_void_does_not_count() {
        let mut reply = streamed(&["It is f"]);
        assert!(reply.discard_unconfirmed());
        assert!(!reply.discard_unconfirmed());
        reply.push("It is five.");
        assert_eq!(reply.take("It is five."), UnseenRest::Nothing { at_end: true });
    }
}
