//! Answers by voice.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_speech::{FakeSpeech, OPUS};
use hob_testkit::fake_telegram::Fault;
use hob_testkit::fake_telegram::world::{Post, Sent};
use hob_testkit::fake_transcription::FakeTranscription;
use hob_testkit::test_hob::{ADA, TestHob};

/// A house in which one server hears voice messages, and the other speaks.
async fn speaking(ear: &FakeTranscription, mouth: &FakeSpeech, more: &str) -> TestHob {
    TestHob::running(&settings(ear, mouth, more)).await
}

fn settings(ear: &FakeTranscription, mouth: &FakeSpeech, more: &str) -> String {
    let (hears, speaks) = (ear.base_url(), mouth.base_url());
    format!(
        "[transcription]\nbase_url = '{hears}'\napi_key = 'sk-ear'\n[speech]\nbase_url = '{speaks}'\napi_key = 'sk-mouth'\n{more}"
    )
}

/// Ada speaks.
fn speak(hob: &TestHob) {
    let mut voice = hob.telegram.look(|world| world.upload("", "audio/ogg", OPUS));
    voice["duration"] = json!(3);
    hob.telegram.post(Post::new(ADA, ADA, "").with(json!({ "voice": voice })));
}

/// What the bot has said to Ada, in order: words, or the field of the file.
fn said(hob: &TestHob) -> Vec<String> {
    let word = |message: &hob_testkit::fake_telegram::world::Message| match &message.file {
        Some(file) => format!("<{} {}>", file.field, file.name),
        None => message.text.clone(),
    };
    hob.telegram.look(|world| world.chat(ADA).by_bot().map(word).collect())
}

fn voices(hob: &TestHob) -> Vec<Sent> {
    hob.telegram.look(|world| world.chat(ADA).by_bot().filter_map(|message| message.file.clone()).collect())
}

const BILL: &str = "SELECT state || ' ' || coalesce(cost, 'unknown') || ' ' || input_tokens FROM recordings
                    WHERE external_id LIKE 'speech:%' ORDER BY id";

#[tokio::test]
async fn f10_where_a_voice_came_in_a_voice_goes_out_beside_the_words() {
    let (ear, mouth) = (FakeTranscription::start().await, FakeSpeech::start().await);
    mouth.require_key("sk-mouth");
    ear.hears("Will it rain?", 3);
    let hob = speaking(&ear, &mouth, "voice = 'nova'\nmillion_chars_usd = 15.0").await;
    hob.model.reply(Reply::text("**No**, see [the map](https://example.org/map). ☀️"));
    speak(&hob);
    hob.told(ADA, 2).await;
    let out = voices(&hob);
    assert_eq!(said(&hob), ["No, see the map. ☀️", "<voice answer.ogg>"]);
    assert_eq!((out[0].kind.as_str(), out[0].bytes.as_slice()), ("audio/ogg", OPUS));
    let asked = json!({ "input": "No, see the map.", "model": "tts-1", "voice": "nova", "response_format": "opus" });
    assert_eq!(mouth.said(), [asked]);
    assert_eq!(hob.values::<String>(BILL).await, ["answered 240000 6"]);
    let spent = "SELECT user_id || ' ' || model || ' ' || calls || ' ' || cost FROM spend WHERE model LIKE 'speech/%'";
    assert_eq!(hob.values::<String>(spent).await, ["1 speech/tts-1 1 240000"]);
    // What is written is answered in writing.
    hob.ask(ADA, "Thanks", Reply::text("You are welcome.")).await;
    hob.ask(ADA, "/status", Reply::text("unused")).await;
    assert_eq!((voices(&hob).len(), mouth.asked()), (1, 1));
    assert_eq!(mouth.refused(), Vec::<String>::new());
    hob.nothing_refused();
}

#[tokio::test]
async fn f10_a_conversation_chooses_whether_a_voice_goes_out() {
    let (ear, mouth) = (FakeTranscription::start().await, FakeSpeech::start().await);
    ear.hears("Hello", 1);
    let hob = speaking(&ear, &mouth, "").await;
    hob.say(ADA, "/voice");
    hob.say(ADA, "/voice on");
    let told = hob.told(ADA, 2).await;
    assert_eq!(
        told[0],
        "I answer here by voice, and in writing as well, if you speak to me; else in writing. /voice on, /voice off or /voice auto changes that."
    );
    assert_eq!(told[1], "I speak each answer here, and write it as well.");
    hob.model.reply(Reply::text("Hello."));
    hob.say(ADA, "Hi");
    hob.told(ADA, 4).await;
    assert_eq!(said(&hob)[2..], ["Hello.", "<voice answer.ogg>"]);
    assert_eq!(hob.values::<String>(BILL).await, ["answered unknown 2"]);
    hob.say(ADA, "/voice off");
    hob.told(ADA, 5).await;
    hob.model.reply(Reply::text("In writing."));
    speak(&hob);
    hob.told(ADA, 6).await;
    // The next command is answered after what a voice would have been noted with.
    hob.say(ADA, "/voice auto");
    hob.told(ADA, 7).await;
    assert_eq!(mouth.asked(), 1);
    assert_eq!(hob.values::<String>("SELECT CAST(count(*) AS TEXT) FROM speeches").await, ["0"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn f10_without_a_voice_none_goes_out_and_the_command_says_so() {
    let hob = TestHob::running("").await;
    hob.say(ADA, "/voice on");
    let told = hob.told(ADA, 1).await;
    assert!(
        told[0].starts_with("I have no voice. Whoever owns me can give me one: [speech] in config.toml"),
        "{told:?}"
    );
    hob.model.reply(Reply::text("I cannot hear."));
    speak(&hob);
    assert_eq!(hob.told(ADA, 2).await[1], "I cannot hear.");
    assert_eq!(hob.values::<String>("SELECT CAST(count(*) AS TEXT) FROM speeches").await, ["0"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn f10_a_voice_that_fails_costs_the_words_nothing_and_is_told_once() {
    let (ear, mouth) = (FakeTranscription::start().await, FakeSpeech::start().await);
    for words in ["One", "Two", "Three"] {
        ear.hears(words, 1);
    }
    mouth.fails(503).fails(500).fails(503);
    let hob = speaking(&ear, &mouth, "").await;
    hob.model.reply(Reply::text("First.")).reply(Reply::text("Second.")).reply(Reply::text("Third."));
    speak(&hob);
    assert_eq!(hob.told(ADA, 2).await, ["First.", "I could not speak that: the service failed."]);
    assert_eq!(mouth.asked(), 2, "once more, and no more");
    // What only passes is not told.
    speak(&hob);
    hob.told(ADA, 4).await;
    assert_eq!(said(&hob)[2..], ["Second.", "<voice answer.ogg>"]);
    mouth.gives(b"ID3\x04\0\0\0\0\0\0music");
    speak(&hob);
    hob.told(ADA, 6).await;
    let why = "I could not speak that: what came is no Opus in Ogg but audio/mpeg: ask it for another `model`, or another server.";
    assert_eq!(said(&hob)[4..], ["Third.", why]);
    let bill = hob.values::<String>(BILL).await;
    assert_eq!(bill, ["failed unknown 0", "failed unknown 0", "failed unknown 0", "answered unknown 2", "lost 0 2"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn f10_a_kill_sends_no_voice_twice_and_loses_no_words() {
    let (ear, mouth) = (FakeTranscription::start().await, FakeSpeech::start().await);
    ear.hears("Hello", 1).hears("Bye", 1);
    mouth.hangs();
    let mut hob = speaking(&ear, &mouth, "million_chars_usd = 15.0").await;
    hob.model.reply(Reply::text("Hello."));
    speak(&hob);
    while mouth.asked() == 0 {
        tokio::task::yield_now().await;
    }
    // The words were there before anybody spoke.
    assert_eq!(said(&hob), ["Hello."]);
    hob.restart().await;
    hob.told(ADA, 2).await;
    assert_eq!(said(&hob), ["Hello.", "<voice answer.ogg>"]);
    // Nobody knows what the first cost: what was set aside for it stands in.
    assert_eq!(hob.values::<String>(BILL).await, ["lost 90000 2", "answered 90000 2"]);
    hob.recorded(1).await;
    mouth.hangs().hangs();
    hob.model.reply(Reply::text("Bye."));
    speak(&hob);
    while mouth.asked() < 3 {
        tokio::task::yield_now().await;
    }
    hob.restart().await;
    while mouth.asked() < 4 {
        tokio::task::yield_now().await;
    }
    hob.restart().await;
    hob.told(ADA, 4).await;
    assert_eq!(said(&hob)[2..], ["Bye.", "I could not speak that: I was interrupted twice while I did."]);
    assert_eq!(mouth.asked(), 4, "nobody pays a third time");
    hob.nothing_refused();
}

#[tokio::test]
async fn n10_a_voice_that_does_not_fit_the_budget_is_not_paid_for() {
    let (ear, mouth) = (FakeTranscription::start().await, FakeSpeech::start().await);
    ear.hears("Hello", 1);
    let hob = speaking(&ear, &mouth, "million_chars_usd = 10_000.0\n[budget]\nday_usd = 0.01").await;
    hob.model.reply(Reply::text("Hello."));
    speak(&hob);
    let told = hob.told(ADA, 2).await;
    assert_eq!(told, ["Hello.", "I could not speak that: the budget of $0.01 for a day is used up."]);
    assert_eq!(mouth.asked(), 0);
    hob.nothing_refused();
}

#[tokio::test]
async fn f10_who_takes_no_voice_messages_gets_the_voice_as_a_file_out() {
    let (ear, mouth) = (FakeTranscription::start().await, FakeSpeech::start().await);
    ear.hears("Hello", 1);
    let hob = speaking(&ear, &mouth, "").await;
    hob.telegram.fault("sendVoice", Fault::BadRequest("VOICE_MESSAGES_FORBIDDEN".to_owned()));
    hob.model.reply(Reply::text("Hello."));
    speak(&hob);
    hob.told(ADA, 2).await;
    assert_eq!(said(&hob), ["Hello.", "<document answer.ogg>"]);
}

#[tokio::test]
async fn n8_what_is_forgotten_has_no_voice_left() {
    let (ear, mouth) = (FakeTranscription::start().await, FakeSpeech::start().await);
    ear.hears("My PIN is 1234", 1);
    let mut hob = speaking(&ear, &mouth, "").await;
    hob.model.reply(Reply::text("I keep it."));
    speak(&hob);
    hob.told(ADA, 2).await;
    hob.recorded(2).await;
    let kept = "SELECT name FROM files ORDER BY id";
    assert_eq!(hob.values::<String>(kept).await, ["voice message.ogg", "answer.ogg"]);
    hob.say(ADA, "/forget m1");
    assert_eq!(hob.told(ADA, 3).await[2], "Forgotten for good: m1.");
    while !hob.values::<String>(kept).await.is_empty() {
        tokio::task::yield_now().await;
    }
}

/// What `scripts/speech-tools` has installed.
fn tool(name: &str) -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/speech-tools").join(name);
    assert!(tool.exists(), "{name} is missing: run scripts/speech-tools (it needs a network, once)");
    tool
}

/// Runs a program to its end; gives what it printed.
async fn printed(program: &Path, arguments: &[&Path]) -> String {
    let output = Command::new(program).args(arguments).kill_on_drop(true).output().await.unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn f10_the_voice_of_a_real_program_goes_out_and_is_understood() {
    let python = tool("bin/python");
    let say = "[speech]\ncommand = ['/bin/sh', '-c', 'espeak-ng --stdin --stdout | opusenc --quiet - -']";
    let hob = TestHob::running(say).await;
    hob.say(ADA, "/voice on");
    hob.told(ADA, 1).await;
    hob.model.reply(Reply::text("The **weather** tomorrow is [sunny](https://example.org)."));
    hob.say(ADA, "What about tomorrow?");
    hob.told(ADA, 3).await;
    assert_eq!(said(&hob)[1..], ["The weather tomorrow is sunny.", "<voice answer.ogg>"]);
    let (opus, wave) = (hob.path("answer.ogg"), hob.path("answer.wav"));
    std::fs::write(&opus, &voices(&hob)[0].bytes).unwrap();
    let rate = [Path::new("--quiet"), Path::new("--rate"), Path::new("16000"), &opus, &wave];
    printed(Path::new("opusdec"), &rate).await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/daemon/foreign/hear.py");
    let heard = printed(&python, &[&script, &wave]).await;
    assert!(heard.contains("weather tomorrow"), "{heard}");
    assert_eq!(hob.values::<String>(BILL).await, ["answered 0 0"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn f10_a_server_of_others_gives_its_voice_out() {
    let mut hob = TestHob::new().await;
    let server = tool("node_modules/.bin/llmock");
    // It refuses what nobody has told it of.
    let response = json!({ "audio": BASE64.encode(OPUS), "format": "opus" });
    let told = json!({ "match": { "endpoint": "speech", "userMessage": "It is sunny." }, "response": response });
    std::fs::write(hob.path("aimock.json"), json!({ "fixtures": [told] }).to_string()).unwrap();
    let mut command = Command::new(server);
    command.args(["--port", "0", "--strict", "--fixtures"]).arg(hob.path("aimock.json"));
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let address = loop {
        let line = lines.next_line().await.unwrap().expect("it says where it listens");
        if let Some((_, address)) = line.split_once("listening on ") {
            break address.to_owned();
        }
    };
    hob.configure(&format!("[speech]\nbase_url = '{address}/v1'"));
    hob.start().await;
    hob.say(ADA, "/voice on");
    hob.told(ADA, 1).await;
    hob.model.reply(Reply::text("It is _sunny_."));
    hob.say(ADA, "What about tomorrow?");
    hob.told(ADA, 3).await;
    assert_eq!(said(&hob)[1..], ["It is sunny.", "<voice answer.ogg>"]);
    assert_eq!(voices(&hob)[0].bytes, OPUS);
    hob.nothing_refused();
}
