//! Text made fit for a terminal: no control sequences, rows that fit.

use std::borrow::Cow;

use hob_core::render::finished;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

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

/// Adds to a text that grows, and takes the blocks from it to which nothing is added any more.
///
/// It is decided line by line what a block is, so that it does not matter in which pieces the text comes.
pub(super) fn blocks(open: &mut String, more: &str) -> Vec<String> {
    let mut whole = Vec::new();
    for piece in more.split_inclusive('\n') {
        open.push_str(piece);
        while piece.ends_with('\n') {
            let end = finished(open);
            if end == 0 {
                break;
            }
            let rest = open.split_off(end);
            whole.push(std::mem::replace(open, rest));
        }
    }
    whole
}

/// How many columns the character takes at most. Too many only ends a row early; too few would garble the page.
fn columns_max(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036F | 0x200B..=0x200D | 0xFE00..=0xFE0F => 0,
        0..0x1100 | 0x1E00..0x2000 | 0x2010..=0x2027 | 0x2030..=0x205E | 0x20A0..0x2300 | 0x2500..0x2600 => 1,
        _ => 2,
    }
}

/// What a style begins with; it ends with an `m`.
const ESCAPE: char = '\u{1b}';

/// How many columns a row takes.
pub(super) fn width_of(row: &str) -> usize {
    pieces(row).filter(|piece| !piece.starts_with(ESCAPE)).map(|piece| piece.width()).sum()
}

/// A row's styles, and the words between them.
fn pieces(row: &str) -> impl Iterator<Item = &str> {
    let mut rest = row;
    std::iter::from_fn(move || {
        let end = match rest.starts_with(ESCAPE) {
            true => rest.find('m').map_or(rest.len(), |end| end + 1),
            false => rest.find(ESCAPE).unwrap_or(rest.len()),
        };
        let (piece, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The text in rows of at most `columns` columns, each with the styles that hold in it: it can be drawn by itself.
pub(super) fn layout(text: &str, columns: usize) -> Vec<String> {
    let (mut all, open) = rows(text, columns);
    all.push(open);
    let mut held: Vec<String> = Vec::new();
    for row in &mut all {
        let begins = held.concat();
        for style in pieces(row).filter(|piece| piece.starts_with(ESCAPE)) {
            match ended_by(style) {
                Some(begin) => held.retain(|held| held != begin),
                None => held.push(style.to_owned()),
            }
        }
        let ends = if held.is_empty() { "" } else { RESET };
        *row = format!("{begins}{row}{ends}");
    }
    all
}

/// The style that a style ends, as `hob_core::render` writes them.
fn ended_by(style: &str) -> Option<&'static str> {
    const ENDS: [(&str, &str); 4] = [
        ("\u{1b}[22m", "\u{1b}[1m"),
        ("\u{1b}[23m", "\u{1b}[3m"),
        ("\u{1b}[29m", "\u{1b}[9m"),
        ("\u{1b}[39m", "\u{1b}[36m"),
    ];
    ENDS.iter().find(|(end, _)| *end == style).map(|(_, begin)| *begin)
}

/// The rows that a prompt takes with what was typed behind it: the editor breaks them at the last column, and goes on to the
/// next row when one is full.
pub(super) fn typed_rows(prompt: &str, typed: &str, columns: usize) -> Vec<String> {
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    for c in prompt.chars().chain(typed.chars()) {
        let width = c.width().unwrap_or(0);
        if c == '\n' || used + width > columns {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        if c != '\n' {
            row.push(c);
            used += width;
        }
    }
    let is_full = used == columns;
    rows.push(row);
    rows.extend(is_full.then(String::new));
    rows
}

/// Ends every style.
const RESET: &str = "\u{1b}[0m";

/// Lays text out in rows of at most `width` columns: finished rows, and the row still open. What goes on in the next row stands
/// below what it goes on from: a long line of code stays within its block.
fn rows(text: &str, width: usize) -> (Vec<String>, String) {
    let (mut finished, mut row, mut used) = (Vec::new(), String::new(), 0);
    let mut margin = Margin::default();
    let mut styles = false;
    // The row was just broken at a space that had no room.
    let mut is_broken = false;
    for c in text.chars() {
        // What sets a style takes no room, and is not torn apart.
        if c == ESCAPE || styles {
            styles = c != 'm';
            row.push(c);
            continue;
        }
        if c == '\n' {
            match std::mem::take(&mut is_broken) {
                // The text has a break of its own there: one is enough, and what sets a style holds below it.
                true => row = pieces(&row).filter(|piece| piece.starts_with(ESCAPE)).collect(),
                false => finished.push(std::mem::take(&mut row)),
            }
            (used, margin) = (0, Margin::default());
            continue;
        }
        margin.see(c, width);
        if used + columns_max(c) > width && !row.is_empty() {
            let carried = if c == ' ' { String::new() } else { last_word(&mut row) };
            finished.push(std::mem::replace(&mut row, margin.begun.clone() + &carried));
            used = most_of(&row);
            is_broken = c == ' ';
            if is_broken {
                continue;
            }
        }
        is_broken = false;
        used += columns_max(c);
        row.push(c);
    }
    (finished, row)
}

/// What a line begins with before its words: its indentation, and the signs of the quotes that it stands in.
#[derive(Default)]
struct Margin {
    begun: String,
    is_over: bool,
}

impl Margin {
    /// The line's next character. A margin leaves half of the row to the words.
    fn see(&mut self, c: char, width: usize) {
        self.is_over |= !matches!(c, ' ' | '│');
        if self.begun.chars().count() >= width / 2 {
            (self.is_over, self.begun) = (true, String::new());
        }
        if !self.is_over {
            self.begun.push(c);
        }
    }
}

/// How many columns a row takes at most.
fn most_of(row: &str) -> usize {
    pieces(row).filter(|piece| !piece.starts_with(ESCAPE)).flat_map(str::chars).map(columns_max).sum()
}

/// Takes the word that `row` ends in, to begin the next row with; none if the row is a single word.
fn last_word(row: &mut String) -> String {
    match row.rfind(' ') {
        // An indentation is not a word.
        Some(space) if row.get(..space).is_some_and(|before| !before.trim().is_empty()) => {
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
    fn rows_break_at_spaces_and_never_exceed_the_width() {
        assert_eq!(layout("the quick brown fox\nhas", 10), ["the quick", "brown fox", "has"]);
        assert_eq!(layout("abcdefghijkl", 10), ["abcdefghij", "kl"]);
        assert_eq!(layout("漢字漢字漢字", 5), ["漢字", "漢字", "漢字"]);
        assert_eq!(layout("    abcdefgh", 10), ["    abcdef", "    gh"], "an indentation is not left alone");
        assert_eq!(layout("", 10), [""]);
    }

    #[test]
    fn k2_a_full_row_before_a_styled_word_leaves_no_blank_one() {
        // The renderer breaks before the word, and has written the space and the style by then.
        let full = "one, \u{1b}[1mtwo\u{1b}[22m \u{1b}[36m\nthree\u{1b}[39m";
        assert_eq!(layout(full, 8), ["one, \u{1b}[1mtwo\u{1b}[22m", "\u{1b}[36mthree\u{1b}[39m"]);
        assert_eq!(layout("- one two \n  three", 9), ["- one two", "  three"]);
        assert_eq!(layout("one two \n\nthree", 7), ["one two", "", "three"]);
    }

    #[test]
    fn k2_a_long_line_of_code_stays_in_its_block() {
        assert_eq!(layout("    let a = bcd;\nend", 12), ["    let a =", "    bcd;", "end"]);
        assert_eq!(layout("│ let a = bcd;", 11), ["│ let a =", "│ bcd;"]);
        assert_eq!(layout("        let a = b;", 12), ["        let", "a = b;"], "half of the row is for words");
        let styled = layout("    \u{1b}[36mabc def\u{1b}[39m", 10);
        assert_eq!(styled, ["    \u{1b}[36mabc\u{1b}[0m", "\u{1b}[36m    def\u{1b}[39m"]);
    }

    #[test]
    fn k2_a_row_holds_its_styles() {
        let bold = "\u{1b}[1mone two\u{1b}[22m three";
        assert_eq!(layout(bold, 8), ["\u{1b}[1mone two\u{1b}[22m", "three"]);
        assert_eq!(layout(bold, 4), ["\u{1b}[1mone\u{1b}[0m", "\u{1b}[1mtwo\u{1b}[22m", "thre", "e"]);
        assert_eq!(width_of(bold), 13);
    }

    #[test]
    fn k2_what_was_typed_takes_rows_as_the_editor_breaks_them() {
        assert_eq!(typed_rows("> ", "abcdefg", 10), ["> abcdefg"]);
        assert_eq!(typed_rows("> ", "abcdefgh", 10), ["> abcdefgh", ""]);
        assert_eq!(typed_rows("> ", "abcdefghi", 10), ["> abcdefgh", "i"]);
        assert_eq!(typed_rows("> ", "a\nb", 10), ["> a", "b"]);
        assert_eq!(typed_rows("> ", "abcdefg漢", 10), ["> abcdefg", "漢"]);
    }

    #[test]
    fn k2_blocks_are_the_same_however_the_text_came() {
        let text = "One [1]\n\n[1]: https://a.example\n\n    code\n\n  - a\n  - b\n\n   end\n\n```\nx\n\ny\n```\n| a |\n|---|\n| b |\n";
        let mut rest = String::new();
        let whole = blocks(&mut rest, text);
        assert_eq!(whole.concat() + &rest, text);
        assert!(whole.contains(&"    code\n\n".to_owned()), "{whole:?}");
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let mut open = String::new();
            let mut cut_up = blocks(&mut open, &text[..cut]);
            cut_up.extend(blocks(&mut open, &text[cut..]));
            assert_eq!((&cut_up, &open), (&whole, &rest), "cut at {cut}");
        }
    }
}
