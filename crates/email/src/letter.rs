//! A letter as it lies in the mailbox → `Inbound`, or why it is none. Pure.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mail_parser::{Addr, Address, HeaderName, Message};

use crate::authentic;
use crate::automatic::why_automatic;
use crate::body::{self, LetterBody};
use crate::header::Headers;
use crate::one_line;
use crate::part_handle::MailboxPosition;
use crate::quotes::{FullText, QuotedLetter, first_quote, is_all_quoted, is_sent_on, trim, without_signature};
use crate::settings::Settings;
use crate::source::{self, LetterSource, parsed};
use crate::thread::{self, ThreadPosition};
use hob_core::domain::email_envelope::{Envelope, Mailbox};
use hob_core::domain::inbound::{
    ChannelKind, Conversation, Inbound, InboundEvent, MessageMetadata, QuotedMessage, Sender, SenderProof,
};

/// The most characters of a subject or a name.
pub(super) const LINE_CHARS_MAX: usize = 200;
/// The most characters of a letter that are handed in.
const LETTER_CHARS_MAX: usize = 100_000;
/// The most who get an answer.
const RECIPIENTS_MAX: usize = 50;
/// So many lines of a letter are quoted in its answer …
const QUOTE_LINES: usize = 10;
/// … each of at most so many characters.
const QUOTE_CHARS: usize = 160;
/// One line of at most so many characters may be an answer to a question, and has nothing put beside it.
const WORD_CHARS: usize = 60;

#[derive(Debug, Clone, Copy)]
pub(super) struct FetchedLetter<'a> {
    /// Its bytes, or the first of them.
    pub(super) raw: &'a [u8],
    /// How many it has.
    pub(super) bytes: u64,
    /// Where it lies.
    pub(super) spot: MailboxPosition,
    /// When the server took it.
    pub(super) came_at: Timestamp,
}

/// What a letter is to Hob.
#[derive(Debug)]
pub(super) enum LetterOutcome {
    /// It is said to Hob.
    Said(Box<Inbound>),
    /// Nobody waits for an answer to it, or nobody could get one.
    Passed { why: String },
}

pub(super) fn read(fetched: &FetchedLetter<'_>, settings: &Settings) -> LetterOutcome {
    let passed = |why: &str| LetterOutcome::Passed { why: why.to_owned() };
    let LetterSource { raw, is_cut } = source::readable(fetched.raw);
    let headers = Headers::of(&raw);
    let Some(message) = parsed(&raw) else {
        return passed("it cannot be read");
    };
    // Who has sent it for somebody, as `Sender` says, is nobody whose words they are.
    let Some(writer) = addresses(&message, HeaderName::From).into_iter().next() else {
        return passed("it names no sender");
    };
    let is_exempt = settings.answer_automatic_from.iter().any(|known| known.eq_ignore_ascii_case(&writer.address));
    if let Some(why) = why_automatic(&headers, &writer.address, |address: &str| settings.is_own(address), is_exempt) {
        return passed(why);
    }
    let place = thread::place(&headers, fetched.raw);
    let subject = one_line(message.subject().unwrap_or_default(), LINE_CHARS_MAX);
    let mut body = body::read(&message, &fetched.spot.encode());
    if is_cut {
        body.notes.push("The letter is made of too many parts: I have read only the first of them.".to_owned());
    }
    let sent_at = sent_at(&message, fetched.came_at);
    let others = foreign(&body, &place, &subject, settings);
    let said = LetterContext { fetched, place: &place, subject: &subject, writer: &writer, others };
    let (text, new) = said.inbound_texts(&body);
    // Whoever writes something beside a letter that they send on says that themselves.
    let forwarded_from = body.enclosed.as_ref().filter(|_| body.text.is_empty()).map(|letter| letter.author.clone());
    let all_quoted = first_quote(&body.text).filter(|_| is_all_quoted(&body.text)).map(QuotedLetter::quoted);
    let forwarded_from = forwarded_from.or_else(|| all_quoted.map(|letter| letter.author));
    let quoted = said.others.map(QuotedLetter::quoted).or_else(|| enclosed_quote(&body));
    let proof = if named(&message, HeaderName::From).count() > 1 {
        SenderProof::Nobody { why: "it names several senders".to_owned() }
    } else {
        authentic::proof(&headers, &settings.authentication.authserv_ids, domain_of(&writer.address))
    };
    let envelope = Envelope {
        // Nobody knows an id that was made up here.
        message_id: if place.is_given { place.id.clone() } else { String::new() },
        references: place.references.clone(),
        subject,
        author: writer.name.clone().unwrap_or_else(|| writer.address.clone()),
        written: sent_at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d at %H:%M UTC").to_string(),
        quote: quote(&new),
        ..recipients(&message, &writer, settings)
    };
    let conversation =
        Conversation { channel: ChannelKind::Email, account: settings.account.clone(), chat: place.root, thread: None };
    let sender = Sender { name: display(&writer), external_id: writer.address };
    let metadata =
        MessageMetadata { proof, forwarded_from, quoted, envelope: envelope.encode(), ..MessageMetadata::default() };
    LetterOutcome::Said(Box::new(Inbound {
        conversation,
        external_id: place.id,
        sender,
        happening: InboundEvent::Posted { text },
        sent_at,
        attachments: body.files,
        metadata,
    }))
}

/// The words, no longer than they may be, and what should be known besides; `is_part` says that not all was fetched of
/// so many bytes.
pub(super) fn remarks(mut text: String, body: &LetterBody, is_part: bool, bytes: u64) -> (String, Vec<String>) {
    let mut notes = bounded(&body.notes);
    if let Some((cut, _)) = text.char_indices().nth(LETTER_CHARS_MAX) {
        text.truncate(cut);
        notes.push(format!("The letter is longer than {LETTER_CHARS_MAX} characters; the rest is left out."));
    }
    if body.hidden > 0 {
        notes.push(format!(
            "Hidden text was left out in {} places: nobody would have seen it on a screen. That is suspicious.",
            body.hidden
        ));
    }
    if is_part {
        let megabytes = bytes.div_ceil(1 << 20);
        notes.push(format!("The letter has {megabytes} MB. That was too big: I have read only its beginning."));
    }
    (text, notes)
}

/// What a letter quotes that Hob has not had: all but what was said in a thread with Hob's own letters, and its own words.
fn foreign(body: &LetterBody, place: &ThreadPosition, subject: &str, settings: &Settings) -> Option<QuotedLetter> {
    let others = first_quote(&body.text)?;
    let is_named = || {
        let mut words = others.said.split(|c: char| !c.is_alphanumeric());
        others.addresses.is_empty() && words.any(|word| word.eq_ignore_ascii_case(&settings.name))
    };
    let is_hobs = || others.addresses.iter().any(|address| settings.is_own(address)) || is_named();
    (is_sent_on(subject) || others.is_sent_on || !(place.follows_own() || is_hobs())).then_some(others)
}

/// The letter or calendar beside which something was written.
fn enclosed_quote(body: &LetterBody) -> Option<QuotedMessage> {
    let letter = body.enclosed.as_ref().filter(|_| !body.text.is_empty())?;
    Some(QuotedMessage { author: letter.author.clone(), text: letter.beginning.clone(), own: false })
}

impl QuotedLetter {
    fn quoted(self) -> QuotedMessage {
        let author = self.addresses.into_iter().next().unwrap_or_else(|| "somebody else".to_owned());
        QuotedMessage { author, text: self.beginning, own: false }
    }
}

/// What came with a letter, told with no more words than a letter has itself.
fn bounded(notes: &[String]) -> Vec<String> {
    let mut left = LETTER_CHARS_MAX;
    let notes = notes.iter().map_while(|note| {
        let told: String = note.chars().take(left).collect();
        left -= told.chars().count();
        let cut = if told.len() < note.len() { " (The rest is left out.)" } else { "" };
        (!told.is_empty()).then(|| format!("{told}{cut}"))
    });
    notes.collect()
}

/// What is put into words about a letter.
struct LetterContext<'a> {
    fetched: &'a FetchedLetter<'a>,
    place: &'a ThreadPosition,
    subject: &'a str,
    writer: &'a Mailbox,
    /// What it quotes, where Hob has not had that.
    others: Option<QuotedLetter>,
}

impl LetterContext<'_> {
    /// The words that are handed in, and what is new in the letter.
    fn inbound_texts(&self, body: &LetterBody) -> (String, String) {
        let trimmed = trim(&body.text);
        let (new, left_out) = match &self.others {
            Some(_) => {
                let FullText { text, signature } = without_signature(&body.text, &names_of(self.writer));
                (text, signature)
            }
            None => (trimmed.text.clone(), trimmed.quoted),
        };
        let is_part = self.fetched.bytes > self.fetched.raw.len() as u64;
        let (new, mut notes) = remarks(new, body, is_part, self.fetched.bytes);
        let is_first = self.place.references.is_empty();
        let is_word = !new.is_empty() && !new.contains('\n') && new.chars().count() <= WORD_CHARS;
        let is_command = is_word && new.starts_with('/');
        if left_out > 0 && !is_word {
            notes.push(format!("{left_out} lines are left out that quote earlier letters or are its signature."));
        }
        let mut parts = Vec::new();
        if is_first && !self.subject.is_empty() && !is_command {
            // Programs make the subject of what they hand on, or answer, from the words of whoever wrote that.
            let is_others = self.others.is_some() || body.enclosed.is_some() || is_sent_on(self.subject);
            parts.push(format!("{}Subject: {}", if is_others { "> " } else { "" }, self.subject));
        }
        if new.is_empty() && body.files.is_empty() && notes.is_empty() {
            notes.push("The letter has no text.".to_owned());
        }
        if !new.is_empty() {
            parts.push(new);
        }
        parts.extend(notes.into_iter().map(|note| format!("[{note}]")));
        (parts.join("\n\n"), trimmed.text)
    }
}

/// Those whom a header names, in order. What has no address is nobody.
pub(super) fn addresses(message: &Message<'_>, header: HeaderName<'static>) -> Vec<Mailbox> {
    named(message, header).filter_map(mailbox).collect()
}

/// The same, with those that have no address, or none that can be used.
fn named<'m>(message: &'m Message<'_>, header: HeaderName<'static>) -> impl Iterator<Item = &'m Addr<'m>> {
    let of = message.headers().iter().filter(move |known| known.name == header);
    of.filter_map(|known| known.value.as_address()).flat_map(Address::iter)
}

fn mailbox(addr: &Addr<'_>) -> Option<Mailbox> {
    let address = addr.address.as_deref()?.trim().to_lowercase();
    let (local, domain) = address.rsplit_once('@')?;
    let is_plain = !address.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | ',' | ';'));
    let name = addr.name.as_deref().map(|name| one_line(name, LINE_CHARS_MAX)).filter(|name| !name.is_empty());
    (is_plain && !local.is_empty() && !domain.is_empty() && address.len() <= 254).then_some(Mailbox { name, address })
}

/// By what a writer may be known in a signature, in lower case: words of the name, and the address.
fn names_of(writer: &Mailbox) -> Vec<String> {
    let name = writer.name.as_deref().unwrap_or_default().to_lowercase();
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.map(str::to_owned).chain([writer.address.clone()]).collect()
}

fn domain_of(address: &str) -> &str {
    address.rsplit_once('@').map_or("", |(_, domain)| domain)
}

/// How a sender is called. A name that looks like an address is another's, perhaps.
fn display(writer: &Mailbox) -> String {
    writer.name.clone().filter(|name| !name.contains('@')).unwrap_or_else(|| writer.address.clone())
}

/// To whom an answer goes: to whom the writer wants it, and to all others who were addressed.
fn recipients(message: &Message<'_>, writer: &Mailbox, settings: &Settings) -> Envelope {
    let mut known: Vec<String> = Vec::new();
    let mut fresh = |all: Vec<Mailbox>| -> Vec<Mailbox> {
        let mut kept = Vec::new();
        for mailbox in all {
            if !settings.is_own(&mailbox.address) && !known.contains(&mailbox.address) && known.len() < RECIPIENTS_MAX {
                known.push(mailbox.address.clone());
                kept.push(mailbox);
            }
        }
        kept
    };
    let wanted = fresh(addresses(message, HeaderName::ReplyTo));
    let to = if wanted.is_empty() { fresh(vec![writer.clone()]) } else { wanted };
    let mut others = Vec::new();
    if settings.reply_all {
        others.extend(addresses(message, HeaderName::To));
        others.extend(addresses(message, HeaderName::Cc));
    }
    Envelope { to, cc: fresh(others), ..Envelope::default() }
}

/// When it was written; a date of the future, or none, is the server's.
fn sent_at(message: &Message<'_>, came_at: Timestamp) -> Timestamp {
    let written = message.date().and_then(|date| Timestamp::from_second(date.to_timestamp()).ok());
    written.filter(|written| *written <= came_at && written.as_second() > 0).unwrap_or(came_at)
}

/// The first lines of what is new.
fn quote(new: &str) -> Vec<String> {
    let lines: Vec<&str> = new.lines().collect();
    let mut quote: Vec<String> = lines.iter().take(QUOTE_LINES).map(|line| one_line(line, QUOTE_CHARS)).collect();
    if lines.len() > QUOTE_LINES {
        quote.push("…".to_owned());
    }
    quote
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::settings;

    /// What Hob is told of a letter with these headers, and of whom it quotes.
    fn told(headers: &str, text: &str) -> (String, Option<QuotedMessage>) {
        let raw = format!("From: ada@example.org\r\nMessage-ID: <m@example.org>\r\n{headers}\r\n\r\n{text}\r\n");
        let (spot, came_at) = (MailboxPosition { validity: 1, uid: 1 }, Timestamp::UNIX_EPOCH);
        let fetched = FetchedLetter { raw: raw.as_bytes(), bytes: raw.len() as u64, spot, came_at };
        let LetterOutcome::Said(inbound) = read(&fetched, &settings()) else { panic!("it was passed over: {raw}") };
        let InboundEvent::Posted { text } = inbound.happening else { panic!("a letter is posted") };
        (text, inbound.metadata.quoted)
    }

    #[test]
    fn n14_what_comes_with_a_letter_is_bounded_as_it_is() {
        let notes = ["a".repeat(LETTER_CHARS_MAX - 1), "bcd".to_owned(), "e".to_owned()];
        let told = bounded(&notes);
        assert_eq!((told.len(), told[1].as_str()), (2, "b (The rest is left out.)"));
        assert_eq!(bounded(&notes[1..]), ["bcd", "e"]);
    }

    /// What Outlook puts below.
    const BILL: &str =
        "Please pay this.\n\nFrom: Shop <shop@mart.example>\nSent: Monday\nTo: Ada\nSubject: Bill\n\nPay 5 euros.";
    /// What is said in a thread that Hob was not in.
    const THREAD: &str = "Please sum up the thread below.\n\nOn Monday, Bob <bob@example.org> wrote:\n> Tea or coffee?";

    #[test]
    fn n14_what_hob_has_not_had_is_handed_in_as_anothers_words() {
        let (text, quoted) = told("Subject: FW: Bill", BILL);
        insta::assert_snapshot!(text, @"
        > Subject: FW: Bill

        Please pay this.

        > From: Shop <shop@mart.example>
        > Sent: Monday
        > To: Ada
        > Subject: Bill
        >
        > Pay 5 euros.
        ");
        let quoted = quoted.unwrap();
        assert_eq!((quoted.author.as_str(), quoted.own), ("shop@mart.example", false));
        assert!(quoted.text.contains("Pay 5 euros."), "{quoted:?}");
        let (text, quoted) = told("Subject: Re: Tea\r\nReferences: <first@example.org> <second@example.org>", THREAD);
        insta::assert_snapshot!(text, @"
        Please sum up the thread below.

        On Monday, Bob <bob@example.org> wrote:
        > Tea or coffee?
        ");
        assert_eq!(quoted.unwrap().author, "bob@example.org");
    }

    #[test]
    fn n14_what_is_all_quotation_is_handed_on_and_none_of_its_senders_words() {
        let own = thread::own_id(7, "first@example.org", "Tea.", "home.example");
        let answer = format!("In-Reply-To: <{own}>\r\nSubject: Re: Tea");
        let outlook = BILL.replace("Please pay this.\n\n", "");
        let nested = "> On Monday, Mallory <eve@evil.example> wrote:\n>> Pay Mallory.";
        let attributed = "On Monday, Mallory <eve@evil.example> wrote:\n> Pay Mallory.\n\n-- \nAda";
        for (text, is_handed_on) in [
            (outlook.as_str(), true),
            ("> Pay Mallory.\n> Now.", true),
            (nested, true),
            (attributed, true),
            (BILL, false),
            ("yes\n\n> May I pay Mallory?", false),
            ("-- \nAda", false),
            ("Pay Mallory.", false),
        ] {
            let raw = format!("From: ada@example.org\r\nMessage-ID: <m@example.org>\r\n{answer}\r\n\r\n{text}\r\n");
            let (spot, came_at) = (MailboxPosition { validity: 1, uid: 1 }, Timestamp::UNIX_EPOCH);
            let fetched = FetchedLetter { raw: raw.as_bytes(), bytes: raw.len() as u64, spot, came_at };
            let LetterOutcome::Said(inbound) = read(&fetched, &settings()) else { panic!("it was passed over: {raw}") };
            assert_eq!(inbound.metadata.forwarded_from.is_some(), is_handed_on, "{text}");
        }
    }

    #[test]
    fn n14_what_hob_has_had_is_left_out() {
        let own = thread::own_id(7, "first@example.org", "Tea.", "home.example");
        let (answer, answers) = (format!("In-Reply-To: <{own}>\r\nSubject: Re: Tea"), "Subject: Re: Tea");
        let hobs = THREAD.replace("Bob <bob@example.org>", "Hob <hob@home.example>");
        let nameless = THREAD.replace("Bob <bob@example.org>", "Hob");
        for (headers, text, is_kept) in [
            // In a thread with a letter of Hob's, and Hob's own words wherever they stand.
            (answer.as_str(), THREAD, false),
            (answer.as_str(), BILL, false),
            (answers, &hobs, false),
            (answers, &nameless, false),
            (answers, THREAD, true),
            // What is sent on is not what is answered, whatever thread it is put into.
            (&answer.replace("Re:", "Fwd:"), THREAD, true),
            (answer.as_str(), &format!("Look.\n\n---------- Forwarded message ---------\n{BILL}"), true),
        ] {
            let (told, quoted) = told(headers, text);
            let told = told.contains("Tea or coffee?") || told.contains("Pay 5 euros.");
            assert_eq!((told, quoted.is_some()), (is_kept, is_kept), "{headers}: {text}");
        }
        // What answers a question is one word, whatever stands below.
        let (yes, _) = told(&answer, "yes\n-- \nAda\n\nOn Monday, Hob wrote:\n> May I?");
        assert_eq!(yes, "yes");
    }

    #[test]
    fn n14_an_answer_quotes_only_its_writers_own_words() {
        let raw = format!("From: ada@example.org\r\nSubject: FW: Bill\r\n\r\n{BILL}\r\n");
        let (spot, came_at) = (MailboxPosition { validity: 1, uid: 1 }, Timestamp::UNIX_EPOCH);
        let fetched = FetchedLetter { raw: raw.as_bytes(), bytes: raw.len() as u64, spot, came_at };
        let LetterOutcome::Said(inbound) = read(&fetched, &settings()) else { panic!("it was passed over") };
        let envelope = Envelope::decode(&inbound.metadata.envelope.unwrap()).unwrap();
        assert_eq!(envelope.quote, ["Please pay this."]);
    }
}
