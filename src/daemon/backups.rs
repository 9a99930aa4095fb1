//! Backups from time to time, as `[backup]` asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::Blueprint;
use crate::daemon::background::wait_for_config_change;
use crate::daemon::reload::running::CurrentConfig;
use crate::daemon::shutdown::ShutdownStages;
use hob_config::backup::BackupConfig;
use hob_config::edit;
use hob_core::domain::clock::Clock;
use hob_core::domain::condition::{Conditions, SystemPart, Trouble};
use hob_core::domain::rng::Rng;
use hob_store::backup::BackupError;
use hob_store::backup::archives;
use hob_store::backup::make::{self, BackupRequest, CreatedBackup};
use hob_store::backup::seal::Recipients;
use hob_store::place::StatePlace;

/// The longest wait between two looks at the clock, which can jump.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// The wait after a backup that failed.
const AGAIN_AFTER: Duration = Duration::from_secs(3600);

/// The folder for backups, where none is named.
pub fn folder(data_dir: &Path, named: Option<&PathBuf>) -> PathBuf {
    named.map_or_else(|| data_dir.join("backups"), Clone::clone)
}

/// What is backed up, where to, and how often.
struct BackupPlan {
    data_dir: PathBuf,
    state: StatePlace,
    config_file: Option<PathBuf>,
    to: PathBuf,
    recipients: (Option<String>, Option<PathBuf>),
    every: SignedDuration,
    keep: usize,
    conditions: Conditions,
    rng: Arc<dyn Rng>,
}

/// The last backup that this process made.
struct LastBackup {
    to: PathBuf,
    at: Timestamp,
    made: Instant,
}

/// Makes backups as long as Hob runs, if the config asks for them.
pub(super) fn keep_up(shutdown: &ShutdownStages, blueprint: &Blueprint, current: CurrentConfig) {
    if !blueprint.stays {
        return;
    }
    let (data_dir, config_file) = (blueprint.data_dir.clone(), blueprint.config_file.clone());
    let state = blueprint.state.clone();
    let (conditions, rng) = (blueprint.conditions.clone(), Arc::clone(&blueprint.rng));
    let plan = move |config: &BackupConfig| {
        (config.every_hours > 0).then(|| BackupPlan {
            to: folder(&data_dir, config.dir.as_ref()),
            data_dir: data_dir.clone(),
            state: state.clone(),
            config_file: config_file.clone(),
            recipients: (config.recipient.clone(), config.recipients_file.clone()),
            every: SignedDuration::from_hours(i64::from(config.every_hours)),
            keep: usize::try_from(config.keep).unwrap_or(usize::MAX),
            conditions: conditions.clone(),
            rng: Arc::clone(&rng),
        })
    };
    let (clock, stop) = (Arc::clone(&blueprint.clock), shutdown.drain.clone());
    shutdown.keep("backups", make_all(plan, current, clock, stop));
}

/// As the config that runs asks, at each time.
async fn make_all(
    plan: impl Fn(&BackupConfig) -> Option<BackupPlan>,
    mut current: CurrentConfig,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let mut last: Option<LastBackup> = None;
    loop {
        let wanted = plan(&current.borrow_and_update().config.backup);
        let Some(plan) = wanted else {
            tokio::select! {
                () = stop.cancelled() => return,
                () = wait_for_config_change(&mut current) => {}
            }
            continue;
        };
        let now = clock.now();
        let wait = match due_in(&plan, last.as_ref(), now) {
            Some(wait) => wait.min(LOOK_EVERY),
            None => match make_backup(&plan, now, &stop).await {
                Ok(made) => {
                    last = Some(made);
                    LOOK_EVERY
                }
                Err(BackupError::Stopped) => return,
                Err(error) => {
                    tracing::error!(%error, "backup.failed: {error}; tried again in an hour");
                    tell(&plan, &error.to_string(), clock.now());
                    AGAIN_AFTER
                }
            },
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
            () = wait_for_config_change(&mut current) => {}
        }
    }
}

/// How long until the next; none: it is due. What was made counts across restarts.
fn due_in(plan: &BackupPlan, last: Option<&LastBackup>, now: Timestamp) -> Option<Duration> {
    let last = last.filter(|last| last.to == plan.to).map(|last| (last.at, last.made.elapsed()));
    wait(archives::newest_in(&plan.to, &plan.data_dir, now), last, plan.every, now)
}

/// `newest`: of the archives that are there, none of which is from after now. `last`: when this process made one, by the clock of
/// then, and how long ago that is in truth.
fn wait(
    newest: Option<Timestamp>,
    last: Option<(Timestamp, Duration)>,
    every: SignedDuration,
    now: Timestamp,
) -> Option<Duration> {
    if let Some((_, ago)) = last.filter(|(at, _)| *at > now) {
        // The clock was set back since then: a second one would not be missed.
        return every.unsigned_abs().checked_sub(ago).filter(|left| !left.is_zero());
    }
    let next = newest.max(last.map(|(at, _)| at))?.saturating_add(every).ok()?;
    let left = now.duration_until(next);
    left.is_positive().then(|| left.unsigned_abs())
}

/// Says that there is no backup of late, and since when.
fn tell(plan: &BackupPlan, why: &str, now: Timestamp) {
    let newest = archives::newest_in(&plan.to, &plan.data_dir, now);
    let what = trouble(newest, plan.every, now, why);
    let fix = "see to it; `hob backup` tries it at once".to_owned();
    plan.conditions.report(SystemPart::Backup, Trouble { since: now, what, fix });
}

/// In words: what failed, and what there is.
fn trouble(newest: Option<Timestamp>, every: SignedDuration, now: Timestamp, why: &str) -> String {
    let there = match newest {
        None => "there is none at all".to_owned(),
        // Less than twice the time is a delay; more is a backup that is missing.
        Some(newest) if now.duration_since(newest) > every.saturating_mul(2) => {
            format!("the newest is old: {}", newest.strftime("%Y-%m-%d %H:%M UTC"))
        }
        Some(newest) => format!("the newest is of {}", newest.strftime("%Y-%m-%d %H:%M UTC")),
    };
    format!("no backup could be made ({why}); {there}")
}

async fn make_backup(plan: &BackupPlan, now: Timestamp, stop: &CancellationToken) -> Result<LastBackup, BackupError> {
    if plan.conditions.has(&SystemPart::Disk) {
        return Err(BackupError::Low);
    }
    let (named, file) = &plan.recipients;
    let recipients = Recipients::read(named.as_slice(), file.as_deref())?;
    let config = match &plan.config_file {
        Some(file) => redacted_config(file),
        None => None,
    };
    let request = BackupRequest {
        data_dir: plan.data_dir.clone(),
        state: plan.state.clone(),
        config,
        to: plan.to.clone(),
        recipients,
        now,
        random: plan.rng.id(),
        packed: Arc::default(),
    };
    let made = make::make(request, stop).await?;
    let last = LastBackup { to: plan.to.clone(), at: now, made: Instant::now() };
    tracing::info!(path = %made.path.display(), bytes = made.bytes, files = made.files, "backup.made");
    if !made.skipped.is_empty() {
        let (count, first) = (made.skipped.len(), made.skipped.first());
        tracing::info!(
            count,
            ?first,
            "backup.skipped: links, what is not a file, and names that are not UTF-8 are not in it"
        );
    }
    plan.conditions.clear(&SystemPart::Backup);
    thin_out(plan, &made, now);
    Ok(last)
}

/// Old archives that stay where they are make no backup a failed one.
fn thin_out(plan: &BackupPlan, made: &CreatedBackup, now: Timestamp) {
    match archives::thin_out(&plan.data_dir, made, plan.keep, now) {
        Ok(0) => {}
        Ok(gone) => tracing::info!(archives = gone, "backup.thinned"),
        Err(error) => tracing::warn!(folder = %plan.to.display(), %error, "old archives cannot be deleted"),
    }
}

/// The config without its secrets; one that cannot be read is no reason to have no backup.
fn redacted_config(file: &Path) -> Option<String> {
    match std::fs::read_to_string(file).map_err(|error| error.to_string()) {
        Ok(text) => edit::shown(&text).ok(),
        Err(error) => {
            tracing::warn!(file = %file.display(), error, "the config is not in the backup: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_a_backup_is_due_by_the_newest_that_is_not_dated_ahead() {
        let hour = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        for (newest, last, now, expected) in [
            (None, None, 30, None),
            (Some(6), None, 29, Some(hours(1))),
            (Some(6), None, 30, None),
            // One that was just made counts even where it cannot be seen.
            (None, Some((29, hours(1))), 30, Some(hours(23))),
            (Some(2), Some((20, hours(10))), 30, Some(hours(14))),
            (None, Some((5, hours(25))), 30, None),
            // The clock was set back after it was made.
            (Some(2), Some((900, hours(1))), 30, Some(hours(23))),
            (None, Some((900, hours(24))), 30, None),
            (None, Some((900, hours(25))), 30, None),
        ] {
            let last = last.map(|(at, ago)| (hour(at), ago));
            let left = wait(newest.map(hour), last, SignedDuration::from_hours(24), hour(now));
            assert_eq!(left, expected, "{newest:?}, {last:?} at {now}");
        }
    }

    #[test]
    fn n12_a_backup_that_is_missing_is_told_with_what_there_is() {
        let hour = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        let told = |newest, now| trouble(newest, SignedDuration::from_hours(24), hour(now), "the disk is low");
        insta::assert_snapshot!(told(None, 9), @"no backup could be made (the disk is low); there is none at all");
        insta::assert_snapshot!(told(Some(hour(0)), 48), @"no backup could be made (the disk is low); the newest is of 1970-01-01 00:00 UTC");
        insta::assert_snapshot!(told(Some(hour(0)), 49), @"no backup could be made (the disk is low); the newest is old: 1970-01-01 00:00 UTC");
    }
}
