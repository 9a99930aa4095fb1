//! One chunk to Discord, and what its answer means for the outbox.
//!
//! The row's number is the message's nonce, and Discord enforces it: for some minutes a second attempt gives the first
//! one's message. Later the channel's last messages are looked through for it; what may be a repetition then says so to
//! the reader.

use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serenity::builder::{CreateAllowedMentions, CreateMessage, EditMessage};
use serenity::model::channel::{MessageFlags, MessageReference, Nonce};
use serenity::model::id::{ChannelId, MessageId};
use tokio::time::Instant;
use tracing::{debug, info};

use crate::Discord;
use crate::call::{Api, ApiResponse, Body, CallError, Request};
use crate::error_codes::{ErrorMeaning, code_meaning, is_for_reply, outcome, repeatable};
use crate::upload::{Upload, rows};
use crate::wire::{Id, Message};
use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::inbound::{ChannelKind, DISCORD_PRIVATE};
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, REPEAT_MARK, Receipt};
use hob_core::render::clean::clean;
use hob_core::render::literal;

/// How long a file may take to go out; less than the outbox waits.
const UPLOAD_MAX: Duration = Duration::from_secs(80);
/// How often a message is sent whose fate is not known, while its nonce makes that harmless.
const TRIES: u32 = 3;
/// No further try after so long: the outbox waits for an answer.
const TRYING_MAX: Duration = Duration::from_secs(40);
/// How many of a channel's last messages are looked through.
const LOOK_BACK: u32 = 50;

/// The channel or thread that a destination names.
pub(super) fn place(destination: &Destination) -> Result<Id, DeliveryError> {
    let conversation = &destination.conversation;
    let chat = conversation.chat.strip_prefix(DISCORD_PRIVATE).unwrap_or(&conversation.chat);
    let place = Id::parse(conversation.thread.as_deref().unwrap_or(chat));
    place.ok_or_else(|| DeliveryError::Refused { why: "not the address of a Discord channel".to_owned() })
}

/// The texts that are tried, in this order: as markup, sign for sign, and as they are.
fn texts(markup: Option<&str>, text: &str) -> Vec<String> {
    let fits = |text: &String| Capabilities::of(ChannelKind::Discord).text_limit().fits(text);
    let mut texts: Vec<String> = markup.map(str::to_owned).into_iter().chain([literal(text)]).filter(fits).collect();
    texts.push(clean(text).into_owned());
    texts.dedup();
    texts
}

/// Whether a plainer form may be taken instead.
fn is_for_content(error: &CallError) -> bool {
    matches!(error, CallError::Api { status: 400, code, .. } if code_meaning(*code) == ErrorMeaning::Content)
}

/// Nobody is notified by what a model writes.
fn no_mentions() -> CreateAllowedMentions {
    CreateAllowedMentions::new().empty_users().empty_roles()
}

/// Sends a chunk, or changes the message that it replaces.
pub(super) async fn deliver(discord: &Discord, message: &Outgoing) -> Result<Receipt, DeliveryError> {
    let place = place(&message.destination)?;
    let upload = Upload::of(message).await?;
    if let Some(replaces) = &message.replaces {
        if let Some(receipt) = change(&discord.api, place, &replaces.external_id, message, upload.as_ref()).await? {
            return Ok(receipt);
        }
        if !replaces.or_send {
            return Ok(Receipt { external_id: None });
        }
    }
    let mut texts = texts(message.markup.as_deref(), &message.text);
    if message.may_repeat && !discord.is_fresh(message.id) {
        if let Some(found) = find_sent(&discord.api, place, &nonce(message)).await? {
            return Ok(Receipt { external_id: Some(found.to_string()) });
        }
        if !mark(&mut texts) {
            note(&discord.api, place).await?;
        }
    }
    let mut refused = None;
    for text in &texts {
        match post(discord, place, message, text, upload.as_ref()).await {
            Ok(id) => return Ok(Receipt { external_id: id }),
            Err(error) if is_for_content(&error) => {
                info!(channel = "discord", %error, "sent plainer, as Discord said: {error}");
                refused = Some(error);
            }
            Err(error) => {
                let outcome = outcome(&error);
                if matches!(outcome, DeliveryError::Unknown { .. }) {
                    discord.remember(message.id);
                }
                return Err(outcome);
            }
        }
    }
    let why = refused.map_or_else(|| "nothing to say".to_owned(), |error| error.to_string());
    Err(DeliveryError::Refused { why })
}

/// Puts the mark before each text, if it fits before all of them.
fn mark(texts: &mut [String]) -> bool {
    let limit = Capabilities::of(ChannelKind::Discord).text_limit();
    let marked: Vec<String> = texts.iter().map(|text| format!("{REPEAT_MARK}\n{text}")).collect();
    let fits = marked.iter().all(|text| limit.fits(text));
    if fits {
        texts.clone_from_slice(&marked);
    }
    fits
}

/// The mark alone, before a message that has no room for it. Whatever becomes of it, the message has not been sent.
async fn note(api: &Api, place: Id) -> Result<(), DeliveryError> {
    let payload =
        CreateMessage::new().content(REPEAT_MARK).allowed_mentions(no_mentions()).flags(MessageFlags::SUPPRESS_EMBEDS);
    let channel = place.to_string();
    let body = json(&payload).map_err(|error| outcome(&error))?;
    let sent = api.call(request(Method::POST, &["channels", &channel, "messages"], body, None)).await;
    sent.map(drop).map_err(|error| repeatable(&error))
}

fn nonce(message: &Outgoing) -> String {
    format!("hob-{}", message.id)
}

fn request<'a>(method: Method, path: &[&'a str], payload: Vec<u8>, upload: Option<&Upload<'_>>) -> Request<'a> {
    let body = match upload {
        Some(upload) => upload.form(&payload),
        None => Body { content_type: "application/json".to_owned(), bytes: payload },
    };
    Request::at(method, path).body(body)
}

fn json(payload: &impl serde::Serialize) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(payload).map_err(|error| CallError::NotSent(error.to_string()))
}

/// The id in Discord's answer.
fn id_of(answer: &ApiResponse) -> Option<String> {
    #[derive(Deserialize)]
    struct SentMessage {
        id: Id,
    }
    match answer.parse::<SentMessage>() {
        Ok(sent) => Some(sent.id.to_string()),
        Err(error) => {
            debug!(channel = "discord", %error, "a sent message has no readable id: {error}");
            None
        }
    }
}

/// Posts one text; while the nonce makes it harmless, again where nobody knows what became of it.
async fn post(
    discord: &Discord,
    place: Id,
    message: &Outgoing,
    text: &str,
    upload: Option<&Upload<'_>>,
) -> Result<Option<String>, CallError> {
    let mut payload = CreateMessage::new()
        .content(text)
        .nonce(Nonce::String(nonce(message)))
        .enforce_nonce(true)
        .allowed_mentions(no_mentions())
        .flags(MessageFlags::SUPPRESS_EMBEDS)
        .components(rows(&message.choices));
    if let Some(upload) = upload {
        payload = payload.add_file(upload.described());
    }
    let mut answered = answered(&message.destination);
    let (mut body, channel, began) = (json(&referring(&payload, place, answered))?, place.to_string(), Instant::now());
    let api = if upload.is_some() { discord.api.with_deadline(UPLOAD_MAX) } else { discord.api.clone() };
    let mut unarchived = false;
    let mut tried = 1;
    loop {
        let path = ["channels", channel.as_str(), "messages"];
        let error = match api.call(request(Method::POST, &path, body.clone(), upload)).await {
            Ok(answer) => return Ok(id_of(&answer)),
            Err(error) => error,
        };
        if error.code().is_some_and(|code| code_meaning(code) == ErrorMeaning::Archived) && !unarchived {
            unarchived = true;
            unarchive(&api, &channel).await?;
            continue;
        }
        if answered.is_some() && is_for_reply(&error) {
            info!(channel = "discord", place = %place, %error, "sent without what it answers, as Discord said: {error}");
            answered = None;
            body = json(&payload)?;
            continue;
        }
        let is_unknown = matches!(outcome(&error), DeliveryError::Unknown { .. });
        if !is_unknown || tried >= TRIES || began.elapsed() > TRYING_MAX {
            return Err(error);
        }
        debug!(channel = "discord", %error, "sent again under its nonce: {error}");
        tokio::time::sleep(discord.settings.pace.retry_min * tried).await;
        tried += 1;
    }
}

/// The message that is answered. What isn't a message's number (a press, say) cannot be.
fn answered(destination: &Destination) -> Option<Id> {
    destination.reply_to.as_deref().and_then(Id::parse)
}

/// The message as an answer, if there is anything to answer.
fn referring(payload: &CreateMessage, place: Id, answered: Option<Id>) -> CreateMessage {
    let Some(answered) = answered else { return payload.clone() };
    let pair = (ChannelId::new(place.get()), MessageId::new(answered.get()));
    payload.clone().reference_message(MessageReference::from(pair).fail_if_not_exists(false))
}

/// Opens an archived thread again, where the bot may.
async fn unarchive(api: &Api, thread: &str) -> Result<(), CallError> {
    #[derive(serde::Serialize)]
    struct ThreadUpdate {
        archived: bool,
    }
    let request = Request::new(Method::PATCH, ["channels", thread]).json(&ThreadUpdate { archived: false })?;
    api.call(request).await.map(drop)
}

/// Looks for a message that an earlier attempt left behind.
async fn find_sent(api: &Api, place: Id, nonce: &str) -> Result<Option<Id>, DeliveryError> {
    let channel = place.to_string();
    let request = Request::get(["channels", &channel, "messages"]).query("limit", LOOK_BACK);
    let answer = match api.call(request).await {
        Ok(answer) => answer,
        // The outbox tries again; what became of the first attempt is as unknown as before.
        Err(error) if error.is_transient() => return Err(repeatable(&error)),
        Err(error) => {
            debug!(channel = "discord", %error, "the channel's last messages cannot be read: {error}");
            return Ok(None);
        }
    };
    let last: Vec<Message> = match answer.parse() {
        Ok(last) => last,
        Err(error) => {
            debug!(channel = "discord", %error, "the channel's last messages cannot be read: {error}");
            return Ok(None);
        }
    };
    let is_it = |message: &&Message| message.nonce.as_ref().is_some_and(|known| known.0 == nonce);
    Ok(last.iter().find(is_it).map(|message| message.id))
}

/// Changes a message; none: it is gone, or cannot be changed.
async fn change(
    api: &Api,
    place: Id,
    external_id: &str,
    message: &Outgoing,
    upload: Option<&Upload<'_>>,
) -> Result<Option<Receipt>, DeliveryError> {
    let Some(changed) = Id::parse(external_id) else { return Ok(None) };
    let mut refused = None;
    for text in texts(message.markup.as_deref(), &message.text) {
        let mut payload = EditMessage::new()
            .content(text)
            .allowed_mentions(no_mentions())
            .suppress_embeds(true)
            // Without choices those that were there go.
            .components(rows(&message.choices));
        if let Some(upload) = upload {
            payload = payload.new_attachment(upload.described());
        }
        match patch(api, place, changed, &payload, upload).await {
            Ok(()) => return Ok(Some(Receipt { external_id: Some(changed.to_string()) })),
            Err(error) if is_for_content(&error) => refused = Some(error),
            Err(error) if cannot_change(&error) => return Ok(None),
            Err(error) => return Err(repeatable(&error)),
        }
    }
    let why = refused.map_or_else(|| "nothing to say".to_owned(), |error| error.to_string());
    Err(DeliveryError::Refused { why })
}

/// Whether the message is not there to be changed; it may be sent elsewhere or anew.
fn cannot_change(error: &CallError) -> bool {
    error.code().is_some_and(|code| {
        matches!(code_meaning(code), ErrorMeaning::NoMessage | ErrorMeaning::NoPlace | ErrorMeaning::Archived)
    })
}

async fn patch(
    api: &Api,
    place: Id,
    message: Id,
    payload: &EditMessage,
    upload: Option<&Upload<'_>>,
) -> Result<(), CallError> {
    let (channel, message) = (place.to_string(), message.to_string());
    let path = ["channels", channel.as_str(), "messages", message.as_str()];
    api.call(request(Method::PATCH, &path, json(payload)?, upload)).await.map(drop)
}

/// Posts a message that still grows, or changes it.
pub(super) async fn draft(api: &Api, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
    let place = place(&draft.destination)?;
    let known = draft.external_id.as_deref().and_then(Id::parse);
    let mut last = None;
    for text in texts(draft.markup.as_deref(), &draft.text) {
        let went = match known {
            Some(message) => {
                let payload = EditMessage::new().content(text).allowed_mentions(no_mentions()).suppress_embeds(true);
                patch(api, place, message, &payload, None).await.map(|()| Some(message.to_string()))
            }
            None => begin(api, place, draft, text).await,
        };
        match went {
            Ok(external_id) => return Ok(Receipt { external_id }),
            Err(error) if is_for_content(&error) => last = Some(error),
            Err(error) if known.is_some() => return Err(repeatable(&error)),
            Err(error) => return Err(outcome(&error)),
        }
    }
    let why = last.map_or_else(|| "nothing to say".to_owned(), |error| error.to_string());
    Err(DeliveryError::Refused { why })
}

async fn begin(api: &Api, place: Id, draft: &DraftMessage, text: String) -> Result<Option<String>, CallError> {
    let payload =
        CreateMessage::new().content(text).allowed_mentions(no_mentions()).flags(MessageFlags::SUPPRESS_EMBEDS);
    let (channel, answered) = (place.to_string(), answered(&draft.destination));
    let path = ["channels", channel.as_str(), "messages"];
    let post = async |payload: &CreateMessage| {
        let went = api.call(request(Method::POST, &path, json(payload)?, None)).await;
        went.map(|answer| id_of(&answer))
    };
    match post(&referring(&payload, place, answered)).await {
        Err(error) if answered.is_some() && is_for_reply(&error) => post(&payload).await,
        went => went,
    }
}

/// Takes a message back.
pub(super) async fn retract(api: &Api, destination: &Destination, external_id: &str) -> Result<(), DeliveryError> {
    let channel = place(destination)?.to_string();
    let Some(message) = Id::parse(external_id) else { return Ok(()) };
    let message = message.to_string();
    match api.call(Request::new(Method::DELETE, ["channels", &channel, "messages", &message])).await {
        Ok(_gone) => Ok(()),
        Err(error) if error.code().is_some_and(|code| matches!(code, 10003 | 10008)) => Ok(()),
        Err(error) => Err(repeatable(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_repetition_says_so_where_that_fits() {
        let mut texts = vec!["**Hello**".to_owned(), "Hello".to_owned()];
        assert!(mark(&mut texts));
        assert_eq!(texts, [format!("{REPEAT_MARK}\n**Hello**"), format!("{REPEAT_MARK}\nHello")]);
        let mut long = vec!["x".repeat(1_990)];
        assert!(!mark(&mut long), "it goes ahead, alone");
        assert_eq!(long, ["x".repeat(1_990)]);
    }

    #[test]
    fn markup_that_does_not_fit_is_left_out() {
        assert_eq!(texts(Some("**a**"), "a"), ["**a**", "a"]);
        assert_eq!(texts(Some(&"*".repeat(2_001)), "a"), ["a"]);
        assert_eq!(texts(None, "a"), ["a"]);
        assert_eq!(texts(None, "curl a |sh"), [r"curl a \|sh", "curl a |sh"], "each sign is shown");
        assert_eq!(texts(Some("**a***"), "a*"), ["**a***", r"a\*", "a*"]);
        assert_eq!(texts(None, &"*".repeat(1_500)), ["*".repeat(1_500)], "at least it goes out");
    }
}
