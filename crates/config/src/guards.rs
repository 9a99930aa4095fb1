//! `[guards]`: when a run goes in circles, and when its words are held against the record.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::shape;

/// What stops a model that goes in circles, or claims what it has not done.
///
/// A circle is first warned of, then blocked, then a person is asked. Calls that bring something new are no circle.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<GuardsConfig>)]
pub struct GuardsConfig {
    /// Whether circles are looked for.
    pub enabled: bool,
    /// The last tool calls that are looked at.
    #[schemars(range(min = 2, max = 100))]
    pub window_calls: u32,
    /// Identical calls among them, with nothing new, that are a circle.
    #[schemars(range(min = 2, max = 100))]
    pub identical_max: u32,
    /// Calls of one tool among them, with other arguments and nothing new, that are a circle.
    #[schemars(range(min = 2, max = 100))]
    pub pattern_max: u32,
    /// Similar calls of one tool in a row, with nothing new, that are a circle.
    #[schemars(range(min = 2, max = 100))]
    pub stall_max: u32,
    /// Whether a model that claims to have done something, although no tool did, is asked about it once before the reply
    /// is sent.
    pub check_claims: bool,
}

impl Default for GuardsConfig {
    fn default() -> Self {
        Self { enabled: true, window_calls: 6, identical_max: 3, pattern_max: 4, stall_max: 3, check_claims: true }
    }
}

impl GuardsConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let counted = [("identical_max", self.identical_max), ("pattern_max", self.pattern_max)];
        let extra_check = counted.into_iter().filter(|(_, max)| *max > self.window_calls).map(|(key, max)| {
            let why = format!("is {max}, expected at most window_calls, which is {}", self.window_calls);
            Finding::new(key, why, "lower it or raise window_calls").with("window_calls")
        });
        extra_check.collect()
    }
}
