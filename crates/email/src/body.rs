//! What a letter's parts say, and which of them are files.

use std::cmp::Ordering;
use std::collections::HashSet;

use mail_parser::{Encoding, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};

use crate::part_handle::encoding_of;
use crate::quotes::unflowed;
use crate::source::parsed;
use crate::{charset, invitation, one_line, part_handle, source};
use hob_core::domain::inbound::Attachment;
use hob_http::page::{self, PageText, characters};

/// How deep parts may lie in each other, the letters among them that others lie in.
const DEPTH_MAX: usize = 100;
/// How deep letters may lie in each other.
const LETTERS_MAX: usize = 8;
/// The longest mark between parts (RFC 2046).
const BOUNDARY_BYTES_MAX: usize = 70;
/// When that much was said, no further part is read.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// So much of a letter that is sent on is its beginning.
const BEGINNING_CHARS: usize = 500;
/// The most things that are told of a letter besides what it says.
const NOTES_MAX: usize = 100;
/// So many words are a phrase …
const PHRASE_WORDS: usize = 3;
/// … and at most so many of a plain text's may be missing in the page beside it.
const UNSHOWN_PHRASES_MAX: usize = 8;
/// The most files of one letter.
const FILES_MAX: usize = 30;
/// A picture within a letter that is smaller is an ornament.
const ORNAMENT_BYTES_MAX: usize = 4_096;
/// The most characters of a file's name.
const NAME_CHARS_MAX: usize = 120;

/// What was found in a letter.
#[derive(Debug, Default)]
pub(super) struct LetterBody {
    /// Its words, in order.
    pub(super) text: String,
    pub(super) files: Vec<Attachment>,
    /// What a reader should know of it besides.
    pub(super) notes: Vec<String>,
    /// The first letter or calendar that lies in it: its words are somebody else's.
    pub(super) enclosed: Option<EnclosedWords>,
    /// Passages and characters that nobody sees on a screen, left out.
    pub(super) hidden: usize,
}

/// Words within the letter that whoever sends it may only hand on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EnclosedWords {
    /// Who wrote them, as they say.
    pub(super) author: String,
    /// How they begin.
    pub(super) beginning: String,
}

/// One way of saying it.
enum TextPart {
    Plain(String),
    Html(PageText),
}

impl TextPart {
    fn text(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Html(page) => &page.text,
        }
    }

    /// Its words, without where its links lead.
    fn words(&self) -> Vec<String> {
        let text = self.text();
        let text = text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or(text);
        let shown = text.split_whitespace().filter_map(|word| word.split("](").next()?.split("http").next());
        let words = shown.flat_map(|word| word.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    }
}

/// A walk through the parts of one letter.
struct PartWalk<'a> {
    message: &'a Message<'a>,
    /// What a file's handle begins with.
    handle: &'a str,
    /// In how many letters it lies.
    letters: usize,
    body: LetterBody,
}

/// Reads a letter's parts; `handle` says where its files are fetched from.
pub(super) fn read(message: &Message<'_>, handle: &str) -> LetterBody {
    read_within(message, handle, 0, 0)
}

fn read_within(message: &Message<'_>, handle: &str, letters: usize, depth: usize) -> LetterBody {
    let mut walk = PartWalk { message, handle, letters, body: LetterBody::default() };
    let words = walk.part(0, "", depth);
    let mut body = walk.body;
    let mut said = Vec::new();
    let mut left = TEXT_BYTES_MAX;
    for words in words {
        if left == 0 {
            body.notes.push("The letter was too long to be read whole.".to_owned());
            break;
        }
        let (text, hidden) = match words {
            TextPart::Plain(text) => characters::strip_invisible(&text),
            TextPart::Html(page) => {
                if page.cut {
                    body.notes.push("The letter was too long to be read whole.".to_owned());
                }
                (page.text, page.hidden + page.invisible)
            }
        };
        body.hidden += hidden;
        let text = text.trim_matches(|c: char| c == '\n' || c == '\r');
        left = left.saturating_sub(text.len());
        if !text.trim().is_empty() {
            said.push(text.to_owned());
        }
    }
    body.text = said.join("\n\n");
    body
}

impl PartWalk<'_> {
    /// A part and all within it; `section` is IMAP's number of it.
    fn part(&mut self, id: u32, section: &str, depth: usize) -> Vec<TextPart> {
        let message = self.message;
        let Some(part) = message.parts.get(id as usize) else { return Vec::new() };
        if depth >= DEPTH_MAX {
            self.note("Some of its parts lie too deep in each other; I have not read them.");
            return Vec::new();
        }
        match &part.body {
            PartType::Multipart(children) => {
                let within =
                    |index: usize| if section.is_empty() { format!("{index}") } else { format!("{section}.{index}") };
                let each: Vec<Vec<TextPart>> = (1_usize..)
                    .zip(children)
                    .map(|(index, child)| self.part(*child, &within(index), depth + 1))
                    .collect();
                if part.is_content_type("multipart", "alternative") {
                    self.alternative(each)
                } else {
                    each.concat_all()
                }
            }
            PartType::Message(inner) => {
                self.letter(part, inner, depth);
                self.file(part, section_or_first(section));
                Vec::new()
            }
            PartType::Text(_) | PartType::Html(_) | PartType::Binary(_) if is_multipart(part) => {
                self.unsplit_multipart(part, depth)
            }
            PartType::Text(_) | PartType::Html(_) => self.text_parts(part, section_or_first(section)),
            PartType::Binary(_) | PartType::InlineBinary(_) => {
                if part.is_content_type("application", "ics") {
                    self.invited(part);
                }
                self.file(part, section_or_first(section));
                Vec::new()
            }
        }
    }

    /// Of several ways of saying it: the plain one if it says anything, else what says something. But a plain text may say what
    /// nobody sees beside a page.
    fn alternative(&mut self, each: Vec<Vec<TextPart>>) -> Vec<TextPart> {
        let says = |words: &TextPart, plain: bool| {
            matches!(words, TextPart::Plain(_)) == plain && !words.text().trim().is_empty()
        };
        let first = |plain: bool| each.iter().position(|words| words.iter().any(|words| says(words, plain)));
        let of = |place: Option<usize>| place.and_then(|place| each.get(place)).map(Vec::as_slice);
        let (plain, page) = (first(true), first(false));
        let best = match (of(plain), of(page)) {
            (Some(words), Some(shown)) if plain != page && !is_shown(words, shown) => {
                self.note("Its plain text is not what a mail program shows. I have read what is shown.");
                page
            }
            _ => plain.or(page),
        };
        // What shows nothing may still hide something.
        let best = best.or_else(|| each.iter().position(|words| !words.is_empty()));
        best.and_then(|best| each.into_iter().nth(best)).unwrap_or_default()
    }

    /// A part of text: words, unless it came as a file.
    fn text_parts(&mut self, part: &MessagePart<'_>, section: &str) -> Vec<TextPart> {
        let is_file = part.content_disposition().is_some_and(|how| how.is_attachment());
        if part.is_content_type("text", "calendar") {
            self.invited(part);
            self.file(part, section);
            return Vec::new();
        }
        if is_file || !self.is_readable(part, section) {
            self.file(part, section);
            return Vec::new();
        }
        let text = charset::text(self.message, part);
        if part.is_text_html() {
            return vec![TextPart::Html(page::letter(&text))];
        }
        let attribute = |name: &str| part.content_type().and_then(|kind| kind.attribute(name)).map(str::to_lowercase);
        let flowed = attribute("format").as_deref() == Some("flowed");
        let delsp = attribute("delsp").as_deref() == Some("yes");
        vec![TextPart::Plain(if flowed { unflowed(&text, delsp) } else { text })]
    }

    /// Whether a part of text is something that is read as it stands.
    fn is_readable(&self, part: &MessagePart<'_>, section: &str) -> bool {
        let Some(kind) = part.content_type() else { return true };
        let subtype = kind.subtype().unwrap_or_default().to_lowercase();
        // What is alone in a letter is what its writer wrote, whatever they wrote it in.
        let is_alone = self.message.parts.len() == 1 && section == "1" && part.attachment_name().is_none();
        let is_plain = matches!(subtype.as_str(), "plain" | "html" | "enriched" | "markdown" | "x-markdown" | "");
        kind.ctype().eq_ignore_ascii_case("text") && (is_plain || is_alone)
    }

    /// A part that is said to be made of parts, and does not say how they are told apart.
    fn unsplit_multipart(&mut self, part: &MessagePart<'_>, depth: usize) -> Vec<TextPart> {
        let bytes = charset::bytes(self.message, part);
        let subtype = part.content_type().and_then(|kind| kind.subtype()).unwrap_or("mixed");
        let head =
            boundary_in(&bytes).map(|mark| format!("Content-Type: multipart/{subtype}; boundary=\"{mark}\"\r\n\r\n"));
        let whole = head.map(|head| [head.as_bytes(), &bytes].concat());
        let source = whole.as_deref().map(source::readable);
        let inner = source.as_ref().and_then(|source| parsed(&source.raw));
        let Some(inner) = inner.filter(|inner| matches!(inner.parts.first(), Some(part) if !is_undivided(part))) else {
            return vec![TextPart::Plain(charset::text(self.message, part))];
        };
        let body = LetterBody { enclosed: self.body.enclosed.take(), ..LetterBody::default() };
        let mut inside = PartWalk { message: &inner, handle: self.handle, letters: self.letters, body };
        let words = inside.part(0, "", depth + 1);
        let LetterBody { files, notes, enclosed, hidden, .. } = inside.body;
        notes.iter().for_each(|note| self.note(note));
        // The mail server sees no parts there.
        for file in files {
            self.note(&format!("{} came with it, and cannot be fetched: the letter is damaged.", file.name));
        }
        self.body.hidden += hidden;
        self.body.enclosed = enclosed;
        words
    }

    /// Tells what a calendar's part is about, once. Its words are those of whoever made the event, also in an answer to it.
    fn invited(&mut self, part: &MessagePart<'_>) {
        let method = part.content_type().and_then(|kind| kind.attribute("method"));
        let told = invitation::told(&charset::text(self.message, part), method);
        self.note(&format!("Its calendar says:\n{}", set_off(&told)));
        self.encloses("a calendar".to_owned(), &told);
    }

    fn encloses(&mut self, author: String, words: &str) {
        let beginning = words.chars().take(BEGINNING_CHARS).collect();
        self.body.enclosed.get_or_insert(EnclosedWords { author, beginning });
    }

    fn note(&mut self, note: &str) {
        match self.body.notes.len().cmp(&NOTES_MAX) {
            Ordering::Less if self.body.notes.iter().any(|known| known == note) => {}
            Ordering::Less => self.body.notes.push(note.to_owned()),
            Ordering::Equal => self.body.notes.push("More came with it than I tell of.".to_owned()),
            Ordering::Greater => {}
        }
    }

    /// A letter within the letter, which somebody may have packed.
    fn letter(&mut self, part: &MessagePart<'_>, inner: &Message<'_>, depth: usize) {
        if encoding_of(part) == Encoding::None {
            return self.enclosed(inner, depth);
        }
        let bytes = charset::bytes(self.message, part);
        let unpacked = source::readable(&bytes);
        if let Some(inner) = parsed(&unpacked.raw) {
            self.enclosed(&inner, depth);
        }
    }

    fn enclosed(&mut self, inner: &Message<'_>, depth: usize) {
        if self.body.notes.len() > NOTES_MAX {
            return;
        }
        let sender = inner.from().and_then(|from| from.first()).and_then(|from| from.address.as_deref());
        let sender = one_line(sender.unwrap_or("somebody"), NAME_CHARS_MAX);
        let subject = one_line(inner.subject().unwrap_or("(none)"), NAME_CHARS_MAX);
        let text = if self.letters < LETTERS_MAX {
            read_within(inner, self.handle, self.letters + 1, depth + 1)
        } else {
            LetterBody {
                text: "(It lies too deep in other letters; I have not read it.)".to_owned(),
                ..LetterBody::default()
            }
        };
        self.body.hidden += text.hidden;
        let mut told = format!("A letter from {sender} is sent on with it. Its subject: {subject}");
        // Its files come with its own file.
        let said = [text.text].into_iter().chain(text.notes).filter(|said| !said.is_empty()).collect::<Vec<_>>();
        let said = said.join("\n\n");
        if !said.is_empty() {
            told.push_str("\nIt says:\n");
            told.push_str(&set_off(&said));
        }
        self.note(&told);
        self.encloses(sender, &format!("Subject: {subject}\n{said}"));
    }

    fn file(&mut self, part: &MessagePart<'_>, section: &str) {
        let is_inline = part.content_id().is_some() || part.content_disposition().is_some_and(|how| how.is_inline());
        let is_picture = part.content_type().is_some_and(|kind| kind.ctype().eq_ignore_ascii_case("image"));
        if self.body.files.len() >= FILES_MAX {
            return self.note(&format!("More than {FILES_MAX} files came with it; I have only the first."));
        }
        let length = charset::bytes(self.message, part).len();
        if is_inline && is_picture && length <= ORNAMENT_BYTES_MAX {
            return;
        }
        let name = name_of(self.message, part, self.body.files.len() + 1);
        self.remark(part, &name);
        let handle = part_handle::PartHandle {
            letter: self.handle.to_owned(),
            section: section.to_owned(),
            encoding: encoding_of(part),
        };
        // A part that ends with what was fetched of the letter may go on.
        let is_whole = (part.offset_end as usize) < self.message.raw_message.len();
        let bytes = is_whole.then(|| u64::try_from(length).ok()).flatten();
        self.body.files.push(Attachment { handle: handle.encode(), name, bytes });
    }

    /// What should be said of a file that Hob cannot look into.
    fn remark(&mut self, part: &MessagePart<'_>, name: &str) {
        let is = |kind: &str, subtype: &str| part.is_content_type(kind, subtype);
        if is("application", "ms-tnef") || name.eq_ignore_ascii_case("winmail.dat") {
            self.note(&format!("{name} is Outlook's own packing of what belongs to this letter. I do not open it."));
        } else if is("application", "pkcs7-mime") || is("application", "x-pkcs7-mime") {
            self.note("The letter is sealed or encrypted (S/MIME), and I cannot read what is in it.");
        } else if is("application", "pgp-encrypted") {
            self.note("The letter is encrypted (PGP), and I cannot read what is in it.");
        }
    }
}

/// Words as a quotation: not those of whoever sends the letter.
fn set_off(words: &str) -> String {
    words.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// A letter that is not in parts is its own first one.
fn section_or_first(section: &str) -> &str {
    if section.is_empty() { "1" } else { section }
}

/// Whether a plain text is shown by the page beside it, but for a few words.
fn is_shown(plain: &[TextPart], page: &[TextPart]) -> bool {
    let words = |parts: &[TextPart]| -> Vec<String> { parts.iter().flat_map(TextPart::words).collect() };
    let (plain, page) = (words(plain), words(page));
    let length = plain.len().clamp(1, PHRASE_WORDS);
    let shown: HashSet<&[String]> = page.windows(length).collect();
    let (all, missing) =
        (plain.windows(length), plain.windows(length).filter(|phrase| !shown.contains(phrase)).count());
    missing <= UNSHOWN_PHRASES_MAX && missing * 4 <= all.count()
}

/// All lists as one.
trait ConcatAll {
    fn concat_all(self) -> Vec<TextPart>;
}

impl ConcatAll for Vec<Vec<TextPart>> {
    fn concat_all(self) -> Vec<TextPart> {
        self.into_iter().flatten().collect()
    }
}

/// Whether a part says that it is made of parts.
fn is_multipart(part: &MessagePart<'_>) -> bool {
    part.content_type().is_some_and(|kind| kind.ctype().eq_ignore_ascii_case("multipart"))
}

/// Whether it says so, and none was found.
fn is_undivided(part: &MessagePart<'_>) -> bool {
    is_multipart(part) && !matches!(part.body, PartType::Multipart(_))
}

/// What seems to stand between the parts: the first line of the kind that comes again, or is ended.
fn boundary_in(raw: &[u8]) -> Option<String> {
    let mut first: Option<&str> = None;
    for line in raw.split(|byte| *byte == b'\n') {
        let Some(line) = line.strip_prefix(b"--").and_then(|mark| std::str::from_utf8(mark).ok()) else { continue };
        let mark = line.trim_end();
        match first {
            Some(known) if mark.strip_suffix("--").unwrap_or(mark) == known => return Some(known.to_owned()),
            Some(_) => {}
            None => {
                let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
                let is_mark = (1..=BOUNDARY_BYTES_MAX).contains(&mark.len()) && mark.chars().all(is_plain);
                first = is_mark.then_some(mark);
            }
        }
    }
    None
}

/// A file's name, or what it is where it has none.
fn name_of(message: &Message<'_>, part: &MessagePart<'_>, number: usize) -> String {
    let named = given_name(message, part).map(|name| one_line(&name, NAME_CHARS_MAX)).filter(|name| !name.is_empty());
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

/// The name that a file was given. The parser reads headers in UTF-8 alone.
fn given_name(message: &Message<'_>, part: &MessagePart<'_>) -> Option<String> {
    let name = part.attachment_name()?;
    if !name.contains('\u{fffd}') {
        return Some(name.to_owned());
    }
    let raw = message.raw_message.get(part.offset_header as usize..part.offset_body as usize).unwrap_or_default();
    let head = source::clean(raw);
    let again = MessageParser::default().parse_headers(head.as_bytes())?;
    again.parts.first().and_then(|part| part.attachment_name()).map(str::to_owned)
}
