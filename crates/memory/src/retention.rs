//! What is old, matters little by now and is not pinned is let go, as the household wants it. It is said in the log, never silent.
//!
//! Never: a message of the history, a fact, or what somebody pinned. Start at [`expire_old`].

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::importance::ImportanceInputs;
use crate::recall::Memory;
use hob_core::domain::ids::MemoryId;
use hob_core::domain::memory::Scope;
use hob_store::error::StoreError;
use hob_store::retention::{self, RetentionCandidate};
use hob_store::{Tx, memories, millis, vectors};

/// The most memories that are looked at, or removed, in one transaction.
const SLICE: i64 = 500;

/// What matters so much by now is kept: 0 is nothing much, 1 the most.
const FLOOR: f64 = 0.1;
/// After so long without use something matters half as much.
const HALF_LIFE: SignedDuration = SignedDuration::from_hours(24 * 90);

/// What is let go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retention {
    /// Whatever is younger is kept.
    pub keep: SignedDuration,
    /// What matters so much by now is kept.
    pub floor: f64,
    /// After so long without use something matters half as much.
    pub(crate) half_life: SignedDuration,
}

impl Retention {
    /// What matters less by now is let go, once it is older than `keep`.
    pub fn after(keep: SignedDuration) -> Self {
        Self { keep, floor: FLOOR, half_life: HALF_LIFE }
    }

    /// Whether it is let go at `now`.
    pub(crate) fn is_expired(&self, memory: &RetentionCandidate, now: Timestamp) -> bool {
        let RetentionCandidate { importance: score, uses, at, used_at, .. } = *memory;
        let standing = ImportanceInputs { score, uses, at, used_at, pinned: false };
        at < self.cutoff(now) && standing.current(millis(now), ms(self.half_life)) < self.floor
    }

    /// What was said before this may be let go.
    fn cutoff(&self, now: Timestamp) -> i64 {
        millis(now).saturating_sub(ms(self.keep))
    }
}

fn ms(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// What a round did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionReport {
    /// Old memories that were looked at.
    pub old: u64,
    /// Those of them that are gone.
    pub let_go: u64,
}

/// Looks through all that is old, a slice at a time, until it is done or told to stop. After an error, what was let go
/// stays gone.
pub async fn expire_old(
    memory: &Memory,
    retention: &Retention,
    now: Timestamp,
    stop: &CancellationToken,
) -> Result<RetentionReport, StoreError> {
    let mut round = RetentionReport::default();
    let last = memory.store.read(retention::last).await?.map_or(0, |last| last.0);
    let mut after = 0;
    while after < last && !stop.is_cancelled() {
        let through = (after + SLICE).min(last);
        let (first, last_of_slice) = (MemoryId(after), MemoryId(through));
        let slice = async |tx: &mut Tx| retention::slice(tx, first, last_of_slice, retention.cutoff(now)).await;
        let old = memory.store.read(slice).await?;
        round.old += old.len() as u64;
        let fading: Vec<RetentionCandidate> = old.into_iter().filter(|seen| retention.is_expired(seen, now)).collect();
        if !fading.is_empty() {
            for (scope, gone) in memory.store.write(async move |tx| remove(tx, &fading).await).await? {
                memory.embedding_service.forget(scope, gone);
                round.let_go += 1;
            }
        }
        after = through;
    }
    if round.let_go > 0 {
        tracing::info!(let_go = round.let_go, old = round.old, "memory.retention: old memories were let go");
    } else {
        tracing::debug!(old = round.old, "memory.retention: nothing was let go");
    }
    Ok(round)
}

async fn remove(tx: &mut Tx, fading: &[RetentionCandidate]) -> Result<Vec<(Scope, MemoryId)>, StoreError> {
    let (mut gone, mut behind) = (Vec::new(), Vec::new());
    for seen in fading {
        let next = memories::next(tx, seen.id).await?;
        if let Some(scope) = retention::remove(tx, seen).await? {
            gone.push((scope, seen.id));
            behind.extend(next);
        }
    }
    // Its words were in the vector of what follows.
    for next in behind.into_iter().filter(|next| gone.iter().all(|(_, gone)| gone != next)) {
        vectors::invalidate(tx, next).await?;
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::importance;
    use hob_core::domain::ids::UserId;
    use hob_store::memories::NewMemory;
    use hob_store::{SchedulingMode, Store};

    const DAY: i64 = 24 * 3600 * 1_000;
    const POLICY: Retention = Retention {
        keep: SignedDuration::from_hours(365 * 24),
        floor: 0.1,
        half_life: SignedDuration::from_hours(180 * 24),
    };

    fn day(day: i64) -> Timestamp {
        Timestamp::from_millisecond(day * DAY).unwrap()
    }

    /// Words of a day, and what is done with them afterwards.
    async fn add(tx: &mut Tx, text: &str, day: i64, becomes: &str) -> Result<(), StoreError> {
        let new = NewMemory {
            scope: Scope::Person(UserId(1)),
            session: None,
            speaker: "Ada",
            user: None,
            message: None,
            text,
            asked: None,
            origin: "import",
            importance: importance::score(text),
            at: day * DAY,
        };
        let id = memories::add(tx, &new, None).await?;
        match becomes {
            "pinned" => {
                sqlx::query("UPDATE memories SET pinned = 1 WHERE id = ?").bind(id.0).execute(&mut *tx).await?;
            }
            "used" => memories::mark_used(tx, &[id], 700 * DAY).await?,
            _ => {}
        }
        Ok(())
    }

    async fn texts(tx: &mut Tx) -> Result<(Vec<String>, i64, i64), StoreError> {
        let texts = sqlx::query_scalar("SELECT text FROM memories ORDER BY id").fetch_all(&mut *tx).await?;
        let words = sqlx::query_scalar("SELECT count(*) FROM memories_fts WHERE memories_fts MATCH 'weather'");
        let words = words.fetch_one(&mut *tx).await?;
        let episodes = sqlx::query_scalar("SELECT count(*) FROM episodes").fetch_one(&mut *tx).await?;
        Ok((texts, words, episodes))
    }

    #[tokio::test]
    async fn a1_what_is_old_and_matters_little_is_let_go_and_the_rest_stays() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        let said = [
            ("what is the weather like", 0, ""),
            ("the weather was bad", 0, "pinned"),
            ("the weather was good", 0, "used"),
            ("the weather was fine", 500, ""),
        ];
        for (text, day, becomes) in said {
            store.write(async move |tx| add(tx, text, day, becomes).await).await.unwrap();
        }
        let stop = CancellationToken::new();
        let idle = expire_old(&memory, &POLICY, day(300), &stop).await.unwrap();
        assert_eq!(idle, RetentionReport::default(), "nothing is that old");
        let round = expire_old(&memory, &POLICY, day(750), &stop).await.unwrap();
        assert_eq!(round, RetentionReport { old: 2, let_go: 1 });
        let (texts, words, episodes) = store.read(texts).await.unwrap();
        assert_eq!(texts, ["the weather was bad", "the weather was good", "the weather was fine"]);
        assert_eq!((words, episodes), (3, 3), "nothing is left of it");
        stop.cancel();
        assert_eq!(expire_old(&memory, &POLICY, day(9_000), &stop).await.unwrap(), RetentionReport::default());
        store.close().await;
    }

    /// Runs a statement as it stands, and gives the memories that have vectors.
    async fn embedded(tx: &mut Tx, before: &'static str) -> Result<Vec<i64>, StoreError> {
        sqlx::raw_sql(before).execute(&mut *tx).await?;
        Ok(sqlx::query_scalar("SELECT memory_id FROM vectors ORDER BY memory_id").fetch_all(&mut *tx).await?)
    }

    #[tokio::test]
    async fn what_follows_something_let_go_is_embedded_anew() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        for how in ["", "", "pinned", "pinned"] {
            store.write(async move |tx| add(tx, "what is the weather like", 0, how).await).await.unwrap();
        }
        let vectors = "UPDATE episodes SET turns = 4 WHERE id = 1;
             UPDATE memories SET episode_id = 1, place = id;
             INSERT INTO embedding_models (id, name, dimensions, digest, through, created_at) VALUES (1, 'm', 3, 'd', 4, 0);
             INSERT INTO vectors (model_id, memory_id, vector) SELECT 1, id, x'01' FROM memories;";
        assert_eq!(store.write(async move |tx| embedded(tx, vectors).await).await.unwrap(), [1, 2, 3, 4]);
        let round = expire_old(&memory, &POLICY, day(1_000), &CancellationToken::new()).await.unwrap();
        assert_eq!(round.let_go, 2);
        assert_eq!(
            store.write(async |tx| embedded(tx, "SELECT 1").await).await.unwrap(),
            [4],
            "the third had the second's words in it"
        );
        store.close().await;
    }

    #[tokio::test]
    async fn a_large_memory_is_looked_through_in_slices() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        let count = 2 * SLICE + 1;
        for _ in 0..count {
            store.write(async |tx| add(tx, "what is the weather like", 0, "").await).await.unwrap();
        }
        let all = expire_old(&memory, &POLICY, day(1_000), &CancellationToken::new()).await.unwrap();
        assert_eq!(all, RetentionReport { old: count.unsigned_abs(), let_go: count.unsigned_abs() });
        assert_eq!(store.read(texts).await.unwrap(), (Vec::new(), 0, 0));
        store.close().await;
    }
}
