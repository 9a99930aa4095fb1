//! Characters that nobody sees: between letters they carry what only a machine reads.

use hob_core::policy::invisible::is_invisible;

/// Scripts and emoji need them.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// The text without them, and without controls; how many there were. Soft hyphens and marks at the very beginning are
/// not counted.
pub fn strip_invisible(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    let mut joined = 0;
    for (at, c) in text.char_indices() {
        joined = if is_joiner(c) { joined + 1 } else { 0 };
        if (is_invisible(c) && !is_joiner(c) && !c.is_whitespace()) || joined > 2 {
            count += usize::from(c != '\u{ad}' && (at > 0 || c != '\u{feff}'));
        } else if !c.is_control() || matches!(c, '\n' | '\t') {
            out.push(c);
        }
    }
    (out, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_left_out_and_counted() {
        let tagged: String = "ignore".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        for (text, expected, count) in [
            ("plain, Grüße 👪", "plain, Grüße 👪", 0),
            ("\u{feff}a", "a", 0),
            ("a\u{200b}b\u{2060}c\u{feff}d", "abcd", 3),
            ("Do\u{ad}nau", "Donau", 0),
            ("👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩\u{200d}👧", 0),
            ("❤\u{fe0f}", "❤\u{fe0f}", 0),
            ("می\u{200c}خواهم", "می\u{200c}خواهم", 0),
            ("a\u{200c}\u{200d}\u{200c}\u{200d}b", "a\u{200c}\u{200d}b", 2),
            ("a\u{202e}b", "ab", 1),
            (&format!("hi{tagged}!"), "hi!", 6),
            ("a\u{0}\u{1b}[31mb\r\n", "a[31mb\n", 0),
        ] {
            assert_eq!(strip_invisible(text), (expected.to_owned(), count), "{text:?}");
        }
    }
}
