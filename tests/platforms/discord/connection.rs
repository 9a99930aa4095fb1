//! How the adapter keeps connected.

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::channel::Channel as _;

use crate::discord::harness::{PACE, RunningAdapter};
use hob_testkit::fake_discord::world::{ADA, DM, HALL};
use hob_testkit::fake_discord::{FakeDiscord, Fault, GatewayFault};

/// Waits until a connection that was kicked is over.
async fn kicked(fake: &FakeDiscord, kick: GatewayFault) {
    fake.kick(kick);
    fake.until_true("end of the connection", |world| world.kicks.is_empty()).await;
}

#[tokio::test]
async fn a_dropped_connection_is_resumed_and_nothing_is_lost_or_doubled() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    for (round, kick) in
        [GatewayFault::Drop, GatewayFault::Reconnect, GatewayFault::Invalid(true), GatewayFault::Close(4000)]
            .into_iter()
            .enumerate()
    {
        fake.say(HALL, ADA, &format!("before {round}"));
        kicked(&fake, kick).await;
        fake.say(HALL, ADA, &format!("meanwhile {round}"));
        fake.until_true("resumed session", |world| world.resumed > round).await;
    }
    let expected: Vec<String> =
        (0..4).flat_map(|round| [format!("before {round}"), format!("meanwhile {round}")]).collect();
    assert_eq!(running.intake.texts(8).await, expected);
    assert_eq!(fake.look(|world| (world.identified, world.called("GET messages"))), (1, 0));
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn a_session_that_is_over_begins_anew_and_what_was_missed_is_fetched() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    fake.say(HALL, ADA, "before");
    fake.say(DM, ADA, "before, in private");
    running.intake.until(2).await;
    for (round, kick) in
        [GatewayFault::Invalid(false), GatewayFault::Close(4009), GatewayFault::Close(4007)].into_iter().enumerate()
    {
        fake.look(|world| world.kicks.push_back(kick));
        fake.until_true("end of the session", |world| world.sessions.values().all(|session| session.gone)).await;
        fake.say(HALL, ADA, &format!("one {round}"));
        fake.say(HALL, ADA, &format!("two {round}"));
        fake.say(DM, ADA, &format!("private {round}"));
        let texts = running.intake.texts(2 + 3 * (round + 1)).await;
        let mut news = texts[2 + 3 * round..].to_vec();
        let position = |text: String| news.iter().position(|known| *known == text).unwrap();
        assert!(position(format!("one {round}")) < position(format!("two {round}")), "{news:?}");
        news.sort();
        assert_eq!(news, [format!("one {round}"), format!("private {round}"), format!("two {round}")]);
        fake.until_identified(round + 2).await;
    }
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn some_failed_resumes_end_in_a_new_session() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    fake.say(HALL, ADA, "before");
    running.intake.until(1).await;
    fake.look(|world| world.cut_resumes = 100);
    kicked(&fake, GatewayFault::Drop).await;
    fake.say(HALL, ADA, "meanwhile");
    assert_eq!(running.intake.texts(2).await, ["before", "meanwhile"]);
    assert_eq!(fake.look(|world| (world.identified, world.cut_resumes)), (2, 97));
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn a_session_outlives_an_outage_of_the_network() {
    let mut fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    let said = fake.say(HALL, ADA, "before");
    running.intake.until(1).await;
    fake.go_down().await;
    fake.look(|world| world.edit(HALL, said, "before, changed"));
    fake.say(HALL, ADA, "meanwhile");
    // It comes round at least once per attempt; four in a row reach nobody.
    running.until_turned(40).await;
    fake.come_back().await;
    // Only the session has the edit.
    assert_eq!(running.intake.texts(3).await, ["before", "edited: before, changed", "meanwhile"]);
    assert_eq!(fake.look(|world| (world.identified, world.resumed)), (1, 1));
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn a_session_goes_on_elsewhere_when_its_own_address_is_dead() {
    let fake = FakeDiscord::start().await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = nobody.local_addr().unwrap();
    drop(nobody);
    fake.look(|world| world.resume_at = Some(format!("ws://{dead}/gateway")));
    let running = RunningAdapter::start(&fake).await;
    fake.say(HALL, ADA, "before");
    kicked(&fake, GatewayFault::Drop).await;
    fake.say(HALL, ADA, "meanwhile");
    assert_eq!(running.intake.texts(2).await, ["before", "meanwhile"]);
    assert_eq!(fake.look(|world| (world.identified, world.resumed)), (1, 1));
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn n11_a_deaf_connection_is_rebuilt() {
    let fake = FakeDiscord::start().await;
    fake.look(|world| world.heartbeat_ms = 100);
    let running = RunningAdapter::start(&fake).await;
    fake.until_true("heartbeats", |world| world.heartbeats >= 3).await;
    fake.look(|world| world.deaf = true);
    fake.say(HALL, ADA, "does anybody hear?");
    running.until_health(&fake, "a heartbeat did not come back").await;
    fake.look(|world| world.deaf = false);
    assert_eq!(running.intake.texts(1).await, ["does anybody hear?"]);
    running.until_health(&fake, "connected (@hob_test); last heard").await;
    assert!(fake.look(|world| world.connections) >= 2);
    running.end().await;
}

#[tokio::test]
async fn n11_connected_is_not_ready() {
    let fake = FakeDiscord::start().await;
    fake.look(|world| world.never_ready = true);
    let pace = hob_discord::settings::Timing { ready_deadline: Duration::from_millis(150), ..PACE };
    let running = RunningAdapter::begin(&fake, pace, Arc::default());
    running.until_health(&fake, "not connected: connected, but Discord did not say that it is ready").await;
    fake.until_true("another connection", |world| world.connections >= 2).await;
    fake.look(|world| world.never_ready = false);
    running.until_connected(&fake).await;
    running.end().await;
}

#[tokio::test]
async fn n11_a_wrong_token_or_a_missing_intent_is_told_with_the_switch() {
    let fake = FakeDiscord::start().await;
    fake.faults("GET applications", Fault::Api(401, 0, "401: Unauthorized"), 2);
    fake.look(|world| world.flags = 0);
    let running = RunningAdapter::begin(&fake, PACE, Arc::default());
    running.until_health(&fake, "Discord does not know this bot token: make another in the developer portal").await;
    running.until_health(&fake, "switch on Bot → Privileged Gateway Intents → Message Content Intent").await;
    // It is told before anything is connected.
    assert_eq!(fake.look(|world| (world.connections, world.identified)), (0, 0));
    fake.look(|world| world.flags = 1 << 18);
    running.until_connected(&fake).await;
    // Switched off while connected.
    fake.look(|world| {
        world.flags = 0;
        world.kicks.push_back(GatewayFault::Close(4014));
    });
    running.until_health(&fake, "Message Content Intent").await;
    running.end().await;
}

#[tokio::test]
async fn n11_no_more_logins_than_discord_allows() {
    let fake = FakeDiscord::start().await;
    fake.look(|world| world.logins_left = 0);
    let running = RunningAdapter::begin(&fake, PACE, Arc::default());
    running.until_health(&fake, "Discord allows no more logins today").await;
    fake.look(|world| world.logins_left = 1);
    fake.until_identified(1).await;
    running.end().await;
    fake.nothing_wrong();
}

#[tokio::test]
async fn n11_what_is_not_stored_is_not_passed_over() {
    let fake = FakeDiscord::start().await;
    let running = RunningAdapter::start(&fake).await;
    running.intake.fail("the disk is full", 1_000);
    fake.say(DM, ADA, "keep this");
    running.until_health(&fake, "messages wait: the message could not be stored: the disk is full").await;
    kicked(&fake, GatewayFault::Drop).await;
    fake.until_true("resumed session", |world| world.resumed == 1).await;
    running.intake.mend();
    assert_eq!(running.intake.texts(1).await, ["keep this"]);
    assert!(running.adapter.health().stuck.is_none());
    running.end().await;
}
