//! Circles, from the first warning to the end (rows A11, B2, B3, B13, E6, E9).

use super::{ANNA, Script, accepted, answers, asks, begun, completion, cut_off, done, finished, says, steers, wants};
use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::note::{Escalation, EscalationStep};
use crate::machine::policy::{GuardPolicy, Policy};
use crate::machine::question::Question;
use crate::machine::run_start::{IterationLimits, RunStart};
use crate::machine::state::{Phase, State};
use crate::machine::step;
use hob_core::domain::tools::ToolFacts;
use hob_model::provider::ToolChoice;

fn offered(tools: &[&str]) -> RunStart {
    let limits = IterationLimits { iterations: 30, iterations_step: 1, iterations_cap: 30 };
    let facts = |name: &&str| ((*name).to_owned(), ToolFacts { changes: *name == "send", ..ToolFacts::default() });
    RunStart { limits, tools: tools.iter().map(facts).collect(), ..begun() }
}

fn with(tools: &[&str]) -> Script {
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(offered(tools))));
    run
}

/// One round with `look`, which brings what it always brings.
fn round(run: &mut Script) -> Vec<String> {
    let mut effects = run.on(wants(&["look"]));
    if matches!(run.run().phase, Phase::Acting(_)) {
        let cycle = run.run().cycles;
        effects.extend(run.on(done(&format!("{cycle}.0"))));
    }
    effects.retain(|effect| !effect.starts_with("run "));
    effects
}

/// Goes in circles until the model must ask a person.
fn to_the_brink(run: &mut Script) {
    for _ in 0..5 {
        round(run);
    }
}

fn choice(run: &Script) -> ToolChoice {
    let Phase::Calling(call) = &run.run().phase else { panic!("{:?}", run.run().phase) };
    call.choice.clone()
}

fn tool(name: &str) -> ToolChoice {
    ToolChoice::Tool { name: name.to_owned() }
}

#[test]
fn b3_from_a_nudge_to_a_forced_tool_to_a_forced_question() {
    let mut run = with(&["look", "recall", "ask_human"]);
    assert_eq!(round(&mut run), ["ask a/one Work"]);
    assert_eq!(round(&mut run), ["ask a/one Work"]);
    assert_eq!(round(&mut run), ["agent.loop.detected", "agent.guardrail.escalated", "ask a/one Work"]);
    insta::assert_snapshot!(run.said().last().unwrap(), @"
    tool 3.0: ok

    [You have called look 3 times with the same arguments. Do not do it again: use what you have, try another way, ask the user, or say what does not work.]
    ");
    assert_eq!(choice(&run), ToolChoice::Auto);
    assert_eq!(round(&mut run), ["agent.loop.detected", "agent.guardrail.escalated", "ask a/one Work"]);
    insta::assert_snapshot!(run.said().last().unwrap(), @"tool 4.0 failed: Not run: you have called look 4 times with the same arguments, this one counted, and were warned. Try another way, ask the user, or say plainly what does not work.");
    assert_eq!(choice(&run), tool("recall"));
    run.check(wants(&["recall"]), &["run 5.0 recall #1"]);
    run.check(done("5.0"), &["ask a/one Work"]);
    assert_eq!(choice(&run), ToolChoice::Auto);
    assert_eq!(round(&mut run), ["agent.loop.detected", "agent.guardrail.escalated", "ask a/one Work"]);
    assert_eq!(choice(&run), tool("ask_human"));
    let steps: Vec<Escalation> = run
        .journal
        .iter()
        .filter_map(|event| if let Event::Escalated(step) = event { Some(step.clone()) } else { None })
        .collect();
    let step = |step, forced: Option<&str>| Escalation { step, forced: forced.map(str::to_owned) };
    assert_eq!(
        steps,
        [
            step(EscalationStep::Nudge, None),
            step(EscalationStep::Directive, Some("recall")),
            step(EscalationStep::AskHuman, Some("ask_human")),
        ]
    );
    run.check(wants(&["ask_human"]), &["run 7.0 ask_human #1"]);
    run.check(asks("7.0", "which?"), &["human 7.0 asks: which?"]);
    run.check(answers("the blue one"), &["ask a/one Work"]);
    assert_eq!(choice(&run), ToolChoice::Auto);
    assert_eq!(round(&mut run), ["ask a/one Work"], "a person's word is a fresh start");
}

#[test]
fn b3_where_nothing_can_be_looked_up_any_tool_is_forced() {
    let mut run = with(&["look", "ask_human"]);
    for _ in 0..4 {
        round(&mut run);
    }
    assert_eq!(choice(&run), ToolChoice::Any);
    let mut run = Script::queued();
    let policy = Policy { guards: GuardPolicy { enabled: false, ..GuardPolicy::default() }, ..Policy::default() };
    run.on(Event::Begun(Box::new(RunStart { policy: Some(Box::new(policy)), ..offered(&["look"]) })));
    for _ in 0..8 {
        assert_eq!(round(&mut run), ["ask a/one Work"], "switched off");
    }
}

#[test]
fn b3_a_model_that_does_not_ask_is_overruled() {
    let mut run = with(&["look", "ask_human"]);
    to_the_brink(&mut run);
    assert_eq!(choice(&run), tool("ask_human"));
    run.check(wants(&["look", "send"]), &["human circling"]);
    assert!(
        run.said().last().unwrap().starts_with("tool 6.1 failed: Not run: this goes in circles"),
        "{:?}",
        run.said()
    );

    let mut run = with(&["look", "ask_human"]);
    to_the_brink(&mut run);
    run.check(says("I cannot find it."), &["human circling"]);
    let Phase::Waiting { question: Question::Circling { what, words }, .. } = &run.run().phase else { panic!() };
    assert_eq!((what.as_str(), words.as_str()), ("called look 4 times with the same arguments", "I cannot find it."));
}

#[test]
fn b3_without_the_tool_the_machine_asks_and_takes_any_word() {
    let asking = || {
        let mut run = with(&["look"]);
        for _ in 0..4 {
            round(&mut run);
        }
        assert_eq!(round(&mut run).last().unwrap(), "human circling");
        run
    };
    let mut run = asking();
    run.check(answers("2"), &["notice Given up", "end GivenUp"]);
    let mut run = asking();
    run.check(answers("look in the cellar"), &["ask a/one Work"]);
    assert_eq!(run.said().last().unwrap(), "user: look in the cellar");
    assert_eq!(run.run().transcript.entries().last().unwrap().author, Some(ANNA));
    let mut run = asking();
    run.check(answers("Carry on"), &["ask a/one Work"]);
    insta::assert_snapshot!(run.said().last().unwrap(), @"user: [The user was told that you go in circles, and wants you to carry on. Take another way than before.]");
}

#[test]
fn e6_who_was_asked_and_circles_again_is_broken_off() {
    let mut run = with(&["look", "send"]);
    run.on(wants(&["send"]));
    run.on(done("1.0"));
    for _ in 0..5 {
        round(&mut run);
    }
    run.on(answers("carry on"));
    for _ in 0..4 {
        round(&mut run);
    }
    assert_eq!(
        round(&mut run),
        [
            "agent.loop.detected",
            "agent.loop.detected",
            "notice I was going in circles again",
            "end Failed { why: \"circling\" }"
        ]
    );
    insta::assert_snapshot!(run.said().last().unwrap(), @"
    hob: I was going in circles again: I have called look 4 times with the same arguments. So I have stopped here.
    By my record:
    - send: 1 of 1 done
    To go on, write to me again, best with a word on what to do differently.
    ");
}

#[test]
fn e6_where_nobody_can_be_asked_the_loop_is_broken_off() {
    let mut state = State::Empty;
    step(&mut state, Event::Accepted(AcceptedInput { order: RunKind::Heartbeat, ..accepted() }));
    step(&mut state, Event::Begun(Box::new(offered(&["look", "ask_human"]))));
    let mut last = Vec::new();
    for cycle in 1..=5 {
        last = step(&mut state, wants(&["look"])).effects;
        if cycle < 4 {
            step(&mut state, done(&format!("{cycle}.0")));
        }
    }
    assert_eq!(super::shown(last.last().unwrap()), "end Failed { why: \"circling\" }");
}

#[test]
fn b3_what_is_new_takes_it_back_to_the_beginning() {
    let mut run = with(&["look", "recall"]);
    for _ in 0..4 {
        round(&mut run);
    }
    run.on(wants(&["recall"]));
    run.on(done("5.0"));
    run.on(wants(&["other"]));
    run.on(done("6.0"));
    assert_eq!(round(&mut run), ["agent.loop.detected", "agent.guardrail.escalated", "ask a/one Work"]);
    assert_eq!(choice(&run), ToolChoice::Auto, "a warning, not a step further");
}

#[test]
fn a_person_who_joins_in_ends_the_suspicion() {
    let mut run = with(&["look"]);
    for _ in 0..3 {
        round(&mut run);
    }
    run.on(wants(&["other"]));
    run.check(steers(ANNA, "look again"), &[]);
    run.on(done("4.0"));
    assert_eq!(round(&mut run), ["ask a/one Work"]);
}

#[test]
fn e6_of_many_same_calls_in_one_reply_three_are_run() {
    let mut run = with(&["send"]);
    run.check(
        wants(&["send", "send", "send", "send"]),
        &["agent.loop.detected", "agent.guardrail.escalated", "run 1.0 send #1", "run 1.1 send #1", "run 1.2 send #1"],
    );
}

#[test]
fn a11_the_same_words_beside_calls_are_warned_of() {
    let mut run = with(&["look"]);
    let says_and_looks = || Event::ModelAnswered(completion("Let me see.", &["look"]));
    for cycle in 1..=2 {
        run.on(says_and_looks());
        let text = "no".to_owned();
        run.on(finished(&format!("{cycle}.0"), ToolOutcome::Text { text, is_error: true }));
    }
    run.check(says_and_looks(), &["agent.loop.detected", "agent.guardrail.escalated", "run 3.0 look #1"]);
    run.on(finished("3.0", ToolOutcome::Text { text: "no".to_owned(), is_error: true }));
    let last = run.said().pop().unwrap();
    assert!(last.contains("[You have said the same words 3 times. Do not do it again"), "{last}");
}

#[test]
fn a11_a_reply_that_only_repeats_itself_is_not_continued() {
    let mut run = Script::begun();
    run.check(cut_off("and so on"), &["ask a/one Work"]);
    run.check(cut_off("and so on"), &["ask a/one Work"]);
    run.check(
        cut_off("and so on"),
        &[
            "agent.loop.detected",
            "answer and so onand so onand so on\n\n(The model began to repeat itself here, so I stopped it.)",
            "end Completed",
        ],
    );
}

#[test]
fn e9_what_failed_and_what_was_denied_say_what_not_to_do() {
    let mut run = Script::acting(&["look", "send", "other"]);
    run.on(finished("1.0", ToolOutcome::Text { text: "broken".to_owned(), is_error: true }));
    run.on(finished("1.1", ToolOutcome::Denied { reason: "not allowed".to_owned() }));
    run.on(done("1.2"));
    insta::assert_snapshot!(run.told()[2..].join("\n"), @"
    tool 1.0 failed: broken

    [It failed. Don't make results up: try another way, or say plainly what is not known or not done.]
    tool 1.1 failed: not allowed

    [It was denied. Don't try it again unless the user asks for it; say plainly that it was not done.]
    tool 1.2: ok
    ");
}

/// The forced choice is a part of the request, so its hash tells it.
#[test]
fn b3_the_digest_tells_what_is_forced() {
    let forced = |tools: &[&str]| {
        let mut run = with(tools);
        while run.run().guard.force().is_none() {
            round(&mut run);
        }
        run.run().clone()
    };
    let (one, any) = (forced(&["look", "recall", "ask_human"]), forced(&["look", "ask_human"]));
    assert_ne!(one.guard.force(), any.guard.force());
    let mut other = one.clone();
    other.guard = any.guard;
    assert_ne!(one.call_model().digest, other.call_model().digest);
}
