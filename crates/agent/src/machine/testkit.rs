//! Scripts of the machine: an event in, its effects in words; for the tests of every crate.
//!
//! Never: anything that runs in Hob. Start at [`Script`].
#![expect(clippy::unwrap_used, reason = "for tests alone")]

use std::collections::BTreeMap;

use crate::machine::accepted_input::{AcceptedInput, RunKind, SteeringMessage};
use crate::machine::digest::Digest;
use crate::machine::effect::Effect;
use crate::machine::event::{Event, RunReply, ToolOutcome};
use crate::machine::question::{Answer, Question};
use crate::machine::run_start::{Billing, ContextBudget, IterationLimits, RequestContext, RulesEdition, RunStart};
use crate::machine::state::{ActiveState, State};
use crate::machine::stop::CancelReason;
use crate::machine::texts::{AFTER_DENIAL, AFTER_FAILURE};
use crate::machine::{Replay, step};
use hob_core::domain::ids::{CallId, InboundId, RunId, UserId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::origin::Taint;
use hob_core::domain::outgoing::Destination;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_model::error::ErrorClass;
use hob_model::message::{Completion, Message, Pictures, StopReason, ToolCall, Usage};

/// The one who asks.
pub const ANNA: UserId = UserId(1);
/// Another one of the household.
pub const BEN: UserId = UserId(2);

/// What the first model call of a script is estimated to read: context and transcript, as counted here.
pub const ESTIMATE: u64 = 105;

/// A run under test: every step is replayed as well, and must replay to the same.
pub struct Script {
    pub state: State,
    pub journal: Vec<Event>,
    replay: Replay,
}

impl Script {
    /// A message that waits in its lane.
    pub fn queued() -> Self {
        let mut script = Self::fresh();
        script.check(Event::Accepted(accepted()), &[]);
        script
    }

    /// Nothing yet.
    pub fn fresh() -> Self {
        Self { state: State::Empty, journal: Vec::new(), replay: Replay::default() }
    }

    /// A run that asks its first model.
    pub fn begun() -> Self {
        let mut script = Self::queued();
        script.check(Event::Begun(Box::new(begun())), &["ask a/one Work"]);
        script
    }

    /// A run whose model wants these tools.
    pub fn acting(names: &[&str]) -> Self {
        let mut script = Self::begun();
        script.on(wants(names));
        script
    }

    /// One event in; its effects, as words.
    pub fn on(&mut self, event: Event) -> Vec<String> {
        let step = step(&mut self.state, event);
        for event in &step.events {
            self.replay.feed(event);
        }
        self.journal.extend(step.events);
        assert_eq!(self.replay.mismatch(), None, "after {:?}", self.journal);
        assert_eq!(self.replay.state, self.state);
        if let Some(run) = self.state.active() {
            assert_legal(run);
        }
        step.effects.iter().map(shown).collect()
    }

    /// One event in, these effects out and nothing more.
    #[track_caller]
    pub fn check(&mut self, event: Event, expected: &[&str]) {
        let after = format!("{event:?}");
        let effects = self.on(event);
        assert_eq!(effects, expected, "after {after}");
    }

    pub fn run(&self) -> &ActiveState {
        self.state.active().unwrap()
    }

    /// What was said in the run, without the guidance after failures and denials (row E9).
    pub fn said(&self) -> Vec<String> {
        let plainly = |said: &Message| {
            let shown = shown_message(said);
            let guidance = [AFTER_FAILURE, AFTER_DENIAL].map(|words| format!("\n\n{words}"));
            guidance.iter().find_map(|words| shown.strip_suffix(words.as_str())).unwrap_or(&shown).to_owned()
        };
        self.run().transcript.messages().iter().map(plainly).collect()
    }

    /// The same, whole.
    pub fn told(&self) -> Vec<String> {
        self.run().transcript.messages().iter().map(shown_message).collect()
    }
}

/// Every call has exactly one result, right behind it.
pub(crate) fn assert_legal(run: &ActiveState) {
    let mut owed: Vec<&CallId> = Vec::new();
    for message in run.transcript.messages() {
        match message {
            Message::Tool(result) => {
                assert!(!owed.is_empty() && *owed.remove(0) == result.call, "orphan {}", result.call);
            }
            Message::User { .. } => assert!(owed.is_empty(), "unanswered {owed:?}"),
            Message::Assistant { .. } => {
                assert!(owed.is_empty(), "unanswered {owed:?}");
                owed = message.calls().map(|call| &call.id).collect();
            }
        }
    }
    assert!(owed.is_empty(), "unanswered {owed:?}");
}

pub(crate) fn shown(effect: &Effect) -> String {
    match effect {
        Effect::CallModel(call) => {
            let delay = if call.delay_ms == 0 { String::new() } else { format!(" in {} ms", call.delay_ms) };
            format!("ask {} {:?}{delay}", call.label, call.purpose)
        }
        Effect::RunTool { call, attempt, delay_ms } => {
            let delay = if *delay_ms == 0 { String::new() } else { format!(" in {delay_ms} ms") };
            format!("run {} {} #{attempt}{delay}", call.id, call.name)
        }
        Effect::Look(call) => format!("look at {} {}", call.id, call.name),
        Effect::AbortTools(calls) => {
            format!("abort {}", calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        }
        Effect::AskHuman(Question::Asked { call, text, .. }) => format!("human {call} asks: {text}"),
        Effect::AskHuman(Question::UnsafeCall { call, name, attempt, .. }) => {
            let again = if *attempt == 1 { String::new() } else { format!(" #{attempt}") };
            format!("human unsafe {call} {name}{again}")
        }
        Effect::AskHuman(Question::PromptChanged { .. }) => "human prompt".to_owned(),
        Effect::AskHuman(Question::Mismatch(mismatch)) => format!("human mismatch {}", mismatch.seq),
        Effect::AskHuman(Question::Approval { call, name, beside, .. }) => {
            let others: String = beside.iter().map(|other| format!(" and {} {}", other.call, other.name)).collect();
            format!("human approves {call} {name}{others}")
        }
        Effect::AskHuman(Question::ContextFull) => "human context full".to_owned(),
        Effect::AskHuman(Question::Circling { .. }) => "human circling".to_owned(),
        Effect::AskHuman(Question::Paused { .. }) => "paused".to_owned(),
        Effect::AskHuman(Question::Agents) => "agents".to_owned(),
        Effect::Summarise(summary) => {
            format!("summarise {}..{} by {}", summary.from, summary.messages, summary.call.label)
        }
        Effect::Note(event) => event.kind().to_owned(),
        Effect::AskHuman(Question::CrashLoop) => "human crash loop".to_owned(),
        Effect::Reply(RunReply::Answer { text }) => format!("answer {text}"),
        Effect::Reply(RunReply::Notice { text }) => format!("notice {}", text.split(['.', ':']).next().unwrap()),
        Effect::Reply(RunReply::Silence) => "silence".to_owned(),
        Effect::End(end) => format!("end {end:?}"),
        Effect::Ignored { why } => format!("ignored: {why}"),
    }
}

fn shown_message(message: &Message) -> String {
    match message {
        Message::User { .. } => format!("user: {}", message.text()),
        Message::Assistant { .. } => {
            let calls: String = message.calls().map(|call| format!(" <{} {}>", call.id, call.name)).collect();
            format!("hob: {}{calls}", message.text())
        }
        Message::Tool(result) => {
            let error = if result.is_error { " failed" } else { "" };
            format!("tool {}{error}: {}", result.call, result.text)
        }
    }
}

pub fn principal(user: UserId) -> Principal {
    let name = if user == ANNA { "Anna" } else { "Ben" };
    Principal { user, name: name.to_owned(), role: Role::User, trust: Trust::Trusted }
}

pub fn accepted() -> AcceptedInput {
    let conversation = Conversation {
        channel: ChannelKind::Telegram,
        account: "default".to_owned(),
        chat: "7".to_owned(),
        thread: None,
    };
    AcceptedInput {
        inbound: InboundId(1),
        principal: principal(ANNA),
        destination: Destination { conversation, reply_to: None },
        text: "hello".to_owned(),
        order: RunKind::Answer,
        agent: None,
        taint: Taint::default(),
        pictures: Pictures::default(),
        around: None,
        undo: None,
    }
}

pub fn begun() -> RunStart {
    RunStart {
        context: RequestContext {
            system: system(1),
            tools: Digest::of("text1", &[b"tools"]),
            tail: Digest::of("text1", &[b"tail"]),
            history_from: 1,
            history_through: 0,
            chars: 400,
        },
        limits: IterationLimits { iterations: 10, iterations_step: 10, iterations_cap: 25 },
        models: vec!["a/one".to_owned(), "b/two".to_owned()],
        idempotent_tools: vec!["look".to_owned()],
        // One question for each call: scripts go step by step. What is asked about together has its own (`tests/listed`).
        rules: RulesEdition::default(),
        billing: Billing { models: Vec::new(), context_tokens: 100, reply_tokens: 0 },
        policy: Some(Box::default()),
        tools: BTreeMap::new(),
        granted: Vec::new(),
        past: Vec::new(),
        room: ContextBudget::default(),
        persona: None,
        notebook: None,
        recalled: Vec::new(),
        taint: Taint::default(),
        sees: false,
        at: jiff::Timestamp::UNIX_EPOCH,
    }
}

/// The system prompt's digest, in an edition of it.
pub fn system(edition: u8) -> Digest {
    Digest::of("system1", &[&[edition]])
}

pub fn completion(text: &str, names: &[&str]) -> Completion {
    let call = |name: &&str| ToolCall {
        id: CallId("theirs".to_owned()),
        name: (*name).to_owned(),
        arguments: r#"{"a":1}"#.to_owned(),
    };
    let usage = Usage { input_tokens: 10, output_tokens: 2, cached_tokens: 1, ..Usage::default() };
    Completion { usage, ..Completion::from_text_and_calls(text, names.iter().map(call).collect()) }
}

/// Words that the output limit cut off.
pub fn cut_off(text: &str) -> Event {
    Event::ModelAnswered(Completion { stop: StopReason::MaxTokens, ..completion(text, &[]) })
}

pub fn says(text: &str) -> Event {
    Event::ModelAnswered(completion(text, &[]))
}

pub fn wants(names: &[&str]) -> Event {
    Event::ModelAnswered(completion("", names))
}

pub fn fails(class: ErrorClass) -> Event {
    Event::ModelFailed { class, message: "no luck".to_owned(), retry_after_ms: None, pictures: false }
}

pub fn finished(call: &str, outcome: ToolOutcome) -> Event {
    Event::ToolFinished { call: CallId(call.to_owned()), outcome, source: None, draft: None, undo: None }
}

pub fn done(call: &str) -> Event {
    finished(call, ToolOutcome::Text { text: "ok".to_owned(), is_error: false })
}

pub fn stopped_tool(call: &str) -> Event {
    finished(call, ToolOutcome::Interrupted)
}

pub fn asks(call: &str, question: &str) -> Event {
    finished(call, ToolOutcome::Ask { question: question.to_owned(), form: None })
}

pub fn more(call: &str) -> Event {
    finished(call, ToolOutcome::MoreIterations { reason: "much to do".to_owned() })
}

pub fn answers(text: &str) -> Event {
    Event::HumanAnswered(Answer { by: ANNA, text: text.to_owned(), question: None })
}

/// A press of a button under question `number`.
pub fn presses(number: u32, text: &str) -> Event {
    Event::HumanAnswered(Answer { by: ANNA, text: text.to_owned(), question: Some(number) })
}

pub fn steers(by: UserId, text: &str) -> Event {
    Event::Steered(SteeringMessage {
        run: RunId(9),
        principal: principal(by),
        text: text.to_owned(),
        taint: Taint::default(),
        pictures: Pictures::default(),
    })
}

pub fn stop() -> Event {
    Event::CancelRequested(CancelReason::Stopped { by: ANNA })
}

pub fn hard_limit() -> Event {
    Event::CancelRequested(CancelReason::HardLimit)
}

pub fn crash() -> Event {
    Event::Resumed { system: system(1) }
}

pub fn panic() -> Event {
    Event::Panicked { message: "index out of bounds\nmore".to_owned() }
}
