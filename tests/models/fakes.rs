//! The fake models satisfy clients that are not ours: the Python packages that the providers publish.

use std::path::Path;

use hob_testkit::fake_anthropic::{FakeAnthropic, Reply as Claude, Script};
use hob_testkit::fake_discord::world::{ADA, BOB, HALL, Post as DiscordPost, THREAD};
use hob_testkit::fake_discord::{FakeDiscord, GatewayFault};
use hob_testkit::fake_gemini::{self, FakeGemini, Script as Gemini};
use hob_testkit::fake_model::{FakeModel, Reply};
use hob_testkit::fake_ollama::{FakeOllama, Model, Script as Ollama};
use hob_testkit::fake_responses::{FakeResponses, call, items, message, thought};
use hob_testkit::fake_slack::{FakeSlack, Fault as SlackFault};
use hob_testkit::fake_speech::FakeSpeech;
use hob_testkit::fake_telegram::world::{ChatKind, Post};
use hob_testkit::fake_telegram::{FakeTelegram, Fault};
use hob_testkit::fake_transcription::FakeTranscription;
use serde_json::json;
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
async fn openais_client_understands_the_fake_of_responses() {
    let fake = FakeResponses::start().await;
    fake.answer(items(&[thought("gAAAA1"), call("look", "{\"at\": \"Köln\"}")])).answer(items(&[message("I saw it.")]));
    let said = said_by(include_str!("fakes/openai_responses_client.py"), &fake.base_url()).await;
    insta::assert_snapshot!(said, @r#"
    ['reasoning', 'function_call'] completed 18
    look {"at": "Köln"}
    refused: No tool output found for function call call_look.
    refused: The encrypted content for item rs_0 could not be verified.
    refused: Item 'rs_0' of type 'reasoning' was provided without its required following item.
    I saw it.
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

#[tokio::test]
async fn openais_client_has_words_spoken_by_the_fake() {
    let fake = FakeSpeech::start().await;
    fake.require_key("sk-test").gives(hob_testkit::fake_speech::OPUS).gives(hob_testkit::fake_speech::OPUS);
    fake.gives(b"ID3\x04").fails(500);
    let said = said_by(include_str!("fakes/speech_client.py"), &fake.base_url()).await;
    insta::assert_snapshot!(said, @r#"
    audio/opus b'OggS' True
    audio/opus b'OggS' True
    audio/mpeg b'ID3\x04' False
    NotFoundError model_not_found The model `tts-9` does not exist or you do not have access to it.
    BadRequestError None Input should be one of ["alloy", "echo", "fable", "onyx", "nova", "shimmer"]
    BadRequestError None [{'type': 'string_too_short', 'loc': ('body', 'input')}]
    BadRequestError None [{'type': 'string_too_long', 'loc': ('body', 'input')}]
    BadRequestError None Input should be one of ["mp3", "opus", "aac", "flac", "wav", "pcm"]
    InternalServerError None It failed.
    AuthenticationError invalid_api_key Incorrect API key provided: sk-***.
    "#);
    assert_eq!(fake.said().len(), 4);
}

#[tokio::test]
async fn telegrams_client_understands_the_fake() {
    let fake = FakeTelegram::start().await;
    fake.group(-5, &[42]);
    fake.look(|world| {
        world.open(-77, ChatKind::Group).migrated_to = Some(-100_077);
        world.open(-78, ChatKind::Group);
    });
    let said = fake.say(7, "helo");
    fake.edit(7, said, "hello");
    fake.post(Post::new(-5, 7, "in a topic").in_topic(42));
    let origin = json!({"type": "hidden_user", "date": 1, "sender_user_name": "Bob"});
    fake.post(Post::new(7, 7, "not mine").with(json!({ "forward_origin": origin })));
    fake.album(7, 7, "g1", &["one", "two"]);
    fake.migrate(-78, -100_078);
    let asked = fake.look(|world| world.ask(7, "Sure?", "y"));
    fake.press(7, 7, asked, "y");
    let talk = async {
        // The client's last words but one, and then somebody speaks, and then it is a flood.
        fake.until_true("a webhook", |world| world.webhook.is_some()).await;
        fake.until_true("an invitation", |world| world.chat(7).by_bot().any(|sent| sent.text == "say something")).await;
        fake.fault("sendMessage", Fault::Flood(5));
        fake.say(7, "by call");
        std::future::pending().await
    };
    let url = format!("{}/{}", fake.api_url(), FakeTelegram::TOKEN);
    let said = tokio::select! {
        said = said_by(include_str!("fakes/telegram_client.py"), &url) => said,
        () = talk => String::new(),
    };
    insta::assert_snapshot!(said, @r#"
    hob_test_bot False
    'a < bold\nx' [(<MessageEntityType.BOLD>, 'bold', None), (<MessageEntityType.PRE>, 'x', 'rust')]
    BadRequest  Can't parse entities: unsupported start tag "blink" at byte 
    BadRequest  Can't parse entities: can't find end tag corresponding to st
    BadRequest  Can't parse entities: unexpected end tag at byte offset 1
    BadRequest  Can't parse entities: unclosed start tag at byte offset 2
    BadRequest  Message text is empty
    BadRequest  Message is too long
    True new italic
    BadRequest  Message is not modified: specified new message content and r
    BadRequest  Message to edit not found
    True True
    BadRequest  Reaction_invalid
    BadRequest  Message to react not found
    True
    BadRequest  Message to delete not found
    ChatMigrated -100077 Group migrated to supergroup. New chat id: -100077
    BadRequest  Message thread not found
    42
    True
    here [<MessageEntityType.UNDERLINE>]
    BadRequest  Image_process_failed
    True ['help']
    BadRequest  Bot_command_invalid
    1 helo None None None None None False
    2 hello None None None None None True
    3 in a topic None 42 None None None False
    4 not mine None None (<MessageOriginType.HIDDEN_USER>, 'Bob') None None False
    5 one g1 None None None None False
    b'one'
    6 two g1 None None None None False
    b'two'
    7 None None None None -100078 None False
    8 None None None None None -78 False
    9 Sure? None None None None None False
    y True
    BadRequest  Query is too old and response timeout expired or query id is
    y
    BadRequest  Bad webhook: an https url must be provided for webhook
    BadRequest  Secret token contains unallowed characters
    True
    Conflict  Conflict: can't use getUpdates method while webhook is activ
    [('s-1', 'by call'), ('s-1', 'by call')]
    Wrong response from the webhook: 503 ('message',)
    True True
    RetryAfter  Flood control exceeded. Retry in 5 seconds
    "#);
}

#[tokio::test]
async fn slacks_client_understands_the_fake() {
    let fake = FakeSlack::start().await;
    fake.person("U0ADA", "Ada");
    fake.channel("C0HALL");
    fake.channel("D0ADA");
    fake.fault("assistant.threads.setStatus", SlackFault::Limited(7));
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
        fake.press(HALL, BOB, sent, "q:yes");
        fake.command(THREAD, ADA, "status", None);
        let settled = |world: &hob_testkit::fake_discord::world::World| {
            let mut all = world.interactions.values();
            all.all(|known| known.answered.is_some() && (known.taken_back || !known.is_command))
        };
        fake.until_true("answers to both", settled).await;
        fake.kick(GatewayFault::Reconnect);
        fake.until_true("resumed session", |world| world.resumed == 1).await;
        fake.post(DiscordPost::new(HALL, BOB, "look").with_file("b.txt", b"of bob"));
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
