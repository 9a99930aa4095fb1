//! What is asked for ahead, and what calls in from outside, as people meet it.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use reqwest::StatusCode;
use sha2::Sha256;

use hob_testkit::crowd::stays_seated;
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::world::World;
use hob_testkit::house::{ADA, House, OWNER};

const SECRET: &str = "a-secret-of-the-doorbell";

/// What the database answers to this.
async fn ask(house: &House, sql: &str) -> Vec<String> {
    house.values(sqlx::AssertSqlSafe(sql.to_owned())).await
}

/// Ada has a schedule, far ahead.
async fn scheduled() -> House {
    let house = House::running("").await;
    let arguments = r#"{"action": "create", "when": "every year on 1 January at 9:00", "task": "Water the plants."}"#;
    house.model.reply(Reply::call("schedule", arguments));
    assert_eq!(house.ask(ADA, "Remind me", Reply::text("I will.")).await, "I will.");
    let told = house.model.requests()[1].last_text().to_owned();
    assert!(
        told.starts_with("Stored as:\n1. every year on 1 January at 09:00 (UTC): Water the plants.\n   next: "),
        "{told}"
    );
    assert_eq!(told.matches("-01-01 09:00 +00:00").count(), 3, "{told}");
    house
}

#[tokio::test]
async fn n13_what_was_asked_for_is_done_where_it_was_asked() {
    let house = scheduled().await;
    house.model.reply(Reply::text("The plants are thirsty."));
    house.say(ADA, "/schedules run 1");
    let told = house.told(ADA, 3).await;
    assert!(told[1].starts_with("It is run now, beside its rule:\n1. every year"), "{}", told[1]);
    assert_eq!(told[2], "The plants are thirsty.");
    let asked = house.model.requests()[2].last_text().to_owned();
    assert!(asked.contains("[Schedule 1, every year on 1 January at 09:00 (UTC). Due "), "{asked}");
    // It stands in the conversation: one can talk about it.
    assert_eq!(house.ask(ADA, "How much water?", Reply::text("A lot.")).await, "A lot.");
    assert!(house.model.requests()[3].body.to_string().contains("The plants are thirsty."));
    house.say(ADA, "/schedules");
    assert!(house.told(ADA, 5).await[4].contains(" done"));
    house.nothing_refused();
}

#[tokio::test]
async fn n13_killed_at_any_moment_it_is_done_once() {
    let mut house = scheduled().await;
    for round in 0..4_u64 {
        let answer = format!("Round {round}.");
        let reply = answer.clone();
        house.model.otherwise(move |_| Reply::text(&reply));
        house.say(ADA, "/schedules run 1");
        // Wherever it is by then: the wish is taken in, claimed, at work or done.
        house.telegram.until_true("empty line of updates", |world| world.updates.is_empty()).await;
        tokio::time::timeout(Duration::from_millis(round * 7), std::future::pending::<()>()).await.unwrap_err();
        house.restart().await;
        // What was on its way when the end came may be said twice; it is not done twice.
        let is_done = |world: &World| world.chat(ADA).by_bot().any(|message| message.text.contains(&answer));
        house.telegram.until_true("the round's answer", is_done).await;
    }
    house.stop().await;
    let counts = "SELECT count(*) || ' ' || count(DISTINCT run_id) || ' ' || count(DISTINCT due_at) FROM occurrences";
    assert_eq!(ask(&house, counts).await, ["4 4 4"]);
}

#[tokio::test]
async fn n13_what_was_due_while_nobody_was_there() {
    let mut house = scheduled().await;
    house.stop().await;
    let set_back =
        |secs: i64| format!("UPDATE schedules SET next_at = (unixepoch() - {secs}) * 1000 WHERE id = 1 RETURNING ''");
    ask(&house, &set_back(600)).await;
    house.model.reply(Reply::text("Late, but there."));
    house.start().await;
    assert_eq!(house.told(ADA, 2).await[1], "Late, but there.");
    let asked = house.model.requests()[2].last_text().to_owned();
    assert!(asked.contains("begun 10 minutes late"), "{asked}");
    house.stop().await;
    ask(&house, &set_back(7_200)).await;
    house.start().await;
    let told = house.told(ADA, 3).await.remove(2);
    assert!(told.starts_with("I missed schedule 1 (every year on 1 January at 09:00 (UTC))"), "{told}");
    house.nothing_refused();
}

/// A schedule that is due while somebody is being answered, up to the gate.
async fn due_behind_somebody() -> (House, Gate) {
    let mut house = scheduled().await;
    let gate = Gate::default();
    house.model.reply(Script::default().gate(&gate).text("First.").finish("stop").into());
    house.say(ADA, "Go");
    house.asked(3).await;
    house.say(ADA, "/schedules run 1");
    house.told(ADA, 2).await;
    house.hob().until_logged("schedule.begun", 1).await;
    (house, gate)
}

#[tokio::test]
async fn n13_a_person_goes_before_what_is_only_due() {
    let (house, gate) = due_behind_somebody().await;
    house.say(ADA, "And this?");
    house.told(ADA, 3).await;
    house.model.reply(Reply::text("Before it."));
    house.model.reply(Reply::text("The plants."));
    gate.open();
    assert_eq!(house.told(ADA, 6).await[3..], ["First.", "Before it.", "The plants."]);
}

#[tokio::test]
async fn n13_what_waits_is_not_done_once_its_schedule_is_deleted() {
    let (mut house, gate) = due_behind_somebody().await;
    house.say(ADA, "/schedules delete 1");
    house.told(ADA, 3).await;
    gate.open();
    house.hob().until_logged("its schedule was deleted meanwhile", 1).await;
    house.told(ADA, 4).await;
    assert_eq!(house.ask(ADA, "Well?", Reply::text("Nothing.")).await, "Nothing.");
    assert_eq!(house.told(ADA, 5).await[3..], ["First.", "Nothing."]);
    assert_eq!(ask(&house, "SELECT state FROM occurrences").await, ["stopped"]);
}

#[tokio::test]
async fn n13_the_configs_schedules_are_there_from_the_start() {
    let settings = "[[schedule]]\nname = 'morning'\nwhen = 'weekdays at 8:30'\ntask = 'Tell what is on.'";
    let mut house = House::running(settings).await;
    house.say(OWNER, "/schedules");
    let told = house.told(OWNER, 1).await.remove(0);
    assert!(
        told.starts_with("1. \"morning\" (from the config) on weekdays at 08:30 (UTC): Tell what is on.\n"),
        "{told}"
    );
    house.say(OWNER, "/schedules delete 1");
    let told = house.told(OWNER, 2).await.remove(1);
    assert_eq!(told, "That schedule stands in the config file as \"morning\": take it out there, or pause it.");
    house.stop().await;
    house.configure("");
    house.start().await;
    house.say(OWNER, "/schedules");
    assert_eq!(house.told(OWNER, 3).await[2], "Nothing is scheduled.");
}

/// A house with a doorbell, and where it is called.
async fn doorbell(more: &str) -> (House, String) {
    let mut house = House::running(&format!(
        "[server]\nlisten = '127.0.0.1:0'\n[webhooks.door]\nsecret = '{SECRET}'\nprompt = 'Tell who rang.'\n{more}"
    ))
    .await;
    let url = called_at(&mut house).await;
    (house, url)
}

async fn called_at(house: &mut House) -> String {
    house.hob().until_logged("server.listening", 1).await;
    let log = house.hob().log();
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
    let (mut house, url) = doorbell("").await;
    let (body, door) = (r#"{"who": "Bob"}"#, format!("{url}door"));
    let good = format!("sha256={}", sign(body));
    let call = [("X-Hub-Signature-256", good.as_str()), ("X-GitHub-Delivery", "1")];
    house.model.reply(Reply::text("Bob rang."));
    assert_eq!(post(&door, &call, body).await, StatusCode::ACCEPTED);
    assert_eq!(house.told(OWNER, 1).await, ["Bob rang."]);
    let asked = house.model.requests()[0].last_text().to_owned();
    assert!(asked.contains("Tell who rang.") && asked.contains("\n> {\"who\": \"Bob\"}"), "{asked}");
    assert_eq!(post(&door, &call, body).await, StatusCode::ACCEPTED, "delivered again");
    let renamed = [("X-Hub-Signature-256", good.as_str()), ("X-GitHub-Delivery", "2"), ("Idempotency-Key", "3")];
    assert_eq!(post(&door, &renamed, body).await, StatusCode::ACCEPTED, "under an id that nobody signed");
    house.recorded(1).await;
    house.restart().await;
    let again = called_at(&mut house).await;
    assert_eq!(post(&format!("{again}door"), &call, body).await, StatusCode::ACCEPTED, "and after a crash");
    let rows = ask(&house, "SELECT key || ' ' || (speaks_in IS NOT NULL) FROM sessions WHERE channel = 'event'").await;
    assert!(rows.len() == 1 && rows[0].starts_with("event_") && rows[0].ends_with(" 1"), "{rows:?}");
    let trust = "SELECT json_extract(body, '$.body.principal.trust') || ' ' || json_extract(body, '$.body.taint[0].o')
                 FROM run_events WHERE kind = 'input.accepted'";
    assert_eq!(ask(&house, trust).await, ["untrusted event"]);
    assert_eq!(house.heard(OWNER).len(), 1);
    house.nothing_refused();
}

#[tokio::test]
async fn a12_of_several_events_that_ask_each_is_answered() {
    let (mut house, url) = doorbell("").await;
    for who in ["Bob", "Cleo", "Dora"] {
        let body = format!("{{\"who\": \"{who}\"}}");
        let good = format!("sha256={}", sign(&body));
        let before = house.heard(OWNER).len();
        house.model.reply(Reply::call("ask_human", &format!(r#"{{"question": "Open for {who}?"}}"#)));
        assert_eq!(post(&format!("{url}door"), &[("X-Hub-Signature-256", &good)], &body).await, StatusCode::ACCEPTED);
        assert!(house.told(OWNER, before + 1).await[before].contains(&format!("Open for {who}?")));
    }
    // The oldest is answered first; what it has to say then stands in nobody's way.
    for (told, said) in [(4, "Not for Bob."), (5, "Not for Cleo.")] {
        house.model.reply(Reply::text(said));
        house.say(OWNER, "no");
        assert_eq!(house.told(OWNER, told).await[told - 1], said);
    }
    house.say(OWNER, "/stop");
    house.told(OWNER, 6).await;
    house.hob().until_ended(3).await;
    house.nothing_refused();
}

#[tokio::test]
async fn n6_a_secret_that_calls_in_or_names_a_file_is_kept_nowhere() {
    let (house, url) = doorbell("").await;
    let body = format!(r#"{{"key": "{SECRET}"}}"#);
    let good = format!("sha256={}", sign(&body));
    house.model.reply(Reply::text("Somebody knows."));
    assert_eq!(post(&format!("{url}door"), &[("X-Hub-Signature-256", &good)], &body).await, StatusCode::ACCEPTED);
    house.told(OWNER, 1).await;
    house.model.reply(Reply::text("A file."));
    house.telegram.hand(ADA, &format!("{SECRET}.txt"), b"milk", "look");
    house.told(ADA, 1).await;
    let kept =
        "SELECT text FROM inbound UNION ALL SELECT body FROM run_events UNION ALL SELECT name || origin FROM files
                UNION ALL SELECT body FROM messages UNION ALL SELECT text FROM memories";
    let kept = ask(&house, kept).await.join("\n");
    assert!(kept.contains("[redacted].txt") && kept.contains("[redacted]\\\""), "{kept}");
    assert!(!kept.contains(SECRET), "{kept}");
}

#[tokio::test]
async fn a12_who_cannot_sign_is_told_nothing() {
    let (house, url) = doorbell("per_minute = 5").await;
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
    assert_eq!(ask(&house, "SELECT CAST(count(*) AS TEXT) FROM runs").await, ["0"]);
    // Nor do they fill the log, whatever the minute, or write in it.
    let log = house.hob.as_ref().unwrap().log();
    let told = log.lines().filter(|line| line.contains("webhook.refused: ") && !line.contains("one of many")).count();
    assert!((1..=18).contains(&told) && !log.contains("garage"), "{told} of 144 were told");
    house.model.reply(Reply::text("Ring."));
    assert_eq!(post(&door, &[("X-Hub-Signature-256", &good)], body).await, StatusCode::ACCEPTED);
    assert_eq!(house.told(OWNER, 1).await, ["Ring."]);
}

#[tokio::test]
async fn n8_who_has_signed_keeps_their_seat() {
    let (house, url) = doorbell("").await;
    let (address, body) = (url.trim_start_matches("http://").trim_end_matches("/hooks/"), "{}");
    let head = format!("POST /hooks/door HTTP/1.1\r\nHost: {address}\r\nX-Hub-Signature-256: sha256={}", sign(body));
    house.model.reply(Reply::text("Ring."));
    stays_seated(address, &format!("{head}\r\nContent-Length: 2\r\n\r\n{body}"), "202").await;
    house.told(OWNER, 1).await;
}

#[tokio::test]
async fn an_old_call_and_a_replayed_one_begin_nothing() {
    let (house, url) = doorbell("signed = 'timestamped'\nheader = 'X-Signature'").await;
    let door = format!("{url}door");
    let now: i64 = ask(&house, "SELECT CAST(unixepoch() AS TEXT)").await[0].parse().unwrap();
    let header = |at: i64| format!("t={at},v1={}", sign(&format!("{at}.{{}}")));
    assert_eq!(post(&door, &[("X-Signature", &header(now - 3_600))], "{}").await, StatusCode::UNAUTHORIZED);
    house.model.reply(Reply::text("Ring."));
    let fresh = header(now);
    assert_eq!(post(&door, &[("X-Signature", &fresh)], "{}").await, StatusCode::ACCEPTED);
    assert_eq!(house.told(OWNER, 1).await, ["Ring."]);
    // Another id in a header that nobody has signed makes no other call of it.
    let replayed = [("X-Signature", fresh.as_str()), ("Idempotency-Key", "another")];
    assert_eq!(post(&door, &replayed, "{}").await, StatusCode::ACCEPTED);
    // Nor does what stands beside the signature, or how its digits are written.
    for junk in [format!("{fresh},junk"), format!("junk, {fresh}"), fresh.replace('a', "A").replace('f', "F")] {
        assert_eq!(post(&door, &[("X-Signature", junk.as_str())], "{}").await, StatusCode::ACCEPTED, "{junk}");
    }
    assert_eq!(ask(&house, "SELECT CAST(count(*) AS TEXT) FROM runs").await, ["1"]);
}

#[tokio::test]
async fn a12_what_an_event_asks_is_answered_in_the_chat() {
    let (house, url) = doorbell("").await;
    let good = format!("sha256={}", sign("{}"));
    house.model.reply(Reply::call("ask_human", r#"{"question": "Shall I open?"}"#));
    assert_eq!(post(&format!("{url}door"), &[("X-Hub-Signature-256", &good)], "{}").await, StatusCode::ACCEPTED);
    assert!(house.told(OWNER, 1).await[0].contains("Shall I open?"));
    house.model.reply(Reply::text("I keep it shut."));
    house.say(OWNER, "No!");
    assert_eq!(house.told(OWNER, 2).await[1], "I keep it shut.");
    assert!(house.model.requests()[1].last_text().contains("No!"));
    house.nothing_refused();
}
