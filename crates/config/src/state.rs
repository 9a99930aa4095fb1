//! `[state]`: where Hob keeps its data.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{shape, values};

/// Where Hob keeps its data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<StateConfig>)]
pub struct StateConfig {
    /// The data directory, as an absolute path; $HOB_HOME goes before it. Without both: $XDG_DATA_HOME/hob, else
    /// ~/.local/share/hob.
    #[schemars(length(min = 1, max = 4000), example = &"/var/lib/hob")]
    pub dir: Option<PathBuf>,
}

impl StateConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        self.dir.iter().filter_map(|dir| values::absolute_path("dir", dir)).collect()
    }
}
