//! What an owner chooses in the config and several parts go by.
//!
//! Never: a rule. What follows from a choice is with what carries it out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to a message that arrives while a run is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntakeMode {
    /// it waits for its turn
    #[default]
    Queue,
    /// the active run reads it at its next step
    Steer,
    /// the active run stops, the message starts the next
    Interrupt,
}

impl IntakeMode {
    /// The name in the config, the database and the chat.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
        }
    }

    /// It waits its turn instead of joining, if `keeps_out`.
    #[must_use]
    pub fn without_joining(self, keeps_out: bool) -> Self {
        if self == Self::Steer && keeps_out { Self::Queue } else { self }
    }

    /// The mode with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Queue, Self::Steer, Self::Interrupt].into_iter().find(|mode| mode.as_str() == name)
    }
}

/// Whether answers are spoken in a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VoiceMode {
    On,
    /// none
    Off,
    /// those to what was spoken
    #[default]
    Auto,
}

impl VoiceMode {
    /// The name in the database and the chat.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }

    /// The mode with this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::On, Self::Off, Self::Auto].into_iter().find(|mode| mode.as_str() == name)
    }
}

/// What is done when the window fills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContextStrategy {
    /// the older part becomes a summary
    #[default]
    Compact,
    /// the oldest messages are left out
    RollingWindow,
    /// a summary, a few times per task; then as rolling-window
    PeriodicSummary,
}

/// How much the model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// a little
    Low,
    /// as the provider recommends
    Medium,
    /// a lot
    High,
}
