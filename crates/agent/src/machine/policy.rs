//! The numbers and switches by which a run is decided. `run.begun` records them; `hob replay --what-if` puts others in their place.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use hob_core::domain::choices::ContextStrategy;
use hob_core::domain::money::Money;

/// The policy of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// When a run goes in circles (rows B2, B3, E6, A11).
    pub guards: GuardPolicy,
    /// How the context is kept within the model's window (rows B4, B5, D3, E8, E11).
    pub context: ContextPolicy,
    /// What is told agrees with what was done (row E10).
    pub truth: TruthPolicy,
    /// How tools are run (rows B1, E9).
    pub tools: ToolPolicy,
    /// A loop that the persona declares (rows D1, D2, D7); none: the usual one.
    pub declared: Option<DeclaredLoop>,
    /// What the run may cost, with all that it starts; none: no more than the household's budgets say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_usd: Option<Money>,
}

/// When a run goes in circles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardPolicy {
    /// Whether circles are looked for at all.
    pub enabled: bool,
    /// So many of the last calls are looked at (row B2).
    pub window_calls: u32,
    /// So many identical ones among them are a circle (row B2).
    pub identical_max: u32,
    /// So many of one tool, with other arguments and nothing new in their results, are one (row B2).
    pub pattern_max: u32,
    /// So many similar calls of one tool in a row are a stall (row A11).
    pub stall_max: u32,
    /// So many calls that swing between two tools, with nothing new, are a circle.
    pub ping_pong_max: u32,
    /// The same words so often are a circle (row A11).
    pub replies_max: u32,
}

impl Default for GuardPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            window_calls: 6,
            identical_max: 3,
            pattern_max: 4,
            stall_max: 3,
            ping_pong_max: 6,
            replies_max: 3,
        }
    }
}

/// How the context is kept within the model's window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextPolicy {
    /// What is done when it fills.
    pub strategy: ContextStrategy,
    /// Thousandths of the window at which `compact` begins (row B4).
    pub compact_at_per_mille: u64,
    /// Thousandths of the window at which `rolling-window` and `periodic-summary` begin (row D3).
    pub roll_at_per_mille: u64,
    /// The last messages that stay as they are (row B4).
    pub keep_messages: u32,
    /// The same, when the context is pruned deeply (row B5).
    pub prune_keep_messages: u32,
    /// Recoveries in one run, at most (row B5).
    pub recoveries_max: u32,
    /// A recovery within so many iterations of the last goes a step further (row B5).
    pub recovery_span: u32,
    /// Summaries of `periodic-summary` in one run, at most (row D3).
    pub summaries_max: u32,
    /// The tokens of the window where the model's own is not known, or is to be smaller.
    pub window_tokens: Option<u64>,
    /// How long a summary may take, in seconds.
    pub summary_secs: u64,
}

impl Default for ContextPolicy {
    fn default() -> Self {
        Self {
            strategy: ContextStrategy::Compact,
            compact_at_per_mille: 700,
            roll_at_per_mille: 800,
            keep_messages: 10,
            prune_keep_messages: 4,
            recoveries_max: 4,
            recovery_span: 20,
            summaries_max: 3,
            window_tokens: None,
            summary_secs: 60,
        }
    }
}

/// What is told agrees with what was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TruthPolicy {
    /// Whether a claim of a deed that no tool did is asked about, once.
    pub ask_again: bool,
}

impl Default for TruthPolicy {
    fn default() -> Self {
        Self { ask_again: true }
    }
}

/// How tools are run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolPolicy {
    /// The waits, in milliseconds, before an idempotent tool that failed in passing is run again (row B1).
    pub retries_ms: Vec<u64>,
    /// How long an approval may be given, in seconds.
    pub approval_secs: u64,
    /// How long agents are waited for, in seconds; 0: without end (row E3).
    #[serde(skip_serializing_if = "ToolPolicy::is_usual_wait")]
    pub agent_secs: u64,
    /// Which calls a person approves in any case.
    #[serde(skip_serializing_if = "crate::machine::is_default")]
    pub gate: GatePolicy,
}

/// Which calls a person approves each time, as the persona declares (row D6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatePolicy {
    /// Each call of these tools is.
    pub always: bool,
    /// Of which tools; empty: of all, where a call does more than look.
    pub tools: BTreeSet<String>,
    /// Each call that may change one of these files or folders is.
    pub protected_paths: Vec<String>,
}

impl ToolPolicy {
    /// So long agents are waited for, unless it is said otherwise.
    const AGENT_SECS: u64 = 600;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
    fn is_usual_wait(secs: &u64) -> bool {
        *secs == Self::AGENT_SECS
    }
}

impl Default for ToolPolicy {
    fn default() -> Self {
        Self {
            retries_ms: vec![500, 2_000, 8_000],
            approval_secs: 300,
            agent_secs: Self::AGENT_SECS,
            gate: GatePolicy::default(),
        }
    }
}

/// A loop as a persona declares it (row D1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredLoop {
    /// Model calls, at most.
    pub max_cycles: u32,
    /// What ends it, in order (row D2).
    pub terminate: Vec<Termination>,
}

/// What ends a declared loop (row D2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "when", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Termination {
    /// The model's words hold these.
    TextIncludes { text: String },
    ToolResult {
        /// Of this tool; none: any.
        tool: Option<String>,
        /// It ended with this code.
        exit_code: Option<i32>,
        /// It holds these words.
        contains: Option<String>,
    },
    /// The money is spent that the run may cost.
    BudgetExhausted,
}
