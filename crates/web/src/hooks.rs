//! `POST /hooks/NAME`: events, signed by whoever sends them. The answer comes after the commit.

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
use crate::signature::{SignatureScheme, judged};
use hob_core::domain::secret::Secret;
use hob_core::domain::text::hex;
use hob_router::intake::Router;
use hob_router::webhook_runs::{WebhookOutcome, WebhookTask};

/// The longest body.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// The longest time that a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A webhook, as configured.
pub struct Webhook {
    /// What is done.
    pub hook: WebhookTask,
    /// What its caller signs with.
    pub secret: Secret,
    /// The header with the signature.
    pub header: String,
    pub signed: SignatureScheme,
    /// How often whoever has its secret may call.
    pub limit: PerMinuteLimit,
}

/// The webhooks by their names, as they are now.
pub type Webhooks = ArcSwap<BTreeMap<String, Webhook>>;

/// These by their names.
pub fn by_name(webhooks: Vec<Webhook>) -> BTreeMap<String, Webhook> {
    webhooks.into_iter().map(|webhook| (webhook.hook.name.clone(), webhook)).collect()
}

/// What is served here.
struct WebhookState {
    router: Arc<Router>,
    now: Arc<Webhooks>,
    /// For names that are not there: nobody learns which are.
    decoy: Secret,
    told: PerMinuteLimit,
}

pub fn routes(router: Arc<Router>, now: Arc<Webhooks>) -> Routes {
    let decoy = Secret::new(router.config().services.rng.id());
    let hooks = WebhookState { router, now, decoy, told: PerMinuteLimit::new(REFUSED_TOLD_PER_MINUTE) };
    Routes::new().route("/hooks/{name}", post(call)).with_state(Arc::new(hooks))
}

async fn call(
    State(hooks): State<Arc<WebhookState>>,
    Path(name): Path<String>,
    proven: ConnectionIdentity,
    headers: HeaderMap,
    body: Body,
) -> StatusCode {
    let now = hooks.router.clock.now().as_second();
    let by_name = hooks.now.load_full();
    let webhook = by_name.get(&name);
    let body = match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_too_long_or_broken)) => return StatusCode::PAYLOAD_TOO_LARGE,
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    // The same work for a name that is not there as for a wrong signature.
    let (secret, header, signed) = webhook
        .map_or((&hooks.decoy, "X-Hub-Signature-256", SignatureScheme::Body), |webhook| {
            (&webhook.secret, webhook.header.as_str(), webhook.signed)
        });
    let signature = headers.get(header).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let known = judged(signed, secret, signature, &body, now);
    let Some((webhook, mac)) = webhook.zip(known) else {
        // Only whoever runs Hob learns which; a name that is not there is a stranger's words.
        match by_name.contains_key(&name) {
            _ if !hooks.told.allows(now) => tracing::debug!("webhook.refused: one of many"),
            true => tracing::warn!(hook = name, "webhook.refused: a wrong signature"),
            false => tracing::warn!("webhook.refused: there is no webhook of the name that was called"),
        }
        return StatusCode::UNAUTHORIZED;
    };
    proven.is(ProvenIdentity::Webhook(name.clone()));
    // Only whoever has the secret uses up its calls.
    if !webhook.limit.allows(now) {
        return StatusCode::TOO_MANY_REQUESTS;
    }
    let delivery = delivery(&mac);
    match hooks.router.accept_webhook(&webhook.hook, &delivery, &body).await {
        Ok(WebhookOutcome::Committed) => StatusCode::ACCEPTED,
        Ok(WebhookOutcome::Duplicate) => {
            tracing::info!(hook = name, "webhook.duplicate: it was taken in before");
            StatusCode::ACCEPTED
        }
        Ok(WebhookOutcome::Refused) => StatusCode::UNAUTHORIZED,
        Err(error) => {
            tracing::warn!(hook = name, %error, "a webhook's call could not be stored; its caller may try again");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// What a call is known by: the code that proves it, which covers the body, and the time where that is signed. Nothing else of a
/// call is its caller's for certain, neither another id in a header nor what stands beside the signature.
fn delivery(mac: &[u8]) -> String {
    format!("mac:{}", hex(mac))
}
