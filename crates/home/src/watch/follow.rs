//! The socket that is open while something is watched: what it tells hastens the look of those who wait for it.
//!
//! `subscribe_entities` tells how things stand as soon as it is asked, and then only of these entities; it needs no administrator's
//! token, as `subscribe_trigger` does.
//! Start at [`follow`].

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::error::HomeError;
use crate::home::Home;
use crate::socket::{Command, EntityEvent, Socket};
use crate::watch::observed::{SocketStanding, StateUpdate};
use hob_core::domain::backoff::Backoff;
use hob_core::domain::rng::Rng;
use hob_core::policy::schedule::check::{EntityWatch, LookTarget};
use hob_store::error::StoreError;
use hob_store::{Store, schedules};

/// The most watches that are followed; of more only the looks from time to time tell.
const WATCHES_MAX: i64 = 200;
/// So often it is looked what is to be followed.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Between two signs of life.
const PING_EVERY: Duration = Duration::from_secs(30);
/// So many messages may come between two signs of life.
const MESSAGES_MAX: u32 = 20_000;
/// So long a connection may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(75);
/// The waits between two tries.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The wait where only an operator can mend it: Home Assistant may ban who shows wrong tokens.
const RETRY_REFUSED: Duration = Duration::from_secs(600);

/// What it is done with.
pub struct FollowPorts {
    pub home: Arc<Home>,
    /// Where the schedules are.
    pub store: Store,
    /// Rung when one has changed.
    pub alarm: Arc<Notify>,
    /// Randomness, for waits.
    pub rng: Arc<dyn Rng>,
}

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error("the schedules cannot be read: {0}")]
    Store(#[from] StoreError),
}

/// Follows what schedules wait for, until `stop`. While none does there is no connection.
pub async fn follow(ports: FollowPorts, stop: CancellationToken) {
    stop.run_until_cancelled(ports.run()).await;
    ports.home.observed.stands(SocketStanding::Idle);
}

impl FollowPorts {
    async fn run(&self) {
        let (mut waits, observed) = (Backoff::default(), &self.home.observed);
        loop {
            let ended = self.session(&mut waits).await;
            let wait = match &ended {
                // There is nothing to follow, or something else.
                Ok(()) if self.is_idle() => LOOK_EVERY,
                Ok(()) => continue,
                Err(SessionError::Home(error)) if error.is_lasting() => RETRY_REFUSED,
                Err(_) => waits.next(RETRY.0, RETRY.1, &*self.rng),
            };
            if let Err(error) = ended {
                tracing::warn!(%error, "home.lost: Home Assistant's socket is not open; again in {wait:?}");
                observed.stands(SocketStanding::Down);
            }
            tokio::select! {
                () = observed.changed.notified() , if self.is_idle() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.home.observed.is_idle()
    }

    /// One connection, for as long as the same is to be followed.
    async fn session(&self, waits: &mut Backoff) -> Result<(), SessionError> {
        let observed = &self.home.observed;
        let watches = self.watches().await?;
        observed.keep(&watches);
        if watches.is_empty() {
            observed.stands(SocketStanding::Idle);
            return Ok(());
        }
        let now = self.home.settings.clock.now();
        let mut socket = self.home.noted(Socket::open(&self.home.client).await, now)?;
        let mut ids: Vec<&str> = watches.iter().map(|watch| watch.entity.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        socket.put(&Command::Follow { entity_ids: &ids }).await?;
        observed.stands(SocketStanding::Open);
        tracing::info!(entities = ids.len(), "home.followed");
        // What has become of them meanwhile is compared with what was last known.
        let now = self.home.settings.clock.now();
        self.hasten(observed.look_again(now)).await?;
        let mut ping = tokio::time::interval(PING_EVERY);
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.tick().await;
        let mut heard = tokio::time::Instant::now();
        let mut messages = 0_u32;
        loop {
            tokio::select! {
                event = socket.event() => {
                    messages += 1;
                    if messages > MESSAGES_MAX {
                        return Err(HomeError::Lost("it tells too much").into());
                    }
                    heard = tokio::time::Instant::now();
                    waits.reset();
                    if let Some(event) = event? {
                        self.take(event).await?;
                    }
                }
                _ = ping.tick() => {
                    messages = 0;
                    socket.put(&Command::Ping).await?;
                }
                _ = look.tick() => if self.watches().await? != watches { return Ok(()) },
                () = observed.changed.notified() => if self.watches().await? != watches { return Ok(()) },
                () = tokio::time::sleep_until(heard + SILENCE_MAX) => return Err(HomeError::Lost("it says nothing").into()),
            }
        }
    }

    async fn take(&self, event: EntityEvent) -> Result<(), SessionError> {
        let now = self.home.settings.clock.now();
        let mut hastened = Vec::new();
        for (entity, short) in event.states() {
            let Some(state) = &short.state else { continue };
            let news = StateUpdate { state, changed: short.changed.and_then(moment).unwrap_or(now) };
            hastened.extend(self.home.observed.note(&entity, &news, now));
        }
        self.hasten(hastened).await.map_err(SessionError::from)
    }

    /// The looks of these are due then.
    async fn hasten(&self, watches: Vec<(EntityWatch, Timestamp)>) -> Result<(), StoreError> {
        let due = watches.into_iter().filter_map(|(watch, at)| {
            // It is made of texts and numbers.
            serde_json::to_string(&LookTarget::Entity(watch)).ok().map(|target| (target, at))
        });
        let due: Vec<(String, Timestamp)> = due.collect();
        if due.is_empty() {
            return Ok(());
        }
        let moved = self.store.write(async move |tx| {
            for (target, at) in &due {
                schedules::hasten(tx, target, *at).await?;
            }
            Ok(())
        });
        moved.await?;
        self.alarm.notify_one();
        Ok(())
    }

    /// What schedules wait for; only what is exposed.
    async fn watches(&self) -> Result<Vec<EntityWatch>, StoreError> {
        let found = self.store.read(async |tx| schedules::list_followed(tx, WATCHES_MAX).await).await?;
        let watch = |target: &String| match serde_json::from_str(target) {
            Ok(LookTarget::Entity(watch)) => Some(watch),
            Ok(_) | Err(_) => None,
        };
        let mut watches: Vec<EntityWatch> =
            found.iter().filter_map(watch).filter(|watch| self.home.shows(&watch.entity)).collect();
        watches.sort();
        watches.dedup();
        Ok(watches)
    }
}

/// A moment as Home Assistant's short form has it.
#[expect(clippy::cast_possible_truncation, reason = "a number beyond all moments is none")]
fn moment(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).ok()
}
