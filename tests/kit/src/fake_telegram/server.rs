//! The HTTP side: connections that can be cut, tokens, faults, the envelope.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::super::cut::CutConnection;
use super::request::Arguments;
use super::{Fault, Shared, api};

/// The API's answer to a call that it refuses.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) parameters: Option<Value>,
}

impl Refusal {
    pub(super) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: None }
    }

    /// A 400.
    pub(super) fn bad(what: &str) -> Self {
        Self::new(400, format!("Bad Request: {what}"))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut body = json!({"ok": false, "error_code": self.code, "description": self.description});
        if let Some(parameters) = self.parameters {
            body["parameters"] = parameters;
        }
        let status = StatusCode::from_u16(self.code).unwrap();
        (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
    }
}

pub(super) async fn respond(shared: &Shared, wire: &CutConnection, request: Request) -> Response {
    // Some clients write the token's colon so.
    let path = request.uri().path().replace("%3A", ":");
    if let Some(rest) = path.strip_prefix("/file/bot") {
        return download(shared, wire, rest).await;
    }
    let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/')) else {
        return Refusal::new(404, "Not Found").into_response();
    };
    if shared.peek(|world| world.token != token) {
        return Refusal::new(401, "Unauthorized").into_response();
    }
    let method = method.to_lowercase();
    let Some(arguments) = Arguments::read(request).await else {
        return Refusal::bad("can't parse the request").into_response();
    };
    let fault = shared.with(|world| {
        *world.calls.entry(method.clone()).or_default() += 1;
        world.ports.entry(method.clone()).or_default().push(wire.port);
        world.faults.get_mut(&method).and_then(std::collections::VecDeque::pop_front)
    });
    match fault {
        None => carry_out(shared, &method, &arguments).await,
        Some(fault) => go_wrong(fault, wire, carry_out(shared, &method, &arguments)).await,
    }
}

/// `/file/bot<token>/<path>`: the bytes, with no envelope but for an error.
async fn download(shared: &Shared, wire: &CutConnection, rest: &str) -> Response {
    let (token, path) = rest.split_once('/').unwrap_or((rest, ""));
    if shared.peek(|world| world.token != token) {
        return Refusal::new(404, "Not Found").into_response();
    }
    let (found, fault) = shared.with(|world| {
        *world.calls.entry("download".to_owned()).or_default() += 1;
        let found = world.files.values().find(|file| file.path == path && file.told).cloned();
        (found, world.faults.get_mut("download").and_then(std::collections::VecDeque::pop_front))
    });
    let answer = async {
        match found {
            Some(file) => {
                (StatusCode::OK, [(header::CONTENT_TYPE, "application/octet-stream")], file.bytes).into_response()
            }
            None => Refusal::new(404, "Not Found").into_response(),
        }
    };
    match fault {
        None => answer.await,
        Some(fault) => go_wrong(fault, wire, answer).await,
    }
}

async fn carry_out(shared: &Shared, method: &str, arguments: &Arguments) -> Response {
    match api::call(shared, method, arguments).await {
        Ok(result) => json_response(json!({"ok": true, "result": result}).to_string()),
        Err(refusal) => refusal.into_response(),
    }
}

fn json_response(body: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn go_wrong(fault: Fault, wire: &CutConnection, carried_out: impl Future<Output = Response>) -> Response {
    let refusal = match fault {
        Fault::Flood(seconds) => Refusal {
            parameters: Some(json!({ "retry_after": seconds })),
            ..Refusal::new(429, format!("Too Many Requests: retry after {seconds}"))
        },
        Fault::BadRequest(what) => Refusal::bad(&what),
        Fault::Migrated(chat) => Refusal {
            parameters: Some(json!({ "migrate_to_chat_id": chat })),
            ..Refusal::bad("group chat was upgraded to a supergroup chat")
        },
        Fault::Blocked => Refusal::new(403, "Forbidden: bot was blocked by the user"),
        Fault::Unauthorized => Refusal::new(401, "Unauthorized"),
        Fault::Conflict => api::conflict(),
        Fault::Server(code) => Refusal::new(code, "Internal Server Error"),
        Fault::Proxy(code) => return page(code),
        Fault::ProxyAfter(code) => {
            carried_out.await;
            return page(code);
        }
        Fault::CutBefore => return wire.cut(),
        Fault::CutAfter => {
            carried_out.await;
            return wire.cut();
        }
        Fault::Hang => return std::future::pending().await,
        Fault::HangAfter => {
            carried_out.await;
            return std::future::pending().await;
        }
        Fault::Body(body) => return json_response(body),
    };
    refusal.into_response()
}

fn page(code: u16) -> Response {
    let status = StatusCode::from_u16(code).unwrap();
    let body = format!("<html><head><title>{status}</title></head></html>");
    (status, [(header::CONTENT_TYPE, "text/html")], body).into_response()
}
