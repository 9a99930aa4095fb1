//! Programs that expect a model of OpenAI's talk with Hob.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::path::Path;
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json as object};
use tokio::process::Command;

use crate::browser::{Browser, hob, json, root};
use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{PAYS, TestHob};

/// Python takes its time to begin where many tests run at once.
const CLIENT_PATIENCE: Duration = Duration::from_secs(600);
/// A program, and the key that it shows.
pub(crate) struct ApiClient {
    browser: Browser,
    pub(crate) key: String,
}

impl ApiClient {
    /// One that was given a key.
    pub(crate) async fn of(hob: &mut TestHob, arguments: &[&str]) -> Self {
        let arguments = [&["web", "token", "add", "program"], arguments].concat();
        let output = hob_command(hob.home.path(), &arguments).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let key = String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned();
        Self { browser: Browser::new(&root(hob).await), key }
    }

    /// The address of this path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.browser.root)
    }

    /// A request without the key.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.browser.bare(method, path)
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.browser.bare(method, path).header("authorization", format!("Bearer {}", self.key))
    }

    /// Says all of this, the last of it being new.
    fn says(&self, said: &[&str]) -> RequestBuilder {
        self.asks(&object!({ "model": "hob", "messages": messages(said) }))
    }

    pub(crate) fn asks(&self, body: &Value) -> RequestBuilder {
        self.ask(Method::POST, "/v1/chat/completions").json(body)
    }

    /// What Hob answers to that.
    async fn told(&self, said: &[&str]) -> String {
        content(&json(self.says(said).send().await.unwrap()).await)
    }
}

/// A person and Hob by turns.
pub(crate) fn messages(said: &[&str]) -> Value {
    let role = |index: usize| if index.is_multiple_of(2) { "user" } else { "assistant" };
    said.iter().enumerate().map(|(index, words)| object!({ "role": role(index), "content": words })).collect()
}

pub(crate) fn content(answer: &Value) -> String {
    answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

/// What a request said to the model, by everybody but Hob's own words before it.
fn said(hob: &TestHob, request: usize) -> Vec<String> {
    let asked = hob.model.requests();
    let words = asked[request].messages().iter().filter(|message| message["role"] != "system");
    words
        .map(|message| message["content"].as_str().unwrap_or_default().lines().last().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn e3_e13_an_answer_that_says_nothing_says_so() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    hob.model.reply(Reply::text("NO_REPLY")).reply(Reply::text("NO_REPLY")).reply(Reply::text("Words."));
    let answer = json(program.says(&["Say nothing"]).send().await.unwrap()).await;
    assert_eq!((content(&answer).as_str(), &answer["silent"]), ("", &Value::Bool(true)));
    let asked =
        object!({ "model": "hob", "stream": true, "messages": [{ "role": "user", "content": "Nothing again" }] });
    let streamed = program.asks(&asked).send().await.unwrap().text().await.unwrap();
    assert_eq!(streamed.matches(r#""silent":true"#).count(), 1, "{streamed}");
    let spoken = json(program.says(&["Say words"]).send().await.unwrap()).await;
    assert_eq!((content(&spoken).as_str(), spoken.get("silent")), ("Words.", None));
    hob.nothing_refused();
}

#[tokio::test]
async fn openais_own_client_talks_with_hob() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    hob.model.reply(Reply::text("At **five**.")).reply(Reply::text("Plum cake.")).reply(Reply::text("A dot."));
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python-clients/bin/python");
    assert!(python.exists(), "the clients are missing: run scripts/python-clients (it needs a network, once)");
    let mut command = Command::new(python);
    command.args(["-c", include_str!("clients/openai_client.py")]);
    command.args([&format!("{}/v1", program.browser.root), &program.key]).env_clear().kill_on_drop(true);
    let output = tokio::time::timeout(CLIENT_PATIENCE, command.output()).await.unwrap().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(said, @"
    ['hob', 'hob-voice'] hob
    assistant 'At **five**.' stop 18
    'Plum cake.' stop 18
    A dot.
    NotFoundError model_not_found model
    BadRequestError unsupported_parameter n
    BadRequestError None messages
    BadRequestError unsupported_parameter response_format
    AuthenticationError invalid_api_key None
    ");
    assert_eq!(hob.model.requests()[2].pictures().len(), 1);
    hob.nothing_refused();
}

#[tokio::test]
async fn a_history_that_is_sent_again_is_not_heard_twice() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    hob.model.reply(Reply::text("At five.")).reply(Reply::text("Plum cake.")).reply(Reply::text("At six."));
    assert_eq!(program.told(&["Tea?"]).await, "At five.");
    let second = program.says(&["Tea?", "At five.", "Cake?"]).send().await.unwrap();
    let session = second.headers()["x-hob-session"].to_str().unwrap().to_owned();
    assert_eq!(content(&json(second).await), "Plum cake.");
    assert_eq!(said(&hob, 1), ["Tea?", "At five.", "Cake?"]);
    // Another conversation that begins with the same words knows nothing of the first, and each goes on by itself.
    assert_eq!(program.told(&["Tea?"]).await, "At six.");
    assert_eq!(said(&hob, 2), ["Tea?"]);
    hob.model.reply(Reply::text("No.")).reply(Reply::text("Yes."));
    assert_eq!(program.told(&["Tea?", "At six.", "Sure?"]).await, "No.");
    assert_eq!(said(&hob, 3), ["Tea?", "At six.", "Sure?"]);
    assert_eq!(program.told(&["Tea?", "At five.", "Cake?", "Plum cake.", "Sure?"]).await, "Yes.");
    assert_eq!(said(&hob, 4).len(), 5);
    // Its name leads to it as well, here and on the page.
    hob.model.reply(Reply::text("It was tea."));
    let named = program.says(&["What was it?"]).header("x-hob-session", &session);
    assert_eq!(content(&json(named.send().await.unwrap()).await), "It was tea.");
    assert_eq!(said(&hob, 5).len(), 7);
    let timeline =
        json(program.ask(Method::GET, &format!("/api/chats/{session}/messages")).send().await.unwrap()).await;
    assert_eq!(timeline["messages"].as_array().unwrap().len(), 8);
    hob.nothing_refused();
}

#[tokio::test]
async fn an_answer_comes_as_it_is_written() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let gate = Gate::default();
    hob.model.reply(Reply::call("current_time", "{}"));
    hob.model.reply(Script::default().text("Nearly ").gate(&gate).text("**noon**.").finish("stop").into());
    let body = object!({ "model": "hob", "messages": messages(&["What time is it?"]), "stream": true,
        "stream_options": { "include_usage": true } });
    let response = program.asks(&body).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut bytes, mut text, mut held) = (response.bytes_stream(), String::new(), Some(gate));
    while let Some(piece) = within("more of the answer", bytes.next()).await {
        let piece: Vec<u8> = piece.unwrap().into();
        text += std::str::from_utf8(&piece).unwrap();
        if text.contains("Nearly") {
            held.take().iter().for_each(Gate::open);
        }
    }
    let events: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(events.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> =
        events[..events.len() - 1].iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let pieces: Vec<&str> =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(pieces.concat(), "Nearly **noon**.");
    assert!(pieces.len() >= 3, "{pieces:?}");
    let [end, usage] = &chunks[chunks.len() - 2..] else { panic!("{text}") };
    assert_eq!((&end["choices"][0]["finish_reason"], &end["usage"]), (&object!("stop"), &Value::Null));
    // Both calls of the model count, as the model itself has counted them.
    let used = hob.value::<i64>("SELECT sum(input_tokens + output_tokens) FROM model_calls").await;
    assert_eq!((&usage["choices"], usage["usage"]["total_tokens"].as_i64()), (&object!([]), Some(used)));
    assert!(used > 0);
    hob.nothing_refused();
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_answered_once() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).text("Bob it is.").finish("stop").into());
    let again = || program.says(&["Pay Bob."]).header("idempotency-key", "k-1").send();
    let (first, second) = (tokio::spawn(again()), tokio::spawn(again()));
    gate.reached().await;
    gate.open();
    let (first, second) = (json(first.await.unwrap().unwrap()).await, json(second.await.unwrap().unwrap()).await);
    assert_eq!((content(&first).as_str(), &first), ("Bob it is.", &second));
    assert_eq!(json(again().await.unwrap()).await, first, "and later, too");
    // OpenAI's own clients have no name for a request, but say that they try again.
    let retry = program.says(&["Pay Ann."]).header("x-stainless-retry-count", "1");
    hob.model.reply(Reply::text("Ann it is."));
    assert_eq!(
        content(&json(retry.try_clone().unwrap().send().await.unwrap()).await),
        "Ann it is.",
        "it never arrived"
    );
    assert_eq!(content(&json(retry.send().await.unwrap()).await), "Ann it is.");
    assert_eq!(hob.model.requests().len(), 2);
    hob.model.reply(Reply::text("Once more."));
    assert_eq!(program.told(&["Pay Bob."]).await, "Once more.", "without a name it is another");
}

#[tokio::test]
async fn a_named_request_stays_where_it_was_whatever_began_alike_since() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    hob.model.reply(Reply::text("Hello!")).reply(Reply::text("Bob it is.")).reply(Reply::text("Hello!"));
    assert_eq!(program.told(&["Hi"]).await, "Hello!");
    let pay = || program.says(&["Hi", "Hello!", "Pay Bob."]).header("idempotency-key", "k-1").send();
    let paid = json(pay().await.unwrap()).await;
    assert_eq!(content(&paid), "Bob it is.");
    assert_eq!(program.told(&["Hi"]).await, "Hello!", "another conversation");
    assert_eq!(json(pay().await.unwrap()).await, paid);
    assert_eq!(hob.model.requests().len(), 3, "nobody is paid twice");
}

#[tokio::test]
async fn d6_an_approval_is_asked_in_words_and_answered_by_the_next_message() {
    let mut hob = hob(PAYS).await;
    let program = ApiClient::of(&mut hob, &[]).await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Bob"}"#)).reply(Reply::text("Paid."));
    let asked = program.told(&["Pay Bob."]).await;
    assert!(asked.starts_with("May I do this?") && asked.contains("\n1. "), "{asked}");
    assert!(asked.ends_with("(Your next message answers this: the number, or the words.)"), "{asked}");
    assert_eq!(program.told(&["Pay Bob.", &asked, "1"]).await, "Paid.");
    assert_eq!(hob.lines("paid"), ["Bob"]);
    let help = program.told(&["Pay Bob.", &asked, "1", "Paid.", "/help"]).await;
    assert!(help.contains("/stop"), "{help}");
    hob.nothing_refused();
}

#[tokio::test]
async fn who_hangs_up_loses_nothing() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let mut listening = browser.listen("kitchen", None).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().text("At ").gate(&gate).text("five.").finish("stop").into());
    let body = object!({ "model": "hob", "messages": messages(&["Tea?"]), "stream": true });
    let request = program.asks(&body).header("x-hob-session", "kitchen").send();
    let response = request.await.unwrap();
    gate.reached().await;
    drop(response);
    gate.open();
    assert_eq!(listening.answer().await.data["text"], "At five.", "it stands on the page");
    hob.model.reply(Reply::text("I said five."));
    let next = program.says(&["What?"]).header("x-hob-session", "kitchen").send().await.unwrap();
    assert_eq!(content(&json(next).await), "I said five.");
    assert_eq!(said(&hob, 1), ["Tea?", "At five.", "What?"]);
}

#[tokio::test]
async fn a_restart_says_so_and_the_same_request_is_answered_after_it() {
    let mut hob = hob("").await;
    let program = ApiClient::of(&mut hob, &[]).await;
    let gate = Gate::default();
    hob.model.reply(Script::default().text("At ").gate(&gate).text("five.").finish("stop").into());
    let asked = program.says(&["Tea?"]).header("idempotency-key", "k-1");
    let waiting = tokio::spawn(asked.try_clone().unwrap().send());
    gate.reached().await;
    hob.process().signal(rustix::process::Signal::TERM);
    let response = waiting.await.unwrap().unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let told: Value = response.json().await.unwrap();
    assert_eq!(told["error"]["code"], "stopping", "{told}");
    gate.open();
    hob.process().ended().await;
    hob.process = None;
    hob.model.otherwise(|_| Reply::text("At five."));
    hob.start().await;
    let root = root(&mut hob).await;
    let program = ApiClient { browser: Browser::new(&root), ..program };
    let again = program.says(&["Tea?"]).header("idempotency-key", "k-1").send().await.unwrap();
    assert_eq!(content(&json(again).await), "At five.");
    assert_eq!(hob.value::<i64>("SELECT count(*) FROM inbound").await, 1);
}

#[tokio::test]
async fn n8_what_is_wrong_is_said_in_openais_way() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let program = ApiClient::of(&mut hob, &["--viewer"]).await;
    let body = object!({ "model": "hob", "messages": messages(&["Hi"]) });
    let error = async |request: RequestBuilder| {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let error = response.json::<Value>().await.unwrap()["error"].take();
        assert!(error["message"].is_string() && error["type"].is_string(), "{error}");
        (status, error["code"].as_str().unwrap_or_default().to_owned())
    };
    let post = "/v1/chat/completions";
    let expected = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(error(browser.bare(Method::POST, post).json(&body)).await, expected(401, "invalid_api_key"));
    assert_eq!(
        error(browser.ask(Method::POST, post).json(&body)).await,
        expected(401, "invalid_api_key"),
        "by a cookie"
    );
    assert_eq!(error(browser.bare(Method::GET, "/v1/models")).await, expected(401, "invalid_api_key"));
    assert_eq!(error(program.asks(&body)).await, expected(403, "insufficient_permissions"));
    assert_eq!(error(program.ask(Method::GET, "/v1/nothing")).await, expected(404, "unknown_url"));
    assert_eq!(error(program.ask(Method::GET, "/v1/models/gpt-5")).await, expected(404, "model_not_found"));
    assert_eq!(error(program.ask(Method::GET, post)).await, expected(405, "method_not_supported"));
    let foreign = program.asks(&body).header("host", "evil.example");
    assert_eq!(error(foreign).await, expected(403, "insufficient_permissions"));
    let owner = hob_command(hob.home.path(), &["web", "token", "add", "owner"]).output().await.unwrap();
    let key = String::from_utf8(owner.stdout).unwrap().lines().next().unwrap().to_owned();
    let owner = ApiClient { key, ..program };
    assert_eq!(error(owner.ask(Method::POST, post).body("{")).await, expected(400, ""));
    let unnamed = owner.asks(&body).header("x-hob-session", "../x");
    assert_eq!(error(unnamed).await, expected(422, ""));
    assert!(hob.model.requests().is_empty());
}
