//! Socket Mode: envelopes out, acknowledgements in. An event that is not acknowledged comes again; a press or a command
//! does not, and whoever did it sees an error.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Shared;
use super::world::{Envelope, World};

/// How often Slack asks whether the app is there.
const PING_EVERY: Duration = Duration::from_millis(200);

/// What the socket has to do next.
enum Step {
    Send(String),
    Disconnect(String),
    /// The test has cut it.
    Cut,
    Nothing,
}

pub(super) async fn serve(mut socket: WebSocket, shared: Arc<Shared>) {
    let id = shared.with(|world| {
        world.sockets_opened += 1;
        world.sockets.insert(world.sockets_opened);
        world.sockets_opened
    });
    let hello = json!({
        "type": "hello", "num_connections": 1, "connection_info": {"app_id": "A0HOB"},
        "debug_info": {"host": "applink-1", "build_number": 1, "approximate_connection_time": 18_060},
    });
    let _gone = socket.send(Message::text(hello.to_string())).await;
    run(&mut socket, &shared, id).await;
    shared.with(|world| {
        world.sockets.remove(&id);
        world.silent.remove(&id);
        // What this one had not acknowledged goes out on the next.
        again(world, |envelope| envelope.sent_on == Some(id));
    });
}

/// What was sent in vain is sent again, or never.
fn again(world: &mut World, in_vain: impl Fn(&Envelope) -> bool) {
    world.envelopes.retain(|envelope| envelope.kind == "events_api" || !in_vain(envelope));
    world.envelopes.iter_mut().filter(|envelope| in_vain(envelope)).for_each(|envelope| envelope.sent_on = None);
}

async fn run(socket: &mut WebSocket, shared: &Shared, id: u64) {
    let mut changes = shared.changed.subscribe();
    let mut ping = tokio::time::interval(PING_EVERY);
    let mut sent: Vec<(Instant, String)> = Vec::new();
    loop {
        changes.borrow_and_update();
        match shared.peek(|world| step(world, id)) {
            Step::Cut => return,
            Step::Disconnect(reason) => {
                let said = json!({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}});
                let _gone = socket.send(Message::text(said.to_string())).await;
                let _gone = socket.send(Message::Close(Some(CloseFrame { code: 1000, reason: "".into() }))).await;
                return;
            }
            Step::Send(envelope) => {
                let after = shared.peek(|world| world.redeliver_after);
                let (said, envelope_id) = shared.peek(|world| told(world, &envelope));
                sent.push((Instant::now() + after, envelope_id));
                if socket.send(Message::text(said)).await.is_err() {
                    return;
                }
                continue;
            }
            Step::Nothing => {}
        }
        let due = sent.iter().map(|(due, _)| *due).min();
        let silent = shared.peek(|world| world.silent.contains(&id));
        tokio::select! {
            _ = changes.changed() => {}
            heard = socket.recv(), if !silent => match heard {
                Some(Ok(Message::Text(said))) => heard_of(shared, &said),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                // A sign of life: whoever waits for the app's state looks again.
                Some(Ok(_)) => shared.with(|_| ()),
            },
            _ = ping.tick(), if !silent => {
                if socket.send(Message::Ping("Ping from applink-1".into())).await.is_err() {
                    return;
                }
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let late: Vec<String> = sent.extract_if(.., |(due, _)| *due <= Instant::now()).map(|(_, id)| id).collect();
                shared.with(|world| again(world, |envelope| late.contains(&envelope.id)));
            }
        }
    }
}

fn step(world: &mut World, id: u64) -> Step {
    if !world.sockets.contains(&id) {
        return Step::Cut;
    }
    if world.silent.contains(&id) {
        return Step::Nothing;
    }
    if let Some(reason) = world.disconnecting.take() {
        return Step::Disconnect(reason);
    }
    let waiting = world.envelopes.iter_mut().find(|envelope| envelope.sent_on.is_none());
    match waiting {
        Some(envelope) => {
            envelope.sent_on = Some(id);
            envelope.attempts += 1;
            Step::Send(envelope.id.clone())
        }
        None => Step::Nothing,
    }
}

/// An envelope as it goes out.
fn told(world: &World, id: &str) -> (String, String) {
    let envelope = world.envelopes.iter().find(|envelope| envelope.id == id).unwrap();
    let mut said = json!({
        "type": envelope.kind, "envelope_id": envelope.id, "payload": envelope.payload,
        "accepts_response_payload": envelope.kind != "events_api",
    });
    if envelope.kind == "events_api" {
        said["retry_attempt"] = (envelope.attempts - 1).into();
        said["retry_reason"] = if envelope.attempts > 1 { "timeout" } else { "" }.into();
    }
    (said.to_string(), envelope.id.clone())
}

/// The app acknowledges; anything else it has no right to say.
fn heard_of(shared: &Shared, said: &str) {
    let said: Value = serde_json::from_str(said).unwrap();
    let id = said["envelope_id"].as_str().unwrap_or_else(|| panic!("no acknowledgement: {said}")).to_owned();
    shared.with(|world| {
        if let Some(words) = said.get("payload") {
            let kind = world.envelopes.iter().find(|envelope| envelope.id == id).map(|envelope| envelope.kind);
            assert!(kind != Some("events_api") && words["text"].is_string(), "nobody is told that: {said}");
            world.told.push(words.clone());
        }
        world.envelopes.retain(|envelope| envelope.id != id);
        world.acknowledged.push(id);
    });
}
