//! The API of the page's conversations.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Multipart, Path, Query, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::{Owner, Visitor};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::chat::intake::FILES_MAX;
use crate::chat::timeline::{PAGE, ReadPosition, Timeline, TimelineQuery, TimelineRange};
use crate::chat::{files, manage, stream};
use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::inbound::InboundEvent;
use hob_store::web_chat;

/// Why a message is left as it is.
const TOO_LATE: &str = "It is at work already, or the new words are none or too many: it stays as it is.";
/// The longest id that a page may give.
const ID_CHARS_MAX: usize = 64;
/// The longest name of a conversation.
pub(super) const TITLE_CHARS_MAX: usize = 80;

pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(chats))
        .routes(routes!(timeline, say))
        .routes(routes!(edit, withdraw))
        .routes(routes!(press))
        .routes(routes!(events))
        .merge(files::routes())
        .merge(manage::routes())
}

/// A conversation of the page.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ChatEntry {
    /// Its id.
    id: String,
    /// As somebody called it, or how it began.
    title: String,
    /// When somebody last wrote in it, in milliseconds since 1970.
    at: Option<i64>,
}

/// The conversations of the page.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ChatList {
    /// The newest first.
    chats: Vec<ChatEntry>,
    /// Where to go on; none: that is all.
    next: Option<i64>,
}

/// Which part of a list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct ChatListParams {
    /// What `next` was.
    before: Option<i64>,
    /// Only those in whose name, or in whose messages, these words stand.
    find: Option<String>,
}

/// The conversations that were held on the page.
#[utoipa::path(get, path = "/api/chats", tag = "chat", params(ChatListParams), responses((status = 200, body = ChatList), (status = 401, body = Problem), (status = 422, body = Problem)))]
async fn chats(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(from): Query<ChatListParams>,
) -> Result<Json<ChatList>, ApiError> {
    let words = from.find.map(|words| words.trim().to_owned()).filter(|words| !words.is_empty());
    if words.as_ref().is_some_and(|words| words.chars().count() > TITLE_CHARS_MAX) {
        return Err(ApiError::Bad(format!("at most {TITLE_CHARS_MAX} characters are looked for")));
    }
    let wanted = web_chat::ChatQuery { before: from.before.unwrap_or(i64::MAX), words: words.as_deref(), limit: PAGE };
    let all = app.router.store.read(async |tx| web_chat::chats(tx, wanted).await).await?;
    let full = i64::try_from(all.len()).is_ok_and(|count| count >= PAGE);
    let next = all.last().filter(|_| full).map(|last| last.session.0);
    let entry = |chat: web_chat::WebChat| ChatEntry {
        id: chat.key.strip_prefix("web:").unwrap_or(&chat.key).to_owned(),
        title: chat.title.unwrap_or_else(|| title_from(&chat.began_with.unwrap_or_default())),
        at: chat.at,
    };
    Ok(Json(ChatList { chats: all.into_iter().map(entry).collect(), next }))
}

/// How a conversation is called that nobody has named: its first line.
fn title_from(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(TITLE_CHARS_MAX).collect()
}

/// Which part of a conversation is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct TimelineParams {
    /// What stands before this mark, `12-34`.
    #[param(pattern = "^[0-9]{1,15}-[0-9]{1,15}$")]
    before: Option<String>,
}

/// What was said in a conversation: the newest, or what stands before a mark.
#[utoipa::path(get, path = "/api/chats/{chat}/messages", tag = "chat", params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$"), TimelineParams),
    responses((status = 200, body = Timeline), (status = 401, body = Problem), (status = 422, body = Problem)))]
async fn timeline(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(chat): Path<String>,
    Query(part): Query<TimelineParams>,
) -> Result<Json<Timeline>, ApiError> {
    let chat = checked_id(chat)?;
    let part = match part.before {
        Some(mark) => TimelineRange::Before(
            ReadPosition::parse(&mark)
                .ok_or_else(|| ApiError::Bad("before is not a mark, such as 12-34".to_owned()))?,
        ),
        None => TimelineRange::Newest,
    };
    Ok(Json(app.router.store.look(async |tx| TimelineQuery { chat, part }.read(tx).await).await?))
}

/// What became of something that was sent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct SendResult {
    /// It was taken in before: sent twice, it counts once.
    duplicate: bool,
}

impl SendResult {
    /// Of what Hob cares for in any case.
    fn of(accepted: UpdateOutcome) -> Json<Self> {
        Json(Self { duplicate: accepted == UpdateOutcome::Duplicate })
    }

    /// Of other words for a message, or its end: that comes too late for what is at work.
    fn in_time(accepted: UpdateOutcome) -> Result<Json<Self>, ApiError> {
        match accepted {
            UpdateOutcome::Ignored => Err(ApiError::Conflict(TOO_LATE.to_owned())),
            UpdateOutcome::Committed | UpdateOutcome::Duplicate => Ok(Self::of(accepted)),
        }
    }
}

/// A message, as a form: `id` (made by the sender, unique, so that sending again does no harm), `text`, and files as `file`.
#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes the form")]
pub(crate) struct NewMessage {
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    id: String,
    text: String,
    #[schema(value_type = Vec<String>, format = Binary, required = false)]
    file: Vec<Vec<u8>>,
}

/// Says something. What begins with `/` is a command. It is stored when this is answered.
#[utoipa::path(post, path = "/api/chats/{chat}/messages", tag = "chat", params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$")),
    request_body(content = NewMessage, content_type = "multipart/form-data"),
    responses((status = 200, body = SendResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 422, body = Problem), (status = 503, body = Problem)))]
async fn say(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(chat): Path<String>,
    mut form: Multipart,
) -> Result<Json<SendResult>, ApiError> {
    let chat = checked_id(chat)?;
    let (mut id, mut text, mut files) = (None, String::new(), Vec::new());
    while let Some(field) = form.next_field().await.map_err(broken)? {
        match field.name() {
            Some("id") => id = Some(checked_id(field.text().await.map_err(broken)?)?),
            Some("text") => text = field.text().await.map_err(broken)?,
            Some("file") if files.len() < FILES_MAX => {
                let name = field.file_name().map(str::to_owned);
                let name = name.ok_or_else(|| ApiError::Bad("a file has a name".to_owned()))?;
                files.push((name, field.bytes().await.map_err(broken)?.to_vec()));
            }
            Some("file") => return Err(ApiError::TooBig(format!("{FILES_MAX} files in one message are the most"))),
            Some(_) | None => {}
        }
    }
    let id = id.ok_or_else(|| ApiError::Bad("the message has no id".to_owned()))?;
    if text.trim().is_empty() && files.is_empty() {
        return Err(ApiError::Bad("a message has words, or a file".to_owned()));
    }
    Ok(SendResult::of(app.post(&chat, id, text, files).await?))
}

fn broken(error: axum::extract::multipart::MultipartError) -> ApiError {
    match error.status() {
        axum::http::StatusCode::PAYLOAD_TOO_LARGE => ApiError::TooBig("it is too big".to_owned()),
        _ => ApiError::Bad(format!("the form cannot be read: {error}")),
    }
}

/// Other words for a message that waits.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct NewText {
    /// The words.
    text: String,
}

/// Changes a message that waits its turn; what runs already is not touched.
#[utoipa::path(put, path = "/api/chats/{chat}/messages/{id}", tag = "chat",
    params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$"), ("id" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$", description = "what the sender called it")), request_body = NewText,
    responses((status = 200, body = SendResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
async fn edit(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path((chat, id)): Path<(String, String)>,
    Json(NewText { text }): Json<NewText>,
) -> Result<Json<SendResult>, ApiError> {
    let (chat, id) = (checked_id(chat)?, checked_id(id)?);
    SendResult::in_time(app.hand_in(&chat, id, InboundEvent::Edited { text }, Vec::new()).await?)
}

/// Takes back a message that waits its turn.
#[utoipa::path(delete, path = "/api/chats/{chat}/messages/{id}", tag = "chat",
    params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$"), ("id" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$", description = "what the sender called it")),
    responses((status = 200, body = SendResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
async fn withdraw(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path((chat, id)): Path<(String, String)>,
) -> Result<Json<SendResult>, ApiError> {
    let (chat, id) = (checked_id(chat)?, checked_id(id)?);
    SendResult::in_time(app.hand_in(&chat, id, InboundEvent::Deleted, Vec::new()).await?)
}

/// A button that is pressed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct ButtonPress {
    /// Made by the sender, unique.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    id: String,
    /// The button's.
    token: String,
}

/// Presses a button under one of Hob's questions.
#[utoipa::path(post, path = "/api/chats/{chat}/presses", tag = "chat", params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$")), request_body = ButtonPress,
    responses((status = 200, body = SendResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 422, body = Problem)))]
async fn press(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(chat): Path<String>,
    Json(ButtonPress { id, token }): Json<ButtonPress>,
) -> Result<Json<SendResult>, ApiError> {
    let (chat, id) = (checked_id(chat)?, checked_id(id)?);
    Ok(SendResult::of(app.hand_in(&chat, format!("press:{id}"), InboundEvent::Pressed { token }, Vec::new()).await?))
}

/// From where on a conversation is heard.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct StreamParams {
    /// A mark, `12-34`. Without it, and without `Last-Event-ID`: from now on.
    since: Option<String>,
}

/// What happens in a conversation, as server-sent events: `message` (a `Message`; its id is a mark), `state` (what is at work
/// or waits), `growing` (more of a reply that is being written), `step` (how far a call is that is at work), `gap` (look at the messages again).
#[utoipa::path(get, path = "/api/chats/{chat}/events", tag = "chat", params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$"), StreamParams),
    responses((status = 200, content_type = "text/event-stream"), (status = 401, body = Problem)))]
async fn events(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    Path(chat): Path<String>,
    Query(since): Query<StreamParams>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let chat = checked_id(chat)?;
    let had = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let mark = stream::begin(&app.router, &chat, had.or(since.since.as_deref())).await?;
    Ok(stream::watch(app, visitor, chat, mark))
}

/// An id that a page made: letters, digits, `-` and `_`.
pub(crate) fn checked_id(id: String) -> Result<String, ApiError> {
    let fits = !id.is_empty()
        && id.len() <= ID_CHARS_MAX
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if fits { Ok(id) } else { Err(ApiError::Bad(format!("an id has at most {ID_CHARS_MAX} letters, digits, - and _"))) }
}
