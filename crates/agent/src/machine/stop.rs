//! What ends a run before its time, as its journal has it.

use serde::{Deserialize, Serialize};

use hob_core::domain::ids::UserId;
use hob_core::domain::money::Money;
use hob_core::policy::budget::CapScope;

/// A budget that the next model call would overrun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetStop {
    pub scope: CapScope,
    /// How much it is.
    pub cap: Money,
    /// How much of it is used or set aside.
    pub used: Money,
    /// When it begins anew, in words; none: with the next message.
    pub resets: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
}

/// A cap on tokens that the next model call would overrun (rows C2, E15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaStop {
    /// Whose or what it is, in words.
    pub name: String,
    /// The key in config.toml.
    pub key: String,
    /// How many tokens it is.
    pub cap: u64,
    pub used: u64,
    /// When it begins anew, in words.
    pub resets: String,
    /// Whose tokens they are.
    #[serde(default, skip_serializing_if = "crate::machine::is_default")]
    pub whose: QuotaScope,
}

/// Whose tokens a cap is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaScope {
    /// The person's who asks.
    #[default]
    Person,
    /// Everybody's.
    House,
    /// Those of a persona, whoever asks it.
    Persona(String),
}

/// Who or what ends a run before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CancelReason {
    /// `/stop`.
    Stopped { by: UserId },
    /// `/stop now`: not even an effect that is under way is waited for.
    StoppedNow { by: UserId },
    /// A newer message, in mode `interrupt`.
    Interrupted { by: UserId },
    /// The hard limit (row B6).
    HardLimit,
    /// `/reset`: what it said is no part of the new conversation.
    Reset { by: UserId },
}

impl CancelReason {
    /// Is what has an effect cut off as well? Otherwise it ends by itself, or at its timeout: half an effect helps nobody.
    pub(crate) fn is_at_once(self) -> bool {
        match self {
            Self::StoppedNow { .. } | Self::HardLimit | Self::Reset { .. } => true,
            Self::Stopped { .. } | Self::Interrupted { .. } => false,
        }
    }
}
