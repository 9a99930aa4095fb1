//! The Web API's methods, over the world.

use serde_json::{Map, Value, json};

use super::world::{Channel, File, Kind, World, compact};
use super::{FakeSlack, blocks};

/// A word of Slack's for no, and what it says besides.
#[derive(Debug)]
pub(super) struct ApiError {
    pub(super) code: String,
    pub(super) more: Value,
}

impl ApiError {
    fn new(code: &str) -> Self {
        Self { code: code.to_owned(), more: json!({}) }
    }
}

type ApiResult = Result<Value, ApiError>;

/// The arguments of a call.
pub(super) struct Arguments {
    pub(super) fields: Map<String, Value>,
    /// Whether they came as JSON, which not every method reads.
    pub(super) is_json: bool,
}

impl Arguments {
    fn text(&self, key: &str) -> Option<String> {
        self.fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn needed(&self, key: &str) -> Result<String, ApiError> {
        self.text(key).ok_or_else(|| ApiError { code: "invalid_arguments".to_owned(), more: missing(key) })
    }

    /// Something that is not text; a form has it as JSON in a text.
    fn value(&self, key: &str) -> Option<Value> {
        let value = self.fields.get(key).filter(|value| !value.is_null())?;
        match value.as_str() {
            Some(text) => serde_json::from_str(text).ok(),
            None => Some(value.clone()),
        }
    }

    fn flag(&self, key: &str) -> bool {
        matches!(self.fields.get(key), Some(Value::Bool(true)))
            || matches!(self.text(key).as_deref(), Some("true" | "1"))
    }
}

fn missing(key: &str) -> Value {
    json!({"response_metadata": {"messages": [format!("[ERROR] missing required field: {key}")]}})
}

/// The scopes of which a method needs one; none: no method.
fn scopes(method: &str) -> Option<&'static [&'static str]> {
    Some(match method {
        "auth.test" | "apps.connections.open" => &[],
        "chat.postMessage" | "chat.update" | "chat.delete" => &["chat:write"],
        "conversations.history" | "conversations.replies" => {
            &["channels:history", "groups:history", "im:history", "mpim:history"]
        }
        "users.conversations" | "conversations.info" => &["channels:read", "groups:read", "im:read", "mpim:read"],
        "users.info" => &["users:read"],
        "reactions.add" | "reactions.remove" => &["reactions:write"],
        "assistant.threads.setStatus" => &["assistant:write", "chat:write"],
        "files.getUploadURLExternal" | "files.completeUploadExternal" => &["files:write"],
        "files.info" => &["files:read"],
        _ => return None,
    })
}

/// Methods that read their arguments from the query or a form only.
const NO_JSON: [&str; 7] = [
    "conversations.history",
    "conversations.info",
    "conversations.replies",
    "users.conversations",
    "users.info",
    "files.getUploadURLExternal",
    "files.info",
];

/// Carries a call out.
pub(super) fn call(world: &mut World, method: &str, token: &str, arguments: &Arguments) -> ApiResult {
    let Some(needed) = scopes(method) else { return Err(ApiError::new("unknown_method")) };
    match (method == "apps.connections.open", token) {
        (_, "") => return Err(ApiError::new("not_authed")),
        (true, FakeSlack::APP_TOKEN) | (false, FakeSlack::BOT_TOKEN) => {}
        (true, FakeSlack::BOT_TOKEN) | (false, FakeSlack::APP_TOKEN) => {
            return Err(ApiError::new("not_allowed_token_type"));
        }
        _ => return Err(ApiError::new("invalid_auth")),
    }
    if !needed.is_empty() && !needed.iter().any(|scope| world.scopes.contains(scope)) {
        return Err(ApiError { code: "missing_scope".to_owned(), more: json!({"needed": needed[0], "provided": "x"}) });
    }
    if arguments.is_json && NO_JSON.contains(&method) && !arguments.fields.is_empty() {
        return Err(ApiError { code: "invalid_arguments".to_owned(), more: missing("channel") });
    }
    match method {
        "auth.test" => Ok(json!({
            "url": "https://home.slack.com/", "team": "Home", "user": "hob",
            "team_id": if world.is_organisation { "E0" } else { world.workspace },
            "user_id": FakeSlack::BOT_USER, "bot_id": FakeSlack::BOT_ID, "is_enterprise_install": world.is_organisation,
        })),
        "apps.connections.open" => Ok(open(world)),
        "chat.postMessage" => post(world, arguments),
        "chat.update" => update(world, arguments),
        "chat.delete" => delete(world, arguments),
        "conversations.history" => history(world, arguments),
        "conversations.replies" => replies(world, arguments),
        "users.conversations" => Ok(conversations(world, arguments)),
        "conversations.info" => info(world, arguments),
        "users.info" => person(world, arguments),
        "reactions.add" => react(world, arguments, true),
        "reactions.remove" => react(world, arguments, false),
        "assistant.threads.setStatus" => status(world, arguments),
        "files.getUploadURLExternal" => upload_url(world, arguments),
        "files.completeUploadExternal" => complete(world, arguments),
        _ => file_info(world, arguments),
    }
}

fn open(world: &mut World) -> Value {
    let ticket = format!("ticket-{}", world.number());
    let url = format!("ws://{}/link/?ticket={ticket}&app_id=A0HOB", world.address);
    world.tickets.insert(ticket);
    json!({ "url": url })
}

fn channel<'a>(world: &'a mut World, arguments: &Arguments, key: &str) -> Result<&'a mut Channel, ApiError> {
    let id = arguments.needed(key)?;
    world.channels.get_mut(&id).ok_or_else(|| ApiError::new("channel_not_found"))
}

/// Text, blocks and metadata of a message that is to be written.
fn content(arguments: &Arguments) -> Result<(String, Vec<Value>, Option<Value>), ApiError> {
    let text = arguments.text("text").unwrap_or_default();
    let blocks = arguments.value("blocks").unwrap_or_else(|| json!([]));
    let Value::Array(blocks) = blocks else { return Err(ApiError::new("invalid_blocks_format")) };
    if text.is_empty() && blocks.is_empty() {
        return Err(ApiError::new("no_text"));
    }
    if text.chars().count() > 40_000 {
        return Err(ApiError::new("msg_too_long"));
    }
    blocks::check(&blocks).map_err(|(code, said)| ApiError {
        code: code.to_owned(),
        more: json!({"response_metadata": {"messages": [said]}}),
    })?;
    let metadata = arguments.value("metadata");
    if metadata.as_ref().is_some_and(|data| !data["event_type"].is_string() || !data["event_payload"].is_object()) {
        return Err(ApiError::new("invalid_metadata_format"));
    }
    Ok((text, blocks, metadata))
}

fn post(world: &mut World, arguments: &Arguments) -> ApiResult {
    let here = channel(world, arguments, "channel")?;
    if !here.member {
        return Err(ApiError::new("not_in_channel"));
    }
    if here.archived {
        return Err(ApiError::new("is_archived"));
    }
    let (text, blocks, metadata) = content(arguments)?;
    let id = arguments.needed("channel")?;
    let thread = thread(world, &id, arguments)?;
    Ok(written(world, &id, json!({"text": text, "thread_ts": thread, "metadata": metadata, "blocks": blocks})))
}

/// The thread that a message is for; what is for an unknown one may stray into the channel.
fn thread(world: &World, channel: &str, arguments: &Arguments) -> Result<Option<String>, ApiError> {
    let thread = arguments.text("thread_ts");
    match thread.as_ref().is_none_or(|thread| world.channels[channel].messages.contains_key(thread)) {
        true => Ok(thread),
        false if world.strays => Ok(None),
        false => Err(ApiError::new("thread_not_found")),
    }
}

/// The app writes a message.
fn written(world: &mut World, channel: &str, fields: Value) -> Value {
    let ts = world.ts();
    let mut message = compact(json!({
        "type": "message", "user": FakeSlack::BOT_USER, "bot_id": FakeSlack::BOT_ID, "app_id": "A0HOB", "team": "T0", "ts": ts,
    }));
    message.extend(compact(fields));
    if let Some(thread) = message.get("thread_ts").and_then(Value::as_str) {
        world.status.remove(&(channel.to_owned(), thread.to_owned()));
    }
    let message = world.place(channel, Value::Object(message));
    world.echo(channel, message.clone());
    json!({"channel": channel, "ts": ts, "message": message})
}

/// One of the app's messages.
fn own<'a>(world: &'a mut World, arguments: &Arguments, never: &str) -> Result<&'a mut Value, ApiError> {
    let ts = arguments.needed("ts")?;
    let message = channel(world, arguments, "channel")?.messages.get_mut(&ts);
    let message = message.ok_or_else(|| ApiError::new("message_not_found"))?;
    if message["bot_id"] != FakeSlack::BOT_ID { Err(ApiError::new(never)) } else { Ok(message) }
}

fn update(world: &mut World, arguments: &Arguments) -> ApiResult {
    let (text, blocks, metadata) = content(arguments)?;
    let keeps_blocks = !arguments.fields.contains_key("blocks");
    let message = own(world, arguments, "cant_update_message")?;
    message["text"] = text.as_str().into();
    message["edited"] = json!({"user": FakeSlack::BOT_USER, "ts": message["ts"]});
    if !keeps_blocks {
        message["blocks"] = blocks.into();
    }
    if let Some(metadata) = metadata {
        message["metadata"] = metadata;
    }
    Ok(json!({"channel": arguments.fields["channel"], "ts": message["ts"], "text": text, "message": message}))
}

fn delete(world: &mut World, arguments: &Arguments) -> ApiResult {
    let ts = own(world, arguments, "cant_delete_message")?["ts"].as_str().unwrap().to_owned();
    channel(world, arguments, "channel")?.messages.remove(&ts);
    Ok(json!({"channel": arguments.fields["channel"], "ts": ts}))
}

/// A page of a list, and how to go on.
fn page(all: Vec<Value>, key: &str, arguments: &Arguments) -> ApiResult {
    let start: usize = match arguments.text("cursor") {
        None => 0,
        Some(cursor) => {
            let number = cursor.strip_prefix("dXNlcjp").and_then(|number| number.parse().ok());
            number.filter(|number| *number < all.len()).ok_or_else(|| ApiError::new("invalid_cursor"))?
        }
    };
    let limit = arguments.text("limit").map_or(100, |limit| limit.parse().unwrap());
    if !(1..=999).contains(&limit) {
        return Err(ApiError::new("invalid_limit"));
    }
    let end = (start + limit).min(all.len());
    let next = if end < all.len() { format!("dXNlcjp{end}") } else { String::new() };
    let more = !next.is_empty();
    Ok(json!({key: all[start..end], "has_more": more, "response_metadata": {"next_cursor": next}}))
}

/// Shows a message as history does.
fn shown(message: &Value, arguments: &Arguments) -> Value {
    let mut message = message.clone();
    if !arguments.flag("include_all_metadata") {
        message.as_object_mut().unwrap().remove("metadata");
    }
    message
}

/// Is it within what was asked for? Slack's bounds are exclusive.
fn is_within(ts: &str, arguments: &Arguments) -> bool {
    let number = |ts: &str| ts.parse::<f64>().unwrap();
    let oldest = arguments.text("oldest").map_or(0.0, |oldest| number(&oldest));
    let latest = arguments.text("latest").map_or(f64::MAX, |latest| number(&latest));
    number(ts) > oldest && number(ts) < latest
}

fn history(world: &mut World, arguments: &Arguments) -> ApiResult {
    if let Some(code) = world.broken.get(&arguments.needed("channel")?) {
        return Err(ApiError::new(code));
    }
    let here = channel(world, arguments, "channel")?;
    if !here.member {
        return Err(ApiError::new("not_in_channel"));
    }
    let is_top = |ts: &str, message: &Value| {
        message["thread_ts"].as_str().is_none_or(|thread| thread == ts) || message["subtype"] == "thread_broadcast"
    };
    let found = here.messages.iter().rev().filter(|(ts, message)| is_top(ts, message) && is_within(ts, arguments));
    let found = found.map(|(_, message)| shown(message, arguments)).collect();
    page(found, "messages", arguments)
}

fn replies(world: &mut World, arguments: &Arguments) -> ApiResult {
    let thread = arguments.needed("ts")?;
    let here = channel(world, arguments, "channel")?;
    if !here.messages.contains_key(&thread) {
        return Err(ApiError::new("thread_not_found"));
    }
    let belongs = |ts: &str, message: &Value| {
        ts == thread || (message["thread_ts"] == thread.as_str() && is_within(ts, arguments))
    };
    let found = here.messages.iter().filter(|(ts, message)| belongs(ts, message));
    let found = found.map(|(_, message)| shown(message, arguments)).collect();
    page(found, "messages", arguments)
}

fn conversations(world: &mut World, arguments: &Arguments) -> Value {
    let types = arguments.text("types").unwrap_or_else(|| "public_channel".to_owned());
    let wanted = |channel: &Channel| {
        let name = if channel.kind == Kind::Private { "im" } else { "public_channel" };
        channel.member && types.split(',').any(|kind| kind == name)
    };
    let without_archived = arguments.flag("exclude_archived");
    let found = world.channels.iter().filter(|(_, channel)| wanted(channel) && !(without_archived && channel.archived));
    let found = found.map(|(id, channel)| json!({"id": id, "is_im": channel.kind == Kind::Private})).collect();
    page(found, "channels", arguments).unwrap_or_else(|no| json!({"error": no.code}))
}

/// A chat, as the app may know it: others' private ones are not there for it.
fn info(world: &mut World, arguments: &Arguments) -> ApiResult {
    let id = arguments.needed("channel")?;
    let here = channel(world, arguments, "channel")?;
    match here.kind {
        Kind::Private if here.member => Ok(json!({"channel": {"id": id, "is_im": true, "user": "U0ADA"}})),
        Kind::Private => Err(ApiError::new("channel_not_found")),
        Kind::Channel => Ok(json!({"channel": {"id": id, "is_channel": true, "is_member": here.member}})),
    }
}

fn person(world: &mut World, arguments: &Arguments) -> ApiResult {
    let id = arguments.needed("user")?;
    let name = world.people.get(&id).ok_or_else(|| ApiError::new("user_not_found"))?;
    let profile = json!({"display_name": name, "real_name": name});
    Ok(
        json!({"user": {"id": id, "name": name.to_lowercase(), "is_bot": id == FakeSlack::BOT_USER, "profile": profile}}),
    )
}

/// The names that the fake knows to be emoji.
const EMOJI: [&str; 5] = ["eyes", "hourglass_flowing_sand", "question", "white_check_mark", "x"];

fn react(world: &mut World, arguments: &Arguments, adds: bool) -> ApiResult {
    let (ts, name) = (arguments.needed("timestamp")?, arguments.needed("name")?);
    if !EMOJI.contains(&name.as_str()) {
        return Err(ApiError::new("invalid_name"));
    }
    let message = channel(world, arguments, "channel")?.messages.get_mut(&ts);
    let message = message.ok_or_else(|| ApiError::new("message_not_found"))?;
    let mut reactions = message["reactions"].as_array().cloned().unwrap_or_default();
    let there = reactions.iter().position(|reaction| reaction["name"] == name.as_str());
    match (there, adds) {
        (Some(_), true) => return Err(ApiError::new("already_reacted")),
        (None, false) => return Err(ApiError::new("no_reaction")),
        (None, true) => reactions.push(json!({"name": name, "users": [FakeSlack::BOT_USER], "count": 1})),
        (Some(index), false) => drop(reactions.remove(index)),
    }
    message["reactions"] = reactions.into();
    Ok(json!({}))
}

fn status(world: &mut World, arguments: &Arguments) -> ApiResult {
    let (thread, status) = (arguments.needed("thread_ts")?, arguments.text("status").unwrap_or_default());
    let id = arguments.needed("channel_id")?;
    if !channel(world, arguments, "channel_id")?.messages.contains_key(&thread) {
        return Err(ApiError::new("thread_not_found"));
    }
    match status.as_str() {
        "" => world.status.remove(&(id.clone(), thread.clone())),
        status => world.status.insert((id.clone(), thread.clone()), status.to_owned()),
    };
    world.statuses.push((id, thread, status));
    Ok(json!({}))
}

fn upload_url(world: &mut World, arguments: &Arguments) -> ApiResult {
    let (name, length) = (arguments.needed("filename")?, arguments.needed("length")?);
    let length: usize = length.parse().map_err(|_error| ApiError::new("invalid_arguments"))?;
    if length == 0 {
        return Err(ApiError::new("invalid_arguments"));
    }
    let id = format!("F{:08}", world.number());
    world.files.insert(id.clone(), File { name, bytes: None, length });
    Ok(json!({"upload_url": format!("http://{}/upload/v1/{id}", world.address), "file_id": id}))
}

fn complete(world: &mut World, arguments: &Arguments) -> ApiResult {
    let files = arguments.value("files").unwrap_or_default();
    let files = files.as_array().filter(|files| !files.is_empty()).ok_or_else(|| ApiError::new("invalid_arguments"))?;
    let id = arguments.needed("channel_id")?;
    channel(world, arguments, "channel_id")?;
    let mut shown = Vec::new();
    for file in files {
        let file = file["id"].as_str().unwrap_or_default();
        if world.files.get(file).is_none_or(|file| file.bytes.is_none()) {
            return Err(ApiError::new("file_not_found"));
        }
        shown.push(world.file(file));
    }
    let (text, thread) = (arguments.text("initial_comment").unwrap_or_default(), thread(world, &id, arguments)?);
    written(
        world,
        &id,
        json!({"text": text, "thread_ts": thread, "files": shown, "upload": true, "subtype": "file_share"}),
    );
    let told: Vec<Value> = shown.iter().map(|file| json!({"id": file["id"], "title": file["title"]})).collect();
    Ok(json!({ "files": told }))
}

fn file_info(world: &mut World, arguments: &Arguments) -> ApiResult {
    let id = arguments.needed("file")?;
    if !world.files.contains_key(&id) {
        return Err(ApiError::new("file_not_found"));
    }
    Ok(json!({ "file": world.file(&id) }))
}
