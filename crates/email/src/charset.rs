//! What a part's bytes say in words, whatever its headers claim. Pure.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::{Message, MessagePart, MimeHeaders as _};

use crate::part_handle::encoding_of;

/// So far into a page it is looked for what it says of its charset, as browsers do.
const META_BYTES: usize = 2_048;
/// Labels that say nothing: programs write them whatever follows.
const EMPTY_LABELS: [&str; 9] =
    ["", "us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "default", "7bit", "8bit"];

/// Base64 as it is, not as it should be: cut off, or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// The words of a part of text.
pub(super) fn text(message: &Message<'_>, part: &MessagePart<'_>) -> String {
    let bytes = bytes(message, part);
    let label = part.content_type().and_then(|kind| kind.attribute("charset"));
    let label = label.map(|label| label.trim_matches(['"', '\'', ' ']).to_lowercase());
    decoded(&bytes, label.as_deref(), part.is_text_html()).unwrap_or_else(|| {
        // A charset that only the parser knows, or nobody.
        let parsers = label.and_then(|label| charset_decoder(label.as_bytes())).map(|decoder| decoder(&bytes));
        parsers.filter(|text| !text.contains('\u{fffd}')).unwrap_or_else(|| guessed(&bytes))
    })
}

/// What a part holds.
pub(super) fn bytes(message: &Message<'_>, part: &MessagePart<'_>) -> Vec<u8> {
    let raw = message.raw_message.get(part.offset_body as usize..part.offset_end as usize).unwrap_or_default();
    match encoding_of(part) {
        mail_parser::Encoding::None => raw.to_vec(),
        mail_parser::Encoding::QuotedPrintable => quoted_printable_decoded(raw),
        mail_parser::Encoding::Base64 => base64_decoded(raw),
    }
}

/// Bytes in words; none: the label is of a charset that is not known here.
fn decoded(bytes: &[u8], label: Option<&str>, is_page: bool) -> Option<String> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return Some(encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0.into_owned());
    }
    let told = label.filter(|label| !EMPTY_LABELS.contains(label));
    let named = match told {
        Some(label) => Some(Encoding::for_label_no_replacement(label.as_bytes())?),
        None if is_page => meta(bytes).and_then(|label| Encoding::for_label_no_replacement(label.as_bytes())),
        None => None,
    };
    // A page that says of itself that it is in UTF-16 could not be read so far.
    let named = named.filter(|named| told.is_some() || ![UTF_16LE, UTF_16BE].contains(named));
    // Western words never look like UTF-8 by chance.
    let is_western = named == Some(WINDOWS_1252) && std::str::from_utf8(bytes).is_ok();
    Some(match named.filter(|named| *named != UTF_8 && !is_western) {
        Some(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
        None => guessed(bytes),
    })
}

/// What is not UTF-8 is what Western Windows machines write, unless it is UTF-8 but for a few bytes.
fn guessed(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let damaged = text.matches('\u{fffd}').count();
    let whole = text.chars().filter(|c| !c.is_ascii() && *c != '\u{fffd}').count();
    if damaged == 0 || whole > damaged {
        text.into_owned()
    } else {
        WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned()
    }
}

/// The charset that a page names.
fn meta(page: &[u8]) -> Option<String> {
    let head = page.get(..page.len().min(META_BYTES)).unwrap_or_default();
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    head.split("<meta").skip(1).find_map(|tag| {
        let (_, rest) = tag.split('>').next()?.split_once("charset")?;
        let label = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let label: String = label.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c)).collect();
        (!label.is_empty()).then_some(label)
    })
}

/// Quoted-printable; what is none stands for itself, and a letter may end within it.
pub(super) fn quoted_printable_decoded(raw: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(byte) = raw.get(at) {
        let rest = raw.get(at + 1..).unwrap_or_default();
        at += 1;
        if *byte != b'=' {
            bytes.push(*byte);
        } else if let Some(length) = soft_break(rest) {
            at += length;
        } else if let Some(value) = hexadecimal(rest) {
            bytes.push(value);
            at += 2;
        } else {
            bytes.push(b'=');
        }
    }
    bytes
}

/// How long the line's end is that counts for nothing.
fn soft_break(rest: &[u8]) -> Option<usize> {
    let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    match rest.get(spaces..).unwrap_or_default() {
        [] => Some(spaces),
        [b'\n', ..] => Some(spaces + 1),
        [b'\r', b'\n', ..] => Some(spaces + 2),
        _ => None,
    }
}

fn hexadecimal(rest: &[u8]) -> Option<u8> {
    let digit = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Base64; what is none is passed over.
pub(super) fn base64_decoded(raw: &[u8]) -> Vec<u8> {
    let mut digits: Vec<u8> = raw.iter().copied().take_while(|byte| *byte != b'=').collect();
    digits.retain(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    // One digit alone is no byte.
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    BASE64.decode(digits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_bytes_are_read_as_their_writer_meant_them() {
        let western = b"5 \x80 \x96 Gr\xfc\xdfe";
        for (bytes, label, expected) in [
            ("Grüße".as_bytes(), Some("us-ascii"), "Grüße"),
            ("Grüße".as_bytes(), Some("iso-8859-1"), "Grüße"),
            ("Grüße".as_bytes(), None, "Grüße"),
            (western, Some("iso-8859-1"), "5 € – Grüße"),
            (western, Some("utf-8"), "5 € – Grüße"),
            (western, Some("us-ascii"), "5 € – Grüße"),
            (western, None, "5 € – Grüße"),
            (b"\xb1\xb6", Some("iso-8859-2"), "ąś"),
            (b"\xef\xbb\xbfa", Some("koi8-r"), "a"),
            (b"\xff\xfea\0", None, "a"),
            (b"a\0b\0", Some("utf-16le"), "ab"),
            // Cut off within a character.
            (b"Gr\xc3\xbc\xc3\x9fe \xe2\x82", Some("utf-8"), "Grüße \u{fffd}"),
        ] {
            assert_eq!(decoded(bytes, label, false).as_deref(), Some(expected), "{label:?}");
        }
        assert_eq!(decoded(b"a", Some("x-nobodys"), false), None);
    }

    #[test]
    fn n14_a_page_may_name_its_charset_itself() {
        for (page, label, expected) in [
            (&b"<meta charset=iso-8859-2>\xb1"[..], None, "ą"),
            (b"<META http-equiv=x content='text/html; charset = \"ISO-8859-2\"'>\xb1", None, "ą"),
            (b"<meta charset='iso-8859-2'>\xb1", Some("us-ascii"), "ą"),
            // Its header goes before.
            (b"<meta charset=iso-8859-2>\xc1", Some("koi8-r"), "а"),
            (b"<meta charset=utf-16>\xfc", None, "ü"),
            (b"<p>charset=iso-8859-2</p>\xb1", None, "±"),
        ] {
            let text = decoded(page, label, true).unwrap();
            assert!(text.ends_with(expected), "{text}");
        }
        assert!(decoded(b"<meta charset=iso-8859-2>\xb1", None, false).unwrap().ends_with('±'), "it is not a page");
    }

    #[test]
    fn n14_what_is_cut_off_says_what_it_says() {
        for (raw, expected) in
            [(&b"a =C3=BC =\r\nb=  \nc="[..], "a ü bc"), (b"5=6 =zz =C", "5=6 =zz =C"), (b"= =41", "= A")]
        {
            assert_eq!(String::from_utf8(quoted_printable_decoded(raw)).unwrap(), expected);
        }
        for (raw, expected) in [("R3LD\r\nvMOfZQ==", "Grüße"), ("R3LDvMOfZ", "Grüß"), ("!", ""), ("YQ", "a")] {
            assert_eq!(String::from_utf8_lossy(&base64_decoded(raw.as_bytes())), expected, "{raw}");
        }
    }
}
