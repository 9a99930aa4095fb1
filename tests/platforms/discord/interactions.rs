//! Slash commands and buttons.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::Arc;

use hob_core::domain::channel::{Adapter, Channel as _, Intake};
use hob_core::domain::outgoing::Choice;
use hob_discord::commands::COMMANDS;
use hob_router::command::{Command, parse};
use tokio_util::sync::CancellationToken;

use crate::discord::harness::{PACE, RunningAdapter, adapter_with, message};
use hob_testkit::fake_discord::world::{ADA, BOB, DM, GUILD, HALL, SEND, SEND_IN_THREADS, THREAD, World};
use hob_testkit::fake_discord::{FakeDiscord, Fault};
use hob_testkit::intake::Memory;

#[tokio::test]
async fn k2_commands_are_registered_once_and_deferred_in_time() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    fake.command(DM, ADA, "status", None);
    fake.command(THREAD, BOB, "model", Some("fast"));
    fake.command(HALL, BOB, "hob", Some("what's for dinner?"));
    let seen = running.intake.until(3).await;
    let texts: Vec<String> = seen.iter().map(hob_testkit::intake::text_of).collect();
    assert_eq!(texts, ["/status", "/model fast", "what's for dinner?"]);
    assert_eq!(seen[1].conversation.thread, Some(THREAD.to_string()));
    assert_eq!((seen[0].sender.external_id.clone(), seen[1].sender.name.as_str()), (ADA.to_string(), "bob"));
    let settled =
        |world: &World| world.interactions.values().all(|known| known.answered == Some((5, true)) && known.taken_back);
    fake.until_true("deferred answers, taken back", settled).await;
    let intake = Arc::clone(&running.intake);
    running.end().await;
    let again = RunningAdapter::begin(&fake, PACE, intake);
    fake.until_true("a second look", |world| world.called("GET commands") == 3).await;
    fake.command(DM, ADA, "help", None);
    again.intake.until(4).await;
    assert_eq!(fake.look(|world| world.called("PUT commands")), 1, "they stood as they should");
    again.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_commands_can_be_kept_to_some_servers() {
    let fake = FakeDiscord::start().await;
    fake.look(|world| {
        drop(world.commands.insert(None, vec![serde_json::json!({ "name": "old", "description": "x" })]))
    });
    let adapter = Arc::new(adapter_with(&fake, PACE, vec![GUILD.to_string()]));
    let (intake, stop): (Arc<dyn Intake>, _) = (Arc::new(Memory::default()), CancellationToken::new());
    let task = tokio::spawn(Arc::clone(&adapter).run(intake, stop.clone()));
    fake.until_true("commands of the server alone", |world| {
        world.commands.get(&None).is_some_and(Vec::is_empty)
            && world.commands.get(&Some(GUILD)).is_some_and(|all| all.len() == COMMANDS.len())
    })
    .await;
    stop.cancel();
    task.await.unwrap();
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_commands_of_a_server_go_when_they_are_registered_everywhere() {
    let fake = FakeDiscord::start().await;
    let own = vec![serde_json::json!({ "name": "status", "description": "x" })];
    fake.look(|world| drop(world.commands.insert(Some(GUILD), own)));
    // What cannot be asked for is asked for again, before anything else is settled.
    fake.fault("GET commands", Fault::Proxy(502));
    let running = RunningAdapter::begin(&fake, PACE, Arc::default());
    let settled = |world: &World| {
        world.commands[&Some(GUILD)].is_empty()
            && world.commands.get(&None).is_some_and(|all| all.len() == COMMANDS.len())
    };
    fake.until_true("commands that show once", settled).await;
    let intake = Arc::clone(&running.intake);
    running.end().await;
    let before = fake.look(|world| world.called("GET commands"));
    let again = RunningAdapter::begin(&fake, PACE, intake);
    fake.until_true("another look", |world| world.called("GET commands") > before).await;
    again.until_connected(&fake).await;
    again.end().await;
    let calls = fake.look(|world| (world.called("GET commands") - before, world.called("PUT commands")));
    assert_eq!(calls, (1, 2), "nothing has changed since");
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_a_command_where_hob_may_not_write_says_so() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    fake.look(|world| {
        world.deny(HALL, SEND);
        world.deny(THREAD, SEND_IN_THREADS);
    });
    fake.command(HALL, BOB, "stop", None);
    fake.command(THREAD, BOB, "stop", None);
    fake.command(DM, ADA, "status", None);
    // It is carried out all the same.
    assert_eq!(running.intake.texts(3).await, ["/stop", "/stop", "/status"]);
    let settled = |world: &World| {
        world.interactions.values().all(|known| known.answered.is_some())
            && world.interactions.values().any(|known| known.taken_back)
    };
    fake.until_true("answers", settled).await;
    running.end().await;
    let told: Vec<_> = fake.look(|world| world.interactions.values().cloned().collect());
    for known in &told[..2] {
        let said = known.said.as_deref().unwrap_or_default();
        assert!(said.contains("may not write here") && !known.taken_back, "{known:?}");
        assert_eq!(known.answered, Some((4, true)), "nobody else sees it");
    }
    assert_eq!((told[2].answered, told[2].taken_back), (Some((5, true)), true));
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_a_button_is_pressed() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    let choice = |label: &str, token: &str| Choice { label: label.to_owned(), token: token.to_owned() };
    let mut asked = message(HALL, "Shall I?");
    asked.choices = vec![choice("Yes", "q1:yes"), choice("No", "q1:no")];
    let sent = running.adapter.deliver(&asked).await.unwrap().external_id.unwrap();
    let press = fake.press(HALL, BOB, sent.parse().unwrap(), "q1:no");
    let seen = running.intake.until(1).await;
    assert_eq!(hob_testkit::intake::text_of(&seen[0]), "pressed: q1:no");
    assert_eq!(
        (seen[0].external_id.clone(), seen[0].sender.external_id.clone()),
        (format!("in:{press}"), BOB.to_string())
    );
    fake.until_true("acknowledged press", |world| {
        world.interactions.values().all(|known| known.answered == Some((6, false)))
    })
    .await;
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_a_command_is_deferred_though_nothing_can_be_stored() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    running.intake.fail("the disk is full", 1_000);
    fake.say(DM, ADA, "first");
    fake.command(DM, ADA, "stop", None);
    fake.until_true("deferred answer", |world| world.interactions.values().all(|known| known.answered.is_some())).await;
    running.intake.mend();
    assert_eq!(running.intake.texts(2).await, ["first", "/stop"]);
    running.end().await;
    fake.nothing_wrong();
}

#[test]
fn k2_every_command_is_one_that_hob_knows() {
    for (name, _, words) in COMMANDS.iter().filter(|(name, ..)| *name != "hob") {
        let line = if words.is_some_and(|(_, required)| required) { format!("/{name} m1") } else { format!("/{name}") };
        let parsed = parse(&line);
        assert!(parsed.is_some() && !matches!(parsed, Some(Command::Unknown(_))), "{line}: {parsed:?}");
    }
}
