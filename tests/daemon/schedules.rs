//! What is asked for ahead, and what calls in from outside, as people meet it.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use reqwest::StatusCode;
use sha2::Sha256;

use hob_testkit::crowd::stays_seated;
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::world::World;
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

const SECRET: &str = "a-secret-of-the-doorbell";

/// What the database answers to this.
async fn ask(hob: &TestHob, sql: &str) -> Vec<String> {
    hob.values(sqlx::AssertSqlSafe(sql.to_owned())).await
}

/// Ada has a schedule, far ahead.
async fn scheduled() -> TestHob {
    let hob = TestHob::running("").await;
    let arguments = r#"{"action": "create", "when": "every year on 1 January at 9:00", "task": "Water the plants."}"#;
    hob.model.reply(Reply::call("schedule", arguments));
    assert_eq!(hob.ask(ADA, "Remind me", Reply::text("I will.")).await, "I will.");
    let told = hob.model.requests()[1].last_text().to_owned();
    assert!(
        told.starts_with("Stored as:\n1. every year on 1 January at 09:00 (UTC): Water the plants.\n   next: "),
        "{told}"
    );
    assert_eq!(told.matches("-01-01 09:00 +00:00").count(), 3, "{told}");
    hob
}

#[tokio::test]
async fn n13_what_was_asked_for_is_done_where_it_was_asked() {
    let hob = scheduled().await;
    hob.model.reply(Reply::text("The plants are thirsty."));
    hob.say(ADA, "/schedules run 1");
    let told = hob.told(ADA, 3).await;
    assert!(told[1].starts_with("It is run now, beside its rule:\n1. every year"), "{}", told[1]);
    assert_eq!(told[2], "The plants are thirsty.");
    let asked = hob.model.requests()[2].last_text().to_owned();
    assert!(asked.contains("[Schedule 1, every year on 1 January at 09:00 (UTC). Due "), "{asked}");
    // It stands in the conversation: one can talk about it.
    assert_eq!(hob.ask(ADA, "How much water?", Reply::text("A lot.")).await, "A lot.");
    assert!(hob.model.requests()[3].body.to_string().contains("The plants are thirsty."));
    hob.say(ADA, "/schedules");
    assert!(hob.told(ADA, 5).await[4].contains(" done"));
    hob.nothing_refused();
}

#[tokio::test]
async fn n13_killed_at_any_moment_it_is_done_once() {
    let mut hob = scheduled().await;
    for round in 0..4_u64 {
        let answer = format!("Round {round}.");
        let reply = answer.clone();
        hob.model.otherwise(move |_| Reply::text(&reply));
        hob.say(ADA, "/schedules run 1");
        // Wherever it is by then: the wish is taken in, claimed, at work or done.
        hob.telegram.until_true("empty line of updates", |world| world.updates.is_empty()).await;
        tokio::time::timeout(Duration::from_millis(round * 7), std::future::pending::<()>()).await.unwrap_err();
        hob.restart().await;
        // What was on its way when the end came may be said twice; it is not done twice.
        let is_done = |world: &World| world.chat(ADA).by_bot().any(|message| message.text.contains(&answer));
        hob.telegram.until_true("the round's answer", is_done).await;
    }
    hob.stop().await;
    let counts = "SELECT count(*) || ' ' || count(DISTINCT run_id) || ' ' || count(DISTINCT due_at) FROM occurrences";
    assert_eq!(ask(&hob, counts).await, ["4 4 4"]);
}

#[tokio::test]
async fn n13_what_was_due_while_nobody_was_there() {
    let mut hob = scheduled().await;
    hob.stop().await;
    let set_back =
        |secs: i64| format!("UPDATE schedules SET next_at = (unixepoch() - {secs}) * 1000 WHERE id = 1 RETURNING ''");
    ask(&hob, &set_back(600)).await;
    hob.model.reply(Reply::text("Late, but there."));
    hob.start().await;
    assert_eq!(hob.told(ADA, 2).await[1], "Late, but there.");
    let asked = hob.model.requests()[2].last_text().to_owned();
    assert!(asked.contains("begun 10 minutes late"), "{asked}");
    hob.stop().await;
    ask(&hob, &set_back(7_200)).await;
    hob.start().await;
    let told = hob.told(ADA, 3).await.remove(2);
    assert!(told.starts_with("I missed schedule 1 (every year on 1 January at 09:00 (UTC))"), "{told}");
    hob.nothing_refused();
}

/// A schedule that is due while somebody is being answered, up to the gate.
async fn due_behind_somebody() -> (TestHob, Gate) {
    let mut hob = scheduled().await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).text("First.").finish("stop").into());
    hob.say(ADA, "Go");
    hob.asked(3).await;
    hob.say(ADA, "/schedules run 1");
    hob.told(ADA, 2).await;
    hob.process().until_logged("schedule.begun", 1).await;
    (hob, gate)
}

#[tokio::test]
async fn n13_a_person_goes_before_what_is_only_due() {
    let (hob, gate) = due_behind_somebody().await;
    hob.say(ADA, "And this?");
    hob.told(ADA, 3).await;
    hob.model.reply(Reply::text("Before it."));
    hob.model.reply(Reply::text("The plants."));
    gate.open();
    assert_eq!(hob.told(ADA, 6).await[3..], ["First.", "Before it.", "The plants."]);
}

#[tokio::test]
async fn n13_what_waits_is_not_done_once_its_schedule_is_deleted() {
    let (mut hob, gate) = due_behind_somebody().await;
    hob.say(ADA, "/schedules delete 1");
    hob.told(ADA, 3).await;
    gate.open();
    hob.process().until_logged("its schedule was deleted meanwhile", 1).await;
    hob.told(ADA, 4).await;
    assert_eq!(hob.ask(ADA, "Well?", Reply::text("Nothing.")).await, "Nothing.");
    assert_eq!(hob.told(ADA, 5).await[3..], ["First.", "Nothing."]);
    assert_eq!(ask(&hob, "SELECT state FROM occurrences").await, ["stopped"]);
}

#[tokio::test]
async fn n13_the_configs_schedules_are_there_from_the_start() {
    let settings = "[[schedule]]\nname = 'morning'\nwhen = 'weekdays at 8:30'\ntask = 'Tell what is on.'";
    let mut hob = TestHob::running(settings).await;
    hob.say(OWNER, "/schedules");
    let told = hob.told(OWNER, 1).await.remove(0);
    assert!(
        told.starts_with("1. \"morning\" (from the config) on weekdays at 08:30 (UTC): Tell what is on.\n"),
        "{told}"
    );
    hob.say(OWNER, "/schedules delete 1");
    let told = hob.told(OWNER, 2).await.remove(1);
    assert_eq!(told, "That schedule stands in the config file as \"morning\": take it out there, or pause it.");
    hob.stop().await;
    hob.configure("");
    hob.start().await;
    hob.say(OWNER, "/schedules");
    assert_eq!(hob.told(OWNER, 3).await[2], "Nothing is scheduled.");
}

/// A house with a doorbell, and where it is called.
async fn doorbell(more: &str) -> (TestHob, String) {
    let mut hob = TestHob::running(&format!(
        "[server]\nlisten = '127.0.0.1:0'\n[webhooks.door]\nsecret = '{SECRET}'\nprompt = 'Tell who rang.'\n{more}"
    ))
    .await;
    let url = called_at(&mut hob).await;
    (hob, url)
}

async fn called_at(hob: &mut TestHob) -> String {
    hob.process().until_logged("server.listening", 1).await;
    let log = hob.process().log();
    let address = log.lines().find(|line| line.contains("server.listening")).unwrap().split("address=").nth(1).unwrap();
    format!("http://{}/hooks/", address.split_whitespace().next().unwrap())
}

fn sign(signed: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(signed.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn post(url: &str, headers: &[(&str, &str)], body: &str) -> StatusCode {
    let client = hob_http::direct_client(Duration::from_secs(10)).unwrap();
    let request = headers.iter().fold(client.post(url), |request, (name, value)| request.header(*name, *value));
    request.body(body.to_owned()).send().await.unwrap().status()
}

#[tokio::test]
async fn a12_an_event_is_told_once_to_whom_it_concerns() {
    let (mut hob, url) = doorbell("").await;
    let (body, door) = (r#"{"who": "Bob"}"#, format!("{url}door"));
    let good = format!("sha256={}", sign(body));
    let call = [("X-Hub-Signature-256", good.as_str()), ("X-GitHub-Delivery", "1")];
    hob.model.reply(Reply::text("Bob rang."));
    assert_eq!(post(&door, &call, body).await, StatusCode::ACCEPTED);
    assert_eq!(hob.told(OWNER, 1).await, ["Bob rang."]);
    let asked = hob.model.requests()[0].last_text().to_owned();
    assert!(asked.contains("Tell who rang.") && asked.contains("\n> {\"who\": \"Bob\"}"), "{asked}");
    assert_eq!(post(&door, &call, body).await, StatusCode::ACCEPTED, "delivered again");
    let renamed = [("X-Hub-Signature-256", good.as_str()), ("X-GitHub-Delivery", "2"), ("Idempotency-Key", "3")];
    assert_eq!(post(&door, &renamed, body).await, StatusCode::ACCEPTED, "under an id that nobody signed");
    hob.recorded(1).await;
    hob.restart().await;
    let again = called_at(&mut hob).await;
    assert_eq!(post(&format!("{again}door"), &call, body).await, StatusCode::ACCEPTED, "and after a crash");
    let rows = ask(&hob, "SELECT key || ' ' || (speaks_in IS NOT NULL) FROM sessions WHERE channel = 'event'").await;
    assert!(rows.len() == 1 && rows[0].starts_with("event_") && rows[0].ends_with(" 1"), "{rows:?}");
    let trust = "SELECT json_extract(body, '$.body.principal.trust') || ' ' || json_extract(body, '$.body.taint[0].o')
                 FROM run_events WHERE kind = 'input.accepted'";
    assert_eq!(ask(&hob, trust).await, ["untrusted event"]);
    assert_eq!(hob.heard(OWNER).len(), 1);
    hob.nothing_refused();
}

#[tokio::test]
async fn a12_of_several_events_that_ask_each_is_answered() {
    let (mut hob, url) = doorbell("").await;
    for who in ["Bob", "Cleo", "Dora"] {
        let body = format!("{{\"who\": \"{who}\"}}");
        let good = format!("sha256={}", sign(&body));
        let before = hob.heard(OWNER).len();
        hob.model.reply(Reply::call("ask_human", &format!(r#"{{"question": "Open for {who}?"}}"#)));
        assert_eq!(post(&format!("{url}door"), &[("X-Hub-Signature-256", &good)], &body).await, StatusCode::ACCEPTED);
        assert!(hob.told(OWNER, before + 1).await[before].contains(&format!("Open for {who}?")));
    }
    // The oldest is answered first; what it has to say then stands in nobody's way.
    for (told, said) in [(4, "Not for Bob."), (5, "Not for Cleo.")] {
        hob.model.reply(Reply::text(said));
        hob.say(OWNER, "no");
        assert_eq!(hob.told(OWNER, told).await[told - 1], said);
    }
    hob.say(OWNER, "/stop");
    hob.told(OWNER, 6).await;
    hob.process().until_ended(3).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn n6_a_secret_that_calls_in_or_names_a_file_is_kept_nowhere() {
    let (hob, url) = doorbell("").await;
    let body = format!(r#"{{"key": "{SECRET}"}}"#);
    let good = format!("sha256={}", sign(&body));
    hob.model.reply(Reply::text("Somebody knows."));
    assert_eq!(post(&format!("{url}door"), &[("X-Hub-Signature-256", &good)], &body).await, StatusCode::ACCEPTED);
    hob.told(OWNER, 1).await;
    hob.model.reply(Reply::text("A file."));
    hob.telegram.hand(ADA, &format!("{SECRET}.txt"), b"milk", "look");
    hob.told(ADA, 1).await;
    let kept =
        "SELECT text FROM inbound UNION ALL SELECT body FROM run_events UNION ALL SELECT name || origin FROM files
                UNION ALL SELECT body FROM messages UNION ALL SELECT text FROM memories";
    let kept = ask(&hob, kept).await.join("\n");
    assert!(kept.contains("[redacted].txt") && kept.contains("[redacted]\\\""), "{kept}");
    assert!(!kept.contains(SECRET), "{kept}");
}

#[tokio::test]
async fn a12_who_cannot_sign_is_told_nothing() {
    let (hob, url) = doorbell("per_minute = 5").await;
    let (door, body) = (format!("{url}door"), "{}");
    let good = format!("sha256={}", sign(body));
    for (url, signature, body) in [
        (&door, "", body),
        (&door, "sha256=00", body),
        (&door, good.as_str(), "{ }"),
        (&format!("{url}garage"), good.as_str(), body),
    ] {
        assert_eq!(post(url, &[("X-Hub-Signature-256", signature)], body).await, StatusCode::UNAUTHORIZED, "{url}");
    }
    let long = "x".repeat(300 * 1024);
    let signature = format!("sha256={}", sign(&long));
    assert_eq!(post(&door, &[("X-Hub-Signature-256", &signature)], &long).await, StatusCode::PAYLOAD_TOO_LARGE);
    // Neither who knows no secret nor who knows no name is told of the limit, or uses it up.
    let garage = format!("{url}garage");
    for _ in 0..70 {
        for url in [&door, &garage] {
            assert_eq!(post(url, &[("X-Hub-Signature-256", "no")], body).await, StatusCode::UNAUTHORIZED);
        }
    }
    assert_eq!(ask(&hob, "SELECT CAST(count(*) AS TEXT) FROM runs").await, ["0"]);
    // Nor do they fill the log, whatever the minute, or write in it.
    let log = hob.process.as_ref().unwrap().log();
    let told = log.lines().filter(|line| line.contains("webhook.refused: ") && !line.contains("one of many")).count();
    assert!((1..=18).contains(&told) && !log.contains("garage"), "{told} of 144 were told");
    hob.model.reply(Reply::text("Ring."));
    assert_eq!(post(&door, &[("X-Hub-Signature-256", &good)], body).await, StatusCode::ACCEPTED);
    assert_eq!(hob.told(OWNER, 1).await, ["Ring."]);
}

#[tokio::test]
async fn n8_who_has_signed_keeps_their_seat() {
    let (hob, url) = doorbell("").await;
    let (address, body) = (url.trim_start_matches("http://").trim_end_matches("/hooks/"), "{}");
    let head = format!("POST /hooks/door HTTP/1.1\r\nHost: {address}\r\nX-Hub-Signature-256: sha256={}", sign(body));
    hob.model.reply(Reply::text("Ring."));
    stays_seated(address, &format!("{head}\r\nContent-Length: 2\r\n\r\n{body}"), "202").await;
    hob.told(OWNER, 1).await;
}

#[tokio::test]
async fn an_old_call_and_a_replayed_one_begin_nothing() {
    let (hob, url) = doorbell("signed = 'timestamped'\nheader = 'X-Signature'").await;
    let door = format!("{url}door");
    let now: i64 = ask(&hob, "SELECT CAST(unixepoch() AS TEXT)").await[0].parse().unwrap();
    let header = |at: i64| format!("t={at},v1={}", sign(&format!("{at}.{{}}")));
    assert_eq!(post(&door, &[("X-Signature", &header(now - 3_600))], "{}").await, StatusCode::UNAUTHORIZED);
    hob.model.reply(Reply::text("Ring."));
    let fresh = header(now);
    assert_eq!(post(&door, &[("X-Signature", &fresh)], "{}").await, StatusCode::ACCEPTED);
    assert_eq!(hob.told(OWNER, 1).await, ["Ring."]);
    // Another id in a header that nobody has signed makes no other call of it.
    let replayed = [("X-Signature", fresh.as_str()), ("Idempotency-Key", "another")];
    assert_eq!(post(&door, &replayed, "{}").await, StatusCode::ACCEPTED);
    // Nor does what stands beside the signature, or how its digits are written.
    for junk in [format!("{fresh},junk"), format!("junk, {fresh}"), fresh.replace('a', "A").replace('f', "F")] {
        assert_eq!(post(&door, &[("X-Signature", junk.as_str())], "{}").await, StatusCode::ACCEPTED, "{junk}");
    }
    assert_eq!(ask(&hob, "SELECT CAST(count(*) AS TEXT) FROM runs").await, ["1"]);
}

#[tokio::test]
async fn a12_what_an_event_asks_is_answered_in_the_chat() {
    let (hob, url) = doorbell("").await;
    let good = format!("sha256={}", sign("{}"));
    hob.model.reply(Reply::call("ask_human", r#"{"question": "Shall I open?"}"#));
    assert_eq!(post(&format!("{url}door"), &[("X-Hub-Signature-256", &good)], "{}").await, StatusCode::ACCEPTED);
    assert!(hob.told(OWNER, 1).await[0].contains("Shall I open?"));
    hob.model.reply(Reply::text("I keep it shut."));
    hob.say(OWNER, "No!");
    assert_eq!(hob.told(OWNER, 2).await[1], "I keep it shut.");
    assert!(hob.model.requests()[1].last_text().contains("No!"));
    hob.nothing_refused();
}
