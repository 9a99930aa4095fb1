//! The file that says what is to be otherwise.

use serde::Deserialize;

use crate::machine::policy::Policy;

/// What is to be otherwise, as a file says it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WhatIf {
    /// Numbers and switches of the policy; what is not named stays as it was recorded.
    pub policy: Option<toml::Table>,
    /// The run's limits.
    pub limits: LimitsChange,
    /// The models, in order.
    pub models: Vec<String>,
    /// The system prompt.
    pub system: Option<String>,
}

/// Other limits of a run; what is not named stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsChange {
    /// Model calls that may ask for tools (row A6).
    pub iterations: Option<u32>,
    /// What `request_more_iterations` adds.
    pub iterations_step: Option<u32>,
    /// The most that can be reached.
    pub iterations_cap: Option<u32>,
}

/// The same shape with the policy's own type: it knows the keys, and the parser knows the lines.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WhatIfSchema {
    #[serde(rename = "policy")]
    _policy: Policy,
    #[serde(rename = "limits")]
    _limits: LimitsChange,
    #[serde(rename = "models")]
    _models: Vec<String>,
    #[serde(rename = "system")]
    _system: Option<String>,
}

impl WhatIf {
    /// Reads what a file says.
    ///
    /// # Errors
    /// What is wrong with it, with the line and the key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let said = |error: toml::de::Error| error.to_string();
        toml::from_str::<WhatIfSchema>(text).map_err(said)?;
        let what: Self = toml::from_str(text).map_err(said)?;
        if what == Self::default() {
            return Err(
                "it changes nothing: it may hold [policy.guards] and the other tables of the policy, [limits], \
                        `models` and `system`"
                    .to_owned(),
            );
        }
        Ok(what)
    }
}
