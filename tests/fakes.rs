//! The fake models satisfy clients that are not ours: the Python packages that the providers publish.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

pub mod support;

use std::path::Path;

use serde_json::json;
use support::fake_anthropic::{FakeAnthropic, Reply as Claude, Script};
use support::fake_gemini::{self, FakeGemini, Script as Gemini};
use support::fake_model::{FakeModel, Reply};
use support::fake_ollama::{FakeOllama, Model, Script as Ollama};
use support::fake_slack::{FakeSlack, Fault};
use tokio::process::Command;

/// What the client says of the server under this address.
async fn said_by(client: &str, base_url: &str) -> String {
    said_with(client, &[base_url]).await
}

/// What the client says with these arguments.
async fn said_with(client: &str, arguments: &[&str]) -> String {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python-clients/bin/python");
    assert!(python.exists(), "the clients are missing: run scripts/python-clients (it needs a network, once)");
    let mut command = Command::new(python);
    command.args(["-c", client]).args(arguments).env_clear().kill_on_drop(true);
    let output = command.output().await.unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn anthropics_client_understands_the_fake() {
    let fake = FakeAnthropic::start().await;
    let first = Script::begin().thinking("hm, 東京", "Eq==").redacted("Zm9v").words("Let me see.");
    fake.require_key("sk-ant-test").reply(first.call("look", "{\"at\": \"Köln\"}").finish("tool_use"));
    fake.reply(Claude::text("I saw it."));
    fake.reply(Claude::status(429)).reply(Claude::status(529)).reply(Claude::status(401));
    let said = said_by(include_str!("fakes/anthropic_client.py"), &fake.base_url()).await;
    insta::assert_snapshot!(said, @"
    ['thinking', 'redacted_thinking', 'text', 'tool_use'] 'Let me see.' tool_use
    look {'at': 'Köln'} 11 7
    'I saw it.' I saw it. end_turn
    BadRequestError invalid_request_error
    RateLimitError rate_limit_error
    OverloadedError overloaded_error
    AuthenticationError authentication_error
    200000
    ");
}

#[tokio::test]
async fn openais_client_understands_the_fake() {
    let fake = FakeModel::start().await;
    fake.require_key("sk-test").reply(Reply::call("look", "{\"at\": \"Köln\"}")).reply(Reply::text("I saw it."));
    fake.reply(Reply::status(429)).reply(Reply::status(401));
    let said = said_by(include_str!("fakes/openai_client.py"), &fake.base_url()).await;
    insta::assert_snapshot!(said, @r#"
    look {"at": "Köln"}
    refused: invalid_request_error
    I saw it. 18 stop
    RateLimitError rate_limit_exceeded
    AuthenticationError invalid_api_key
    "#);
}

#[tokio::test]
async fn googles_client_understands_the_fake() {
    let fake = FakeGemini::start("gemini-3-flash-preview").await;
    let first = Gemini::default().words("Let me see.").call("look", &json!({"at": "Köln"}), Some("c2ln"));
    fake.says(first.call("look", &json!({}), None).finish("STOP"));
    fake.says(Gemini::default().words("I saw it.").finish("STOP")).reply(fake_gemini::quota("7s"));
    let said = said_by(include_str!("fakes/gemini_client.py"), &fake.root()).await;
    insta::assert_snapshot!(said, @"
    'Let me see.' FinishReason.STOP 11 5
    [('look', {'at': 'Köln'}, b'sig'), ('look', {}, None)]
    ClientError 400 INVALID_ARGUMENT
    'I saw it.' FinishReason.STOP
    ClientError 400 INVALID_ARGUMENT
    ClientError 429 RESOURCE_EXHAUSTED
    ClientError 404 NOT_FOUND
    1048576 65536
    ");
}

#[tokio::test]
async fn ollamas_client_understands_the_fake() {
    let fake = FakeOllama::start(Model::default()).await;
    let first = Ollama::default().thinks("hm, 東京").words("Let me see.").call("look", &json!({"at": "Köln"}));
    fake.says(first.finish("stop")).says(Ollama::default().words("I saw it.").finish("stop"));
    fake.says(Ollama::default().line(&json!({"error": "an error was encountered while running the model"})));
    let said = said_by(include_str!("fakes/ollama_client.py"), &fake.root()).await;
    insta::assert_snapshot!(said, @r#"
    'Let me see.' 'hm, 東京' stop 26 282
    [('look', {'at': 'Köln'})]
    400 calls without result: look
    'I saw it.'
    400 A request without num_ctx would be shortened to 4096 tokens.
    404 model 'llama9' not found
    -1 an error was encountered while running the model
    40960 ['completion', 'tools', 'thinking', 'vision']
    "#);
}

#[tokio::test]
async fn slacks_client_understands_the_fake() {
    let fake = FakeSlack::start().await;
    fake.person("U0ADA", "Ada");
    fake.channel("C0HALL");
    fake.channel("D0ADA");
    fake.fault("assistant.threads.setStatus", Fault::Limited(7));
    let people = async {
        fake.until_true("message of the client", |world| world.called("chat.postMessage") > 0).await;
        let asked = fake.look(|world| world.posts_of_bot("C0HALL")[0]["ts"].as_str().unwrap().to_owned());
        fake.say("D0ADA", "U0ADA", "hi");
        fake.press("C0HALL", &asked, "U0ADA", "One");
        fake.command("D0ADA", "U0ADA", "stop");
        fake.acknowledged().await;
    };
    let client = include_str!("fakes/slack_client.py");
    let arguments = [fake.api_url(), FakeSlack::BOT_TOKEN.to_owned(), FakeSlack::APP_TOKEN.to_owned()];
    let arguments = arguments.each_ref().map(String::as_str);
    let (said, ()) = tokio::join!(said_with(client, &arguments), people);
    insta::assert_snapshot!(said, @r#"
    U0HOB B0HOB
    invalid_auth 200 None
    connected True
    ["('events_api', 'message', 'Choose')", "('events_api', 'message', 'hi')", "('interactive', 'block_actions', None)", "('slash_commands', '/hob', None)"]
    B0HOB Chosen
    ['Chosen', 'in a thread'] {'id': '1'}
    pages [1, 1] ['C0HALL', 'D0ADA']
    Ada
    already_reacted 200 None
    no_reaction 200 None
    ratelimited 429 7
    taken
    invalid_blocks 200 None
    msg_too_long 200 None
    channel_not_found 200 None
    no_text 200 None
    4
    message_not_found 200 None
    "#);
}
