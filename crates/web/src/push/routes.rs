//! What a browser asks that wants to be told.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::door::visitor::{Owner, Visitor};
use crate::push::seal::SealError;
use crate::push::send::{endpoint, recipient};
use crate::push::vapid::{Key, fresh};
use crate::reply::{Problem, Refused};
use crate::served::Served;
use hob_store::error::StoreError;
use hob_store::web_push::{self, Subscription};
use hob_store::{Statement, Tx};

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<Arc<Served>> {
    OpenApiRouter::new().routes(routes!(how, listen, leave))
}

/// How a browser is told.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct How {
    /// The key that push services know this Hob by, in base64url (`applicationServerKey`).
    key: String,
    /// Whether this browser is told already.
    told: bool,
}

/// A browser's address at its push service.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct Listener {
    /// Where.
    endpoint: String,
    /// The browser's public key, in base64url.
    p256dh: String,
    /// The browser's secret, in base64url.
    auth: String,
}

/// Looks how things stand for a visit.
struct Look {
    visit: i64,
}

#[async_trait]
impl Statement for Look {
    type Output = (Option<Vec<u8>>, bool);

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output, StoreError> {
        Ok((web_push::find_key(tx).await?, web_push::is_told(tx, self.visit).await?))
    }
}

/// Keeps a key, unless there is one: gives the one that is kept.
struct Keep {
    fresh: Vec<u8>,
}

#[async_trait]
impl Statement for Keep {
    type Output = Vec<u8>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<u8>, StoreError> {
        web_push::key(tx, &self.fresh).await
    }
}

/// Writes a browser down; false: there are too many.
struct Add {
    visit: i64,
    new: Subscription,
    now: Timestamp,
}

#[async_trait]
impl Statement for Add {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        web_push::add(tx, self.visit, &self.new, self.now).await
    }
}

/// A visit's browser is told no more.
struct Leave {
    visit: i64,
}

#[async_trait]
impl Statement for Leave {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        web_push::leave(tx, self.visit).await
    }
}

fn visit(visitor: Visitor) -> Result<i64, Refused> {
    visitor.visit.ok_or_else(|| Refused::Conflict("browsers that are logged in are told, programs are not".to_owned()))
}

fn broken(error: SealError) -> Refused {
    Refused::Broken(format!("the key for push services cannot be made or read: {error}"))
}

/// How this browser is told that something waits while the page is closed (Web Push).
#[utoipa::path(get, path = "/api/push", tag = "push",
    responses((status = 200, body = How), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
async fn how(State(served): State<Arc<Served>>, Owner(visitor): Owner) -> Result<Json<How>, Refused> {
    let (kept, told) = served.router.store.read(Look { visit: visit(visitor)? }).await?;
    let kept = match kept {
        Some(kept) => kept,
        None => served.router.store.write(Keep { fresh: fresh().map_err(broken)? }).await?,
    };
    Ok(Json(How { key: Key::of(&kept).map_err(broken)?.public(), told }))
}

/// This browser is to be told from now on, until it logs out.
#[utoipa::path(put, path = "/api/push", tag = "push", request_body = Listener,
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
async fn listen(
    State(served): State<Arc<Served>>,
    Owner(visitor): Owner,
    Json(Listener { endpoint: address, p256dh, auth }): Json<Listener>,
) -> Result<StatusCode, Refused> {
    let visit = visit(visitor)?;
    let endpoint = endpoint(&address, &served.guard).map_err(Refused::Bad)?.to_string();
    let new = Subscription { id: 0, endpoint, p256dh, auth };
    recipient(&new).map_err(|error| Refused::Bad(error.to_string()))?;
    if !served.router.store.write(Add { visit, new, now: served.router.clock.now() }).await? {
        return Err(Refused::Conflict("too many browsers are told already: log some of them out".to_owned()));
    }
    served.bell.heard();
    Ok(StatusCode::NO_CONTENT)
}

/// This browser is told no more.
#[utoipa::path(delete, path = "/api/push", tag = "push",
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
async fn leave(State(served): State<Arc<Served>>, Owner(visitor): Owner) -> Result<StatusCode, Refused> {
    served.router.store.write(Leave { visit: visit(visitor)? }).await?;
    Ok(StatusCode::NO_CONTENT)
}
