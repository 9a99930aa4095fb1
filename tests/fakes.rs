//! The fake models satisfy clients that are not ours: the Python packages that the providers publish.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

pub mod support;

use std::path::Path;

use serde_json::json;
use support::fake_anthropic::{FakeAnthropic, Reply as Claude, Script};
use support::fake_discord::world::{ADA, BOB, HALL, Post, THREAD};
use support::fake_discord::{FakeDiscord, Kick};
use support::fake_gemini::{self, FakeGemini, Script as Gemini};
use support::fake_model::{FakeModel, Reply};
use support::fake_ollama::{FakeOllama, Model, Script as Ollama};
use tokio::process::Command;

/// What the client says of the server under this address.
async fn said_by(client: &str, base_url: &str) -> String {
    said_with(client, &[base_url]).await
}

/// The same, told more than the address.
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
async fn discord_py_understands_the_fake() {
    let fake = FakeDiscord::start().await;
    let address = fake.api_url();
    let people = async {
        fake.until_identified(1).await;
        fake.say(HALL, ADA, "begin");
        let sent = fake.until("changed answer", |world| {
            world.by_bot(HALL).find(|message| message.content == "Hello!").map(|message| message.id)
        });
        let sent = sent.await;
        fake.until_true("deleted file", |world| world.called("DELETE messages") == 1).await;
        fake.until_true("look at a message", |world| world.called("GET messages") == 2).await;
        fake.press(HALL, BOB, (sent, "q:yes"));
        fake.command(THREAD, ADA, ("status", None));
        let settled = |world: &support::fake_discord::world::World| {
            let mut all = world.interactions.values();
            all.all(|known| known.answered.is_some() && (known.taken_back || !known.is_command))
        };
        fake.until_true("answers to both", settled).await;
        fake.kick(Kick::Reconnect);
        fake.until_true("resumed session", |world| world.resumed == 1).await;
        fake.post(Post::new(HALL, BOB, "look").with_file("b.txt", b"of bob"));
        fake.until_true("fetched file", |world| world.called("GET attachments") == 1).await;
        fake.say(HALL, ADA, "end");
    };
    let client = include_str!("fakes/discord_client.py");
    let told = [address.as_str(), FakeDiscord::TOKEN];
    let mut client = std::pin::pin!(said_with(client, &told));
    tokio::select! {
        said = &mut client => panic!("it ended by itself: {said}"),
        () = people => {}
    }
    let said = client.await;
    insta::assert_snapshot!(said, @r"
    LoginFailure
    commands ['status']
    ready hob_test Home ['hall', 'kitchen'] ['dinner']
    message ada 'begin' []
    history ['begin', 'Hello!']
    refused 400 50035
    refused 404 10008
    pressed bob q:yes
    command ada dinner
    resumed
    message bob 'look' ['b.txt']
    file b'of bob'
    message ada 'end' []
    ");
    fake.nothing_wrong();
}
