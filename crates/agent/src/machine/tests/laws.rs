//! What holds for every run, whatever the world does.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::elicited::form;
use super::world::{DrivenRun, HELD};
use super::{
    ANNA, BEN, accepted, agents, answers, assert_legal, begun, completion, crash, done, fails, finished, hard_limit,
    panic, presses, says, steers, stop, system,
};
use crate::machine::approval;
use crate::machine::effect::Effect;
use crate::machine::event::{Event, JournalMismatch, RunEnd, RunReply, ToolOutcome};
use crate::machine::human::Decision;
use crate::machine::question::Question;
use crate::machine::run_start::{RulesEdition, RunStart};
use crate::machine::state::{ActiveState, Phase, State};
use crate::machine::{Replay, apply, step};
use hob_core::domain::ids::{CallId, RunId};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::tools::{Assessment, DangerGrade, Risk};
use hob_model::error::ErrorClass;
use hob_model::message::Usage;

pub(crate) fn choices() -> impl Strategy<Value = Vec<(u8, u8)>> {
    vec(any::<(u8, u8)>(), 0..40)
}

/// Any event at all, plausible or not.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let call = || CallId("1.0".to_owned());
    let mismatch = JournalMismatch { seq: 2, expected: "a".to_owned(), actual: "b".to_owned() };
    let fixed = vec![
        Event::Accepted(accepted()),
        Event::Edited { text: "other".to_owned() },
        Event::Withdrawn,
        Event::Joined { run: RunId(3) },
        Event::ModelAsked { digest: system(1), model: "a/one".to_owned(), input_estimate: 1 },
        Event::ToolStarted { call: call(), name: "send".to_owned(), attempt: 1 },
        says(""),
        says("hi"),
        Event::ModelAnswered(completion("", &["look", "send"])),
        done("1.1"),
        Event::ToolFinished {
            call: call(),
            outcome: ToolOutcome::Interrupted,
            source: Some(OriginSource::new(Origin::Web, "x")),
            draft: None,
            undo: None,
        },
        Event::Assessed {
            calls: vec![Assessment {
                grade: DangerGrade::Refused,
                reasons: vec!["no".to_owned()],
                ..Assessment::usual(Risk::Send)
            }],
        },
        Event::HumanAsked(Question::CrashLoop),
        Event::HumanAsked(Question::Asked { call: call(), text: "which?".to_owned(), form: None }),
        Event::HumanAsked(Question::Asked { call: call(), text: "how many?".to_owned(), form: Some(Box::new(form())) }),
        finished("1.0", ToolOutcome::Ask { question: "how many?".to_owned(), form: Some(Box::new(form())) }),
        Event::HumanAsked(Question::UnsafeCall {
            call: call(),
            name: String::new(),
            arguments: String::new(),
            attempt: 2,
        }),
        Event::HumanAsked(Question::PromptChanged { system: system(2) }),
        Event::HumanAsked(Question::Paused { by: BEN }),
        Event::HumanAsked(Question::Agents),
        agents::spawns("1.0"),
        agents::ended("1.0", "Dug.", RunEnd::Completed),
        Event::HumanAsked(Question::Approval {
            call: call(),
            name: "send".to_owned(),
            arguments: String::new(),
            grantable: true,
            concern: Box::default(),
            beside: Vec::new(),
        }),
        Event::Expired { question: 1 },
        Event::PauseRequested { by: BEN },
        Event::PauseLifted { by: ANNA },
        Event::GrantRevoked { tool: "send".to_owned() },
        answers("always"),
        answers("carry on"),
        answers("2"),
        presses(1, "1"),
        steers(BEN, "and this"),
        steers(ANNA, "and that"),
        Event::SoftLimit,
        Event::CompactRequested { by: ANNA },
        Event::SummaryMade { text: "short".to_owned(), usage: Usage::default() },
        Event::SummaryFailed { why: "no luck".to_owned(), late: true },
        Event::Suspended,
        crash(),
        Event::Resumed { system: system(2) },
        Event::Mismatched(mismatch),
        fails(ErrorClass::Auth),
        Event::Replied(RunReply::Silence),
    ];
    let rare = vec![stop(), hard_limit(), panic(), Event::Ended(RunEnd::Completed), fails(ErrorClass::UnknownModel)];
    prop_oneof![
        8 => prop::sample::select(fixed),
        3 => Just(Event::Begun(Box::new(RunStart { rules: RulesEdition::CURRENT, ..begun() }))),
        2 => Just(done("1.0")),
        1 => prop::sample::select(rare),
    ]
}

/// Does the call more than look, by what its tool said of it, else by what is known of the tool?
fn acts(run: &ActiveState, call: &CallId, name: &str) -> bool {
    let open = match &run.phase {
        Phase::Acting(batch) => batch.calls.iter().find(|open| open.call.id == *call),
        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
    };
    let said = open.and_then(|open| open.assessed.as_ref()).map(|known| known.risk);
    let known = run.tools.get(name).map(|facts| facts.changes || facts.risk != Risk::Read);
    open.is_some() && known.is_some_and(|known| said.map_or(known, |risk| risk != Risk::Read))
}

fn over(state: &State) -> bool {
    matches!(state, State::Closed(_)) || state.active().is_some_and(|run| matches!(run.phase, Phase::Done(_)))
}

/// The calls of a list that a person's word lets go.
fn listed(event: Option<&Event>, before: Option<&State>) -> Vec<String> {
    let (Some(Event::HumanAnswered(answer)), Some(run)) = (event, before.and_then(State::active)) else {
        return Vec::new();
    };
    let Phase::Waiting { question: question @ Question::Approval { call, beside, .. }, .. } = &run.phase else {
        return Vec::new();
    };
    let calls = std::iter::once(call).chain(beside.iter().map(|other| &other.call));
    let decision = Decision::parse(&answer.text, question);
    let is_meant = |number: usize| decision == Some(Decision::All) || decision == Some(Decision::Only(number));
    (1..).zip(calls).filter(|(number, _)| is_meant(*number)).map(|(_, call)| call.0.clone()).collect()
}

/// The last try of each call, and whether its server has asked since: it then goes on, and is not made again.
#[derive(Default)]
struct Tries(BTreeMap<String, (u32, bool)>);

impl Tries {
    fn goes_on(&mut self, event: &Event) -> bool {
        if let Event::ToolFinished { call, outcome: ToolOutcome::Ask { form: Some(_), .. }, .. } = event {
            self.0.get_mut(&call.0).into_iter().for_each(|last| last.1 = true);
        }
        let Event::ToolStarted { call, attempt, .. } = event else { return false };
        self.0.insert(call.0.clone(), (*attempt, false)) == Some((*attempt, true))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// No sequence of events breaks the machine, and what is over stays as it is.
    #[test]
    fn anything_may_come(events in vec(any_event(), 0..60), whole_steps in any::<bool>()) {
        let mut state = State::Empty;
        apply(&mut state, &Event::Accepted(accepted()));
        for event in events {
            let before = over(&state).then(|| state.clone());
            if whole_steps {
                step(&mut state, event);
            } else {
                apply(&mut state, &event);
            }
            if let Some(before) = before {
                prop_assert_eq!(before, state.clone());
            }
            if let Some(run) = state.active() {
                assert_legal(run);
            }
        }
    }

    /// A recorded journal folds to the state that wrote it, and a crash after any commit is taken up without a mismatch.
    #[test]
    fn n2_the_fold_is_the_run(choices in choices(), drifted in any::<bool>()) {
        let driven = DrivenRun::new(&choices);
        let mut replay = Replay::default();
        for (step, state) in &driven.steps {
            step.events.iter().for_each(|event| replay.feed(event));
            prop_assert_eq!(replay.mismatch(), None);
            prop_assert_eq!(&replay.state, state);

            let mut taken_up = replay.clone();
            let mut state = state.clone();
            for _ in 0..2 {
                let resumed = super::super::step(&mut state, Event::Resumed { system: system(1 + u8::from(drifted)) });
                resumed.events.iter().for_each(|event| taken_up.feed(event));
                prop_assert_eq!(taken_up.mismatch(), None);
                prop_assert_eq!(&taken_up.state, &state);
            }
        }
    }

    /// A call with side effects starts once, and once more for every time that a person said so.
    #[test]
    fn n1_nothing_is_repeated_on_a_guess(choices in choices()) {
        let driven = DrivenRun::new(&choices);
        let mut starts: BTreeMap<String, u32> = BTreeMap::new();
        let mut tries = Tries::default();
        for event in driven.events() {
            let goes_on = tries.goes_on(event);
            if let Event::ToolStarted { call, name, attempt } = event && !goes_on {
                let count = starts.entry(call.0.clone()).or_default();
                *count += 1;
                prop_assert_eq!(*count, *attempt);
                let allowed = 1 + driven.allowed.get(&call.0).copied().unwrap_or(0);
                prop_assert!(name == "look" || *count <= allowed, "{} {} started {} times", call, name, count);
            }
        }
    }

    /// At its end a run's history is legal, and nobody who joined is missing from it.
    #[test]
    fn the_history_is_whole(choices in choices()) {
        let driven = DrivenRun::new(&choices);
        if let Some(run) = driven.last().active() {
            assert_legal(run);
            let joined = driven.events().filter(|event| matches!(event, Event::Steered(_))).count();
            let said = run.transcript.entries().filter(|entry| entry.author.is_some()).count();
            // A question about the direction is answered in words that join as well.
            let answers = driven.events().filter(|event| matches!(event, Event::HumanAnswered(_))).count();
            prop_assert!((joined + 1..=joined + 1 + answers).contains(&said), "{} of {}", said, joined);
            prop_assert!(run.steering.is_empty());
        }
    }

    /// Every run whose causes are answered ends once, and says its last word once unless it was taken back or stopped.
    #[test]
    fn n1_a_run_ends_once_and_answers_once(choices in choices()) {
        let driven = DrivenRun::new(&choices);
        let ends: Vec<&RunEnd> = driven
            .events()
            .filter_map(|event| if let Event::Ended(end) = event { Some(end) } else { None })
            .collect();
        let replies = driven.events().filter(|event| matches!(event, Event::Replied(_))).count();
        prop_assert_eq!(ends.len(), 1);
        let expected = match ends[0] {
            RunEnd::Cancelled | RunEnd::Withdrawn | RunEnd::Joined => 0,
            RunEnd::Completed | RunEnd::GivenUp | RunEnd::Failed { .. } => 1,
        };
        prop_assert_eq!(replies, expected, "{:?}", ends);
        prop_assert!(over(driven.last()));
    }

    /// Nothing is started while a run is paused, and nothing that needs a word without one.
    #[test]
    fn d6_nothing_starts_that_may_not(choices in choices()) {
        let driven = DrivenRun::new(&choices);
        let mut before: Option<State> = None;
        let (mut allowed, mut tries): (BTreeMap<String, u32>, _) = (BTreeMap::new(), Tries::default());
        for (step, state) in &driven.steps {
            let paused = |state: &State| state.active().is_some_and(|run| run.pause.is_some());
            let stands = before.as_ref().is_some_and(paused) && paused(state);
            if let (Some(Event::HumanAnswered(answer)), Some(run)) =
                (step.events.first(), before.as_ref().and_then(State::active))
                && let Phase::Waiting { question, .. } = &run.phase
                && let Question::Approval { call, .. } | Question::UnsafeCall { call, .. } = question
                && matches!(
                    Decision::parse(&answer.text, question),
                    Some(Decision::Approve | Decision::Always | Decision::ThisRun | Decision::RunAgain)
                )
            {
                *allowed.entry(call.0.clone()).or_default() += 1;
            }
            for call in listed(step.events.first(), before.as_ref()) {
                *allowed.entry(call).or_default() += 1;
            }
            for event in &step.events {
                let asks = matches!(event, Event::ModelAsked { .. } | Event::SummaryAsked { .. });
                prop_assert!(!(stands && asks), "a model is asked while paused");
                let goes_on = tries.goes_on(event);
                let starts = matches!(event, Event::ToolStarted { .. });
                prop_assert!(!(stands && starts), "a call starts while paused");
                if let Event::ToolStarted { call, name, .. } = event && !goes_on {
                    let run = state.active().unwrap();
                    let held = HELD.contains(&name.as_str()) && approval::is_due(run, call);
                    let words = allowed.entry(call.0.clone()).or_default();
                    prop_assert!(!held || *words > 0, "{} {} starts without a word", call, name);
                    let acts = acts(run, call, name) && !run.taint.is_clean() && !run.excused.contains_key(name);
                    prop_assert!(!acts || *words > 0, "{} {} acts in a tainted run without a word", call, name);
                    *words = words.saturating_sub(1);
                }
            }
            before = Some(state.clone());
        }
    }

    /// What a run waits for has been started: a model call that is open was asked for, a call that runs was run.
    #[test]
    fn n1_nobody_waits_for_what_was_not_started(choices in choices()) {
        let driven = DrivenRun::new(&choices);
        let mut before = Phase::Replied;
        for (step, state) in &driven.steps {
            let Some(run) = state.active() else { continue };
            match &run.phase {
                Phase::Calling(_) if run.phase != before => {
                    let asks = |effect: &Effect| matches!(effect, Effect::CallModel(_) | Effect::Summarise(_));
                    prop_assert!(step.effects.iter().any(asks), "after {:?}", step.events.first());
                }
                Phase::Acting(batch) => {
                    let known: Vec<_> = match &before {
                        Phase::Acting(batch) => batch.started().collect(),
                        Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => Vec::new(),
                    };
                    for (call, attempt) in batch.started().filter(|started| !known.contains(started)) {
                        let wanted = (&call.id, attempt);
                        let runs = |effect: &Effect| {
                            matches!(effect, Effect::RunTool { call, attempt, .. } if (&call.id, *attempt) == wanted)
                        };
                        prop_assert!(step.effects.iter().any(runs), "{} after {:?}", call.id, step.events.first());
                    }
                    prop_assert!(batch.started().next().is_some(), "nothing runs after {:?}", step.events.first());
                }
                Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => {}
            }
            before = run.phase.clone();
        }
    }
}
