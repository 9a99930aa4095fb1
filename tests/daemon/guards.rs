//! Circles end in a question to the person; what is told agrees with what was done (rows A11, B2, B3, E10).

use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::{ADA, TestHob};

/// A tool that fails for one of those it is called for.
const SEND: &str = r#"[tools.send]
sandbox = false
trusted_output = true
description = "Sends a message."
command = ["/bin/sh", "-c", 'test "$1" != ben && echo "sent to $1" || { echo "no such address"; exit 1; }', "sh", "{to}"]
parameters = { to = "To whom." }
"#;

#[tokio::test]
async fn b2_identical_thrash_ends_in_a_question_to_the_person() {
    let hob = TestHob::running("").await;
    let look = || Reply::call("recall", r#"{"query": "keys"}"#);
    for _ in 0..4 {
        hob.model.reply(look());
    }
    hob.model.reply(Reply::call("get_run_journal", "{}"));
    hob.model.reply(look());
    hob.model.reply(Reply::text("I am looking for the keys."));
    hob.say(ADA, "Where are the keys?");
    let asked = hob.told(ADA, 1).await.remove(0);
    insta::assert_snapshot!(asked, @"
    I am going in circles: I have called recall 4 times with the same arguments.

    I am looking for the keys.

    How shall I go on? Say it in your own words, or choose:
    1. carry on
    2. give up
    ");
    let requests = hob.model.requests();
    assert!(requests[3].last_text().contains("[You have called recall 3 times"), "{}", requests[3].last_text());
    assert!(
        requests[4].last_text().starts_with("Not run: you have called recall 4 times"),
        "{}",
        requests[4].last_text()
    );
    assert_eq!(requests[4].body["tool_choice"]["function"]["name"], "use_tool", "it must look around");
    assert_eq!(requests[6].body["tool_choice"]["function"]["name"], "ask_human", "it must ask");
    assert_eq!(hob.ask(ADA, "Ask Ben where they are", Reply::text("Ben may know.")).await, "Ben may know.");
    let last = hob.model.requests().pop().unwrap();
    assert_eq!((last.last_role(), last.last_text()), ("user", "Ask Ben where they are"));
    hob.nothing_refused();
}

#[tokio::test]
async fn b3_a_press_gives_up_what_goes_in_circles() {
    let hob = TestHob::running("").await;
    for _ in 0..6 {
        hob.model.reply(Reply::call("recall", r#"{"query": "keys"}"#));
    }
    hob.say(ADA, "Where are the keys?");
    hob.told(ADA, 1).await;
    hob.press(ADA, "give up");
    assert_eq!(hob.told(ADA, 2).await[1], "Given up. Nothing more happens for that message.");
    hob.nothing_refused();
}

#[tokio::test]
async fn e10_a_phantom_is_caught_in_german_turkish_and_finnish() {
    let hob = TestHob::running("").await;
    let table = [
        ("Ich habe mir gemerkt, dass du Tee magst.", "Ich habe es noch nicht gespeichert."),
        ("Çay sevdiğini kaydettim.", "Bunu henüz kaydetmedim."),
        ("Tallensin tiedon teestä.", "En ole vielä tallentanut sitä."),
    ];
    for (claim, truth) in table {
        hob.model.reply(Reply::text(claim));
        assert_eq!(hob.ask(ADA, "tea", Reply::text(truth)).await, truth);
        let asked = hob.model.requests().pop().unwrap();
        assert!(asked.last_text().starts_with("[Before your reply goes out"), "{}", asked.last_text());
    }
    hob.model.reply(Reply::text("Ich habe es gespeichert."));
    let fact = r#"{"category": "preference", "key": "tea", "value": "likes it"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    assert_eq!(hob.ask(ADA, "Merk es dir", Reply::text("Gespeichert.")).await, "Gespeichert.");
    assert_eq!(hob.ask(ADA, "Danke", Reply::text("Gern!")).await, "Gern!");
    let words = hob.model.requests().pop().unwrap();
    let claims = words.messages().iter().filter(|message| message["content"] == "Çay sevdiğini kaydettim.");
    assert_eq!(claims.count(), 0, "what was taken back is not in the history");
    hob.nothing_refused();
}

#[tokio::test]
async fn e10_a_partial_failure_is_told_as_partial() {
    let hob = TestHob::running(SEND).await;
    hob.model.reply(Reply::calls(&[("send", r#"{"to": "anna"}"#), ("send", r#"{"to": "ben"}"#)]));
    let told = hob.ask(ADA, "Invite them", Reply::text("Both are invited.")).await;
    insta::assert_snapshot!(told, @"
    Both are invited.

    (By my record, not all of it was done. send: 1 of 2 done, 1 failed (exit status: 1).)
    ");
    let results = hob.model.requests().pop().unwrap();
    assert!(results.last_text().ends_with(
        "[It failed. Don't make results up: try another way, or say plainly what is not known or not done.]"
    ));
    hob.nothing_refused();
}

#[tokio::test]
async fn b2_an_honest_run_is_left_alone() {
    let hob = TestHob::running(&format!("{SEND}\n[agent]\niterations_max = 20")).await;
    for guest in 0..12 {
        hob.model.reply(Reply::call("send", &format!(r#"{{"to": "guest {guest}"}}"#)));
    }
    assert_eq!(hob.ask(ADA, "Invite all", Reply::text("All twelve are invited.")).await, "All twelve are invited.");
    let requests = hob.model.requests();
    assert!(
        requests.iter().all(|request| request.body["tool_choice"].is_null() || request.body["tool_choice"] == "auto")
    );
    assert_eq!(requests[12].last_text(), "sent to guest 11");
    hob.nothing_refused();
}
