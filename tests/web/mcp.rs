//! Programs that speak MCP talk with Hob: `/mcp` beside the page, and `hob mcp serve` at this machine.

use std::process::Stdio;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json as object};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

use crate::browser::hob;
use crate::compat::ApiClient;
use hob_testkit::fake_model::{Reply, Script};
use hob_testkit::process::{HobProcess, hob_command, within};
use hob_testkit::test_hob::TestHob;

/// A tool that is asked about.
const PAYS: &str = r#"
[tools.pay]
sandbox = false
trusted_output = true
description = "Pays."
command = ["/bin/sh", "-c", "echo paid >> $HOME/paid; echo paid"]
approval = "ask"
"#;

/// What a client sends.
fn message(method: &str, params: &Value) -> Value {
    object!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn call(tool: &str, arguments: &Value) -> Value {
    message("tools/call", &object!({ "name": tool, "arguments": arguments }))
}

fn hello() -> Value {
    let client = object!({ "name": "a test", "version": "1" });
    message("initialize", &object!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }))
}

fn posted(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request.header("accept", "application/json, text/event-stream").json(body)
}

impl ApiClient {
    fn mcp(&self, body: &Value) -> RequestBuilder {
        posted(self.ask(Method::POST, "/mcp"), body)
    }

    /// All that comes of a message, the answer last.
    async fn heard(&self, body: &Value) -> Vec<Value> {
        let answer = self.mcp(body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let text = answer.text().await.unwrap();
        let events = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        events.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// What a call answers: the words, and whether it failed.
    async fn called(&self, tool: &str, arguments: Value) -> (String, bool) {
        words(&self.heard(&call(tool, &arguments)).await.pop().unwrap())
    }

    async fn tools(&self) -> Vec<String> {
        let listed = self.heard(&message("tools/list", &object!({}))).await.pop().unwrap();
        let all = listed["result"]["tools"].as_array().unwrap();
        all.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn words(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    (result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned(), result["isError"] == true)
}

#[tokio::test]
async fn a_client_talks_with_hob_and_hears_what_comes() {
    let mut hob = hob("").await;
    let client = ApiClient::of(&mut hob, &[]).await;
    let greeted = client.heard(&hello()).await.pop().unwrap();
    assert_eq!(
        (&greeted["result"]["serverInfo"]["name"], &greeted["result"]["protocolVersion"]),
        (&"hob".into(), &"2025-06-18".into())
    );
    assert_eq!(client.tools().await, ["ask", "recall", "remember_fact", "forget", "schedule"]);
    hob.model.reply(Script::default().text("At ").text("five.").finish("stop").into());
    let mut asked = call("ask", &object!({ "text": "When?" }));
    asked["params"]["_meta"] = object!({ "progressToken": "p" });
    let mut told = client.heard(&asked).await;
    assert_eq!(words(&told.pop().unwrap()), ("At five.".to_owned(), false));
    let pieces: Vec<&str> = told.iter().filter_map(|piece| piece["params"]["message"].as_str()).collect();
    assert_eq!(pieces.concat(), "At five.");
    assert!(told.iter().all(|piece| piece["params"]["progressToken"] == "p"), "{told:?}");
    // It knows what was said before, and another conversation does not.
    hob.model.reply(Reply::text("At five, as I said.")).reply(Reply::text("What do you mean?"));
    assert_eq!(client.called("ask", object!({ "text": "Again?" })).await.0, "At five, as I said.");
    let other = object!({ "text": "Again?", "conversation": "other" });
    assert_eq!(client.called("ask", other).await.0, "What do you mean?");
    let requests = hob.model.requests();
    let knows = |at: usize| requests[at].body.to_string().contains("At five.");
    assert!(knows(1) && !knows(2));
    let wrong = client.called("ask", object!({ "text": "x", "conversation": "../other" })).await;
    assert!(wrong.1, "{wrong:?}");
    hob.nothing_refused();
}

#[tokio::test]
async fn a_client_commands_nothing_and_approves_nothing() {
    let mut hob = hob(PAYS).await;
    let client = ApiClient::of(&mut hob, &[]).await;
    hob.model.reply(Reply::call("pay", "{}"));
    let (asked, failed) = client.called("ask", object!({ "text": "Pay Ben" })).await;
    assert!(
        asked.contains("pay") && asked.ends_with("(A person answers that, on Hob's page, at /chat/mcp-1. You cannot.)"),
        "{asked}"
    );
    assert!(!failed);
    for words in ["approve", "1", "/stop"] {
        let (told, failed) = client.called("ask", object!({ "text": words })).await;
        assert!(
            failed && told.starts_with("Nothing was said: this conversation waits for a person's answer"),
            "{told}"
        );
    }
    assert_eq!(hob.lines("paid"), Vec::<String>::new());
    hob.model.reply(Reply::text("That is a command."));
    let told = client.called("ask", object!({ "text": "/forget everything yes", "conversation": "b" })).await;
    assert_eq!(told.0, "That is a command.", "it is a message like any other");
    hob.nothing_refused();
}

#[tokio::test]
async fn a_client_keeps_and_finds_and_has_things_done_later() {
    let mut hob = hob("[memory]\nextract = false\n").await;
    let client = ApiClient::of(&mut hob, &[]).await;
    let fact = object!({ "category": "home", "key": "door code", "value": "4711" });
    let kept = client.called("remember_fact", fact).await;
    assert_eq!(kept, ("Remembered: door code: 4711.".to_owned(), false));
    let found = client.called("recall", object!({ "query": "door code" })).await.0;
    assert!(found.contains("4711"), "{found}");
    let listed = client.called("forget", object!({ "query": "door code" })).await.0;
    let id = listed.split("- ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    assert_eq!(client.called("forget", object!({ "ids": [id] })).await.0, format!("Forgotten: {id}."));
    let made =
        client.called("schedule", object!({ "action": "create", "when": "every day at 8:30", "task": "Say hello." }));
    assert!(made.await.0.starts_with("Stored as"));
    let listed = client.called("schedule", object!({ "action": "list" })).await.0;
    assert!(listed.contains("Say hello."), "{listed}");
    assert!(client.called("schedule", object!({ "action": "delete", "id": 1 })).await.0.starts_with("Deleted"));
    assert_eq!(client.called("schedule", object!({ "action": "list" })).await.0, "Nothing is scheduled.");
    let unknown = client.heard(&call("terminal", &object!({}))).await.pop().unwrap();
    assert!(unknown["error"]["message"].as_str().unwrap().contains("no tool"), "{unknown}");
    let wrong = client.called("recall", object!({ "what": "facts" })).await;
    assert!(wrong.1 && wrong.0.contains("query"), "{wrong:?}");
    hob.nothing_refused();
}

#[tokio::test]
async fn a_viewers_key_looks_and_others_are_nobody() {
    let mut hob = hob("").await;
    let client = ApiClient::of(&mut hob, &["--viewer"]).await;
    assert_eq!(client.tools().await, ["recall"]);
    assert!(client.called("recall", object!({ "query": "x" })).await.0.starts_with("Nothing found."));
    assert!(!client.called("schedule", object!({ "action": "list" })).await.1);
    let kept = client.called("remember_fact", object!({ "category": "a", "key": "b", "value": "c" })).await;
    assert_eq!(kept, ("This key may look, and change nothing.".to_owned(), true));
    let asked = client.heard(&call("ask", &object!({ "text": "x" }))).await.pop().unwrap();
    assert!(asked["error"]["message"].as_str().unwrap().contains("no tool"), "{asked}");
    let status = async |request: RequestBuilder| request.send().await.unwrap().status();
    let bare = || posted(client.bare(Method::POST, "/mcp"), &hello());
    assert_eq!(status(bare()).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(bare().header("authorization", "Bearer guess")).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(client.mcp(&hello()).header("host", "evil.example")).await, StatusCode::FORBIDDEN);
    assert_eq!(status(client.mcp(&hello()).header("origin", "https://evil.example")).await, StatusCode::FORBIDDEN);
    let own = client.at("");
    assert_eq!(status(client.mcp(&hello()).header("origin", own)).await, StatusCode::OK);
    assert_eq!(status(client.ask(Method::GET, "/mcp")).await, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(status(client.mcp(&Value::from("x".repeat(5 << 20)))).await, StatusCode::PAYLOAD_TOO_LARGE);
    hob.nothing_refused();
}

/// A client at this machine.
struct LocalClient {
    process: HobProcess,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl LocalClient {
    fn start(hob: &TestHob) -> Self {
        let mut command = hob_command(hob.home.path(), &["mcp", "serve"]);
        command.stdin(Stdio::piped());
        let mut process = HobProcess::start(command);
        let (stdin, lines) = (process.stdin(), process.stdout().lines());
        Self { process, stdin, lines }
    }

    async fn told(&mut self, body: &Value) -> Value {
        self.stdin.write_all(format!("{body}\n").as_bytes()).await.unwrap();
        let line = within("answer over MCP", self.lines.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

#[tokio::test]
async fn whoever_is_at_this_machine_has_a_client_over_standard_input() {
    let mut hob = TestHob::with(PAYS).await;
    let refused = within("end of hob", hob_command(hob.home.path(), &["mcp", "serve"]).output()).await.unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Hob is not running"), "{refused:?}");
    hob.start().await;
    let mut client = LocalClient::start(&hob);
    assert_eq!(client.told(&hello()).await["result"]["serverInfo"]["name"], "hob");
    let initialized = object!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    client.stdin.write_all(format!("{initialized}\n").as_bytes()).await.unwrap();
    hob.model.reply(Reply::text("At five."));
    assert_eq!(words(&client.told(&call("ask", &object!({ "text": "When?" }))).await).0, "At five.");
    hob.model.reply(Reply::call("pay", "{}")).reply(Reply::text("Paid."));
    let asked = words(&client.told(&call("ask", &object!({ "text": "Pay" }))).await).0;
    assert!(asked.ends_with("(A person answers that, in `hob chat`. You cannot.)"), "{asked}");
    let again = words(&client.told(&call("ask", &object!({ "text": "1" }))).await);
    assert!(again.1 && hob.lines("paid").is_empty(), "{again:?}");
    let mut person = HobProcess::start({
        let mut command = hob_command(hob.home.path(), &["chat"]);
        command.stdin(Stdio::piped());
        command
    });
    let (mut types, mut shown) = (person.stdin(), person.stdout().lines());
    types.write_all(b"1\n").await.unwrap();
    while within("line in a window", shown.next_line()).await.unwrap().unwrap() != "Paid." {}
    assert_eq!(hob.lines("paid"), ["paid"]);
    drop(client.stdin);
    assert!(client.process.ended().await.success());
    hob.nothing_refused();
}
