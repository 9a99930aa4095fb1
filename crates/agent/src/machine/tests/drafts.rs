//! Drafts: calls that are judged by what they did, and the one question that settles them (rows D6, N6).

use super::{Script, answers, begun, crash, done, finished, hard_limit, panic, presses, says, stop, wants};
use crate::machine::approval;
use crate::machine::draft::{NOT_KEPT, UNSETTLED, place_of};
use crate::machine::event::{Event, RunReply, ToolOutcome};
use crate::machine::policy::{DeclaredLoop, Policy, Termination};
use crate::machine::question::{CallConcern, Question};
use crate::machine::run_start::RunStart;
use crate::machine::state::Phase;
use hob_core::domain::draft::{DraftUse, WorkspaceDraft};
use hob_core::domain::ids::CallId;
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::tools::{Approval, Assessment, DangerGrade, KEEP_CHANGES, Risk, ToolFacts};

/// `shell` and `send` work on the workspace; `ask_shell` does so as well, and its owner wants to be asked about each.
fn run_start() -> RunStart {
    let facts = |risk, approval| ToolFacts { risk, approval, changes: true, workspace: true, ..ToolFacts::default() };
    let keeps = ToolFacts { exclusive: true, workspace: false, ..facts(Risk::Write, Approval::Critical) };
    let tools = [
        ("look", ToolFacts::default()),
        ("shell", facts(Risk::Execute, Approval::Free)),
        ("ask_shell", facts(Risk::Execute, Approval::Ask)),
        ("send", facts(Risk::Send, Approval::Free)),
        (KEEP_CHANGES, keeps),
    ];
    let mut policy = Policy::default();
    policy.guards.enabled = false;
    policy.truth.ask_again = false;
    RunStart {
        policy: Some(Box::new(policy)),
        tools: tools.map(|(name, facts)| (name.to_owned(), facts)).into(),
        idempotent_tools: vec!["look".to_owned(), KEEP_CHANGES.to_owned()],
        ..begun()
    }
}

fn page() -> Taint {
    Taint::from_iter([OriginSource::new(Origin::Web, "https://a.example/")])
}

fn started(begun: RunStart) -> Script {
    let mut run = Script::queued();
    run.check(Event::Begun(Box::new(begun)), &["ask a/one Work"]);
    run
}

fn tainted() -> Script {
    started(RunStart { taint: page(), ..run_start() })
}

fn graded(grade: DangerGrade, contained: bool) -> Assessment {
    Assessment { risk: Risk::Execute, grade, contained, ..Assessment::default() }
}

/// What is known of the calls of the next reply: which of them are contained.
fn knows(run: &mut Script, contained: &[bool]) {
    let calls = contained.iter().map(|contained| graded(DangerGrade::Safe, *contained)).collect();
    run.check(Event::Assessed { calls }, &[]);
}

fn draft(number: u32, digest: &str, changes: u32) -> WorkspaceDraft {
    let (digest, shown) = (digest.to_owned(), format!("new: {digest}"));
    WorkspaceDraft { number, digest, changes, shown, whole: None, runs_later: Vec::new() }
}

/// The call is done, and the draft holds this.
fn leaves(call: &str, draft: WorkspaceDraft) -> Event {
    let outcome = ToolOutcome::Text { text: "ok".to_owned(), is_error: false };
    Event::ToolFinished {
        call: CallId(call.to_owned()),
        outcome,
        source: None,
        draft: Some(Box::new(draft)),
        undo: None,
    }
}

fn place(run: &Script, call: &str) -> DraftUse {
    place_of(run.run(), &CallId(call.to_owned()))
}

/// A tainted run whose command has changed something.
fn changed() -> Script {
    let mut run = tainted();
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["run 1.0 shell #1"]);
    assert_eq!(place(&run, "1.0"), DraftUse::Open(0));
    run.check(leaves("1.0", draft(0, "d1", 2)), &["ask a/one Work"]);
    run
}

/// The same, asked at its last word.
fn asked() -> Script {
    let mut run = changed();
    run.check(says("I have written it."), &["human approves 2.0 keep_changes"]);
    run
}

fn question(run: &Script) -> (String, CallConcern) {
    let Phase::Waiting { question: Question::Approval { arguments, grantable: false, concern, .. }, .. } =
        &run.run().phase
    else {
        panic!("{:?}", run.run().phase)
    };
    (arguments.clone(), CallConcern::clone(concern))
}

#[test]
fn n6_a_tainted_runs_commands_run_at_once_and_one_question_settles_them() {
    let mut run = changed();
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["run 2.0 shell #1"]);
    run.check(leaves("2.0", draft(0, "d2", 3)), &["ask a/one Work"]);
    run.check(says("I have written it."), &["human approves 3.0 keep_changes"]);
    let (arguments, concern) = question(&run);
    assert_eq!(arguments, r#"{"digest":"d2"}"#);
    assert_eq!((concern.draft.map(|draft| draft.digest), concern.sources.len()), (Some("d2".to_owned()), 1));
    run.check(answers("always"), &["human approves 3.0 keep_changes"]);
    run.check(answers("approve"), &["run 3.0 keep_changes #1"]);
    assert_eq!(place(&run, "3.0"), DraftUse::Open(0));
    run.check(done("3.0"), &["ask a/one Work"]);
    assert_eq!((run.run().draft.clone(), run.run().drafts), (None, 1));
    assert_eq!(run.told().last().unwrap(), "user: [What was changed in the draft of the workspace: ok]");
    run.check(says("It is there."), &["answer It is there.", "end Completed"]);
}

#[test]
fn n6_a_command_that_changed_nothing_needs_no_question() {
    let mut run = tainted();
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["run 1.0 shell #1"]);
    run.check(leaves("1.0", draft(0, "", 0)), &["ask a/one Work"]);
    run.check(says("Nothing is there."), &["answer Nothing is there.", "end Completed"]);
}

#[test]
fn n6_what_is_denied_or_not_answered_is_thrown_away_and_the_model_is_told() {
    for (no, words) in [
        (answers("deny: not that"), "Their reason: not that"),
        (answers("no"), "They gave no reason."),
        (Event::Expired { question: 1 }, "nobody said in time"),
    ] {
        let mut run = asked();
        run.check(no, &["ask a/one Work"]);
        assert_eq!((run.run().draft.clone(), run.run().drafts), (None, 1));
        assert!(run.told().last().unwrap().contains(words), "{:?}", run.told());
        // What is changed from now on goes into another draft.
        knows(&mut run, &[true]);
        run.check(wants(&["shell"]), &["run 3.0 shell #1"]);
        assert_eq!(place(&run, "3.0"), DraftUse::Open(1));
        run.check(leaves("3.0", draft(0, "old", 5)), &["ask a/one Work"]);
        assert_eq!(run.run().draft, None, "a look at a draft that is settled says nothing");
    }
}

#[test]
fn n6_a_yes_covers_what_was_shown_and_nothing_else() {
    let mut run = asked();
    run.check(answers("approve"), &["run 2.0 keep_changes #1"]);
    run.check(leaves("2.0", draft(0, "other", 2)), &["ask a/one Work"]);
    run.check(says("I have written it."), &["human approves 3.0 keep_changes"]);
    assert_eq!(question(&run).0, r#"{"digest":"other"}"#);
    run.check(presses(1, "1"), &["ignored: that question is no longer open"]);
    run.check(presses(2, "1"), &["run 3.0 keep_changes #1"]);
}

#[test]
fn n6_a_clean_runs_call_works_at_once_whatever_its_text_says() {
    let mut run = started(run_start());
    knows(&mut run, &[true, false]);
    run.check(wants(&["shell", "shell"]), &["run 1.0 shell #1", "run 1.1 shell #1"]);
    assert_eq!((place(&run, "1.0"), place(&run, "1.1")), (DraftUse::AtOnce, DraftUse::AtOnce));
    run.check(done("1.0"), &[]);
    run.check(done("1.1"), &["ask a/one Work"]);
    for (grade, expected, at) in [
        (DangerGrade::Critical, "run 2.0 shell #1", DraftUse::Open(0)),
        (DangerGrade::Medium, "run 3.0 shell #1", DraftUse::Open(0)),
    ] {
        run.check(Event::Assessed { calls: vec![graded(grade, true)] }, &[]);
        run.check(wants(&["shell"]), &[expected]);
        let call = expected.split(' ').nth(1).unwrap();
        assert_eq!(place(&run, call), at);
        run.check(leaves(call, draft(0, "", 0)), &["ask a/one Work"]);
    }
    run.check(Event::Assessed { calls: vec![graded(DangerGrade::Refused, true)] }, &[]);
    run.check(wants(&["shell"]), &["ask a/one Work"]);
    assert!(run.told().last().unwrap().contains("nobody may have this call made"));
}

#[test]
fn d6_what_is_not_contained_or_is_to_be_asked_about_is_asked_about() {
    let mut run = tainted();
    knows(&mut run, &[false, true]);
    run.check(wants(&["shell", "ask_shell"]), &["human approves 1.0 shell"]);
    run.check(answers("no"), &["human approves 1.1 ask_shell"]);
    run.check(answers("approve"), &["run 1.1 ask_shell #1"]);
    assert_eq!(place(&run, "1.1"), DraftUse::Open(0), "it still works in the draft");
    let mut without = run_start();
    without.tools.remove(KEEP_CHANGES);
    let mut run = started(RunStart { taint: page(), ..without });
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["human approves 1.0 shell"]);
    run.check(answers("approve"), &["run 1.0 shell #1"]);
    assert_eq!(place(&run, "1.0"), DraftUse::AtOnce, "nobody could settle a draft");
}

#[test]
fn n6_whoever_works_on_the_workspace_itself_finds_what_the_run_believes_is_there() {
    let mut run = tainted();
    knows(&mut run, &[true, false, true]);
    run.check(wants(&["shell", "send", "shell"]), &["run 1.0 shell #1"]);
    run.check(leaves("1.0", draft(0, "d1", 1)), &["human approves 1.3 keep_changes"]);
    assert_eq!(question(&run).0, r#"{"digest":"d1"}"#);
    run.check(answers("approve"), &["run 1.3 keep_changes #1"]);
    run.check(done("1.3"), &["human approves 1.1 send"]);
    run.check(answers("approve"), &["run 1.1 send #1"]);
    run.check(done("1.1"), &["run 1.2 shell #1"]);
    assert_eq!(place(&run, "1.2"), DraftUse::Open(1));
    run.check(leaves("1.2", draft(1, "", 0)), &["ask a/one Work"]);
    // With nothing in the draft nobody is asked about it.
    knows(&mut run, &[false]);
    run.check(wants(&["send"]), &["human approves 2.0 send"]);
    run.check(answers("no"), &["ask a/one Work"]);
    let told = run.told();
    let note = "user: [What was changed in the draft of the workspace: ok]";
    assert!(told.iter().any(|said| said == note), "{told:?}");
}

#[test]
fn n6_a_model_may_ask_for_it_itself() {
    let mut run = tainted();
    knows(&mut run, &[true, false]);
    run.check(wants(&["shell", KEEP_CHANGES]), &["run 1.0 shell #1"]);
    run.check(leaves("1.0", draft(0, "d1", 1)), &["human approves 1.1 keep_changes"]);
    run.check(answers("approve"), &["run 1.1 keep_changes #1"]);
    run.check(done("1.1"), &["ask a/one Work"]);
    assert!(run.told().last().unwrap().starts_with("tool 1.1: ok"));
    knows(&mut run, &[false]);
    run.check(wants(&[KEEP_CHANGES]), &["run 2.0 keep_changes #1"]);
    run.check(done("2.0"), &["ask a/one Work"]);
    assert_eq!(run.run().drafts, 1, "there was nothing to settle");
}

#[test]
fn b10_a_kill_at_any_step_asks_nobody_and_does_nothing_twice() {
    // In the middle of a command: its second try knows its draft.
    let mut run = tainted();
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["run 1.0 shell #1"]);
    run.check(crash(), &["run 1.0 shell #2"]);
    run.check(leaves("1.0", draft(0, "d1", 2)), &["ask a/one Work"]);
    run.check(crash(), &["ask a/one Work"]);
    run.check(says("I have written it."), &["human approves 2.0 keep_changes"]);
    run.check(crash(), &[]);
    run.check(answers("approve"), &["run 2.0 keep_changes #1"]);
    // In the middle of keeping: bound to what was approved.
    run.check(crash(), &["run 2.0 keep_changes #2"]);
    assert!(approval::is_due(run.run(), &CallId("2.0".to_owned())), "it would be asked about, were it new");
    run.check(done("2.0"), &["ask a/one Work"]);
    run.check(crash(), &["ask a/one Work"]);
    assert_eq!(run.on(says("Done.")).last().unwrap(), "end Completed");
}

#[test]
fn n6_a_run_that_ends_otherwise_drops_its_draft_and_says_so() {
    for end in [hard_limit(), panic()] {
        let mut run = changed();
        run.on(end);
        let first = run
            .journal
            .iter()
            .find_map(|event| if let Event::Replied(RunReply::Notice { text }) = event { Some(text) } else { None });
        assert!(first.is_some_and(|text| text.ends_with(NOT_KEPT)), "{first:?}");
    }
    let mut run = asked();
    run.check(stop(), &["end Cancelled"]);
    assert_eq!(run.told().last().unwrap(), &format!("user: {UNSETTLED}"));
    let mut run = changed();
    run.check(stop(), &["end Cancelled"]);
    let mut run = tainted();
    run.on(hard_limit());
    assert!(!format!("{:?}", run.journal).contains(NOT_KEPT), "there was none");
}

#[test]
fn d2_a_declared_loop_settles_its_draft_before_it_ends() {
    let terminate = vec![
        Termination::ToolResult { tool: Some("shell".to_owned()), exit_code: Some(0), contains: None },
        Termination::TextIncludes { text: "DONE".to_owned() },
    ];
    let mut begun = RunStart { taint: page(), ..run_start() };
    begun.policy.as_mut().unwrap().declared = Some(DeclaredLoop { max_cycles: 9, terminate });
    let mut run = started(begun.clone());
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["run 1.0 shell #1"]);
    let outcome = ToolOutcome::Exited { text: "built".to_owned(), code: 0 };
    let built = Event::ToolFinished {
        call: CallId("1.0".to_owned()),
        outcome,
        source: None,
        draft: Some(Box::new(draft(0, "d1", 1))),
        undo: None,
    };
    run.check(built, &["human approves 1.1 keep_changes"]);
    run.check(answers("approve"), &["run 1.1 keep_changes #1"]);
    assert_eq!(run.on(done("1.1")).last().unwrap(), "end Completed");
    let mut run = started(begun);
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["run 1.0 shell #1"]);
    run.check(leaves("1.0", draft(0, "d1", 1)), &["ask a/one Work"]);
    run.check(says("DONE"), &["human approves 2.0 keep_changes"]);
    let ended = run.on(answers("deny"));
    assert_eq!(ended.last().unwrap(), "end Completed");
    assert!(ended.concat().contains("1 not allowed"), "the record tells what was not kept: {ended:?}");
}

#[test]
fn n6_no_draft_is_settled_in_the_middle_of_a_stop() {
    let mut run = tainted();
    knows(&mut run, &[true]);
    run.check(wants(&["shell"]), &["run 1.0 shell #1"]);
    run.check(stop(), &["abort 1.0"]);
    run.check(finished("1.0", ToolOutcome::Interrupted), &["end Cancelled"]);
}
