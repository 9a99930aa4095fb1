//! The HTTP side: connections that can be cut, tokens, faults, files.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::super::cut::CutConnection;
use super::api::{self, ApiError, Arguments};
use super::world::World;
use super::{FakeSlack, Fault, socket};
use crate::grounds::ServerContext;

type HandlerContext = ServerContext<World>;

pub(super) async fn respond(context: &HandlerContext, wire: &CutConnection, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    if path == "/link/" {
        return connect(context, request).await;
    }
    if let Some(rest) = path.strip_prefix("/files-pri/T0-") {
        let token = header_of(&request, header::AUTHORIZATION);
        drop(request);
        return match fault(context, "download") {
            None => download(context, rest, &token),
            Some(fault) => go_wrong(fault, wire, || download(context, rest, &token)).await,
        };
    }
    if let Some(id) = path.strip_prefix("/upload/v1/").map(str::to_owned) {
        return upload(context, &id, request).await;
    }
    let Some(method) = path.strip_prefix("/api/").map(str::to_owned) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let Some((token, arguments)) = read(request).await else {
        return said(Err(ApiError { code: "invalid_json".to_owned(), more: json!({}) }));
    };
    context.shared.with(|world| world.calls.push((method.clone(), Value::Object(arguments.fields.clone()))));
    let carry_out = || said(context.shared.with(|world| api::call(world, &method, &token, &arguments)));
    match fault(context, &method) {
        None => carry_out(),
        Some(fault) => go_wrong(fault, wire, carry_out).await,
    }
}

/// What goes wrong with this call.
fn fault(context: &HandlerContext, method: &str) -> Option<Fault> {
    context.shared.with(|world| world.faults.get_mut(method).and_then(std::collections::VecDeque::pop_front))
}

async fn go_wrong(fault: Fault, wire: &CutConnection, carry_out: impl Fn() -> Response) -> Response {
    match fault {
        Fault::Limited(seconds) => {
            let body = json!({"ok": false, "error": "ratelimited"}).to_string();
            let headers =
                [(header::CONTENT_TYPE, "application/json".to_owned()), (header::RETRY_AFTER, seconds.to_string())];
            (StatusCode::TOO_MANY_REQUESTS, headers, body).into_response()
        }
        Fault::Error(code) => said(Err(ApiError { code, more: json!({}) })),
        Fault::ErrorAfter(code) => {
            carry_out();
            said(Err(ApiError { code, more: json!({}) }))
        }
        Fault::Proxy(code) => {
            let status = StatusCode::from_u16(code).unwrap();
            (status, [(header::CONTENT_TYPE, "text/html")], "<html>no</html>").into_response()
        }
        Fault::CutBefore => wire.cut(),
        Fault::CutAfter => {
            carry_out();
            wire.cut()
        }
        Fault::HangAfter => {
            carry_out();
            std::future::pending().await
        }
    }
}

/// The token and the arguments of a call; none: it cannot be read.
async fn read(request: Request) -> Option<(String, Arguments)> {
    let (token, kind) = (header_of(&request, header::AUTHORIZATION), header_of(&request, header::CONTENT_TYPE));
    let token = token.strip_prefix("Bearer ").unwrap_or_default().to_owned();
    let mut fields = pairs(request.uri().query().unwrap_or_default().as_bytes());
    let body = Bytes::from_request(request, &()).await.ok()?;
    let is_json = kind.starts_with("application/json") && !body.is_empty();
    if is_json {
        fields.extend(serde_json::from_slice::<Map<String, Value>>(&body).ok()?);
    } else {
        fields.extend(pairs(&body));
    }
    Some((token, Arguments { fields, is_json }))
}

fn header_of(request: &Request, name: header::HeaderName) -> String {
    request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn pairs(encoded: &[u8]) -> Map<String, Value> {
    url::form_urlencoded::parse(encoded)
        .map(|(name, value)| (name.into_owned(), Value::String(value.into_owned())))
        .collect()
}

fn said(said: Result<Value, ApiError>) -> Response {
    let body = match said {
        Ok(mut body) => {
            body["ok"] = true.into();
            body
        }
        Err(ApiError { code, mut more }) => {
            more["ok"] = false.into();
            more["error"] = code.into();
            more
        }
    };
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], body.to_string()).into_response()
}

async fn connect(context: &HandlerContext, request: Request) -> Response {
    let ticket = pairs(request.uri().query().unwrap_or_default().as_bytes());
    let ticket = ticket.get("ticket").and_then(Value::as_str).unwrap_or_default().to_owned();
    // A ticket is good for one connection.
    if !context.shared.with(|world| world.tickets.remove(&ticket)) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await.unwrap();
    let (shared, down) = (Arc::clone(&context.shared), context.down.clone());
    upgrade.on_upgrade(|socket| async move {
        down.run_until_cancelled_owned(socket::serve(socket, shared)).await;
    })
}

/// A file, for whoever has the bot's token; for others Slack has a page to log in.
fn download(context: &HandlerContext, rest: &str, token: &str) -> Response {
    let known = format!("Bearer {}", FakeSlack::BOT_TOKEN);
    let may = context.shared.with(|world| {
        world.calls.push(("download".to_owned(), json!({"path": rest})));
        world.scopes.contains("files:read")
    });
    if token != known || !may {
        return (StatusCode::FOUND, [(header::LOCATION, "https://home.slack.com/?redir=x")]).into_response();
    }
    let id = rest.split('/').next().unwrap_or_default();
    let bytes = context.shared.with(|world| world.files.get(id).and_then(|file| file.bytes.clone()));
    match bytes {
        Some(bytes) => ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn upload(context: &HandlerContext, id: &str, request: Request) -> Response {
    let bytes = Bytes::from_request(request, &()).await.unwrap().to_vec();
    let taken = context.shared.with(|world| {
        world.calls.push(("upload".to_owned(), json!({"id": id})));
        let file = world.files.get_mut(id).filter(|file| file.bytes.is_none() && file.length == bytes.len());
        file.map(|file| file.bytes = Some(bytes))
    });
    match taken {
        Some(()) => "OK".into_response(),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}
