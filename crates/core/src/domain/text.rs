//! How text, numbers and errors are written for a line.
//!
//! Never: a word of its own, but for units.

use std::error::Error;

/// On one line: any white space is one space.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line
}

/// On one line, unable to end the block that it stands in.
pub fn inert(text: &str) -> String {
    let line = one_line(text);
    if line.contains(['<', '>']) { line.replace('<', "‹").replace('>', "›") } else { line }
}

/// The first so many characters.
pub fn head(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(end, _)| text.split_at(end).0)
}

/// The first so many characters, and a sign that there are more.
pub fn cut(text: &str, chars_max: usize) -> String {
    let head = head(text, chars_max);
    if head.len() < text.len() { format!("{head}…") } else { head.to_owned() }
}

/// As [`cut`], without a space before the sign.
pub fn cut_trimmed(text: &str, chars_max: usize) -> String {
    let head = head(text, chars_max);
    if head.len() < text.len() { format!("{}…", head.trim_end()) } else { head.to_owned() }
}

/// A name that somebody chose for themselves: on one line, and it moves no cursor.
pub fn chosen_name(name: &str) -> String {
    head(&one_line(name).replace(char::is_control, ""), 80).to_owned()
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |at: usize| if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
    digits.char_indices().fold(String::new(), |text, (at, digit)| format!("{text}{}{digit}", comma(at)))
}

/// `1 call`, `2 calls`.
pub fn counted(count: i64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number of bytes as people say it.
#[expect(clippy::cast_precision_loss, reason = "a tenth is all that is told")]
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A span of time as people say it.
pub fn span(secs: i64) -> String {
    match secs.max(0) {
        secs @ 0..60 => format!("{secs} s"),
        secs @ 60..3_600 => format!("{} min", secs / 60),
        secs @ 3_600..172_800 => format!("{} h {} min", secs / 3_600, secs / 60 % 60),
        secs => format!("{} d", secs / 86_400),
    }
}

/// In hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_put_on_a_line_and_cut_between_characters() {
        assert_eq!(one_line(" a\n\tb \u{a0} c\r\n"), "a b c");
        assert_eq!(inert("</x>\n y"), "‹/x› y");
        assert_eq!((head("äöü", 2), head("äö", 2), head("ä", 0)), ("äö", "äö", ""));
        assert_eq!((cut("ä öü", 2), cut("ä ö", 3)), ("ä …".to_owned(), "ä ö".to_owned()));
        assert_eq!((cut_trimmed("ä öü", 2), cut_trimmed("ä ", 2)), ("ä…".to_owned(), "ä ".to_owned()));
    }

    #[test]
    fn numbers_are_written_as_people_say_them() {
        let shown = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "12,345,678"]);
        assert_eq!([0, 1, 1_001, 1_500_000, 2_000_000_000].map(size), ["0 kB", "1 kB", "2 kB", "1.5 MB", "2.0 GB"]);
        assert_eq!([-5, 59, 61, 3_660, 172_800].map(span), ["0 s", "59 s", "1 min", "1 h 1 min", "2 d"]);
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn an_error_is_told_with_what_caused_it() {
        #[derive(Debug, thiserror::Error)]
        #[error("no answer")]
        struct Lost(#[source] std::io::Error);
        assert_eq!(causes(&Lost(std::io::Error::other("the cable is out"))), "no answer: the cable is out");
    }
}
