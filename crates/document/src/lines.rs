//! Calendars and cards: their lines, whole again, without the pictures in them. A blank line stands before each entry.

use crate::pages::PageCollection;
use crate::text;

/// The longest value that is shown, in characters: beyond it is a picture or a certificate.
const VALUE_CHARS_MAX: usize = 2_000;

/// The lines.
pub(crate) fn read(text: &str) -> PageCollection {
    let mut lines: Vec<String> = Vec::new();
    let mut soft = false;
    for line in text.lines().map(|line| line.trim_end_matches('\r')) {
        match line.strip_prefix([' ', '\t']) {
            Some(rest) if !lines.is_empty() => push(&mut lines, rest),
            _ if soft => push(&mut lines, line),
            _ => lines.push(line.to_owned()),
        }
        let last = lines.last_mut();
        soft = last.is_some_and(|last| is_quoted(last) && last.ends_with('=') && last.pop().is_some());
    }
    PageCollection::split_at_lines(lines.into_iter().flat_map(|line| {
        let begins = line.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("BEGIN:"));
        begins.then(String::new).into_iter().chain([display_line(&line)])
    }))
}

fn push(lines: &mut [String], rest: &str) {
    if let Some(last) = lines.last_mut() {
        last.push_str(rest);
    }
}

/// Whether its value is written as old cards do it: `=C3=A4`.
fn is_quoted(line: &str) -> bool {
    let head = line.split_once(':').map_or(line, |(head, _)| head);
    head.to_ascii_uppercase().contains("QUOTED-PRINTABLE")
}

fn display_line(line: &str) -> String {
    let Some((head, value)) = line.split_once(':') else { return line.to_owned() };
    let upper = head.to_ascii_uppercase();
    let packed = upper.contains("ENCODING=B") || value.starts_with("data:");
    if packed || value.chars().count() > VALUE_CHARS_MAX {
        return format!("{head}:[{} bytes left out]", value.len());
    }
    if !upper.contains("QUOTED-PRINTABLE") {
        return line.to_owned();
    }
    let name = head.split(';').next().unwrap_or(head);
    format!("{name}:{}", text::unescaped(value, b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_lines_are_whole_again_and_pictures_are_left_out() {
        let card = "BEGIN:VCARD\r\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=BCrgen =\r\nGro=C3=9F\r\n\
                    NOTE:one\r\n  two\r\nPHOTO;ENCODING=b;TYPE=JPEG:AAAA\r\n BBBB\r\nEND:VCARD\r\n";
        assert_eq!(
            read(card).pages[0].text,
            "\nBEGIN:VCARD\nFN:Jürgen Groß\nNOTE:one two\nPHOTO;ENCODING=b;TYPE=JPEG:[8 bytes left out]\nEND:VCARD\n"
        );
    }
}
