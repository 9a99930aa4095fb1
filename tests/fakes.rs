//! The fake models satisfy clients that are not ours: the Python packages that the providers publish.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

pub mod support;

use std::path::Path;

use serde_json::json;
use support::fake_anthropic::{FakeAnthropic, Reply as Claude, Script};
use support::fake_gemini::{self, FakeGemini, Script as Gemini};
use support::fake_model::{FakeModel, Reply};
use support::fake_ollama::{FakeOllama, Model, Script as Ollama};
use support::fake_transcription::FakeTranscription;
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
    fake.reply(Claude::status(429)).reply(Claude::status(529)).reply(Claude::status(401)).reply(Claude::text("A dot."));
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
    'A dot.'
    messages.0.content.0.image.source.base64.data: Image does not match the provided media type image/gif
    ");
}

#[tokio::test]
async fn openais_client_understands_the_fake() {
    let fake = FakeModel::start().await;
    fake.require_key("sk-test").reply(Reply::call("look", "{\"at\": \"Köln\"}")).reply(Reply::text("I saw it."));
    fake.reply(Reply::status(429)).reply(Reply::status(401)).reply(Reply::text("A dot."));
    let said = said_by(include_str!("fakes/openai_client.py"), &fake.base_url()).await;
    insta::assert_snapshot!(said, @r#"
    look {"at": "Köln"}
    refused: invalid_request_error
    I saw it. 18 stop
    RateLimitError rate_limit_exceeded
    AuthenticationError invalid_api_key
    A dot.
    refused: Error code: 400 - Invalid 'messages[0]': You uploaded an unsupported image. Please make sure your image is valid.
    refused: Error code: 400 - Invalid 'messages[0]': Invalid MIME type. Only image types are supported: "image/bmp"
    "#);
}

#[tokio::test]
async fn googles_client_understands_the_fake() {
    let fake = FakeGemini::start("gemini-3-flash-preview").await;
    let first = Gemini::default().words("Let me see.").call("look", &json!({"at": "Köln"}), Some("c2ln"));
    fake.says(first.call("look", &json!({}), None).finish("STOP"));
    fake.says(Gemini::default().words("I saw it.").finish("STOP")).reply(fake_gemini::quota("7s"));
    fake.says(Gemini::default().words("A dot.").finish("STOP"));
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
    'A dot.'
    400 * GenerateContentRequest.contents[0].parts[0]: Unsupported MIME type: image/gif
    400 * GenerateContentRequest.contents[0].parts[0]: Unable to process input image.
    ");
}

#[tokio::test]
async fn ollamas_client_understands_the_fake() {
    let fake = FakeOllama::start(Model::default()).await;
    let first = Ollama::default().thinks("hm, 東京").words("Let me see.").call("look", &json!({"at": "Köln"}));
    fake.says(first.finish("stop")).says(Ollama::default().words("I saw it.").finish("stop"));
    fake.says(Ollama::default().line(&json!({"error": "an error was encountered while running the model"})));
    fake.says(Ollama::default().words("A dot.").finish("stop"));
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
    'A dot.'
    400 messages[0]: Failed to load image or audio file
    "#);
}

#[tokio::test]
async fn openais_client_has_recordings_heard_by_the_fake() {
    let fake = FakeTranscription::start().await;
    fake.require_key("sk-test").hears("Guten Tag", 3).hears("Hello", 2).fails(500);
    let said = said_by(include_str!("fakes/transcription_client.py"), &fake.base_url()).await;
    insta::assert_snapshot!(said, @r#"
    'Guten Tag' duration
    'Hello' tokens
    BadRequestError None Invalid file format. Supported formats: ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"]
    BadRequestError None Audio file might be corrupted or unsupported
    NotFoundError model_not_found The model `whisper-9` does not exist or you do not have access to it.
    BadRequestError None Invalid language: language must be in ISO-639-1 format.
    BadRequestError None response_format 'text' is not compatible with model 'gpt-4o-transcribe'. Use 'json' instead.
    APIStatusError None Maximum content size limit (26214400) exceeded (26214404 bytes read)
    InternalServerError None It failed.
    AuthenticationError invalid_api_key Incorrect API key provided: sk-***.
    "#);
}
