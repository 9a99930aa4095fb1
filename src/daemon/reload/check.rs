//! Looks at the file, and keeps what came of it for whoever asks how it stands with the config.

use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::reload::read::{ConfigReader, ReadOutcome, is_doubtful};
use crate::daemon::reload::refusal::Refusal;
use crate::daemon::reload::report_text::ReloadOutcome;
use crate::daemon::reload::{ReloadCause, Reloader, hash};
use hob_config::load::LoadedConfig;
use hob_core::domain::condition::{SystemPart, Trouble};

/// What is doubtful is looked at again after so long.
const LOOK_AGAIN: Duration = Duration::from_millis(700);
/// So often, if it keeps changing.
const LOOKS_MAX: usize = 8;

impl Reloader {
    pub(super) fn config_reader(&self) -> Option<ConfigReader> {
        let file = self.blueprint.config_file.as_ref()?;
        Some(ConfigReader {
            // By the name that it began with: told of another, a secret that is missing would look like a change.
            file: file.clone(),
            environment: self.blueprint.environment.clone(),
            // Where the page alone was to be and its port is taken, nothing of the file is missing.
            needs_channel: self.blueprint.serves.is_configured()
                && self.roots.own.page.is_none()
                && !self.made.config.channels().is_empty(),
        })
    }

    /// What stands in the file now is taken over, or not; and whether that was refused before, and why is known.
    pub(super) async fn check_file(&mut self, cause: ReloadCause) -> (ReloadOutcome, bool) {
        let Some(look) = self.config_reader() else { return (ReloadOutcome::NoFile, false) };
        let refused = self.roots.standing.status().refused.map(|(_, why)| why);
        // The start told of a file that it refused.
        let told_by_start = refused.is_none() && self.is_refused();
        let former = self.refusal.take();
        let (outcome, is_known) = match self.read(&look).await {
            ReadOutcome::Bad(why) => {
                let is_known = refused.as_ref() == Some(&why);
                (ReloadOutcome::Refused(why), is_known)
            }
            ReadOutcome::Good(loaded)
                if loaded.source == self.blueprint.source && loaded.config == *self.made.config =>
            {
                (ReloadOutcome::Unchanged { mends: self.is_refused() }, false)
            }
            ReadOutcome::Good(loaded) => {
                let (outcome, is_known) = self.take_over(*loaded, former, cause).await;
                (outcome, is_known || told_by_start)
            }
        };
        self.publish_outcome(&outcome, is_known);
        (outcome, is_known)
    }

    /// Takes it over, or not. What was refused just so is not tried each time that it is looked: others are asked for it.
    async fn take_over(
        &mut self,
        loaded: LoadedConfig,
        former: Option<Refusal>,
        cause: ReloadCause,
    ) -> (ReloadOutcome, bool) {
        let file = loaded.path.clone().unwrap_or_default();
        let words = |why: &str| ReloadOutcome::Refused(format!("{}: {why}", file.display()));
        let rests = former.as_ref().filter(|_| cause == ReloadCause::Time);
        if let Some(why) = rests.and_then(|former| former.still_refused(&loaded, Instant::now())) {
            let outcome = words(&why.words);
            self.refusal = former;
            return (outcome, true);
        }
        match Box::pin(self.apply(loaded.clone())).await {
            Ok(done) => (ReloadOutcome::Done(done), false),
            Err(why) => {
                let outcome = words(&why.words);
                let (refusal, is_known) = Refusal::after(former, loaded, why, Instant::now());
                self.refusal = Some(refusal);
                (outcome, is_known)
            }
        }
    }

    /// What is half a file is looked at again, until it is whole or stays as it is. One that was written meanwhile did not
    /// stay, though the same half of it be there again.
    pub(super) async fn read(&self, look: &ConfigReader) -> ReadOutcome {
        let mut written = look.written();
        let mut seen = look.read(self.blueprint.clock.now()).await;
        for _ in 0..LOOKS_MAX {
            if !is_doubtful(&seen, &self.blueprint.source) {
                break;
            }
            tracing::debug!("config.doubted: it may be half a file; it is looked at again");
            tokio::time::sleep(LOOK_AGAIN).await;
            let (written_next, next) = (look.written(), look.read(self.blueprint.clock.now()).await);
            if (&next, written_next) == (&seen, written) {
                break;
            }
            (written, seen) = (written_next, next);
        }
        seen
    }

    /// It stands so from now on.
    fn publish_outcome(&self, outcome: &ReloadOutcome, is_known: bool) {
        let (now, conditions) = (self.blueprint.clock.now(), &self.blueprint.conditions);
        match outcome {
            ReloadOutcome::NoFile => return,
            // What a start said of it tells more than this.
            ReloadOutcome::Refused(_) if is_known => {}
            ReloadOutcome::Refused(why) => {
                let what = format!("the config file was not taken over: {}", why.lines().next().unwrap_or_default());
                let fix = "mend it; Hob looks by itself, and goes on as before until then".to_owned();
                conditions.report(SystemPart::Config, Trouble { since: now, what, fix });
            }
            ReloadOutcome::Unchanged { mends: false } => {}
            ReloadOutcome::Unchanged { mends: true } | ReloadOutcome::Done(_) => {
                drop(conditions.clear(&SystemPart::Config))
            }
        }
        let running = self.running.borrow().clone();
        self.roots.standing.set_status(|standing| match outcome {
            ReloadOutcome::Refused(why) => standing.refused = Some((now, why.clone())),
            ReloadOutcome::Done(done) => {
                standing.at = Some(running.at);
                standing.hash = hash(&running);
                standing.changes = Some(done.changes.len());
                standing.waits.clone_from(&done.waits);
                standing.refused = None;
            }
            ReloadOutcome::Unchanged { .. } | ReloadOutcome::NoFile => standing.refused = None,
        });
    }
}
