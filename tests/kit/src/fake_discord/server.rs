//! The HTTP side: tokens, faults, limits, files.

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest as _, Multipart, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::{self, Call, Refusal};
use super::{FakeDiscord, Fault, Shared};

/// The answer ends in the middle.
fn cut() -> Response {
    let broken = futures::stream::once(async { Err::<Vec<u8>, _>(std::io::Error::other("cut")) });
    Response::new(Body::from_stream(broken))
}

fn refusal(refusal: &Refusal) -> Response {
    let body = json!({ "message": refusal.message, "code": refusal.code });
    (StatusCode::from_u16(refusal.status).unwrap(), [(header::CONTENT_TYPE, "application/json")], body.to_string())
        .into_response()
}

/// The bot's files, and those of people.
fn download(shared: &Shared, path: &str) -> Response {
    let steps: Vec<&str> = path.split('/').collect();
    let [channel, message, index, _name] = steps.as_slice() else { return StatusCode::NOT_FOUND.into_response() };
    let found = shared.with(|world| {
        world.calls.push("GET attachments".to_owned());
        let message = world.message(channel.parse().ok()?, message.parse().ok()?)?;
        message.files.get(index.parse::<usize>().ok()?).map(|(_, bytes)| bytes.clone())
    });
    found.map_or_else(|| StatusCode::NOT_FOUND.into_response(), axum::response::IntoResponse::into_response)
}

pub(super) async fn respond(shared: &Shared, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    if let Some(rest) = path.strip_prefix("/attachments/") {
        return download(shared, rest);
    }
    let Some(rest) = path.strip_prefix("/api/v10/") else {
        return refusal(&Refusal::new(404, 0, "404: Not Found"));
    };
    let decoded = percent(rest);
    let steps: Vec<String> = decoded.split('/').map(str::to_owned).collect();
    let is_open = matches!(steps[0].as_str(), "interactions" | "webhooks");
    let agent = request.headers().get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !is_open && !agent.starts_with("DiscordBot (") {
        return (StatusCode::FORBIDDEN, "<h1>You are being rate limited</h1>").into_response();
    }
    let authorized = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if !is_open && authorized != Some(&format!("Bot {}", FakeDiscord::TOKEN)) {
        return refusal(&Refusal::new(401, 0, "401: Unauthorized"));
    }
    let method = request.method().as_str().to_owned();
    let query: Vec<(String, String)> =
        url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes())
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
    let Some((body, files)) = content(request).await else {
        return refusal(&Refusal::new(400, 50109, "The request body contains invalid JSON."));
    };
    let call = Call { method, steps, query, body, files };
    let name = call.name();
    let (fault, flood) = shared.with(|world| {
        world.calls.push(name.clone());
        let fault = world.faults.get_mut(&name).and_then(std::collections::VecDeque::pop_front);
        let flood = world.bucket.filter(|_| name == "POST messages" && fault.is_none()).map(|(most, seconds)| {
            let began = *world.bucket_at.get_or_insert_with(Instant::now);
            if began.elapsed().as_secs_f64() >= seconds {
                (world.spent, world.bucket_at) = (0, Some(Instant::now()));
            }
            world.spent += 1;
            if world.spent > most {
                world.wrong.push("a request beyond the rate limit that was told".to_owned());
            }
            (most.saturating_sub(world.spent), seconds)
        });
        (fault, flood)
    });
    let carry_out = || match shared.with(|world| api::call(world, &call)) {
        Ok(Value::Null) => StatusCode::NO_CONTENT.into_response(),
        Ok(value) => ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response(),
        Err(refused) => refusal(&refused),
    };
    let mut response = match fault {
        None => carry_out(),
        Some(fault) => go_wrong(fault, carry_out),
    };
    if let Some((remaining, seconds)) = flood {
        let headers = response.headers_mut();
        headers.insert("x-ratelimit-limit", "5".parse().unwrap());
        headers.insert("x-ratelimit-remaining", remaining.to_string().parse().unwrap());
        headers.insert("x-ratelimit-reset-after", seconds.to_string().parse().unwrap());
        headers.insert("x-ratelimit-bucket", "messages".parse().unwrap());
    }
    response
}

/// `%F0%9F%91%80` as the emoji that it is.
fn percent(path: &str) -> String {
    let pair = format!("p={}", path.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

/// The request's JSON, and its files by name.
async fn content(request: Request) -> Option<(Value, Vec<(String, Vec<u8>)>)> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("multipart/form-data") {
        let bytes = to_bytes(request.into_body(), 1 << 20).await.ok()?;
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).ok()? };
        return Some((body, Vec::new()));
    }
    let mut form = Multipart::from_request(request, &()).await.ok()?;
    let (mut body, mut files) = (Value::Null, Vec::new());
    while let Some(field) = form.next_field().await.ok()? {
        let (name, file) = (field.name()?.to_owned(), field.file_name().map(str::to_owned));
        let bytes = field.bytes().await.ok()?;
        if name == "payload_json" {
            body = serde_json::from_slice(&bytes).ok()?;
        } else if name == format!("files[{}]", files.len()) {
            files.push((file?, bytes.to_vec()));
        } else {
            return None;
        }
    }
    Some((body, files))
}

fn go_wrong(fault: Fault, carry_out: impl FnOnce() -> Response) -> Response {
    let page = |status: u16| {
        let status = StatusCode::from_u16(status).unwrap();
        (status, [(header::CONTENT_TYPE, "text/html")], format!("<h1>{status}</h1>")).into_response()
    };
    match fault {
        Fault::Flood(seconds, global) => {
            let body = json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": global });
            let headers = [(header::CONTENT_TYPE, "application/json"), (header::RETRY_AFTER, "1")];
            (StatusCode::TOO_MANY_REQUESTS, headers, body.to_string()).into_response()
        }
        Fault::Api(status, code, message) => refusal(&Refusal::new(status, code, message)),
        Fault::Proxy(status) => page(status),
        Fault::ProxyAfter(status) => {
            drop(carry_out());
            page(status)
        }
        Fault::CutBefore => cut(),
        Fault::CutAfter => {
            drop(carry_out());
            cut()
        }
    }
}
