//! The methods of the Bot API that Hob uses, with Telegram's rules and refusals.

use std::time::Duration;

use serde_json::{Value, json};

use super::html::{ParsedHtml, parse};
use super::request::{Arguments, number, truth};
use super::server::Refusal;
use super::world::{ChatKind, Message, Sent, World, user_json};
use super::{FakeTelegram, Shared, signs, webhook};

/// The longest text, in UTF-16 code units.
const TEXT_MAX: usize = 4096;
/// The longest callback data, in bytes.
const DATA_MAX: usize = 64;
/// The most updates of one poll.
const BATCH_MAX: usize = 100;

pub(super) async fn call(shared: &Shared, method: &str, arguments: &Arguments) -> Result<Value, Refusal> {
    match method {
        "getme" => Ok(me()),
        "getupdates" => get_updates(shared, arguments).await,
        "sendmessage" => shared.with(|world| send_message(world, arguments)),
        "getfile" => shared.with(|world| get_file(world, arguments)),
        "senddocument" => shared.with(|world| send_file(world, arguments, "document")),
        "sendphoto" => shared.with(|world| send_file(world, arguments, "photo")),
        "sendvoice" => shared.with(|world| send_file(world, arguments, "voice")),
        "editmessagetext" => shared.with(|world| edit_message_text(world, arguments)),
        "sendchataction" => shared.with(|world| signs::send_chat_action(world, arguments)),
        "answercallbackquery" => shared.with(|world| signs::answer_callback_query(world, arguments)),
        "setmessagereaction" => shared.with(|world| signs::set_message_reaction(world, arguments)),
        "deletemessage" => shared.with(|world| delete_message(world, arguments)),
        "setmycommands" => shared.with(|world| signs::set_my_commands(world, arguments)),
        "getmycommands" => Ok(shared.with(|world| match &world.commands {
            Value::Null => json!([]),
            commands => commands.clone(),
        })),
        "setwebhook" => shared.with(|world| webhook::set_webhook(world, arguments)),
        "deletewebhook" => Ok(shared.with(|world| webhook::delete_webhook(world, arguments))),
        "getwebhookinfo" => Ok(shared.with(|world| webhook::info(world))),
        _ => Err(Refusal::new(404, "Not Found: method not found")),
    }
}

fn me() -> Value {
    let mut me = user_json(FakeTelegram::BOT_ID);
    for (flag, is) in [
        ("can_join_groups", true),
        ("can_read_all_group_messages", false),
        ("supports_inline_queries", false),
        ("can_connect_to_business", false),
        ("has_main_web_app", false),
    ] {
        me[flag] = json!(is);
    }
    me
}

/// 409, as the poll gets that is ended by a newer one.
pub(super) fn conflict() -> Refusal {
    let why = "terminated by other getUpdates request; make sure that only one bot instance is running";
    Refusal::new(409, format!("Conflict: {why}"))
}

/// A poll that waits; counted, and no longer so however it ends.
struct PollGuard<'a>(&'a Shared);

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        self.0.with(|world| world.waiting -= 1);
    }
}

async fn get_updates(shared: &Shared, arguments: &Arguments) -> Result<Value, Refusal> {
    let offset = arguments.number("offset");
    let limit = arguments.number("limit").map_or(BATCH_MAX, |limit| usize::try_from(limit).unwrap_or(BATCH_MAX));
    let limit = limit.clamp(1, BATCH_MAX);
    let timeout =
        Duration::from_secs(arguments.number("timeout").map_or(0, |seconds| u64::try_from(seconds).unwrap_or(0)));
    let allowed = arguments.get("allowed_updates").and_then(|kinds| serde_json::from_value(kinds).ok());
    if shared.with(|world| world.webhook.is_some()) {
        let why = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
        return Err(Refusal::new(409, format!("Conflict: {why}")));
    }
    let ticket = shared.with(|world| {
        world.offsets.push(offset);
        world.allowed_updates = allowed.or(world.allowed_updates.take());
        match offset {
            Some(back) if back < 0 => {
                let keep = usize::try_from(-back).unwrap_or(usize::MAX);
                while world.updates.len() > keep {
                    world.updates.pop_front();
                }
            }
            Some(offset) => world.updates.retain(|(id, _)| *id >= offset),
            None => {}
        }
        world.waiting += 1;
        world.newest_poll += 1;
        world.newest_poll
    });
    let waiting = PollGuard(shared);
    let come = |world: &mut World| {
        if world.newest_poll != ticket {
            return Some(Err(conflict()));
        }
        let batch: Vec<Value> = world.updates.iter().take(limit).map(|(_, update)| update.clone()).collect();
        (!batch.is_empty()).then_some(Ok(batch))
    };
    let batch = tokio::time::timeout(timeout, shared.until(come)).await.unwrap_or(Ok(Vec::new()));
    drop(waiting);
    shared.with(|world| world.polls_answered += 1);
    batch.map(Value::Array)
}

pub(super) fn chat_of(world: &World, arguments: &Arguments) -> Result<i64, Refusal> {
    let chat = arguments.number("chat_id").ok_or_else(|| Refusal::bad("chat_id is empty"))?;
    match world.chats.get(&chat) {
        None => Err(Refusal::bad("chat not found")),
        Some(old) if old.migrated_to.is_some() => Err(Refusal {
            parameters: Some(json!({ "migrate_to_chat_id": old.migrated_to })),
            ..Refusal::bad("group chat was upgraded to a supergroup chat")
        }),
        Some(chat) if chat.blocked => Err(Refusal::new(403, "Forbidden: bot was blocked by the user")),
        Some(_) => Ok(chat),
    }
}

pub(super) fn topic_of(world: &World, chat: i64, arguments: &Arguments) -> Result<Option<i64>, Refusal> {
    match arguments.number("message_thread_id") {
        Some(topic) if !world.chat(chat).topics.contains(&topic) => Err(Refusal::bad("message thread not found")),
        topic => Ok(topic),
    }
}

/// A text as Telegram stores it: controls become blanks, outer whitespace goes, tags become entities.
fn parsed(arguments: &Arguments, field: &str) -> Result<ParsedHtml, Refusal> {
    let text = arguments.text(field).unwrap_or_default();
    let text = text.replace(|c: char| c < ' ' && c != '\n', " ");
    match arguments.text("parse_mode").as_deref() {
        None | Some("") => Ok(ParsedHtml { text: text.trim().to_owned(), entities: Vec::new() }),
        Some("HTML") => parse(&text),
        Some(_) => Err(Refusal::bad("unsupported parse_mode")),
    }
}

/// The text of a message, which must have one.
fn text_of(arguments: &Arguments) -> Result<ParsedHtml, Refusal> {
    let parsed = parsed(arguments, "text")?;
    if parsed.text.is_empty() {
        return Err(Refusal::bad("message text is empty"));
    }
    if parsed.text.encode_utf16().count() > TEXT_MAX {
        return Err(Refusal::bad("message is too long"));
    }
    Ok(parsed)
}

fn keyboard_of(arguments: &Arguments) -> Result<Vec<Vec<(String, String)>>, Refusal> {
    let Some(markup) = arguments.get("reply_markup") else { return Ok(Vec::new()) };
    let rows = markup["inline_keyboard"].as_array().ok_or_else(|| Refusal::bad("object expected as reply markup"))?;
    rows.iter().map(|row| row.as_array().into_iter().flatten().map(button_of).collect()).collect()
}

fn button_of(button: &Value) -> Result<(String, String), Refusal> {
    let label = button["text"].as_str().filter(|label| !label.is_empty());
    let label = label.ok_or_else(|| Refusal::bad("can't parse inline keyboard button: Text is empty"))?;
    let data = button["callback_data"].as_str();
    let data = data.ok_or_else(|| Refusal::bad("can't parse inline keyboard button: Text buttons are unallowed"))?;
    if data.is_empty() || data.len() > DATA_MAX {
        return Err(Refusal::bad("BUTTON_DATA_INVALID"));
    }
    Ok((label.to_owned(), data.to_owned()))
}

fn reply_of(world: &World, chat: i64, arguments: &Arguments) -> Result<Option<i64>, Refusal> {
    let parameters = arguments.get("reply_parameters").unwrap_or(Value::Null);
    let Some(original) = number(&parameters["message_id"]) else { return Ok(None) };
    if world.chat(chat).message(original).is_some() {
        return Ok(Some(original));
    }
    let lenient = truth(&parameters["allow_sending_without_reply"]);
    if lenient { Ok(None) } else { Err(Refusal::bad("message to be replied not found")) }
}

fn send_message(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let chat = chat_of(world, arguments)?;
    let ParsedHtml { text, entities } = text_of(arguments)?;
    let thread = topic_of(world, chat, arguments)?;
    let reply_to = reply_of(world, chat, arguments)?;
    let keyboard = keyboard_of(arguments)?;
    preview(world, &text, arguments);
    let message = Message { reply_to, thread, keyboard, entities, ..Message::of(FakeTelegram::BOT_ID, text) };
    let id = world.add(chat, message);
    Ok(world.message_json(chat, id))
}

/// Telegram goes to the first address of a text, unless it is told not to.
fn preview(world: &mut World, text: &str, arguments: &Arguments) {
    let is_off = arguments.get("link_preview_options").is_some_and(|options| options["is_disabled"] == true);
    let address = text.split(|c: char| c.is_whitespace() || "<>()\"".contains(c)).find(|word| word.contains("://"));
    world.previews.extend(address.filter(|_| !is_off).map(str::to_owned));
}

/// The largest file that bots may have, and the largest they may send.
const DOWNLOAD_MAX: usize = 20 << 20;
const UPLOAD_MAX: usize = 50 << 20;
/// The largest photo.
const PHOTO_MAX: usize = 10 << 20;
/// The longest words under a file, in UTF-16 code units.
const CAPTION_MAX: usize = 1024;

fn get_file(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let id = arguments.text("file_id").ok_or_else(|| Refusal::bad("file_id not specified"))?;
    let file = world.files.get_mut(&id).ok_or_else(|| Refusal::bad("invalid file_id"))?;
    if file.bytes.len() > DOWNLOAD_MAX {
        return Err(Refusal::bad("file is too big"));
    }
    file.told = true;
    Ok(json!({"file_id": id, "file_unique_id": "AgAD", "file_size": file.bytes.len(), "file_path": file.path}))
}

fn send_file(world: &mut World, arguments: &Arguments, field: &'static str) -> Result<Value, Refusal> {
    let chat = chat_of(world, arguments)?;
    let upload = arguments.file(field).ok_or_else(|| Refusal::bad(&format!("there is no {field} in the request")))?;
    if upload.bytes.is_empty() {
        return Err(Refusal::bad("file must be non-empty"));
    }
    let most = if field == "photo" { PHOTO_MAX } else { UPLOAD_MAX };
    if upload.bytes.len() > most {
        return Err(Refusal::new(413, "Request Entity Too Large"));
    }
    let picture = [b"\xff\xd8".as_slice(), b"\x89PNG"].iter().any(|sign| upload.bytes.starts_with(sign));
    if field == "photo" && !picture {
        return Err(Refusal::bad("IMAGE_PROCESS_FAILED"));
    }
    // What is none goes out as music does: here it is a mistake.
    if field == "voice" && !(upload.kind == "audio/ogg" && upload.bytes.get(28..36) == Some(b"OpusHead")) {
        return Err(Refusal::bad("the voice is no Opus in Ogg"));
    }
    let ParsedHtml { text, entities } = parsed(arguments, "caption")?;
    if text.encode_utf16().count() > CAPTION_MAX {
        return Err(Refusal::bad("message caption is too long"));
    }
    let thread = topic_of(world, chat, arguments)?;
    let reply_to = reply_of(world, chat, arguments)?;
    let keyboard = keyboard_of(arguments)?;
    let sent = Sent { field, name: upload.name.clone(), kind: upload.kind.clone(), bytes: upload.bytes.clone() };
    let by_bot = Message::of(FakeTelegram::BOT_ID, text);
    let message = Message { reply_to, thread, keyboard, entities, file: Some(sent), ..by_bot };
    let id = world.add(chat, message);
    Ok(world.message_json(chat, id))
}

fn edit_message_text(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let chat = chat_of(world, arguments)?;
    let id = arguments.number("message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let left = world.chats.get_mut(&chat).and_then(|chat| chat.edits_left.as_mut());
    match left {
        Some(0) => {
            let flood = Refusal::new(429, "Too Many Requests: retry after 3");
            return Err(Refusal { parameters: Some(json!({"retry_after": 3})), ..flood });
        }
        Some(left) => *left -= 1,
        None => {}
    }
    let ParsedHtml { text, entities } = text_of(arguments)?;
    let keyboard = keyboard_of(arguments)?;
    let messages = world.chats.get_mut(&chat).into_iter().flat_map(|chat| &mut chat.messages);
    let mut found = messages.filter(|message| message.id == id);
    let message = found.next().ok_or_else(|| Refusal::bad("message to edit not found"))?;
    if message.from != FakeTelegram::BOT_ID {
        return Err(Refusal::bad("message can't be edited"));
    }
    if message.file.is_some() {
        return Err(Refusal::bad("there is no text in the message to edit"));
    }
    if message.text == text && message.entities == entities && message.keyboard == keyboard {
        let same = "specified new message content and reply markup are exactly the same as a current content and reply markup of the message";
        return Err(Refusal::bad(&format!("message is not modified: {same}")));
    }
    message.offered.extend(keyboard.concat().into_iter().map(|(_, token)| token));
    (message.text, message.entities, message.keyboard) = (text, entities, keyboard);
    message.edits += 1;
    Ok(world.message_json(chat, id))
}

fn delete_message(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let chat = chat_of(world, arguments)?;
    let id = arguments.number("message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let kind = world.chat(chat).kind;
    let message = world.chat(chat).message(id).ok_or_else(|| Refusal::bad("message to delete not found"))?;
    if message.from != FakeTelegram::BOT_ID && kind != ChatKind::Private {
        return Err(Refusal::bad("message can't be deleted"));
    }
    if let Some(chat) = world.chats.get_mut(&chat) {
        chat.messages.retain(|message| message.id != id);
    }
    Ok(json!(true))
}
