//! The config that runs, for whoever goes by it as it is now.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::watch;

use hob_config::Config;
use hob_core::domain::secret::Secret;

/// A config that runs: what was read, and what it means. A new one takes its place after every reload that was committed.
#[derive(Debug, Clone)]
pub struct RunningConfig {
    /// What it means.
    pub config: Arc<Config>,
    /// The file's text as it was when it was read; empty without a file. It may hold keys.
    pub source: Secret,
    /// Since when.
    pub at: Timestamp,
}

/// Sees which config runs, and hears of the next.
pub type CurrentConfig = watch::Receiver<Arc<RunningConfig>>;
