//! `[workspace]`: where Hob's tools may read and write files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{key_path, shape, values};

/// Where Hob's tools may read and write files. They reach nothing else; commands see the system's own folders besides, and
/// cannot change them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<WorkspaceConfig>)]
pub struct WorkspaceConfig {
    /// The folder that tools work in, as an absolute path. Without it: `workspace` in the data directory.
    #[schemars(length(min = 1, max = 4000), example = &"/srv/hob")]
    pub dir: Option<PathBuf>,
    /// More folders that may be read, as absolute paths: `["/srv/music"]`.
    #[schemars(length(max = 64))]
    pub read_dirs: Vec<PathBuf>,
    /// More folders that may be read and written, as absolute paths: `["/srv/notes"]`.
    #[schemars(length(max = 64))]
    pub write_dirs: Vec<PathBuf>,
    /// Whether you vouch for every file in these folders. Without that, a task that has read one asks before it changes or
    /// sends anything: whoever wrote the file might speak through it.
    pub trusted: bool,
    /// For how many days the files are kept that came with messages or were sent.
    #[schemars(range(min = 1, max = 36_500))]
    pub keep_files_days: u32,
}

impl Default for WorkspaceConfig {
    fn default() -> Self {
        Self { dir: None, read_dirs: Vec::new(), write_dirs: Vec::new(), trusted: false, keep_files_days: 90 }
    }
}

impl WorkspaceConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = self.dir.iter().flat_map(|dir| values::absolute_path("dir", dir)).collect();
        for (key, dirs) in [("read_dirs", &self.read_dirs), ("write_dirs", &self.write_dirs)] {
            for (index, dir) in dirs.iter().enumerate() {
                found.extend(values::absolute_path(&key_path::item(key, index), dir));
            }
        }
        found
    }
}
