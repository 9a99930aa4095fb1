//! What is remembered, looked at and changed on Hob's page.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json as object};

use crate::browser::{Browser, hob, json};
use hob_testkit::fake_embeddings::embeddings;
use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

/// Runs `hob …` beside the daemon; it must succeed.
async fn told(hob: &TestHob, arguments: &[&str]) -> String {
    let output = hob_command(hob.home.path(), arguments).output().await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Says something on the page, and waits for its answer; gives the answer's run.
async fn asked(browser: &Browser, hob: &TestHob, said: (&str, &str), reply: Reply) -> i64 {
    hob.model.reply(reply);
    asked_in("k", browser, said.0, said.1).await
}

/// The same in this conversation.
async fn asked_in(key: &str, browser: &Browser, id: &str, text: &str) -> i64 {
    let mut listening = browser.listen(key, None).await;
    browser.say(key, id, text).await;
    // A command's answer has no run, and may still be on its way.
    let answer = listening.until("an answer", |heard| heard.data["author"] == "hob" && heard.data["run"].is_i64());
    answer.await.data["run"].as_i64().unwrap()
}

/// A fact is told, and one thing more; gives the page.
async fn remembering(hob: &mut TestHob) -> Browser {
    let browser = Browser::entered(hob).await;
    hob.model.reply(Reply::call(
        "remember_fact",
        r#"{"category": "family", "key": "sister", "value": "lives in Zanzibar"}"#,
    ));
    asked(&browser, hob, ("m1", "Remember: my sister lives in Zanzibar."), Reply::text("I will.")).await;
    asked(&browser, hob, ("m2", "The bins go out on Tuesday."), Reply::text("I see.")).await;
    browser
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect()
}

async fn status(browser: &Browser, method: Method, path: &str) -> StatusCode {
    browser.ask(method, path).send().await.unwrap().status()
}

/// Lines as another house wrote them: each was said a second after the one before.
fn lines(count: usize) -> String {
    let line = |number: usize| {
        let at = format!("2024-05-03T10:{:02}:{:02}Z", number / 60, number % 60);
        let words = format!("Note {number} of the ship's log");
        let memory = object!({ "kind": "memory", "scope": "house", "episode": 1 + number / 50, "speaker": "Ada",
            "text": words, "origin": "user", "importance": 0.3, "at": at });
        let key = format!("entry {number}");
        let fact = object!({ "kind": "fact", "scope": "house", "category": "log", "key": key, "value": words,
            "speaker": "Ada", "source": "told", "confidence": 1.0, "importance": 0.5, "known_since": at });
        format!("{memory}\n{fact}\n")
    };
    (0..count).map(line).collect()
}

#[tokio::test]
async fn n8_a_search_tells_what_each_leg_says_and_a_fact_cites_its_message() {
    let mut hob = hob("").await;
    let browser = remembering(&mut hob).await;
    let found = browser.get("/api/memory/search?text=where%20in%20Zanzibar%20does%20my%20sister%20live").await;
    assert_eq!(found["how"], "by words alone");
    let first = &found["said"][0];
    assert_eq!(first["item"]["text"], "Remember: my sister lives in Zanzibar.");
    assert_eq!(first["rank"], 1);
    assert!(first["score"].as_f64().unwrap() > 0.0, "{first}");
    let legs: Vec<(&str, Option<u64>)> = first["legs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|leg| (leg["way"].as_str().unwrap(), leg["rank"].as_u64()))
        .collect();
    assert_eq!((legs[0], legs[1]), (("words", Some(1)), ("meaning", None)), "{first}");
    let sum: f64 = first["legs"].as_array().unwrap().iter().map(|leg| leg["score"].as_f64().unwrap()).sum();
    assert!((sum - first["score"].as_f64().unwrap()).abs() < 1e-6, "the legs make the score: {first}");
    let parts: f64 = first["signals"].as_array().unwrap().iter().map(|signal| signal["part"].as_f64().unwrap()).sum();
    assert!((sum - parts).abs() < 1e-6, "the signals make it as well: {first}");

    let fact = &found["facts"][0]["item"];
    assert_eq!((&fact["key"], &fact["text"]), (&object!("sister"), &object!("lives in Zanzibar")));
    let source = &fact["source"];
    assert_eq!(source["text"], "Remember: my sister lives in Zanzibar.");
    assert_eq!(source["conversation"], "web:k");
    assert_eq!(source["memory"], first["item"]["id"]);
    let whole = browser.get(&format!("/api/memory/items/{}", source["memory"].as_str().unwrap())).await;
    assert_eq!(texts(&whole["rest_on_it"]), ["lives in Zanzibar"]);
    for nonsense in ["/api/memory/search?text=%20", "/api/memory/search?text=x&scope=q7", "/api/memory/items/x7"] {
        assert_eq!(status(&browser, Method::GET, nonsense).await, StatusCode::UNPROCESSABLE_ENTITY, "{nonsense}");
    }
    assert_eq!(status(&browser, Method::GET, "/api/memory/items/m999").await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn n8_why_is_told_for_any_answer_and_a_pin_is_always_recalled() {
    let mut hob = hob("").await;
    let browser = remembering(&mut hob).await;
    browser.say("k", "m3", "/new").await;
    let first = asked(&browser, &hob, ("m4", "In which place does my sister live?"), Reply::text("Zanzibar.")).await;
    let why = browser.get(&format!("/api/memory/why/{first}")).await;
    assert_eq!(
        (&why["asked"], &why["answer"]),
        (&object!("In which place does my sister live?"), &object!("Zanzibar."))
    );
    assert_eq!(why["how"], "by words alone");
    let reasons = why["recalled"].as_array().unwrap().clone();
    let said = reasons.iter().find(|one| one["leg"] == "relevance").unwrap();
    assert_eq!(said["item"]["text"], "Remember: my sister lives in Zanzibar.");
    assert!(said["score"].as_f64().unwrap() > 0.0 && !said["signals"].as_array().unwrap().is_empty(), "{said}");
    let fact = reasons.iter().find(|one| one["leg"] == "fact").unwrap();
    assert_eq!(fact["item"]["source"]["text"], "Remember: my sister lives in Zanzibar.");
    let is_of_the_bins = |one: &&Value| one["item"]["text"] == "The bins go out on Tuesday.";
    let score = |one: &Value| one["score"].as_f64().unwrap();
    let bins = reasons.iter().find(is_of_the_bins);
    assert!(bins.is_none_or(|bins| score(bins) < 0.0 && score(said) > 0.0), "it does not fit: {reasons:?}");

    let bins = browser.get("/api/memory/search?text=bins").await["said"][0]["item"]["id"].as_str().unwrap().to_owned();
    let pin = browser.ask(Method::PUT, &format!("/api/memory/items/{bins}/pin")).json(&object!({ "pinned": true }));
    assert_eq!(pin.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    // Where it was shown just now, it rests.
    hob.model.reply(Reply::text("There."));
    let second = asked_in("elsewhere", &browser, "m5", "And where is she at home?").await;
    let why = browser.get(&format!("/api/memory/why/{second}")).await;
    let reasons = why["recalled"].as_array().unwrap();
    let pinned = reasons.iter().find(|one| one["item"]["id"] == bins.as_str()).unwrap();
    assert_eq!(pinned["leg"], "salience");
    assert_eq!(texts(&browser.get("/api/memory/items?pinned=true").await["items"]), ["The bins go out on Tuesday."]);

    let answers = browser.get("/api/memory/answers").await;
    let runs: Vec<i64> =
        answers["answers"].as_array().unwrap().iter().map(|one| one["run"].as_i64().unwrap()).collect();
    assert_eq!(runs[..2], [second, first], "the newest first");
    assert_eq!(status(&browser, Method::GET, "/api/memory/why/999").await, StatusCode::NOT_FOUND);
    let pin = browser.ask(Method::PUT, "/api/memory/items/f999/pin").json(&object!({ "pinned": true }));
    assert_eq!(pin.send().await.unwrap().status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn n8_what_is_forgotten_on_the_page_leaves_no_byte() {
    let mut hob = hob("").await;
    let browser = remembering(&mut hob).await;
    let memory = browser.get("/api/memory/search?text=zanzibar").await["said"][0]["item"]["id"].clone();
    let path = format!("/api/memory/items/{}", memory.as_str().unwrap());
    let gone = json(browser.ask(Method::DELETE, &path).send().await.unwrap()).await;
    assert_eq!(gone["items"][0], memory);
    assert_eq!(gone["items"].as_array().unwrap().len(), 2, "the fact rested on it: {gone}");
    assert_eq!(gone["later"], false);
    assert_eq!(status(&browser, Method::DELETE, &path).await, StatusCode::NOT_FOUND);
    let found = browser.get("/api/memory/search?text=zanzibar").await;
    assert!(found["said"].as_array().unwrap().is_empty() && found["facts"].as_array().unwrap().is_empty(), "{found}");
    asked(&browser, &hob, ("m7", "What did I say?"), Reply::text("That I may not say.")).await;
    let last = hob.model.requests().pop().unwrap().body.to_string().to_lowercase();
    assert!(last.contains("[forgotten]") && !last.contains("zanzibar"), "{last}");
    hob.stop().await;
    let bytes = std::fs::read(hob.path("data/hob.db")).unwrap().to_ascii_lowercase();
    assert!(!bytes.windows(8).any(|window| window == b"zanzibar"), "the word is still in the file");
}

#[tokio::test]
async fn n8_everything_of_somebody_goes_and_what_is_others_stays() {
    let mut hob = hob("").await;
    let browser = remembering(&mut hob).await;
    hob.ask(ADA, "I collect stamps from Peru", Reply::text("How nice.")).await;
    let scopes = browser.get("/api/memory").await["scopes"].as_array().unwrap().clone();
    let own = scopes.iter().find(|of| of["facts"] == 1).unwrap();
    let (scope, said) = (own["scope"].as_str().unwrap(), own["said"].as_i64().unwrap());
    assert_eq!(said, 2);
    let path = format!("/api/memory/scopes/{scope}/forget");
    let post = |sure: &str| browser.ask(Method::POST, &path).json(&object!({ "sure": sure })).send();
    assert_eq!(post("house").await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(browser.get("/api/memory").await["scopes"].as_array().unwrap().len(), scopes.len(), "nothing is gone");
    let gone = json(post(scope).await.unwrap()).await;
    assert_eq!(gone, object!({ "said": 2, "facts": 1, "people": 0 }));
    assert_eq!(texts(&browser.get("/api/memory/items").await["items"]), ["I collect stamps from Peru"]);
    assert!(texts(&browser.get("/api/memory/items?kind=facts").await["items"]).is_empty());
    hob.stop().await;
    let bytes = std::fs::read(hob.path("data/hob.db")).unwrap().to_ascii_lowercase();
    assert!(!bytes.windows(8).any(|window| window == b"zanzibar"), "the word is still in the file");
}

#[tokio::test]
async fn n8_lists_go_on_by_key_and_the_export_is_the_command_lines() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    std::fs::write(hob.path("in.jsonl"), lines(120)).unwrap();
    told(&hob, &["memory", "import", hob.path("in.jsonl").to_str().unwrap()]).await;
    for kind in ["said", "facts"] {
        let (mut seen, mut pages, mut next) = (Vec::new(), 0, String::new());
        loop {
            let page = browser.get(&format!("/api/memory/items?kind={kind}&scope=house{next}")).await;
            seen.extend(texts(&page["items"]).into_iter().map(str::to_owned));
            pages += 1;
            match page["next"].as_str() {
                Some(key) => next = format!("&before={key}"),
                None => break,
            }
        }
        let expected: Vec<String> = (0..120).rev().map(|number| format!("Note {number} of the ship's log")).collect();
        assert_eq!((seen, pages), (expected, 3), "{kind}");
    }
    assert_eq!(status(&browser, Method::GET, "/api/memory/items?before=5").await, StatusCode::UNPROCESSABLE_ENTITY);
    let export = browser.ask(Method::GET, "/api/memory/export").send().await.unwrap();
    let name = export.headers()["content-disposition"].to_str().unwrap().to_owned();
    assert!(name.starts_with("attachment; filename=\"hob-memory-"), "{name}");
    let text = export.text().await.unwrap();
    assert_eq!(text.lines().count(), 240);
    assert_eq!(text, told(&hob, &["memory", "export"]).await);
}

#[tokio::test]
async fn n8_people_are_shown_with_what_is_kept_and_forgotten() {
    let mut hob = hob("").await;
    let browser = remembering(&mut hob).await;
    let emma = object!({ "kind": "person", "scope": "house", "name": "Emma <b>", "relation": "plumber", "birthday": "--05-03",
        "identities": [{ "kind": "email", "value": "emma@example.org" }],
        "known_since": "2024-05-03T10:00:00Z", "changed_at": "2024-05-03T10:00:00Z" });
    let known = object!({ "kind": "fact", "scope": "house", "category": "people", "key": "van", "value": "is green",
        "about": "Emma <b>", "speaker": "Ada", "source": "told", "confidence": 1.0, "importance": 0.5,
        "known_since": "2024-05-03T10:00:00Z" });
    std::fs::write(hob.path("in.jsonl"), format!("{emma}\n{known}\n")).unwrap();
    told(&hob, &["memory", "import", hob.path("in.jsonl").to_str().unwrap()]).await;
    let users = browser.get("/api/memory/users").await;
    let owner = &users["users"][0];
    assert_eq!((&owner["role"], &owner["said"], &owner["facts"]), (&object!("owner"), &object!(2), &object!(1)));
    assert!(owner["identities"].as_array().unwrap().contains(&object!({ "kind": "web", "value": "owner" })), "{owner}");
    let people = browser.get("/api/memory/people").await;
    let emma = &people["people"][0];
    assert_eq!(
        (&emma["name"], &emma["relation"], &emma["facts"]),
        (&object!("Emma <b>"), &object!("plumber"), &object!(1))
    );
    let path = format!("/api/memory/people/{}", emma["id"]);
    assert_eq!(texts(&browser.get(&format!("{path}/facts")).await["facts"]), ["is green"]);
    let gone = json(browser.ask(Method::DELETE, &path).send().await.unwrap()).await;
    assert_eq!(gone["items"].as_array().unwrap().len(), 1, "{gone}");
    assert_eq!(status(&browser, Method::DELETE, &path).await, StatusCode::NOT_FOUND);
    assert_eq!(status(&browser, Method::GET, &format!("{path}/facts")).await, StatusCode::NOT_FOUND);
    assert_eq!(browser.get("/api/memory/people").await["people"], object!([]));
}

#[tokio::test]
async fn n8_viewers_of_memory_change_nothing_and_strangers_see_nothing() {
    let mut hob = hob("").await;
    let browser = remembering(&mut hob).await;
    let link = told(&hob, &["web", "--viewer"]).await;
    let mut viewer = Browser::new(&browser.root);
    viewer.enter(link.split('#').nth(1).unwrap().split_whitespace().next().unwrap()).await;
    let looks = [
        "/api/memory",
        "/api/memory/items",
        "/api/memory/items/m1",
        "/api/memory/search?text=bins",
        "/api/memory/answers",
        "/api/memory/why/1",
        "/api/memory/users",
        "/api/memory/people",
    ];
    let stranger = Browser::new(&browser.root);
    for path in looks {
        assert_eq!(status(&viewer, Method::GET, path).await, StatusCode::OK, "{path}");
        assert_eq!(status(&stranger, Method::GET, path).await, StatusCode::UNAUTHORIZED, "{path}");
    }
    let forbidden = [
        (Method::GET, "/api/memory/export", object!(null)),
        (Method::DELETE, "/api/memory/items/m1", object!(null)),
        (Method::PUT, "/api/memory/items/m1/pin", object!({ "pinned": true })),
        (Method::DELETE, "/api/memory/people/1", object!(null)),
        (Method::POST, "/api/memory/scopes/p1/forget", object!({ "sure": "p1" })),
    ];
    for (method, path, body) in forbidden {
        let sent = viewer.ask(method.clone(), path).json(&body).send().await.unwrap();
        assert_eq!(sent.status(), StatusCode::FORBIDDEN, "{method} {path}");
    }
    let both: BTreeSet<String> =
        texts(&browser.get("/api/memory/items").await["items"]).into_iter().map(str::to_owned).collect();
    assert_eq!(both.len(), 2, "all of it is still there");
    hob.stop().await;
    let pinned: i64 = hob.value("SELECT count(*) FROM memories WHERE pinned = 1").await;
    assert_eq!(pinned, 0);
}

/// How many vectors were asked for on the bill of whoever writes on the page.
async fn vectors_of_the_page(hob: &TestHob) -> i64 {
    let calls = "SELECT coalesce(sum(calls), 0) FROM spend WHERE model = 'embedding/m'
                 AND user_id IN (SELECT user_id FROM identities WHERE channel = 'web')";
    hob.value(calls).await
}

#[tokio::test]
async fn c2_what_is_looked_for_on_the_page_is_on_the_bill_of_who_looks() {
    let base_url = embeddings().await;
    let server = format!("[memory.embedding]\nkind = 'openai_compatible'\nmodel = 'm'\nbase_url = '{base_url}'");
    let mut hob = hob(&server).await;
    // With whom the house's bill is.
    hob.ask(OWNER, "Hello", Reply::text("Hello.")).await;
    let browser = Browser::entered(&mut hob).await;
    asked(&browser, &hob, ("m1", "The bins go out on Tuesday."), Reply::text("I see.")).await;
    let find = async |text: &str| {
        browser.get(&format!("/api/memory/search?text={text}")).await["how"] == "by words and by meaning"
    };
    within("vectors", async { while !find("bins").await {} }).await;
    let before = vectors_of_the_page(&hob).await;
    for text in ["tuesday", "rubbish", "street"] {
        assert!(find(text).await);
    }
    let calls = vectors_of_the_page(&hob).await - before;
    assert!(calls >= 3, "{calls}: her message's own vector is one at most");
    hob.nothing_refused();
}
