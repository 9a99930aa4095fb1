//! What rings when something waits on the page and nobody looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use futures::{StreamExt as _, stream};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::chat::channel::PageChannel;
use crate::push::send::{PushClient, PushMessage, PushOutcome, retry_delay};
use crate::push::vapid::VapidKey;
use hob_core::domain::outgoing::Outgoing;
use hob_router::intake::Router;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::web_push::{self, Subscription};
use hob_tools::net::EgressGuard;

/// So many rings wait at most; what comes then is told by those before it.
const WAITING_MAX: usize = 32;
/// So many are told at once.
const AT_ONCE: usize = 4;
/// What programs of OpenAI's API say goes into conversations of such names. Their answers are theirs.
const OF_PROGRAMS: &str = "v1-";

/// What waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PushKind {
    /// Hob has said something.
    Said,
    /// Hob asks, and goes on when it is answered.
    Asks,
}

impl PushKind {
    pub(crate) fn of(message: &Outgoing) -> Self {
        if message.choices.is_empty() { Self::Said } else { Self::Asks }
    }
}

/// What is told: nothing of what was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PushEvent {
    pub(super) kind: PushKind,
    pub(super) chat: String,
}

/// The end of the rope that the page has. Clones ring the same bell.
#[derive(Clone)]
pub struct PushTrigger {
    rings: mpsc::Sender<PushEvent>,
    is_heard: Arc<AtomicBool>,
}

impl PushTrigger {
    /// Tells all that listen. Nobody waits for it, and where nobody listens it does nothing at all.
    pub(crate) fn ring(&self, chat: &str, kind: PushKind) {
        if !self.is_heard.load(Ordering::Relaxed) || chat.starts_with(OF_PROGRAMS) {
            return;
        }
        if self.rings.try_send(PushEvent { kind, chat: chat.to_owned() }).is_err() {
            tracing::debug!("too much waits to be told: this is not told");
        }
    }

    /// Somebody listens from now on.
    pub(crate) fn mark_listening(&self) {
        self.is_heard.store(true, Ordering::Relaxed);
    }
}

/// What tells browsers that the bell rang.
pub struct PushWorker {
    router: Arc<Router>,
    page: Arc<PageChannel>,
    guard: EgressGuard,
    /// Who sends, for push services: an address.
    subject: String,
    rings: mpsc::Receiver<PushEvent>,
    is_heard: Arc<AtomicBool>,
}

/// A bell, and what tells browsers when it rings.
pub fn hung(
    router: &Arc<Router>,
    page: &Arc<PageChannel>,
    guard: EgressGuard,
    subject: String,
) -> (PushTrigger, PushWorker) {
    let (sender, rings) = mpsc::channel(WAITING_MAX);
    let is_heard = Arc::new(AtomicBool::new(false));
    let bell = PushTrigger { rings: sender, is_heard: Arc::clone(&is_heard) };
    (bell, PushWorker { router: Arc::clone(router), page: Arc::clone(page), guard, subject, rings, is_heard })
}

impl PushWorker {
    /// Tells until it is to stop. What is being told then is left: it stands on the page.
    pub async fn work(self, stop: CancellationToken) {
        let Self { router, page, guard, subject, rings, is_heard } = self;
        let teller = PushNotifier { router, page, guard, subject, is_heard };
        // Whoever listened before the restart still does.
        match teller.listeners().await {
            Ok((all, _)) => teller.is_heard.store(!all.is_empty(), Ordering::Relaxed),
            Err(error) => {
                tracing::warn!(%error, "nobody is told when the page is closed, until a browser asks for it again")
            }
        }
        let all = stream::unfold(rings, |mut rings| async move { rings.recv().await.map(|ring| (ring, rings)) });
        let teller = Arc::new(teller);
        let told = all.for_each_concurrent(AT_ONCE, |ring| {
            let span = tracing::info_span!("page.push", kind = ?ring.kind);
            let teller = Arc::clone(&teller);
            async move { teller.notify_all(&ring).await }.instrument(span)
        });
        stop.run_until_cancelled(told).await;
    }
}

/// Tells browsers.
struct PushNotifier {
    router: Arc<Router>,
    page: Arc<PageChannel>,
    guard: EgressGuard,
    subject: String,
    is_heard: Arc<AtomicBool>,
}

impl PushNotifier {
    async fn listeners(&self) -> Result<(Vec<Subscription>, Option<Vec<u8>>), StoreError> {
        let now = self.router.clock.now();
        let find = async |tx: &mut Tx| Ok((web_push::list(tx, now).await?, web_push::find_key(tx).await?));
        self.router.store.read(find).await
    }

    /// Tells all that listen of one thing.
    async fn notify_all(&self, ring: &PushEvent) {
        let (all, key) = match self.listeners().await {
            Ok((all, Some(key))) => (all, key),
            Ok((_, None)) => return tracing::warn!("there is no key that push services know: nobody is told"),
            Err(error) => return tracing::warn!(%error, "who is to be told cannot be read"),
        };
        if all.is_empty() {
            self.is_heard.store(false, Ordering::Relaxed);
            return;
        }
        let (key, words) = match (VapidKey::of(&key), serde_json::to_vec(ring)) {
            (Ok(key), Ok(words)) => (key, words),
            (Err(error), _) => return tracing::error!(%error, "the key for push services cannot be read"),
            (_, Err(error)) => return tracing::error!(%error, "what is to be told has no form"),
        };
        let post = PushClient { guard: &self.guard, key: &key, subject: &self.subject };
        let letter = PushMessage::new(ring, words);
        join_all(all.into_iter().map(|listener| self.notify_one(&post, &letter, listener))).await;
    }

    /// Tells one browser, again where its push service wants that, unless somebody looks by then.
    async fn notify_one(&self, post: &PushClient<'_>, letter: &PushMessage, listener: Subscription) {
        for attempt in 1.. {
            let now = self.router.clock.now().as_second();
            let wait = match post.send(letter, &listener, now).await {
                PushOutcome::Taken => return tracing::debug!(subscription = listener.id, "told"),
                PushOutcome::Gone => return self.remove_listener(listener.id).await,
                PushOutcome::Never(why) => {
                    return tracing::warn!(
                        subscription = listener.id,
                        why,
                        "a push service takes nothing for a browser"
                    );
                }
                PushOutcome::Later { after, why } => match retry_delay(attempt, after) {
                    Some(wait) => wait,
                    None => return tracing::warn!(subscription = listener.id, why, "a browser was not told"),
                },
            };
            tokio::time::sleep(wait).await;
            if self.page.has_open_window() {
                return;
            }
        }
    }

    async fn remove_listener(&self, id: i64) {
        match self.router.store.write(async move |tx| web_push::delete(tx, id).await).await {
            Ok(()) => tracing::info!(subscription = id, "a browser is told no more: its push service knows it no more"),
            Err(error) => tracing::warn!(%error, "a browser that is gone is still written down"),
        }
    }
}
