//! Recorded runs, as the page's API shows them, and orders to those at work.

use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json as object};

use crate::browser::{Browser, hob, json, root};
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fifo::Fifo;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};

/// A tool that says what it was given.
const ECHO: &str = r#"
[tools.echo]
sandbox = false
trusted_output = true
description = "Says it again."
command = ["/bin/sh", "-c", 'printf %s "$1"', "sh", "{what}"]
parameters = { what = "What." }
"#;
/// Words that would do harm if anybody took them for markup.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)> \u{202e}&lt;b&gt;";

fn words(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text"))
}

async fn status(browser: &Browser, method: Method, path: &str) -> StatusCode {
    browser.ask(method, path).send().await.unwrap().status()
}

async fn order(browser: &Browser, path: &str, body: &Value) -> (StatusCode, Value) {
    let answer = browser.ask(Method::POST, path).json(body).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

/// The run, once it is as wanted.
async fn until(browser: &Browser, run: i64, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let look = async {
        loop {
            let shown = browser.get(&format!("/api/runs/{run}")).await;
            if wanted(&shown) {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    };
    within(what, look).await
}

/// A conversation on the page in which a tool was called.
async fn told(hob: &mut TestHob, browser: &Browser) -> i64 {
    let mut listening = browser.listen("kitchen", None).await;
    hob.model.reply(Reply::call("echo", &object!({ "what": HOSTILE }).to_string()));
    hob.model.reply(Reply::text("It is said."));
    browser.say("kitchen", "m1", HOSTILE).await;
    listening.answer().await.data["run"].as_i64().unwrap()
}

#[tokio::test]
async fn d8_n5_a_run_is_shown_as_its_tree_of_cycles() {
    let mut hob = hob(ECHO).await;
    let browser = Browser::entered(&mut hob).await;
    let run = told(&mut hob, &browser).await;
    let shown = until(&browser, run, "the end", |shown| shown["entry"]["state"] == "completed").await;
    let tree = &shown["tree"];
    assert_eq!((words(&tree["message"]["text"]), words(&tree["terminated_by"])), (HOSTILE, "answer"));
    assert_eq!((tree["cycle_count"].as_i64(), tree["cycles"].as_array().unwrap().len()), (Some(2), 2));
    let call = &tree["cycles"][0]["calls"][0];
    assert_eq!((words(&call["name"]), call["attempts"].as_i64()), ("echo", Some(1)));
    assert_eq!(words(&call["result"]["text"]), HOSTILE, "words of strangers are data");
    assert_eq!(serde_json::from_str::<Value>(words(&call["arguments"]["text"])).unwrap()["what"], HOSTILE);
    assert_eq!(words(&tree["cycles"][1]["text"]["text"]), "It is said.");
    assert_eq!(tree["cycles"][0]["asks"][0]["outcome"], "answered");
    assert!(shown["question"].is_null() && shown["stoppable"] == false && shown["gone"].is_null(), "{shown}");
    // It is in the list, and the list says the same.
    let listed = browser.get("/api/runs").await;
    assert_eq!(listed["runs"][0], shown["entry"]);
    assert!(listed["next"].is_null());
    let whole = browser.get(&format!("/api/runs/{run}/cycles/1")).await;
    assert_eq!(whole["calls"], tree["cycles"][0]["calls"]);
    // Addresses of the view are the page's.
    for path in ["/runs", "/runs/7", "/app/runs.js", "/app/run.js", "/app/timeline.js"] {
        assert_eq!(status(&browser, Method::GET, path).await, StatusCode::OK, "{path}");
    }
    for path in ["/api/runs/999", "/api/runs/999/events", "/api/runs/999/state", "/api/runs/999/verdict"] {
        assert_eq!(status(&browser, Method::GET, path).await, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(status(&browser, Method::GET, &format!("/api/runs/{run}/cycles/9")).await, StatusCode::NOT_FOUND);
    assert_eq!(status(&browser, Method::GET, &format!("/api/runs/{run}/events/99")).await, StatusCode::NOT_FOUND);
    for path in ["/api/runs", "/api/runs/1", "/api/runs/1/events", "/api/runs/1/context"] {
        assert_eq!(browser.bare(Method::GET, path).send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    hob.nothing_refused();
}

#[tokio::test]
async fn n2_n5_a_run_is_seen_as_it_stood_after_any_event_and_checked() {
    let mut hob = hob(ECHO).await;
    let browser = Browser::entered(&mut hob).await;
    let run = told(&mut hob, &browser).await;
    let shown = until(&browser, run, "the end", |shown| shown["entry"]["state"] == "completed").await;
    let (path, upto) = (format!("/api/runs/{run}"), shown["upto"].as_i64().unwrap());
    let journal = browser.get(&format!("{path}/events")).await;
    assert_eq!((words(&journal["state"]), journal["upto"].as_i64()), ("completed", Some(upto)));
    let events = journal["events"].as_array().unwrap();
    let seqs: Vec<i64> = events.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(seqs, (1..=upto).collect::<Vec<_>>());
    let seq_of = |kind: &str| events.iter().position(|event| event["kind"] == kind).map(|at| seqs[at]).unwrap();
    let rest = browser.get(&format!("{path}/events?after={}&limit=100", upto - 1)).await;
    assert_eq!(rest["events"].as_array().unwrap().len(), 1, "a part goes on after the event that is known");
    let none = browser.get(&format!("{path}/events?after={upto}&limit=0")).await;
    assert!(none["events"].as_array().unwrap().is_empty());
    // Each event leads to a state, of which the last is how it ended.
    for at in 1..=upto {
        let state = browser.get(&format!("{path}/state?at={at}")).await;
        assert_eq!((state["at"].as_i64(), state["upto"].as_i64()), (Some(at), Some(upto)));
        assert_eq!(state["budgets"].is_null(), at < seq_of("run.begun"), "{state}");
        assert!(state["mismatch"].is_null(), "{state}");
        assert_eq!(state["state"] == "completed", at == upto, "{state}");
    }
    let asked = browser.get(&format!("{path}/context?at={}", seq_of("model.asked"))).await;
    let later = browser.get(&format!("{path}/context?at={}", seq_of("tool.finished"))).await;
    let count = |context: &Value| context["count"].as_u64().unwrap();
    assert_eq!(count(&later), count(&asked) + 2, "the call and its result came in");
    let sent = hob.model.requests()[1].body["messages"].to_string();
    for message in later["messages"].as_array().unwrap() {
        let text = message["text"]["text"].to_string();
        assert!(sent.contains(text.trim_matches('"')), "{text} was sent, too: {sent}");
    }
    assert_eq!(asked["tools"].as_array().unwrap().iter().filter(|tool| *tool == "echo").count(), 1);
    let last = later["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((words(&last["role"]), words(&last["text"]["text"])), ("tool", HOSTILE));
    let one = browser.get(&format!("{path}/context/{}?at={}", last["index"], seq_of("tool.finished"))).await;
    assert_eq!(&one, last);
    let queued = browser.get(&format!("{path}/context?at=1")).await;
    assert!(words(&queued["gone"]).contains("has not begun"), "{queued}");
    assert_eq!(status(&browser, Method::GET, &format!("{path}/state?at=0")).await, StatusCode::UNPROCESSABLE_ENTITY);
    // The check, and the comparison.
    let verdict = browser.get(&format!("{path}/verdict")).await;
    assert_eq!((verdict["holds"].as_bool(), words(&verdict["hash"])), (Some(true), "same"), "{verdict}");
    let what_if = format!("{path}/what-if");
    let (is, report) = order(&browser, &what_if, &object!({ "change": "models = ['openai/gpt-6-luna']" })).await;
    assert_eq!(is, StatusCode::OK, "{report}");
    assert_eq!(report["asked_otherwise"][0]["would_be"]["model"], "openai/gpt-6-luna");
    assert!(report["would_be"]["spent"]["cost_nano_usd"].as_i64().unwrap() > 0, "{report}");
    let (is, report) = order(&browser, &what_if, &object!({ "change": "[limits]\niterations = 0" })).await;
    assert_eq!((is, report["stopped"].is_object()), (StatusCode::OK, true), "{report}");
    let (is, refused) = order(&browser, &what_if, &object!({ "change": "[limits]\nnonsense = 1" })).await;
    assert_eq!(is, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(words(&refused["error"]).contains("nonsense"), "{refused}");
}

#[tokio::test]
async fn a_run_of_a_thousand_events_comes_in_parts() {
    const CYCLES: usize = 60;
    let mut hob = hob("[agent]\niterations_max = 100\niterations_cap = 100\n[guards]\nenabled = false").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    let turns = AtomicUsize::new(1);
    hob.model.otherwise(move |asked| {
        // Whoever sums up is asked without tools.
        if asked.tools().is_empty() {
            return Reply::text("Much was done.");
        }
        match turns.fetch_add(1, Ordering::SeqCst) {
            ..CYCLES => Reply::calls(&[("current_time", "{}"); 8]),
            _ => Reply::text(&"long ".repeat(2_000)),
        }
    });
    browser.say("k", "m1", "Go on and on.").await;
    let run = listening.answer().await.data["run"].as_i64().unwrap();
    hob.ended(1).await;
    let shown = browser.get(&format!("/api/runs/{run}")).await;
    assert!(shown["upto"].as_i64().unwrap() >= 1_000, "{}", shown["upto"]);
    let numbers = |shown: &Value| -> Vec<usize> {
        let cycles = shown["tree"]["cycles"].as_array().unwrap();
        cycles.iter().map(|cycle| usize::try_from(cycle["number"].as_u64().unwrap()).unwrap()).collect()
    };
    let count = usize::try_from(shown["tree"]["cycle_count"].as_u64().unwrap()).unwrap();
    assert!(count >= CYCLES, "{count}");
    assert_eq!(numbers(&shown), (count - 49..=count).collect::<Vec<_>>(), "the newest");
    let earlier = browser.get(&format!("/api/runs/{run}?before={}", count - 49)).await;
    assert_eq!(numbers(&earlier), (1..count - 49).collect::<Vec<_>>(), "those before them");
    let newest = browser.get(&format!("/api/runs/{run}?from={count}")).await;
    assert_eq!(numbers(&newest), [count]);
    // What is long is cut, and there whole where it is asked for.
    let text = &newest["tree"]["cycles"][0]["text"];
    assert_eq!((text["cut"].as_bool(), words(&text["text"]).len()), (Some(true), 4_000));
    let whole = browser.get(&format!("/api/runs/{run}/cycles/{count}")).await;
    assert_eq!(words(&whole["text"]["text"]).len() as u64, text["bytes"].as_u64().unwrap());
    let part = browser.get(&format!("/api/runs/{run}/events?after=500&limit=1000")).await;
    let part = part["events"].as_array().unwrap();
    assert_eq!((part.len(), part[0]["seq"].as_i64()), (100, Some(501)));
}

#[tokio::test]
async fn the_list_is_narrowed_down_and_comes_in_pages() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    for number in 0..3 {
        hob.ask(ADA, &format!("Question {number}?"), Reply::text("Answer.")).await;
    }
    hob.ended(3).await;
    let mut listening = browser.listen("k", None).await;
    hob.model.reply(Reply::status(401));
    browser.say("k", "m1", "Will it work?").await;
    listening.answer().await;
    hob.ended(4).await;
    let list = async |query: &str| -> Vec<i64> {
        let list = browser.get(&format!("/api/runs{query}")).await;
        list["runs"].as_array().unwrap().iter().map(|run| run["run"].as_i64().unwrap()).collect()
    };
    let all = list("").await;
    assert_eq!((all.len(), all.is_sorted_by(|a, b| a > b)), (4, true), "newest first");
    assert_eq!(list("?channel=telegram").await, all[1..]);
    assert_eq!(list("?channel=web").await, all[..1]);
    assert_eq!(list("?session=web%3Ak").await, all[..1]);
    assert_eq!(list("?outcome=failed").await, all[..1]);
    assert_eq!(list("?state=over&outcome=completed").await, all[1..]);
    assert_eq!(list("?state=over&session=web%3Ak&channel=telegram").await, [0_i64; 0]);
    assert_eq!(list("?state=running").await, [0_i64; 0]);
    assert_eq!(list("?cost_min=9000000000000").await, [0_i64; 0]);
    assert_eq!(list("?took_min=0&cost_min=0").await, all);
    assert_eq!(list("?took_min=99999999").await, [0_i64; 0]);
    assert_eq!(list(&format!("?before={}", all[1])).await, all[2..]);
    let failed = browser.get("/api/runs?outcome=failed").await;
    assert_eq!((&failed["runs"][0]["state"], &failed["runs"][0]["who"]), (&"failed".into(), &"you".into()));
    assert!(!words(&failed["runs"][0]["end"]).is_empty(), "{failed}");
    for query in ["?state=done", "?outcome=running", "?channel=pigeon"] {
        let path = format!("/api/runs{query}");
        assert_eq!(status(&browser, Method::GET, &path).await, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
    }
    assert_eq!(status(&browser, Method::GET, "/api/runs?session=nobody").await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_owner_stops_a_run_of_any_channel_and_a_viewer_does_not() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    hob.model.reply(Script::default().gate(&Gate::default()).text("Never.").finish("stop").into());
    hob.say(ADA, "Think for ever.");
    hob.asked(1).await;
    hob.say(ADA, "And then this.");
    let list = async || browser.get("/api/runs?channel=telegram").await["runs"].clone();
    let both = within("both runs", async {
        loop {
            let both = list().await;
            if both.as_array().unwrap().len() == 2 {
                return both;
            }
        }
    })
    .await;
    let (queued, running) = (both[0]["run"].as_i64().unwrap(), both[1]["run"].as_i64().unwrap());
    assert_eq!((&both[0]["state"], &both[1]["state"]), (&"queued".into(), &"running".into()));
    let link = hob_command(hob.home.path(), &["web", "--viewer"]).output().await.unwrap();
    let link = String::from_utf8(link.stdout).unwrap();
    let mut viewer = Browser::new(&browser.root);
    viewer.enter(link.split('#').nth(1).unwrap().split_whitespace().next().unwrap()).await;
    viewer.get(&format!("/api/runs/{running}")).await;
    for path in ["stop", "resume"] {
        let path = format!("/api/runs/{running}/{path}");
        assert_eq!(status(&viewer, Method::POST, &path).await, StatusCode::FORBIDDEN, "{path}");
    }
    let answer = viewer.ask(Method::POST, &format!("/api/runs/{running}/answers"));
    let answer = answer.json(&object!({ "question": 1, "text": "approve" })).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    let (is, told) = order(&browser, &format!("/api/runs/{queued}/stop"), &object!({})).await;
    assert_eq!((is, words(&told["told"])), (StatusCode::OK, "Taken back."));
    let (is, told) = order(&browser, &format!("/api/runs/{running}/stop"), &object!({})).await;
    assert_eq!((is, words(&told["told"])), (StatusCode::OK, "Stopped."));
    until(&browser, running, "the stop", |shown| shown["tree"]["terminated_by"] == "stopped").await;
    until(&browser, queued, "the withdrawal", |shown| shown["entry"]["state"] == "withdrawn").await;
    let (is, told) = order(&browser, &format!("/api/runs/{running}/stop"), &object!({})).await;
    assert_eq!((is, words(&told["error"])), (StatusCode::UNPROCESSABLE_ENTITY, "That run is over."));
    let (is, _) = order(&browser, "/api/runs/999/stop", &object!({})).await;
    assert_eq!(is, StatusCode::NOT_FOUND);
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
}

#[tokio::test]
async fn what_a_run_asks_elsewhere_is_answered_on_its_page() {
    let mut hob = hob(r#"[tools.effect]
        sandbox = false
        trusted_output = true
        description = "Has an effect."
        command = ["/bin/sh", "-c", "echo up > $HOME/up; read line < $HOME/go"]"#)
    .await;
    let browser = Browser::entered(&mut hob).await;
    let (mut up, _go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.model.reply(Reply::call("effect", "{}"));
    hob.say(ADA, "Go");
    up.line().await;
    hob.restart().await;
    let browser = browser.at(root(&mut hob).await);
    hob.told(ADA, 1).await;
    let run = browser.get("/api/runs?state=waiting").await["runs"][0]["run"].as_i64().unwrap();
    let shown = browser.get(&format!("/api/runs/{run}")).await;
    let question = &shown["question"];
    assert_eq!(question["choices"], object!(["it happened", "run it again", "give up"]), "{shown}");
    let path = format!("/api/runs/{run}/answers");
    let answer = |number: i64, text: &str| object!({ "question": number, "text": text });
    let number = question["number"].as_i64().unwrap();
    for (body, why) in [
        (answer(number + 1, "give up"), "That question is no longer open."),
        (answer(number, "perhaps"), "That is none of the answers to its question."),
    ] {
        let (is, told) = order(&browser, &path, &body).await;
        assert_eq!((is, words(&told["error"])), (StatusCode::UNPROCESSABLE_ENTITY, why));
    }
    let (is, told) = order(&browser, &path, &answer(number, "give up")).await;
    assert_eq!((is, words(&told["told"])), (StatusCode::OK, "Answered."));
    let shown = until(&browser, run, "the end", |shown| shown["entry"]["state"] == "cancelled").await;
    assert_eq!((words(&shown["entry"]["end"]), words(&shown["tree"]["terminated_by"])), ("given_up", "given_up"));
    let (is, _) = order(&browser, &path, &answer(number, "give up")).await;
    assert_eq!(is, StatusCode::UNPROCESSABLE_ENTITY, "it counts once");
}

#[tokio::test]
async fn a_paused_conversation_is_resumed_from_its_run() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let mut listening = browser.listen("k", None).await;
    browser.say("k", "p", "/pause").await;
    listening.answer().await;
    browser.say("k", "m1", "Are you there?").await;
    let run = browser.get("/api/runs").await["runs"][0]["run"].as_i64().unwrap();
    let shown = browser.get(&format!("/api/runs/{run}")).await;
    assert_eq!((&shown["paused"], &shown["entry"]["state"]), (&true.into(), &"queued".into()));
    hob.model.reply(Reply::text("I am."));
    let resume = browser.ask(Method::POST, &format!("/api/runs/{run}/resume"));
    json(resume.send().await.unwrap()).await;
    let shown = until(&browser, run, "the end", |shown| shown["entry"]["state"] == "completed").await;
    assert_eq!((&shown["paused"], words(&shown["tree"]["answer"]["text"])), (&false.into(), "I am."));
    let (is, _) = order(&browser, &format!("/api/runs/{run}/resume"), &object!({})).await;
    assert_eq!(is, StatusCode::UNPROCESSABLE_ENTITY, "nothing is paused any more");
}

#[tokio::test]
async fn b12_n5_a_failed_run_is_shown_with_its_panel_and_settled_on_its_page() {
    const NOTES: &str = r#"{"objective": "Paint the fence", "current_state": "One side is done"}"#;
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    hob.model.reply(Reply::call("update_run_journal", NOTES));
    hob.ask(ADA, "Paint the fence", Reply::status(401)).await;
    hob.ended(1).await;
    let run = browser.get("/api/runs?outcome=failed").await["runs"][0]["run"].as_i64().unwrap();
    let shown = browser.get(&format!("/api/runs/{run}")).await;
    let panel = object!({ "objective": "Paint the fence", "state": "One side is done", "next": "nothing noted" });
    assert_eq!(shown["failure"], panel, "{shown}");
    hob.model.reply(Reply::text("It is painted."));
    let path = format!("/api/runs/{run}/failure");
    let (is, told) = order(&browser, &path, &object!({ "choice": "resume" })).await;
    assert_eq!((is, words(&told["told"])), (StatusCode::OK, "It goes on, as a run of its own."));
    assert_eq!(hob.told(ADA, 2).await[1], "It is painted.");
    assert!(browser.get(&format!("/api/runs/{run}")).await["failure"].is_null());
    let (is, told) = order(&browser, &path, &object!({ "choice": "let_be" })).await;
    assert_eq!(is, StatusCode::UNPROCESSABLE_ENTITY, "{told}");
    let (is, _) = order(&browser, "/api/runs/999/failure", &object!({ "choice": "let_be" })).await;
    assert_eq!(is, StatusCode::NOT_FOUND);
}
