//! The page itself: one document, its styles and its scripts, out of the binary; and its API with the description of it.
//!
//! Never: words of anybody in what is served from here. The scripts fetch those, and put them in as text.

use std::sync::{Arc, OnceLock};

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router as Routes};
use serde::{Deserialize, Serialize};
use tower::ServiceExt as _;
use tracing::Instrument as _;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Visitor;
use crate::access::{PageRole, login};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::{chat, compat, mcp, memory, openapi, operations, push, runs};
use hob_tools::mcp::login::CALLBACK;

/// The largest message with its files.
const BODY_BYTES_MAX: usize = 64 << 20;
/// The largest form of a login: a key, and what browsers put around it.
const LOGIN_BYTES_MAX: usize = 4 << 10;
/// The longest reason that is passed on.
const WHY_BYTES_MAX: usize = 64 << 10;
/// Nothing from elsewhere, nothing inline, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; \
connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'";

/// A file of the page.
struct Asset {
    path: &'static str,
    mime: &'static str,
    bytes: &'static [u8],
}

macro_rules! asset {
    ($path:literal, $mime:literal, $file:literal) => {
        Asset { path: $path, mime: $mime, bytes: include_bytes!(concat!("app/", $file)) }
    };
}

/// All that the page is made of.
const ASSETS: &[Asset] = &[
    asset!("/app/hob.css", "text/css", "hob.css"),
    asset!("/app/main.js", "text/javascript", "main.js"),
    asset!("/app/dom.js", "text/javascript", "dom.js"),
    asset!("/app/api.js", "text/javascript", "api.js"),
    asset!("/app/chat.js", "text/javascript", "chat.js"),
    asset!("/app/memory.js", "text/javascript", "memory.js"),
    asset!("/app/operations.js", "text/javascript", "operations.js"),
    asset!("/app/operations-work.js", "text/javascript", "operations-work.js"),
    asset!("/app/operations-house.js", "text/javascript", "operations-house.js"),
    asset!("/app/operations-parts.js", "text/javascript", "operations-parts.js"),
    asset!("/app/runs.js", "text/javascript", "runs.js"),
    asset!("/app/run.js", "text/javascript", "run.js"),
    asset!("/app/check.js", "text/javascript", "check.js"),
    asset!("/app/timeline.js", "text/javascript", "timeline.js"),
    asset!("/app/amounts.js", "text/javascript", "amounts.js"),
    asset!("/app/login.js", "text/javascript", "login.js"),
    asset!("/app/push.js", "text/javascript", "push.js"),
    asset!("/app/chats.js", "text/javascript", "chats.js"),
    asset!("/app/composer.js", "text/javascript", "composer.js"),
    // It serves the whole page from where it lies.
    asset!("/sw.js", "text/javascript", "sw.js"),
    asset!("/app/icon.svg", "image/svg+xml", "icon.svg"),
    asset!("/app/icon-192.png", "image/png", "icon-192.png"),
    asset!("/app/icon-512.png", "image/png", "icon-512.png"),
    asset!("/app/manifest.json", "application/manifest+json", "manifest.json"),
];

/// The API, described.
#[derive(OpenApi)]
#[openapi(
    info(title = "Hob", description = "What Hob's own page uses. Programs send a key: `Authorization: Bearer KEY` (`hob web token add NAME`).", license(name = "MIT OR Apache-2.0")),
    security(("key" = []), ("visit" = [])),
    tags((name = "visit", description = "Who is logged in"), (name = "chat", description = "Conversations held on the page"),
        (name = "push", description = "Browsers that are told when the page is closed (Web Push)"),
        (name = "memory", description = "What is remembered, and why it was recalled"),
        (name = "openai", description = "What OpenAI's clients speak; docs/page.md"),
        (name = "operations", description = "How the house is run"),
        (name = "runs", description = "Recorded runs, and orders to those at work"))
)]
struct ApiDescription;

/// Who has opened the page.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Visit {
    /// What they may.
    role: PageRole,
    /// Hob's version.
    version: &'static str,
}

/// Who is logged in. A browser that comes again stays logged in for longer.
#[utoipa::path(get, path = "/api/visit", tag = "visit", responses((status = 200, body = Visit), (status = 401, body = Problem)))]
async fn visit(State(app): State<Arc<AppState>>, visitor: Visitor, headers: HeaderMap) -> Response {
    let answer = Json(Visit { role: visitor.role, version: env!("CARGO_PKG_VERSION") }).into_response();
    login::renewed(&app.page_access, &visitor, &headers, answer)
}

/// Where the page of a running Hob is.
#[derive(Debug, Serialize, Deserialize)]
pub struct PageAddress {
    /// Its address, without a path; none: it is not served.
    pub at: Option<String>,
}

/// Tells `hob web`, over the socket, where the page is.
pub fn whereabouts(at: Option<String>) -> Routes {
    let told = Arc::new(PageAddress { at });
    Routes::new().route("/page", get(move || std::future::ready(Json(PageAddress { at: told.at.clone() }))))
}

/// The API's own routes, those of OpenAI's API, and what describes both.
fn described_routes() -> (Routes<Arc<AppState>>, Routes<Arc<AppState>>, utoipa::openapi::OpenApi) {
    let api = OpenApiRouter::with_openapi(ApiDescription::openapi())
        .routes(routes!(visit))
        .merge(chat::routes::routes())
        .merge(memory::routes())
        .merge(operations::routes())
        .merge(runs::routes())
        .merge(push::routes::routes());
    let (api, mut described) = api.split_for_parts();
    let (compat, compat_described) = compat::routes::routes().split_for_parts();
    described.merge(compat_described);
    openapi::complete(&mut described);
    (api, compat, described)
}

/// The page, its API, and what describes it. They are built when somebody comes: the description that their building makes
/// takes 3 MB, and in most houses nobody opens the page for days.
pub fn routes(app: Arc<AppState>) -> Routes {
    let built = Arc::new(OnceLock::new());
    Routes::new().fallback(move |request: Request| {
        let routes: Routes = built.get_or_init(|| build(Arc::clone(&app))).clone();
        routes.oneshot(request)
    })
}

fn build(app: Arc<AppState>) -> Routes {
    let (api, compat, _) = described_routes();
    let mut routes = api
        .route("/api/openapi.json", get(|_visitor: Visitor| async { Json(described_routes().2) }))
        .route("/api/{*unknown}", get(|| async { ApiError::NotFound("thing in the API") }))
        .route("/logout", post(login::leave))
        .route("/", get(document))
        .route("/chat/{*rest}", get(document))
        .route("/memory", get(document))
        .route("/memory/{*rest}", get(document))
        .route("/operations", get(document))
        .route("/operations/{*rest}", get(document))
        .route("/runs", get(document))
        .route("/runs/{*rest}", get(document))
        .route("/login", get(login_document).post(login::enter).layer(DefaultBodyLimit::max(LOGIN_BYTES_MAX)))
        .fallback(nowhere);
    for asset in ASSETS {
        routes = routes.route(asset.path, get(move || async move { served_as(asset.mime, asset.bytes) }));
    }
    let guard = middleware::from_fn_with_state(app.page_access.clone(), login::guard);
    // What programs ask there shows a key and no cookie: its own door says in its own words who may not.
    let compat = compat.method_not_allowed_fallback(compat::routes::no_method);
    routes
        .layer(guard)
        .merge(compat)
        .merge(mcp::http::routes(&app))
        // Another's page sends the browser here, so that it shows no cookie. What it brings is known by its state.
        .route(CALLBACK, get(operations::servers::called_back).layer(middleware::from_fn(carry_out)))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(run_to_completion))
        .layer(middleware::from_fn(hardened))
        .with_state(app)
}

/// The document of every view; who is not logged in is asked to.
async fn document(State(_served): State<Arc<AppState>>, visitor: Result<Visitor, ApiError>) -> Response {
    match visitor {
        Ok(_) => served_as("text/html; charset=utf-8", include_bytes!("app/index.html")),
        Err(ApiError::Nobody) => axum::response::Redirect::to("/login").into_response(),
        Err(refused) => refused.into_response(),
    }
}

async fn login_document() -> Response {
    served_as("text/html; charset=utf-8", include_bytes!("app/login.html"))
}

/// An address that nothing of Hob's has.
async fn nowhere() -> (StatusCode, Response) {
    (StatusCode::NOT_FOUND, served_as("text/html; charset=utf-8", include_bytes!("app/nowhere.html")))
}

fn served_as(mime: &'static str, bytes: &'static [u8]) -> Response {
    // Asked for each time: another version of Hob has others under the same names.
    ([(header::CONTENT_TYPE, mime), (header::CACHE_CONTROL, "no-cache")], bytes).into_response()
}

/// Whatever changes something is carried out to its end, also if whoever asked hangs up in the middle: a message that is
/// stored and wakes nobody, or an order of which a half is done, would be worse than none.
async fn run_to_completion(request: Request, next: Next) -> Response {
    match *request.method() {
        Method::GET | Method::HEAD => next.run(request).await,
        _ => carry_out(request, next).await,
    }
}

/// The same for whatever comes, a GET too: a browser brings a login's code that way, and it counts once.
async fn carry_out(request: Request, next: Next) -> Response {
    #[expect(clippy::disallowed_methods, reason = "its end is awaited, and its panic is answered")]
    let ended = tokio::spawn(next.run(request).in_current_span()).await;
    match ended {
        Ok(response) => response,
        Err(error) => ApiError::Broken(format!("something broke while it was done: {error}")).into_response(),
    }
}

/// What every answer says to the browser besides.
async fn hardened(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let (is_api, is_compat) = (path.starts_with("/api/"), path.starts_with("/v1/"));
    let mut response = next.run(request).await;
    if !is_compat {
        response = in_words(response, is_api).await;
    }
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        // `no-referrer` would take the origin from the login's own form.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if (is_api || is_compat) && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// What could not even be read is answered by the server in text alone: the API says it in its own form.
async fn in_words(response: Response, is_api: bool) -> Response {
    let status = response.status();
    let is_told = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let is_method = status == StatusCode::METHOD_NOT_ALLOWED;
    if is_told || !(is_method || (is_api && status.is_client_error())) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let said = axum::body::to_bytes(body, WHY_BYTES_MAX).await.unwrap_or_default();
    let error = match String::from_utf8_lossy(&said) {
        _ if is_method => "that cannot be done here".to_owned(),
        said if said.is_empty() => "it cannot be understood".to_owned(),
        said => said.into_owned(),
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::CONTENT_TYPE);
    let mut answer = (status, Json(Problem { error })).into_response();
    // `Allow` among others.
    answer.headers_mut().extend(parts.headers);
    answer
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use axum::body::Body;
    use serde_json::Value;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn what_is_begun_is_carried_out_whoever_hangs_up() {
        let [begun, gate, done] = std::array::from_fn(|_| Arc::new(Notify::new()));
        let parts = (Arc::clone(&begun), Arc::clone(&gate), Arc::clone(&done));
        let work = move || async move {
            let (begun, gate, done) = parts;
            begun.notify_one();
            gate.notified().await;
            done.notify_one();
        };
        let routes: Routes = Routes::new().route("/", post(work)).layer(middleware::from_fn(run_to_completion));
        let asked = tokio::spawn(routes.oneshot(Request::post("/").body(Body::empty()).unwrap()));
        begun.notified().await;
        // What the server does with a request whose connection is gone.
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
        gate.notify_one();
        tokio::time::timeout(Duration::from_secs(120), done.notified()).await.unwrap();
    }

    /// All that is referred to, and all responses without a description, at every depth.
    fn look(at: &str, value: &Value, found: &mut BTreeSet<String>, silent: &mut Vec<String>) {
        if let Value::Object(all) = value {
            found.extend(all.get("$ref").and_then(Value::as_str).map(str::to_owned));
            let responses = all.get("responses").and_then(Value::as_object);
            let undescribed =
                responses.into_iter().flatten().filter(|(_, response)| response["description"] == Value::Null);
            silent.extend(undescribed.map(|(status, _)| format!("{at} {status}")));
            all.iter().for_each(|(key, value)| look(&format!("{at}/{key}"), value, found, silent));
        }
        if let Value::Array(all) = value {
            all.iter().for_each(|value| look(at, value, found, silent));
        }
    }

    #[test]
    fn n8_whatever_the_description_refers_to_is_in_it() {
        let (_, _, described) = described_routes();
        let described = serde_json::to_value(described).unwrap();
        let (mut found, mut silent) = (BTreeSet::new(), Vec::new());
        look("", &described, &mut found, &mut silent);
        let missing: Vec<&String> = found
            .iter()
            .filter(|place| described.pointer(place.strip_prefix('#').unwrap_or_default()).is_none())
            .collect();
        assert_eq!((missing, silent), (Vec::new(), Vec::new()));
        assert!(found.len() > 50, "{found:?}");
        let operations =
            described["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
        let ids: Vec<&str> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
        assert!(ids.len() > 50 && ids.iter().collect::<BTreeSet<_>>().len() == ids.len(), "{ids:?}");
    }
}
