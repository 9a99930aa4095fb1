//! `[agent]`: how a conversation runs.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{shape, zone};
use hob_core::domain::choices::IntakeMode;

/// How a conversation runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<AgentConfig>)]
pub struct AgentConfig {
    /// What the model is told before every conversation, instead of Hob's own words.
    #[schemars(length(min = 1, max = 100_000), example = &"You are the helper of our household.")]
    pub system_prompt: Option<String>,
    /// Who Hob is where nothing else says so: one of the personas. Without it: nobody in particular.
    #[schemars(length(min = 1, max = 64), example = &"cook")]
    pub persona: Option<String>,
    /// The modules whose tools a guest has where the persona does not choose any. Without it: all that have tools for
    /// guests; an empty list: none. What steers a run is always there.
    #[schemars(length(max = 100), inner(length(min = 1, max = 64)), example = &["time"])]
    pub default_guest_modules: Option<Vec<String>>,
    /// Model calls a run may make before it has to ask for more.
    #[schemars(range(min = 1, max = 1000))]
    pub iterations_max: u32,
    /// Model calls that are added each time the model asks for more.
    #[schemars(range(min = 1, max = 1000))]
    pub iterations_step: u32,
    /// Model calls a run can never exceed.
    #[schemars(range(min = 1, max = 1000))]
    pub iterations_cap: u32,
    /// Seconds after which a run is told to come to an end.
    #[schemars(range(min = 1, max = 86_400))]
    pub soft_limit_secs: u64,
    /// Seconds after which a run is ended.
    #[schemars(range(min = 1, max = 86_400))]
    pub hard_limit_secs: u64,
    /// Recent messages that the model sees.
    #[schemars(range(min = 1, max = 10_000))]
    pub history_messages_max: usize,
    /// Characters of the longest message that is taken in.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub message_chars_max: usize,
    /// Characters of a tool's output that the model sees; of more, the beginning and the end, and the rest on request.
    #[schemars(range(min = 100, max = 1_000_000))]
    pub tool_output_chars_max: usize,
    /// Milliseconds before a tool that failed in passing is run again, one wait for each time; only idempotent tools are.
    #[schemars(length(max = 10), inner(range(min = 0, max = 600_000)))]
    pub tool_retries_ms: Vec<u64>,
    /// What happens to a message that arrives while a run is active.
    pub queue_mode: IntakeMode,
    /// The household's time zone, by its IANA name. Without it: the machine's.
    #[schemars(length(min = 1, max = 100), example = &"Europe/Berlin")]
    pub time_zone: Option<String>,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            system_prompt: None,
            persona: None,
            default_guest_modules: None,
            iterations_max: 10,
            iterations_step: 10,
            iterations_cap: 25,
            soft_limit_secs: 900,
            hard_limit_secs: 1200,
            history_messages_max: 40,
            message_chars_max: 128_000,
            tool_output_chars_max: 8000,
            tool_retries_ms: vec![500, 2000, 8000],
            queue_mode: IntakeMode::default(),
            time_zone: None,
        }
    }
}

impl AgentConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if self.iterations_max > self.iterations_cap {
            let why = format!(
                "is {}, expected at most iterations_cap, which is {}",
                self.iterations_max, self.iterations_cap
            );
            found.push(Finding::new("iterations_max", why, "lower it or raise iterations_cap").with("iterations_cap"));
        }
        if self.soft_limit_secs >= self.hard_limit_secs {
            let why = format!(
                "is {}, expected less than hard_limit_secs, which is {}",
                self.soft_limit_secs, self.hard_limit_secs
            );
            let fix = "lower it or raise hard_limit_secs";
            found.push(Finding::new("soft_limit_secs", why, fix).with("hard_limit_secs"));
        }
        if let Some(name) = &self.time_zone
            && zone::named(name).is_err()
        {
            let why = "is not a time zone this machine knows, expected an IANA name";
            found.push(Finding::new("time_zone", why, "for example `time_zone = \"Europe/Berlin\"`"));
        }
        found
    }
}
