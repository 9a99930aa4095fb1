//! The last lines of the log.

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};
use tracing::Level;

use crate::access::visitor::Visitor;
use crate::api_error::Problem;
use hob_telemetry::log_tail;

/// So many lines are told at once.
const LINES: usize = 200;

/// How bad a line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Severity {
    /// Somebody must act.
    Error,
    /// Something works worse than it should.
    Warn,
    /// Something happened.
    #[default]
    Info,
}

impl Severity {
    fn of(level: Level) -> Self {
        match level {
            Level::ERROR => Self::Error,
            Level::WARN => Self::Warn,
            _ => Self::Info,
        }
    }

    fn level(self) -> Level {
        match self {
            Self::Error => Level::ERROR,
            Self::Warn => Level::WARN,
            Self::Info => Level::INFO,
        }
    }
}

/// Which lines are wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct LogParams {
    /// Those after the one with this number: what `last` was.
    after: Option<i64>,
    /// Those that are as bad or worse.
    #[param(inline)]
    level: Option<Severity>,
}

/// A line of the log.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct LogLine {
    /// Its number; each has the next one, since the start.
    id: u64,
    /// When, in milliseconds since 1970.
    at: i64,
    /// How bad it is.
    level: Severity,
    /// Which part of the program says it.
    target: String,
    /// What is said, without secrets.
    text: String,
}

/// Lines of the log.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LogLines {
    /// The newest last.
    lines: Vec<LogLine>,
    /// The newest number of all. One that is smaller than before: Hob was started anew.
    last: u64,
}

/// The newest lines of the log, as far as they are kept: a thousand, from INFO on.
#[utoipa::path(get, path = "/api/operations/log", tag = "operations", params(LogParams),
    responses((status = 200, body = LogLines), (status = 401, body = Problem)))]
pub(crate) async fn lines(_visitor: Visitor, Query(wanted): Query<LogParams>) -> Json<LogLines> {
    let level = wanted.level.unwrap_or_default().level();
    let (lines, last) = log_tail::since(wanted.after.map_or(0, i64::unsigned_abs), level, LINES);
    let line = |line: log_tail::TailLine| LogLine {
        id: line.id,
        at: line.at.as_millisecond(),
        level: Severity::of(line.level),
        target: line.target,
        text: line.text,
    };
    Json(LogLines { lines: lines.into_iter().map(line).collect(), last })
}
