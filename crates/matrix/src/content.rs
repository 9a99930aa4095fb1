//! What Hob's messages are made of, as Matrix wants it. Pure.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use hob_core::domain::inbound::MATRIX_PRIVATE;
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::text::{head, hex};
use hob_core::render::clean::clean;

/// The format of what is not plain.
const HTML: &str = "org.matrix.custom.html";
/// How much of a change a client shows that knows no changes.
const FALLBACK_CHARS_MAX: usize = 200;

/// Words.
pub(super) fn words(text: &str, markup: Option<&str>) -> Value {
    let text = clean(text);
    // Nobody is called by what Hob says.
    // Nor is anything fetched that it names (MSC4095, as Beeper's clients know it).
    let mut content = json!({"msgtype": "m.text", "body": text, "m.mentions": {}, "com.beeper.linkpreviews": []});
    if let Some(markup) = markup {
        content["format"] = HTML.into();
        content["formatted_body"] = markup.into();
    }
    content
}

/// The same words in the place of an earlier message.
pub(super) fn replacing(new: Value, event: &str) -> Value {
    let shown = new["body"].as_str().map(|body| format!("* {}", head(body, FALLBACK_CHARS_MAX)));
    json!({
        "msgtype": "m.text", "body": shown, "m.mentions": {}, "m.new_content": new,
        "m.relates_to": {"rel_type": "m.replace", "event_id": event},
    })
}

/// Where it stands: in a thread; below what it answers, where others talk as well.
pub(super) fn placed(mut content: Value, place: &Destination) -> Value {
    let answered = place.reply_to.as_deref().filter(|id| id.starts_with('$'));
    let is_group = !place.conversation.chat.starts_with(MATRIX_PRIVATE);
    if let Some(thread) = &place.conversation.thread {
        let answered = answered.unwrap_or(thread);
        content["m.relates_to"] = json!({
            "rel_type": "m.thread", "event_id": thread, "is_falling_back": true, "m.in_reply_to": {"event_id": answered},
        });
    } else if let Some(answered) = answered.filter(|_| is_group) {
        content["m.relates_to"] = json!({"m.in_reply_to": {"event_id": answered}});
    }
    content
}

/// What a file is shown as.
pub(super) fn file_type(mime: &str) -> &'static str {
    match mime.split('/').next() {
        Some("image") => "m.image",
        Some("audio") => "m.audio",
        Some("video") => "m.video",
        _ => "m.file",
    }
}

/// By what the server knows that it has had this: the row, and what it says and answers, lest another database's row of this
/// number is taken for it.
pub(super) fn transaction(message: &Outgoing) -> String {
    let place = &message.destination;
    let mut hash = Sha256::new();
    let file = message.file.as_ref().map(|file| file.hash.as_str());
    for part in [Some(place.conversation.chat.as_str()), place.reply_to.as_deref(), Some(&message.text), file] {
        hash.update(part.unwrap_or_default());
        hash.update([0]);
    }
    format!("hob-{}-{}", message.id, hex(&hash.finalize()[..12]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::OutboxId;
    use hob_core::domain::inbound::{ChannelKind, Conversation};

    fn place(chat: &str, thread: Option<&str>, reply_to: Option<&str>) -> Destination {
        let (account, chat, thread) = ("default".to_owned(), chat.to_owned(), thread.map(str::to_owned));
        let conversation = Conversation { channel: ChannelKind::Matrix, account, chat, thread };
        Destination { conversation, reply_to: reply_to.map(str::to_owned) }
    }

    fn message(id: i64, text: &str) -> Outgoing {
        Outgoing {
            id: OutboxId(id),
            destination: place("dm:!r:x", None, Some("$1")),
            run: None,
            text: text.to_owned(),
            markup: None,
            replaces: None,
            envelope: None,
            choices: Vec::new(),
            file: None,
            may_repeat: false,
        }
    }

    #[test]
    fn f11_one_row_is_one_transaction() {
        let first = transaction(&message(7, "a"));
        assert_eq!(first, transaction(&Outgoing { may_repeat: true, ..message(7, "a") }));
        assert_ne!(first, transaction(&message(8, "a")));
        // A new database counts from one again.
        assert_ne!(first, transaction(&message(7, "b")));
        let elsewhere = Outgoing { destination: place("dm:!r:x", None, Some("$2")), ..message(7, "a") };
        assert_ne!(first, transaction(&elsewhere));
    }

    #[test]
    fn f11_an_answer_stands_where_it_belongs() {
        let relation = |place| placed(words("a", None), &place)["m.relates_to"].clone();
        assert_eq!(relation(place("dm:!r:x", None, Some("$1"))), Value::Null);
        assert_eq!(relation(place("!r:x", None, Some("$1"))), json!({"m.in_reply_to": {"event_id": "$1"}}));
        let threaded = json!({"rel_type": "m.thread", "event_id": "$t", "is_falling_back": true, "m.in_reply_to": {"event_id": "$t"}});
        assert_eq!(relation(place("!r:x", Some("$t"), None)), threaded);
    }

    #[test]
    fn f11_a_change_holds_the_words_once() {
        let content = replacing(words(&"a".repeat(9_000), Some("<p>a</p>")), "$1");
        assert_eq!(content["m.new_content"]["formatted_body"], "<p>a</p>");
        assert_eq!(content["body"].as_str().unwrap().len(), FALLBACK_CHARS_MAX + 2);
        assert_eq!((&content["formatted_body"], &content["m.relates_to"]["event_id"]), (&Value::Null, &json!("$1")));
    }
}
