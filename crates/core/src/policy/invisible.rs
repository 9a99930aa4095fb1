//! Characters that show nothing, or turn the order of what is around them: what hides from people may speak to machines.

/// Does it show nothing, or turn the order of what is around it?
pub fn is_invisible(c: char) -> bool {
    matches!(
        u32::from(c),
        0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F | 0x2028..=0x202E
            | 0x2060..=0x206F | 0x2800 | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF
    )
}

/// The words with each character that hides marked by its number, and each space that is none of the usual ones too.
pub fn marked(words: &str) -> String {
    let shown = |c: char| {
        let is_odd_space = c.is_whitespace() && !matches!(c, ' ' | '\n');
        let shows = c == '\n' || !(c.is_control() || is_invisible(c) || is_odd_space);
        if shows { c.to_string() } else { format!("⟨U+{:04X}⟩", u32::from(c)) }
    };
    words.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_marked_and_what_shows_is_not() {
        assert_eq!(marked("Grüße, 世界 👪 a b"), "Grüße, 世界 👪 a b");
        assert_eq!(marked("a\u{202e}b\u{200b}c\u{feff}d\u{e0041}"), "a⟨U+202E⟩b⟨U+200B⟩c⟨U+FEFF⟩d⟨U+E0041⟩");
        assert_eq!(marked("a\u{a0}b\u{3000}c\td\u{2800}\u{3164}"), "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+0009⟩d⟨U+2800⟩⟨U+3164⟩");
        assert_eq!(marked("a\nb\r\u{1b}[2J"), "a\nb⟨U+000D⟩⟨U+001B⟩[2J");
    }
}
