//! The list of commands that Telegram shows.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::telegram::harness::{PACE, RunningAdapter, built, settings};
use hob_testkit::fake_telegram::{FakeTelegram, Fault};

fn with(fake: &FakeTelegram, commands: &[(&str, &str)]) -> RunningAdapter {
    let mut settings = settings(&fake.api_url(), PACE);
    settings.commands = commands.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect();
    RunningAdapter::of(built(settings), Arc::default())
}

#[tokio::test]
async fn k2_the_commands_are_told_once_and_again_when_they_change() {
    let fake = FakeTelegram::start().await;
    let one = [("help", "what you can say"), ("stop", "end what I am doing here")];
    let told = |commands: Value| move |world: &hob_testkit::fake_telegram::world::World| world.commands == commands;
    let hob = with(&fake, &one);
    let both = json!([{"command": "help", "description": one[0].1}, {"command": "stop", "description": one[1].1}]);
    fake.until_true("commands", told(both)).await;
    hob.end().await;
    let hob = with(&fake, &one);
    fake.until_true("a look", |world| world.called("getMyCommands") == 2).await;
    fake.say(7, "hello");
    hob.intake.until(1).await;
    hob.end().await;
    assert_eq!(fake.look(|world| world.called("setMyCommands")), 1, "they are known");
    let hob = with(&fake, &one[..1]);
    fake.until_true("commands", told(json!([{"command": "help", "description": one[0].1}]))).await;
    hob.end().await;
}

#[tokio::test]
async fn k2_commands_that_cannot_be_told_keep_nobody_from_talking() {
    let fake = FakeTelegram::start().await;
    fake.fault("getMyCommands", Fault::Hang);
    let hob = with(&fake, &[("help", "what you can say")]);
    fake.say(7, "hello");
    assert_eq!(hob.intake.texts(1).await, ["hello"]);
    hob.end().await;
}
