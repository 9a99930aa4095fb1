//! What a room's timeline tells, in Hob's words. Pure.
//!
//! Fields are read one by one: a shape that is new to Hob costs what it stands for, not the message.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::rooms::Room;
use hob_core::domain::inbound::{
    Attachment, Audience, ChannelKind, Conversation, Inbound, InboundEvent, MATRIX_PRIVATE, MessageMetadata,
    QuotedMessage, Sender, SenderProof, VoiceRecording,
};
use hob_core::domain::text::cut;

/// How much of what is quoted is worth repeating.
const QUOTED_CHARS_MAX: usize = 500;
/// What a mention's address begins with.
const PILL: &str = "https://matrix.to/#/";

/// Who Hob is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Me<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    /// Which of Hob's accounts it is.
    pub(super) account: &'a str,
    /// Whether words are a command of Hob's.
    pub(super) is_command: fn(&str) -> bool,
}

/// Where something was said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) id: &'a str,
    pub(super) room: &'a Room,
}

/// A field that is text, and not empty.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value[key].as_str().filter(|text| !text.is_empty())
}

/// The chat's name in Hob's words: whether it is private, the id does not tell.
pub(super) fn chat(place: Place<'_>) -> String {
    let prefix = if place.room.is_private() { MATRIX_PRIVATE } else { "" };
    format!("{prefix}{}", place.id)
}

/// The message that this one answers, and that is not only named for clients without threads.
pub(super) fn answered(event: &Value) -> Option<&str> {
    let relation = &event["content"]["m.relates_to"];
    text(&relation["m.in_reply_to"], "event_id").filter(|_| relation["is_falling_back"] != true)
}

/// An event as an `Inbound`; `None` if there is nothing in it that people say.
pub(super) fn inbound(event: &Value, place: Place<'_>, me: Me<'_>, proof: SenderProof) -> Option<Inbound> {
    let (sender, id) = (text(event, "sender")?, text(event, "event_id")?);
    if sender == me.id {
        return None;
    }
    let content = &event["content"];
    let relation = &content["m.relates_to"];
    let kind = text(event, "type")?;
    let (happening, external_id, said) = match kind {
        "m.room.redaction" => {
            let gone = text(content, "redacts").or_else(|| text(event, "redacts"))?;
            (InboundEvent::Deleted, gone, content)
        }
        // A notice is what programs say: it is not answered, so that two of them do not talk for ever.
        "m.room.message" if matches!(text(content, "msgtype"), None | Some("m.notice")) => return None,
        "m.room.message" if content["msgtype"].as_str().is_some_and(|kind| kind.starts_with("m.key.")) => return None,
        "m.room.message" if relation["rel_type"] == "m.replace" => {
            let new = &content["m.new_content"];
            (InboundEvent::Edited { text: words(new, me) }, text(relation, "event_id")?, new)
        }
        "m.room.message" => (InboundEvent::Posted { text: words(content, me) }, id, content),
        _ => return None,
    };
    let thread = text(relation, "event_id").filter(|_| relation["rel_type"] == "m.thread");
    let is_posted = matches!(happening, InboundEvent::Posted { .. });
    let (channel, account) = (ChannelKind::Matrix, me.account.to_owned());
    let audience = if place.room.is_private() || is_addressed(said, me) { Audience::Hob } else { Audience::Group };
    let spoken = voice_recording(content).filter(|_| is_posted);
    let millis = event["origin_server_ts"].as_i64()?;
    Some(Inbound {
        conversation: Conversation { channel, account, chat: chat(place), thread: thread.map(str::to_owned) },
        external_id: external_id.to_owned(),
        sender: Sender { external_id: sender.to_owned(), name: place.room.name_of(sender) },
        happening,
        sent_at: Timestamp::from_millisecond(millis).ok()?,
        attachments: if is_posted { attachment(content).into_iter().collect() } else { Vec::new() },
        metadata: MessageMetadata { audience, proof, spoken, ..MessageMetadata::default() },
    })
}

/// May this stand under a seal? What takes a message back may not: servers let nobody take back another's, but do not see into
/// what is sealed.
pub(super) fn may_be_sealed(event: &Value) -> bool {
    text(event, "type") == Some("m.room.message")
}

/// A message that another one answers.
pub(super) fn quoted(event: &Value, room: &Room, me: Me<'_>) -> Option<QuotedMessage> {
    let (author, said) = (text(event, "sender")?, words(&event["content"], me));
    let (author, own) = (room.name_of(author), author == me.id);
    (!said.is_empty()).then(|| QuotedMessage { author, text: cut(&said, QUOTED_CHARS_MAX), own })
}

/// What a message says, without what clients put before it for others that know less.
fn words(content: &Value, me: Me<'_>) -> String {
    let body = text(content, "body").unwrap_or_default();
    // A file's name is not what is said, but for what its sender wrote under it.
    let body = match text(content, "filename") {
        Some(name) if name == body => "",
        None if is_file(content) => "",
        _ => body,
    };
    let is_answer = text(&content["m.relates_to"]["m.in_reply_to"], "event_id").is_some();
    let body = if is_answer && body.starts_with("> <@") { without_quote(body) } else { body };
    let body = without_mention(body.trim(), me);
    let command = body.strip_prefix('!').map(|command| format!("/{command}"));
    command.filter(|command| (me.is_command)(command)).unwrap_or_else(|| body.to_owned())
}

/// Older clients repeat what they answer, a line each behind `> `.
fn without_quote(body: &str) -> &str {
    let mut rest = body;
    while let Some(line) = rest.strip_prefix("> ").or_else(|| rest.strip_prefix(">\n")) {
        rest = line.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.trim_start()
}

/// `Hob: what's up` is said to Hob, and asks what is up.
fn without_mention<'a>(body: &'a str, me: Me<'_>) -> &'a str {
    for name in [me.id, me.name, &format!("@{}", me.name)] {
        let Some(start) = body.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)) else { continue };
        let rest = &body[start.len()..];
        if rest.starts_with([':', ',', ' ']) || rest.is_empty() {
            return rest.trim_start_matches([':', ',']).trim_start();
        }
    }
    body
}

/// Is it said to Hob? A client says whom it mentions; one that does not leaves it to the words.
fn is_addressed(content: &Value, me: Me<'_>) -> bool {
    if content["m.mentions"].is_object() {
        return content["m.mentions"]["user_ids"].as_array().into_iter().flatten().any(|id| id == me.id);
    }
    let pill = format!("{PILL}{}", me.id);
    let is_linked = text(content, "formatted_body").is_some_and(|html| html.contains(&pill));
    let body = text(content, "body").unwrap_or_default();
    is_linked || body.contains(me.id) || without_mention(body, me).len() < body.len()
}

fn is_file(content: &Value) -> bool {
    matches!(text(content, "msgtype"), Some("m.image" | "m.file" | "m.audio" | "m.video"))
}

/// The file that a message brings.
fn attachment(content: &Value) -> Option<Attachment> {
    if !is_file(content) {
        return None;
    }
    // What is sealed is fetched with the key that stands beside its address.
    let sealed = &content["file"];
    let handle = match text(sealed, "url") {
        Some(_) => sealed.clone(),
        None => json!({"url": text(content, "url")?}),
    };
    let name = text(content, "filename").or_else(|| text(content, "body")).unwrap_or("file");
    Some(Attachment { handle: handle.to_string(), name: name.to_owned(), bytes: content["info"]["size"].as_u64() })
}

/// Whether its sender speaks in it.
fn voice_recording(content: &Value) -> Option<VoiceRecording> {
    let is_voice = content["m.voice"].is_object() || content["org.matrix.msc3245.voice"].is_object();
    let seconds = content["info"]["duration"].as_u64().and_then(|millis| u32::try_from(millis / 1_000).ok());
    (is_voice && text(content, "msgtype") == Some("m.audio")).then_some(VoiceRecording { seconds })
}

#[cfg(test)]
mod tests;
