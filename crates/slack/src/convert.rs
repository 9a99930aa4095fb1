//! What Slack tells, in Hob's words. Pure.
//!
//! `message` and `app_mention` of one post give the same `Inbound`: whether it is said to Hob is read from its text, not
//! from the kind of the event, so that it does not matter which of them comes first. Fields are read one by one: a shape
//! that is new to Hob costs what it stands for, not the message.

use jiff::Timestamp;
use serde_json::Value;

use crate::mrkdwn::{UserNames, mentioned, mentions, readable, without_mention};
use hob_core::domain::inbound::{
    Attachment, Audience, ChannelKind, Conversation, Inbound, InboundEvent, MessageMetadata, QuotedMessage, Sender,
    VoiceRecording,
};

/// How much of what is quoted is worth repeating.
const QUOTED_CHARS_MAX: usize = 500;
/// Slack's own bot.
const SLACKBOT: &str = "USLACKBOT";

/// Who Hob is there, from `auth.test`.
#[derive(Debug, Clone)]
pub(super) struct BotIdentity {
    /// The bot's id as a person.
    pub(super) user: String,
    /// Its id as a bot.
    pub(super) bot: String,
    /// What it and the workspace are called.
    pub(super) name: String,
    /// The workspace's id; none: it is installed in several.
    pub(super) workspace: Option<String>,
    /// Which of Hob's accounts it is.
    pub(super) account: String,
    /// Whether words are a command of Hob's.
    pub(super) is_command: fn(&str) -> bool,
}

/// A field that is text, and not empty.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value[key].as_str().filter(|text| !text.is_empty())
}

/// A list, or nothing.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// A message's `ts` in microseconds: what cursors count in. None: it is no `ts`.
pub(super) fn micros(ts: &str) -> Option<i64> {
    let (seconds, fraction) = ts.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.len() != 6 || !is_number(seconds) || !is_number(fraction) {
        return None;
    }
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction.parse().ok()?)
}

/// The `ts` of a position.
pub(super) fn ts_of(position: i64) -> String {
    let position = position.max(0);
    format!("{}.{:06}", position / 1_000_000, position % 1_000_000)
}

/// The people whose names are needed to put this into words.
pub(super) fn people(payload: &Value) -> Vec<String> {
    let event = if payload["event"].is_object() { &payload["event"] } else { payload };
    let posts = [event, &event["message"], &event["previous_message"]];
    let written = posts.iter().filter_map(|post| text(post, "text")).flat_map(mentioned).map(str::to_owned);
    let authors = posts.iter().filter_map(|post| text(post, "user")).map(str::to_owned);
    let pressing = text(&event["user"], "id").or_else(|| text(event, "user_id")).map(str::to_owned);
    let mut all: Vec<String> = authors.chain(written).chain(pressing).collect();
    all.sort();
    all.dedup();
    all
}

/// An event as an `Inbound`; `None` if there is nothing in it that people say.
pub(super) fn event(event: &Value, me: &BotIdentity, names: &UserNames) -> Option<Inbound> {
    match text(event, "type")? {
        "message" => match text(event, "subtype") {
            Some("message_changed") => inbound_from_edit(event, me, names),
            Some("message_deleted") => inbound_from_deletion(event, me, names),
            _ => inbound_from_message(event, text(event, "channel")?, me, names),
        },
        // An edit that adds the mention: `message_changed` tells it, too, and says the same.
        "app_mention" if event["edited"].is_object() => {
            let happening = InboundEvent::Edited { text: post_text(event, me, names) };
            inbound_from_post(event, text(event, "channel")?, me, names, happening)
        }
        "app_mention" => inbound_from_message(event, text(event, "channel")?, me, names),
        _ => None,
    }
}

/// A message of this channel, from an event or from its history.
pub(super) fn inbound_from_message(
    post: &Value,
    channel: &str,
    me: &BotIdentity,
    names: &UserNames,
) -> Option<Inbound> {
    let said_by_people = matches!(text(post, "subtype"), None | Some("file_share" | "thread_broadcast" | "me_message"));
    if !said_by_people || !is_person(post, me) {
        return None;
    }
    let mut happening = InboundEvent::Posted { text: post_text(post, me, names) };
    let mut metadata = MessageMetadata::default();
    if let Some((author, words, own)) = shared_message(post, me, names) {
        match &mut happening {
            // Nothing of one's own: the words are handed on.
            InboundEvent::Posted { text } if text.is_empty() => {
                *text = words;
                metadata.forwarded_from = Some(author);
            }
            _ => metadata.quoted = Some(QuotedMessage { author, text: words, own }),
        }
    }
    let mut inbound = inbound_from_post(post, channel, me, names, happening)?;
    inbound.metadata = MessageMetadata { audience: inbound.metadata.audience, ..metadata };
    inbound.metadata.spoken = voice_recording(post).filter(|_| inbound.metadata.forwarded_from.is_none());
    inbound.attachments = attachments(post);
    Some(inbound)
}

fn inbound_from_edit(event: &Value, me: &BotIdentity, names: &UserNames) -> Option<Inbound> {
    let (now, before) = (&event["message"], &event["previous_message"]);
    let channel = text(event, "channel")?;
    // A message that has replies leaves a gravestone.
    if text(now, "subtype") == Some("tombstone") {
        return inbound_from_post(before, channel, me, names, InboundEvent::Deleted);
    }
    // Slack changes messages by itself, too: it looks at addresses, and counts replies.
    if !now["edited"].is_object() || now["text"] == before["text"] || !is_person(now, me) {
        return None;
    }
    let mut inbound =
        inbound_from_post(now, channel, me, names, InboundEvent::Edited { text: post_text(now, me, names) })?;
    // The message is where it was when it was posted, whether the mention came or went.
    if let Some(earlier) = inbound_from_post(before, channel, me, names, InboundEvent::Deleted) {
        if earlier.metadata.audience == Audience::Hob {
            inbound.metadata.audience = Audience::Hob;
        }
        if earlier.conversation.thread.is_some() {
            inbound.conversation = earlier.conversation;
        }
    }
    inbound.sent_at = text(&now["edited"], "ts").and_then(timestamp_of).unwrap_or(inbound.sent_at);
    Some(inbound)
}

fn inbound_from_deletion(event: &Value, me: &BotIdentity, names: &UserNames) -> Option<Inbound> {
    let before = &event["previous_message"];
    let mut inbound = inbound_from_post(before, text(event, "channel")?, me, names, InboundEvent::Deleted)?;
    inbound.external_id = text(event, "deleted_ts").unwrap_or(&inbound.external_id).to_owned();
    Some(inbound)
}

/// Is it said by a person, and not by Hob or another program? What an app or a workflow posts in somebody's name is the app's.
fn is_person(post: &Value, me: &BotIdentity) -> bool {
    let by = text(post, "user");
    let by_app = ["bot_id", "app_id"].iter().any(|mark| text(post, mark).is_some()) || post["bot_profile"].is_object();
    !by_app && by.is_some_and(|by| by != me.user && by != SLACKBOT) && !is_mine(post, me)
}

fn is_mine(post: &Value, me: &BotIdentity) -> bool {
    text(post, "user") == Some(&me.user) || text(post, "bot_id") == Some(&me.bot)
}

/// What happened to a message, where it stands.
fn inbound_from_post(
    post: &Value,
    channel: &str,
    me: &BotIdentity,
    names: &UserNames,
    happening: InboundEvent,
) -> Option<Inbound> {
    if !is_person(post, me) {
        return None;
    }
    let (by, ts) = (text(post, "user")?, text(post, "ts")?);
    micros(ts)?;
    let (thread, audience) = place(post, channel, me);
    let metadata = MessageMetadata { audience, ..MessageMetadata::default() };
    Some(Inbound {
        conversation: conversation(channel, thread, me),
        external_id: ts.to_owned(),
        sender: person(by, names),
        happening,
        sent_at: timestamp_of(ts)?,
        attachments: Vec::new(),
        metadata,
    })
}

/// The thread that it belongs to, and whether it is said to Hob.
///
/// A message that calls Hob in a channel begins a thread: there it is answered, and that is the conversation.
fn place(post: &Value, channel: &str, me: &BotIdentity) -> (Option<String>, Audience) {
    let own = text(post, "ts");
    let thread = text(post, "thread_ts").filter(|thread| Some(*thread) != own);
    let called = text(post, "text").is_some_and(|text| mentions(text, &me.user));
    let answers = thread.is_some() && text(post, "parent_user_id") == Some(&me.user);
    let is_private = conversation(channel, None, me).is_private();
    let audience = if is_private || called || answers { Audience::Hob } else { Audience::Group };
    let begun = own.filter(|_| called && !is_private);
    (thread.or(begun).map(str::to_owned), audience)
}

fn conversation(channel: &str, thread: Option<String>, me: &BotIdentity) -> Conversation {
    Conversation { channel: ChannelKind::Slack, account: me.account.clone(), chat: channel.to_owned(), thread }
}

fn person(id: &str, names: &UserNames) -> Sender {
    Sender { external_id: id.to_owned(), name: names.get(id).cloned().unwrap_or_else(|| id.to_owned()) }
}

fn timestamp_of(ts: &str) -> Option<Timestamp> {
    Timestamp::from_microsecond(micros(ts)?).ok()
}

/// The words of a message, without Hob's name in front.
fn post_text(post: &Value, me: &BotIdentity, names: &UserNames) -> String {
    let written = text(post, "text").unwrap_or_default();
    let words = readable(without_mention(written, &me.user), names);
    let words = command_text(words.trim(), me);
    let linked = list(post, "files").filter(|file| file["is_external"] == true).filter_map(|file| {
        let address = text(file, "external_url").or_else(|| text(file, "url_private"))?;
        Some(format!("{} ({address})", text(file, "title").unwrap_or("a document elsewhere")))
    });
    std::iter::once(words).chain(linked).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// `!stop` is `/stop`: Slack keeps what begins with a slash for itself.
fn command_text(words: &str, me: &BotIdentity) -> String {
    let command = words.strip_prefix('!').map(|command| format!("/{command}"));
    command.filter(|command| (me.is_command)(command)).unwrap_or_else(|| words.to_owned())
}

/// Somebody's message that is handed on, or shown because its address is in the text: who, what, and whether it is Hob's.
fn shared_message(post: &Value, me: &BotIdentity, names: &UserNames) -> Option<(String, String, bool)> {
    let is_message = |shown: &&Value| shown["is_share"] == true || shown["is_msg_unfurl"] == true;
    let shown = list(post, "attachments").find(is_message)?;
    let words = readable(text(shown, "text")?, names);
    let by = text(shown, "author_id");
    let author = by.and_then(|id| names.get(id).map(String::as_str)).or_else(|| text(shown, "author_name"));
    let author = author.unwrap_or("somebody").to_owned();
    Some((author, words.chars().take(QUOTED_CHARS_MAX).collect(), by == Some(&me.user)))
}

/// The files that can be fetched.
fn attachments(post: &Value) -> Vec<Attachment> {
    let kept = |file: &&Value| {
        file["is_external"] != true && !matches!(text(file, "mode"), Some("tombstone" | "hidden_by_limit" | "external"))
    };
    let attachment = |file: &Value| {
        // A file that comes from another workspace has an address only when it is asked for.
        let handle = text(file, "url_private_download").or_else(|| text(file, "id"))?;
        let name = text(file, "name").or_else(|| text(file, "title")).unwrap_or("file");
        Some(Attachment { handle: handle.to_owned(), name: name.to_owned(), bytes: file["size"].as_u64() })
    };
    list(post, "files").filter(kept).filter_map(attachment).collect()
}

/// Whether its sender speaks in it: a clip that was recorded in Slack.
fn voice_recording(post: &Value) -> Option<VoiceRecording> {
    let mut files = list(post, "files");
    let clip = files.next().filter(|file| text(file, "subtype") == Some("slack_audio"))?;
    let seconds = clip["duration_ms"].as_u64().and_then(|millis| u32::try_from(millis / 1_000).ok());
    files.next().is_none().then_some(VoiceRecording { seconds })
}

/// The workspace that something happens in: the app's own, or, where it is installed in several, the one that is told.
pub(super) fn workspace(payload: &Value, me: &BotIdentity) -> Option<String> {
    let told = text(payload, "team_id").or_else(|| text(&payload["team"], "id"));
    me.workspace.clone().or_else(|| told.map(str::to_owned))
}

/// A press of a button, of an interaction's payload.
pub(super) fn inbound_from_press(
    payload: &Value,
    me: &BotIdentity,
    names: &UserNames,
    now: Timestamp,
) -> Option<Inbound> {
    if text(payload, "type") != Some("block_actions") {
        return None;
    }
    let action = list(payload, "actions").find(|action| text(action, "value").is_some())?;
    let (container, asked, by) = (&payload["container"], &payload["message"], text(&payload["user"], "id")?);
    let channel = text(container, "channel_id").or_else(|| text(&payload["channel"], "id"))?;
    // Which message it is must be known: its thread is the conversation.
    let message = text(container, "message_ts").or_else(|| text(asked, "ts"))?;
    let thread = text(container, "thread_ts").or_else(|| text(asked, "thread_ts")).filter(|thread| *thread != message);
    let mut sender = person(by, names);
    if sender.name == by {
        sender.name = text(&payload["user"], "name").unwrap_or(by).to_owned();
    }
    Some(Inbound {
        conversation: conversation(channel, thread.map(str::to_owned), me),
        external_id: format!("press:{}:{by}", text(action, "action_ts")?),
        sender,
        happening: InboundEvent::Pressed { token: text(action, "value")?.to_owned() },
        sent_at: text(action, "action_ts").and_then(timestamp_of).unwrap_or(now),
        attachments: Vec::new(),
        metadata: MessageMetadata::default(),
    })
}

/// `/hob stop` is Hob's `/stop`; `/hob what's up` is said to Hob.
pub(super) fn slash_command(payload: &Value, me: &BotIdentity, names: &UserNames, now: Timestamp) -> Option<Inbound> {
    let by = text(payload, "user_id")?;
    let words = readable(text(payload, "text").unwrap_or_default(), names);
    let words = words.trim().trim_start_matches(['/', '!']);
    let command = if words.is_empty() { "/help".to_owned() } else { format!("/{words}") };
    let words = if (me.is_command)(&command) { command } else { words.to_owned() };
    let mut sender = person(by, names);
    if sender.name == by {
        sender.name = text(payload, "user_name").unwrap_or(by).to_owned();
    }
    Some(Inbound {
        conversation: conversation(text(payload, "channel_id")?, None, me),
        external_id: format!("command:{}", text(payload, "trigger_id")?),
        sender,
        happening: InboundEvent::Posted { text: words },
        sent_at: now,
        attachments: Vec::new(),
        metadata: MessageMetadata::default(),
    })
}

#[cfg(test)]
mod tests;
