use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::error::ErrorClass;
use crate::message::{Message, ReplyPart, Sealed};
use crate::provider::NoSink;
use crate::refused_parameters::NoParameterStore;
use crate::responses::reply::REASONING;
use crate::settings::{Deadlines, Tuning};
use hob_core::domain::secret::Secret;

const LABEL: &str = "openai/m";
const SAID: &str = r#"data: {"type":"response.output_text.delta","delta":"Hello"}"#;
const DONE: &str = r#"data: {"type":"response.completed","response":{"usage":{"input_tokens":1,"output_tokens":2}}}"#;

fn request() -> Request {
    let data = r#"{"id":"rs_1","summary":[],"encrypted_content":"AA=="}"#.to_owned();
    let sealed = Sealed { model: LABEL.to_owned(), kind: REASONING.to_owned(), data };
    let said = Message::Assistant { parts: vec![ReplyPart::Sealed(sealed), ReplyPart::text("b")] };
    Request { messages: vec![Message::user("a"), said, Message::user("c")], ..Request::default() }
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    let len = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len}\r\nconnection: close\r\n\r\n{body}")
}

fn streamed(events: &[&str]) -> String {
    let body: String = events.iter().map(|event| format!("{event}\n\n")).collect();
    answer("200 OK", "text/event-stream", &body)
}

fn refused(code: &str, param: Option<&str>) -> String {
    let error = json!({"error": {"message": "No.", "type": "invalid_request_error", "code": code, "param": param}});
    answer("400 Bad Request", "application/json", &error.to_string())
}

/// Reads a whole request: its head, and its body as JSON.
async fn read(connection: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(connection.read_buf(&mut bytes).await.unwrap(), 0, "the client is gone");
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let len = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap();
        if body.len() == len.parse::<usize>().unwrap() {
            return (head.clone(), serde_json::from_str(body).unwrap());
        }
    }
}

/// Asks a server that answers like this, one connection each; answers with what came of it, and with what it was asked.
async fn asked(answers: &[String]) -> (Result<Completion, ModelError>, Vec<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let long = Duration::from_secs(60);
    let settings = Settings {
        base_url: format!("http://{}/v1", listener.local_addr().unwrap()),
        api_key: Some(Secret::new("sk-test".to_owned())),
        model: "m".to_owned(),
        label: LABEL.to_owned(),
        deadlines: Deadlines { connect: long, first_event: long, between_events: long },
        tuning: Tuning { temperature: Some(0.5), ..Tuning::default() },
        sees_images: true,
        context_tokens: None,
    };
    let provider = Responses::new(settings, Arc::new(NoParameterStore)).unwrap();
    let server = async {
        let mut seen = Vec::new();
        for answer in answers {
            let (mut connection, _) = listener.accept().await.unwrap();
            seen.push(read(&mut connection).await);
            // A client that has what it wants may go before the end.
            if let Err(error) = connection.write_all(answer.as_bytes()).await {
                assert!(answer.len() > 1_000_000, "{error}");
            }
        }
        seen
    };
    let request = request();
    tokio::join!(provider.complete(&request, &NoSink), server)
}

fn types(body: &Value) -> Vec<&str> {
    body["input"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn f5_a_reply_comes_from_responses() {
    let (outcome, seen) = asked(&[streamed(&[SAID, DONE])]).await;
    assert_eq!(outcome.unwrap().text(), "Hello");
    let (head, body) = &seen[0];
    assert!(head.starts_with("post /v1/responses http/1.1\r\n") && head.contains("authorization: bearer sk-test"));
    assert_eq!((&body["store"], types(body)), (&json!(false), vec!["message", "reasoning", "message", "message"]));
}

#[tokio::test]
async fn f5_what_is_refused_is_done_without_at_once() {
    let answers =
        [refused("unsupported_parameter", Some("temperature")), refused("unsupported_value", Some("include"))];
    let (outcome, seen) = asked(&[answers.as_slice(), &[streamed(&[SAID, DONE])]].concat()).await;
    assert_eq!(outcome.unwrap().text(), "Hello");
    let has = |at: usize, name: &str| seen[at].1.get(name).is_some();
    assert_eq!(
        [0, 1, 2].map(|at| (has(at, "temperature"), has(at, "include"))),
        [(true, true), (false, true), (false, false)]
    );
}

#[tokio::test]
async fn f5_reasoning_that_its_maker_cannot_open_is_left_away_once() {
    let cannot = || refused(SEAL_REFUSED, None);
    let (outcome, seen) = asked(&[cannot(), streamed(&[SAID, DONE])]).await;
    assert_eq!(outcome.unwrap().text(), "Hello");
    assert_eq!(types(&seen[1].1), ["message", "message", "message"]);
    let (outcome, seen) = asked(&[cannot(), cannot()]).await;
    assert_eq!((outcome.unwrap_err().class, seen.len()), (ErrorClass::BadRequest, 2));
}

#[tokio::test]
async fn f5_no_flood_is_buffered() {
    let line = "x".repeat(16 * 1024 * 1024);
    let many = format!(r#"data: {{"type":"response.output_text.delta","delta":"{}"}}"#, "x".repeat(64 * 1024));
    for events in [vec![line.as_str()], vec![many.as_str(); 256]] {
        let (outcome, _) = asked(&[streamed(&events)]).await;
        assert_eq!(outcome.unwrap_err().class, ErrorClass::Malformed);
    }
}
