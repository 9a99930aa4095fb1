//! The methods, as strict as Discord's.

use std::time::Duration;

use serde_json::{Value, json};

use super::FakeDiscord;
use super::shapes;
use super::world::{FILES, GUILD, HISTORY, Message, REACT, SEND, SEND_IN_THREADS, VIEW, World};

/// The longest content, in code points.
const CONTENT_MAX: usize = 2_000;
/// How long Discord waits for an answer to an interaction.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// What a bot may set of a message: that it shows no previews, that it is quiet, that it is speech, that it is made of
/// components.
const FLAGS: u64 = 1 << 2 | 1 << 12 | 1 << 13 | 1 << 15;

/// A call that Discord refuses.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: u32,
    pub(super) message: &'static str,
}

impl Refusal {
    pub(super) fn new(status: u16, code: u32, message: &'static str) -> Self {
        Self { status, code, message }
    }

    fn form() -> Self {
        Self::new(400, 50035, "Invalid Form Body")
    }
}

pub(super) struct Call {
    pub(super) method: String,
    pub(super) steps: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Value,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

impl Call {
    /// The route: `POST messages`, `PUT reactions`.
    pub(super) fn name(&self) -> String {
        let known = ["reactions", "messages", "typing", "callback", "commands", "bot", "channels"];
        let first = known.iter().find(|word| self.steps.iter().any(|step| step == *word));
        format!("{} {}", self.method, first.copied().unwrap_or(self.steps[0].as_str()))
    }

    fn asked(&self, key: &str) -> Option<u64> {
        self.query.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.parse().ok())
    }
}

type Answer = Result<Value, Refusal>;

pub(super) fn call(world: &mut World, call: &Call) -> Answer {
    let steps: Vec<&str> = call.steps.iter().map(String::as_str).collect();
    let bot = FakeDiscord::BOT.to_string();
    match (call.method.as_str(), steps.as_slice()) {
        ("GET", ["users", "@me"]) => Ok(shapes::user(world, FakeDiscord::BOT)),
        ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => Ok(shapes::application(world)),
        ("GET", ["gateway", "bot"]) => Ok(json!({
            "url": format!("ws://{}/gateway", world.address), "shards": 1,
            "session_start_limit": { "total": 1000, "remaining": world.logins_left, "reset_after": 50, "max_concurrency": 1 }
        })),
        ("GET" | "PUT", ["applications", id, "commands"]) if *id == bot => commands(world, None, call),
        ("GET" | "PUT", ["applications", id, "guilds", guild, "commands"]) if *id == bot => {
            let guild = guild.parse().ok().filter(|guild| *guild == GUILD);
            commands(world, Some(guild.ok_or_else(|| Refusal::new(403, 50001, "Missing Access"))?), call)
        }
        ("POST", ["interactions", id, token, "callback"]) => {
            answered(world, id, token, &call.body)?;
            let wants = call.asked("with_response") == Some(1);
            Ok(if wants { shapes::callback(world, token, &call.body["type"]) } else { Value::Null })
        }
        ("DELETE", ["webhooks", id, token, "messages", "@original"]) if *id == bot => taken_back(world, token),
        (_, ["channels", channel, rest @ ..]) => {
            let channel = channel.parse().map_err(|_error| Refusal::form())?;
            within(world, channel, call, rest)
        }
        _ => Err(Refusal::new(404, 0, "404: Not Found")),
    }
}

fn within(world: &mut World, id: u64, call: &Call, rest: &[&str]) -> Answer {
    let unknown = || Refusal::new(404, 10003, "Unknown Channel");
    let channel = world.channels.get(&id).ok_or_else(unknown)?;
    let lacks = channel.lacks.clone();
    if lacks.contains(VIEW) {
        return Err(Refusal::new(403, 50001, "Missing Access"));
    }
    let send = if matches!(channel.kind, 10..=12) { SEND_IN_THREADS } else { SEND };
    let needs = |permission| match lacks.contains(permission) {
        true => Err(Refusal::new(403, 50013, "Missing Permissions")),
        false => Ok(()),
    };
    match (call.method.as_str(), rest) {
        ("GET", []) => Ok(shapes::channel(id, channel)),
        ("PATCH", []) => {
            let (locked, wants) = (channel.locked, call.body["archived"].as_bool());
            if locked {
                return Err(Refusal::new(403, 50013, "Missing Permissions"));
            }
            let channel = world.channels.get_mut(&id).unwrap();
            channel.archived = wants.ok_or_else(Refusal::form)?;
            Ok(shapes::channel(id, channel))
        }
        ("GET", ["messages"]) => {
            needs(HISTORY)?;
            history(world, id, call)
        }
        ("POST", ["messages"]) => {
            needs(send)?;
            if !call.files.is_empty() {
                needs(FILES)?;
            }
            if !call.body["message_reference"].is_null() && lacks.contains(HISTORY) {
                return Err(Refusal::new(403, 160002, "Cannot reply without permission to read message history"));
            }
            post(world, id, call)
        }
        ("POST", ["typing"]) => {
            needs(send)?;
            world.channels.get_mut(&id).unwrap().typed += 1;
            Ok(Value::Null)
        }
        (_, ["messages", message, rest @ ..]) => {
            let message = message.parse().map_err(|_error| Refusal::form())?;
            let Some(found) = world.message(id, message) else {
                return Err(Refusal::new(404, 10008, "Unknown Message"));
            };
            let is_own = found.author == FakeDiscord::BOT;
            match (call.method.as_str(), rest) {
                ("GET", []) => {
                    needs(HISTORY)?;
                    Ok(shapes::message(world, found))
                }
                ("PATCH", []) if !is_own => {
                    Err(Refusal::new(403, 50005, "Cannot edit a message authored by another user"))
                }
                ("PATCH", []) => change(world, id, message, call),
                ("DELETE", []) if !is_own => Err(Refusal::new(403, 50013, "Missing Permissions")),
                ("DELETE", []) => {
                    world.delete(id, &[message]);
                    Ok(Value::Null)
                }
                ("PUT", ["reactions", emoji, "@me"]) => {
                    needs(HISTORY)?;
                    // Where the same one stands already, another may be added without.
                    if !found.reactions.iter().any(|(sign, _)| sign == emoji) {
                        needs(REACT)?;
                    }
                    react(world, id, message, emoji)
                }
                ("DELETE", ["reactions", emoji, "@me"]) => {
                    let found = world.message_mut(id, message).unwrap();
                    found.reactions.retain(|(sign, who)| sign != emoji || *who != FakeDiscord::BOT);
                    Ok(Value::Null)
                }
                _ => Err(Refusal::new(405, 0, "405: Method Not Allowed")),
            }
        }
        _ => Err(Refusal::new(404, 0, "404: Not Found")),
    }
}

fn react(world: &mut World, channel: u64, message: u64, emoji: &str) -> Answer {
    if emoji.is_ascii() {
        return Err(Refusal::new(400, 10014, "Unknown Emoji"));
    }
    let found = world.message_mut(channel, message).unwrap();
    let reaction = (emoji.to_owned(), FakeDiscord::BOT);
    if !found.reactions.contains(&reaction) {
        found.reactions.push(reaction);
    }
    Ok(Value::Null)
}

/// Newest first, as Discord has it; `after` gives the oldest of what is newer.
fn history(world: &World, channel: u64, call: &Call) -> Answer {
    let limit = usize::try_from(call.asked("limit").unwrap_or(50)).unwrap();
    if !(1..=100).contains(&limit) {
        return Err(Refusal::form());
    }
    let mut all: Vec<&Message> = world.channel(channel).messages.iter().collect();
    match (call.asked("after"), call.asked("before")) {
        (Some(after), _) => {
            all.retain(|message| message.id > after);
            all.truncate(limit);
        }
        (None, before) => {
            all.retain(|message| before.is_none_or(|before| message.id < before));
            all.drain(..all.len().saturating_sub(limit));
        }
    }
    Ok(all.into_iter().rev().map(|message| shapes::message(world, message)).collect())
}

/// What a message may hold.
fn check(body: &Value, files: &[(String, Vec<u8>)], is_new: bool) -> Result<(), Refusal> {
    let content = body["content"].as_str().unwrap_or_default();
    if content.chars().count() > CONTENT_MAX {
        return Err(Refusal::form());
    }
    if is_new && content.trim().is_empty() && files.is_empty() {
        return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
    }
    let limit = 10 << 20;
    if files.iter().any(|(_, bytes)| bytes.len() > limit) {
        return Err(Refusal::new(413, 40005, "Request entity too large"));
    }
    if body["flags"].as_u64().unwrap_or_default() & !FLAGS != 0 {
        return Err(Refusal::form());
    }
    let described = body["attachments"].as_array().map_or(0, Vec::len);
    if described != files.len() {
        return Err(Refusal::form());
    }
    let rows = body["components"].as_array().cloned().unwrap_or_default();
    let mut ids = std::collections::BTreeSet::new();
    for row in &rows {
        let buttons = row["components"].as_array().ok_or_else(Refusal::form)?;
        let fine = |button: &Value| {
            let (id, label) = (button["custom_id"].as_str().unwrap_or_default(), button["label"].as_str());
            let short = |text: &str, most| (1..=most).contains(&text.chars().count());
            button["type"] == 2 && short(id, 100) && label.is_some_and(|label| short(label, 80))
        };
        let distinct = buttons.iter().all(|button| ids.insert(button["custom_id"].to_string()));
        if row["type"] != 1 || !(1..=5).contains(&buttons.len()) || !buttons.iter().all(fine) || !distinct {
            return Err(Refusal::form());
        }
    }
    if rows.len() > 5 { Err(Refusal::form()) } else { Ok(()) }
}

/// What Hob promises, beyond what Discord asks: that nobody is notified by a model's words.
fn check_mentions(world: &mut World, body: &Value) {
    if body["allowed_mentions"]["parse"] != json!([]) {
        world.wrong.push(format!("somebody may be notified by {body}"));
    }
}

fn post(world: &mut World, channel: u64, call: &Call) -> Answer {
    let body = &call.body;
    check(body, &call.files, true)?;
    check_mentions(world, body);
    let at = world.channel(channel);
    if at.archived && at.locked {
        return Err(Refusal::new(400, 50083, "Thread is archived"));
    }
    let nonce = body["nonce"].as_str().map(str::to_owned);
    if nonce.as_ref().is_some_and(|nonce| nonce.chars().count() > 25) {
        return Err(Refusal::form());
    }
    if body["enforce_nonce"] == true
        && let Some(nonce) = &nonce
        && let Some(known) = world.by_bot(channel).find(|message| message.nonce.as_ref() == Some(nonce))
    {
        return Ok(shapes::message(world, known));
    }
    let mut reply_to = None;
    if let Some(reference) = body["message_reference"]["message_id"].as_str() {
        let id = reference.parse().map_err(|_error| Refusal::form())?;
        reply_to = world.message(channel, id).map(|message| message.id);
        if reply_to.is_none() && body["message_reference"]["fail_if_not_exists"] != false {
            return Err(Refusal::form());
        }
    }
    world.channels.get_mut(&channel).unwrap().archived = false;
    let id = world.id();
    world.add(Message {
        id,
        channel,
        author: FakeDiscord::BOT,
        content: body["content"].as_str().unwrap_or_default().to_owned(),
        nonce,
        reply_to,
        flags: body["flags"].as_u64().unwrap_or_default(),
        components: body["components"].as_array().cloned().unwrap_or_default().into(),
        files: call.files.clone(),
        reactions: Vec::new(),
        edits: 0,
        more: json!({}),
    });
    Ok(shapes::message(world, world.message(channel, id).unwrap()))
}

fn change(world: &mut World, channel: u64, id: u64, call: &Call) -> Answer {
    let body = &call.body;
    check(body, &call.files, false)?;
    check_mentions(world, body);
    let message = world.message_mut(channel, id).unwrap();
    if let Some(content) = body["content"].as_str() {
        content.clone_into(&mut message.content);
    }
    if let Some(rows) = body["components"].as_array() {
        message.components = rows.clone().into();
    }
    message.files.extend(call.files.iter().cloned());
    message.edits += 1;
    world.tell_message("MESSAGE_UPDATE", channel, id);
    Ok(shapes::message(world, world.message(channel, id).unwrap()))
}

fn commands(world: &mut World, guild: Option<u64>, call: &Call) -> Answer {
    if call.method == "PUT" {
        let all = call.body.as_array().ok_or_else(Refusal::form)?;
        let fine = |command: &Value| {
            let name = command["name"].as_str().unwrap_or_default();
            let words = command["description"].as_str().map_or(0, |text| text.chars().count());
            let lower = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
            let options = command["options"].as_array().cloned().unwrap_or_default();
            let known = |option: &Value| {
                let words = option["description"].as_str().map_or(0, |text| text.chars().count());
                option["type"].is_u64() && option["name"].is_string() && (1..=100).contains(&words)
            };
            let fine = (1..=32).contains(&name.len()) && lower && (1..=100).contains(&words);
            fine && options.len() <= 25 && options.iter().all(known)
        };
        let names: std::collections::BTreeSet<String> = all.iter().map(|command| command["name"].to_string()).collect();
        if all.len() > 100 || names.len() < all.len() || !all.iter().all(fine) {
            return Err(Refusal::form());
        }
        let numbered = all.iter().enumerate().map(|(index, command)| {
            let mut command = command.clone();
            command["id"] = (index + 1).to_string().into();
            command["application_id"] = FakeDiscord::BOT.to_string().into();
            command["version"] = "1".into();
            command["type"] = 1.into();
            command["default_member_permissions"] = Value::Null;
            command
        });
        let numbered = numbered.collect();
        world.commands.insert(guild, numbered);
    }
    Ok(world.commands.get(&guild).cloned().unwrap_or_default().into())
}

fn answered(world: &mut World, id: &str, token: &str, body: &Value) -> Answer {
    let unknown = || Refusal::new(404, 10062, "Unknown interaction");
    let interaction =
        world.interactions.get_mut(token).filter(|known| known.id.to_string() == id).ok_or_else(unknown)?;
    if interaction.at.elapsed() > ANSWER_WITHIN {
        world.wrong.push("an interaction was answered too late".to_owned());
        return Err(unknown());
    }
    if interaction.answered.is_some() {
        return Err(Refusal::new(400, 40060, "Interaction has already been acknowledged."));
    }
    let kind = body["type"].as_u64().ok_or_else(Refusal::form)?;
    if kind == 6 && interaction.is_command || !matches!(kind, 4..=7) {
        return Err(Refusal::form());
    }
    let said = body["data"]["content"].as_str().unwrap_or_default();
    if kind == 4 && !(1..=CONTENT_MAX).contains(&said.chars().count()) {
        return Err(Refusal::form());
    }
    interaction.said = (kind == 4).then(|| said.to_owned());
    interaction.answered = Some((kind, body["data"]["flags"].as_u64().unwrap_or_default() & 64 != 0));
    Ok(Value::Null)
}

fn taken_back(world: &mut World, token: &str) -> Answer {
    let found = world.interactions.get_mut(token).filter(|known| known.answered.is_some() && !known.taken_back);
    let found = found.ok_or_else(|| Refusal::new(404, 10008, "Unknown Message"))?;
    found.taken_back = true;
    Ok(Value::Null)
}
