//! The fake models satisfy clients that are not ours: the Python packages that the providers publish.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

pub mod support;

use std::path::Path;

use support::fake_anthropic::{FakeAnthropic, Reply as Claude, Script};
use support::fake_model::{FakeModel, Reply};
use tokio::process::Command;

/// What the client says of the server under this address.
async fn said_by(client: &str, base_url: &str) -> String {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python-clients/bin/python");
    assert!(python.exists(), "the clients are missing: run scripts/python-clients (it needs a network, once)");
    let mut command = Command::new(python);
    command.args(["-c", client, base_url]).env_clear().kill_on_drop(true);
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
