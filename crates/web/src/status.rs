//! `GET /status` on the socket: how Hob does, on one screen, for `hob status` and for pages that show it.
//!
//! Never: a secret, or what anybody said. What is to be done later is told by its name, or its first words.
//! Start at [`gather`]; a Hob that does not run is looked at through [`read_store_status`], by whoever reads its database.

pub(crate) mod render;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router as Routes};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::health::in_time;
use crate::operations::age;
use hob_core::domain::condition::{SystemPart, Trouble};
use hob_core::domain::health::{AccountHealth, Liveness};
use hob_core::domain::text::{cut, one_line};
use hob_router::intake::Router;
use hob_router::workload::{Backlog, Workload};
use hob_store::backup::archives;
use hob_store::error::StoreError;
use hob_store::place::StatePlace;
use hob_store::runs::queries::lookup;
use hob_store::schedules::UpcomingSchedule;
use hob_store::{Tx, millis, open_runs, space};

/// So many runs and schedules are listed.
const LISTED: i64 = 5;
/// So many characters of a task are shown.
const TASK_CHARS: usize = 60;

/// Where things are that only the daemon's config tells.
#[derive(Debug, Clone)]
pub struct StatusPaths {
    pub data_dir: PathBuf,
    /// Where the state is.
    pub state: StatePlace,
    /// The folder of backups.
    pub backups: PathBuf,
    /// The config file; none: there is none.
    pub config: Option<PathBuf>,
}

/// How Hob fares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StatusReport {
    /// Which Hob tells this.
    pub version: String,
    /// Whether it runs; else this was read from its database.
    pub running: bool,
    /// For how long it has run, in seconds.
    pub(crate) up_secs: Option<i64>,
    /// The config file.
    #[schema(value_type = Option<String>)]
    pub config: Option<PathBuf>,
    /// The data directory.
    #[schema(value_type = String)]
    pub data_dir: PathBuf,
    /// The server that the state is on; none: it is in the data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// What does not work as it should.
    pub degraded: Vec<PartTrouble>,
    /// The accounts; none while it does not run.
    pub channels: Vec<AccountStatus>,
    /// Role and model.
    #[schema(value_type = Vec<Vec<String>>)]
    pub models: Vec<(String, String)>,
    /// Models that are not asked at the moment, and why.
    pub resting: Vec<String>,
    /// What the database tells; none: it does not answer.
    pub books: Option<StoreStatus>,
    /// Seconds since the newest backup was made; none: there is none.
    pub(crate) backup_age_secs: Option<i64>,
    /// Bytes that can still be written; none: the disk cannot be asked.
    pub disk_free_bytes: Option<u64>,
}

/// A part that does not work as it should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PartTrouble {
    /// Which.
    pub part: String,
    /// For how long, in seconds.
    pub(crate) age_secs: i64,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub fix: String,
}

/// An account on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AccountStatus {
    /// The platform.
    pub channel: String,
    /// The account.
    pub account: String,
    /// As in `/health`.
    pub state: String,
    /// Why it is so, where that is known.
    pub why: Option<String>,
    /// Who Hob is there.
    pub name: Option<String>,
    /// Seconds since the platform was last heard.
    pub heard_age_secs: Option<i64>,
    /// Seconds since a message last came.
    pub message_age_secs: Option<i64>,
    /// Seconds since something was last sent there, since the start.
    #[serde(default)]
    pub sent_age_secs: Option<i64>,
}

/// What the database tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StoreStatus {
    /// Open runs by state.
    pub runs: BTreeMap<String, i64>,
    /// How long the oldest run that is queued has waited, in seconds.
    pub(crate) queue_age_secs: Option<i64>,
    /// The runs at work, the first few.
    pub at_work: Vec<RunStatus>,
    /// What is not delivered, by state: how much, and how long the oldest has waited.
    pub outbox: BTreeMap<String, OutboxBacklog>,
    /// What was spent since midnight.
    pub today: Spending,
    /// What is due next, the first few.
    pub next: Vec<UpcomingTask>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RunStatus {
    /// Its number.
    pub run: i64,
    /// Its conversation.
    pub session: String,
    /// Its state.
    pub state: String,
    /// Seconds since its message came.
    pub(crate) age_secs: i64,
}

/// Chunks that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OutboxBacklog {
    /// How many.
    pub count: i64,
    /// How long the oldest has waited, in seconds.
    pub(crate) oldest_age_secs: i64,
}

/// What was spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Spending {
    /// Calls of models.
    pub calls: i64,
    /// Of those, how many cost something that is not known.
    pub unpriced: i64,
    /// Tokens read.
    pub input_tokens: i64,
    /// Of those, from a provider's cache.
    pub cached_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Billionths of a US dollar.
    pub(crate) cost_nanousd: i64,
}

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct UpcomingTask {
    /// Its number among the schedules.
    pub schedule: i64,
    /// In so many seconds; negative: it is late.
    pub(crate) in_secs: i64,
    /// Its name, or the first words of its task.
    pub what: String,
}

pub async fn read_store_status(tx: &mut Tx, zone: &TimeZone, now: Timestamp) -> Result<StoreStatus, StoreError> {
    let Workload { runs, outbox, today, next } = Workload::read(tx, zone, now, LISTED).await?;
    let mut at_work = Vec::new();
    for open in open_runs::list_open(tx).await? {
        let row = lookup(tx, open.id).await?.filter(|row| row.state != "queued");
        at_work.extend(row.map(|row| RunStatus {
            run: open.id.0,
            session: row.key,
            state: row.state,
            age_secs: age(now, row.created_at),
        }));
        if i64::try_from(at_work.len()) == Ok(LISTED) {
            break;
        }
    }
    let backlog = |of: Backlog| {
        (of.state, OutboxBacklog { count: of.count, oldest_age_secs: of.oldest_age_secs.unwrap_or_default() })
    };
    let task = |job: UpcomingSchedule| UpcomingTask {
        schedule: job.id.0,
        in_secs: (job.next_at - millis(now)).div_euclid(1_000),
        what: job.name.unwrap_or_else(|| short(&job.task)),
    };
    Ok(StoreStatus {
        queue_age_secs: runs.iter().find_map(|of| of.oldest_age_secs),
        runs: runs.into_iter().map(|of| (of.state, of.count)).collect(),
        at_work,
        outbox: outbox.into_iter().map(backlog).collect(),
        today: Spending {
            calls: today.calls,
            unpriced: today.unpriced,
            input_tokens: today.input_tokens,
            cached_tokens: today.cached_tokens,
            output_tokens: today.output_tokens,
            cost_nanousd: today.cost,
        },
        next: next.into_iter().map(task).collect(),
    })
}

fn short(task: &str) -> String {
    cut(&one_line(task), TASK_CHARS)
}

/// What is known beside the running Hob: of its files.
pub fn offline_report(places: &StatusPaths, now: Timestamp) -> StatusReport {
    let newest = archives::newest_in(&places.backups, &places.data_dir, now);
    StatusReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        running: false,
        up_secs: None,
        config: places.config.clone(),
        data_dir: places.data_dir.clone(),
        state: matches!(places.state, StatePlace::Server(_)).then(|| places.state.to_string()),
        degraded: Vec::new(),
        channels: Vec::new(),
        models: Vec::new(),
        resting: Vec::new(),
        books: None,
        backup_age_secs: newest.map(|made| secs(now.duration_since(made))),
        disk_free_bytes: space::free(&places.data_dir).ok(),
    }
}

fn secs(span: SignedDuration) -> i64 {
    span.as_secs().max(0)
}

/// How the running Hob fares.
pub async fn gather(router: &Router, places: &StatusPaths) -> StatusReport {
    let now = router.clock.now();
    let config = router.config();
    let zone = &config.services.budget_guard.zone;
    let books = in_time("status", router.store.read(async |tx| read_store_status(tx, zone, now).await)).await;
    let services = &config.services;
    let degraded = services.conditions.all();
    let hide = |text: &str| router.redactor.redact(text).into_owned();
    StatusReport {
        running: true,
        up_secs: Some(secs(now.duration_since(services.started))),
        degraded: degraded.iter().map(|(part, trouble)| degrade(part, trouble, now)).collect(),
        channels: router.delivery.health().iter().map(|account| status_of(account, &hide)).collect(),
        models: services.models.labels().map(|(role, label)| (role.to_owned(), label.to_owned())).collect(),
        resting: services.models.states().iter().map(ToString::to_string).collect(),
        books,
        // Another config may name another folder by now.
        ..offline_report(&StatusPaths { backups: services.backups.clone(), ..places.clone() }, now)
    }
}

fn degrade(part: &SystemPart, trouble: &Trouble, now: Timestamp) -> PartTrouble {
    PartTrouble {
        part: part.to_string(),
        age_secs: secs(now.duration_since(trouble.since)),
        what: trouble.what.clone(),
        fix: trouble.fix.clone(),
    }
}

fn status_of(
    AccountHealth { channel, account, health }: &AccountHealth,
    hide: &dyn Fn(&str) -> String,
) -> AccountStatus {
    let age = |at: Timestamp| secs(health.now.duration_since(at));
    let why = match &health.liveness {
        Liveness::Down { why } | Liveness::Closed { why } => Some(hide(why)),
        Liveness::Connecting | Liveness::Connected | Liveness::Deaf => {
            health.stuck.as_ref().map(|why| format!("messages wait: {}", hide(why)))
        }
    };
    AccountStatus {
        channel: channel.to_string(),
        account: account.clone(),
        state: health.liveness.as_str().to_owned(),
        why,
        name: health.name.clone(),
        heard_age_secs: health.heard_at.map(age),
        message_age_secs: health.message_at.map(age),
        sent_age_secs: health.sent_at.map(age),
    }
}

pub fn routes(router: Arc<Router>, places: StatusPaths) -> Routes {
    Routes::new().route("/status", get(status)).with_state((router, Arc::new(places)))
}

async fn status(State((router, places)): State<(Arc<Router>, Arc<StatusPaths>)>) -> Response {
    let report = gather(&router, &places).await;
    (StatusCode::OK, [(header::CACHE_CONTROL, "no-store")], Json(report)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_a_hob_that_does_not_run_says_so_first() {
        let folder = tempfile::tempdir().unwrap();
        let (data_dir, backups) = (folder.path().to_owned(), folder.path().join("backups"));
        std::fs::create_dir(&backups).unwrap();
        std::fs::write(backups.join("hob-2026-01-01T000000Z.tar.gz"), "").unwrap();
        let now: Timestamp = "2026-01-01T00:05:00Z".parse().unwrap();
        let state = StatePlace::of(None, &data_dir);
        let seen = offline_report(&StatusPaths { data_dir, state, backups, config: None }, now);
        assert!(seen.disk_free_bytes.is_some_and(|free| free > 0));
        let seen = StatusReport { data_dir: "/d".into(), disk_free_bytes: None, version: "0".to_owned(), ..seen };
        insta::assert_snapshot!(seen, @r"
        Hob is not running (this is hob 0; `hob run` starts it); its database says:
        config: none
        database: none yet; `hob init` sets Hob up, `hob chat` talks with it here
        backup: 5 min ago
        data: /d (cannot be asked)
        ");
        let seen = StatusReport { state: Some("postgres://hob@db:5432/hob".to_owned()), ..seen };
        assert!(
            seen.to_string().ends_with("data: /d (cannot be asked)\nstate: postgres://hob@db:5432/hob\n"),
            "{seen}"
        );
    }

    #[test]
    fn n11_a_task_is_named_by_its_first_words() {
        assert_eq!(short("water\n  the plants"), "water the plants");
        assert_eq!(short(&"ä".repeat(61)), format!("{}…", "ä".repeat(60)));
    }
}
