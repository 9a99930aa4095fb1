//! What a run begins with: everything that the world tells it before its first step. Stored in `run.begun`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::machine::compaction::PinnedResult;
use crate::machine::digest::Digest;
use crate::machine::notebook::Notebook;
use crate::machine::policy::Policy;
use hob_core::domain::ids::{FactId, MemoryId, MessageId};
use hob_core::domain::memory::RecallCause;
use hob_core::domain::origin::Taint;
use hob_core::domain::tools::ToolFacts;
use hob_model::price::Rates;

/// What the world tells a run when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// What the model will see besides the run's own transcript.
    pub context: RequestContext,
    /// The policy in force.
    pub limits: IterationLimits,
    /// The model to ask first, and those to fall back to.
    pub models: Vec<String>,
    /// The tools that are safe to run twice.
    pub idempotent_tools: Vec<String>,
    /// The edition of the machine's rules by which the run is decided, to its end; the first has no number.
    #[serde(default, skip_serializing_if = "crate::machine::is_default")]
    pub rules: RulesEdition,
    /// What the models cost, and how their tokens are counted.
    #[serde(default, skip_serializing_if = "crate::machine::is_default")]
    pub billing: Billing,
    /// The numbers and switches by which it is decided; none: the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    /// What is known of the tools on offer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolFacts>,
    /// The tools that the sender has allowed for good in this conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// The history that goes along, message by message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<PastMessage>,
    /// What is known of the room for it, and of what went before it.
    #[serde(default, skip_serializing_if = "crate::machine::is_default")]
    pub room: ContextBudget,
    /// Who Hob is in it (row C3); none: nobody in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<RunPersona>,
    /// The notes of the task before this one, which did not come to its end (row B12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebook: Option<Box<Notebook>>,
    /// What was recalled for it, in the order in which it stands in the context (row A4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<RecallRecord>,
    /// What nobody vouches for in all that (row N6): in what the run answers, in its history, in what was recalled.
    #[serde(default, skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// Whether one of its models sees pictures: what stands in those counts for read then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sees: bool,
    pub at: Timestamp,
}

/// A memory, a fact or an answer of Hob's that was put before the model, and why. No decision rests on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallRecord {
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryId>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<FactId>,
    /// The answer of Hob's.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<MessageId>,
    /// What brought it up.
    #[serde(rename = "by")]
    pub leg: RecallCause,
    /// How well it fits, in thousandths.
    #[serde(rename = "s")]
    pub score: i64,
    /// What each signal brought to that, in thousandths.
    #[serde(rename = "of", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, i64>,
    /// It contradicts what is known: the model was told to ask which is true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
}

impl RecallRecord {
    /// The part that words brought which it shares with the message.
    pub const WORDS: &str = "words";

    /// A fact, by itself.
    pub(crate) fn of_fact(fact: FactId, score: i64) -> Self {
        Self {
            memory: None,
            fact: Some(fact),
            answer: None,
            leg: RecallCause::Fact,
            score,
            parts: BTreeMap::new(),
            ask: false,
        }
    }

    /// Was it looked for, and not merely there in any case? Only that raises its importance.
    pub(crate) fn is_use(&self) -> bool {
        match self.leg {
            RecallCause::Relevance => true,
            RecallCause::Fact => self.parts.contains_key(Self::WORDS),
            RecallCause::Recency | RecallCause::Salience | RecallCause::Answer => false,
        }
    }
}

/// What a run's context is kept within its window by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextBudget {
    /// The sizes of what goes with every request.
    pub fixed: FixedTokens,
    /// What stands for the conversation before the history that goes along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedSummary>,
    /// The good results of tools in the history that goes along, each tool's in order (row B4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinnedResult>,
    /// The cheap model that sums up; its bill stands behind those of the run's models. None: the run's own does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summariser: Option<String>,
}

/// The tokens of what goes with every request, as counted here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedTokens {
    /// The system prompt.
    pub system: u64,
    /// The tools on offer.
    pub tools: u64,
    /// Time, facts and memories.
    pub tail: u64,
}

/// What a compaction of an earlier run left (row C7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedSummary {
    /// The summary.
    pub text: String,
    /// Messages between it and the history that goes along.
    pub left_out: u32,
}

/// Who Hob is in a run, as far as it matters after its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPersona {
    /// The persona's name.
    pub name: String,
    /// Tokens of a reply, at most; none: as the model's provider is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// A message of the history that goes along with a run, as far as its size and place matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastMessage {
    #[serde(rename = "r")]
    pub role: PastRole,
    /// Its tokens, as counted here.
    #[serde(rename = "t")]
    pub tokens: u64,
    /// Its ordinal in the conversation.
    #[serde(rename = "o")]
    pub ordinal: i64,
}

/// Whose a message of the history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PastRole {
    /// A person's.
    #[serde(rename = "u")]
    User,
    /// Hob's.
    #[serde(rename = "a")]
    Assistant,
    /// A tool's result.
    #[serde(rename = "t")]
    Tool,
}

/// What a run's models cost and how their tokens are counted, as known when it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Billing {
    /// For each of the run's models.
    pub models: Vec<ModelBill>,
    /// The context's size in tokens, as counted here.
    pub context_tokens: u64,
    /// The tokens of a reply that are set aside for each call.
    pub reply_tokens: u64,
}

/// One model's prices and measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelBill {
    /// What a million tokens cost; none: nobody knows.
    pub rates: Option<Rates>,
    /// The tokens that it counts for a thousand counted here (row B14).
    pub per_mille: u64,
    /// The tokens of its window; none: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// What is taken for that where nobody knows; none: `WINDOW_UNKNOWN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed: Option<u64>,
}

/// An edition of the machine's rules. A run keeps the one it began with, so that its journal replays as it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RulesEdition(pub u32);

impl RulesEdition {
    /// What one reply wants is one question with a list (row N16). Before it, each call had a question of its own.
    pub const LISTED: Self = Self(1);
    /// A link, an address or a long number in what a planned call says is asked about like what steers it (row N16). Before it, such a
    /// text could hold whatever was read.
    pub(crate) const LEADS: Self = Self(2);
    /// A call whose answer no reader has read counts as made, the answer to another question is news, and no source is lost where a
    /// taint is full (row N16).
    pub const MADE: Self = Self(3);
    /// A reply such as *I sent nothing* claims no deed (row E10).
    pub(crate) const NAUGHT: Self = Self(4);
    /// What can be taken back is graded lower (row N16).
    pub(crate) const UNDONE: Self = Self(5);
    /// What runs begin with now.
    pub(crate) const CURRENT: Self = Self::UNDONE;
}

/// The fixed part of every request of the run, by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestContext {
    /// The system prompt's stable core: a blob.
    pub system: Digest,
    /// The tools on offer: a blob.
    pub tools: Digest,
    /// Time, facts and memories that go before the current message: a blob.
    pub tail: Digest,
    /// The first ordinal of the conversation's history that is in the context.
    pub history_from: i64,
    /// The last one.
    pub history_through: i64,
    /// The size of all that, for estimates.
    pub chars: u64,
}

/// The run's numbers, as configured when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationLimits {
    /// Model calls that may ask for tools (row A6).
    pub iterations: u32,
    /// What `request_more_iterations` adds.
    pub iterations_step: u32,
    /// The most that can be reached.
    pub iterations_cap: u32,
}
