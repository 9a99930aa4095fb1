//! A server at an address. One that is a program of Hob's own ends with a call that nobody waits for; this one is told.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Harness, at, program};
use crate::mcp::settings::Settings;

/// Nobody waits so long here.
const LONG: Duration = Duration::from_secs(60);

/// A server whose one tool is a task without end; it tells which methods it was asked for.
async fn answer(State(asked): State<Arc<UnboundedSender<String>>>, Json(message): Json<Value>) -> Response {
    let method = message["method"].as_str().unwrap_or_default();
    let about = match method {
        "tools/call" => format!("{} is {}", message["params"]["name"].as_str().unwrap_or_default(), message["id"]),
        "notifications/cancelled" => message["params"]["requestId"].to_string(),
        _ => message["params"]["taskId"].as_str().unwrap_or_default().to_owned(),
    };
    asked.send(format!("{method} {about}")).unwrap();
    let task = json!({ "taskId": "t1", "status": "working", "ttl": 1000, "pollInterval": 50,
        "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z" });
    let result = match method {
        "initialize" => json!({ "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} }, "serverInfo": { "name": "afar", "version": "1" } }),
        "tools/list" => {
            json!({ "tools": [{ "name": "dig", "inputSchema": {} }, { "name": "hang", "inputSchema": {} }] })
        }
        "tools/call" if message["params"]["name"] == "hang" => std::future::pending().await,
        "tools/call" if !message["params"]["task"].is_null() => json!({ "task": task }),
        "tasks/get" | "tasks/cancel" => task,
        _ if message["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({ "code": -32601, "message": "I do not." });
            return Json(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })).into_response();
        }
    };
    Json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).into_response()
}

/// A house with it, and what it is asked for.
async fn house(call_within: Duration) -> (Harness, UnboundedReceiver<String>) {
    let (asked, heard) = unbounded_channel();
    let app = Router::new().route("/mcp", post(answer)).with_state(Arc::new(asked));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let way = at(&url);
    (Harness::with(|_| Settings { way, call_within, ..program(&["x"]) }).asked().await, heard)
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_called_off() {
    let (world, mut heard) = house(LONG).await;
    let mut number = String::new();
    tokio::select! {
        told = world.says("s__hang", json!({})) => panic!("it does not end: {told}"),
        () = async {
            while number.is_empty() {
                let line = heard.recv().await.unwrap();
                number = line.strip_prefix("tools/call hang is ").unwrap_or_default().to_owned();
            }
        } => {}
    }
    let cancelled = format!("notifications/cancelled {number}");
    while heard.recv().await.unwrap() != cancelled {}
    world.stopped().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_called_off() {
    let (world, mut heard) = house(Duration::from_millis(300)).await;
    let told = world.says("s__hang", json!({})).await;
    assert!(told.contains("it did not answer within 0 s"), "{told}");
    while !heard.recv().await.unwrap().starts_with("notifications/cancelled") {}
    world.stopped().await;
}

#[tokio::test]
async fn a_task_that_nobody_waits_for_any_more_is_called_off() {
    let (world, mut heard) = house(LONG).await;
    let mut until = async |line: &str| while heard.recv().await.unwrap() != line {};
    tokio::select! {
        told = world.says("s__dig", json!({})) => panic!("it does not end: {told}"),
        () = until("tasks/get t1") => {}
    }
    until("tasks/cancel t1").await;
    world.stopped().await;
}
