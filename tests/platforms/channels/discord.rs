//! Discord, over its fake.

use async_trait::async_trait;
use hob_core::domain::inbound::ChannelKind;
use serde_json::Value;

use crate::channels::platform::{MessagesPredicate, Platform, VisibleMessage};
use hob_testkit::fake_discord::FakeDiscord;
use hob_testkit::fake_discord::world::{ADA, DM, Message, Post, World};
use hob_testkit::test_hob::TestHob;

pub(crate) struct OnDiscord {
    discord: FakeDiscord,
    /// How many logins the Hobs of before have made.
    logins: usize,
}

pub(crate) async fn platform() -> OnDiscord {
    OnDiscord { discord: FakeDiscord::start().await, logins: 0 }
}

fn buttons(message: &Message) -> Vec<Value> {
    let rows = message.components.as_array().into_iter().flatten();
    rows.filter_map(|row| row["components"].as_array()).flatten().cloned().collect()
}

fn shown(message: &Message) -> VisibleMessage {
    let label = |button: Value| button["label"].as_str().unwrap().to_owned();
    VisibleMessage {
        // Discord shows what is between the marks.
        text: message.content.replace("**", "").replace("*five*", "five"),
        buttons: buttons(message).into_iter().map(label).collect(),
        file: message.files.first().cloned(),
    }
}

fn here(world: &World) -> Vec<VisibleMessage> {
    world.by_bot(DM).map(shown).collect()
}

#[async_trait]
impl Platform for OnDiscord {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Discord
    }

    fn settings(&self) -> String {
        let (token, url) = (FakeDiscord::TOKEN, self.discord.api_url());
        format!("[discord]\nbot_token = '{token}'\nowner_user_ids = [{ADA}]\napi_url = '{url}'\n")
    }

    async fn connected(&mut self, _house: &TestHob) {
        self.discord.until_identified(self.logins + 1).await;
        self.logins = self.discord.look(|world| world.identified);
    }

    async fn say(&mut self, _house: &TestHob, text: &str) -> String {
        self.discord.say(DM, ADA, text).to_string()
    }

    async fn again(&mut self, _house: &TestHob, id: &str) {
        let id = id.parse().unwrap();
        self.discord.look(|world| world.tell_message("MESSAGE_CREATE", DM, id));
    }

    async fn hand(&mut self, _house: &TestHob, name: &str, bytes: &[u8], text: &str) {
        self.discord.post(Post::new(DM, ADA, text).with_file(name, bytes));
    }

    async fn press(&mut self, _house: &TestHob, label: &str) {
        let asked = self.discord.sent(DM).pop().unwrap();
        let button = buttons(&asked).into_iter().find(|button| button["label"] == label).unwrap();
        self.discord.press(DM, ADA, asked.id, button["custom_id"].as_str().unwrap());
    }

    async fn until(&self, _house: &TestHob, seen: MessagesPredicate<'_>) -> Vec<VisibleMessage> {
        self.discord.until("what is looked for", |world| Some(here(world)).filter(|shown| seen(shown))).await
    }

    fn raw(&self, _house: &TestHob) -> String {
        self.discord.sent(DM).iter().map(|message| format!("{message:#?}")).collect::<Vec<_>>().join("\n")
    }

    async fn goes_down(&mut self, _house: &mut TestHob) {
        self.discord.go_down().await;
    }

    async fn comes_back(&mut self, _house: &mut TestHob) {
        self.discord.come_back().await;
    }
}
