//! The gateway's WebSocket, on Hob's own HTTP client: its roots, its proxies, its TLS.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use reqwest::Upgraded;
use reqwest::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use serde::Serialize;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::wire::Frame;
use hob_core::domain::text::causes;
use hob_http::http1_builder;

/// The version of the gateway that Hob speaks.
const VERSION: &str = "10";

/// A connection.
pub(super) struct Socket(WebSocketStream<Upgraded>);

/// What came.
#[derive(Debug)]
pub(super) enum GatewayInput {
    Frame(Frame),
    /// Something that is not a frame.
    Unreadable(String),
    /// The other side is gone.
    Closed(Option<u16>, String),
}

/// Opens a connection, on a new client.
pub(super) async fn open(address: &str, within: Duration) -> Result<Socket, String> {
    match tokio::time::timeout(within, connect(address, within)).await {
        Ok(opened) => opened,
        Err(elapsed) => Err(format!("{elapsed}: the gateway did not answer within {within:?}")),
    }
}

async fn connect(address: &str, within: Duration) -> Result<Socket, String> {
    let secure = address.strip_prefix("wss://").map(|rest| format!("https://{rest}"));
    let plain = address.strip_prefix("ws://").map(|rest| format!("http://{rest}"));
    let address = secure.or(plain).ok_or_else(|| "the gateway's address is no WebSocket's".to_owned())?;
    let mut url = url::Url::parse(&address).map_err(|error| format!("the gateway's address: {error}"))?;
    url.query_pairs_mut().append_pair("v", VERSION).append_pair("encoding", "json");
    let client = http1_builder(within).build().map_err(|error| causes(&error.without_url()))?;
    let key = generate_key();
    let request = client
        .get(url)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key);
    let response = request.send().await.map_err(|error| causes(&error.without_url()))?;
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).and_then(|value| value.to_str().ok());
    if response.status().as_u16() != 101 || accepted != Some(derive_accept_key(key.as_bytes()).as_str()) {
        return Err(format!("the gateway did not open a WebSocket: {}", response.status()));
    }
    let stream = response.upgrade().await.map_err(|error| causes(&error.without_url()))?;
    Ok(Socket(WebSocketStream::from_raw_socket(stream, Role::Client, None).await))
}

/// What is sent to the gateway.
#[derive(Serialize)]
struct GatewayPayload<'a, T> {
    op: u8,
    d: &'a T,
}

impl Socket {
    /// What comes next. Nothing is lost if it is not waited for to the end.
    pub(super) async fn next(&mut self) -> GatewayInput {
        loop {
            let message = match self.0.next().await {
                Some(Ok(message)) => message,
                Some(Err(error)) => return GatewayInput::Closed(None, error.to_string()),
                None => return GatewayInput::Closed(None, "the connection ended".to_owned()),
            };
            match message {
                Message::Text(text) => {
                    return match serde_json::from_str(text.as_str()) {
                        Ok(frame) => GatewayInput::Frame(frame),
                        Err(error) => GatewayInput::Unreadable(error.to_string()),
                    };
                }
                Message::Close(Some(frame)) => {
                    return GatewayInput::Closed(Some(frame.code.into()), frame.reason.as_str().to_owned());
                }
                Message::Close(None) => return GatewayInput::Closed(None, "closed without a word".to_owned()),
                Message::Binary(_) => return GatewayInput::Unreadable("it is not text".to_owned()),
                // Pings are answered below.
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }

    /// Sends one frame.
    pub(super) async fn send(&mut self, op: u8, data: &impl Serialize, within: Duration) -> Result<(), String> {
        let text = serde_json::to_string(&GatewayPayload { op, d: data }).map_err(|error| error.to_string())?;
        match tokio::time::timeout(within, self.0.send(Message::text(text))).await {
            Ok(sent) => sent.map_err(|error| error.to_string()),
            Err(elapsed) => Err(elapsed.to_string()),
        }
    }
}
