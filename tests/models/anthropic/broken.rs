//! What goes wrong on the way: refusals, what is not a stream, streams that break off, fall silent or never end.

use std::time::Duration;

use hob_model::anthropic::Anthropic;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::Completion;
use hob_model::settings::{Deadlines, Settings};
use serde_json::json;

use super::{heard, provider_at, settings};
use hob_testkit::dialect::{self, let_go};
use hob_testkit::fake_anthropic::{FakeAnthropic, Reply, Script};
use hob_testkit::stream::Gate;

#[tokio::test]
async fn refusals_get_their_class_and_are_not_retried() {
    let cases = [
        (400, ErrorClass::BadRequest),
        (401, ErrorClass::Auth),
        (402, ErrorClass::Billing),
        (403, ErrorClass::Auth),
        (404, ErrorClass::UnknownModel),
        (413, ErrorClass::ContextTooLong),
        (429, ErrorClass::RateLimit),
        (500, ErrorClass::Server),
        (529, ErrorClass::Overloaded),
    ];
    for (status, class) in cases {
        let error = heard(Reply::status(status).header("retry-after", "7")).await.0.unwrap_err();
        assert_eq!(error.class, class, "{status}");
        assert_eq!(error.retry_after, (status >= 429).then_some(Duration::from_secs(7)), "{status}");
        assert!(!error.message.contains("sk-"), "{error}");
    }
}

/// A sign of life of 64 KiB.
fn padded_ping() -> String {
    format!("data: {{\"type\":\"ping\",\"pad\":\"{}\"}}\n\n", "x".repeat(64 * 1024))
}

#[tokio::test]
async fn what_is_no_stream_is_an_error() {
    let json = "application/json";
    let hel = || Script::begin().start(0, &json!({"type": "text", "text": ""})).text(0, "Hel");
    let cases: Vec<(&str, Reply, ErrorClass)> = vec![
        ("web page", Reply::html(), ErrorClass::Malformed),
        ("whole reply", Reply::http(200, json, r#"{"type":"message","content":[]}"#), ErrorClass::Malformed),
        ("nothing", Script::default().into(), ErrorClass::Malformed),
        ("only the beginning", Script::begin().into(), ErrorClass::Malformed),
        ("no words", Reply::text(""), ErrorClass::Malformed),
        ("cut at once", Script::default().cut().into(), ErrorClass::Network),
        ("cut", hel().cut().into(), ErrorClass::Network),
        ("cut in an event", hel().raw(b"data: {\"typ").cut().into(), ErrorClass::Network),
        ("cut in a character", hel().raw(b"data: \xc3").cut().into(), ErrorClass::Network),
        ("no end", hel().into(), ErrorClass::Network),
        ("no end in a character", hel().raw(b"data: \xc3").into(), ErrorClass::Network),
        ("garbage", Script::begin().raw(b"data: {nonsense\n\n").finish("end_turn").into(), ErrorClass::Malformed),
        ("bytes", Script::begin().raw([0xff, 0xfe, b'\n', b'\n']).into(), ErrorClass::Malformed),
        ("late error", hel().error("overloaded_error", "Overloaded").into(), ErrorClass::Overloaded),
        ("refused", Script::begin().finish("refusal").into(), ErrorClass::Refused),
        ("white space", Script::begin().raw(" ".repeat(10_000_000)).into(), ErrorClass::Malformed),
        ("empty lines", Script::begin().raw("\n".repeat(10_000_000)).into(), ErrorClass::Malformed),
        ("endless", hel().forever(padded_ping()).into(), ErrorClass::Malformed),
    ];
    for (name, reply, class) in cases {
        let error = heard(reply).await.0.unwrap_err();
        assert_eq!(error.class, class, "{name}: {error}");
    }
}

#[tokio::test]
async fn a_reply_that_breaks_after_its_end_counts() {
    let script = || Script::begin().words("ok").finish("end_turn");
    for script in [script().cut(), script().raw(b"data: {nonsense\n\n"), script().error("api_error", "x"), script()] {
        assert_eq!(heard(script).await.0.unwrap().text(), "ok");
    }
}

#[tokio::test]
async fn other_ways_of_writing_a_stream_are_read() {
    let event = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"ok"}}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let script = Script::default()
        .raw(format!("\u{feff}: hello\r\n\r\ndata:{event}\r\n\r\ndata: {end}\r\n\r\ndata: [DONE]\r\n\r\n"));
    assert_eq!(heard(script).await.0.unwrap().text(), "ok");
}

#[tokio::test]
async fn dropping_the_call_drops_the_stream() {
    let fake = FakeAnthropic::start().await;
    fake.reply(Script::begin().words("Hello").stall());
    let_go(&provider_at(&fake.base_url())).await;
    fake.dropped(1).await;
}

async fn stalled(script: Script, deadlines: Deadlines) -> (Result<Completion, ModelError>, Duration) {
    let fake = FakeAnthropic::start().await;
    let gate = Gate::default();
    fake.reply(script.gate(&gate));
    let settings = Settings { deadlines, ..settings(&fake.base_url()) };
    dialect::stalled(Anthropic::new(settings).unwrap(), &gate).await
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let minutes = |n: u64| Duration::from_secs(n * 60);
    let deadlines = Deadlines { connect: minutes(9), first_event: minutes(8), between_events: minutes(4) };
    let patient = Deadlines { first_event: minutes(90), between_events: minutes(90), ..deadlines };
    let hel = || Script::begin().words("Hel");
    let cases = [
        (Script::default(), deadlines, "The model did not answer in time.", 8),
        (hel(), deadlines, "The model fell silent during its reply.", 4),
        (hel().ping(), deadlines, "The model fell silent during its reply.", 4),
        (hel(), patient, "The model did not come to an end.", 30),
    ];
    for (script, deadlines, message, expected) in cases {
        let (outcome, waited) = stalled(script, deadlines).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Timeout, message));
        assert!(waited.as_secs().abs_diff(expected * 60) < 20, "{message} {waited:?}");
    }
    let (outcome, waited) = stalled(hel().finish("end_turn"), deadlines).await;
    let completion = outcome.unwrap();
    assert_eq!(completion.text(), "Hel");
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    // Until the clock was held it was the one on the wall: how much that told is not asserted.
    assert!(completion.latency_ms >= 1_900, "{}", completion.latency_ms);
}
