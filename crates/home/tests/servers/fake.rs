//! A Home Assistant that can be told to lie, to flood and to fall silent. What a well-behaved one never sees is refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

pub(crate) const TOKEN: &str = "the-only-token";

/// How it behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FakeBehaviour {
    Honest,
    /// It answers all over HTTP with this.
    Answers {
        status: u16,
        headers: String,
        body: String,
    },
    /// Its answer has no end.
    Endless,
    /// Its socket says this before anything else.
    Greets(String),
    /// Its socket answers what is asked with as much else as anybody would wait for.
    Floods,
}

#[derive(Default)]
pub(crate) struct Model {
    pub(crate) states: BTreeMap<String, Value>,
    /// The services that were called, with their bodies.
    pub(crate) calls: Vec<(String, Value)>,
    /// What was asked, the socket's commands too.
    pub(crate) asked: Vec<String>,
    manner: Option<FakeBehaviour>,
}

/// It runs until it is dropped.
pub(crate) struct FakeHome {
    pub(crate) model: Arc<Mutex<Model>>,
    port: u16,
    server: JoinHandle<()>,
}

impl Drop for FakeHome {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeHome {
    /// One with these entities: id, state, attributes.
    #[expect(clippy::disallowed_methods, reason = "a task of a test ends with it")]
    pub(crate) async fn start(entities: &[(&str, &str, Value)]) -> Self {
        let state = |(id, state, attributes): &(&str, &str, Value)| {
            let changed = "2026-11-26T12:00:00+00:00";
            let tool_output =
                json!({ "entity_id": id, "state": state, "attributes": attributes, "last_changed": changed });
            ((*id).to_owned(), tool_output)
        };
        let states = entities.iter().map(state).collect();
        let model = Arc::new(Mutex::new(Model { states, ..Model::default() }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Arc::clone(&model);
        let server = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let served = Arc::clone(&served);
                tokio::spawn(async move { serve(stream, served).await });
            }
        });
        Self { model, port, server }
    }

    pub(crate) fn behaves(&self, manner: FakeBehaviour) {
        self.model.lock().unwrap().manner = Some(manner);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        self.model.lock().unwrap().calls.clone()
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.model.lock().unwrap().asked.clone()
    }
}

fn manner(model: &Mutex<Model>) -> FakeBehaviour {
    model.lock().unwrap().manner.clone().unwrap_or(FakeBehaviour::Honest)
}

async fn serve(mut stream: TcpStream, model: Arc<Mutex<Model>>) {
    let mut peeked = vec![0; 8_192];
    let read = stream.peek(&mut peeked).await.unwrap_or(0);
    if String::from_utf8_lossy(&peeked[..read]).starts_with("GET /api/websocket") {
        // Whoever has seen enough hangs up.
        talk(accept_async(stream).await.unwrap(), &model).await.unwrap_or_default();
        return;
    }
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.unwrap();
    let answer = match manner(&model) {
        FakeBehaviour::Answers { status, headers, body } => {
            model.lock().unwrap().asked.push(head.lines().next().unwrap().to_owned());
            reply(status, &headers, &body)
        }
        FakeBehaviour::Endless => {
            let start = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[";
            let mut sent = stream.write_all(start.as_bytes()).await;
            while sent.is_ok() {
                sent = stream.write_all(&[b' '; 65_536]).await;
            }
            return;
        }
        FakeBehaviour::Honest | FakeBehaviour::Greets(_) | FakeBehaviour::Floods => honest(&head, &body, &model),
    };
    stream.write_all(answer.as_bytes()).await.unwrap_or_default();
}

fn reply(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn honest(head: &str, body: &[u8], model: &Mutex<Model>) -> String {
    let mut model = model.lock().unwrap();
    let line = head.lines().next().unwrap().to_owned();
    model.asked.push(line.clone());
    let is_known = head.lines().any(|line| line.eq_ignore_ascii_case(&format!("authorization: Bearer {TOKEN}")));
    if !is_known {
        return reply(401, "", "401: Unauthorized");
    }
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    match (method, path.strip_prefix("/api/").unwrap_or_default().split('/').collect::<Vec<_>>().as_slice()) {
        ("GET", ["config"]) => reply(200, "", r#"{"version": "2026.11.1", "state": "RUNNING"}"#),
        ("GET", ["states"]) => reply(200, "", &Value::from_iter(model.states.values().cloned()).to_string()),
        ("GET", ["states", id]) => match model.states.get(*id) {
            Some(state) => reply(200, "", &state.to_string()),
            None => reply(404, "", r#"{"message": "Entity not found."}"#),
        },
        ("POST", ["services", domain, service]) => {
            let body: Value = serde_json::from_slice(body).unwrap();
            let ids = body["entity_id"].as_array().unwrap_or_else(|| panic!("no list of entities: {body}"));
            assert!(ids.iter().all(|id| id.as_str().is_some_and(|id| id.contains('.'))), "{body}");
            model.calls.push((format!("{domain}.{service}"), body));
            reply(200, "", "[]")
        }
        _ => panic!("Home Assistant has no {method} {path}"),
    }
}

type SocketResult = Result<(), tokio_tungstenite::tungstenite::Error>;

async fn talk(mut socket: WebSocketStream<TcpStream>, model: &Mutex<Model>) -> SocketResult {
    let said = |value: &Value| Message::text(value.to_string());
    if let FakeBehaviour::Greets(words) = manner(model) {
        socket.send(Message::text(words)).await?;
        return Ok(());
    }
    socket.send(said(&json!({ "type": "auth_required", "ha_version": "2026.11.1" }))).await?;
    let auth: Value = serde_json::from_str(socket.next().await.unwrap()?.to_text()?).unwrap();
    if auth != json!({ "type": "auth", "access_token": TOKEN }) {
        socket.send(said(&json!({ "type": "auth_invalid", "message": "No." }))).await?;
        return Ok(());
    }
    socket.send(said(&json!({ "type": "auth_ok" }))).await?;
    while let Some(Ok(heard)) = socket.next().await {
        let Ok(text) = heard.to_text() else { continue };
        let Ok(asked) = serde_json::from_str::<Value>(text) else { continue };
        model.lock().unwrap().asked.push(asked["type"].as_str().unwrap().to_owned());
        if manner(model) == FakeBehaviour::Floods {
            for number in 0..2_000 {
                socket.send(said(&json!({ "id": 1_000 + number, "type": "event", "event": { "a": {} } }))).await?;
            }
        }
        let result = match asked["type"].as_str().unwrap() {
            "config/area_registry/list" => json!([{ "area_id": "k", "name": "Kitchen\u{202e}\nIgnore" }]),
            "config/device_registry/list" => json!([{ "id": "d", "area_id": "k" }, { "id": "e", "area_id": null }]),
            "config/entity_registry/list_for_display" => json!({ "entities": [
                { "ei": "light.by_device", "di": "d" }, { "ei": "light.by_itself", "ai": "k", "di": "e" }, { "ei": "light.nowhere" },
            ] }),
            "ping" => continue,
            other => panic!("nobody asks for {other}"),
        };
        socket.send(said(&json!({ "id": asked["id"], "type": "result", "success": true, "result": result }))).await?;
    }
    Ok(())
}
