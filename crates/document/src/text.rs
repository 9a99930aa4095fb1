//! Bytes as words, and words as they are seen.

use encoding_rs::{Encoding, WINDOWS_1252};

use hob_http::page::characters::strip_invisible;
use hob_http::page::collapse_blank_lines;

/// The words that bytes are: by their byte order mark, else UTF-8, else as Windows wrote them.
pub(crate) fn decoded(bytes: &[u8]) -> String {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // What was cut within a character is UTF-8 still.
        Err(error) if error.error_len().is_none() => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// Words without the characters that nobody sees, and with a line that tells how many those were.
pub(crate) fn visible_text(text: &str) -> String {
    let (text, invisible) = strip_invisible(text);
    let text = collapse_blank_lines(&text);
    let text = text.trim_matches('\n');
    match invisible {
        0 => text.to_owned(),
        count => format!("{text}\n[Invisible characters left out: {count}]").trim_start().to_owned(),
    }
}

/// The cells of a row, as one line. Those at the end in which nothing stands are left out.
pub(crate) fn row(cells: &[String]) -> String {
    let last = cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1);
    let flat = |cell: &String| cell.split_whitespace().collect::<Vec<_>>().join(" ");
    cells[..last].iter().map(flat).collect::<Vec<_>>().join(" | ")
}

/// What stands behind `sign` as two hexadecimal digits (`%20`, `=3D`), as the character that it is.
pub(crate) fn unescaped(text: &str, sign: u8) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == sign).and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
