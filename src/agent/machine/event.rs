//! What can happen to a run. This encoding is stored for years: change it only by adding, and see `agent::journal`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::machine::digest::Digest;
use crate::domain::ids::{CallId, InboundId, RunId, UserId};
use crate::domain::money::Money;
use crate::domain::outgoing::Destination;
use crate::domain::principal::Principal;
use crate::model::error::ErrorClass;
use crate::model::message::Completion;
use crate::model::price::Rates;
use crate::policy::budget::Scope;

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body")]
pub enum Event {
    /// A message was accepted and waits in its lane.
    #[serde(rename = "input.accepted")]
    Accepted(Accepted),
    /// The waiting message was edited on its platform.
    #[serde(rename = "input.edited")]
    Edited {
        /// Its new text.
        text: String,
    },
    /// The waiting message was deleted, or dropped from the queue.
    #[serde(rename = "input.withdrawn")]
    Withdrawn,
    /// The waiting message was joined to a running run of its session.
    #[serde(rename = "input.joined")]
    Joined {
        /// The run that took it.
        run: RunId,
    },
    /// The run got the lane.
    #[serde(rename = "run.begun")]
    Begun(Box<Begun>),
    /// A message that came meanwhile joins this run at its next safe boundary.
    #[serde(rename = "input.steered")]
    Steered(Steered),
    /// A model call is about to be made.
    #[serde(rename = "model.asked")]
    ModelAsked {
        /// What is asked, by hash.
        digest: Digest,
        /// Whom.
        model: String,
        /// The tokens it will read, estimated: what it costs if its outcome is lost.
        input_estimate: u64,
    },
    /// The model replied.
    #[serde(rename = "model.answered")]
    ModelAnswered(Completion),
    /// The model call failed.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// By what one does about it.
        class: ErrorClass,
        /// What the provider said.
        message: String,
        /// The wait it asked for, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// A tool is about to be run.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// Which call.
        call: CallId,
        /// Which tool.
        name: String,
        /// 1 for the first time.
        attempt: u32,
    },
    /// A tool is done.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        /// Which call.
        call: CallId,
        /// What came of it.
        outcome: ToolOutcome,
    },
    /// The run is about to wait for a person.
    #[serde(rename = "human.asked")]
    HumanAsked(Question),
    /// A person answered.
    #[serde(rename = "human.answered")]
    HumanAnswered(Answer),
    /// Somebody, or a limit, wants the run to end.
    #[serde(rename = "cancel.requested")]
    CancelRequested(CancelReason),
    /// The next model call does not fit a budget (row N10).
    #[serde(rename = "limit.budget")]
    BudgetReached(BudgetStop),
    /// The soft limit (row B6) has passed.
    #[serde(rename = "limit.soft")]
    SoftLimit,
    /// The daemon is stopping in good order.
    #[serde(rename = "run.suspended")]
    Suspended,
    /// A process took the run up again.
    #[serde(rename = "run.resumed")]
    Resumed {
        /// The hash of the system prompt that this process would use.
        system: Digest,
    },
    /// The journal did not replay to the same effects (row B11).
    #[serde(rename = "run.mismatch")]
    Mismatched(JournalMismatch),
    /// The code that drove the run panicked.
    #[serde(rename = "run.panicked")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// Hob's words to the person, about to be delivered.
    #[serde(rename = "reply.made")]
    Replied(Reply),
    /// The run is over.
    #[serde(rename = "run.ended")]
    Ended(End),
}

impl Event {
    /// The stored name of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "input.accepted",
            Self::Edited { .. } => "input.edited",
            Self::Withdrawn => "input.withdrawn",
            Self::Joined { .. } => "input.joined",
            Self::Begun(_) => "run.begun",
            Self::Steered(_) => "input.steered",
            Self::ModelAsked { .. } => "model.asked",
            Self::ModelAnswered(_) => "model.answered",
            Self::ModelFailed { .. } => "model.failed",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolFinished { .. } => "tool.finished",
            Self::HumanAsked(_) => "human.asked",
            Self::HumanAnswered(_) => "human.answered",
            Self::CancelRequested(_) => "cancel.requested",
            Self::BudgetReached(_) => "limit.budget",
            Self::SoftLimit => "limit.soft",
            Self::Suspended => "run.suspended",
            Self::Resumed { .. } => "run.resumed",
            Self::Mismatched(_) => "run.mismatch",
            Self::Panicked { .. } => "run.panicked",
            Self::Replied(_) => "reply.made",
            Self::Ended(_) => "run.ended",
        }
    }

    /// Is this the record that an effect is started? Such events are derived by the machine, never by the world.
    #[must_use]
    pub fn is_start_record(&self) -> bool {
        matches!(
            self,
            Self::ModelAsked { .. }
                | Self::ToolStarted { .. }
                | Self::HumanAsked(_)
                | Self::Replied(_)
                | Self::Ended(_)
        )
    }
}

/// An accepted message: with it a run comes to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The message's row.
    pub inbound: InboundId,
    /// Who speaks, and with which authority (row N4).
    pub principal: Principal,
    /// Where the answer goes.
    pub destination: Destination,
    /// The words.
    pub text: String,
}

/// What the world tells a run when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// What the model will see besides the run's own transcript.
    pub context: Context,
    /// The policy in force.
    pub limits: Limits,
    /// The model to ask first, and those to fall back to.
    pub models: Vec<String>,
    /// The tools that are safe to run twice.
    pub idempotent_tools: Vec<String>,
    /// The edition of the machine's rules by which the run is decided, to its end; the first had no number.
    #[serde(default, skip_serializing_if = "Rules::is_first")]
    pub rules: Rules,
    /// What the models cost, and how their tokens are counted.
    #[serde(default, skip_serializing_if = "Billing::is_unknown")]
    pub billing: Billing,
    /// When.
    pub at: Timestamp,
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

impl Billing {
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// One model's prices and measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelBill {
    /// What a million tokens cost; none: nobody knows.
    pub rates: Option<Rates>,
    /// The tokens that it counts for a thousand counted here (row B14).
    pub per_mille: u64,
}

/// A budget that the next model call would overrun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetStop {
    /// Which.
    pub scope: Scope,
    /// How much it is.
    pub cap: Money,
    /// How much of it is used or set aside.
    pub used: Money,
    /// When it begins anew, in words; none: with the next message.
    pub resets: Option<String>,
}

/// An edition of the machine's rules. A run keeps the one it began with, so that its journal replays as it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules(pub u32);

impl Rules {
    /// What runs begin with now.
    pub const CURRENT: Self = Self::SECOND;
    /// A failing model is dealt with by rows A7 and E2 together, and a reply that was cut off goes on (row E4).
    pub const SECOND: Self = Self(1);

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
    fn is_first(&self) -> bool {
        *self == Self::default()
    }
}

/// The fixed part of every request of the run, by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
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
pub struct Limits {
    /// Model calls that may ask for tools (row A6).
    pub iterations: u32,
    /// What `request_more_iterations` adds.
    pub iterations_step: u32,
    /// The most that can be reached.
    pub iterations_cap: u32,
}

/// A message that joined a run on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steered {
    /// The run that the message would have had for itself.
    pub run: RunId,
    /// Who said it.
    pub principal: Principal,
    /// The words.
    pub text: String,
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ToolOutcome {
    /// Words for the model.
    Text {
        /// The words.
        text: String,
        /// Whether it failed (row D5).
        is_error: bool,
    },
    /// It asks for a larger budget (row A6).
    MoreIterations {
        /// Why.
        reason: String,
    },
    /// It asks a person (row B15).
    Ask {
        /// What.
        question: String,
    },
    /// It was stopped before its end; it may have had a part of its effect.
    Interrupted,
}

/// Why a run waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Question {
    /// The model asks (row B15).
    Asked {
        /// The call that asks.
        call: CallId,
        /// The question.
        text: String,
    },
    /// A call with side effects was under way when the process died (row B10).
    UnsafeCall {
        /// The call.
        call: CallId,
        /// Its tool.
        name: String,
        /// Its arguments.
        arguments: String,
    },
    /// The system prompt is not the one the run began with (row B11).
    PromptChanged {
        /// The hash of the one in use now.
        system: Digest,
    },
    /// The journal does not replay to the same effects (row B11).
    Mismatch(JournalMismatch),
    /// The process died three times at this step.
    CrashLoop,
}

/// A person's answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Who.
    pub by: UserId,
    /// Their words, or a button's.
    pub text: String,
    /// The question that a button belongs to; words answer the open one.
    pub question: Option<u32>,
}

/// Who or what ends a run before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CancelReason {
    /// `/stop`.
    Stopped {
        /// By whom.
        by: UserId,
    },
    /// A newer message, in mode `interrupt`.
    Interrupted {
        /// By whom.
        by: UserId,
    },
    /// The hard limit (row B6).
    HardLimit,
}

/// The recorded effects are not those that the machine derives now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("event {seq} of the journal should be {expected} but is {actual}")]
pub struct JournalMismatch {
    /// The event's number.
    pub seq: i64,
    /// What the machine derives.
    pub expected: String,
    /// What is recorded.
    pub actual: String,
}

/// Hob's words at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Reply {
    /// The model's answer.
    Answer {
        /// The words.
        text: String,
    },
    /// Hob's own words about what went wrong.
    Notice {
        /// The words.
        text: String,
    },
    /// The model chose to say nothing (row E13).
    Silence,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum End {
    /// Answered, or deliberately silent.
    Completed,
    /// Somebody ended it.
    Cancelled,
    /// A person gave it up.
    GivenUp,
    /// The message was taken back before its turn.
    Withdrawn,
    /// Another run took the message.
    Joined,
    /// It could not be done.
    Failed {
        /// Why, in a word: an error class, `hard_limit`, `panic`.
        why: String,
    },
}
