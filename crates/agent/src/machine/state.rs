//! What is true of a run now: nothing but the fold of its events.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::machine::accepted_input::{AcceptedInput, RunKind, SteeringMessage};
use crate::machine::batch::Batch;
use crate::machine::claims::ClaimCheck;
use crate::machine::compaction::{self, CompactionState, ContextView};
use crate::machine::detached_agents::DetachedAgents;
use crate::machine::digest::Digest;
use crate::machine::effect::{ModelCall, ModelCallPurpose};
use crate::machine::event::RunEnd;
use crate::machine::fingerprint;
use crate::machine::guards::circle_detector::CircleDetector;
use crate::machine::ledger::Ledger;
use crate::machine::message_context;
use crate::machine::notebook::Notebook;
use crate::machine::plan::RunPlan;
use crate::machine::policy::Policy;
use crate::machine::question::Question;
use crate::machine::run_start::{
    Billing, ContextBudget, IterationLimits, PastMessage, RequestContext, RulesEdition, RunPersona, RunStart,
};
use crate::machine::status::Status;
use crate::machine::stop::{BudgetStop, CancelReason, QuotaStop};
use crate::machine::transcript::Transcript;
use crate::machine::undo::UndoState;
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::domain::ids::UserId;
use hob_core::domain::money::Money;
use hob_core::domain::origin::Taint;
use hob_core::domain::tools::{Assessment, ToolFacts};
use hob_model::error::ErrorClass;
use hob_model::message::{Message, ReplyPart, Usage};

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each lane at work: a box would save nothing that counts"
)]
#[serde(tag = "is", content = "of", rename_all = "snake_case")]
pub enum State {
    /// Nothing has happened yet.
    Empty,
    /// Accepted, and waiting for the lane.
    Queued(AcceptedInput),
    /// It has, or had, the lane.
    Active(Box<ActiveState>),
    /// Over before it got the lane.
    Closed(RunEnd),
}

/// A run that has begun. Every field has a form for [`fingerprint`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActiveState {
    /// What it answers.
    pub input: AcceptedInput,
    /// The fixed part of its requests.
    pub context: RequestContext,
    /// Its numbers; `iterations` grows by request.
    pub limits: IterationLimits,
    /// Whom to ask.
    pub models: Vec<String>,
    /// The one asked now.
    pub model: usize,
    /// What may be run twice.
    pub idempotent: BTreeSet<String>,
    /// What is known of the tools.
    pub tools: BTreeMap<String, ToolFacts>,
    /// What needs no approval any more, in the words in which it was granted.
    pub granted: BTreeSet<String>,
    /// What is known of the calls of the reply that comes next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assessed: Vec<Assessment>,
    /// What it has read that nobody vouches for (row N6).
    #[serde(skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// Whether one of its models sees pictures.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sees: bool,
    /// Which of its models have refused its pictures.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub blind: BTreeSet<usize>,
    /// What it has read of that, by its hash.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub read: BTreeSet<Digest>,
    /// The tools that it may call all the same, until it reads something new, and the cycle in which somebody said so: the
    /// calls of later ones are meant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub excused: BTreeMap<String, u32>,
    /// How often it, or an agent that worked for it, looked at which site unasked since it read what nobody vouches for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reached: BTreeMap<String, u32>,
    /// What it planned while it was clean, and what was done of that (row N16).
    #[serde(skip_serializing_if = "RunPlan::is_none")]
    pub intent: RunPlan,
    /// What of its effects can be taken back.
    #[serde(skip_serializing_if = "crate::machine::is_default")]
    pub undo: UndoState,
    /// What it has changed in its draft of the workspace, and nobody has settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Box<WorkspaceDraft>>,
    /// How many drafts were settled; the next one's number.
    pub drafts: u32,
    /// The numbers and switches it goes by.
    #[serde(serialize_with = "fingerprint::policy")]
    pub policy: Policy,
    /// The history that goes along, message by message.
    pub past: Vec<PastMessage>,
    /// The room for it, and what went before it.
    pub room: ContextBudget,
    /// What of the history and the transcript is shown.
    pub view: ContextView,
    /// What was done to keep it within the window.
    pub(crate) course: CompactionState,
    /// Who Hob is in it.
    pub persona: Option<RunPersona>,
    /// What was said in it.
    #[serde(serialize_with = "fingerprint::transcript")]
    pub transcript: Transcript,
    /// Replies of the model so far.
    pub cycles: u32,
    /// Of those, how many wanted tools.
    pub iterations: u32,
    /// Tokens of all its model calls.
    pub usage: Usage,
    /// What they cost, as far as prices are known.
    pub cost: Money,
    /// What its models cost, and how they count.
    pub billing: Billing,
    /// A budget that the next model call would overrun.
    pub budget: Option<BudgetStop>,
    /// A quota that the next model call would overrun.
    pub quota: Option<QuotaStop>,
    /// Messages that join at the next boundary.
    pub steering: Vec<SteeringMessage>,
    /// The soft limit has passed.
    pub soft_limit: bool,
    /// Somebody wants it to end.
    pub cancel: Option<CancelReason>,
    /// Somebody wants it to stand still at its next safe boundary.
    pub pause: Option<UserId>,
    /// The edition of the rules it goes by.
    pub rules: RulesEdition,
    /// A reply that was cut off and is being continued (row E4).
    pub unfinished: PartialReply,
    /// What the model sealed with its last words: it goes into the history with them.
    pub sealed: Vec<ReplyPart>,
    /// Why the model that was to answer did not, while that matters.
    pub failure: Option<ModelFailure>,
    /// Whether it goes in circles (rows A11, B2, B3).
    pub guard: CircleDetector,
    /// What its tools changed, and what they did not.
    pub ledger: Ledger,
    /// Whether its last word has been held against the record (row E10).
    #[serde(skip_serializing_if = "crate::machine::is_default")]
    pub truth: ClaimCheck,
    /// The system prompt's hash that the run is known to go on with.
    pub(crate) system_seen: Digest,
    /// How often the process died since something new was learnt.
    pub(crate) crashes: u32,
    /// The daemon stopped in good order: the next resumption follows no crash.
    pub suspended: bool,
    /// How many questions were asked; the last one's number.
    pub questions: u32,
    /// How often the open one was put again because nobody answered.
    #[serde(skip_serializing_if = "crate::machine::is_default")]
    pub reminders: u32,
    /// What it noted for itself (row B12).
    pub notebook: Notebook,
    /// What its agents cost that are done.
    #[serde(skip_serializing_if = "crate::machine::is_default")]
    pub(crate) agents_cost: Money,
    /// Agents that are at work and whose calls were given back.
    #[serde(skip_serializing_if = "DetachedAgents::is_empty")]
    pub(crate) long_agents: DetachedAgents,
    /// Why the model was asked for its last turn, if it was: what follows completes nothing.
    pub(crate) last_turn: Option<ModelCallPurpose>,
    /// How often it spoke to a person.
    pub told: u32,
    /// Where it stands.
    pub phase: Phase,
}

/// A model that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelFailure {
    /// What one does about it.
    pub class: ErrorClass,
    /// What the provider said.
    pub message: String,
}

/// What there is of a reply that the output limit cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PartialReply {
    /// The words so far; they are in the transcript.
    pub text: String,
    /// How often it was continued.
    pub times: u32,
}

/// Where an active run stands, with what is true only there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "is", content = "of", rename_all = "snake_case")]
pub enum Phase {
    /// The model is asked.
    Calling(ModelCall),
    /// Tools are running.
    Acting(Batch),
    /// A person is asked.
    Waiting {
        question: Question,
        /// What was open when the question came up.
        paused: ResumePoint,
    },
    /// Told, about to end.
    Replied,
    Done(RunEnd),
}

impl Phase {
    /// The open batch, be it running or paused.
    pub(super) fn batch_mut(&mut self) -> Option<&mut Batch> {
        match self {
            Self::Acting(batch) | Self::Waiting { paused: ResumePoint::Batch(batch), .. } => Some(batch),
            Self::Calling(_) | Self::Waiting { .. } | Self::Replied | Self::Done(_) => None,
        }
    }
}

/// What a waiting run goes back to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "is", content = "of", rename_all = "snake_case")]
pub enum ResumePoint {
    Call(ModelCall),
    /// A batch of tool calls.
    Batch(Batch),
    /// Nothing: it was about to end.
    Nothing,
}

impl ActiveState {
    /// A run that just got the lane, with its first message said.
    pub fn begin(input: AcceptedInput, begun: RunStart) -> Self {
        let mut transcript = Transcript::default();
        // A word about the conversation is no part of it.
        if input.agent.is_some() {
            // What an agent is told to do, no person has said.
            transcript.push(Message::user(input.text.clone()));
        } else if input.order != RunKind::Compact {
            let message =
                Message::user_with(message_context::render_message(&input, begun.at), input.pictures.as_slice());
            transcript.push_said(input.principal.user, message);
        }
        let mut active = Self {
            input,
            system_seen: begun.context.system.clone(),
            context: begun.context,
            limits: begun.limits,
            models: begun.models,
            model: 0,
            idempotent: begun.idempotent_tools.into_iter().collect(),
            tools: begun.tools,
            granted: begun.granted.into_iter().collect(),
            assessed: Vec::new(),
            reached: BTreeMap::new(),
            taint: begun.taint,
            sees: begun.sees,
            blind: BTreeSet::new(),
            read: BTreeSet::new(),
            excused: BTreeMap::new(),
            intent: RunPlan::default(),
            undo: UndoState::default(),
            draft: None,
            drafts: 0,
            policy: begun.policy.map(|policy| *policy).unwrap_or_default(),
            past: begun.past,
            room: begun.room,
            view: ContextView::default(),
            course: CompactionState::default(),
            persona: begun.persona,
            transcript,
            cycles: 0,
            iterations: 0,
            usage: Usage::default(),
            cost: Money::ZERO,
            billing: begun.billing,
            budget: None,
            quota: None,
            steering: Vec::new(),
            soft_limit: false,
            cancel: None,
            pause: None,
            rules: begun.rules,
            unfinished: PartialReply::default(),
            sealed: Vec::new(),
            guard: CircleDetector::default(),
            ledger: Ledger::default(),
            truth: ClaimCheck::default(),
            failure: None,
            crashes: 0,
            suspended: false,
            questions: 0,
            reminders: 0,
            notebook: begun.notebook.map(|notebook| *notebook).unwrap_or_default(),
            agents_cost: Money::ZERO,
            long_agents: DetachedAgents::default(),
            last_turn: None,
            told: 0,
            phase: Phase::Replied,
        };
        active.view = compaction::summary::initial_view(&active);
        active.phase = Phase::Calling(active.call_model());
        active
    }

    pub fn end(&self) -> Option<&RunEnd> {
        match &self.phase {
            Phase::Done(end) => Some(end),
            Phase::Calling(_) | Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied => None,
        }
    }
}

impl State {
    /// The state as the `runs` table shows it.
    pub fn status(&self) -> Status {
        match self {
            Self::Empty | Self::Queued(_) => Status::Queued,
            Self::Active(active) => match &active.phase {
                Phase::Calling(_) | Phase::Acting(_) | Phase::Replied => Status::Running,
                Phase::Waiting { .. } => Status::Waiting,
                Phase::Done(end) => Status::of(end),
            },
            Self::Closed(end) => Status::of(end),
        }
    }

    /// The run, once it has begun.
    pub fn active(&self) -> Option<&ActiveState> {
        match self {
            Self::Empty | Self::Queued(_) | Self::Closed(_) => None,
            Self::Active(active) => Some(active),
        }
    }
}
