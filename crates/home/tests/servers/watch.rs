//! What becomes of things: watches, against both.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::Kit;
use crate::fake::{FakeHome, TOKEN};
use crate::server::HomeServer;
use hob_core::domain::rng::SystemRng;
use hob_core::policy::schedule::check::{LookTarget, LookVerdict};
use hob_home::exposure::EntityId;
use hob_home::watch::follow::{FollowPorts, follow};
use hob_store::schedules;
use hob_tools::Invocation;
use hob_tools::schedule::look::{LookOrder, Looker as _};

/// What schedules look at, and when they are due.
async fn due(kit: &Kit) -> (Option<i64>, Vec<String>) {
    let both = kit.keeper.store.read(async |tx| {
        Ok((schedules::upcoming(tx, 1).await?.first().map(|next| next.next_at), schedules::list_followed(tx, 9).await?))
    });
    both.await.unwrap()
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a task of a test ends with it")]
async fn f9_what_becomes_of_a_real_thing_hastens_the_look_that_waits_for_it() {
    let server = HomeServer::start();
    let kit = Kit::of(server.url(), server.token(), &["sensor.washing_machine"], &[]).await;
    let arguments = json!({ "entity": "sensor.washing_machine", "becomes": "done", "task": "Tell Ada." });
    let made = kit.call("home_watch", arguments).await;
    assert!(made.text.contains("looks first at sensor.washing_machine until it is \"done\""), "{made:?}");
    kit.keeper.alarm.notified().await;
    let (_, followed) = due(&kit).await;
    let reader = Invocation::for_trial(json!({})).principal;
    let target: LookTarget = serde_json::from_str(&followed[0]).unwrap();
    let order = |seen| LookOrder { target: target.clone(), seen, is_from_chat: true, reader: reader.clone() };
    let first = kit.home.look(&order(None)).await;
    assert_eq!(first.verdict, LookVerdict::Idle);
    // As after a look: not due for a long time.
    let later: Timestamp = "2999-01-01T00:00:00Z".parse().unwrap();
    let postpone = async || {
        let id = kit.keeper.store.read(async |tx| Ok(schedules::list(tx, None, 1).await?[0].id)).await.unwrap();
        kit.keeper.store.write(async move |tx| schedules::set_next(tx, id, Some(later)).await).await.unwrap();
    };
    postpone().await;
    let stop = CancellationToken::new();
    let ports = FollowPorts {
        home: Arc::clone(&kit.home),
        store: kit.keeper.store.clone(),
        alarm: Arc::clone(&kit.keeper.alarm),
        rng: Arc::new(SystemRng),
    };
    let following = tokio::spawn(follow(ports, stop.clone()));
    // How it stands is compared as soon as the socket is open.
    kit.keeper.alarm.notified().await;
    assert!(due(&kit).await.0.unwrap() < later.as_millisecond());
    assert!(kit.home.words(Timestamp::UNIX_EPOCH).ends_with("; 1 thing is watched"));
    server.does("input_select.select_option", "input_select.washer", &json!({ "option": "done" })).await;
    let woken = kit.home.look(&order(first.seen)).await;
    let expected = "sensor.washing_machine: done (it was running)".to_owned();
    assert_eq!(woken.verdict, LookVerdict::Wake { data: expected });
    let again = kit.home.look(&order(woken.seen)).await;
    assert_eq!(again.verdict, LookVerdict::Idle, "it wakes once");
    stop.cancel();
    following.await.unwrap();
}

#[tokio::test]
async fn f9_a_watch_is_of_what_is_exposed_and_says_what_it_waits_for() {
    let fake = FakeHome::start(&[
        ("sensor.power", "900", json!({ "unit_of_measurement": "W" })),
        ("lock.front", "locked", json!({})),
    ])
    .await;
    let kit = Kit::of(&fake.url(), TOKEN, &["sensor.power"], &[]).await;
    let watch = |more: Value| {
        let mut arguments = json!({ "entity": "sensor.power", "task": "Tell Ada." });
        arguments.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        arguments
    };
    for more in [
        json!({ "entity": "lock.front" }),
        json!({ "entity": "sensor.gone" }),
        json!({ "above": 1, "below": 2 }),
        json!({ "below": 1e300 }),
        json!({ "becomes": "" }),
        json!({ "minutes": 3 }),
        json!({ "task": " " }),
    ] {
        let refused = kit.call("home_watch", watch(more.clone())).await;
        assert!(refused.failed, "{more}: {refused:?}");
    }
    let made = kit.call("home_watch", watch(json!({ "below": 5.5, "minutes": 3 }))).await;
    assert!(made.text.contains("   looks first at sensor.power until it is below 5.5 for 3 min"), "{made:?}");
    assert!(
        made.text.ends_with("It stands so now, and what is so already is not waited for: sensor.power: 900 W"),
        "{made:?}"
    );
    assert!(!made.tainted);
    let target = serde_json::from_str(&due(&kit).await.1[0]).unwrap();
    // Exposed no more, it is not looked at any more.
    let other = Kit::of(&fake.url(), TOKEN, &["light.*"], &[]).await;
    let asked = fake.asked().len();
    let reader = Invocation::for_trial(json!({})).principal;
    let order = LookOrder { target, seen: None, is_from_chat: true, reader };
    let LookVerdict::Failed { why } = other.home.look(&order).await.verdict else { panic!("it was looked at") };
    assert_eq!((why.as_str(), fake.asked().len()), ("sensor.power is not under `entities` in the config", asked));
    assert_eq!(EntityId::parse("sensor.power").unwrap().to_string(), "sensor.power");
}
