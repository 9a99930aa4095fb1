//! What can happen to a run. This encoding is stored for years: change it only by adding, and see `agent::journal`.

use serde::{Deserialize, Serialize};

use crate::machine::accepted_input::{AcceptedInput, SteeringMessage};
use crate::machine::agents::ChildEnd;
use crate::machine::digest::Digest;
use crate::machine::note::{Compaction, DeclaredEnd, Detection, Escalation, Recovery, ToolRetry, UnfoundedClaim};
use crate::machine::question::{Answer, Question};
use crate::machine::run_start::RunStart;
use crate::machine::stop::{BudgetStop, CancelReason, QuotaStop};
use hob_core::domain::agents::Mission;
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::domain::elicitation::Elicitation;
use hob_core::domain::ids::{CallId, RunId, UserId};
use hob_core::domain::notebook::NotebookChange;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::outgoing::DeliveryRequest;
use hob_core::domain::tools::Assessment;
use hob_core::domain::undo::UndoOffer;
use hob_model::error::ErrorClass;
use hob_model::message::{Completion, Pictures, Usage};

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body")]
pub enum Event {
    /// A message was accepted and waits in its lane.
    #[serde(rename = "input.accepted")]
    Accepted(AcceptedInput),
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
    Begun(Box<RunStart>),
    /// A message that came meanwhile joins this run at its next safe boundary.
    #[serde(rename = "input.steered")]
    Steered(SteeringMessage),
    /// A model call is about to be made.
    #[serde(rename = "model.asked")]
    ModelAsked {
        /// What is asked, by hash.
        digest: Digest,
        model: String,
        /// The tokens it will read, estimated: what it costs if its outcome is lost.
        input_estimate: u64,
    },
    /// The model replied.
    #[serde(rename = "model.answered")]
    ModelAnswered(Completion),
    /// What is known of the calls of the reply that comes next, in their order, before any is made (row N6).
    #[serde(rename = "calls.assessed")]
    Assessed { calls: Vec<Assessment> },
    /// What is known of a call that is about to start, as things stand now.
    #[serde(rename = "call.assessed")]
    Looked {
        call: CallId,
        /// What its tool says of it.
        known: Assessment,
    },
    /// The model call failed.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// By what one does about it.
        class: ErrorClass,
        /// What the provider said.
        message: String,
        /// The wait it asked for, in milliseconds.
        retry_after_ms: Option<u64>,
        /// Whether pictures were shown to the model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pictures: bool,
    },
    /// A tool is about to be run.
    #[serde(rename = "tool.started")]
    ToolStarted {
        call: CallId,
        /// Which tool.
        name: String,
        /// 1 for the first time.
        attempt: u32,
    },
    /// A tool is done.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        call: CallId,
        outcome: ToolOutcome,
        /// Where its words come from, if nobody vouches for them (row N6).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<OriginSource>,
        /// What the run's draft of the workspace held when somebody looked after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draft: Option<Box<WorkspaceDraft>>,
        /// The call that takes its effect back, all of it known, and until when (row N16).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undo: Option<Box<UndoOffer>>,
    },
    /// An agent is done.
    #[serde(rename = "child.ended")]
    ChildEnded(Box<ChildEnd>),
    /// The run is about to wait for a person.
    #[serde(rename = "human.asked")]
    HumanAsked(Question),
    /// A person answered.
    #[serde(rename = "human.answered")]
    HumanAnswered(Answer),
    /// Nobody answered in time.
    #[serde(rename = "human.expired")]
    Expired {
        /// Which of the run's questions.
        question: u32,
    },
    /// Somebody, or a limit, wants the run to end.
    #[serde(rename = "cancel.requested")]
    CancelRequested(CancelReason),
    /// What was allowed for good is not allowed any more (row D6).
    #[serde(rename = "grant.revoked")]
    GrantRevoked { tool: String },
    /// Somebody wants the run to stand still.
    #[serde(rename = "pause.requested")]
    PauseRequested { by: UserId },
    /// Somebody wants it to go on.
    #[serde(rename = "pause.lifted")]
    PauseLifted { by: UserId },
    /// Somebody wants the older part of the context summed up (`/compact`).
    #[serde(rename = "compaction.requested")]
    CompactRequested { by: UserId },
    /// A summary of the older part is about to be asked for.
    #[serde(rename = "summary.asked")]
    SummaryAsked {
        /// What is asked, by hash.
        digest: Digest,
        model: String,
        /// The tokens it will read, estimated.
        input_estimate: u64,
    },
    /// The summary came.
    #[serde(rename = "summary.made")]
    SummaryMade {
        /// Its words, without secrets.
        text: String,
        /// What it took.
        usage: Usage,
    },
    /// No summary came, or came in time.
    #[serde(rename = "summary.failed")]
    SummaryFailed {
        why: String,
        /// It was asked for and did not come in time: nobody learns what it cost.
        late: bool,
    },
    /// A quota that the next model call would overrun (row E15).
    #[serde(rename = "limit.quota")]
    QuotaReached(QuotaStop),
    /// A tool that failed in passing is run again.
    #[serde(rename = "agent.tool.retry")]
    ToolRetried(ToolRetry),
    /// A guard saw a circle.
    #[serde(rename = "agent.loop.detected")]
    LoopDetected(Detection),
    /// A guard went a step further.
    #[serde(rename = "agent.guardrail.escalated")]
    Escalated(Escalation),
    /// A deed was claimed that no tool did.
    #[serde(rename = "agent.phantom.caught")]
    PhantomCaught(UnfoundedClaim),
    /// The older part of the context was put away.
    #[serde(rename = "agent.compaction.run")]
    Compacted(Compaction),
    /// A full window was recovered from.
    #[serde(rename = "agent.recovery.fired")]
    RecoveryFired(Recovery),
    /// The soft limit brought the last turn.
    #[serde(rename = "agent.exhaustion.soft")]
    SoftExhausted,
    /// A declared loop came to its declared end.
    #[serde(rename = "agent.loop.terminated")]
    Terminated(DeclaredEnd),
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
    Replied(RunReply),
    #[serde(rename = "run.ended")]
    Ended(RunEnd),
}

impl Event {
    /// The stored name of its kind.
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
            Self::Assessed { .. } => "calls.assessed",
            Self::Looked { .. } => "call.assessed",
            Self::ModelFailed { .. } => "model.failed",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolFinished { .. } => "tool.finished",
            Self::ChildEnded(_) => "child.ended",
            Self::HumanAsked(_) => "human.asked",
            Self::HumanAnswered(_) => "human.answered",
            Self::Expired { .. } => "human.expired",
            Self::CancelRequested(_) => "cancel.requested",
            Self::GrantRevoked { .. } => "grant.revoked",
            Self::PauseRequested { .. } => "pause.requested",
            Self::PauseLifted { .. } => "pause.lifted",
            Self::CompactRequested { .. } => "compaction.requested",
            Self::SummaryAsked { .. } => "summary.asked",
            Self::SummaryMade { .. } => "summary.made",
            Self::SummaryFailed { .. } => "summary.failed",
            Self::QuotaReached(_) => "limit.quota",
            Self::ToolRetried(_) => "agent.tool.retry",
            Self::LoopDetected(_) => "agent.loop.detected",
            Self::Escalated(_) => "agent.guardrail.escalated",
            Self::PhantomCaught(_) => "agent.phantom.caught",
            Self::Compacted(_) => "agent.compaction.run",
            Self::RecoveryFired(_) => "agent.recovery.fired",
            Self::SoftExhausted => "agent.exhaustion.soft",
            Self::Terminated(_) => "agent.loop.terminated",
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
    pub fn is_start_record(&self) -> bool {
        matches!(
            self,
            Self::ModelAsked { .. }
                | Self::ToolStarted { .. }
                | Self::HumanAsked(_)
                | Self::SummaryAsked { .. }
                | Self::Replied(_)
                | Self::Ended(_)
        ) || self.is_note()
    }

    /// Does it record what the machine saw or decided, with nothing to be performed for it (row B13)?
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Self::ToolRetried(_)
                | Self::LoopDetected(_)
                | Self::Escalated(_)
                | Self::PhantomCaught(_)
                | Self::Compacted(_)
                | Self::RecoveryFired(_)
                | Self::SoftExhausted
                | Self::Terminated(_)
        )
    }
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ToolOutcome {
    /// Words for the model.
    Text {
        text: String,
        /// Whether it failed (row D5).
        is_error: bool,
    },
    /// Words for the model, and pictures that it is shown (row C6).
    Seen {
        text: String,
        /// Whether it failed.
        is_error: bool,
        pictures: Pictures,
    },
    /// A command ended; any code but 0 is a failure.
    Exited {
        /// Its output.
        text: String,
        code: i32,
    },
    /// It failed in a way that may pass by itself: a timeout, a refused connection, 429, 5xx (row B1).
    Transient { text: String },
    /// It was not let through (rows D6, E7, E15).
    Denied {
        /// Why, in words for the model.
        reason: String,
    },
    /// It reads or changes the run's journal (row B12).
    Notebook { change: NotebookChange },
    /// It plans what the call names (row N16).
    Plan,
    /// It asks for a larger budget (row A6).
    MoreIterations { reason: String },
    /// It asks a person (row B15).
    Ask {
        question: String,
        /// A tool's server asks it, for a call that goes on with the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Box<Elicitation>>,
    },
    /// It wants something delivered: that is queued with this very record, once.
    Deliver { delivery: DeliveryRequest },
    /// It hands a task on to an agent.
    Spawn {
        /// What that is told.
        mission: Mission,
    },
    /// It says something to an agent that is at work, and waits for its report.
    Tell {
        /// The agent's number.
        agent: u32,
        text: String,
    },
    /// It was stopped before its end; it may have had a part of its effect.
    Interrupted,
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
pub enum RunReply {
    /// The model's answer.
    Answer { text: String },
    /// Hob's own words about what went wrong.
    Notice { text: String },
    /// The model chose to say nothing (row E13).
    Silence,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum RunEnd {
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
