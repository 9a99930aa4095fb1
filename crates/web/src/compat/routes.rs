//! The API that OpenAI's clients speak.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures::{StreamExt as _, stream};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::PageRole;
use crate::access::visitor::Visitor;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::chat::routes::checked_id;
use crate::compat::error::{CompatError, FaultBody};
use crate::compat::follower::{FollowEvent, MessageFollower};
use crate::compat::request::{CompletionRequest, print};
use crate::compat::responses::{ALOUD, Choice, Chunk, ChunkChoice, Completion, MODEL, Model, Models};
use crate::compat::target::{RequestTarget, TargetLookup};
use hob_core::domain::channel::UpdateOutcome;
use hob_store::web_compat::ApiTokenUsage;

/// Names a conversation, in requests and in answers.
const SESSION: HeaderName = HeaderName::from_static("x-hob-session");
/// How a question is answered where there are no buttons.
const HOW_TO_ANSWER: &str = "(Your next message answers this: the number, or the words.)";
/// A connection on which nothing is said is shown to be alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(complete))
        .routes(routes!(models))
        .routes(routes!(model))
        .route("/v1/{*unknown}", any(|uri: Uri| async move { CompatError::no_address(uri.path()) }))
}

/// The answer to a request of a kind that an address does not take.
pub(crate) async fn no_method() -> Response {
    CompatError::no_method().into_response()
}

/// A program that has shown its key.
struct Caller {
    key: i64,
    role: PageRole,
}

impl FromRequestParts<Arc<AppState>> for Caller {
    type Rejection = CompatError;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, CompatError> {
        if !parts.headers.contains_key(header::AUTHORIZATION) {
            return Err(ApiError::Nobody.into());
        }
        let Visitor { role, key, .. } = Visitor::from_request_parts(parts, state).await?;
        // A browser adds its cookie by itself: that is not a word of a program's.
        Ok(Self { key: key.ok_or(ApiError::Nobody)?, role })
    }
}

/// What can be talked with: Hob.
#[utoipa::path(get, path = "/v1/models", tag = "openai", security(("key" = [])),
    responses((status = 200, body = Models), (status = 401, body = FaultBody)))]
async fn models(_caller: Caller) -> Json<Models> {
    Json(Models { object: "list", data: Model::all() })
}

/// The same, by its name.
#[utoipa::path(get, path = "/v1/models/{model}", tag = "openai", security(("key" = [])), params(("model" = String, Path,)),
    responses((status = 200, body = Model), (status = 401, body = FaultBody), (status = 404, body = FaultBody)))]
async fn model(_caller: Caller, Path(model): Path<String>) -> Result<Json<Model>, CompatError> {
    Model::named(&model).map(Json).ok_or_else(|| CompatError::no_model(&model))
}

/// Says something to Hob, and gives what Hob says; as server-sent events if asked for. `X-Hob-Session` names the conversation
/// (and the answer tells its name); `Idempotency-Key` makes of a request that is sent again the same request.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "openai", security(("key" = [])), request_body = CompletionRequest,
    params(("x-hob-session" = Option<String>, Header, pattern = "^[A-Za-z0-9_-]{1,64}$", description = "the conversation, as on the page: letters, digits, - and _"),
        ("idempotency-key" = Option<String>, Header, description = "what the client calls the request")),
    responses((status = 200, content((Completion = "application/json"), (String = "text/event-stream"))),
        (status = 400, body = FaultBody), (status = 401, body = FaultBody), (status = 403, body = FaultBody),
        (status = 404, body = FaultBody), (status = 413, body = FaultBody), (status = 503, body = FaultBody)))]
async fn complete(
    State(app): State<Arc<AppState>>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, CompatError> {
    if caller.role != PageRole::Owner {
        return Err(ApiError::NotAllowed.into());
    }
    let body = body.map_err(|error| CompatError::from(ApiError::TooBig(error.to_string())))?;
    let asked = CompletionRequest::parse(&body)?.asked(caller.key)?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty());
    let given = text("idempotency-key");
    let nonce = given.map_or_else(|| app.router.config().services.rng.id(), |given| print(&["key", given]));
    let mut find = TargetLookup::of(&asked, nonce.chars().take(24).collect(), app.router.clock.now());
    find.named = text(SESSION.as_str()).map(|name| checked_id(name.to_owned())).transpose()?;
    find.is_named = given.is_some();
    find.is_retry = text("x-stainless-retry-count").is_some_and(|count| count != "0");
    let place = app.router.store.read(async |tx| find.find(tx).await).await.map_err(ApiError::from)?;
    // Whoever only listens is not told of numbers.
    let how_to_answer = if asked.aloud { "" } else { HOW_TO_ANSWER };
    let mut following = MessageFollower::begin(&app, place.clone(), asked.streams, how_to_answer.to_owned());
    let taken = app.post(&place.chat, place.external_id.clone(), asked.text, asked.files).await;
    let accepted = taken.map_err(ApiError::from)?;
    if accepted == UpdateOutcome::Ignored {
        return Err(ApiError::NotAllowed.into());
    }
    let (id, created) = (format!("chatcmpl-{}", place.external_id), app.router.clock.now().as_second());
    let head = ResponseHead { id, created, model: if asked.aloud { ALOUD } else { MODEL } };
    let mut response = match asked.streams {
        true => streamed(following, head, asked.tells_usage).into_response(),
        false => whole_completion(&mut following, head).await?.into_response(),
    };
    add_chat_header(response.headers_mut(), &place);
    Ok(response)
}

/// What each piece of an answer begins with.
struct ResponseHead {
    id: String,
    created: i64,
    /// As what Hob was asked.
    model: &'static str,
}

fn add_chat_header(headers: &mut HeaderMap, place: &RequestTarget) {
    // It is made of letters, digits, - and _.
    if let Ok(value) = HeaderValue::from_str(&place.chat) {
        headers.insert(SESSION, value);
    }
}

async fn whole_completion(
    following: &mut MessageFollower,
    ResponseHead { id, model, .. }: ResponseHead,
) -> Result<Json<Completion>, CompatError> {
    let mut words = Vec::new();
    loop {
        match following.next().await.map_err(ApiError::from)? {
            FollowEvent::More(more) => words.push(more),
            FollowEvent::Over(seen) => {
                let words = words.concat();
                let silent = words.trim().is_empty();
                let (object, choices) = ("chat.completion", vec![Choice::of(words)]);
                let (created, usage) = (seen.at.div_euclid(1_000), seen.used.into());
                return Ok(Json(Completion { id, object, created, model, choices, usage, silent }));
            }
            FollowEvent::Stopping => return Err(CompatError::stopping()),
        }
    }
}

/// What is told next.
enum StreamStep {
    Begin,
    Follow {
        /// Something was said.
        spoken: bool,
    },
    Done,
}

fn streamed(
    following: MessageFollower,
    head: ResponseHead,
    tells_usage: bool,
) -> Sse<impl futures::Stream<Item = Result<Event, Infallible>>> {
    let steps = stream::unfold((following, head, StreamStep::Begin), move |(mut following, head, turn)| async move {
        let chunk = |choices, usage: Option<ApiTokenUsage>, silent| {
            let usage = tells_usage.then(|| usage.map(Into::into));
            let (object, created, model) = ("chat.completion.chunk", head.created, head.model);
            json_event(&Chunk { id: &head.id, object, created, model, choices, usage, silent })
        };
        let (events, turn) = match turn {
            StreamStep::Begin => {
                (vec![chunk(vec![ChunkChoice::begin()], None, false)], StreamStep::Follow { spoken: false })
            }
            StreamStep::Done => return None,
            StreamStep::Follow { spoken } => match following.next().await {
                Ok(FollowEvent::More(more)) => {
                    let spoken = spoken || !more.trim().is_empty();
                    (vec![chunk(vec![ChunkChoice::words(more)], None, false)], StreamStep::Follow { spoken })
                }
                Ok(FollowEvent::Over(seen)) => {
                    let usage = tells_usage.then(|| chunk(Vec::new(), Some(seen.used), false));
                    let last = chunk(vec![ChunkChoice::end()], None, !spoken);
                    let end = [Some(last), usage, Some(Some(Event::default().data("[DONE]")))];
                    (end.into_iter().flatten().collect(), StreamStep::Done)
                }
                Ok(FollowEvent::Stopping) => (vec![json_event(&CompatError::stopping().body())], StreamStep::Done),
                Err(error) => (vec![json_event(&CompatError::from(ApiError::Store(error)).body())], StreamStep::Done),
            },
        };
        let events: Vec<Result<Event, Infallible>> = events.into_iter().flatten().map(Ok).collect();
        Some((stream::iter(events), (following, head, turn)))
    });
    Sse::new(steps.flatten()).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

fn json_event(what: &impl Serialize) -> Option<Event> {
    match Event::default().json_data(what) {
        Ok(event) => Some(event),
        Err(error) => {
            tracing::error!(%error, "a piece of an answer has no form");
            None
        }
    }
}
