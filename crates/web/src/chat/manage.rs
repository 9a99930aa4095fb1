//! What an owner does with a conversation as a whole: gives it a name, or has it deleted.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Owner;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::chat::channel::conversation;
use crate::chat::routes::{TITLE_CHARS_MAX, checked_id};
use hob_core::domain::ids::SessionId;
use hob_core::domain::text::one_line;
use hob_store::error::StoreError;
use hob_store::web_chat::{self, ChatPosition};
use hob_store::{Tx, sessions};

/// Why a conversation is not deleted now.
const AT_WORK: &str = "Something in it is at work or waits its turn: stop it, then delete the conversation.";

pub(super) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(rename, delete))
}

/// Finds a conversation, and whether something in it is not over.
async fn find(tx: &mut Tx, chat: &str) -> Result<Option<(ChatPosition, bool)>, StoreError> {
    let Some(place) = web_chat::place(tx, &conversation(chat).session_key().0).await? else {
        return Ok(None);
    };
    let is_open = !web_chat::open(tx, place.session).await?.is_empty();
    Ok(Some((place, is_open)))
}

/// The last step of a deletion: nothing of it is shown any more, and what is said there next begins afresh. False: somebody has
/// said something meanwhile.
async fn close(tx: &mut Tx, session: SessionId) -> Result<bool, StoreError> {
    if !web_chat::open(tx, session).await?.is_empty() {
        return Ok(false);
    }
    web_chat::close(tx, session).await?;
    sessions::start_afresh(tx, session).await?;
    Ok(true)
}

impl AppState {
    async fn place(&self, chat: String) -> Result<(ChatPosition, bool), ApiError> {
        let chat = checked_id(chat)?;
        let found = self.router.store.read(async |tx| find(tx, &chat).await).await?;
        found.ok_or(ApiError::NotFound("conversation"))
    }
}

/// A name for a conversation.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(super) struct ChatTitle {
    /// At most 80 characters; none, or empty: it is called by how it began.
    title: Option<String>,
}

/// Calls a conversation so.
#[utoipa::path(put, path = "/api/chats/{chat}", tag = "chat", params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$")), request_body = ChatTitle,
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn rename(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(chat): Path<String>,
    Json(ChatTitle { title }): Json<ChatTitle>,
) -> Result<StatusCode, ApiError> {
    let words = title.map(|title| one_line(&title));
    let title = words.filter(|title| !title.is_empty());
    if title.as_ref().is_some_and(|title| title.chars().count() > TITLE_CHARS_MAX) {
        return Err(ApiError::Bad(format!("a name has at most {TITLE_CHARS_MAX} characters")));
    }
    let (place, _) = app.place(chat).await?;
    let session = place.session;
    app.router.store.write(async move |tx| web_chat::rename(tx, session, title.as_deref()).await).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What became of a deletion.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct DeletionResult {
    /// A run still works with some of the words: from its record they go when it is over.
    later: bool,
}

/// Deletes a conversation for good: what was said in it, what is remembered of that, and its runs' records.
#[utoipa::path(delete, path = "/api/chats/{chat}", tag = "chat", params(("chat" = String, Path, pattern = "^[A-Za-z0-9_-]{1,64}$")),
    responses((status = 200, body = DeletionResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
async fn delete(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(chat): Path<String>,
) -> Result<Json<DeletionResult>, ApiError> {
    let (place, is_open) = app.place(chat.clone()).await?;
    let at_work = || ApiError::Conflict(AT_WORK.to_owned());
    if is_open {
        return Err(at_work());
    }
    let later = app.router.forget_talk(place.session).await?;
    let session = place.session;
    if !app.router.store.write(async move |tx| close(tx, session).await).await? {
        return Err(at_work());
    }
    app.page.changed(&chat);
    Ok(Json(DeletionResult { later }))
}
