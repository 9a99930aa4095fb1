//! `[workspace]`: where Hob's tools may read and write files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::problem::Finding;
use crate::config::{place, shape, values};

/// Where Hob's tools may read and write files. They reach nothing else; commands see the system's own folders besides, and
/// cannot change them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<WorkspaceConfig>)]
pub struct WorkspaceConfig {
    /// The folder that tools work in, as an absolute path. Without it: `workspace` in the data directory.
    #[schemars(length(min = 1, max = 4000), example = &"/srv/hob")]
    pub dir: Option<PathBuf>,
    /// More folders that may be read, as absolute paths, such as `/srv/music`.
    #[schemars(length(max = 64))]
    pub read_dirs: Vec<PathBuf>,
    /// More folders that may be read and written, as absolute paths, such as `/srv/notes`.
    #[schemars(length(max = 64))]
    pub write_dirs: Vec<PathBuf>,
}

impl WorkspaceConfig {
    /// What cannot be.
    #[must_use]
    pub fn validate(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = self.dir.iter().flat_map(|dir| values::absolute_path("dir", dir)).collect();
        for (key, dirs) in [("read_dirs", &self.read_dirs), ("write_dirs", &self.write_dirs)] {
            for (index, dir) in dirs.iter().enumerate() {
                found.extend(values::absolute_path(&place::item(key, index), dir));
            }
        }
        found
    }
}
