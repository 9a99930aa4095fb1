//! Agents as rows: a task that is handed on becomes a session and a queued run, its end a word to the run that waits, in
//! the transaction of the event itself (rows A12, B8).

use std::collections::BTreeSet;

use crate::driver::encode_signal;
use crate::journal::{self, QueueChange, RunKey};
use crate::machine::Step;
use crate::machine::accepted_input::{AcceptedInput, RunKind, SteeringMessage};
use crate::machine::agents::{AgentTask, ChildEnd, WORDS_CHARS_MAX};
use crate::machine::batch::CallProgress;
use crate::machine::event::{Event, RunEnd, RunReply, ToolOutcome};
use crate::machine::outbound_allowance;
use crate::machine::reading::{self, Reading};
use crate::machine::state::{ActiveState, Phase, ResumePoint, State};
use crate::machine::stop::CancelReason;
use crate::projection::ProjectionRow;
use crate::projection::event_rows::is_running;
use crate::projection::write::{OutgoingText, RunRowTarget, say};
use crate::signal::Signal;
use crate::write_off::change_queued;
use hob_core::domain::agents::Mission;
use hob_core::domain::ids::{CallId, InboundId, RunId, SessionId, SessionKey};
use hob_core::domain::money::Money;
use hob_core::domain::principal::Principal;
use hob_model::message::{Message, Pictures};
use hob_store::error::StoreError;
use hob_store::inbound::NewInbound;
use hob_store::{Tx, agents, inbound, sessions, signals};

/// The tool by which a person is asked: agents have none to ask.
const ASK_HUMAN: &str = "ask_human";

/// What a step changes for other runs.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentChange {
    /// A task is handed on.
    Spawn(Box<AgentSpawn>),
    /// Something is said to an agent of this run.
    Tell {
        /// The call that handed its task on.
        to: CallId,
        words: Box<SteeringMessage>,
    },
    /// This run is an agent, and over.
    Done {
        end: Box<ChildEnd>,
        /// The number of the event that says so, where people are told if no run waits for it any more.
        told: Option<i64>,
    },
    /// This run is stopped: whoever works for it is stopped as well.
    Stop {
        /// By whom, or whose run it was.
        reason: CancelReason,
    },
}

/// A run that is to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpawn {
    agent: AgentTask,
    /// The message's id: unique, as the agent's is.
    id: String,
    accepted: AcceptedInput,
}

/// What a step that led from `before` to `after` changes for others; `seq` is the number of its first event.
pub fn changes(key: &RunKey, seq: i64, before: &State, after: &State, step: &Step) -> Vec<AgentChange> {
    let mut changes = Vec::new();
    for (event, seq) in step.events.iter().zip(seq..) {
        match (event, after.active()) {
            (Event::ToolFinished { call, outcome: ToolOutcome::Spawn { mission }, .. }, Some(run)) => {
                changes
                    .extend(is_open(run, call).then(|| AgentChange::Spawn(Box::new(spawn(key, run, call, mission)))));
            }
            (Event::ToolFinished { call, outcome: ToolOutcome::Tell { text, .. }, .. }, Some(run)) => {
                let to = run.long_agents.awaited(call).filter(|_| is_open(run, call)).cloned();
                changes.extend(to.map(|to| AgentChange::Tell { to, words: Box::new(instruction(key, run, text)) }));
            }
            (Event::ToolFinished { call, outcome, .. }, Some(run)) if is_running(before, call) => {
                let read = reading::waiting(run, call).zip(reading::found(outcome));
                let begins = read.map(|(reading, found)| reader(key, run, call, reading, found));
                changes.extend(begins.map(|reader| AgentChange::Spawn(Box::new(reader))));
            }
            (Event::Ended(end), run) => {
                let stopped = run.filter(|run| run.cancel.is_some());
                changes.extend(stopped.map(|run| AgentChange::Stop { reason: passed_on(run) }));
                let done = accepted(before, after).and_then(|accepted| accepted.agent.as_ref());
                changes.extend(done.map(|agent| {
                    let told = if agent.reads { None } else { Some(seq) };
                    AgentChange::Done { end: Box::new(ended(key, agent, end, step, after)), told }
                }));
            }
            _ => {}
        }
    }
    changes
}

/// Whoever works for a run is stopped as it was: at once, or where nothing is cut in two.
fn passed_on(run: &ActiveState) -> CancelReason {
    let by = run.input.principal.user;
    if run.cancel.is_some_and(CancelReason::is_at_once) {
        CancelReason::StoppedNow { by }
    } else {
        CancelReason::Stopped { by }
    }
}

/// What the run was accepted with.
pub(super) fn accepted<'a>(before: &'a State, after: &'a State) -> Option<&'a AcceptedInput> {
    [after, before].into_iter().find_map(|state| match state {
        State::Queued(accepted) => Some(accepted),
        State::Active(run) => Some(&run.input),
        State::Empty | State::Closed(_) => None,
    })
}

/// What an agent has to say goes to the run that it works for; only what it asks is said to people.
pub(super) fn agent_rows(agent: &AgentTask, event: &Event, rows: Vec<ProjectionRow>) -> Vec<ProjectionRow> {
    match event {
        Event::Replied(_) => Vec::new(),
        Event::HumanAsked(_) => rows
            .into_iter()
            .map(|row| match row {
                ProjectionRow::Say { seq, text, form, choices, part } => {
                    ProjectionRow::Say { seq, text: agent.asks(&text), form, choices, part }
                }
                other => other,
            })
            .collect(),
        // That another model stands in is told where a person is answered.
        Event::ModelAnswered(_) => rows.into_iter().filter(|row| !matches!(row, ProjectionRow::Answered(_))).collect(),
        _ => rows,
    }
}

fn is_open(run: &ActiveState, id: &CallId) -> bool {
    let (Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. }) = &run.phase else {
        return false;
    };
    batch.calls.iter().any(|open| open.call.id == *id && open.progress == CallProgress::Child)
}

/// What is said to an agent, with the authority of the run that it works for.
fn instruction(key: &RunKey, run: &ActiveState, text: &str) -> SteeringMessage {
    SteeringMessage {
        run: key.run,
        principal: Principal::clone(&run.input.principal),
        text: text.to_owned(),
        taint: run.taint.clone(),
        pictures: Pictures::default(),
    }
}

fn spawn(key: &RunKey, run: &ActiveState, call: &CallId, mission: &Mission) -> AgentSpawn {
    let own = run.input.agent.as_deref();
    let depth = own.map_or(0, |agent| agent.depth) + 1;
    let agent = AgentTask {
        parent: key.run,
        call: call.clone(),
        root: own.map_or(key.run, |agent| agent.root),
        home: run.input.home(key.session),
        key: SessionKey(format!("sub-{depth}-{}", mission.id)),
        depth,
        mission: mission.mission.clone(),
        persona: run.persona.as_ref().map(|persona| persona.name.clone()),
        tools: run.tools.keys().filter(|name| *name != ASK_HUMAN).cloned().collect(),
        reads: false,
        looks: outbound_allowance::share_for_agent(run, call),
    };
    let accepted = AcceptedInput {
        // The row that is made for it takes its place.
        inbound: InboundId(0),
        principal: Principal::clone(&run.input.principal),
        destination: run.input.destination.clone(),
        text: mission.task.clone(),
        order: RunKind::Answer,
        agent: Some(Box::new(agent.clone())),
        taint: run.taint.clone(),
        pictures: Pictures::default(),
        around: None,
        undo: None,
    };
    AgentSpawn { agent, id: mission.id.clone(), accepted }
}

/// An agent that reads what a call has found, and has nothing else. Whoever asks pays for it, and with whose model: its persona's.
fn reader(key: &RunKey, run: &ActiveState, call: &CallId, reading: &Reading, found: &str) -> AgentSpawn {
    let AgentSpawn { agent, id, accepted } = spawn(key, run, call, &reading.mission(key.run, call, found));
    let agent = AgentTask { tools: BTreeSet::new(), reads: true, ..agent };
    let mut accepted = AcceptedInput { agent: Some(Box::new(agent.clone())), ..accepted };
    accepted.taint.join(&reading.from.iter().cloned().collect());
    AgentSpawn { agent, id, accepted }
}

fn ended(key: &RunKey, agent: &AgentTask, end: &RunEnd, step: &Step, after: &State) -> ChildEnd {
    let told = step.events.iter().rev().find_map(|event| match event {
        Event::Replied(RunReply::Answer { text } | RunReply::Notice { text }) => Some(text.clone()),
        _ => None,
    });
    let run = after.active();
    let last = || run.and_then(|run| run.transcript.messages().iter().rev().find_map(last_words));
    let text: String = told.or_else(last).unwrap_or_default();
    ChildEnd {
        call: agent.call.clone(),
        run: key.run,
        end: end.clone(),
        text: cut(text),
        ledger: run.map(|run| run.ledger.clone()).unwrap_or_default(),
        taint: run.map(|run| run.taint.clone()).unwrap_or_default(),
        reached: run.map(|run| run.reached.clone()).unwrap_or_default(),
        // With that of its own agents: what all of its calls cost is known to the database.
        cost: Money::ZERO,
    }
}

fn last_words(message: &Message) -> Option<String> {
    match message {
        Message::Assistant { .. } => Some(message.text().into_owned()).filter(|text| !text.trim().is_empty()),
        Message::User { .. } | Message::Tool(_) => None,
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(WORDS_CHARS_MAX) {
        text.truncate(end);
        text.push_str(" … (cut)");
    }
    text
}

/// Carries a change out. Gives the lanes in which something is due now.
pub async fn carry_out(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    change: &AgentChange,
) -> Result<Vec<SessionId>, StoreError> {
    match change {
        AgentChange::Spawn(spawn) => begin(tx, target, spawn).await.map(|session| vec![session]),
        AgentChange::Tell { to, words } => tell(tx, target, to, words).await,
        AgentChange::Done { end, told } => {
            let spent = Money::from_nanos(agents::cost_of(tx, target.key.run).await?);
            let end = ChildEnd { cost: spent, ..ChildEnd::clone(end) };
            let lane = hand_over(tx, target, &end).await?;
            let stopped = matches!(end.end, RunEnd::Cancelled | RunEnd::Withdrawn | RunEnd::Joined);
            if let Some(seq) = told.filter(|_| lane.is_none() && !stopped) {
                say(tx, target, &format!("run:{}:{seq}", target.key.run), OutgoingText::note(&end.late_report()))
                    .await?;
            }
            Ok(lane.into_iter().collect())
        }
        AgentChange::Stop { reason } => stop(tx, target, *reason).await,
    }
}

/// A session of its own, with a run in it that waits for its lane.
async fn begin(tx: &mut Tx, target: &RunRowTarget<'_>, spawn: &AgentSpawn) -> Result<SessionId, StoreError> {
    let AgentSpawn { agent, id, accepted } = spawn;
    let place = &accepted.destination.conversation;
    // It is served by whoever serves the conversation that it works for.
    let session = sessions::ensure(tx, &agent.key.0, place.channel, target.at).await?;
    let chosen = sessions::lookup(tx, target.key.session).await?.and_then(|session| session.model);
    sessions::set_model(tx, session.id, chosen.as_deref()).await?;
    let new = NewInbound {
        session: session.id,
        user: accepted.principal.user,
        conversation: place,
        external_id: &format!("agent:{id}"),
        text: &accepted.text,
        importance: 0.0,
        envelope: None,
        spoken: false,
        disposition: "run",
        sent_at: target.at,
        received_at: target.at,
    };
    let Some(inbound) = inbound::claim(tx, &new).await? else {
        let what = "an agent of this name was begun before".to_owned();
        return Err(StoreError::Inconsistent { table: "inbound", id: new.external_id.to_owned(), what });
    };
    let run = journal::open(tx, session.id, AcceptedInput { inbound, ..accepted.clone() }, None, target.at).await?;
    let AgentTask { parent, call, root, home, depth, .. } = agent;
    let link = agents::AgentLink { parent: *parent, call, root: *root, home: *home, depth: *depth };
    agents::link(tx, run, &link).await?;
    tracing::info!(run = %target.key.run, agent = %run, depth, "agent.spawned");
    Ok(session.id)
}

/// Says something to an agent of this run that is at work. Gives its lane; one that is over has sent its report.
async fn tell(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    to: &CallId,
    words: &SteeringMessage,
) -> Result<Vec<SessionId>, StoreError> {
    for agent in agents::open_below(tx, target.key.run).await? {
        let parent = agents::parent(tx, agent.id).await?;
        if parent.is_some_and(|parent| parent.run == target.key.run && parent.call == *to) {
            let signal = Signal::Told { words: Box::new(words.clone()) };
            signals::add(tx, agent.id, &encode_signal(&signal)?, target.at).await?;
            tracing::info!(run = %target.key.run, agent = %agent.id, "agent.told");
            return Ok(vec![agent.session]);
        }
    }
    Ok(Vec::new())
}

/// Tells the run that waits for this one; none: nobody waits any more. Gives its lane.
async fn hand_over(tx: &mut Tx, target: &RunRowTarget<'_>, end: &ChildEnd) -> Result<Option<SessionId>, StoreError> {
    let Some(parent) = agents::parent(tx, target.key.run).await?.filter(|parent| parent.open) else {
        return Ok(None);
    };
    let signal = Signal::ChildEnded { end: Box::new(end.clone()) };
    signals::add(tx, parent.run, &encode_signal(&signal)?, target.at).await?;
    Ok(Some(parent.session))
}

/// The run's record cannot be read, so nobody knows what it did: whoever waits for it is told so. Gives whether somebody is.
pub(crate) async fn report_lost_run(tx: &mut Tx, target: &RunRowTarget<'_>) -> Result<bool, StoreError> {
    let run = target.key.run;
    let Some(parent) = agents::parent(tx, run).await? else {
        return Ok(false);
    };
    let end = ChildEnd {
        call: parent.call,
        run,
        end: RunEnd::Failed { why: "its record is damaged".to_owned() },
        text: "Nobody knows what it did.".to_owned(),
        ledger: Default::default(),
        taint: Default::default(),
        reached: Default::default(),
        cost: Money::from_nanos(agents::cost_of(tx, run).await?),
    };
    Ok(hand_over(tx, target, &end).await?.is_some())
}

/// A run is over and has not heard these: their words go to its person.
pub(crate) async fn tell_unheard(tx: &mut Tx, target: &RunRowTarget<'_>, ends: &[ChildEnd]) -> Result<(), StoreError> {
    for end in ends {
        say(tx, target, &format!("agent:{}", end.run), OutgoingText::note(&end.late_report())).await?;
    }
    Ok(())
}

/// The words of agents that nobody has taken from a run that is over.
pub(crate) async fn take_unheard(tx: &mut Tx, run: RunId) -> Result<Vec<ChildEnd>, StoreError> {
    let rows = signals::take(tx, run).await?;
    let ends = rows.iter().filter_map(|row| match serde_json::from_str(&row.body) {
        Ok(Signal::ChildEnded { end }) => Some(*end),
        Ok(_) | Err(_) => None,
    });
    Ok(ends.collect())
}

/// Who works for this run, and for those in turn, is stopped; what has not begun is called off.
async fn stop(tx: &mut Tx, target: &RunRowTarget<'_>, reason: CancelReason) -> Result<Vec<SessionId>, StoreError> {
    let mut lanes = Vec::new();
    for agent in agents::open_below(tx, target.key.run).await? {
        stop_one(tx, &agent, reason, target.at).await?;
        lanes.push(agent.session);
    }
    Ok(lanes)
}

/// Stops an agent that is not over.
pub async fn stop_one(
    tx: &mut Tx,
    agent: &agents::OpenAgent,
    reason: CancelReason,
    now: jiff::Timestamp,
) -> Result<(), StoreError> {
    let key = RunKey { run: agent.id, session: agent.session };
    if agent.is_queued() {
        change_queued(tx, &key, QueueChange::Withdrawn, now).await?;
        return Ok(());
    }
    signals::add(tx, agent.id, &encode_signal(&Signal::Cancel { reason })?, now).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::outbound_allowance::OutboundAllowance;
    use crate::machine::run_start::{RunPersona, RunStart};
    use crate::machine::testkit::{Script, begun, done, finished, says, wants};
    use hob_core::domain::origin::{Origin, OriginSource, Taint};
    use hob_core::domain::tools::{ASK_READER, Assessment, Risk, ToolFacts};
    use hob_model::message::{Completion, ToolCall};

    fn on(run: &mut Script, event: &Event) -> Vec<AgentChange> {
        let before = run.state.clone();
        run.on(event.clone());
        let events = match &run.state {
            State::Active(active) => active.end().map(|end| Event::Ended(end.clone())),
            State::Empty | State::Queued(_) | State::Closed(_) => None,
        };
        let step = Step { events: events.into_iter().chain([event.clone()]).collect(), effects: Vec::new() };
        changes(&RunKey { run: RunId(1), session: SessionId(1) }, 9, &before, &run.state, &step)
    }

    fn looks(run: &mut Script, call: &str) {
        let known = Assessment { site: Some("a.example".to_owned()), ..Assessment::usual(Risk::Read) };
        run.on(Event::Assessed { calls: vec![known] });
        run.on(wants(&["look"]));
        run.on(done(call));
    }

    #[test]
    fn n16_a_reader_is_paid_for_by_the_persona_that_asks_and_has_nothing_else_of_it() {
        let persona = RunPersona { name: "clerk".to_owned(), max_output_tokens: None };
        let mut run = Script::queued();
        let tools = [ASK_READER, "look"].map(|name| (name.to_owned(), ToolFacts::default())).into();
        run.on(Event::Begun(Box::new(RunStart { persona: Some(persona), tools, ..begun() })));
        let asked = serde_json::json!({ "from": "look", "with": {}, "question": "How many?", "answer": "number" });
        let call =
            ToolCall { id: CallId("theirs".to_owned()), name: ASK_READER.to_owned(), arguments: asked.to_string() };
        run.on(Event::ModelAnswered(Completion::from_text_and_calls("", vec![call])));
        let found = on(&mut run, &done("1.0"));
        let [AgentChange::Spawn(spawn)] = found.as_slice() else { panic!("{found:?}") };
        let agent = &spawn.agent;
        assert!(agent.reads && agent.tools.is_empty());
        assert_eq!(agent.persona.as_deref(), Some("clerk"));
        assert!(!agent.prompt().contains("clerk"));
    }

    #[test]
    fn n6_looks_go_down_with_a_task_and_come_back_with_its_end() {
        let taint = Taint::from_iter([OriginSource::new(Origin::Web, "https://a.example")]);
        let mut run = Script::queued();
        run.on(Event::Begun(Box::new(RunStart { taint: taint.clone(), ..begun() })));
        looks(&mut run, "1.0");
        run.on(wants(&["spawn_agent"]));
        let mission = Mission { mission: "You dig.".to_owned(), task: "Dig.".to_owned(), id: "u".to_owned() };
        let spawned = on(&mut run, &finished("2.0", ToolOutcome::Spawn { mission }));
        let [AgentChange::Spawn(spawn)] = spawned.as_slice() else { panic!("{spawned:?}") };
        let looks_left = outbound_allowance::share_for_agent(run.run(), &CallId("2.0".to_owned()));
        assert!(spawn.agent.looks == looks_left && looks_left != OutboundAllowance::default());
        let mut worker = Script::fresh();
        worker.on(Event::Accepted(spawn.accepted.clone()));
        worker.on(Event::Begun(Box::new(RunStart { taint, ..begun() })));
        looks(&mut worker, "1.0");
        let ended = on(&mut worker, &says("Dug."));
        let [AgentChange::Done { end, .. }] = ended.as_slice() else { panic!("{ended:?}") };
        assert_eq!(end.reached, [("a.example".to_owned(), 1)].into());
    }
}
