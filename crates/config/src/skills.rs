//! `[skills]`: the operator's own skills.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{key_path, shape, values};

/// Instructions for kinds of tasks, which the model reads when one fits (docs/skills.md).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<SkillsConfig>)]
pub struct SkillsConfig {
    /// Folders with skills of your own, as absolute paths: in each a folder per skill, with its `SKILL.md`. They are used and
    /// trusted as they are: `["/srv/skills"]`. Others are installed by `hob skill add`.
    #[schemars(length(max = 64))]
    pub dirs: Vec<PathBuf>,
}

impl SkillsConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let dirs = self.dirs.iter().enumerate();
        dirs.flat_map(|(index, dir)| values::absolute_path(&key_path::item("dirs", index), dir)).collect()
    }
}
