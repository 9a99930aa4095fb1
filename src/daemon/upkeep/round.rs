//! One round: what is old goes, texts that nothing refers to, then the indexes are merged and free pages given back.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::daemon::upkeep::{RetentionPeriods, UpkeepHalt, UpkeepWorker};
use hob_core::domain::ids::RunId;
use hob_core::domain::upkeep::UpkeepRound;
use hob_core::policy::upkeep::{StepSize, surplus};
use hob_store::upkeep::pages::FullTextIndex;
use hob_store::upkeep::rows::OldRowKind;
use hob_store::upkeep::{blobs, journals, pages, rows};

/// How many numbers are looked through at once, by those who only read.
const WINDOW: i64 = 1_000;
/// The most rows that are deleted in a step.
const ROWS_MAX: i64 = 500;
/// The most pages that an index is merged by in a step.
const MERGE_MAX: i64 = 256;
/// The most pages that are given back in a step.
const PAGES_MAX: i64 = 1_024;
/// The most steps of merging in a round; the next goes on.
const MERGES_MAX: usize = 500;

/// Does everything, in small steps, and gives what was done.
///
/// # Errors
/// When Hob stops, or the database fails; what was done stays done.
pub async fn round(mut hand: UpkeepWorker, keep: &RetentionPeriods) -> Result<UpkeepRound, UpkeepHalt> {
    let began = Instant::now();
    let kinds = [
        (OldRowKind::Outbox, keep.outbox),
        (OldRowKind::Claims, keep.claims),
        (OldRowKind::Signals, keep.signals),
        (OldRowKind::ModelCalls, keep.calls),
        (OldRowKind::MemoryCalls, keep.calls),
        (OldRowKind::Journals, keep.journals),
    ];
    for (kind, keep) in kinds {
        if let Some(before) = hand.before(keep) {
            hand.drop_old(kind, before).await?;
        }
    }
    hand.drop_unreferenced_blobs().await?;
    if hand.store.is_file() {
        hand.shape_file().await?;
    }
    let pages = hand.store.read(pages::count).await?;
    let mut round = hand.round;
    round.pages = (pages.all.unsigned_abs(), pages.free.unsigned_abs());
    (round.ended, round.took) = (Some(hand.clock.now()), began.elapsed());
    tracing::info!(
        gone = ?round.gone, pages_freed = round.pages_freed, steps = round.steps, held_max_ms = round.held_max.as_millis(),
        took_ms = round.took.as_millis(), "upkeep.done"
    );
    Ok(round)
}

impl UpkeepWorker {
    /// Merges indexes, takes statistics, and gives free pages back.
    async fn shape_file(&mut self) -> Result<(), UpkeepHalt> {
        for index in FullTextIndex::ALL {
            self.merge(index).await?;
        }
        let outdated = self.step(pages::outdated).await?;
        for table in outdated.map(|stepped| stepped.output).unwrap_or_default() {
            self.step(async move |tx| pages::analyse(tx, &table).await).await?;
        }
        self.free_pages().await
    }

    /// What is from before is old; none: it is kept for ever.
    fn before(&self, keep: Option<SignedDuration>) -> Option<Timestamp> {
        self.clock.now().saturating_sub(keep?).ok()
    }

    /// Looks through the numbers of a kind, and deletes what is old.
    async fn drop_old(&mut self, kind: OldRowKind, before: Timestamp) -> Result<(), UpkeepHalt> {
        let Some((lowest, highest)) = self.store.read(async |tx| rows::bounds(tx, kind).await).await? else {
            return Ok(());
        };
        let (mut after, mut stride) = (lowest - 1, StepSize::new(100, ROWS_MAX));
        while after < highest {
            let through = highest.min(after.saturating_add(WINDOW));
            let mut old = self.store.read(async |tx| rows::find_old(tx, kind, (after, through), before).await).await?;
            after = through;
            while !old.is_empty() {
                let count = old.len().min(usize::try_from(stride.size()).unwrap_or(1));
                let ids = old.get(..count).unwrap_or_default().to_vec();
                let (done, next) = if kind == OldRowKind::Journals {
                    self.drop_runs(ids, stride).await?
                } else {
                    self.drop_rows(kind, ids, before, stride).await?
                };
                let Some(next) = next else {
                    // Not even the least of it fits: it is left where it is.
                    tracing::warn!(kind = kind.name(), "upkeep.too_slow: the disk is too slow to let old rows go");
                    return Ok(());
                };
                stride = next;
                old.drain(..done);
            }
        }
        Ok(())
    }

    /// Gives how many are done, and how much to do next; none: nothing can be done.
    async fn drop_rows(
        &mut self,
        kind: OldRowKind,
        ids: Vec<i64>,
        before: Timestamp,
        stride: StepSize,
    ) -> Result<(usize, Option<StepSize>), UpkeepHalt> {
        let count = ids.len();
        match self.step(async move |tx| rows::drop_old(tx, kind, &ids, before).await).await? {
            Some(done) => {
                self.count_removed(kind.name(), done.output);
                Ok((count, Some(stride.after(done.held))))
            }
            None => Ok((0, stride.after_timeout())),
        }
    }

    /// As with rows; the stride counts events.
    async fn drop_runs(&mut self, runs: Vec<i64>, stride: StepSize) -> Result<(usize, Option<StepSize>), UpkeepHalt> {
        let runs: Vec<RunId> = runs.into_iter().map(RunId).collect();
        let (events, now) = (stride.size(), self.clock.now());
        match self.step(async move |tx| journals::drop_journals(tx, &runs, events, now).await).await? {
            Some(done) => {
                self.count_removed(OldRowKind::Journals.name(), done.output.runs as u64);
                Ok((done.output.runs, Some(stride.after(done.held))))
            }
            None => Ok((0, stride.after_timeout())),
        }
    }

    async fn drop_unreferenced_blobs(&mut self) -> Result<(), UpkeepHalt> {
        let mut after = String::new();
        loop {
            let page = self.store.read(async |tx| blobs::look_through(tx, &after, WINDOW).await).await?;
            let mut stride = StepSize::new(50, ROWS_MAX);
            let mut loose = page.loose;
            while !loose.is_empty() {
                let count = loose.len().min(usize::try_from(stride.size()).unwrap_or(1));
                let hashes = loose.get(..count).unwrap_or_default().to_vec();
                match self.step(async move |tx| blobs::drop_loose(tx, &hashes).await).await? {
                    Some(done) => {
                        self.count_removed("texts", done.output);
                        loose.drain(..count);
                        stride = stride.after(done.held);
                    }
                    None => match stride.after_timeout() {
                        Some(shorter) => stride = shorter,
                        None => return Ok(()),
                    },
                }
            }
            match page.last {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    async fn merge(&mut self, index: FullTextIndex) -> Result<(), UpkeepHalt> {
        let mut stride = StepSize::new(16, MERGE_MAX);
        for _ in 0..MERGES_MAX {
            let most = stride.size();
            match self.step(async move |tx| pages::merge(tx, index, most).await).await? {
                Some(done) if !done.output => return Ok(()),
                Some(done) => stride = stride.after(done.held),
                None => match stride.after_timeout() {
                    Some(shorter) => stride = shorter,
                    None => return Ok(()),
                },
            }
        }
        Ok(())
    }

    async fn free_pages(&mut self) -> Result<(), UpkeepHalt> {
        let pages = self.store.read(pages::count).await?;
        let (mut left, mut stride) = (surplus(pages.all, pages.free), StepSize::new(128, PAGES_MAX));
        while left > 0 {
            let most = stride.size().min(left);
            match self.step(async move |tx| pages::free_pages(tx, most).await).await? {
                // In a file of the old form nothing is given back.
                Some(done) if done.output <= 0 => return Ok(()),
                Some(done) => {
                    left -= done.output;
                    self.round.pages_freed += done.output.unsigned_abs();
                    stride = stride.after(done.held);
                }
                None => match stride.after_timeout() {
                    Some(shorter) => stride = shorter,
                    None => return Ok(()),
                },
            }
        }
        Ok(())
    }
}
