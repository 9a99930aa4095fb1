//! What a letter's parts say, and which of them are files.

use encoding_rs::WINDOWS_1252;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Encoding, Message, MessagePart, MimeHeaders as _, PartType};

use crate::channel::email::trim::unflowed;
use crate::channel::email::{one_line, part};
use crate::domain::inbound::Attachment;
use crate::tool::page::{self, characters};

/// How deep parts may lie in each other.
const DEPTH_MAX: usize = 30;
/// The most files of one letter.
const FILES_MAX: usize = 30;
/// A picture within a letter that is smaller is an ornament.
const ORNAMENT_BYTES_MAX: usize = 4_096;
/// The most characters of a file's name.
const NAME_CHARS_MAX: usize = 120;

/// What was found in a letter.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// Its words, in order.
    pub(super) text: String,
    /// Its files.
    pub(super) files: Vec<Attachment>,
    /// What a reader should know of it besides.
    pub(super) notes: Vec<String>,
    /// Whose letter it sends on.
    pub(super) forwarded_from: Option<String>,
    /// Passages and characters that nobody sees on a screen, left out.
    pub(super) hidden: usize,
}

/// One way of saying it.
enum Words {
    Plain(String),
    Html(String),
}

/// A walk through the parts of one letter.
struct Walk<'a> {
    message: &'a Message<'a>,
    /// What a file's handle begins with.
    handle: &'a str,
    body: Body,
}

/// Reads a letter's parts; `handle` says where its files are fetched from.
pub(super) fn read(message: &Message<'_>, handle: &str) -> Body {
    let mut walk = Walk { message, handle, body: Body::default() };
    let words = walk.part(0, "", 0);
    let mut body = walk.body;
    let mut said = Vec::with_capacity(words.len());
    for words in words {
        let (text, hidden) = match words {
            Words::Plain(text) => characters::visible(&text),
            Words::Html(html) => {
                let page = page::letter(&html);
                if page.cut {
                    body.notes.push("The letter was too long to be read whole.".to_owned());
                }
                (page.text, page.hidden + page.invisible)
            }
        };
        body.hidden += hidden;
        let text = text.trim_matches(|c: char| c == '\n' || c == '\r');
        if !text.trim().is_empty() {
            said.push(text.to_owned());
        }
    }
    body.text = said.join("\n\n");
    body
}

impl Walk<'_> {
    /// A part and all within it; `section` is IMAP's number of it.
    fn part(&mut self, id: u32, section: &str, depth: usize) -> Vec<Words> {
        let message = self.message;
        let Some(part) = message.parts.get(id as usize).filter(|_| depth < DEPTH_MAX) else {
            return Vec::new();
        };
        match &part.body {
            PartType::Multipart(children) => {
                let within =
                    |index: usize| if section.is_empty() { format!("{index}") } else { format!("{section}.{index}") };
                let each: Vec<Vec<Words>> = (1_usize..)
                    .zip(children)
                    .map(|(index, child)| self.part(*child, &within(index), depth + 1))
                    .collect();
                if part.is_content_type("multipart", "alternative") { chosen(each) } else { each.concat_all() }
            }
            PartType::Message(inner) => {
                self.enclosed(inner);
                self.file(part, section_or_first(section));
                Vec::new()
            }
            PartType::Text(text) | PartType::Html(text) => self.words(part, text, section_or_first(section)),
            PartType::Binary(_) | PartType::InlineBinary(_) => {
                self.file(part, section_or_first(section));
                Vec::new()
            }
        }
    }

    /// A part of text: words, unless it came as a file.
    fn words(&mut self, part: &MessagePart<'_>, text: &str, section: &str) -> Vec<Words> {
        let is_file = part.content_disposition().is_some_and(|how| how.is_attachment());
        if part.is_content_type("text", "calendar") {
            self.body.notes.push(invitation(text));
            self.file(part, section);
            return Vec::new();
        }
        let kind = part
            .content_type()
            .map(|kind| (kind.ctype().to_lowercase(), kind.subtype().unwrap_or_default().to_lowercase()));
        let readable = kind.as_ref().is_none_or(|(kind, subtype)| {
            kind == "text" && matches!(subtype.as_str(), "plain" | "html" | "enriched" | "")
        });
        if is_file || !readable {
            self.file(part, section);
            return Vec::new();
        }
        let text = repaired(self.message, part, text);
        if part.is_text_html() {
            return vec![Words::Html(text)];
        }
        let attribute = |name: &str| part.content_type().and_then(|kind| kind.attribute(name)).map(str::to_lowercase);
        let flowed = attribute("format").as_deref() == Some("flowed");
        let delsp = attribute("delsp").as_deref() == Some("yes");
        vec![Words::Plain(if flowed { unflowed(&text, delsp) } else { text })]
    }

    /// A letter within the letter.
    fn enclosed(&mut self, inner: &Message<'_>) {
        let sender = inner.from().and_then(|from| from.first()).and_then(|from| from.address.as_deref());
        let sender = one_line(sender.unwrap_or("somebody"), NAME_CHARS_MAX);
        let subject = one_line(inner.subject().unwrap_or("(none)"), NAME_CHARS_MAX);
        let inside = Walk { message: inner, handle: self.handle, body: Body::default() };
        let text = inside.only_words();
        self.body.hidden += text.hidden;
        let mut told = format!("A letter from {sender} is sent on with it. Its subject: {subject}");
        if !text.text.is_empty() {
            told.push_str("\nIt says:\n");
            told.push_str(&text.text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n"));
        }
        self.body.notes.push(told);
        self.body.forwarded_from.get_or_insert(sender);
    }

    /// The words alone: files within an enclosed letter come with that letter's own file.
    fn only_words(self) -> Body {
        let Body { text, hidden, .. } = read(self.message, self.handle);
        Body { text, hidden, ..Body::default() }
    }

    fn file(&mut self, part: &MessagePart<'_>, section: &str) {
        let is_inline = part.content_id().is_some() || part.content_disposition().is_some_and(|how| how.is_inline());
        let is_picture = part.content_type().is_some_and(|kind| kind.ctype().eq_ignore_ascii_case("image"));
        if is_inline && is_picture && part.len() <= ORNAMENT_BYTES_MAX {
            return;
        }
        let name = name_of(part, self.body.files.len() + 1);
        self.remark(part, &name);
        if self.body.files.len() == FILES_MAX {
            self.body.notes.push(format!("More than {FILES_MAX} files came with it; I have only the first."));
        }
        if self.body.files.len() >= FILES_MAX {
            return;
        }
        let handle =
            part::Handle { letter: self.handle.to_owned(), section: section.to_owned(), encoding: encoding_of(part) };
        // A part that ends with what was fetched of the letter may go on.
        let is_whole = (part.offset_end as usize) < self.message.raw_message.len();
        let bytes = is_whole.then(|| u64::try_from(part.len()).ok()).flatten();
        self.body.files.push(Attachment { handle: handle.encode(), name, bytes });
    }

    /// What should be said of a file that Hob cannot look into.
    fn remark(&mut self, part: &MessagePart<'_>, name: &str) {
        let is = |kind: &str, subtype: &str| part.is_content_type(kind, subtype);
        if is("application", "ms-tnef") || name.eq_ignore_ascii_case("winmail.dat") {
            self.body
                .notes
                .push(format!("{name} is Outlook's own packing of what belongs to this letter. I do not open it."));
        } else if is("application", "pkcs7-mime") || is("application", "x-pkcs7-mime") {
            self.body
                .notes
                .push("The letter is sealed or encrypted (S/MIME), and I cannot read what is in it.".to_owned());
        } else if is("application", "pgp-encrypted") {
            self.body.notes.push("The letter is encrypted (PGP), and I cannot read what is in it.".to_owned());
        }
    }
}

/// How a part says that it is written down. What was cut off cannot be decoded here, and is fetched whole later.
fn encoding_of(part: &MessagePart<'_>) -> Encoding {
    let said = part.content_transfer_encoding().map(|how| how.trim().to_lowercase());
    match said.as_deref() {
        Some("base64") => Encoding::Base64,
        Some("quoted-printable") => Encoding::QuotedPrintable,
        _ => Encoding::None,
    }
}

/// A letter that is not in parts is its own first one.
fn section_or_first(section: &str) -> &str {
    if section.is_empty() { "1" } else { section }
}

/// Of several ways of saying it: the plain one if it says anything, else what says something.
fn chosen(each: Vec<Vec<Words>>) -> Vec<Words> {
    let says = |words: &Words, plain: bool| match words {
        Words::Plain(text) => plain && !text.trim().is_empty(),
        Words::Html(html) => !plain && !html.trim().is_empty(),
    };
    let place = |plain: bool| each.iter().position(|words| words.iter().any(|words| says(words, plain)));
    let best = place(true).or_else(|| place(false));
    best.and_then(|best| each.into_iter().nth(best)).unwrap_or_default()
}

/// All lists as one.
trait ConcatAll {
    fn concat_all(self) -> Vec<Words>;
}

impl ConcatAll for Vec<Vec<Words>> {
    fn concat_all(self) -> Vec<Words> {
        self.into_iter().flatten().collect()
    }
}

/// Text whose letter lies about its charset: what is no UTF-8 is what Western Windows machines write.
fn repaired(message: &Message<'_>, part: &MessagePart<'_>, text: &str) -> String {
    if !text.contains('\u{fffd}') {
        return text.to_owned();
    }
    let charset = part.content_type().and_then(|kind| kind.attribute("charset")).map(str::to_lowercase);
    if !matches!(charset.as_deref(), None | Some("utf-8" | "utf8" | "us-ascii" | "ascii")) {
        return text.to_owned();
    }
    let raw = message.raw_message.get(part.offset_body as usize..part.offset_end as usize).unwrap_or_default();
    let decoded = match part.encoding {
        Encoding::None => Some(raw.to_vec()),
        Encoding::QuotedPrintable => quoted_printable_decode(raw),
        Encoding::Base64 => base64_decode(raw),
    };
    match decoded.map(String::from_utf8) {
        Some(Ok(text)) => text,
        Some(Err(bytes)) => WINDOWS_1252.decode_without_bom_handling(bytes.as_bytes()).0.into_owned(),
        None => text.to_owned(),
    }
}

/// What a calendar's part is about.
fn invitation(calendar: &str) -> String {
    let value = |key: &str| {
        calendar.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let name = name.split(';').next().unwrap_or(name);
            name.eq_ignore_ascii_case(key).then(|| one_line(value, NAME_CHARS_MAX))
        })
    };
    let about = value("SUMMARY").unwrap_or_else(|| "no title".to_owned());
    let starts = value("DTSTART").map(|start| format!(", {start}")).unwrap_or_default();
    let place = value("LOCATION").map(|place| format!(", {place}")).unwrap_or_default();
    format!("An invitation came with it: {about}{starts}{place}")
}

/// A file's name, or what it is where it has none.
fn name_of(part: &MessagePart<'_>, number: usize) -> String {
    let named = part.attachment_name().map(|name| one_line(name, NAME_CHARS_MAX)).filter(|name| !name.is_empty());
    named.unwrap_or_else(|| {
        let (kind, subtype) =
            part.content_type().map_or(("", ""), |kind| (kind.ctype(), kind.subtype().unwrap_or_default()));
        let ending = match (kind.to_lowercase().as_str(), subtype.to_lowercase().as_str()) {
            ("text", "plain") => "txt",
            ("text", "html") => "html",
            ("text", "calendar") => "ics",
            ("message", _) => "eml",
            ("image", "jpeg") => "jpg",
            ("application", "pkcs7-mime") => "p7m",
            (_, ending)
                if ending.len() <= 5 && !ending.is_empty() && ending.chars().all(|c| c.is_ascii_alphanumeric()) =>
            {
                return format!("file-{number}.{ending}");
            }
            _ => "bin",
        };
        format!("file-{number}.{ending}")
    })
}
