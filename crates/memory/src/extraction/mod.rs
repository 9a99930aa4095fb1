//! Facts drawn from what people said, when a conversation is over, by the cheap model (row N8).
//!
//! Never: words of the model, of tools, of what was recalled or brought in; anything but facts of that episode's own scope.
//! Start at [`Extractor::run_pass`]; what is shown is `excerpt`'s, what is believed `reply`'s.
//!
//! An episode's cursor moves in the transaction that keeps its facts: whatever dies in between, a call is made again at most, and
//! no fact comes twice.

pub(crate) mod call;
pub(crate) mod consolidation;
pub(crate) mod excerpt;
pub(crate) mod reply;
pub(crate) mod restricted;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::extraction::call::{BeginCall, BeginOutcome};
use crate::extraction::excerpt::{EpisodeExcerpt, TURNS_MAX};
use crate::extraction::reply::{DroppedCounts, ExtractedFact};
use crate::facts::keep::{RememberOutcome, keep};
use hob_core::domain::clock::Clock;
use hob_core::domain::ids::EpisodeId;
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::Catalog;
use hob_model::error::ModelError;
use hob_model::message::Completion;
use hob_model::model_table::ModelTable;
use hob_model::offline;
use hob_store::episodes::UnextractedEpisode;
use hob_store::error::StoreError;
use hob_store::model_calls::CallEnd;
use hob_store::{Store, Tx, episodes, facts, memory_calls, millis};

/// The most calls in one pass.
pub const CALLS_PER_PASS: usize = 5;
/// The most scopes that are looked through in one pass.
const SCOPES_PER_PASS: usize = 10;
/// The most episodes that are looked at in one pass.
const LOOKED_AT: i64 = 100;
/// After so many tries in vain an episode is left.
pub const TRIES_MAX: i64 = 3;
/// So many keys in use are shown.
const KEYS_MAX: i64 = 40;

/// What extraction works with.
#[derive(Clone)]
pub struct Ports {
    /// Where everything is kept.
    pub store: Store,
    pub models: Arc<Catalog>,
    /// What they cost.
    pub table: Arc<ModelTable>,
    /// The household's caps.
    pub budget_guard: Arc<BudgetGuard>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// How long is waited before a database is tried again that could not keep an answer.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How often it is tried.
const FINISH_TRIES_MAX: u32 = 60;
/// For so long nothing is said before a conversation is over.
pub const IDLE: SignedDuration = SignedDuration::from_mins(30);
/// So long after a scope's first change its facts are looked through.
pub const CONSOLIDATE_EVERY: SignedDuration = SignedDuration::from_hours(6);

/// How it works.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For so long nothing is said before a conversation is over.
    pub idle: SignedDuration,
    /// So long after a scope's first change its facts are looked through.
    pub consolidate_every: SignedDuration,
    /// The model, as people call it; none: the one for simple work.
    pub model: Option<String>,
    /// In which days are meant.
    pub zone: TimeZone,
}

/// Draws facts.
#[derive(Clone)]
pub struct Extractor {
    /// What it works with.
    pub ports: Ports,
    /// How it works.
    pub settings: Settings,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassReport {
    /// Models asked.
    pub calls: usize,
    /// Facts that are new, or took another's place.
    pub kept: usize,
    /// Facts that were known.
    pub known: usize,
    /// Facts that contradict what is known.
    pub rivals: usize,
    /// Facts that were not believed.
    pub dropped: usize,
    /// Whether there was more to do, and it has to wait.
    pub waits: bool,
}

/// How far a stretch came.
enum ExcerptProgress {
    /// It is done with, or not; the next may follow.
    On,
    /// Nobody can be asked now.
    Wait,
}

impl Extractor {
    /// Closes the calls that an earlier process left open; to be called once, before the first pass.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        let table = Arc::clone(&self.ports.table);
        let at = self.ports.clock.now();
        self.ports.store.write(async move |tx| call::close_lost(tx, &table, at).await).await
    }

    /// Goes through conversations that are over, as far as that is allowed now.
    pub async fn run_pass(&self) -> Result<PassReport, StoreError> {
        let mut pass = PassReport::default();
        let Some(model) = self.model() else { return Ok(pass) };
        let before = millis(self.ports.clock.now() - self.settings.idle);
        for unread in self.ports.store.read(async |tx| episodes::unextracted(tx, before, LOOKED_AT).await).await? {
            if pass.calls >= CALLS_PER_PASS {
                pass.waits = true;
                break;
            }
            if matches!(self.episode(&model, unread, &mut pass).await?, ExcerptProgress::Wait) {
                pass.waits = true;
                break;
            }
        }
        Ok(pass)
    }

    /// Looks through the facts of scopes that changed some hours ago, a few at a time; gives how many facts were merged or are
    /// over.
    pub async fn consolidate(&self) -> Result<usize, StoreError> {
        let at = self.ports.clock.now();
        let mut merged = 0;
        for _ in 0..SCOPES_PER_PASS {
            let before = at - self.settings.consolidate_every;
            let Some(done) =
                self.ports.store.write(async move |tx| consolidation::consolidate(tx, before, at).await).await?
            else {
                break;
            };
            tracing::debug!(scope = %done.scope, merged = done.merged, "memory.scope_consolidated");
            merged += done.merged;
        }
        Ok(merged)
    }

    /// The model that is asked; none where only the offline one is there, which draws no facts.
    pub fn model(&self) -> Option<String> {
        let models = &self.ports.models;
        let wanted = self.settings.model.as_deref().and_then(|word| models.resolve(word));
        let usual = || models.by_role("fast").map(str::to_owned).or_else(|| models.chain(None).into_iter().next());
        wanted.map(str::to_owned).or_else(usual).filter(|label| label != offline::LABEL)
    }

    /// The next stretch of an episode.
    async fn episode(
        &self,
        model: &str,
        unread: UnextractedEpisode,
        pass: &mut PassReport,
    ) -> Result<ExcerptProgress, StoreError> {
        let Ports { store, models, table, budget_guard, clock } = &self.ports;
        let (id, from) = (unread.id, unread.extracted);
        let NextExcerpt { stretch, keys } = store.read(async |tx| load(tx, &unread).await).await?;
        let Some(user) = stretch.shown.iter().find_map(|shown| shown.turn.user) else {
            let through = stretch.through;
            store.write(async move |tx| episodes::advance(tx, id, from, through).await).await?;
            return Ok(ExcerptProgress::On);
        };
        let request = excerpt::request(&stretch.shown, &keys, &self.settings.zone);
        let begin = BeginCall {
            episode: id,
            from,
            user,
            model: model.to_owned(),
            estimate: call::estimate(&request),
            reserve: call::reserve(table, model, &request),
            budget_guard: Arc::clone(budget_guard),
            at: clock.now(),
        };
        let (call, tries) = match store.write(async move |tx| begin.run(tx).await).await? {
            BeginOutcome::Call { id, tries } => (id, tries),
            begun => {
                tracing::debug!(episode = %id, ?begun, "memory.extraction_waits");
                pass.waits |= begun != BeginOutcome::Stale;
                return Ok(if begun.holds_for_all() { ExcerptProgress::Wait } else { ExcerptProgress::On });
            }
        };
        pass.calls += 1;
        let answer = call::ask(models, model, &request).await;
        let end = match &answer {
            Ok(completion) => call::answered_call_bill(table, model, &request, completion),
            Err(error) => call::failed_call_bill(table, model, &request, error),
        };
        let verdict = self.verdict(&unread, &stretch, answer, tries);
        let waits = matches!(verdict, Verdict::Later);
        let (through, at) = (stretch.through, clock.now());
        let finish = Arc::new(FinishCall { call, end, episode: id, from, through, verdict, at });
        // It is paid for.
        let mut tries = 0;
        let kept = loop {
            let finish = Arc::clone(&finish);
            tries += 1;
            match store.write(async move |tx| finish.run(tx).await).await {
                Err(error) if error.is_passing() && tries < FINISH_TRIES_MAX => {
                    tracing::warn!(episode = %id, %error, "what was drawn from a conversation is not kept yet; trying again");
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
                kept => break kept?,
            }
        };
        pass.count(&kept);
        Ok(if waits { ExcerptProgress::Wait } else { ExcerptProgress::On })
    }

    /// What becomes of an answer.
    fn verdict(
        &self,
        unread: &UnextractedEpisode,
        stretch: &EpisodeExcerpt,
        answer: Result<Completion, ModelError>,
        tries: i64,
    ) -> Verdict {
        let why = match answer {
            Ok(completion) => match reply::read(&completion) {
                Ok(drafts) => {
                    let (found, dropped) = reply::checked(drafts, unread.scope, &stretch.shown, &self.settings.zone);
                    return Verdict::Found { found, dropped };
                }
                Err(error) => error.to_string(),
            },
            Err(error) if call::is_transient(error.class) => {
                tracing::debug!(episode = %unread.id, %error, "memory.extraction_waits");
                return Verdict::Later;
            }
            Err(error) => error.to_string(),
        };
        if tries < TRIES_MAX {
            tracing::debug!(episode = %unread.id, why, tries, "facts could not be drawn; it is tried again");
            return Verdict::Again;
        }
        tracing::warn!(
            episode = %unread.id,
            why,
            tries,
            "facts could not be drawn from a conversation; it is left, and can still be recalled"
        );
        Verdict::GivenUp
    }
}

impl PassReport {
    fn count(&mut self, kept: &KeptFacts) {
        for remembered in &kept.remembered {
            match remembered {
                RememberOutcome::New { .. } | RememberOutcome::Superseded { .. } | RememberOutcome::Past { .. } => {
                    self.kept += 1
                }
                RememberOutcome::Known { .. } => self.known += 1,
                RememberOutcome::Rival { .. } => self.rivals += 1,
            }
        }
        self.dropped += kept.dropped;
    }
}

struct NextExcerpt {
    stretch: EpisodeExcerpt,
    keys: Vec<(String, String)>,
}

/// The next stretch of an episode, and the keys in use in its scope.
async fn load(tx: &mut Tx, unread: &UnextractedEpisode) -> Result<NextExcerpt, StoreError> {
    let UnextractedEpisode { id, scope, extracted, turns, .. } = unread;
    let next = episodes::turns(tx, *id, *extracted, TURNS_MAX).await?;
    let known = facts::list(tx, *scope, KEYS_MAX).await?;
    let told = |category: &str, key: &str| restricted::is_category(category) || restricted::is_restricted(key);
    let keys = known.into_iter().filter(|fact| !told(&fact.category, &fact.key));
    let keys = keys.map(|fact| (fact.category, fact.key)).collect();
    Ok(NextExcerpt { stretch: excerpt::next_excerpt(*scope, next, *turns), keys })
}

/// What becomes of a stretch.
enum Verdict {
    /// These facts are believed.
    Found { found: Vec<ExtractedFact>, dropped: DroppedCounts },
    /// Nobody could be asked: it does not count as a try.
    Later,
    /// It is tried once more.
    Again,
    /// It is left.
    GivenUp,
}

/// The call's end, its facts and the cursor, in one transaction.
struct FinishCall {
    call: i64,
    end: CallEnd,
    episode: EpisodeId,
    from: i64,
    through: i64,
    verdict: Verdict,
    at: Timestamp,
}

#[derive(Default)]
struct KeptFacts {
    remembered: Vec<RememberOutcome>,
    dropped: usize,
}

impl FinishCall {
    async fn run(&self, tx: &mut Tx) -> Result<KeptFacts, StoreError> {
        memory_calls::end(tx, self.call, &self.end, millis(self.at)).await?;
        let mut kept = KeptFacts::default();
        match &self.verdict {
            Verdict::Later => episodes::uncount_try(tx, self.episode).await?,
            Verdict::Again => {}
            Verdict::GivenUp => {
                episodes::advance(tx, self.episode, self.from, self.through).await?;
            }
            Verdict::Found { found, dropped } => {
                // Somebody was faster, or the whole episode is forgotten: then nothing of it is known.
                if !episodes::advance(tx, self.episode, self.from, self.through).await? {
                    return Ok(kept);
                }
                kept.dropped = dropped.unsupported + dropped.restricted + dropped.unfit;
                for found in found {
                    // What was forgotten meanwhile is not a source any more.
                    if episodes::is_remembered(tx, found.memory).await? {
                        kept.remembered.push(keep(tx, &found.saying, millis(self.at)).await?);
                    }
                }
            }
        }
        Ok(kept)
    }
}
