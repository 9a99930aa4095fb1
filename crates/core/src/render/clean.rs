//! Removes characters that platforms refuse or that would act on a reader's terminal.

use std::borrow::Cow;

/// The text without control characters: line ends become `\n`, tabs stay, the rest (NUL, escape, C1 …) goes.
///
/// Never longer than before in UTF-16 units, chars or bytes, so what fitted a limit still does.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unwanted) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut after_return = false;
    for c in text.chars() {
        match c {
            '\n' if after_return => {}
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' => cleaned.push('\n'),
            c if is_unwanted(c) => {}
            c => cleaned.push(c),
        }
        after_return = c == '\r';
    }
    Cow::Owned(cleaned)
}

/// Whether [`clean`] would change the character: controls but for tab and newline, and the two noncharacters.
fn is_unwanted(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keeps_what_is_text_and_drops_what_acts() {
        assert_eq!(clean("tab\there\nnext 👪"), "tab\there\nnext 👪");
        assert_eq!(clean("a\0b\u{1b}[31mc\u{7f}d\u{9b}e\u{ffff}"), "ab[31mcde");
        assert_eq!(clean("one\r\ntwo\rthree\u{85}four\u{c}five"), "one\ntwo\nthree\nfour\nfive");
    }

    proptest! {
        #[test]
        fn is_idempotent_and_never_longer(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(cleaned.len() <= text.len());
            prop_assert!(!cleaned.chars().any(is_unwanted));
            prop_assert_eq!(clean(&cleaned), cleaned.as_ref());
        }
    }
}
