//! Characters that nobody sees: between letters they carry what only a machine reads.

/// Is it seen by nobody? The joiners are not among them: scripts and emoji need them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// The text without them, and without controls; how many there were. Soft hyphens and marks at the very beginning are
/// not counted.
#[must_use]
pub fn visible(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    let mut joined = 0;
    for (at, c) in text.char_indices() {
        joined = if is_joiner(c) { joined + 1 } else { 0 };
        if is_invisible(c) || joined > 2 {
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
    fn n6_what_nobody_sees_is_left_out_and_counted() {
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
            assert_eq!(visible(text), (expected.to_owned(), count), "{text:?}");
        }
    }
}
