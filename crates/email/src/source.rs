//! A letter's bytes as the parser can bear them: its headers in one charset, and no more parts than it survives. Pure.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, WINDOWS_1252};
use mail_parser::{HeaderName, Message, MessageParser};

use crate::charset::{base64_decoded, quoted_printable_decoded};

/// What a part is. The parser holds letters within letters in each other: thousands of them, which anybody can write, would end the
/// process when they are let go. Each has a header of this name.
const KIND: &[u8] = b"content-type";
/// How a part is packed.
const PACKING: &[u8] = b"content-transfer-encoding";
const DISPOSITION: &[u8] = b"content-disposition";
/// The most parts that say what they are, and the most headers of these names.
const PARTS_MAX: usize = 1_000;
const HEADERS_MAX: usize = 4 * PARTS_MAX;
/// The most lines in which something may stand between two parts.
const DIVIDERS_MAX: usize = 50_000;
/// The most that one such header says besides: each thing is compared with all before it.
const ATTRIBUTES_MAX: usize = 300;
/// No encoded word is longer, whatever its program thought of RFC 2047.
const WORD_BYTES_MAX: usize = 2_000;

/// A letter that can be parsed.
pub(super) struct LetterSource<'a> {
    /// Its bytes.
    pub(super) raw: Cow<'a, [u8]>,
    /// It has more parts than are read.
    pub(super) is_cut: bool,
}

/// A letter in its parts, each as it is packed: what the parser unpacked it would read as well, with nothing to bound that.
/// Whoever writes one that it cannot bear must not keep the mailbox from those after it.
pub(super) fn parsed(raw: &[u8]) -> Option<Message<'_>> {
    let parse = || {
        let parser = MessageParser::new().with_minimal_headers().header_address(HeaderName::Sender);
        parser.header_content_type(HeaderName::ContentTransferEncoding).parse(raw)
    };
    std::panic::catch_unwind(parse).ok().flatten()
}

/// Makes a letter readable.
pub(super) fn readable(raw: &[u8]) -> LetterSource<'_> {
    let found = PartHeaders::of(raw);
    let whole = found.mended(raw);
    let (head, body) = whole.split_at(end_of_headers(&whole));
    let cleaned = match clean(head) {
        Cow::Borrowed(_) => None,
        Cow::Owned(head) => Some([head.as_bytes(), body].concat()),
    };
    LetterSource { raw: cleaned.map_or(whole, Cow::Owned), is_cut: found.end.is_some() }
}

/// The headers of parts. Only the parser knows which are some, and it lets spaces stand within their names: whatever looks like one
/// counts, wherever it stands.
#[derive(Default)]
struct PartHeaders {
    kinds: usize,
    headers: usize,
    dividers: usize,
    /// How much the header at hand has said besides.
    said: Option<usize>,
    /// What is told of the part at hand: it is a letter, and it is packed.
    is_letter: bool,
    is_packed: bool,
    /// Where the parts begin that are too many.
    end: Option<usize>,
    /// Signs by which a header would say too much.
    surplus: Vec<usize>,
    /// Where letters begin that are packed.
    packed: Vec<usize>,
}

impl PartHeaders {
    fn of(raw: &[u8]) -> Self {
        let (mut found, mut start) = (Self::default(), 0);
        for line in raw.split_inclusive(|byte| *byte == b'\n') {
            found.line(line, start);
            if found.kinds > PARTS_MAX || found.headers > HEADERS_MAX || found.dividers > DIVIDERS_MAX {
                found.end = Some(start);
                break;
            }
            start += line.len();
        }
        found
    }

    fn line(&mut self, line: &[u8], start: usize) {
        self.said = self.said.filter(|_| line.starts_with(b" ") || line.starts_with(b"\t"));
        // What stands before the next colon.
        let mut name = Vec::new();
        for (at, byte) in line.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace()) {
            if *byte == b':' {
                self.header(&name, line.get(at + 1..).unwrap_or_default().trim_ascii_start());
                name.clear();
            } else if *byte == b'='
                && let Some(said) = &mut self.said
            {
                *said += 1;
                self.surplus.extend((*said > ATTRIBUTES_MAX).then_some(start + at));
            } else {
                name.push(byte.to_ascii_lowercase());
            }
        }
        let bare = line.trim_ascii();
        self.dividers += usize::from(bare.windows(2).any(|two| two == b"--"));
        if bare.is_empty() && self.is_letter && self.is_packed {
            self.packed.push(start + line.len());
        }
        if bare.is_empty() || bare.starts_with(b"--") {
            (self.is_letter, self.is_packed) = (false, false);
        }
    }

    fn header(&mut self, name: &[u8], value: &[u8]) {
        let is = |known: &[u8]| name.ends_with(known);
        if is(KIND) || is(PACKING) || is(DISPOSITION) {
            let says = |known: &[u8]| value.get(..known.len()).is_some_and(|said| said.eq_ignore_ascii_case(known));
            self.headers += 1;
            self.kinds += usize::from(is(KIND));
            self.is_letter |= is(KIND) && says(b"message/");
            self.is_packed |= is(PACKING) && (says(b"base64") || says(b"quoted-printable"));
            self.said = self.said.or(Some(0));
        }
    }

    /// The letter up to its end, with nothing in it that says too much, and an empty line before each letter that is packed: the
    /// parser looks there for headers, and would do so in all that follows.
    fn mended<'a>(&self, raw: &'a [u8]) -> Cow<'a, [u8]> {
        let whole = raw.get(..self.end.unwrap_or(raw.len())).unwrap_or(raw);
        if self.surplus.is_empty() && self.packed.is_empty() {
            return Cow::Borrowed(whole);
        }
        let mut mended = Vec::with_capacity(whole.len() + self.packed.len());
        let (mut surplus, mut packed) = (self.surplus.iter().peekable(), self.packed.iter().peekable());
        for (at, byte) in whole.iter().enumerate() {
            mended.extend(packed.next_if(|start| **start == at).map(|_| b'\n'));
            mended.push(if surplus.next_if(|sign| **sign == at).is_some() { b' ' } else { *byte });
        }
        Cow::Owned(mended)
    }
}

/// Where the first empty line stands.
fn end_of_headers(raw: &[u8]) -> usize {
    let mut at = 0;
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        if matches!(line, b"\n" | b"\r\n") {
            break;
        }
        at += line.len();
    }
    at
}

/// Headers in UTF-8, in which no character is spread over several encoded words.
pub(super) fn clean(head: &[u8]) -> Cow<'_, str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(head.split_inclusive(|byte| *byte == b'\n').map(line).collect()),
    };
    match join_encoded_words(&text) {
        Some(joined) => Cow::Owned(joined),
        None => text,
    }
}

/// What is not UTF-8 is what Western Windows machines write.
fn line(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(raw).0,
    }
}

/// An encoded word (RFC 2047).
struct EncodedWord<'t> {
    charset: &'t str,
    bytes: Vec<u8>,
    /// Where it ends in the text.
    end: usize,
}

/// The text with each run of encoded words of one charset as one word; none: nothing is to be joined.
///
/// Each word should stand for whole characters, and many programs cut at a number of bytes instead.
fn join_encoded_words(text: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(start) = text.get(at..).and_then(|rest| rest.find("=?")).map(|found| at + found) {
        let Some(first) = word_at(text, start) else {
            at = start + 2;
            continue;
        };
        let (bytes, end, count) = run(text, &first);
        at = end;
        let encoding = Encoding::for_label_no_replacement(charset_of(first.charset).as_bytes());
        if let Some(encoding) = encoding.filter(|_| count > 1) {
            let words = encoding.decode_without_bom_handling(&bytes).0;
            let out = out.get_or_insert_default();
            out.push_str(text.get(copied..start).unwrap_or_default());
            out.extend(["=?utf-8?B?", &STANDARD.encode(words.as_bytes()), "?="]);
            copied = end;
        }
    }
    let mut out = out?;
    out.push_str(text.get(copied..).unwrap_or_default());
    Some(out)
}

/// What a run of words holds that begins with this one, where it ends, and how many they are.
fn run(text: &str, first: &EncodedWord<'_>) -> (Vec<u8>, usize, usize) {
    let (mut bytes, mut end, mut count) = (first.bytes.clone(), first.end, 1);
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let space = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        let next = word_at(text, end + space);
        let Some(next) = next.filter(|next| charset_of(next.charset).eq_ignore_ascii_case(charset_of(first.charset)))
        else {
            return (bytes, end, count);
        };
        bytes.extend_from_slice(&next.bytes);
        (end, count) = (next.end, count + 1);
    }
}

/// A charset without its language (RFC 2231).
fn charset_of(label: &str) -> &str {
    label.split('*').next().unwrap_or(label)
}

/// The encoded word that begins here.
fn word_at(text: &str, at: usize) -> Option<EncodedWord<'_>> {
    let rest = text.get(at..)?.strip_prefix("=?")?;
    let rest = rest.get(..rest.floor_char_boundary(WORD_BYTES_MAX))?;
    let (charset, rest) = rest.split_once('?')?;
    let (how, rest) = rest.split_once('?')?;
    let (payload, rest) = rest.split_once('?')?;
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    // Empty ones are written, too.
    if !(is_plain(charset) && rest.starts_with('=') && !payload.contains('\n')) {
        return None;
    }
    let bytes = match how {
        "q" | "Q" => quoted_printable_decoded(payload.replace('_', " ").as_bytes()),
        "b" | "B" => base64_decoded(payload.as_bytes()),
        _ => return None,
    };
    let end = at + 2 + charset.len() + 1 + how.len() + 1 + payload.len() + 2;
    Some(EncodedWord { charset, bytes, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(head: &[u8]) -> String {
        String::from_utf8(readable(head).raw.into_owned()).unwrap()
    }

    #[test]
    fn n14_headers_are_in_one_charset() {
        for (head, expected) in [
            (&b"Subject: plain\r\n\r\n\xff"[..11], "Subject: pl"),
            ("Subject: Grüße\r\n".as_bytes(), "Subject: Grüße\r\n"),
            (b"Subject: Gr\xfc\xdfe\r\nFrom: J\xc3\xbcrgen\r\n", "Subject: Grüße\r\nFrom: Jürgen\r\n"),
            // Cut inside a character; what stands between two words is none.
            (b"Subject: =?utf-8?Q?=E2=82?= =?utf-8?Q?=AC4?= now", "Subject: =?utf-8?B?4oKsNA==?= now"),
            (b"A: =?UTF-8?B?4oI=?=\r\n =?utf-8*de?b?rA==?=\r\n", "A: =?utf-8?B?4oKs?=\r\n"),
            // One word, two charsets, an unknown one, and none: as they are.
            (b"A: =?utf-8?Q?a?= b =?utf-8?Q?c?=", "A: =?utf-8?Q?a?= b =?utf-8?Q?c?="),
            (b"A: =?utf-8?Q?a?= =?koi8-r?Q?b?=", "A: =?utf-8?Q?a?= =?koi8-r?Q?b?="),
            (b"A: =?x-none?Q?a?= =?x-none?Q?b?=", "A: =?x-none?Q?a?= =?x-none?Q?b?="),
            (b"A: =? =?? =?a?b =?a?q?b", "A: =? =?? =?a?b =?a?q?b"),
        ] {
            assert_eq!(cleaned(head), expected);
        }
    }

    #[test]
    fn n14_the_body_is_left_alone() {
        let raw = b"Subject: \xfc\r\n\r\n\xfc =?utf-8?Q?a?= =?utf-8?Q?b?=";
        assert_eq!(readable(raw).raw.as_ref(), b"Subject: \xc3\xbc\r\n\r\n\xfc =?utf-8?Q?a?= =?utf-8?Q?b?=");
        assert!(matches!(readable(b"A: b\r\n\r\n\xfc").raw, Cow::Borrowed(_)));
    }

    #[test]
    fn n14_parts_have_an_end() {
        let raw = "Content-type: message/rfc822\n\n".repeat(PARTS_MAX + 5);
        let source = readable(raw.as_bytes());
        assert!(source.is_cut && source.raw.len() == 30 * PARTS_MAX, "{}", source.raw.len());
        assert!(!readable(&raw.as_bytes()[..30 * PARTS_MAX]).is_cut);
    }

    #[test]
    fn n14_a_header_says_so_much_and_parts_are_so_many() {
        let said = (0..3 * ATTRIBUTES_MAX).map(|number| format!("; a{number}=\"b\"")).collect::<String>();
        let raw = format!("Content-Type: text/plain{said}\r\nSubject: a=b\r\n\r\nc=d");
        let source = readable(raw.as_bytes());
        assert_eq!(source.raw.iter().filter(|byte| **byte == b'=').count(), ATTRIBUTES_MAX + 2);
        let raw = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", "--b\n\n".repeat(2 * DIVIDERS_MAX));
        let source = readable(raw.as_bytes());
        assert!(source.is_cut && source.raw.len() < 6 * DIVIDERS_MAX, "{}", source.raw.len());
    }
}
