//! Who asks: handlers name a [`Visitor`] or an [`Owner`] among their arguments, and are called for nobody else.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use jiff::Timestamp;

use crate::access::origin_check::{CredentialKind, RequestFacts, judge};
use crate::access::{NOTED_EVERY, PageAccess, PageRole, VISIT_HOLDS, hash};
use crate::api_error::ApiError;
use crate::serve::{ConnectionIdentity, ProvenIdentity};
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::web_access::{self, ValidKey};

/// The cookie's name.
pub(super) const COOKIE: &str = "hob";
/// Answers that go on and on are asked for there.
const STREAMS: &str = "text/event-stream";

/// Somebody who has logged in, or a program with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub role: PageRole,
    /// Their visit, if it is a browser's.
    pub visit: Option<i64>,
    /// Their key, if it is a program's.
    pub key: Option<i64>,
}

/// A visitor who may do everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(pub Visitor);

/// What of a request shows who asks.
pub(super) enum Credential {
    Cookie(String),
    Key(String),
}

impl Credential {
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(key) = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")) {
            return Some(Self::Key(key.trim().to_owned()));
        }
        let mut cookies = text(header::COOKIE)?.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        cookies.find(|(name, _)| *name == COOKIE).map(|(_, value)| Self::Cookie(value.to_owned()))
    }
}

/// Whether the request is one that its visitor must have meant.
pub(crate) fn request_facts<'a>(parts: &'a Parts, shown: CredentialKind) -> RequestFacts<'a> {
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let streams = text("accept").is_some_and(|accept| accept.contains(STREAMS));
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    let host = text("host").or_else(|| parts.uri.authority().map(axum::http::uri::Authority::as_str));
    RequestFacts { host, origin: text("origin"), site: text("sec-fetch-site"), matters: !reads || streams, shown }
}

/// Finds whom a credential belongs to.
async fn find(tx: &mut Tx, hash: &str, is_key: bool, now: Timestamp) -> Result<Option<ValidKey>, StoreError> {
    match is_key {
        true => web_access::find_token(tx, hash).await,
        false => web_access::find_visit(tx, hash, now).await,
    }
}

/// Looks whether somebody who was let in still would be.
async fn holds(tx: &mut Tx, visitor: &Visitor, now: Timestamp) -> Result<bool, StoreError> {
    match (visitor.visit, visitor.key) {
        (Some(visit), _) => web_access::visit_holds(tx, visit, now).await,
        (None, Some(key)) => web_access::token_holds(tx, key).await,
        (None, None) => Ok(false),
    }
}

/// Notes that a credential was used.
async fn note(tx: &mut Tx, id: i64, is_key: bool, now: Timestamp) -> Result<(), StoreError> {
    if is_key {
        return web_access::note_token(tx, id, now).await;
    }
    let until = now.checked_add(VISIT_HOLDS).unwrap_or(Timestamp::MAX);
    web_access::prolong_visit(tx, id, now, until).await
}

impl PageAccess {
    /// Whether they have neither logged out nor stayed away for too long, and their key is not taken back.
    pub(crate) async fn holds(&self, visitor: Visitor) -> Result<bool, StoreError> {
        self.router.store.read(async |tx| holds(tx, &visitor, self.router.clock.now()).await).await
    }

    async fn enter(&self, parts: &Parts) -> Result<Visitor, ApiError> {
        let credential = Credential::of(&parts.headers);
        let shown = match &credential {
            None => CredentialKind::Nothing,
            Some(Credential::Cookie(_)) => CredentialKind::Cookie,
            Some(Credential::Key(_)) => CredentialKind::Key,
        };
        judge(&self.places, &request_facts(parts, shown))?;
        let (secret, is_key) = match credential {
            None => return Err(ApiError::Nobody),
            Some(Credential::Cookie(secret)) => (secret, false),
            Some(Credential::Key(secret)) => (secret, true),
        };
        let (store, now) = (&self.router.store, self.router.clock.now());
        let found = store.read(async |tx| find(tx, &hash(&secret), is_key, now).await).await?;
        let held = found.ok_or(ApiError::Nobody)?;
        let noted = held.seen_at.and_then(|at| Timestamp::from_millisecond(at).ok());
        let is_fresh = noted.is_some_and(|at| now.duration_since(at).unsigned_abs() < NOTED_EVERY);
        let id = held.id;
        if !is_fresh && let Err(error) = store.write(async move |tx| note(tx, id, is_key, now).await).await {
            tracing::warn!(%error, "a visit could not be noted");
        }
        ConnectionIdentity::of(parts).is(if is_key {
            ProvenIdentity::Key(held.id)
        } else {
            ProvenIdentity::Visit(held.id)
        });
        Ok(Visitor {
            role: PageRole::named(&held.role),
            visit: (!is_key).then_some(held.id),
            key: is_key.then_some(held.id),
        })
    }
}

impl<S> FromRequestParts<S> for Visitor
where
    PageAccess: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        PageAccess::from_ref(state).enter(parts).await
    }
}

impl<S> FromRequestParts<S> for Owner
where
    PageAccess: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let visitor = Visitor::from_request_parts(parts, state).await?;
        if visitor.role == PageRole::Owner { Ok(Self(visitor)) } else { Err(ApiError::NotAllowed) }
    }
}
