//! Commands and presses: what people do, and what is told of it.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::FakeDiscord;
use super::shapes;
use super::world::{Channel, FILES, HISTORY, Interaction, REACT, SEND, SEND_IN_THREADS, VIEW, World};

/// What the bot may do there, as bits.
fn permissions(channel: &Channel) -> u64 {
    // In private Discord tells of few, and of none that says whether the bot may write.
    if channel.guild.is_none() {
        return 1 << 14 | 1 << 15 | 1 << 17 | 1 << 18;
    }
    let all = [(VIEW, 10), (SEND, 11), (SEND_IN_THREADS, 38), (FILES, 15), (HISTORY, 16), (REACT, 6)];
    all.iter().filter(|(name, _)| !channel.lacks.contains(name)).map(|(_, bit)| 1 << bit).sum()
}

impl World {
    fn interaction(&mut self, channel: u64, person: u64, more: Value) -> u64 {
        let id = self.id();
        let token = format!("token-{id}");
        let is_command = more["type"] == 2;
        let at = self.channel(channel);
        let place = shapes::channel(channel, at);
        let user = shapes::user(self, person);
        let mut told = json!({
            "id": id.to_string(), "application_id": FakeDiscord::BOT.to_string(), "token": token, "version": 1,
            "channel_id": channel.to_string(), "channel": place, "locale": "en-GB", "entitlements": [],
            "authorizing_integration_owners": {}, "attachment_size_limit": 10_485_760,
            "app_permissions": permissions(at).to_string()
        });
        match at.guild {
            Some(guild) => {
                told["guild_id"] = guild.to_string().into();
                told["context"] = 0.into();
                told["member"] = json!({ "user": user, "nick": null, "roles": [], "joined_at": shapes::TIME,
                    "deaf": false, "mute": false, "permissions": "0", "flags": 0 });
            }
            None => {
                told["context"] = 1.into();
                told["user"] = user;
            }
        }
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let interaction =
            Interaction { id, at: Instant::now(), is_command, answered: None, said: None, taken_back: false };
        self.interactions.insert(token, interaction);
        self.tell(None, "INTERACTION_CREATE", &told);
        id
    }

    pub fn press(&mut self, channel: u64, person: u64, message: u64, custom_id: &str) -> u64 {
        let message = self.message(channel, message).unwrap();
        let rows = message.components.as_array().unwrap().iter();
        let mut buttons = rows.flat_map(|row| row["components"].as_array().unwrap());
        assert!(buttons.any(|button| button["custom_id"] == custom_id), "no button {custom_id}: {message:?}");
        let message = shapes::message(self, message);
        let data = json!({ "component_type": 2, "custom_id": custom_id, "id": 1 });
        self.interaction(channel, person, json!({ "type": 3, "data": data, "message": message }))
    }

    pub fn use_command(&mut self, channel: u64, person: u64, name: &str, text: Option<&str>) -> u64 {
        let guild = self.channel(channel).guild;
        let known = self.commands.iter().filter(|(place, _)| place.is_none() || **place == guild);
        assert!(known.flat_map(|(_, all)| all).any(|command| command["name"] == name), "no command {name}");
        let options: Vec<Value> =
            text.map(|text| json!({ "name": "text", "type": 3, "value": text })).into_iter().collect();
        let data = json!({ "id": "1", "name": name, "type": 1, "options": options });
        self.interaction(channel, person, json!({ "type": 2, "data": data }))
    }
}
