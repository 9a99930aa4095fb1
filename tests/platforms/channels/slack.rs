//! Slack, over its fake.

use async_trait::async_trait;
use hob_core::domain::inbound::ChannelKind;
use serde_json::Value;

use crate::channels::platform::{MessagesPredicate, Platform, VisibleMessage};
use hob_testkit::fake_slack::FakeSlack;
use hob_testkit::fake_slack::world::World;
use hob_testkit::test_hob::TestHob;

const ADA: &str = "U0ADA";
const ADAS: &str = "D0ADA";

pub(crate) struct OnSlack {
    slack: FakeSlack,
    /// How many sockets the Hobs of before have opened.
    sockets: u64,
}

pub(crate) async fn platform() -> OnSlack {
    let slack = FakeSlack::start().await;
    slack.person(ADA, "Ada");
    slack.channel(ADAS);
    OnSlack { slack, sockets: 0 }
}

fn shown(world: &World, message: &Value) -> VisibleMessage {
    let blocks = message["blocks"].as_array().into_iter().flatten();
    let elements = blocks.filter(|block| block["type"] == "actions").filter_map(|block| block["elements"].as_array());
    let label = |button: &Value| button["text"]["text"].as_str().unwrap().to_owned();
    let file = message["files"][0]["id"].as_str().map(|id| &world.files[id]);
    VisibleMessage {
        text: message["text"].as_str().unwrap_or_default().to_owned(),
        buttons: elements.flatten().map(label).collect(),
        file: file.map(|file| (file.name.clone(), file.bytes.clone().unwrap())),
    }
}

fn here(world: &World) -> Vec<VisibleMessage> {
    world.posts_of_bot(ADAS).iter().map(|message| shown(world, message)).collect()
}

#[async_trait]
impl Platform for OnSlack {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Slack
    }

    fn settings(&self) -> String {
        let (bot, app, url) = (FakeSlack::BOT_TOKEN, FakeSlack::APP_TOKEN, self.slack.api_url());
        format!("[slack]\nbot_token = '{bot}'\napp_token = '{app}'\nowner_user_ids = ['{ADA}']\napi_url = '{url}'\n")
    }

    async fn connected(&mut self, _house: &TestHob) {
        let known = self.sockets;
        self.slack
            .until_true("a socket of its own", |world| world.sockets_opened > known && !world.sockets.is_empty())
            .await;
        self.sockets = self.slack.look(|world| world.sockets_opened);
    }

    async fn say(&mut self, _house: &TestHob, text: &str) -> String {
        // What begins with a slash is a command of Slack's own there.
        match text.strip_prefix('/') {
            Some(command) => {
                self.slack.command(ADAS, ADA, command);
                String::new()
            }
            None => self.slack.say(ADAS, ADA, text),
        }
    }

    async fn again(&mut self, _house: &TestHob, id: &str) {
        self.slack.look(|world| {
            let mut event = world.message(ADAS, id).clone();
            event["channel"] = ADAS.into();
            event["channel_type"] = "im".into();
            event["event_ts"] = id.into();
            world.push_event(event);
        });
    }

    async fn hand(&mut self, _house: &TestHob, name: &str, bytes: &[u8], text: &str) {
        self.slack.hand(ADAS, ADA, self.slack.file(name, bytes), text);
    }

    async fn press(&mut self, _house: &TestHob, label: &str) {
        let asked =
            self.slack.look(|world| world.posts_of_bot(ADAS).last().unwrap()["ts"].as_str().unwrap().to_owned());
        self.slack.press(ADAS, &asked, ADA, label);
    }

    async fn until(&self, _house: &TestHob, seen: MessagesPredicate<'_>) -> Vec<VisibleMessage> {
        self.slack.until("what is looked for", |world| Some(here(world)).filter(|shown| seen(shown))).await
    }

    fn raw(&self, _house: &TestHob) -> String {
        let all =
            |world: &mut World| world.posts_of_bot(ADAS).iter().map(|post| format!("{post:#}")).collect::<Vec<_>>();
        self.slack.look(all).join("\n")
    }

    async fn goes_down(&mut self, _house: &mut TestHob) {
        self.slack.go_down().await;
    }

    async fn comes_back(&mut self, _house: &mut TestHob) {
        self.slack.come_back().await;
    }
}
