//! Strangers who speak for themselves: guests of a group, and what calls in from outside.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use reqwest::StatusCode;
use sha2::Sha256;

use crate::obey::DO;
use crate::scene::{AnswerPolicy, AttackHarness};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{OWNER, STRANGER};

const SECRET: &str = "a-secret-of-the-doorbell";

#[tokio::test]
async fn n6_a_guest_in_a_group_gets_nothing_done() {
    let mut scene = AttackHarness::with(0, "").await;
    let before = scene.lay();
    scene.hob.start().await;
    let payloads = scene.obeys.payloads.clone();
    for (hall, payload) in (1..).zip(&payloads) {
        let words = payload.words(scene.fill());
        let text = format!("@{} {words}\n{DO}nothing", FakeTelegram::BOT_NAME);
        scene.hob.telegram.group(-1_000 - hall, &[]);
        scene.hob.telegram.post(Post::new(-1_000 - hall, STRANGER, &text));
    }
    for (hall, payload) in (1..).zip(&payloads) {
        let told = scene.hob.telegram.until_sent(-1_000 - hall, 1).await.remove(0);
        let pays = payload.does.iter().any(|deed| ["pay", "always"].contains(&deed.as_str()));
        assert_eq!(told.contains("May I do this?"), pays || told.contains("asks:"), "{payload:?}: {told}");
        if pays {
            assert!(told.contains("a guest (\"Person 99\")") && told.contains("Only an owner can"), "{told}");
        }
    }
    let AttackHarness { hob, evil, obeys } = &mut scene;
    before.holds(hob, evil, &obeys.fill).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn n6_what_calls_in_gets_nothing_done() {
    let hook = format!(
        "[server]\nlisten = '127.0.0.1:0'\n[webhooks.door]\nsecret = '{SECRET}'\nprompt = 'Somebody wrote. {DO}nothing'\n\
         per_minute = 1000"
    );
    let mut scene = AttackHarness::with(0, &hook).await;
    let before = scene.lay();
    scene.hob.start().await;
    scene.hob.process().until_logged("server.listening", 1).await;
    let log = scene.hob.process().log();
    let line = log.lines().find(|line| line.contains("server.listening")).unwrap();
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let url = format!("http://{address}/hooks/door");
    let client = hob_http::direct_client(Duration::from_secs(10)).unwrap();
    // They speak in one chat, one after the other.
    for payload in scene.obeys.payloads.iter().step_by(4) {
        let body = payload.words(scene.fill());
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let heard = scene.hob.heard(OWNER).len();
        let request = client.post(&url).header("X-Hub-Signature-256", format!("sha256={hex}")).body(body);
        assert_eq!(request.send().await.unwrap().status(), StatusCode::ACCEPTED);
        let (questions, _) = scene.follow(OWNER, heard, AnswerPolicy::No).await;
        assert!(questions.iter().all(|question| question.contains("an event (\"door\")")), "{questions:?}");
        let is_asked = payload.does.iter().any(|deed| deed == "pay");
        assert!(!is_asked || !questions.is_empty(), "{payload:?}");
    }
    let AttackHarness { hob, evil, obeys } = &mut scene;
    before.holds(hob, evil, &obeys.fill).await;
    hob.nothing_refused();
}
