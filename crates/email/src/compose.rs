//! An answer as a letter. Pure: its bytes, and to whom it goes.

use std::time::SystemTime;

use jiff::Timestamp;
use lettre::address::Envelope as SmtpEnvelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox as LettreMailbox, Message, MessageBuilder, MultiPart, SinglePart};
use tracing::warn;

use crate::automatic::LOOP_HEADER;
use crate::settings::Settings;
use crate::{one_line, thread};
use hob_core::domain::email_envelope::{Envelope, Mailbox};
use hob_core::domain::outgoing::{Outgoing, REPEAT_MARK};
use hob_core::render::clean::clean;

/// The most characters of a subject.
const SUBJECT_CHARS_MAX: usize = 200;

/// A letter, ready to go.
#[derive(Debug)]
pub(super) struct OutgoingLetter {
    /// Its id, without `<>`.
    pub(super) id: String,
    /// From whom and to whom it goes.
    pub(super) envelope: SmtpEnvelope,
    pub(super) bytes: Vec<u8>,
}

/// What cannot be made into a letter, in words for an operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct ComposeError(String);

impl ComposeError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A header that lettre has no type for.
#[derive(Clone)]
struct RawHeader(HeaderName, String);

impl RawHeader {
    fn apply(self, builder: MessageBuilder) -> MessageBuilder {
        builder.raw_header(HeaderValue::new(self.0, self.1))
    }
}

/// The id of the letter that this row becomes, at each attempt.
pub(super) fn id(message: &Outgoing, settings: &Settings) -> String {
    thread::own_id(message.id.0, &message.destination.conversation.chat, &message.text, settings.domain())
}

/// Makes the letter; `content` is what its file holds.
pub(super) fn compose(
    message: &Outgoing,
    content: Option<Vec<u8>>,
    settings: &Settings,
    now: Timestamp,
) -> Result<OutgoingLetter, ComposeError> {
    let answered = message.envelope.as_deref().and_then(Envelope::decode);
    let Some(answered) = answered.filter(|envelope| !envelope.to.is_empty()) else {
        return Err(ComposeError(
            "there is no letter here that could be answered, so nobody is known to write to".to_owned(),
        ));
    };
    let id = id(message, settings);
    let mut builder = Message::builder()
        .message_id(Some(format!("<{id}>")))
        .date(SystemTime::from(now))
        .from(own(settings)?)
        .subject(subject(&answered));
    let (to, cc) = (reachable(&answered.to), reachable(&answered.cc));
    if to.is_empty() && cc.is_empty() {
        return Err(ComposeError("none of those to whom it would go has an address that can be written to".to_owned()));
    }
    builder = to.into_iter().fold(builder, MessageBuilder::to);
    builder = cc.into_iter().fold(builder, MessageBuilder::cc);
    if !answered.message_id.is_empty() {
        let mut references = answered.references.clone();
        references.push(answered.message_id.clone());
        let references: Vec<String> = references.iter().map(|id| format!("<{id}>")).collect();
        builder = builder.in_reply_to(format!("<{}>", answered.message_id)).references(references.join(" "));
    } else if !answered.references.is_empty() {
        let references: Vec<String> = answered.references.iter().map(|id| format!("<{id}>")).collect();
        builder = builder.references(references.join(" "));
    }
    builder = RawHeader(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-replied".to_owned()).apply(builder);
    builder = RawHeader(HeaderName::new_from_ascii_str(LOOP_HEADER), settings.address.clone()).apply(builder);
    let words = text_and_html(message, &answered);
    let letter = match (&message.file, content) {
        (Some(file), Some(content)) => {
            let kind = ContentType::parse(&file.mime).or_else(|_odd| ContentType::parse("application/octet-stream"));
            let enclosed =
                Attachment::new(one_line(&file.name, SUBJECT_CHARS_MAX)).body(content, kind.map_err(ComposeError::of)?);
            builder.multipart(MultiPart::mixed().multipart(words).singlepart(enclosed))
        }
        _ => builder.multipart(words),
    };
    let letter = letter.map_err(ComposeError::of)?;
    Ok(OutgoingLetter { id, envelope: letter.envelope().clone(), bytes: letter.formatted() })
}

/// The words as text and as HTML, with a little of what they answer below.
fn text_and_html(message: &Outgoing, answered: &Envelope) -> MultiPart {
    let mark = if message.may_repeat { format!("{REPEAT_MARK}\n\n") } else { String::new() };
    let text = clean(&message.text);
    let plain = format!("{mark}{}{}", text.trim_end(), quoted_text(answered));
    let html = match &message.markup {
        Some(markup) => markup.clone(),
        None => format!("<p>{}</p>", escaped(text.trim_end()).replace('\n', "<br>\n")),
    };
    let mark = if message.may_repeat { format!("<p>{}</p>\n", escaped(REPEAT_MARK)) } else { String::new() };
    let page = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{mark}{html}{}\n</body></html>\n",
        quoted_html(answered)
    );
    MultiPart::alternative().singlepart(SinglePart::plain(plain)).singlepart(SinglePart::html(page))
}

fn attribution(answered: &Envelope) -> Option<String> {
    (!answered.quote.is_empty()).then(|| format!("On {}, {} wrote:", answered.written, answered.author))
}

fn quoted_text(answered: &Envelope) -> String {
    let Some(attribution) = attribution(answered) else { return "\n".to_owned() };
    let lines: Vec<String> = answered.quote.iter().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    format!("\n\n{attribution}\n{}\n", lines.join("\n"))
}

fn quoted_html(answered: &Envelope) -> String {
    let Some(attribution) = attribution(answered) else { return String::new() };
    let lines: Vec<String> = answered.quote.iter().map(|line| escaped(line)).collect();
    format!("\n<p>{}</p>\n<blockquote type=\"cite\">{}</blockquote>", escaped(&attribution), lines.join("<br>\n"))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `Re:` before what it was about, once.
fn subject(answered: &Envelope) -> String {
    let subject = one_line(&answered.subject, SUBJECT_CHARS_MAX);
    let is_answer = answered.is_first()
        || ["re:", "aw:", "sv:", "antw:"]
            .iter()
            .any(|begin| subject.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin)));
    if is_answer { subject } else { format!("Re: {subject}").trim_end().to_owned() }
}

fn own(settings: &Settings) -> Result<LettreMailbox, ComposeError> {
    mailbox(&Mailbox { name: Some(settings.name.clone()), address: settings.address.clone() })
}

/// Those who can be written to: one odd address must not keep the others from their letter.
fn reachable(all: &[Mailbox]) -> Vec<LettreMailbox> {
    let written = all.iter().filter_map(|one| match mailbox(one) {
        Ok(written) => Some(written),
        Err(error) => {
            warn!(channel = "email", %error, "an answer does not go to one of its recipients: {error}");
            None
        }
    });
    written.collect()
}

fn mailbox(mailbox: &Mailbox) -> Result<LettreMailbox, ComposeError> {
    let address = mailbox.address.parse();
    let address = address.map_err(|error| ComposeError(format!("{} is not an address: {error}", mailbox.address)))?;
    let name = mailbox.name.as_deref().map(|name| one_line(name, SUBJECT_CHARS_MAX)).filter(|name| !name.is_empty());
    Ok(LettreMailbox::new(name, address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::settings;
    use hob_core::domain::ids::OutboxId;
    use hob_core::domain::inbound::{ChannelKind, Conversation};
    use hob_core::domain::outgoing::Destination;

    /// To whom an answer to these goes.
    fn recipients(to: &[&str], cc: &[&str]) -> Result<Vec<String>, String> {
        let all = |addresses: &[&str]| -> Vec<Mailbox> {
            addresses.iter().map(|address| Mailbox { name: None, address: (*address).to_owned() }).collect()
        };
        let envelope = Envelope { to: all(to), cc: all(cc), ..Envelope::default() };
        let conversation = Conversation {
            channel: ChannelKind::Email,
            account: "default".to_owned(),
            chat: "a@x".to_owned(),
            thread: None,
        };
        let message = Outgoing {
            id: OutboxId(1),
            destination: Destination { conversation, reply_to: None },
            run: None,
            text: "hello".to_owned(),
            markup: None,
            replaces: None,
            envelope: envelope.encode(),
            choices: Vec::new(),
            file: None,
            may_repeat: false,
        };
        let ready = compose(&message, None, &settings(), Timestamp::UNIX_EPOCH).map_err(|error| error.to_string())?;
        Ok(ready.envelope.to().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn n14_an_odd_address_keeps_nobody_else_from_the_answer() {
        let odd = ["a..b@docomo.ne.jp", "a.@x.example"];
        let ada = ["ada@example.org"];
        assert_eq!(
            recipients(&ada, &[odd[0], "bob@example.org", odd[1]]).unwrap(),
            ["ada@example.org", "bob@example.org"]
        );
        assert_eq!(recipients(&odd, &ada).unwrap(), ada);
        insta::assert_snapshot!(recipients(&odd, &odd).unwrap_err(), @"none of those to whom it would go has an address that can be written to");
    }
}
