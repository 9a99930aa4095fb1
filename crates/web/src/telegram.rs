//! `POST /telegram/ACCOUNT`: what Telegram posts where it is not asked. The answer comes after the commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router as Routes;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;

use crate::limit::{PerMinuteLimit, REFUSED_TOLD_PER_MINUTE};
use crate::serve::{ConnectionIdentity, ProvenIdentity};
use crate::signature::is_same;
use hob_core::domain::channel::UpdateSink;
use hob_core::domain::clock::Clock;

/// The longest update; Telegram's own are far shorter.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// The longest time that a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Where Telegram shows that it is Telegram.
const SECRET_HEADER: &str = "X-Telegram-Bot-Api-Secret-Token";

/// The accounts by name, as they are now.
pub type UpdateSinks = ArcSwap<BTreeMap<String, Arc<dyn UpdateSink>>>;

/// These by their names.
pub fn by_name(sinks: impl IntoIterator<Item = Arc<dyn UpdateSink>>) -> BTreeMap<String, Arc<dyn UpdateSink>> {
    sinks.into_iter().map(|sink| (sink.account().to_owned(), sink)).collect()
}

/// What is served here.
struct TelegramWebhookState {
    now: Arc<UpdateSinks>,
    clock: Arc<dyn Clock>,
    told: PerMinuteLimit,
}

/// The route of these accounts.
pub fn routes(now: Arc<UpdateSinks>, clock: Arc<dyn Clock>) -> Routes {
    let posts = TelegramWebhookState { now, clock, told: PerMinuteLimit::new(REFUSED_TOLD_PER_MINUTE) };
    Routes::new().route("/telegram/{account}", post(call)).with_state(Arc::new(posts))
}

/// Telegram posts again what is not answered with 200.
async fn call(
    State(posts): State<Arc<TelegramWebhookState>>,
    Path(account): Path<String>,
    proven: ConnectionIdentity,
    headers: HeaderMap,
    body: Body,
) -> StatusCode {
    let said = headers.get(SECRET_HEADER).map_or(&[][..], |said| said.as_bytes());
    let sinks = posts.now.load_full();
    let sink = sinks.get(&account).filter(|sink| sink.secret().is_some_and(|secret| is_same(secret, said)));
    let Some(sink) = sink else {
        match posts.told.allows(posts.clock.now().as_second()) {
            true => {
                tracing::warn!("telegram.refused: a call with a wrong secret, or for an account that is not called")
            }
            false => tracing::debug!("telegram.refused: one of many"),
        }
        return StatusCode::UNAUTHORIZED;
    };
    proven.is(ProvenIdentity::Telegram(account.clone()));
    let body = match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_too_long_or_broken)) => return StatusCode::PAYLOAD_TOO_LARGE,
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    match sink.update(&body).await {
        Ok(()) => StatusCode::OK,
        Err(error) => {
            tracing::warn!(account, %error, "an update could not be stored; Telegram posts it again");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
