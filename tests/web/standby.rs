//! The page, its API and webhooks at a daemon that stands by.

use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::{Method, StatusCode};
use sha2::Sha256;

use crate::browser::{Browser, hob, json, printed_key, root_logged};
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::postgres::Cluster;
use hob_testkit::standby::Standby;
use hob_testkit::test_hob::OWNER;

const SECRET: &str = "a-long-random-secret";

/// What a doorbell sends.
async fn ring(browser: &Browser, body: &str) -> StatusCode {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let signature: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let call = browser.bare(Method::POST, "/hooks/door").header("X-Hub-Signature-256", format!("sha256={signature}"));
    call.body(body.to_owned()).send().await.unwrap().status()
}

#[tokio::test]
async fn n15_whatever_comes_in_at_a_daemon_that_stands_by_is_answered_there() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let settings =
        format!("[webhooks.door]\nsecret = '{SECRET}'\nprompt = 'Tell who rang.'\n[state]\nurl = '{}'", database.url());
    let mut hob = hob(&settings).await;
    let mut other = Standby::of(&hob).await;
    let mut browser = Browser::new(&root_logged(&mut other.process, "server.forwarding").await);
    let health = json(browser.bare(Method::GET, "/health").send().await.unwrap()).await;
    assert_eq!(health["ready"], true, "{health}");
    assert_eq!(browser.enter(&printed_key(&mut hob).await).await, "/");
    // What grows elsewhere is seen here while it grows.
    let mut listening = browser.listen("kitchen", None).await;
    let more = Gate::default();
    hob.model.reply(Script::default().text("Five ").gate(&more).text("o'clock.").finish("stop").into());
    browser.say("kitchen", "m1", "When is tea?").await;
    listening.until("the first word", |heard| heard.name == "growing").await;
    more.open();
    assert_eq!(listening.answer().await.data["text"], "Five o'clock.");
    hob.model.reply(Reply::text("Bob rang."));
    assert_eq!(ring(&browser, r#"{"who": "Bob"}"#).await, StatusCode::ACCEPTED);
    assert_eq!(hob.told(OWNER, 1).await, ["Bob rang."]);
    // Another's page cannot ask in the visitor's name, here as little as there.
    let foreign = browser.bare(Method::GET, "/api/chats").header("cookie", browser.cookie.clone().unwrap());
    let foreign = foreign.header("host", "evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    let foreign =
        browser.bare(Method::POST, "/api/chats/kitchen/messages").header("cookie", browser.cookie.clone().unwrap());
    let foreign = foreign.header("origin", "http://evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    // It dies: streams break off, and are taken up where the other leads now.
    hob.crash().await;
    listening.ended().await;
    let browser = browser.at(root_logged(&mut other.process, "server.listening").await);
    let mut listening = browser.listen("kitchen", None).await;
    hob.model.reply(Reply::text("Cake."));
    browser.say("kitchen", "m2", "And what is there?").await;
    assert_eq!(listening.answer().await.data["text"], "Cake.");
    hob.process = Some(other.process);
    assert!(hob.stop().await.success());
}
