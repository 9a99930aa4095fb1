//! Backups from time to time, as `[backup]` asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::backup::make::{self, Order};
use crate::backup::{BackupError, at};
use crate::config::backup::BackupConfig;
use crate::config::edit;
use crate::daemon::chores::another;
use crate::daemon::reload::running::Current;
use crate::daemon::{Blueprint, Switches};
use crate::domain::clock::Clock;

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
    every: SignedDuration,
    keep: usize,
}

/// Makes backups as long as Hob runs, if the config asks for them.
pub(super) fn keep_up(switches: &Switches, blueprint: &Blueprint, current: Current) {
    if !blueprint.stays {
        return;
    }
    let (data_dir, config_file) = (blueprint.data_dir.clone(), blueprint.config_file.clone());
    let plan = move |config: &BackupConfig| {
        (config.every_hours > 0).then(|| Plan {
            to: folder(&data_dir, config.dir.as_ref()),
            data_dir: data_dir.clone(),
            config_file: config_file.clone(),
            every: SignedDuration::from_hours(i64::from(config.every_hours)),
            keep: usize::try_from(config.keep).unwrap_or(usize::MAX),
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

async fn one(plan: &Plan, now: Timestamp) -> Result<(), BackupError> {
    let config = match &plan.config_file {
        Some(file) => shown(file),
        None => None,
    };
    let order = Order { data_dir: plan.data_dir.clone(), config, to: plan.to.clone(), now };
    let made = make::make(order).await?;
    tracing::info!(path = %made.path.display(), bytes = made.bytes, files = made.files, "backup.made");
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
