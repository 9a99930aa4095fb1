//! What bots show beside messages, and what they tell of themselves: reactions, actions, commands.

use serde_json::{Value, json};

use super::api::{chat_of, topic_of};
use super::request::Arguments;
use super::server::Refusal;
use super::world::World;

/// The emoji that bots may react with.
const REACTIONS: &str = "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 \
    😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡";

pub(super) fn set_message_reaction(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let chat = chat_of(world, arguments)?;
    let id = arguments.number("message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let wanted = arguments.get("reaction").unwrap_or_else(|| json!([]));
    let wanted = wanted.as_array().ok_or_else(|| Refusal::bad("can't parse reaction types JSON object"))?;
    let chat = world.chats.get_mut(&chat).ok_or_else(|| Refusal::bad("chat not found"))?;
    let takes_none = chat.reactions.as_ref().is_some_and(Vec::is_empty);
    let (mut shown, allowed) = (None, chat.reactions.clone());
    match wanted.as_slice() {
        [] => {}
        [one] => {
            let emoji = one["emoji"].as_str().filter(|_| one["type"] == "emoji").unwrap_or_default();
            let known = REACTIONS.split(' ').any(|known| known == emoji);
            let here = allowed.is_none_or(|allowed| allowed.iter().any(|allowed| allowed == emoji));
            if !known || !here || takes_none {
                return Err(Refusal::bad("REACTION_INVALID"));
            }
            shown = Some(emoji.to_owned());
        }
        _ => return Err(Refusal::bad("REACTIONS_TOO_MANY")),
    }
    let message = chat.messages.iter_mut().find(|message| message.id == id);
    let message = message.ok_or_else(|| Refusal::bad("message to react not found"))?;
    message.reactions.push(shown);
    Ok(json!(true))
}

pub(super) fn send_chat_action(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let chat = chat_of(world, arguments)?;
    let topic = topic_of(world, chat, arguments)?;
    let action = arguments.text("action").filter(|action| action == "typing" || action.starts_with("upload_"));
    let action = action.ok_or_else(|| Refusal::bad("wrong parameter action in request"))?;
    if let Some(chat) = world.chats.get_mut(&chat) {
        chat.actions.push((action, topic));
    }
    Ok(json!(true))
}

pub(super) fn answer_callback_query(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let id = arguments.text("callback_query_id").unwrap_or_default();
    let text = arguments.text("text");
    if text.as_ref().is_some_and(|text| text.chars().count() > 200) {
        return Err(Refusal::bad("MESSAGE_TOO_LONG"));
    }
    match world.presses.get_mut(&id) {
        Some(answered) => {
            *answered = true;
            world.answers.insert(id, text);
            Ok(json!(true))
        }
        None => Err(Refusal::bad("query is too old and response timeout expired or query ID is invalid")),
    }
}

/// At most 100 commands of 1 to 32 small letters, digits and underscores, each with 1 to 256 characters about it.
pub(super) fn set_my_commands(world: &mut World, arguments: &Arguments) -> Result<Value, Refusal> {
    let commands = arguments.get("commands").ok_or_else(|| Refusal::bad("can't parse commands"))?;
    let list = commands.as_array().ok_or_else(|| Refusal::bad("can't parse BotCommands JSON object"))?;
    if list.len() > 100 {
        return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in list {
        let (name, what) = (command["command"].as_str(), command["description"].as_str());
        let sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.is_some_and(|name| (1..=32).contains(&name.len()) && name.chars().all(sign)) {
            return Err(Refusal::bad("BOT_COMMAND_INVALID"));
        }
        if !what.is_some_and(|what| (1..=256).contains(&what.chars().count())) {
            return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    world.commands = commands;
    Ok(json!(true))
}
