//! `[heartbeat]`: Hob looks by itself, from time to time, whether there is something to do.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{shape, values};

/// Hob looks by itself, from time to time, whether there is something to do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<HeartbeatConfig>)]
pub struct HeartbeatConfig {
    /// Seconds between two looks; each costs a call of the model. They keep to the clock: with 3600, each full hour.
    #[schemars(range(min = 1, max = 604_800))]
    pub every_secs: u64,
    /// What the model is told at each.
    #[schemars(length(min = 1, max = 100_000))]
    pub prompt: String,
    /// Where Hob speaks if there is something: one of the `[destinations]`, on any platform. Without it: in the first
    /// owner's own chat.
    #[schemars(length(min = 1, max = 64), example = &"family")]
    pub to: Option<String>,
    /// Instead: a chat on Telegram, by its id.
    #[schemars(range(min = -4_503_599_627_370_495_i64, max = 4_503_599_627_370_495_i64), example = 123_456_789)]
    pub telegram_chat: Option<i64>,
    /// A list of what to look at, as an absolute path. It is told to the model each time; while the file is missing or has
    /// only headings and blank lines, the model is not asked at all.
    #[schemars(length(min = 1, max = 4000), example = &"/srv/hob/HEARTBEAT.md")]
    pub file: Option<PathBuf>,
}

impl HeartbeatConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        self.file.iter().filter_map(|file| values::absolute_path("file", file)).collect()
    }
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        let prompt = "Nobody has written. Look whether there is something to do or to tell now. If there is nothing, \
                      answer exactly NO_REPLY.";
        Self { every_secs: 1_800, prompt: prompt.to_owned(), to: None, telegram_chat: None, file: None }
    }
}
