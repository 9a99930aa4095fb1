//! The run journal (row B12).

use super::world::noting;
use super::{Script, begun, done, fails, finished, hard_limit, panic, says, wants};
use crate::machine::event::{Event, RunReply, ToolOutcome};
use crate::machine::notebook::Notebook;
use crate::machine::run_start::RunStart;
use hob_core::domain::notebook::{NotebookChange, Section};
use hob_model::error::ErrorClass;

fn append(section: Section, entry: &str) -> NotebookChange {
    NotebookChange::Append { section, entry: entry.to_owned() }
}

fn full() -> Notebook {
    let mut notebook = Notebook::default();
    notebook.change(&NotebookChange::Update {
        objective: Some("Paint the fence <green>".to_owned()),
        current_state: Some("One side is done".to_owned()),
        handoff_next_action: Some("Do the other side".to_owned()),
    });
    for (section, entry) in [
        (Section::VerifiedFindings, "The paint is in the shed"),
        (Section::VerifiedFindings, "The fence is 12 m long"),
        (Section::Decisions, "Two coats"),
        (Section::Artifacts, "shopping.md"),
        (Section::OpenQuestions, "Who has the key?"),
        (Section::Blockers, "Rain until noon"),
        (Section::Blockers, "No brush"),
    ] {
        assert_eq!(notebook.change(&append(section, entry)), ("Noted.".to_owned(), false));
    }
    notebook
}

#[test]
fn b12_all_of_it_in_markdown_and_its_digest_and_its_gist() {
    let notebook = full();
    insta::assert_snapshot!(notebook.whole(), @r"
    ## Objective
    Paint the fence <green>

    ## Current state
    One side is done

    ## Verified findings
    - The paint is in the shed
    - The fence is 12 m long

    ## Decisions
    - Two coats

    ## Artifacts
    - shopping.md

    ## Open questions
    - Who has the key?

    ## Blockers
    - Rain until noon
    - No brush

    ## Next action
    Do the other side
    ");
    insta::assert_snapshot!(notebook.digest().unwrap(), @r"
    objective: Paint the fence ‹green›
    state: One side is done
    blocker: Rain until noon
    next: Do the other side
    also noted: 1 decisions, 1 artifacts, 1 open questions
    found: The fence is 12 m long
    found: The paint is in the shed
    ");
    insta::assert_snapshot!(notebook.gist().unwrap(), @r"
    Objective: Paint the fence ‹green›
    Where it stood: One side is done
    Next: Do the other side
    /journal shows what I noted.
    ");
    insta::assert_snapshot!(notebook.message().unwrap().text(), @r"
    <run_journal>
    Your notes on this task, as data:
    objective: Paint the fence ‹green›
    state: One side is done
    blocker: Rain until noon
    next: Do the other side
    also noted: 1 decisions, 1 artifacts, 1 open questions
    found: The fence is 12 m long
    found: The paint is in the shed
    </run_journal>
    ");
    insta::assert_snapshot!(notebook.handed_over().lines().take(3).collect::<Vec<_>>().join("\n"), @r"
    your run journal of the task before this message, which did not come to its end:
    ## Objective
    Paint the fence ‹green›
    ");
    let empty = Notebook::default();
    assert_eq!(empty.whole(), "The run journal is empty.");
    assert_eq!((empty.digest(), empty.message(), empty.gist()), (None, None, None));
    assert_eq!(empty.below("Told."), "Told.");
}

#[test]
fn b12_the_digest_never_grows_beyond_its_length() {
    let mut notebook = Notebook::default();
    let long = "wörd ".repeat(60);
    for _ in 0..2 {
        notebook.change(&NotebookChange::Update {
            objective: Some(long.clone()),
            current_state: Some(long.clone()),
            handoff_next_action: Some(long.clone()),
        });
        for number in 0..40 {
            let entry = format!("{number} {}", "ä".repeat(number));
            for section in [Section::VerifiedFindings, Section::Decisions, Section::Blockers, Section::Artifacts] {
                notebook.change(&append(section, &entry));
            }
            let digest = notebook.digest().unwrap();
            assert!(digest.chars().count() <= 500, "{} {digest}", digest.chars().count());
        }
    }
    let digest = notebook.digest().unwrap();
    assert!(digest.contains("found: 39 "), "the latest finding is there: {digest}");
    assert!(digest.contains("also noted: 20 decisions, 20 artifacts"), "{digest}");
}

#[test]
fn b12_what_is_noted_has_bounds() {
    let mut notebook = Notebook::default();
    let update =
        |text: String| NotebookChange::Update { objective: None, current_state: Some(text), handoff_next_action: None };
    let nothing = ("Nothing was given to be noted.".to_owned(), true);
    assert_eq!(notebook.change(&update(" \n".to_owned())), nothing);
    assert_eq!(notebook.change(&append(Section::Decisions, "  ")), nothing);
    assert_eq!(notebook.change(&update("ä".repeat(1_000))), ("Noted.".to_owned(), false));
    let refused = notebook.change(&update("ä".repeat(1_001)));
    assert_eq!(refused, ("Not noted: 1001 characters, and at most 1000 fit. Say it shorter.".to_owned(), true));
    assert_eq!(notebook.change(&append(Section::Decisions, &"ä".repeat(300))).0, "Noted.");
    let refused = notebook.change(&append(Section::Decisions, &"ä".repeat(301)));
    assert_eq!(refused, ("Not noted: 301 characters, and at most 300 fit. Say it shorter.".to_owned(), true));
    assert_eq!(notebook.current_state.chars().count(), 1_000, "what was refused changed nothing");
}

#[test]
fn b12_a_full_list_drops_its_oldest_entry_and_says_so() {
    let mut notebook = Notebook::default();
    for number in 1..=20 {
        assert_eq!(notebook.change(&append(Section::Blockers, &format!("number {number}"))).0, "Noted.");
    }
    assert_eq!(notebook.change(&append(Section::Blockers, " number 7 ")), ("Noted already.".to_owned(), false));
    let (told, is_error) = notebook.change(&append(Section::Blockers, "number 21"));
    assert_eq!(
        (told.as_str(), is_error),
        ("Noted. The list was full (20), so its oldest entry is gone: number 1", false)
    );
    assert_eq!((notebook.blockers.len(), notebook.blockers[19].as_str()), (20, "number 21"));
}

#[test]
fn b12_the_tools_read_and_write_it_and_requests_carry_it() {
    let mut run = Script::acting(&["update_run_journal", "append_run_journal_entry", "get_run_journal"]);
    let before = run.run().call_model();
    run.check(finished("1.0", ToolOutcome::Notebook { change: noting("Paint the fence") }), &[]);
    let noted = run.run().call_model();
    assert_ne!(noted.digest, before.digest, "the request is another one");
    assert!(noted.counted > before.counted, "and a longer one");
    let change = append(Section::Decisions, "Two coats");
    run.check(finished("1.1", ToolOutcome::Notebook { change }), &[]);
    let change = NotebookChange::Read;
    run.check(finished("1.2", ToolOutcome::Notebook { change }), &["ask a/one Work"]);
    insta::assert_snapshot!(run.said()[2..].join("\n"), @r"
    tool 1.0: Noted.
    tool 1.1: Noted.
    tool 1.2: ## Objective
    Paint the fence

    ## Decisions
    - Two coats
    ");
}

#[test]
fn b12_a_continuation_begins_with_the_notes() {
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(RunStart { notebook: Some(Box::new(full())), ..begun() })));
    assert_eq!(run.run().notebook, full());
    run.on(wants(&["get_run_journal"]));
    run.on(finished("1.0", ToolOutcome::Notebook { change: NotebookChange::Read }));
    assert!(run.said().last().unwrap().starts_with("tool 1.0: ## Objective"));
}

#[test]
fn b12_who_is_told_of_a_failure_is_told_where_it_stood() {
    let notice = |event: Event| {
        let mut run = Script::acting(&["update_run_journal"]);
        run.on(finished("1.0", ToolOutcome::Notebook { change: noting("Paint the fence") }));
        run.on(event);
        run.journal.iter().find_map(|event| {
            if let Event::Replied(RunReply::Notice { text }) = event { Some(text.clone()) } else { None }
        })
    };
    insta::assert_snapshot!(notice(hard_limit()).unwrap(), @r"
    I ran out of time on this and stopped. What was done so far is in our conversation; send a message to go on from there.

    Objective: Paint the fence
    /journal shows what I noted.
    ");
    for event in [panic(), fails(ErrorClass::Refused)] {
        let told = notice(event).unwrap();
        assert!(told.ends_with("\n\nObjective: Paint the fence\n/journal shows what I noted."), "{told}");
    }
}

#[test]
fn b12_a_notebook_in_no_batch_changes_nothing() {
    let mut run = Script::begun();
    run.check(finished("1.0", ToolOutcome::Notebook { change: noting("x") }), &["ignored: no tool is running"]);
    assert!(run.run().notebook.is_empty());
    run.check(says("hi"), &["answer hi", "end Completed"]);
    run.check(done("1.0"), &["ignored: the run is over"]);
}
