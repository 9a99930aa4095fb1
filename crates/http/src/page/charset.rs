//! Bytes to text: by the mark at their beginning, by what the server says, by what the page says, or by looking.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How far into a page its own word about its encoding is looked for, in bytes.
const HEAD_BYTES_MAX: usize = 4_096;

/// The text of a body whose `Content-Type` is this.
pub fn decode(body: &[u8], content_type: &str) -> String {
    let said = parameter(content_type).and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = said.or_else(|| declared_charset(body)).unwrap_or_else(|| guess(body));
    // A mark at the beginning goes before either.
    encoding.decode(body).0.into_owned()
}

fn parameter(content_type: &str) -> Option<&str> {
    let charset = |part: &&str| part.trim().get(..8).is_some_and(|name| name.eq_ignore_ascii_case("charset="));
    let part = content_type.split(';').skip(1).find(charset)?;
    Some(part.trim().get(8..)?.trim().trim_matches(['"', '\'']))
}

/// What a page's `<meta charset=…>` or an XML declaration says.
fn declared_charset(body: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&body[..body.len().min(HEAD_BYTES_MAX)]).to_ascii_lowercase();
    let label = |key: &str| {
        let (_, after) = head.split_once(key)?;
        let after = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end = after
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')))
            .unwrap_or(after.len());
        Encoding::for_label(&after.as_bytes()[..end])
    };
    let xml = head.trim_start().starts_with("<?xml").then(|| label("encoding")).flatten();
    let found = xml.or_else(|| label("charset"))?;
    // A page that can be read so far is not in the encoding of wide characters that it names.
    Some(if found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE { UTF_8 } else { found })
}

/// UTF-8 if it can be, up to an end that may be cut; else what old pages are in.
fn guess(body: &[u8]) -> &'static Encoding {
    match std::str::from_utf8(body) {
        Ok(_) => UTF_8,
        Err(error) if error.error_len().is_none() && !body[..error.valid_up_to()].is_ascii() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zoo_of_charsets() {
        let table: [(&[u8], &str, &str); 17] = [
            (b"caf\xc3\xa9", "text/plain", "café"),
            (b"caf\xe9", "text/plain", "café"),
            (b"caf\xe9", "text/html; charset=ISO-8859-1", "café"),
            (b"caf\xe9", "text/html; Charset=\"latin1\"", "café"),
            (b"caf\xc3\xa9", "text/html;charset=utf-8", "café"),
            (b"\xef\xbb\xbfcaf\xc3\xa9", "text/html;charset=latin1", "café"),
            (b"\xff\xfec\0a\0f\0\xe9\0", "text/plain", "café"),
            (b"\xfe\xff\0c\0a\0f\0\xe9", "text/plain", "café"),
            (b"<meta charset=windows-1251>\xcf\xf0\xe8\xe2\xe5\xf2", "text/html", "<meta charset=windows-1251>Привет"),
            (
                b"<meta content='text/html; charset=koi8-r'>\xf0\xd2",
                "text/html",
                "<meta content='text/html; charset=koi8-r'>Пр",
            ),
            (
                b"<?xml version='1.0' encoding='iso-8859-15'?>\xa4",
                "application/xml",
                "<?xml version='1.0' encoding='iso-8859-15'?>€",
            ),
            (b"\x93\xfa\x96{", "text/html; charset=shift_jis", "日本"),
            (b"\xc6\xfc\xcb\xdc", "text/html; charset=euc-jp", "日本"),
            (b"\xd6\xd0\xce\xc4", "text/html; charset=gb2312", "中文"),
            (b"\xa4\xa4\xa4\xe5", "text/html; charset=big5", "中文"),
            (b"<meta charset=utf-16>caf\xc3\xa9", "text/html", "<meta charset=utf-16>café"),
            (b"caf\xc3", "text/plain; charset=unknown-x", "cafÃ"),
        ];
        for (body, content_type, expected) in table {
            assert_eq!(decode(body, content_type), expected, "{content_type}");
        }
    }
}
