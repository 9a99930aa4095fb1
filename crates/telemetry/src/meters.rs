//! What Hob counts of itself while it works, for `/metrics`: fed where things happen, read when somebody asks.
//!
//! Never: a word that anybody said, an id of a person or a chat, or a query.
//! Start at [`Meters`].

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;

use crate::metrics::{Counter, Family, Histogram};
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::lock::lock;

/// The way of an answer to a person, piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerStage {
    /// From the message's being taken in to its run's beginning.
    Queued,
    /// From there to the first word of a model.
    FirstToken,
    /// From there to the reply's being stored.
    Answered,
    /// From there to the platform's having it, for each chunk.
    Sent,
}

impl AnswerStage {
    /// Its name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::FirstToken => "first_token",
            Self::Answered => "answered",
            Self::Sent => "sent",
        }
    }
}

/// Everything that is counted in this process; it begins at nothing with each start.
#[derive(Debug)]
pub struct Meters {
    /// What was handed in: `channel`, `outcome`.
    pub messages: Family<Counter>,
    /// Runs that are over: `outcome`.
    pub runs: Family<Counter>,
    /// How long each stage took: `stage`.
    pub stages: Family<Histogram>,
    /// Calls of models: `model`, `outcome`.
    pub model_calls: Family<Counter>,
    /// How long they took: `model`.
    pub model_time: Family<Histogram>,
    /// Tokens: `model`, `kind`.
    pub tokens: Family<Counter>,
    /// Nano-dollars: `model`.
    pub cost: Family<Counter>,
    /// Calls of tools: `tool`, `outcome`.
    pub tool_calls: Family<Counter>,
    /// How long they took: `tool`.
    pub tool_time: Family<Histogram>,
    /// Attempts to deliver: `channel`, `outcome`.
    pub deliveries: Family<Counter>,
    /// How long recall took.
    pub recall: Histogram,
    /// Reloads of the config: `outcome`.
    pub reloads: Family<Counter>,
    /// When each account last sent something.
    sent_at: Mutex<BTreeMap<(ChannelKind, String), Timestamp>>,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            messages: Family::new(&["channel", "outcome"], Counter::default),
            runs: Family::new(&["outcome"], Counter::default),
            stages: Family::new(&["stage"], Histogram::slow),
            model_calls: Family::new(&["model", "outcome"], Counter::default),
            model_time: Family::new(&["model"], Histogram::slow),
            tokens: Family::new(&["model", "kind"], Counter::default),
            cost: Family::new(&["model"], Counter::default),
            tool_calls: Family::new(&["tool", "outcome"], Counter::default),
            tool_time: Family::new(&["tool"], Histogram::slow),
            deliveries: Family::new(&["channel", "outcome"], Counter::default),
            recall: Histogram::quick(),
            reloads: Family::new(&["outcome"], Counter::default),
            sent_at: Mutex::default(),
        }
    }
}

impl Meters {
    /// A stage of an answer took so long.
    pub fn stage(&self, stage: AnswerStage, took: Duration) {
        self.stages.of(&[stage.as_str()]).observe(took);
    }

    /// The config was reloaded, and this came of it: e.g. `applied`, `kept`.
    pub fn reloaded(&self, outcome: &str) {
        self.reloads.of(&[outcome]).inc();
    }

    /// An account sent something.
    pub fn sent(&self, kind: ChannelKind, account: &str, now: Timestamp) {
        let mut sent_at = lock(&self.sent_at);
        match sent_at.iter_mut().find(|((known, name), _)| *known == kind && name == account) {
            Some((_, at)) => *at = now,
            None => {
                sent_at.insert((kind, account.to_owned()), now);
            }
        }
    }

    /// When an account last sent something, since the start.
    pub fn sent_at(&self, kind: ChannelKind, account: &str) -> Option<Timestamp> {
        let sent_at = lock(&self.sent_at);
        sent_at.iter().find(|((known, name), _)| *known == kind && name == account).map(|(_, at)| *at)
    }
}
