//! Telegram calls instead of being asked.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hob_core::domain::channel::{Adapter as _, Channel as _};
use hob_core::domain::clock::SystemClock;
use hob_core::domain::secret::Secret;
use hob_telegram::settings::{Settings, Timing, Webhook};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::telegram::harness::{PACE, RunningAdapter, built, settings};
use hob_testkit::crowd::stays_seated;
use hob_testkit::fake_telegram::webhook::Webhook as Called;
use hob_testkit::fake_telegram::{FakeTelegram, Fault};
use hob_testkit::intake::text_of;

const SECRET: &str = "a-secret-of-some-length";

/// A bot with a server of its own before it.
struct Served {
    hob: RunningAdapter,
    url: String,
    stop: CancellationToken,
}

impl Served {
    async fn start(fake: &FakeTelegram) -> Self {
        Self::start_with(fake, PACE).await
    }

    async fn start_with(fake: &FakeTelegram, pace: Timing) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/telegram/work", listener.local_addr().unwrap());
        let webhook = Some(Webhook { url: url.parse().unwrap(), secret: Secret::new(SECRET.to_owned()) });
        let settings = Settings { account: "work".to_owned(), webhook, ..settings(&fake.api_url(), pace) };
        let hob = RunningAdapter::of(built(settings), Arc::default());
        let sinks = hob_web::telegram::by_name(Arc::clone(&hob.adapter).sink());
        let routes = hob_web::telegram::routes(Arc::new(ArcSwap::from_pointee(sinks)), Arc::new(SystemClock));
        let stop = CancellationToken::new();
        tokio::spawn(hob_web::serve::serve(listener, routes, stop.clone()));
        fake.until_true("a webhook", |world| world.webhook.is_some()).await;
        Self { hob, url, stop }
    }

    fn called_with(&self, secret: &str) -> Called {
        Called { url: self.url.clone(), secret: secret.to_owned(), last_error: None }
    }

    async fn end(self) {
        self.stop.cancel();
        self.hob.end().await;
    }
}

#[tokio::test]
async fn k2_updates_that_are_posted_are_handed_in_and_only_then_answered() {
    let fake = FakeTelegram::start().await;
    let served = Served::start(&fake).await;
    let set = fake.look(|world| world.webhook.clone()).unwrap();
    assert_eq!((set.url.as_str(), set.secret.as_str()), (served.url.as_str(), SECRET));
    let allowed = fake.look(|world| world.allowed_updates.clone()).unwrap();
    assert_eq!(allowed, ["message", "edited_message", "callback_query"]);
    served.hob.intake.fail("the disk is full", 2);
    fake.say(7, "one");
    fake.say(7, "two");
    assert_eq!(served.hob.intake.texts(2).await, ["one", "two"]);
    assert_eq!(served.hob.intake.attempts(), ["1", "1", "1", "2"], "what was not stored is posted again");
    assert_eq!(served.hob.intake.until(1).await[0].conversation.account, "work");
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(fake.look(|world| world.called("getUpdates")), 0);
    served.end().await;
}

#[tokio::test]
async fn c1_only_telegram_may_call() {
    let fake = FakeTelegram::start().await;
    let served = Served::start(&fake).await;
    let update = json!({"update_id": 1, "message": {"message_id": 1, "date": 1, "text": "hi",
        "from": {"id": 7, "is_bot": false, "first_name": "Ada"}, "chat": {"id": 7, "type": "private"}}});
    for secret in ["", "wrong", "a-secret-of-some-lengt"] {
        assert_eq!(fake.call(&served.called_with(secret), &update).await, "401");
    }
    let mut other = served.called_with(SECRET);
    other.url = other.url.replace("/work", "/home");
    assert_eq!(fake.call(&other, &update).await, "401");
    assert_eq!(served.hob.intake.attempts().len(), 0);
    assert_eq!(fake.call(&served.called_with(SECRET), &update).await, "200");
    assert_eq!(fake.call(&served.called_with(SECRET), &json!({"update_id": 2, "telepathy": 1})).await, "200");
    assert_eq!(fake.call(&served.called_with(SECRET), &json!("what?")).await, "200", "it would be no better next time");
    assert_eq!(served.hob.intake.attempts(), ["1"]);
    let (url, stop) = (served.called_with(SECRET), served.stop.clone());
    served.hob.end().await;
    assert_eq!(fake.call(&url, &update).await, "503", "nobody is there to take it");
    stop.cancel();
}

#[tokio::test]
async fn telegram_keeps_its_seat() {
    let fake = FakeTelegram::start().await;
    let served = Served::start(&fake).await;
    let (address, _) = served.url.trim_start_matches("http://").split_once('/').unwrap();
    let secret = format!("X-Telegram-Bot-Api-Secret-Token: {SECRET}");
    let (head, body) = ("POST /telegram/work HTTP/1.1", r#"{"update_id":2,"telepathy":1}"#);
    let length = body.len();
    let request = format!("{head}\r\nHost: {address}\r\n{secret}\r\nContent-Length: {length}\r\n\r\n{body}");
    stays_seated(address, &request, "200").await;
    served.end().await;
}

#[tokio::test]
async fn k2_each_part_of_an_album_that_is_posted_is_a_message_of_its_own_and_none_waits_for_others() {
    let fake = FakeTelegram::start().await;
    // Telegram posts the second part when the first is taken: who waited for it would wait for ever.
    let served = Served::start_with(&fake, Timing { album_window: Duration::from_secs(600), ..PACE }).await;
    let ids = fake.album(7, 7, "g1", &["one", "two", ""]);
    let seen = served.hob.intake.until(3).await;
    let told: Vec<_> =
        seen.iter().map(|part| (part.external_id.clone(), text_of(part), part.attachments.len())).collect();
    let part = |place: usize, text: &str| (ids[place].to_string(), text.to_owned(), 1);
    assert_eq!(told, [part(0, "one"), part(1, "two"), part(2, "")]);
    fake.until_true("empty backlog", |world| world.updates.is_empty()).await;
    assert_eq!(served.hob.intake.attempts().len(), 3);
    served.end().await;
}

#[tokio::test]
async fn k2_who_waits_in_one_chat_keeps_no_other_chat_waiting() {
    let fake = FakeTelegram::start().await;
    let served = Served::start(&fake).await;
    served.hob.intake.hold("7", 1);
    fake.say(7, "this takes a while");
    served.hob.intake.tried(1).await;
    fake.say(7, "behind it");
    fake.say(8, "one");
    fake.say(8, "two");
    assert_eq!(served.hob.intake.texts(2).await, ["one", "two"]);
    served.hob.intake.release();
    assert_eq!(served.hob.intake.texts(4).await[2..], ["this takes a while", "behind it"]);
    served.end().await;
}

#[tokio::test]
async fn n11_whether_telegram_gets_through_is_looked_up() {
    let fake = FakeTelegram::start().await;
    let served = Served::start(&fake).await;
    served.hob.until_health(&fake, "connected (@hob_test_bot); last heard 0 s ago").await;
    fake.look(|world| world.webhook.as_mut().unwrap().url = "https://example.org/other".to_owned());
    let url = served.url.clone();
    fake.until_true("the address again", |world| world.webhook.as_ref().is_some_and(|set| set.url == url)).await;
    served.stop.cancel();
    fake.say(7, "hello");
    served.hob.until_health(&fake, "Telegram cannot reach Hob: ").await;
    served.hob.end().await;
}

#[tokio::test]
async fn n11_trouble_at_the_start_is_shown_and_tried_again_and_polling_ends_a_webhook() {
    let fake = FakeTelegram::start().await;
    fake.fault("setWebhook", Fault::BadRequest("bad webhook: IP address 10.0.0.1 is reserved".to_owned()));
    let served = Served::start(&fake).await;
    served.hob.until_health(&fake, "connected").await;
    assert_eq!(fake.look(|world| world.called("setWebhook")), 2);
    served.end().await;
    let hob = RunningAdapter::start(&fake);
    fake.say(7, "hello");
    assert_eq!(hob.intake.texts(1).await, ["hello"]);
    assert!(fake.look(|world| world.webhook.is_none()));
    assert_eq!(hob.adapter.address().1, "default");
    hob.end().await;
}
