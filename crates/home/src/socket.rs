//! Home Assistant's WebSocket API: what only it tells, and what it tells by itself.
//!
//! Never: a message read beyond its limit, or waited for without end.
//! Start at `Socket::open`.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};

use crate::client::Client;
use crate::error::HomeError;
use hob_http::trust;

/// The largest message that is read: the registry of a large home.
const MESSAGE_BYTES_MAX: usize = 8 << 20;
/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// So many messages may come before the answer does.
const BETWEEN_MAX: usize = 1_000;

/// What is asked.
#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(crate) enum Command<'a> {
    #[serde(rename = "config/area_registry/list")]
    Areas,
    #[serde(rename = "config/device_registry/list")]
    Devices,
    #[serde(rename = "config/entity_registry/list_for_display")]
    Entities,
    #[serde(rename = "subscribe_entities")]
    Follow { entity_ids: &'a [&'a str] },
    #[serde(rename = "ping")]
    Ping,
}

#[derive(Serialize)]
struct NumberedCommand<'a> {
    id: u64,
    #[serde(flatten)]
    command: &'a Command<'a>,
}

#[derive(Serialize)]
struct Auth<'a> {
    r#type: &'static str,
    access_token: &'a str,
}

/// What comes.
#[derive(Debug, Deserialize)]
struct Incoming {
    #[serde(default)]
    id: u64,
    r#type: String,
    #[serde(default)]
    success: bool,
    #[serde(default)]
    result: Value,
    error: Option<SocketError>,
    event: Option<EntityEvent>,
}

#[derive(Debug, Deserialize)]
struct SocketError {
    #[serde(default)]
    code: String,
}

/// What has become of entities that are followed.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct EntityEvent {
    /// As they stand, at the beginning or newly made.
    #[serde(default, rename = "a")]
    pub(crate) added: BTreeMap<String, ShortState>,
    /// What is other than before.
    #[serde(default, rename = "c")]
    pub(crate) changed: BTreeMap<String, StateChange>,
}

/// A state in Home Assistant's short form.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct ShortState {
    /// How it stands; none: as before.
    #[serde(default, rename = "s")]
    pub(crate) state: Option<String>,
    /// Since when, in seconds since 1970.
    #[serde(default, rename = "lc")]
    pub(crate) changed: Option<f64>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
pub(crate) struct StateChange {
    /// What is so now.
    #[serde(default, rename = "+")]
    pub(crate) now: ShortState,
}

impl EntityEvent {
    /// What it tells of each entity.
    pub(crate) fn states(self) -> impl Iterator<Item = (String, ShortState)> {
        self.added.into_iter().chain(self.changed.into_iter().map(|(id, change)| (id, change.now)))
    }
}

/// A connection.
pub(crate) struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    asked: u64,
}

impl Socket {
    /// Connects, and shows the token.
    pub(crate) async fn open(client: &Client) -> Result<Self, HomeError> {
        Box::pin(within(ANSWER_MAX, Self::connect(client))).await
    }

    async fn connect(client: &Client) -> Result<Self, HomeError> {
        let url = client.url("websocket")?;
        let (scheme, connector) = match url.scheme() {
            "https" => {
                ("wss", Connector::Rustls(trust::tls().ok_or(HomeError::Lost("this machine has no certificates"))?))
            }
            _ => ("ws", Connector::Plain),
        };
        let address = url.as_str().replacen(url.scheme(), scheme, 1);
        let limits = WebSocketConfig::default().max_message_size(Some(MESSAGE_BYTES_MAX));
        let connected =
            client_async_tls_with_config(address, client.connect().await?, Some(limits), Some(connector)).await;
        let (stream, _) = connected.map_err(|error| {
            tracing::debug!(%error, "Home Assistant's socket cannot be opened");
            HomeError::Lost("it cannot be opened")
        })?;
        let mut socket = Self { stream, asked: 0 };
        socket.expect("auth_required").await?;
        let auth = Auth { r#type: "auth", access_token: client.token().expose() };
        socket.say(&auth).await?;
        socket.expect("auth_ok").await?;
        Ok(socket)
    }

    /// The next message must be this one.
    async fn expect(&mut self, kind: &str) -> Result<(), HomeError> {
        let Incoming { r#type, .. } = self.hear().await?;
        match r#type.as_str() {
            found if found == kind => Ok(()),
            "auth_invalid" => Err(HomeError::Unauthorized),
            _ => Err(HomeError::Unreadable("it does not speak as Home Assistant does")),
        }
    }

    async fn say(&mut self, what: &impl Serialize) -> Result<(), HomeError> {
        let text = serde_json::to_string(what).map_err(|_no_form| HomeError::Unreadable("the question has no form"))?;
        self.stream.send(Message::text(text)).await.map_err(|_lost| HomeError::Lost("it broke off"))
    }

    async fn hear(&mut self) -> Result<Incoming, HomeError> {
        while let Some(heard) = self.stream.next().await {
            match heard {
                Ok(Message::Text(text)) => {
                    let read = serde_json::from_str(&text);
                    return read.map_err(|_no_form| HomeError::Unreadable("it does not speak as Home Assistant does"));
                }
                Ok(Message::Close(_)) => break,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "Home Assistant's socket broke");
                    return Err(HomeError::Lost("it broke off"));
                }
            }
        }
        Err(HomeError::Lost("it was closed"))
    }

    /// Asks; what else comes until the answer does is left out.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, command: &Command<'_>) -> Result<T, HomeError> {
        within(ANSWER_MAX, async {
            let id = self.put(command).await?;
            for _between in 0..BETWEEN_MAX {
                let Incoming { id: of, r#type, success, result, error, .. } = self.hear().await?;
                if of != id || r#type != "result" {
                    continue;
                }
                if success {
                    let read = serde_json::from_value(result);
                    return read.map_err(|_no_form| HomeError::Unreadable("it has another form than Home Assistant's"));
                }
                return Err(match error.unwrap_or(SocketError { code: String::new() }).code.as_str() {
                    "unauthorized" => HomeError::Forbidden,
                    _ => HomeError::Refused(400),
                });
            }
            Err(HomeError::Unreadable("it talks of other things"))
        })
        .await
    }

    /// Asks, and does not wait.
    pub(crate) async fn put(&mut self, command: &Command<'_>) -> Result<u64, HomeError> {
        self.asked += 1;
        let id = self.asked;
        self.say(&NumberedCommand { id, command }).await?;
        Ok(id)
    }

    /// What becomes of what is followed; none: something else was said.
    pub(crate) async fn event(&mut self) -> Result<Option<EntityEvent>, HomeError> {
        let Incoming { r#type, event, success, .. } = self.hear().await?;
        if r#type == "result" && !success {
            return Err(HomeError::Refused(400));
        }
        Ok(event.filter(|_| r#type == "event"))
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, HomeError>>) -> Result<T, HomeError> {
    tokio::time::timeout(limit, work).await.unwrap_or(Err(HomeError::Lost("it says nothing")))
}
