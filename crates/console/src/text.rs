//! Text made fit for a terminal: no control sequences, rows that fit.

use std::borrow::Cow;

/// The text without characters that would steer the terminal; they are shown by their symbols instead.
///
/// What a model or a web page wrote must not move the cursor, set the title or type for the user.
pub(super) fn safe(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || !c.is_control()) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push('\n'),
            '\t' => safe.push_str("    "),
            '\r' => {}
            '\u{7f}' => safe.push('\u{2421}'),
            c if c.is_ascii_control() => safe.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// The words that a paragraph begins with, up to anything that Markdown could mean something by.
///
/// Whatever comes after them, they are shown as they stand.
pub(super) fn plain_start(block: &str) -> &str {
    let is_plain = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | ',' | '.' | ';' | '?' | '!' | '\'' | '"' | '(' | ')' | '–' | '’')
    };
    if !block.starts_with(char::is_alphabetic) {
        return "";
    }
    let end = block.find(|c| !is_plain(c)).unwrap_or(block.len());
    block.get(..end).unwrap_or_default().trim_end()
}

/// What of a block comes behind the words that it begins with; none: it begins otherwise. Where it was wrapped they have a space.
pub(super) fn behind<'a>(block: &'a str, start: &str) -> Option<&'a str> {
    let mut rest = block.chars();
    for expected in start.chars() {
        let next = rest.next()?;
        if next != expected && (next, expected) != ('\n', ' ') {
            return None;
        }
    }
    Some(rest.as_str())
}

/// How many columns the character takes at most. Too many only ends a row early; too few would garble the page.
pub(super) fn columns_max(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036F | 0x200B..=0x200D | 0xFE00..=0xFE0F => 0,
        0..0x1100 | 0x1E00..0x2000 | 0x2010..=0x2027 | 0x2030..=0x205E | 0x20A0..0x2300 | 0x2500..0x2600 => 1,
        _ => 2,
    }
}

/// What a style begins with; it ends with an `m`.
const ESCAPE: char = '\u{1b}';

/// How many columns a row takes at most.
fn width_of(row: &str) -> usize {
    let mut styles = false;
    let mut used = 0;
    for c in row.chars() {
        if c == ESCAPE || styles {
            styles = c != 'm';
        } else {
            used += columns_max(c);
        }
    }
    used
}

/// Lays text out in rows of at most `width` columns, behind the `open` row: finished rows, and the row still open.
pub(super) fn rows(open: &str, text: &str, width: usize) -> (Vec<String>, String) {
    let mut finished = Vec::new();
    let mut row = open.to_owned();
    let mut used = width_of(&row);
    let mut styles = false;
    for c in text.chars() {
        // What sets a style takes no room, and is not torn apart.
        if c == ESCAPE || styles {
            styles = c != 'm';
            row.push(c);
            continue;
        }
        if c == '\n' {
            finished.push(std::mem::take(&mut row));
            used = 0;
            continue;
        }
        if used + columns_max(c) > width && !row.is_empty() {
            let carried = if c == ' ' { String::new() } else { last_word(&mut row) };
            finished.push(std::mem::replace(&mut row, carried));
            used = width_of(&row);
            if c == ' ' {
                continue;
            }
        }
        used += columns_max(c);
        row.push(c);
    }
    (finished, row)
}

/// Takes the word that `row` ends in, to begin the next row with; none if the row is a single word.
fn last_word(row: &mut String) -> String {
    match row.rfind(' ') {
        Some(space) if space > 0 => {
            let word = row.split_off(space + 1);
            row.truncate(space);
            word
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_obeyed() {
        assert_eq!(safe("plain ü\nline"), "plain ü\nline");
        assert_eq!(safe("\u{1b}]0;owned\u{7}\r\nx\ty\u{9b}2J\u{7f}"), "␛]0;owned␇\nx    y\u{fffd}2J␡");
    }

    #[test]
    fn k2_plain_words_are_known_before_their_paragraph_ends() {
        let table = [
            ("It is fi", "It is fi"),
            ("It is five o'clock, ", "It is five o'clock,"),
            ("It is **five**", "It is"),
            ("See https://example.org now", "See https"),
            ("One | two", "One"),
            ("- one thing", ""),
            ("1. one thing", ""),
            ("    code here", ""),
            ("Grüße an alle", "Grüße an alle"),
            ("One line\nand more", "One line"),
            ("", ""),
        ];
        for (block, expected) in table {
            assert_eq!(plain_start(block), expected, "{block:?}");
        }
        assert_eq!(behind("It is\nfive.", "It is"), Some("\nfive."));
        assert_eq!(behind("It\nis five.", "It is"), Some(" five."));
        assert_eq!(behind("\u{1b}[1mIt is", "It is"), None);
    }

    #[test]
    fn rows_break_at_spaces_and_never_exceed_the_width() {
        let (finished, open) = rows("", "the quick brown fox\nhas", 10);
        assert_eq!((finished, open.as_str()), (vec!["the quick".to_owned(), "brown fox".to_owned()], "has"));

        let (finished, open) = rows("abcdefgh", "ijkl", 10);
        assert_eq!((finished, open.as_str()), (vec!["abcdefghij".to_owned()], "kl"));

        let (finished, open) = rows("", "漢字漢字漢字", 5);
        assert_eq!((finished, open.as_str()), (vec!["漢字".to_owned(), "漢字".to_owned()], "漢字"));
    }

    #[test]
    fn styles_take_no_room() {
        let (finished, open) = rows("", "\u{1b}[1mone two\u{1b}[0m three", 8);
        assert_eq!((finished, open.as_str()), (vec!["\u{1b}[1mone two\u{1b}[0m".to_owned()], "three"));
        assert_eq!(rows("\u{1b}[1mone", " two", 8).0, Vec::<String>::new());
    }

    #[test]
    fn letters_streamed_one_by_one_make_the_same_rows_as_at_once() {
        let text = "a household daemon lives on one small machine\n\nand remembers";
        let at_once = rows("", text, 12);
        let mut finished = Vec::new();
        let mut open = String::new();
        for c in text.chars() {
            let (more, rest) = rows(&open, &c.to_string(), 12);
            finished.extend(more);
            open = rest;
        }
        assert_eq!((finished, open), at_once);
    }
}
