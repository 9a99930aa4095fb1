//! Talking with Hob on its page.

use reqwest::{Method, StatusCode};
use serde_json::json as object;

use crate::browser::{Browser, hob, json, root};
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::test_hob::PAYS;

#[tokio::test]
async fn what_is_said_on_the_page_is_answered_there_once() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("kitchen", None).await;
    hob.model.reply(Reply::text("**Five** <o'clock>."));
    assert_eq!(browser.say("kitchen", "m1", "When is tea?").await["duplicate"], false);
    let answer = listening.answer().await;
    assert_eq!(answer.data["text"], "Five <o'clock>.");
    let html = answer.data["html"].as_str().unwrap();
    assert!(html.contains("<strong>Five</strong>") && html.contains("&lt;o"), "{html}");
    assert_eq!(browser.say("kitchen", "m1", "When is tea?").await["duplicate"], true, "sent again");
    // It was killed; what was said is still there, and a reader goes on where it was.
    hob.crash().await;
    hob.start().await;
    let browser = browser.at(root(&mut hob).await);
    let timeline = browser.get("/api/chats/kitchen/messages").await;
    let said: Vec<_> =
        timeline["messages"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["When is tea?", "Five <o'clock>."]);
    let mut listening = browser.listen("kitchen", answer.id.as_deref()).await;
    hob.model.reply(Reply::text("Cake."));
    browser.say("kitchen", "m2", "And what is there?").await;
    let first = listening.until("a message", |heard| heard.name == "message").await;
    assert_eq!(first.data["client_id"], "m2", "nothing is told twice");
    assert_eq!(listening.answer().await.data["text"], "Cake.");
    let chats = browser.get("/api/chats").await;
    assert_eq!(chats["chats"][0]["id"], "kitchen");
    assert_eq!(chats["chats"][0]["title"], "When is tea?");
    hob.nothing_refused();
}

#[tokio::test]
async fn two_tabs_and_a_late_one_hear_the_same() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let (mut one, mut two) = (browser.listen("k", None).await, browser.listen("k", None).await);
    for number in 1..=3 {
        hob.model.reply(Reply::text(&format!("Answer {number}.")));
        browser.say("k", &format!("m{number}"), &format!("Question {number}?")).await;
        let expected = format!("Answer {number}.");
        assert_eq!(one.answer().await.data["text"], expected);
        assert_eq!(two.answer().await.data["text"], expected);
    }
    let mut late = browser.listen("k", Some("0-0")).await;
    let mut texts = Vec::new();
    while texts.len() < 6 {
        let heard = late.until("a message", |heard| heard.name == "message").await;
        texts.push(heard.data["text"].as_str().unwrap().to_owned());
    }
    texts.sort();
    assert_eq!(texts, ["Answer 1.", "Answer 2.", "Answer 3.", "Question 1?", "Question 2?", "Question 3?"]);
}

#[tokio::test]
async fn d6_an_approval_is_pressed_on_the_page_and_shows_how_it_was_decided() {
    let mut hob = hob(PAYS).await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Bob"}"#));
    hob.model.reply(Reply::text("Paid."));
    browser.say("k", "m1", "Pay Bob.").await;
    let asked = listening.answer().await;
    let buttons = asked.data["buttons"].as_array().unwrap().clone();
    assert!(buttons.len() >= 2, "{asked:?}");
    let press = |id: &str| {
        let body = object!({ "id": id, "token": buttons[0]["token"] });
        browser.ask(Method::POST, "/api/chats/k/presses").json(&body)
    };
    json(press("p1").send().await.unwrap()).await;
    let resolved = listening.until("the decision", |heard| heard.data["replaces"] == asked.data["id"]).await;
    assert!(resolved.data["buttons"].is_null(), "{resolved:?}");
    listening.says("Paid.").await;
    assert_eq!(hob.lines("paid"), ["Bob"]);
    json(press("p2").send().await.unwrap()).await;
    let late = listening.answer().await;
    assert_eq!(late.data["text"], "That question is no longer open.");
    assert_eq!(hob.lines("paid"), ["Bob"]);
}

#[tokio::test]
async fn n5_what_waits_is_seen_edited_and_taken_back() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().text("Fir").gate(&gate).text("st.").finish("stop").into());
    browser.say("k", "m1", "One").await;
    hob.asked(1).await;
    browser.say("k", "m2", "Two").await;
    browser.say("k", "m3", "Three").await;
    let open = |heard: &crate::browser::StreamEvent, count: usize| {
        heard.name == "state" && heard.data["open"].as_array().is_some_and(|open| open.len() == count)
    };
    let state = listening.until("three of them", |heard| open(heard, 3)).await;
    assert_eq!(state.data["open"][1]["text"], "Two");
    assert_eq!(state.data["open"][1]["state"], "queued");
    let first = "/api/chats/k/messages/m1";
    let too_late = browser.ask(Method::PUT, first).json(&object!({ "text": "Zero" })).send().await.unwrap();
    assert_eq!(too_late.status(), StatusCode::CONFLICT, "it is at work");
    assert_eq!(browser.ask(Method::DELETE, first).send().await.unwrap().status(), StatusCode::CONFLICT);
    let edit = browser.ask(Method::PUT, "/api/chats/k/messages/m2").json(&object!({ "text": "Two, better" }));
    json(edit.send().await.unwrap()).await;
    json(browser.ask(Method::DELETE, "/api/chats/k/messages/m3").send().await.unwrap()).await;
    let state = listening.until("two of them", |heard| open(heard, 2)).await;
    assert_eq!(state.data["open"][1]["text"], "Two, better");
    hob.model.reply(Reply::text("Second."));
    gate.open();
    listening.says("Second.").await;
    assert!(hob.model.requests()[1].last_text().contains("Two, better"));
}

#[tokio::test]
async fn nonsense_is_answered_with_words() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let status = async |request: reqwest::RequestBuilder| request.send().await.unwrap().status();
    assert_eq!(status(browser.form("a%2Fb", "m1", "x", None)).await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(status(browser.form("k", "../m1", "x", None)).await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        status(browser.ask(Method::GET, "/api/chats/k/messages?before=x")).await,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let answer = browser.ask(Method::GET, "/api/nothing").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    assert!(answer.text().await.unwrap().contains("there is no such"));
}

#[tokio::test]
async fn a_file_comes_with_its_message() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    hob.model.reply(Reply::text("Thank you."));
    let sent = browser.form("k", "m1", "Look.", Some(("list.txt", "milk, bread")));
    json(sent.send().await.unwrap()).await;
    assert_eq!(listening.answer().await.data["text"], "Thank you.");
    assert!(hob.model.requests()[0].last_text().contains("list.txt"));
}

#[tokio::test]
async fn f8_a_reply_is_seen_as_html_while_it_is_written() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    let gate = Gate::default();
    let script = Script::default().text("# Plan\n\nIt is **rea").gate(&gate).text("dy** <b>now</b>.").finish("stop");
    hob.model.reply(script.into());
    browser.say("k", "m1", "Plan.").await;
    let grown = listening.until("its beginning", |heard| heard.name == "growing").await.data;
    assert_eq!((grown["at"].as_i64(), grown["text"].as_str()), (Some(0), Some("# Plan\n\nIt is **rea")));
    assert_eq!(grown["blocks"], "<h1>Plan</h1>\n");
    assert_eq!(
        (grown["keep"].as_i64(), grown["open"].as_str()),
        (Some(0), Some("<p>It is <strong>rea</strong></p>\n"))
    );
    gate.open();
    let answer = listening.answer().await;
    assert_eq!(answer.data["html"], "<h1>Plan</h1>\n<p>It is <strong>ready</strong> &lt;b&gt;now&lt;/b&gt;.</p>\n");
}

#[tokio::test]
async fn f8_a_conversation_is_found_named_and_deleted() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("dinner", None).await;
    hob.model.reply(Reply::text("Pumpkin_risotto.")).reply(Reply::text("At five."));
    browser.say("dinner", "m1", "What is for dinner?").await;
    listening.answer().await;
    let mut other = browser.listen("tea", None).await;
    browser.say("tea", "m2", "When is tea?").await;
    other.answer().await;
    browser.say("tea", "m3", "/help").await;
    other.answer().await;
    let found = async |words: &str| {
        let chats = browser.get(&format!("/api/chats?find={words}")).await;
        let all: Vec<String> =
            chats["chats"].as_array().unwrap().iter().map(|chat| chat["id"].as_str().unwrap().to_owned()).collect();
        all.join(" ")
    };
    // In what Hob said, in what somebody said, in a name; and signs that SQL takes for its own stand for themselves.
    assert_eq!((found("PUMPKIN").await, found("tea%3F").await), ("dinner".to_owned(), "tea".to_owned()));
    assert_eq!(
        (found("n_r").await, found("n_i").await, found("%25").await),
        ("dinner".into(), String::new(), String::new())
    );
    let name = async |chat: &str, title: &str| {
        let named = browser.ask(Method::PUT, &format!("/api/chats/{chat}")).json(&object!({ "title": title }));
        named.send().await.unwrap().status()
    };
    assert_eq!(name("dinner", "  Menu of\nthe week ").await, StatusCode::NO_CONTENT);
    assert_eq!(name("nowhere", "x").await, StatusCode::NOT_FOUND);
    assert_eq!(name("dinner", &"x".repeat(81)).await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(browser.get("/api/chats?find=menu").await["chats"][0]["title"], "Menu of the week");

    hob.recorded(3).await;
    let delete = browser.ask(Method::DELETE, "/api/chats/tea");
    assert_eq!(json(delete.send().await.unwrap()).await["later"], false);
    assert_eq!((found("tea").await, found("").await), (String::new(), "dinner".to_owned()));
    assert_eq!(browser.get("/api/chats/tea/messages").await["messages"].as_array().unwrap().len(), 0);
    // What is said there next begins afresh.
    hob.model.reply(Reply::text("Who asks?"));
    browser.say("tea", "m4", "Hello again").await;
    other.says("Who asks?").await;
    let asked = hob.model.requests().last().unwrap().body.to_string();
    assert!(!asked.contains("When is tea?") && !asked.contains("At five."), "{asked}");
    assert_eq!(browser.get("/api/chats?find=again").await["chats"][0]["title"], "Hello again");
    hob.stop().await;
    let bytes = std::fs::read(hob.path("data/hob.db")).unwrap();
    let holds = |words: &str| bytes.windows(words.len()).any(|window| window == words.as_bytes());
    assert!(holds("Who asks?") && !holds("When is tea?") && !holds("At five."), "the words are still in the file");
}

#[tokio::test]
async fn f8_what_is_at_work_is_not_deleted() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().text("Fir").gate(&gate).text("st.").finish("stop").into());
    let mut listening = browser.listen("k", None).await;
    browser.say("k", "m1", "One").await;
    hob.asked(1).await;
    let delete = async || browser.ask(Method::DELETE, "/api/chats/k").send().await.unwrap().status();
    assert_eq!(delete().await, StatusCode::CONFLICT);
    gate.open();
    listening.says("First.").await;
    hob.recorded(1).await;
    hob.ended(1).await;
    assert_eq!(delete().await, StatusCode::OK);
    assert_eq!(browser.ask(Method::DELETE, "/api/chats/nothing").send().await.unwrap().status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn f4_how_far_a_call_is_is_told_while_it_is_at_work() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/talking_mcp.py");
    let server = format!(
        "[mcp.notes]\nsandbox = false\ncommand = ['python3', '{}', '$HOME']\ntrusted_output = true\napproval = 'never'\n",
        script.display()
    );
    let mut hob = hob(&server).await;
    hob.process().until_log("mcp.listed").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    let report = Reply::call("use_tool", r#"{"name": "notes__report", "arguments": {}}"#);
    hob.model.reply(report).reply(Reply::text("Reported."));
    browser.say("k", "m1", "Report.").await;
    let step = listening.until("how far it is", |heard| heard.name == "step").await;
    assert!(step.data["text"].as_str().unwrap().ends_with("reading pages (1 of 3)"), "{}", step.data);
    // Who comes later hears of it as well.
    let mut late = browser.listen("k", None).await;
    assert_eq!(late.until("how far it is", |heard| heard.name == "step").await.data, step.data);
    std::fs::write(hob.path("go"), "").unwrap();
    // Both may come together.
    let (mut is_over, mut is_answered) = (false, false);
    while !(is_over && is_answered) {
        let heard = listening.until("its end", |_| true).await;
        is_over |= heard.name == "step" && heard.data["text"].is_null();
        is_answered |= heard.name == "message" && heard.data["text"] == "Reported.";
    }
}
