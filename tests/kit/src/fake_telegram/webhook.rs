//! Telegram as the one who calls: each update is posted to the address that the bot has named, until it is answered with
//! 200.
//!
//! As the Bot API's server does, it has a queue for each chat, and posts only the front of it: the next update of a chat
//! when the one before it was taken, even of an album. Presses have a queue for each person.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::clock::{Clock as _, SystemClock};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Shared;
use super::request::Arguments;
use super::server::Refusal;
use super::world::World;

/// Where Telegram calls, and what it says there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    pub secret: String,
    pub last_error: Option<(i64, String)>,
}

/// How long it waits after a call that was not taken.
const AGAIN: Duration = Duration::from_millis(20);

pub(super) fn set_webhook(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let url = arguments.text("url").unwrap_or_default();
    if url.is_empty() {
        return Ok(delete_webhook(world, arguments));
    }
    // Telegram itself asks for HTTPS; a Bot API server of one's own takes both.
    if !url.starts_with("http") {
        return Err(Refusal::bad("bad webhook: An HTTPS URL must be provided for webhook"));
    }
    let secret = arguments.text("secret_token").unwrap_or_default();
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if secret.len() > 256 || !secret.chars().all(sign) {
        return Err(Refusal::bad("secret token contains unallowed characters"));
    }
    world.allowed_updates = arguments.get("allowed_updates").and_then(|kinds| serde_json::from_value(kinds).ok());
    world.webhook = Some(Webhook { url, secret, last_error: None });
    Ok(json!(true))
}

pub(super) fn delete_webhook(world: &mut World, arguments: &Arguments) -> Value {
    if arguments.get("drop_pending_updates").is_some_and(|drop| super::request::truth(&drop)) {
        world.updates.clear();
    }
    world.webhook = None;
    json!(true)
}

pub(super) fn info(world: &World) -> Value {
    let url = world.webhook.as_ref().map_or("", |webhook| webhook.url.as_str());
    let mut info = json!({"url": url, "has_custom_certificate": false, "pending_update_count": world.updates.len()});
    if let Some(allowed) = &world.allowed_updates {
        info["allowed_updates"] = json!(allowed);
    }
    if let Some((date, why)) = world.webhook.as_ref().and_then(|webhook| webhook.last_error.as_ref()) {
        info["last_error_date"] = json!(date);
        info["last_error_message"] = json!(why);
    }
    info
}

/// What updates are in line in: a chat's, or the presses of a person.
type Queue = (&'static str, i64);

/// An update with its number, and the line it is in.
type QueuedUpdate = (Queue, i64, Value);

fn queue_of(update: &Value) -> Queue {
    let id = |path| update.pointer(path).and_then(Value::as_i64);
    match id("/message/chat/id").or_else(|| id("/edited_message/chat/id")) {
        Some(chat) => ("chat", chat),
        None => ("presses", id("/callback_query/from/id").unwrap_or_default()),
    }
}

/// What is posted next: the first update of each queue of which nothing is under way.
fn due(world: &World, busy: &BTreeSet<Queue>) -> Option<(Webhook, Vec<QueuedUpdate>)> {
    let webhook = world.webhook.clone()?;
    let mut busy = busy.clone();
    let fronts = world.updates.iter().filter_map(|(id, update)| {
        let queue = queue_of(update);
        busy.insert(queue).then(|| (queue, *id, update.clone()))
    });
    let due: Vec<QueuedUpdate> = fronts.collect();
    (!due.is_empty()).then_some((webhook, due))
}

/// Posts what there is, for as long as the fake is up.
pub(super) async fn call(shared: Arc<Shared>) {
    let (mut calls, mut busy) = (tokio::task::JoinSet::new(), BTreeSet::new());
    loop {
        tokio::select! {
            (webhook, due) = shared.until(|world| due(world, &busy)) => for (queue, id, update) in due {
                busy.insert(queue);
                let webhook = webhook.clone();
                calls.spawn(async move { (queue, id, post(&webhook, &update).await) });
            },
            Some(Ok((queue, id, status))) = calls.join_next() => {
                let is_taken = status.as_ref().is_ok_and(|status| status == "200");
                if !is_taken {
                    tokio::time::sleep(AGAIN).await;
                }
                busy.remove(&queue);
                shared.with(|world| match status {
                    Ok(_) if is_taken => world.updates.retain(|(other, _)| *other != id),
                    Ok(status) => failure(world, format!("Wrong response from the webhook: {status}")),
                    Err(error) => failure(world, error.to_string()),
                });
            }
        }
    }
}

fn failure(world: &mut World, why: String) {
    if let Some(webhook) = &mut world.webhook {
        webhook.last_error = Some((SystemClock.now().as_second(), why));
    }
}

/// Posts an update; gives the status of the answer.
pub(super) async fn post(webhook: &Webhook, update: &Value) -> std::io::Result<String> {
    let url = url::Url::parse(&webhook.url).map_err(std::io::Error::other)?;
    let authority = format!("{}:{}", url.host_str().unwrap_or_default(), url.port().unwrap_or(80));
    let mut stream = TcpStream::connect(&authority).await?;
    let (path, body) = (url.path(), update.to_string());
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         X-Telegram-Bot-Api-Secret-Token: {}\r\nContent-Length: {}\r\n\r\n{body}",
        webhook.secret,
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.split(' ').nth(1).unwrap_or("no status").to_owned())
}
