//! What a message says, for a model: names for mentions, words for what is not text. Pure.

use crate::convert::name;
use crate::wire::{Id, Message, MessageContent};
use hob_core::domain::inbound::QuotedMessage;
use hob_core::domain::text::cut;

/// How much of an answered message is repeated, in characters.
const QUOTED_CHARS_MAX: usize = 500;

/// The message's words, or a word for what it is instead; none where it says nothing.
pub(super) fn content(message: &Message, me: Id) -> Option<String> {
    let said = std::iter::once(&message.said).chain(message.message_snapshots.iter().map(|snapshot| &snapshot.message));
    let words: Vec<String> = said.map(|said| content_text(said, me)).filter(|words| !words.is_empty()).collect();
    let has_files = !message.said.attachments.is_empty()
        || message.message_snapshots.iter().any(|snapshot| !snapshot.message.attachments.is_empty());
    // What comes along says for itself what it is.
    (!words.is_empty() || has_files).then(|| words.join("\n"))
}

fn content_text(said: &MessageContent, me: Id) -> String {
    let mut parts = Vec::new();
    let text = with_names(addressed(said.content.as_deref().unwrap_or_default(), me), said);
    if !text.is_empty() {
        parts.push(text);
    }
    parts.extend(said.sticker_items.iter().map(|sticker| format!("[sticker: {}]", sticker.name)));
    if let Some(poll) = &said.poll {
        parts.push(format!("[poll: {}]", poll.question.text.as_deref().unwrap_or("without a question")));
    }
    if parts.is_empty() && said.attachments.is_empty() {
        let shown = said.embeds.iter().filter_map(|embed| {
            let words = [&embed.title, &embed.description, &embed.url];
            let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
            (!words.is_empty()).then(|| format!("[embed: {}]", words.join(" — ")))
        });
        parts.extend(shown);
    }
    parts.join("\n")
}

/// The text without Hob's name before it, so that `@Hob /status` is a command; a name alone stays.
fn addressed(text: &str, me: Id) -> &str {
    let trimmed = text.trim_start();
    let names = [format!("<@{me}>"), format!("<@!{me}>")];
    let rest = names.iter().find_map(|name| trimmed.strip_prefix(name.as_str())).map(str::trim_start);
    rest.filter(|rest| !rest.is_empty()).unwrap_or(text)
}

/// The text with names in place of ids: people (`<@7>`) and emoji (`<:wave:7>`).
fn with_names(text: &str, said: &MessageContent) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let shown = after.split_once('>').and_then(|(inner, behind)| Some((mention_text(inner, said)?, behind)));
        match shown {
            Some((words, behind)) => {
                out.push_str(&words);
                rest = behind;
            }
            None => {
                out.push('<');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// What stands for what is between `<` and `>`; none: it stays as it is.
fn mention_text(inner: &str, said: &MessageContent) -> Option<String> {
    if let Some(id) = inner.strip_prefix('@') {
        let id = Id::parse(id.strip_prefix('!').unwrap_or(id))?;
        let user = said.mentions.iter().find(|user| user.id == id)?;
        return Some(format!("@{}", name(user, None)));
    }
    let emoji = inner.strip_prefix("a:").or_else(|| inner.strip_prefix(':'))?;
    let (name, id) = emoji.split_once(':')?;
    Id::parse(id)?;
    Some(format!(":{name}:"))
}

/// The message that is answered, as far as it is worth repeating.
pub(super) fn quoted(message: &Message, me: Id, own: bool) -> QuotedMessage {
    let author = message.author.as_ref().map_or_else(|| "somebody".to_owned(), |user| name(user, None));
    let text = content(message, me).unwrap_or_default();
    QuotedMessage { author, text: cut(&text, QUOTED_CHARS_MAX), own }
}
