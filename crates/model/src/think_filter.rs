//! Takes `<think>…</think>` out of text while it streams.
//!
//! Never: letting a part of the reasoning through, wherever the pieces are cut.
//! Start at `ThinkFilter`.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Passes on the text outside of `<think>…</think>`.
///
/// A block that is never closed hides the rest; a closing tag without a block is dropped alone. White space between a tag
/// and the first visible character is dropped as well; where there is no tag, it may be what separates this text from
/// another that it goes on with.
#[derive(Debug, Default)]
pub(crate) struct ThinkFilter {
    /// The end of what was pushed, as long as it may be the start of a tag.
    held: String,
    hidden: bool,
    /// White space is dropped: a tag was seen, and no visible character yet.
    trims: bool,
    /// Something visible was shown.
    begun: bool,
}

impl ThinkFilter {
    /// Takes more text, answers with what may be shown.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        let mut shown = String::new();
        while let Some((at, tag)) = self.next_tag() {
            let rest = self.held.split_off(at + tag.len());
            self.held.truncate(at);
            self.release(&mut shown);
            self.held = rest;
            self.trims = !self.begun;
            self.hidden = tag == OPEN;
        }
        let kept = self.held.split_off(self.held.len() - self.undecided());
        self.release(&mut shown);
        self.held = kept;
        shown
    }

    /// Ends the text: what looked like the start of a tag was none.
    pub(crate) fn finish(&mut self) -> String {
        let mut shown = String::new();
        self.release(&mut shown);
        shown
    }

    /// The first tag that counts where we are: inside a block only the closing one does.
    fn next_tag(&self) -> Option<(usize, &'static str)> {
        let close = find(&self.held, CLOSE).map(|at| (at, CLOSE));
        let open = if self.hidden { None } else { find(&self.held, OPEN).map(|at| (at, OPEN)) };
        open.into_iter().chain(close).min()
    }

    /// How many bytes at the end may yet become a tag.
    fn undecided(&self) -> usize {
        let tags: &[&str] = if self.hidden { &[CLOSE] } else { &[OPEN, CLOSE] };
        let starts = |tag: &&str| (1..tag.len()).rev().find(|&n| ends_with(&self.held, &tag[..n]));
        tags.iter().filter_map(starts).max().unwrap_or(0)
    }

    /// Empties `held`, into `shown` unless it is reasoning.
    fn release(&mut self, shown: &mut String) {
        let text = std::mem::take(&mut self.held);
        if self.hidden {
            return;
        }
        let visible = if self.trims { text.trim_start() } else { &text };
        self.begun |= !visible.trim().is_empty();
        self.trims &= !self.begun;
        shown.push_str(visible);
    }
}

/// Where the ASCII `tag` starts, in upper or lower case.
fn find(text: &str, tag: &str) -> Option<usize> {
    text.as_bytes().windows(tag.len()).position(|window| window.eq_ignore_ascii_case(tag.as_bytes()))
}

fn ends_with(text: &str, start: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= start.len() && bytes[bytes.len() - start.len()..].eq_ignore_ascii_case(start.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filtered(pieces: &[&str]) -> String {
        let mut filter = ThinkFilter::default();
        let mut shown: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        shown.push_str(&filter.finish());
        shown
    }

    #[test]
    fn table() {
        let cases = [
            ("plain", "plain"),
            ("<think>a</think>b", "b"),
            ("<think>\na\n</think>\n\nb\n", "b\n"),
            ("a <think>b</think> c", "a  c"),
            ("<THINK>a</Think>b", "b"),
            ("<think>never closed", ""),
            ("a<think>b</think>c<think>d", "ac"),
            ("<think>a<think>b</think>c</think>d", "cd"),
            ("a</think>b", "ab"),
            ("1 < 2 and <thin", "1 < 2 and <thin"),
            ("<thinking>x", "<thinking>x"),
            ("  \n a", "  \n a"),
            (" <think>a</think> b", " b"),
            ("<think></think>", ""),
            ("ä<think>ö</think>ü", "äü"),
        ];
        for (text, expected) in cases {
            assert_eq!(filtered(&[text]), expected, "{text}");
        }
    }

    #[test]
    fn a_tag_is_known_in_pieces() {
        let mut filter = ThinkFilter::default();
        let shown: Vec<_> = ["a<", "th", "ink>b</", "think", ">c"].iter().map(|piece| filter.push(piece)).collect();
        assert_eq!(shown, ["a", "", "", "", "c"]);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(parts in proptest::collection::vec(
            prop_oneof![Just("<think>"), Just("</think>"), Just("<"), Just("think>"), Just("/"), Just("é "), Just("x")],
            0..12,
        )) {
            let whole = parts.concat();
            let letters: Vec<_> = whole.chars().map(String::from).collect();
            let letters: Vec<_> = letters.iter().map(String::as_str).collect();
            let expected = filtered(&[&whole]);
            prop_assert_eq!(&filtered(&parts), &expected);
            prop_assert_eq!(&filtered(&letters), &expected);
            prop_assert!(!expected.is_empty() || !whole.starts_with('x'));
        }
    }
}
