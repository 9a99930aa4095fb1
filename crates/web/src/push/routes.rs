//! What a browser asks that wants to be told.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::{Owner, Visitor};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::push::encryption::EncryptionError;
use crate::push::send::{endpoint, recipient};
use crate::push::vapid::{VapidKey, fresh};
use hob_store::Tx;
use hob_store::web_push::{self, Subscription};

pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(how, listen, leave))
}

/// How a browser is told.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct PushSetup {
    /// The key that push services know this Hob by, in base64url (`applicationServerKey`).
    key: String,
    /// Whether this browser is told already.
    told: bool,
}

/// A browser's address at its push service.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct PushEndpoint {
    /// Where.
    endpoint: String,
    /// The browser's public key, in base64url.
    p256dh: String,
    /// The browser's secret, in base64url.
    auth: String,
}

fn visit(visitor: Visitor) -> Result<i64, ApiError> {
    visitor.visit.ok_or_else(|| ApiError::Conflict("browsers that are logged in are told, programs are not".to_owned()))
}

fn broken(error: EncryptionError) -> ApiError {
    ApiError::Broken(format!("the key for push services cannot be made or read: {error}"))
}

/// How this browser is told that something waits while the page is closed (Web Push).
#[utoipa::path(get, path = "/api/push", tag = "push",
    responses((status = 200, body = PushSetup), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
async fn how(State(app): State<Arc<AppState>>, Owner(visitor): Owner) -> Result<Json<PushSetup>, ApiError> {
    let visit = visit(visitor)?;
    let look = async |tx: &mut Tx| Ok((web_push::find_key(tx).await?, web_push::is_told(tx, visit).await?));
    let (kept, told) = app.router.store.read(look).await?;
    let kept = match kept {
        Some(kept) => kept,
        None => {
            let fresh = fresh().map_err(broken)?;
            app.router.store.write(async move |tx| web_push::key(tx, &fresh).await).await?
        }
    };
    Ok(Json(PushSetup { key: VapidKey::of(&kept).map_err(broken)?.public(), told }))
}

/// This browser is to be told from now on, until it logs out.
#[utoipa::path(put, path = "/api/push", tag = "push", request_body = PushEndpoint,
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
async fn listen(
    State(app): State<Arc<AppState>>,
    Owner(visitor): Owner,
    Json(PushEndpoint { endpoint: address, p256dh, auth }): Json<PushEndpoint>,
) -> Result<StatusCode, ApiError> {
    let visit = visit(visitor)?;
    let endpoint = endpoint(&address, &app.guard).map_err(ApiError::Bad)?.to_string();
    let new = Subscription { id: 0, endpoint, p256dh, auth };
    recipient(&new).map_err(|error| ApiError::Bad(error.to_string()))?;
    let now = app.router.clock.now();
    if !app.router.store.write(async move |tx| web_push::add(tx, visit, &new, now).await).await? {
        return Err(ApiError::Conflict("too many browsers are told already: log some of them out".to_owned()));
    }
    app.bell.mark_listening();
    Ok(StatusCode::NO_CONTENT)
}

/// This browser is told no more.
#[utoipa::path(delete, path = "/api/push", tag = "push",
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
async fn leave(State(app): State<Arc<AppState>>, Owner(visitor): Owner) -> Result<StatusCode, ApiError> {
    let visit = visit(visitor)?;
    app.router.store.write(async move |tx| web_push::unsubscribe(tx, visit).await).await?;
    Ok(StatusCode::NO_CONTENT)
}
