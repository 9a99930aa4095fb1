//! Backups from time to time, as `[backup]` asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::backup::make::{self, Order};
use crate::backup::seal::Recipients;
use crate::backup::{BackupError, at};
use crate::config::backup::BackupConfig;
use crate::config::edit;
use crate::daemon::chores::another;
use crate::daemon::reload::running::Current;
use crate::daemon::{Blueprint, Switches};
use crate::domain::clock::Clock;
use crate::domain::condition::{Conditions, Part, Trouble};

/// The longest wait between two looks at the clock, which can jump.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// The wait after a backup that failed.
const AGAIN_AFTER: Duration = Duration::from_secs(3600);

/// The folder for backups, where none is named.
#[must_use]
pub fn folder(data_dir: &Path, named: Option<&PathBuf>) -> PathBuf {
    named.map_or_else(|| data_dir.join("backups"), Clone::clone)
}

/// What is backed up, where to, and how often.
struct Plan {
    data_dir: PathBuf,
    config_file: Option<PathBuf>,
    to: PathBuf,
    recipients: (Option<String>, Option<PathBuf>),
    every: SignedDuration,
    keep: usize,
    conditions: Conditions,
}

/// Makes backups as long as Hob runs, if the config asks for them.
pub(super) fn keep_up(switches: &Switches, blueprint: &Blueprint, current: Current) {
    if !blueprint.stays {
        return;
    }
    let (data_dir, config_file) = (blueprint.data_dir.clone(), blueprint.config_file.clone());
    let conditions = blueprint.conditions.clone();
    let plan = move |config: &BackupConfig| {
        (config.every_hours > 0).then(|| Plan {
            to: folder(&data_dir, config.dir.as_ref()),
            data_dir: data_dir.clone(),
            config_file: config_file.clone(),
            recipients: (config.recipient.clone(), config.recipients_file.clone()),
            every: SignedDuration::from_hours(i64::from(config.every_hours)),
            keep: usize::try_from(config.keep).unwrap_or(usize::MAX),
            conditions: conditions.clone(),
        })
    };
    let (clock, stop) = (Arc::clone(&blueprint.clock), switches.drain.clone());
    switches.channels.spawn(make_all(plan, current, (clock, stop)));
}

/// As the config that runs asks, at each time.
async fn make_all(
    plan: impl Fn(&BackupConfig) -> Option<Plan>,
    mut current: Current,
    (clock, stop): (Arc<dyn Clock>, CancellationToken),
) {
    loop {
        let wanted = plan(&current.borrow_and_update().config.backup);
        let Some(plan) = wanted else {
            tokio::select! {
                () = stop.cancelled() => return,
                () = another(&mut current) => {}
            }
            continue;
        };
        let wait = match due_in(&plan, clock.now()) {
            Some(wait) => wait.min(LOOK_EVERY),
            None => match one(&plan, clock.now()).await {
                Ok(()) => LOOK_EVERY,
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
            () = another(&mut current) => {}
        }
    }
}

/// How long until the next; none: it is due. What was made counts across restarts.
fn due_in(plan: &Plan, now: Timestamp) -> Option<Duration> {
    let newest = make::archives(&plan.to).ok()?.first().and_then(|path| make::made_at(path))?;
    let next = newest.saturating_add(plan.every).ok()?;
    // From a clock that was ahead: a backup too many is better than none.
    let ahead = newest > now;
    let wait = now.duration_until(next);
    (wait.is_positive() && !ahead).then(|| wait.unsigned_abs())
}

/// Says that there is no backup of late, and since when.
fn tell(plan: &Plan, why: &str, now: Timestamp) {
    let newest = make::archives(&plan.to).ok().and_then(|all| make::made_at(all.first()?));
    let what = trouble(newest, plan.every, now, why);
    let fix = "see to it; `hob backup` tries it at once".to_owned();
    plan.conditions.tell(Part::Backup, Trouble { since: now, what, fix });
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

async fn one(plan: &Plan, now: Timestamp) -> Result<(), BackupError> {
    if plan.conditions.has(&Part::Disk) {
        return Err(BackupError::Low);
    }
    let (named, file) = &plan.recipients;
    let recipients = Recipients::read(named.as_slice(), file.as_deref())?;
    let config = match &plan.config_file {
        Some(file) => shown(file),
        None => None,
    };
    let order = Order { data_dir: plan.data_dir.clone(), config, to: plan.to.clone(), recipients, now };
    let made = make::make(order).await?;
    tracing::info!(path = %made.path.display(), bytes = made.bytes, files = made.files, "backup.made");
    plan.conditions.mend(&Part::Backup);
    let gone = at(&plan.to, make::thin_out(&plan.to, plan.keep))?;
    if gone > 0 {
        tracing::info!(archives = gone, "backup.thinned");
    }
    Ok(())
}

/// The config without its secrets; one that cannot be read is no reason to have no backup.
fn shown(file: &Path) -> Option<String> {
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
    fn n12_a_backup_that_is_missing_is_told_with_what_there_is() {
        let hour = |hour: i64| Timestamp::from_second(hour * 3600).unwrap();
        let told = |newest, now| trouble(newest, SignedDuration::from_hours(24), hour(now), "the disk is low");
        insta::assert_snapshot!(told(None, 9), @"no backup could be made (the disk is low); there is none at all");
        insta::assert_snapshot!(told(Some(hour(0)), 48), @"no backup could be made (the disk is low); the newest is of 1970-01-01 00:00 UTC");
        insta::assert_snapshot!(told(Some(hour(0)), 49), @"no backup could be made (the disk is low); the newest is old: 1970-01-01 00:00 UTC");
    }
}
