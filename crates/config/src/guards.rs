//! `[guards]`: when a run goes in circles, and when its words are held against the record.

use schemars::JsonSchema;
use serde::Deserialize;

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
    /// Whether a model that claims to have done something, although no tool did, is asked about it once before the reply
    /// is sent.
    pub check_claims: bool,
}

impl Default for GuardsConfig {
    fn default() -> Self {
        Self { enabled: true, check_claims: true }
    }
}
