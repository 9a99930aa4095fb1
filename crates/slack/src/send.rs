//! One chunk to Slack, and what its answer means for the outbox.
//!
//! Each message carries the number of its row as metadata, which nobody sees: so a send whose outcome nobody knows is
//! looked up in the channel's history before it is done again. Files have no metadata; of them a repetition says so.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tracing::info;

use crate::Slack;
use crate::call::CallError;
use crate::convert::{list, micros, text};
use crate::mrkdwn::{escaped, unescaped};
use crate::outcome::{is_markup_refused, is_unchangeable, outcome, repeatable_outcome};
use crate::upload;
use hob_core::domain::capabilities::{Limit, Unit};
use hob_core::domain::outgoing::{Choice, DeliveryError, Destination, DraftMessage, Outgoing, REPEAT_MARK, Receipt};
use hob_core::domain::text::{head, hex};
use hob_core::render::chunk::chunks;
use hob_core::render::clean::clean;

/// What the metadata of Hob's messages are called.
const EVENT_TYPE: &str = "hob_outbox";
/// How many blocks a message has at most.
const BLOCKS_MAX: usize = 50;
/// How long a section is, and what a button says.
const SECTION: Limit = Limit::new(3_000, Unit::Utf16);
const LABEL_CHARS_MAX: usize = 75;
/// How many buttons stand in a row of their own.
const BUTTONS_MAX: usize = 25;
/// How many pages of a thread are looked through for an earlier attempt.
const PAGES_MAX: usize = 10;

/// Where something goes. A thread that is not known is not a place: its words are not for the whole channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostTarget {
    pub(super) channel: String,
    pub(super) thread: Option<String>,
}

impl PostTarget {
    pub(super) fn of(destination: &Destination) -> Result<Self, DeliveryError> {
        let place = &destination.conversation;
        let refused = |why: &str| DeliveryError::Refused { why: why.to_owned() };
        if !place.chat.starts_with(['C', 'D', 'G']) {
            return Err(refused("not the address of a channel on Slack"));
        }
        if place.thread.as_deref().is_some_and(|thread| micros(thread).is_none()) {
            return Err(refused("the thread is not known"));
        }
        Ok(Self { channel: place.chat.clone(), thread: place.thread.clone() })
    }
}

/// What a message says.
#[derive(Debug, Clone)]
pub(super) struct MessageText {
    /// Without markup, with Slack's entities: what a notice shows.
    pub(super) text: String,
    /// Sections of mrkdwn.
    sections: Option<Vec<Value>>,
    choices: Vec<Choice>,
}

impl MessageText {
    /// With `markup`, `text` has Slack's entities already.
    fn new(text: &str, markup: Option<&str>, choices: &[Choice]) -> Self {
        let text = clean(text);
        let Some(markup) = markup else {
            return Self { text: escaped(&text), sections: None, choices: choices.to_vec() };
        };
        let sections = match serde_json::from_str::<Value>(markup) {
            Ok(Value::Array(sections)) => sections,
            // Words in mrkdwn alone.
            _ => vec![section("mrkdwn", markup)],
        };
        Self { text: text.into_owned(), sections: Some(sections), choices: choices.to_vec() }
    }

    /// The same for a reader who may have it already.
    fn with_repeat_note(mut self) -> Self {
        self.text = format!("{REPEAT_MARK}\n{}", self.text);
        if let Some(sections) = &mut self.sections {
            sections.insert(0, section("plain_text", REPEAT_MARK));
        }
        self
    }

    fn without_markup(mut self) -> Self {
        self.sections = None;
        self
    }

    /// The value of `blocks`: none where the text is all there is, and can be told to be plain.
    fn blocks(&self, plain: PlainStyle) -> Vec<Value> {
        let buttons = buttons(&self.choices);
        let mut blocks = match &self.sections {
            Some(sections) => sections.clone(),
            None if buttons.is_none() && plain == PlainStyle::Text => Vec::new(),
            // Beside blocks the text is not shown.
            None => {
                let pieces = chunks(&unescaped(&self.text), SECTION);
                pieces.iter().map(|piece| section("plain_text", piece)).collect()
            }
        };
        // The text has the choices by number.
        blocks.extend(buttons.filter(|_| blocks.len() < BLOCKS_MAX));
        blocks.truncate(BLOCKS_MAX);
        blocks
    }

    /// What is the same whether it is posted or changed.
    fn body(&self, channel: &str, plain: PlainStyle) -> Value {
        json!({"channel": channel, "text": self.text, "blocks": self.blocks(plain), "link_names": false})
    }
}

/// How words without markup are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlainStyle {
    /// As the message's text. A change has no way to say that a star in it is a star.
    Text,
    Sections,
}

fn section(kind: &str, text: &str) -> Value {
    let mut shown = json!({"type": kind, "text": text});
    if kind == "mrkdwn" {
        // Hob writes its links itself; what else looks like an address or a channel is none.
        shown["verbatim"] = true.into();
    }
    json!({"type": "section", "text": shown})
}

fn buttons(choices: &[Choice]) -> Option<Value> {
    let button = |(number, choice): (usize, &Choice)| {
        let label = head(&choice.label, LABEL_CHARS_MAX);
        json!({
            "type": "button", "action_id": format!("hob_{number}"), "value": choice.token,
            "text": {"type": "plain_text", "text": label},
        })
    };
    let elements: Vec<Value> = choices.iter().take(BUTTONS_MAX).enumerate().map(button).collect();
    (!elements.is_empty()).then(|| json!({"type": "actions", "block_id": "hob_choices", "elements": elements}))
}

/// What a message is known by: its row, and what it says, lest another database's row of this number is taken for it.
fn metadata(message: &Outgoing) -> Value {
    let hash = hex(&Sha256::digest(&message.text)[..16]);
    json!({"event_type": EVENT_TYPE, "event_payload": {"id": message.id.to_string(), "hash": hash}})
}

/// Sends the chunk, or changes the message that it replaces.
pub(super) async fn deliver(slack: &Slack, message: &Outgoing) -> Result<Receipt, DeliveryError> {
    let place = PostTarget::of(&message.destination)?;
    let words = MessageText::new(&message.text, message.markup.as_deref(), &message.choices);
    if let Some(replaces) = &message.replaces {
        let changed = change(slack, &place, &replaces.external_id, &words, Some(metadata(message))).await;
        match changed {
            Ok(receipt) => return Ok(receipt),
            Err(error) if is_unchangeable(&error) && !replaces.or_send => {
                return Ok(Receipt { external_id: Some(replaces.external_id.clone()) });
            }
            Err(error) if is_unchangeable(&error) => info!(channel = "slack", %error, "sent anew: {error}"),
            // To change a message twice is to change it once.
            Err(error) => return Err(repeatable_outcome(&error)),
        }
    }
    if let Some(file) = &message.file {
        let words = if message.may_repeat { words.with_repeat_note() } else { words };
        return upload::upload(slack, &place, &words.text, file).await;
    }
    let metadata = metadata(message);
    let words = match message.may_repeat {
        false => words,
        true => match find_sent(slack, &place, &metadata).await {
            Ok(Some(external_id)) => return Ok(Receipt { external_id: Some(external_id) }),
            Ok(None) => words,
            // Hob may not look: the reader is told.
            Err(error) if matches!(error.code(), Some("missing_scope" | "not_allowed_token_type")) => {
                words.with_repeat_note()
            }
            Err(error) => return Err(repeatable_outcome(&error)),
        },
    };
    post(slack, &place, &words, Some(metadata)).await.map_err(|error| outcome(&error)).and_then(receipt_of)
}

/// Posts a message that still grows, or changes it.
pub(super) async fn draft(slack: &Slack, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
    let place = PostTarget::of(&draft.destination)?;
    let words = MessageText::new(&draft.text, draft.markup.as_deref(), &[]);
    match &draft.external_id {
        Some(id) => change(slack, &place, id, &words, None).await.map_err(|error| outcome(&error)),
        None => post(slack, &place, &words, None).await.map_err(|error| outcome(&error)).and_then(receipt_of),
    }
}

/// Deletes one of Hob's messages.
pub(super) async fn retract(slack: &Slack, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
    let place = PostTarget::of(place)?;
    delete(slack, &place, external_id).await
}

async fn delete(slack: &Slack, place: &PostTarget, external_id: &str) -> Result<(), DeliveryError> {
    let body = json!({"channel": place.channel, "ts": external_id});
    match slack.web.post("chat.delete", &body).await {
        Ok(_) => Ok(()),
        Err(error) if is_unchangeable(&error) => Ok(()),
        Err(error) => Err(repeatable_outcome(&error)),
    }
}

/// What Slack made of a message.
enum PostOutcome {
    Kept(Option<String>),
    /// It was shown to the whole channel, and is taken back.
    Astray,
}

fn receipt_of(posted: PostOutcome) -> Result<Receipt, DeliveryError> {
    match posted {
        PostOutcome::Kept(external_id) => Ok(Receipt { external_id }),
        PostOutcome::Astray => Err(thread_gone()),
    }
}

/// What belongs to a thread is for nobody else.
pub(super) fn thread_gone() -> DeliveryError {
    DeliveryError::Refused { why: "the thread is gone".to_owned() }
}

/// Posts; what Slack refuses for its markup goes out as text.
async fn post(
    slack: &Slack,
    place: &PostTarget,
    words: &MessageText,
    metadata: Option<Value>,
) -> Result<PostOutcome, CallError> {
    let body = |words: &MessageText| {
        let mut body = words.body(&place.channel, PlainStyle::Text);
        body["unfurl_links"] = false.into();
        body["unfurl_media"] = false.into();
        // A star in plain words is a star.
        body["mrkdwn"] = words.sections.is_some().into();
        if let Some(thread) = &place.thread {
            body["thread_ts"] = thread.as_str().into();
        }
        if let Some(metadata) = &metadata {
            body["metadata"] = metadata.clone();
        }
        body
    };
    let answer = match slack.web.post("chat.postMessage", &body(words)).await {
        Err(error) if is_markup_refused(&error) && words.sections.is_some() => {
            info!(channel = "slack", %error, "sent as plain text, as Slack refuses the markup: {error}");
            slack.web.post("chat.postMessage", &body(&words.clone().without_markup())).await?
        }
        answered => answered?,
    };
    let external_id = text(&answer, "ts").map(str::to_owned);
    let stands = text(&answer["message"], "thread_ts");
    if let (Some(id), true, false) = (&external_id, place.thread.is_some(), stands.is_some()) {
        if let Err(error) = delete(slack, place, id).await {
            tracing::warn!(channel = "slack", %error, "a message that belongs to a thread stands in the channel: {error}");
        }
        return Ok(PostOutcome::Astray);
    }
    slack.signs.posted(place);
    Ok(PostOutcome::Kept(external_id))
}

/// Changes a message; its blocks and buttons become those of `words`.
async fn change(
    slack: &Slack,
    place: &PostTarget,
    external_id: &str,
    words: &MessageText,
    metadata: Option<Value>,
) -> Result<Receipt, CallError> {
    let body = |words: &MessageText, plain: PlainStyle| {
        let mut body = words.body(&place.channel, plain);
        body["ts"] = external_id.into();
        if let Some(metadata) = &metadata {
            body["metadata"] = metadata.clone();
        }
        body
    };
    match slack.web.post("chat.update", &body(words, PlainStyle::Sections)).await {
        Err(error) if is_markup_refused(&error) && (words.sections.is_some() || words.choices.is_empty()) => {
            slack.web.post("chat.update", &body(&words.clone().without_markup(), PlainStyle::Text)).await?;
        }
        answered => {
            answered?;
        }
    }
    Ok(Receipt { external_id: Some(external_id.to_owned()) })
}

/// The message that an earlier attempt left, if there is one.
async fn find_sent(slack: &Slack, place: &PostTarget, metadata: &Value) -> Result<Option<String>, CallError> {
    let mut arguments = vec![("channel", place.channel.clone()), ("include_all_metadata", "true".to_owned())];
    arguments.push(("limit", "200".to_owned()));
    let (method, pages) = match &place.thread {
        // A thread is told from its beginning.
        Some(thread) => {
            arguments.push(("ts", thread.clone()));
            ("conversations.replies", PAGES_MAX)
        }
        None => ("conversations.history", 1),
    };
    let mut cursor = String::new();
    for _ in 0..pages {
        let mut arguments = arguments.clone();
        arguments.extend((!cursor.is_empty()).then(|| ("cursor", cursor.clone())));
        let page = slack.web.get(method, &arguments).await?;
        let is_it = |post: &&Value| {
            let (known, wanted) = (&post["metadata"], metadata);
            known["event_type"] == wanted["event_type"] && known["event_payload"] == wanted["event_payload"]
        };
        if let Some(found) = list(&page, "messages").find(is_it) {
            return Ok(text(found, "ts").map(str::to_owned));
        }
        cursor = text(&page["response_metadata"], "next_cursor").unwrap_or_default().to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::inbound::{ChannelKind, Conversation};

    fn place(chat: &str, thread: Option<&str>) -> Result<PostTarget, DeliveryError> {
        let (chat, thread) = (chat.to_owned(), thread.map(str::to_owned));
        let conversation = Conversation { channel: ChannelKind::Slack, account: "default".to_owned(), chat, thread };
        PostTarget::of(&Destination { conversation, reply_to: None })
    }

    #[test]
    fn a12_what_has_no_thread_that_is_known_goes_nowhere() {
        assert!(place("C1", None).is_ok() && place("D1", Some("1712345678.000100")).is_ok());
        for (chat, thread) in [("C1", Some("")), ("C1", Some("press:1")), ("-100123", None), ("", None)] {
            assert!(matches!(place(chat, thread), Err(DeliveryError::Refused { .. })), "{chat} {thread:?}");
        }
    }

    #[test]
    fn k2_plain_words_call_nobody_and_markup_is_kept() {
        let plain = MessageText::new("<!channel> 1 < 2", None, &[]);
        assert_eq!(plain.text, "&lt;!channel&gt; 1 &lt; 2");
        assert_eq!(plain.blocks(PlainStyle::Text), Vec::<Value>::new());
        assert_eq!(plain.blocks(PlainStyle::Sections), [section("plain_text", "<!channel> 1 < 2")]);
        let choice = Choice { label: "y".repeat(99), token: "t".to_owned() };
        let asking = MessageText::new("a < b", None, std::slice::from_ref(&choice)).blocks(PlainStyle::Text);
        assert_eq!(asking[0], section("plain_text", "a < b"));
        assert_eq!(asking[1]["elements"][0]["text"]["text"].as_str().unwrap().len(), LABEL_CHARS_MAX);
        let marked = MessageText::new(
            "a &lt; b",
            Some(r#"[{"type":"section","text":{"type":"mrkdwn","text":"*a*"}}]"#),
            &[choice],
        );
        assert_eq!(marked.text, "a &lt; b");
        assert_eq!(
            (
                marked.blocks(PlainStyle::Text).len(),
                marked.clone().without_markup().blocks(PlainStyle::Text)[0].clone()
            ),
            (2, section("plain_text", "a < b"))
        );
        assert_eq!(marked.with_repeat_note().blocks(PlainStyle::Text)[0], section("plain_text", REPEAT_MARK));
        let alone = MessageText::new("#general", Some("#general"), &[]).blocks(PlainStyle::Text);
        assert_eq!(alone[0]["text"], json!({"type": "mrkdwn", "text": "#general", "verbatim": true}));
    }
}
