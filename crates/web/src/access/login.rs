//! Logging in by a link that works once, and out again.

use std::time::Duration;

use axum::Form;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use serde::Deserialize;

use crate::access::origin_check::{CredentialKind, judge};
use crate::access::visitor::{COOKIE, Credential, Visitor, request_facts};
use crate::access::{LINK_HOLDS, PageAccess, PageRole, VISIT_HOLDS, hash, new_key};
use crate::api_error::ApiError;
use crate::serve::{ConnectionIdentity, ProvenIdentity};
use hob_core::domain::secret::Secret;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::web_access::{self, NewBrowserSession};

/// The longest time that the form of a login may take.
const FORM_TIMEOUT: Duration = Duration::from_secs(10);
/// The most characters that are kept of what a browser says it is.
const AGENT_CHARS_MAX: usize = 200;

/// Makes a link's secret known.
pub async fn invite(tx: &mut Tx, key: &Secret, role: PageRole, now: Timestamp) -> Result<(), StoreError> {
    let until = now.checked_add(LINK_HOLDS).unwrap_or(Timestamp::MAX);
    web_access::add_login(tx, &hash(key.expose()), role.as_str(), until).await
}

/// The link. What stands behind `#` is not sent, and is in no server's log.
pub fn link(page: &str, key: &Secret) -> String {
    format!("{}/login#{}", page.trim_end_matches('/'), key.expose())
}

/// A login's secret for a cookie's.
async fn exchange(tx: &mut Tx, login: &str, cookie: &Secret, agent: &str, now: Timestamp) -> Result<bool, StoreError> {
    let Some(role) = web_access::take_login(tx, &hash(login), now).await? else { return Ok(false) };
    let expires_at = now.checked_add(VISIT_HOLDS).unwrap_or(Timestamp::MAX);
    let visit = NewBrowserSession { hash: &hash(cookie.expose()), role: &role, agent, expires_at };
    web_access::add_visit(tx, &visit, now).await?;
    Ok(true)
}

/// What the login's form sends.
#[derive(Deserialize)]
pub(crate) struct LoginForm {
    key: String,
}

/// `POST /login`: takes the link's secret, and gives a cookie for it. The link itself only shows a button, so that nobody
/// logs in who merely looks where it leads.
pub(crate) async fn enter(
    State(page_access): State<PageAccess>,
    proven: ConnectionIdentity,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let form = tokio::time::timeout(FORM_TIMEOUT, Form::<LoginForm>::from_request(request, &())).await;
    let form = form.map_err(|_elapsed| ApiError::Bad("the form did not come in time".to_owned()))?;
    let Form(form) = form.map_err(|error| ApiError::Bad(format!("that is not a login: {error}")))?;
    let now = page_access.router.clock.now();
    let login = form.key.trim().to_owned();
    if !page_access.router.store.read(async |tx| web_access::login_holds(tx, &hash(&login), now).await).await? {
        // Only what fails counts, so that nobody who guesses keeps the owner out.
        if !page_access.logins.allows(now.as_second()) {
            return Err(ApiError::TooOften);
        }
        tracing::warn!("web.refused: a login with a link that does not hold");
        return Ok(Redirect::to("/login?over").into_response());
    }
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let agent: String = agent.chars().take(AGENT_CHARS_MAX).collect();
    let cookie = new_key(&*page_access.rng());
    let kept = cookie.clone();
    if !page_access.router.store.write(async move |tx| exchange(tx, &login, &kept, &agent, now).await).await? {
        // Somebody else was faster with it.
        tracing::warn!("web.refused: a login with a link that does not hold");
        return Ok(Redirect::to("/login?over").into_response());
    }
    proven.is(ProvenIdentity::Link);
    tracing::info!("web.entered: somebody logged in by a link");
    Ok(with_cookie(Redirect::to("/").into_response(), &visit_cookie(&page_access, cookie.expose())))
}

/// The cookie of a visit that has just begun, or that goes on.
fn visit_cookie(page_access: &PageAccess, secret: &str) -> String {
    let secure = if page_access.places.secure { "; Secure" } else { "" };
    let age = VISIT_HOLDS.as_secs();
    format!("{COOKIE}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}")
}

/// `answer`, which has a browser keep its cookie for as long as if it had logged in now.
pub(crate) fn renewed(page_access: &PageAccess, visitor: &Visitor, headers: &HeaderMap, answer: Response) -> Response {
    match (visitor.visit, Credential::of(headers)) {
        (Some(_), Some(Credential::Cookie(secret))) => with_cookie(answer, &visit_cookie(page_access, &secret)),
        _ => answer,
    }
}

/// `POST /logout`.
pub(crate) async fn leave(State(page_access): State<PageAccess>, visitor: Visitor) -> Result<Response, ApiError> {
    if let Some(visit) = visitor.visit {
        page_access.router.store.write(async move |tx| web_access::end_visit(tx, visit).await).await?;
    }
    let gone = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), &gone))
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    match HeaderValue::from_str(cookie) {
        Ok(value) => {
            response.headers_mut().insert(header::SET_COOKIE, value);
        }
        Err(error) => tracing::error!(%error, "a cookie has no form"),
    }
    response
}

/// Lets only requests through that are their visitor's own, whoever that is.
pub(crate) async fn guard(
    State(page_access): State<PageAccess>,
    request: Request,
    next: axum::middleware::Next,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    judge(&page_access.places, &request_facts(&parts, CredentialKind::Cookie)).or_else(|refusal| {
        // A program's key is nobody else's doing.
        let by_key = judge(&page_access.places, &request_facts(&parts, CredentialKind::Key));
        if parts.headers.contains_key(header::AUTHORIZATION) { by_key } else { Err(refusal) }
    })?;
    Ok(next.run(Request::from_parts(parts, body)).await)
}
