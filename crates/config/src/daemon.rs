//! `[daemon]`: the background process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::shape;

/// The levels of the log.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// lines for people
    #[default]
    Text,
    /// one JSON object per line
    Json,
}

/// The background process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<DaemonConfig>)]
pub struct DaemonConfig {
    /// Seconds that active runs have to finish when Hob is stopped; what is left goes on at the next start.
    #[schemars(range(min = 1, max = 3600))]
    pub drain_secs: u64,
    /// Seconds between two searches for runs and answers that were left behind.
    #[schemars(range(min = 1, max = 86_400))]
    pub reconcile_secs: u64,
    /// Runs that may be active at the same time.
    #[schemars(range(min = 1, max = 100_000))]
    pub runs_parallel_max: usize,
    /// What is logged: off, error, warn, info, debug or trace; also by part, as in `info,hob_router=debug`.
    #[schemars(length(min = 1, max = 1000))]
    pub log: String,
    /// How the log is written.
    pub log_format: LogFormat,
}

impl Default for DaemonConfig {
    fn default() -> Self {
        Self {
            drain_secs: 25,
            reconcile_secs: 300,
            runs_parallel_max: 1024,
            log: "info".to_owned(),
            log_format: LogFormat::default(),
        }
    }
}

impl DaemonConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if !is_log_filter(&self.log) {
            let why = format!("is not a log filter, expected one of: {}; or `part=level`", LEVELS.join(", "));
            found.push(Finding::new("log", why, "for example `log = \"info,hob_router=debug\"`"));
        }
        found
    }
}

/// Whether `text` is levels and `part=level`s. The filter itself would take a mistyped level for the name of a part.
fn is_log_filter(text: &str) -> bool {
    let known = |level: &str| LEVELS.iter().any(|known| level.eq_ignore_ascii_case(known));
    let directive = |part: &str| match part.rsplit_once('=') {
        Some((target, level)) => !target.is_empty() && known(level),
        None => known(part),
    };
    text.split(',').all(directive) && tracing_subscriber::EnvFilter::try_new(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_filters() {
        for (text, fine) in [
            ("info", true),
            ("WARN", true),
            ("info,hob_router=debug", true),
            ("info,hyper=off", true),
            ("inof", false),
            ("info,", false),
            ("hob=loud", false),
            ("=info", false),
            ("", false),
            ("[{=info", false),
        ] {
            assert_eq!(is_log_filter(text), fine, "{text}");
        }
    }
}
