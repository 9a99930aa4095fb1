//! `[backup]`: backups that Hob makes by itself.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::problem::Finding;
use crate::config::{shape, values};

/// Backups that Hob makes by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<BackupConfig>)]
pub struct BackupConfig {
    /// The folder for them, as an absolute path, best on another disk. Without it: `backups` in the data directory.
    #[schemars(length(min = 1, max = 4000), example = &"/mnt/backups/hob")]
    pub dir: Option<PathBuf>,
    /// Hours between two backups; 0 makes none.
    #[schemars(range(max = 8760))]
    pub every_hours: u32,
    /// How many of the newest are kept.
    #[schemars(range(min = 1, max = 10_000))]
    pub keep: u32,
}

impl Default for BackupConfig {
    fn default() -> Self {
        Self { dir: None, every_hours: 0, keep: 7 }
    }
}

impl BackupConfig {
    /// What cannot be.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        self.dir.iter().filter_map(|dir| values::absolute_path("dir", dir)).collect()
    }
}
