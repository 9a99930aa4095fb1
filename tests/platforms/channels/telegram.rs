//! Telegram, over its fake.

use async_trait::async_trait;
use hob_core::domain::inbound::ChannelKind;

use crate::channels::platform::{MessagesPredicate, Platform, VisibleMessage};
use hob_testkit::fake_telegram::world::{Message, World};
use hob_testkit::test_hob::{OWNER, TestHob};

pub(crate) struct OnTelegram;

pub(crate) async fn platform() -> OnTelegram {
    OnTelegram
}

fn shown(message: &Message) -> VisibleMessage {
    VisibleMessage {
        text: message.text.clone(),
        buttons: message.keyboard.concat().into_iter().map(|(label, _)| label).collect(),
        file: message.file.as_ref().map(|file| (file.name.clone(), file.bytes.clone())),
    }
}

fn here(world: &World) -> Vec<VisibleMessage> {
    world.chat(OWNER).by_bot().map(shown).collect()
}

#[async_trait]
impl Platform for OnTelegram {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Telegram
    }

    fn settings(&self) -> String {
        String::new()
    }

    async fn connected(&mut self, _house: &TestHob) {
        // Its start waited for a poll.
    }

    async fn say(&mut self, hob: &TestHob, text: &str) -> String {
        hob.say(OWNER, text).to_string()
    }

    async fn again(&mut self, hob: &TestHob, id: &str) {
        let id = id.parse().unwrap();
        hob.telegram.look(|world| world.repeat(OWNER, id));
    }

    async fn hand(&mut self, hob: &TestHob, name: &str, bytes: &[u8], text: &str) {
        hob.telegram.hand(OWNER, name, bytes, text);
    }

    async fn press(&mut self, hob: &TestHob, label: &str) {
        hob.press(OWNER, label);
    }

    async fn until(&self, hob: &TestHob, seen: MessagesPredicate<'_>) -> Vec<VisibleMessage> {
        hob.telegram.until("what is looked for", |world| Some(here(world)).filter(|shown| seen(shown))).await
    }

    fn raw(&self, hob: &TestHob) -> String {
        let all =
            |world: &mut World| world.chat(OWNER).by_bot().map(|message| format!("{message:#?}")).collect::<Vec<_>>();
        hob.telegram.look(all).join("\n")
    }

    async fn goes_down(&mut self, hob: &mut TestHob) {
        hob.telegram.go_down().await;
    }

    async fn comes_back(&mut self, hob: &mut TestHob) {
        hob.telegram.come_back().await;
    }
}
