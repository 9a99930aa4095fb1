//! The gateway: HELLO, IDENTIFY, heartbeats, RESUME, events in order, and its bad days.

use std::io::Write as _;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::response::Response;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::shapes;
use super::world::{Session, World};
use super::{FakeDiscord, GatewayFault, Shared};
use crate::grounds::ServerContext;

const INTENTS: u64 = (1 << 26) - 1;
/// The one that the portal has to allow.
const MESSAGE_CONTENT: u64 = 1 << 15;
const MAY_READ: u64 = 1 << 18 | 1 << 19;

pub(super) async fn open(
    State(context): State<ServerContext<World>>,
    Query(query): Query<Vec<(String, String)>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let has = |key: &str, value: &str| query.iter().any(|(name, given)| name == key && given == value);
    if !has("v", "10") || !has("encoding", "json") {
        context.shared.with(|world| world.wrong.push(format!("a gateway of another kind: {query:?}")));
    }
    let packed = has("compress", "zlib-stream");
    upgrade.on_upgrade(move |socket| async move {
        let zlib = packed.then(|| ZlibEncoder::new(Vec::new(), flate2::Compression::default()));
        let mut wire = GatewayConnection { socket, zlib, session: None, told: 0, beat_at: Instant::now() };
        context.shared.with(|world| world.connections += 1);
        if let Some(Some(over)) = context.down.run_until_cancelled(wire.serve(&context.shared)).await {
            wire.close(over).await;
        }
    })
}

struct GatewayConnection {
    socket: WebSocket,
    zlib: Option<ZlibEncoder<Vec<u8>>>,
    session: Option<String>,
    /// The last event that was told.
    told: u64,
    beat_at: Instant,
}

/// With which code a connection is closed.
type CloseCode = u16;

impl GatewayConnection {
    async fn send(&mut self, value: &Value) -> Option<()> {
        let text = value.to_string();
        let message = match &mut self.zlib {
            None => Message::text(text),
            Some(zlib) => {
                zlib.write_all(text.as_bytes()).unwrap();
                // A flush ends each message with 00 00 FF FF.
                zlib.flush().unwrap();
                Message::binary(std::mem::take(zlib.get_mut()))
            }
        };
        self.socket.send(message).await.ok()
    }

    async fn close(mut self, code: CloseCode) {
        let frame = CloseFrame { code, reason: "".into() };
        if self.socket.send(Message::Close(Some(frame))).await.is_err() {
            return;
        }
        // The other side closes its end.
        while let Some(Ok(_)) = self.socket.recv().await {}
    }

    /// Serves until the connection is over; the code to close it with, if any.
    async fn serve(&mut self, shared: &Shared) -> Option<CloseCode> {
        let every = shared.peek(|world| world.heartbeat_ms);
        self.send(&json!({ "op": 10, "d": { "heartbeat_interval": every, "_trace": [] }, "s": null, "t": null }))
            .await?;
        let patience = Duration::from_millis(every * 20);
        let mut changes = shared.changed.subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(kick) = shared.peek(|world| self.session.as_ref().and_then(|_| world.kicks.pop_front())) {
                return self.kicked(kick, shared).await;
            }
            self.tell(shared).await?;
            tokio::select! {
                came = self.socket.recv() => match came {
                    Some(Ok(Message::Text(text))) => match self.hear(text.as_str(), shared).await {
                        Ok(true) => {}
                        Ok(false) => return None,
                        Err(code) => return Some(code),
                    },
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    _ => return None,
                },
                changed = changes.changed() => changed.ok()?,
                () = tokio::time::sleep_until(self.beat_at + patience) => return Some(4009),
            }
        }
    }

    async fn kicked(&mut self, kick: GatewayFault, shared: &Shared) -> Option<CloseCode> {
        match kick {
            GatewayFault::Drop => None,
            GatewayFault::Close(code) => {
                if matches!(code, 4006 | 4007 | 4009) {
                    shared.with(|world| self.own(world).gone = true);
                }
                Some(code)
            }
            GatewayFault::Reconnect => {
                self.send(&json!({ "op": 7, "d": null, "s": null, "t": null })).await?;
                Some(4000)
            }
            GatewayFault::Invalid(resumable) => {
                shared.with(|world| self.own(world).gone = !resumable);
                self.send(&json!({ "op": 9, "d": resumable, "s": null, "t": null })).await?;
                Some(4000)
            }
        }
    }

    fn own<'a>(&self, world: &'a mut World) -> &'a mut Session {
        world.sessions.get_mut(self.session.as_ref().unwrap()).unwrap()
    }

    /// Tells what is new.
    async fn tell(&mut self, shared: &Shared) -> Option<()> {
        let Some(session) = self.session.clone() else { return Some(()) };
        let told = self.told;
        let news: Vec<(u64, String, Value)> = shared.peek(|world| {
            if world.deaf {
                return Vec::new();
            }
            let silent = world.never_ready;
            let news = world.sessions[&session].events.iter().filter(|(seq, ..)| *seq > told);
            news.filter(|(_, event, _)| !(silent && matches!(event.as_str(), "READY" | "RESUMED"))).cloned().collect()
        });
        for (seq, event, data) in news {
            self.send(&json!({ "op": 0, "s": seq, "t": event, "d": data })).await?;
            self.told = seq;
        }
        Some(())
    }

    /// Takes a frame; whether the connection goes on, or with which code it ends.
    async fn hear(&mut self, text: &str, shared: &Shared) -> Result<bool, CloseCode> {
        if text.len() > 4_096 {
            return Err(4002);
        }
        let frame: Value = serde_json::from_str(text).map_err(|_error| 4002_u16)?;
        let data = &frame["d"];
        match frame["op"].as_u64() {
            Some(1) => {
                self.beat_at = Instant::now();
                let (deaf, last) = shared.with(|world| {
                    world.heartbeats += 1;
                    let session = self.session.as_ref().map(|id| &world.sessions[id]);
                    (world.deaf, session.and_then(|session| session.events.last()).map(|(seq, ..)| *seq))
                });
                // Before it resumes, a client may beat with where it stands.
                if last.is_some_and(|last| data.as_u64().is_some_and(|seq| seq > last)) {
                    return Err(4007);
                }
                let ack = json!({ "op": 11, "d": null, "s": null, "t": null });
                Ok(deaf || self.send(&ack).await.is_some())
            }
            Some(2) if self.session.is_some() => Err(4005),
            Some(2) => {
                self.session = Some(shared.with(|world| identify(world, data))?);
                Ok(true)
            }
            Some(6) => self.resume(data, shared).await,
            Some(3 | 4 | 8) if self.session.is_none() => Err(4003),
            Some(3 | 4 | 8) => Ok(true),
            _ => Err(4001),
        }
    }

    async fn resume(&mut self, data: &Value, shared: &Shared) -> Result<bool, CloseCode> {
        let (Some(token), Some(id), Some(seq)) =
            (data["token"].as_str(), data["session_id"].as_str(), data["seq"].as_u64())
        else {
            return Err(4002);
        };
        if token != FakeDiscord::TOKEN {
            return Err(4004);
        }
        enum FrameOutcome {
            On,
            Cut,
            Invalid,
            Beyond,
        }
        let goes = shared.with(|world| {
            if world.cut_resumes > 0 {
                world.cut_resumes -= 1;
                return FrameOutcome::Cut;
            }
            let Some(session) = world.sessions.get_mut(id).filter(|session| !session.gone) else {
                return FrameOutcome::Invalid;
            };
            if session.events.last().is_some_and(|(last, ..)| seq > *last) {
                return FrameOutcome::Beyond;
            }
            session.push("RESUMED", json!({ "_trace": [] }));
            world.resumed += 1;
            FrameOutcome::On
        });
        match goes {
            FrameOutcome::Cut => Ok(false),
            FrameOutcome::Beyond => Err(4007),
            FrameOutcome::Invalid => {
                let invalid = json!({ "op": 9, "d": false, "s": null, "t": null });
                Ok(self.send(&invalid).await.is_some())
            }
            FrameOutcome::On => {
                (self.session, self.told) = (Some(id.to_owned()), seq);
                Ok(true)
            }
        }
    }
}

/// A new session's id.
fn identify(world: &mut World, data: &Value) -> Result<String, CloseCode> {
    let (Some(token), Some(intents)) = (data["token"].as_str(), data["intents"].as_u64()) else { return Err(4002) };
    let properties = ["os", "browser", "device"].iter().all(|key| data["properties"][key].is_string());
    if !properties {
        return Err(4002);
    }
    if token != FakeDiscord::TOKEN {
        return Err(4004);
    }
    if intents & !INTENTS != 0 {
        return Err(4013);
    }
    if intents & MESSAGE_CONTENT != 0 && world.flags & MAY_READ == 0 {
        return Err(4014);
    }
    if world.logins_left == 0 {
        world.wrong.push("a login too many".to_owned());
        return Err(4004);
    }
    world.logins_left -= 1;
    world.identified += 1;
    let id = format!("session-{}", world.identified);
    let mut session = Session { intents, ..Session::default() };
    session.push("READY", shapes::ready(world, &id));
    if intents & 1 != 0 {
        session.push("GUILD_CREATE", shapes::guild(world));
    }
    world.sessions.insert(id.clone(), session);
    Ok(id)
}
