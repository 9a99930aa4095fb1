//! How Discord writes what it knows.

use serde_json::{Value, json};

use super::FakeDiscord;
use super::world::{Channel, GUILD, Message, World};

/// When everything happened.
pub(super) const TIME: &str = "2026-01-02T03:04:05.678000+00:00";

pub(super) fn user(world: &World, id: u64) -> Value {
    let name = world.people.get(&id).copied().unwrap_or("somebody");
    json!({
        "id": id.to_string(), "username": name, "global_name": null, "discriminator": "0", "avatar": null,
        "bot": id == FakeDiscord::BOT, "public_flags": 0
    })
}

pub(super) fn channel(id: u64, channel: &Channel) -> Value {
    let last = channel.messages.last().map(|message| message.id.to_string());
    let mut told = json!({
        "id": id.to_string(), "type": channel.kind, "name": channel.name, "position": 0, "permission_overwrites": [],
        "nsfw": false, "topic": null, "last_message_id": last, "parent_id": channel.parent.map(|id| id.to_string()),
        "rate_limit_per_user": 0, "flags": 0
    });
    if let Some(guild) = channel.guild {
        told["guild_id"] = guild.to_string().into();
    }
    if channel.kind == 11 {
        told["owner_id"] = super::world::ADA.to_string().into();
        told["message_count"] = 0.into();
        told["member_count"] = 1.into();
        told["thread_metadata"] = json!({ "archived": channel.archived, "auto_archive_duration": 1440,
            "archive_timestamp": TIME, "locked": channel.locked });
    }
    told
}

/// The ids that `<@…>` names.
fn named(content: &str) -> Vec<u64> {
    let parts = content.split("<@").skip(1).filter_map(|part| part.split_once('>'));
    parts.filter_map(|(id, _)| id.trim_start_matches('!').parse().ok()).collect()
}

pub(super) fn message(world: &World, message: &Message) -> Value {
    let files: Vec<Value> = message
        .files
        .iter()
        .enumerate()
        .map(|(index, (name, bytes))| {
            let url = format!("http://{}/attachments/{}/{}/{index}/{name}", world.address, message.channel, message.id);
            json!({ "id": (message.id + index as u64).to_string(), "filename": name, "size": bytes.len(), "url": url,
            "proxy_url": url, "content_type": "application/octet-stream" })
        })
        .collect();
    let answered = message.reply_to.and_then(|id| world.message(message.channel, id));
    let mut mentions: Vec<u64> = named(&message.content);
    mentions.extend(answered.map(|answered| answered.author));
    mentions.sort_unstable();
    mentions.dedup();
    let mentions: Vec<Value> = mentions.into_iter().map(|id| user(world, id)).collect();
    let mut told = json!({
        "id": message.id.to_string(), "channel_id": message.channel.to_string(), "author": user(world, message.author),
        "content": message.content, "timestamp": TIME, "edited_timestamp": (message.edits > 0).then_some(TIME),
        "tts": false, "mention_everyone": false, "mentions": mentions, "mention_roles": [], "attachments": files,
        "embeds": [], "pinned": false, "type": if message.reply_to.is_some() { 19 } else { 0 }, "flags": message.flags,
        "components": message.components
    });
    if let Some(nonce) = &message.nonce {
        told["nonce"] = nonce.as_str().into();
    }
    if let Some(id) = message.reply_to {
        told["message_reference"] =
            json!({ "type": 0, "message_id": id.to_string(), "channel_id": message.channel.to_string() });
        told["referenced_message"] = answered.map_or(Value::Null, |answered| {
            let mut answered = self::message(world, answered);
            answered.as_object_mut().unwrap().remove("referenced_message");
            answered
        });
    }
    told.as_object_mut().unwrap().extend(message.more.as_object().unwrap().clone());
    told
}

pub(super) fn guild(world: &World) -> Value {
    let visible = world.channels.iter().filter(|(_, channel)| channel.guild.is_some());
    let visible = visible.filter(|(_, channel)| !channel.lacks.contains(super::world::VIEW));
    let (threads, channels): (Vec<_>, Vec<_>) = visible.partition(|(_, channel)| channel.kind == 11);
    let told = |all: Vec<(&u64, &Channel)>| -> Vec<Value> {
        all.into_iter().filter(|(_, place)| !place.archived).map(|(id, place)| channel(*id, place)).collect()
    };
    let everyone = json!({ "id": GUILD.to_string(), "name": "@everyone", "color": 0, "hoist": false, "position": 0,
        "permissions": "2248473465835073", "managed": false, "mentionable": false, "flags": 0 });
    let member = json!({ "user": user(world, FakeDiscord::BOT), "nick": null, "roles": [], "joined_at": TIME,
        "deaf": false, "mute": false, "flags": 0 });
    json!({
        "id": GUILD.to_string(), "name": "Home", "icon": null, "owner_id": super::world::ADA.to_string(), "afk_timeout": 300,
        "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "roles": [everyone],
        "emojis": [], "features": [], "mfa_level": 0, "system_channel_flags": 0, "premium_tier": 0,
        "preferred_locale": "en-US", "nsfw_level": 0, "premium_progress_bar_enabled": false, "stickers": [],
        "joined_at": TIME, "large": false, "member_count": 3, "voice_states": [], "members": [member], "presences": [],
        "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [], "unavailable": false,
        "channels": told(channels), "threads": told(threads)
    })
}

pub(super) fn ready(world: &World, session: &str) -> Value {
    let resume_at = world.resume_at.clone().unwrap_or_else(|| format!("ws://{}/gateway", world.address));
    json!({
        "v": 10, "user": user(world, FakeDiscord::BOT), "guilds": [{ "id": GUILD.to_string(), "unavailable": true }],
        "session_id": session, "resume_gateway_url": resume_at, "shard": [0, 1],
        "application": { "id": FakeDiscord::BOT.to_string(), "flags": world.flags }, "private_channels": [],
        "session_type": "normal", "relationships": [], "presences": []
    })
}

pub(super) fn application(world: &World) -> Value {
    json!({
        "id": FakeDiscord::BOT.to_string(), "name": "Hob", "icon": null, "description": "", "summary": "",
        "bot_public": false, "bot_require_code_grant": false, "verify_key": "00", "flags": world.flags,
        "owner": user(world, super::world::ADA), "team": null, "redirect_uris": []
    })
}

/// What is told of an answer to an interaction, to who asks.
pub(super) fn callback(world: &World, token: &str, kind: &Value) -> Value {
    let interaction = &world.interactions[token];
    let mut told = json!({ "interaction": { "id": interaction.id.to_string(), "type": if interaction.is_command { 2 } else { 3 },
        "response_message_loading": interaction.is_command, "response_message_ephemeral": interaction.is_command } });
    if interaction.is_command {
        told["interaction"]["response_message_id"] = (interaction.id + 1).to_string().into();
        told["resource"] = json!({ "type": kind });
    }
    told
}
