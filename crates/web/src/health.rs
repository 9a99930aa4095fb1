//! `GET /health`: whether Hob hears and is heard, part by part (row N11).
//!
//! Never: words that anybody said, ids of people or chats, or why a platform or a model refuses: whoever asks has proved
//! nothing.
//! Start at `look`.

use std::sync::Arc;
use std::time::Duration;

use axum::Router as Routes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use serde::Serialize;

use crate::access::origin_check::{OriginRefusal, PageHosts};
use crate::metrics;
use crate::operations::age;
use crate::serve::LocalAddress;
use hob_core::domain::condition::{SystemPart, Trouble};
use hob_core::domain::health::{AccountHealth, Liveness};
use hob_memory::embedding_service::EmbeddingStatus;
use hob_model::catalog::Catalog;
use hob_router::intake::Router;
use hob_store::error::StoreError;
use hob_store::footprint::Footprint;
use hob_store::upkeep::pages::{self, PageCounts};
use hob_store::{Tx, outbox, runs};

/// A database that takes longer than that does not answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

pub fn routes(router: Arc<Router>) -> Routes {
    Routes::new().route("/health", get(health)).route("/metrics", get(metrics::metrics)).with_state(router)
}

/// The same for whoever can reach the port: a page of anybody's may have a browser ask, under a name of its own.
pub fn routes_at(places: PageHosts, router: Arc<Router>) -> Routes {
    routes(router).layer(middleware::from_fn_with_state(Arc::new(places), require_known_host))
}

async fn require_known_host(State(places): State<Arc<PageHosts>>, request: Request, next: Next) -> Response {
    let reached = request.extensions().get::<LocalAddress>().map(|reached| reached.0);
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| places.accepts_host(host, reached)) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, format!("{}\n", OriginRefusal::Host)).into_response()
}

/// How Hob fares. docs/telemetry.md says what each field means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct HealthReport {
    /// The process answers.
    live: bool,
    /// The database answers, and every channel hears.
    pub(super) ready: bool,
    version: &'static str,
    pub(super) uptime_secs: i64,
    pub(super) channels: Vec<ChannelReport>,
    /// None: the database does not answer.
    pub(super) outbox: Option<Backlog>,
    /// None: the same.
    pub(super) queue: Option<Backlog>,
    pub(super) models: Vec<ModelReport>,
    pub(super) embeddings: Embeddings,
    pub(super) database: Database,
    pub(super) disk: Disk,
    /// What does not work as it should: which part, not why.
    pub(super) degraded: Vec<Degraded>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ChannelReport {
    pub(super) channel: &'static str,
    pub(super) account: String,
    pub(super) state: &'static str,
    /// Seconds since the platform was last heard.
    pub(super) heard_age_secs: Option<i64>,
    /// Seconds since a message last came.
    pub(super) message_age_secs: Option<i64>,
    /// Seconds since something was last sent there.
    pub(super) sent_age_secs: Option<i64>,
    /// What comes in cannot be stored.
    stuck: bool,
}

/// What waits, in the outbox or for its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Backlog {
    /// How much of it.
    pub(super) open: i64,
    /// How long the oldest of it has waited, in seconds.
    pub(super) oldest_age_secs: i64,
}

impl Backlog {
    fn of(open: i64, oldest: Option<i64>, now: Timestamp) -> Self {
        Self { open, oldest_age_secs: oldest.map_or(0, |oldest| age(now, oldest)) }
    }
}

/// A model behind its breaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ModelReport {
    pub(super) model: String,
    /// `ready`, `resting`, or `trying`: one call finds out whether it works again.
    pub(super) state: &'static str,
    /// How long it still rests.
    pub(super) rests_secs: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Embeddings {
    /// `off`, `starting`, `ready` or `degraded`.
    pub(super) state: &'static str,
    /// Memories that wait for their vectors.
    pub(super) backlog: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Database {
    /// It answered in time.
    answers: bool,
    pub(super) file_bytes: u64,
    pub(super) wal_bytes: u64,
    /// Statements that wait for the writer.
    pub(super) waiting: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Disk {
    pub(super) free_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Degraded {
    pub(super) part: String,
    since_secs: i64,
}

/// What the database tells, at one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabaseStats {
    outbox: outbox::queries::OpenChunkCount,
    queue: runs::queries::QueueSummary,
    pub(super) runs: Vec<runs::queries::StateCount>,
    pub(super) pages: PageCounts,
}

async fn read_snapshot(tx: &mut Tx) -> Result<DatabaseStats, StoreError> {
    Ok(DatabaseStats {
        outbox: outbox::queries::open(tx).await?,
        queue: runs::queries::queue(tx).await?,
        runs: runs::queries::count_open(tx).await?,
        pages: pages::count(tx).await?,
    })
}

/// What was read for somebody, if the database answers in time.
pub(super) async fn in_time<T>(what: &str, read: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match tokio::time::timeout(ANSWERS_WITHIN, read).await {
        Ok(Ok(read)) => return Some(read),
        Ok(Err(error)) => tracing::warn!(%error, "{what}: the database does not answer"),
        Err(_elapsed) => tracing::warn!("{what}: the database does not answer in time"),
    }
    None
}

/// Everything that a report is made of.
struct ReportInputs {
    channels: Vec<AccountHealth>,
    models: Vec<ModelReport>,
    embeddings: Embeddings,
    footprint: Footprint,
    waiting: usize,
    troubles: Vec<(SystemPart, Trouble)>,
    started: Timestamp,
    now: Timestamp,
}

/// Looks at every part; none of what the database tells: it does not answer.
pub(super) async fn build_report(router: &Router) -> (HealthReport, Option<DatabaseStats>) {
    let stats = in_time("health", router.store.read(read_snapshot)).await;
    let services = Arc::clone(&router.config().services);
    let seen = ReportInputs {
        channels: router.delivery.health(),
        models: models(&services.models),
        embeddings: embeddings(&services.memory.embedding_service.status()),
        footprint: in_time("the size", router.store.footprint()).await.unwrap_or_default(),
        waiting: router.store.waiting(),
        troubles: services.conditions.all().into_iter().collect(),
        started: services.started,
        now: router.clock.now(),
    };
    (report(&seen, stats.as_ref()), stats)
}

pub(super) fn models(catalog: &Catalog) -> Vec<ModelReport> {
    let states = catalog.states();
    let mut reports: Vec<ModelReport> = Vec::new();
    for (_, label) in catalog.labels() {
        if reports.iter().any(|known| known.model == label) {
            continue;
        }
        let state = states.iter().find(|state| state.label == label);
        let rests_secs = state.map_or(0, |state| state.remaining.as_secs());
        let state = match state {
            None => "ready",
            Some(state) if state.remaining.is_zero() => "trying",
            Some(_) => "resting",
        };
        reports.push(ModelReport { model: label.to_owned(), state, rests_secs });
    }
    reports
}

fn embeddings(standing: &EmbeddingStatus) -> Embeddings {
    let (state, backlog) = match standing {
        EmbeddingStatus::Off => ("off", 0),
        EmbeddingStatus::Starting { .. } => ("starting", 0),
        EmbeddingStatus::Ready { backlog, .. } => ("ready", *backlog),
        EmbeddingStatus::Degraded { .. } => ("degraded", 0),
    };
    Embeddings { state, backlog }
}

fn report(seen: &ReportInputs, stats: Option<&DatabaseStats>) -> HealthReport {
    let ReportInputs { channels, models, embeddings, footprint, waiting, troubles, started, now } = seen;
    let hears = channels
        .iter()
        .all(|AccountHealth { health, .. }| health.liveness == Liveness::Connected && health.stuck.is_none());
    let since = |then: Timestamp| now.duration_since(then).as_secs().max(0);
    HealthReport {
        live: true,
        ready: stats.is_some() && hears,
        version: env!("CARGO_PKG_VERSION"),
        uptime_secs: since(*started),
        channels: channels.iter().map(channel).collect(),
        outbox: stats.map(|stats| Backlog::of(stats.outbox.count, stats.outbox.oldest, *now)),
        queue: stats.map(|stats| Backlog::of(stats.queue.count, stats.queue.oldest, *now)),
        models: models.clone(),
        embeddings: *embeddings,
        database: Database {
            answers: stats.is_some(),
            file_bytes: footprint.file_bytes,
            wal_bytes: footprint.wal_bytes,
            waiting: *waiting,
        },
        disk: Disk { free_bytes: footprint.disk_free_bytes },
        degraded: troubles
            .iter()
            .map(|(part, trouble)| Degraded { part: part.to_string(), since_secs: since(trouble.since) })
            .collect(),
    }
}

fn channel(AccountHealth { channel, account, health }: &AccountHealth) -> ChannelReport {
    let age = |at: Timestamp| health.now.duration_since(at).as_secs().max(0);
    ChannelReport {
        channel: channel.as_str(),
        account: account.clone(),
        state: health.liveness.as_str(),
        heard_age_secs: health.heard_at.map(age),
        message_age_secs: health.message_at.map(age),
        sent_age_secs: health.sent_at.map(age),
        stuck: health.stuck.is_some(),
    }
}

async fn health(State(router): State<Arc<Router>>) -> Response {
    let (report, _) = build_report(&router).await;
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(&report) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => {
            tracing::error!(%error, "health: the report has no form");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::health::ChannelHealth;
    use hob_core::domain::inbound::ChannelKind;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn health(liveness: Liveness, heard: Option<i64>) -> ChannelHealth {
        ChannelHealth {
            liveness,
            name: Some("@secret_person_bot".to_owned()),
            heard_at: heard.map(at),
            message_at: heard.map(|heard| at(heard - 5)),
            sent_at: heard.map(|heard| at(heard - 1)),
            stuck: None,
            ignored: 0,
            pulse: None,
            now: at(100),
        }
    }

    fn of(channel: ChannelKind, account: &str, health: ChannelHealth) -> AccountHealth {
        AccountHealth { channel, account: account.to_owned(), health }
    }

    fn seen(channels: Vec<AccountHealth>) -> ReportInputs {
        let trouble = Trouble { since: at(40), what: "PRIVATE".to_owned(), fix: "PRIVATE".to_owned() };
        ReportInputs {
            channels,
            models: vec![ModelReport { model: "a/b".to_owned(), state: "resting", rests_secs: 9 }],
            embeddings: embeddings(&EmbeddingStatus::Degraded { why: "PRIVATE".to_owned() }),
            footprint: Footprint { file_bytes: 8_192, wal_bytes: 7, disk_free_bytes: Some(1) },
            waiting: 3,
            troubles: vec![(SystemPart::Disk, trouble)],
            started: at(10),
            now: at(100),
        }
    }

    fn stats() -> DatabaseStats {
        DatabaseStats {
            outbox: outbox::queries::OpenChunkCount { count: 2, oldest: Some(40_500) },
            queue: runs::queries::QueueSummary { count: 1, oldest: Some(90_000) },
            runs: Vec::new(),
            pages: PageCounts { all: 2, free: 0 },
        }
    }

    #[test]
    fn n11_the_report_tells_each_part_and_nothing_of_people() {
        let down = Liveness::Down { why: "401: token 12345 of chat 7".to_owned() };
        let channels = vec![
            of(ChannelKind::Telegram, "default", health(Liveness::Connected, Some(97))),
            of(ChannelKind::Slack, "wo\"rk", health(down, None)),
        ];
        let text = serde_json::to_string_pretty(&report(&seen(channels), Some(&stats()))).unwrap();
        insta::assert_snapshot!(text, @r#"
        {
          "live": true,
          "ready": false,
          "version": "0.1.0",
          "uptime_secs": 90,
          "channels": [
            {
              "channel": "telegram",
              "account": "default",
              "state": "connected",
              "heard_age_secs": 3,
              "message_age_secs": 8,
              "sent_age_secs": 4,
              "stuck": false
            },
            {
              "channel": "slack",
              "account": "wo\"rk",
              "state": "down",
              "heard_age_secs": null,
              "message_age_secs": null,
              "sent_age_secs": null,
              "stuck": false
            }
          ],
          "outbox": {
            "open": 2,
            "oldest_age_secs": 59
          },
          "queue": {
            "open": 1,
            "oldest_age_secs": 10
          },
          "models": [
            {
              "model": "a/b",
              "state": "resting",
              "rests_secs": 9
            }
          ],
          "embeddings": {
            "state": "degraded",
            "backlog": 0
          },
          "database": {
            "answers": true,
            "file_bytes": 8192,
            "wal_bytes": 7,
            "waiting": 3
          },
          "disk": {
            "free_bytes": 1
          },
          "degraded": [
            {
              "part": "disk",
              "since_secs": 60
            }
          ]
        }
        "#);
        assert!(!text.contains("PRIVATE") && !text.contains("12345"), "{text}");
    }

    #[test]
    fn n11_it_is_ready_when_all_hear_and_the_database_answers() {
        let ready = |health, stats: Option<&DatabaseStats>| {
            report(&seen(vec![of(ChannelKind::Telegram, "default", health)]), stats).ready
        };
        let fine = || health(Liveness::Connected, Some(99));
        assert!(ready(fine(), Some(&stats())), "a resting model or a full disk keeps nobody from being heard");
        assert!(!ready(fine(), None));
        for liveness in [Liveness::Connecting, Liveness::Deaf, Liveness::Closed { why: String::new() }] {
            assert!(!ready(health(liveness, Some(99)), Some(&stats())));
        }
        assert!(!ready(ChannelHealth { stuck: Some("full".to_owned()), ..fine() }, Some(&stats())));
    }
}
