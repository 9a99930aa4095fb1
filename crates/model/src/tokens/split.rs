//! Cuts text into the pieces that cl100k encodes one by one.
//!
//! Never: a regular expression at run time; the pattern is fixed and its machine would cost megabytes.
//! Start at [`pieces`]. The pattern, whose branches are tried in this order, is
//! `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// The pieces of `text`, in order; together they are `text`.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(first(rest)).filter(|(piece, _)| !piece.is_empty())?;
        rest = after;
        Some(piece)
    })
}

/// What the pattern tells characters apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Number,
    /// `\r` or `\n`.
    Break,
    /// Any other white space.
    Space,
    Other,
}

/// The length of the first piece, in bytes; none is empty unless `text` is.
fn first(text: &str) -> usize {
    let mut chars = text.chars();
    let Some(c) = chars.next() else { return 0 };
    let rest = chars.as_str();
    if c == '\''
        && let Some(len) = contraction(rest)
    {
        return 1 + len;
    }
    match Kind::of(c) {
        Kind::Letter => run(text, |kind| kind == Kind::Letter),
        Kind::Number => text.chars().take(3).take_while(|c| Kind::of(*c) == Kind::Number).map(char::len_utf8).sum(),
        // One character that is neither may lead a word.
        Kind::Space | Kind::Other if starts(rest, Kind::Letter) => {
            c.len_utf8() + run(rest, |kind| kind == Kind::Letter)
        }
        Kind::Other => marks(text),
        Kind::Space if c == ' ' && starts(rest, Kind::Other) => 1 + marks(rest),
        Kind::Space | Kind::Break => blank(text),
    }
}

/// Signs, and the line breaks right after them.
fn marks(text: &str) -> usize {
    let signs = run(text, |kind| kind == Kind::Other);
    signs + text.get(signs..).map_or(0, |after| run(after, |kind| kind == Kind::Break))
}

/// White space: all at the text's end, else up to its last line break, else all but what leads the next word.
fn blank(text: &str) -> usize {
    let len = run(text, |kind| matches!(kind, Kind::Break | Kind::Space));
    if len == text.len() {
        return len;
    }
    let spaces = text.get(..len).unwrap_or_default();
    if let Some(last) = spaces.rfind(['\r', '\n']) {
        return last + 1;
    }
    let leads = spaces.chars().next_back().map_or(0, char::len_utf8);
    if leads < len { len - leads } else { len }
}

/// The length of an English ending after an apostrophe.
fn contraction(after: &str) -> Option<usize> {
    let mut chars = after.chars();
    let first = chars.next()?;
    // U+017F is an s as well, where case does not count.
    if matches!(first, 's' | 'S' | 'ſ' | 'd' | 'D' | 'm' | 'M' | 't' | 'T') {
        return Some(first.len_utf8());
    }
    let pair = [first.to_ascii_lowercase(), chars.next()?.to_ascii_lowercase()];
    [['l', 'l'], ['v', 'e'], ['r', 'e']].contains(&pair).then_some(2)
}

fn starts(text: &str, with: Kind) -> bool {
    text.chars().next().is_some_and(|c| Kind::of(c) == with)
}

fn run(text: &str, within: impl Fn(Kind) -> bool) -> usize {
    text.char_indices().find(|(_, c)| !within(Kind::of(*c))).map_or(text.len(), |(at, _)| at)
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Number,
            '\r' | '\n' => Self::Break,
            _ if c.is_whitespace() => Self::Space,
            _ if c.is_ascii() => Self::Other,
            _ if CLASSES.letters.has(c) => Self::Letter,
            _ if CLASSES.numbers.has(c) => Self::Number,
            _ => Self::Other,
        }
    }
}

/// Unicode's letters and numbers; the standard library's are other sets.
struct CharacterClasses {
    letters: Ranges,
    numbers: Ranges,
}

static CLASSES: LazyLock<CharacterClasses> =
    LazyLock::new(|| CharacterClasses { letters: Ranges::of(r"\p{L}"), numbers: Ranges::of(r"\p{N}") });

/// Ranges of characters, in order.
struct Ranges(Vec<(char, char)>);

impl Ranges {
    fn of(class: &str) -> Self {
        let parsed = regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind);
        match parsed {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                Self(class.iter().map(|range| (range.start(), range.end())).collect())
            }
            // Not reached: both classes are known, which a test holds. Without one, its characters count as signs.
            _ => Self(Vec::new()),
        }
    }

    fn has(&self, c: char) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= c);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, end)| c <= *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_are_known() {
        assert!(CLASSES.letters.has('ß') && CLASSES.letters.has('日') && !CLASSES.letters.has('\u{93f}'));
        assert!(CLASSES.numbers.has('٣') && CLASSES.numbers.has('½') && !CLASSES.numbers.has('Ⓐ'));
    }

    #[test]
    fn text_is_cut_as_the_pattern_cuts_it() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("Hello world", &["Hello", " world"]),
            ("it's WE'LL 'ſ 'x", &["it", "'s", " WE", "'LL", " '", "ſ", " '", "x"]),
            ("12345 67", &["123", "45", " ", "67"]),
            ("a  b   ", &["a", " ", " b", "   "]),
            ("x\n\n  y", &["x", "\n\n", " ", " y"]),
            ("if (a) {\n\n}", &["if", " (", "a", ")", " {\n\n", "}"]),
            ("\tabc \t1", &["\tabc", " ", "\t", "1"]),
            ("日本語。です", &["日本語", "。です"]),
            ("\r\n", &["\r\n"]),
        ];
        for (text, expected) in table {
            assert_eq!(pieces(text).collect::<Vec<_>>(), *expected, "{text:?}");
        }
    }
}
