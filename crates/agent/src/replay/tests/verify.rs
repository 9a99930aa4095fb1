use super::{busy, recorded};
use crate::machine::digest::Digest;
use crate::machine::event::{Event, ToolOutcome};
use crate::replay::verify::{HashVerdict, ReplayVerdict};
use crate::replay::{RecordedRun, UnreadableRow};

fn checked(change: impl FnOnce(&mut RecordedRun)) -> ReplayVerdict {
    let mut run = recorded(&busy());
    change(&mut run);
    ReplayVerdict::of(&run)
}

#[test]
fn n2_an_honest_journal_holds() {
    let verdict = checked(|_| {});
    assert!(verdict.holds(), "{verdict:?}");
    assert!(matches!(verdict.hash, HashVerdict::Same { .. }));
    assert_eq!((verdict.mismatch, verdict.told.len(), verdict.events), (None, 0, busy().journal.len()));
}

#[test]
fn n2_a_changed_result_is_seen_where_it_was_used() {
    let verdict = checked(|run| {
        for timed in &mut run.events {
            if let Event::ToolFinished { outcome: ToolOutcome::Text { text, .. }, .. } = &mut timed.event {
                "all is well".clone_into(text);
                break;
            }
        }
    });
    assert!(!verdict.holds());
    let mismatch = verdict.mismatch.unwrap();
    assert!(mismatch.expected.starts_with("model.asked a/one"), "{mismatch}");
    assert!(matches!(verdict.hash, HashVerdict::Different { .. }));
}

/// What no later request depends on is seen by the hash alone.
#[test]
fn n2_a_changed_bill_is_seen_by_the_hash() {
    let verdict = checked(|run| {
        for timed in &mut run.events {
            if let Event::ModelAnswered(completion) = &mut timed.event {
                completion.usage.output_tokens = 1;
            }
        }
    });
    assert_eq!((verdict.holds(), verdict.mismatch.is_none()), (false, true));
}

#[test]
fn n2_what_is_missing_or_unreadable_does_not_hold() {
    let verdict = checked(|run| drop(run.events.pop()));
    assert_eq!((verdict.holds(), verdict.mismatch.map(|found| found.actual)), (false, Some("missing".to_owned())));
    let verdict = checked(|run| {
        run.events.truncate(4);
        run.broken = Some(UnreadableRow { seq: 5, what: "no event".to_owned() });
    });
    assert_eq!(
        (verdict.holds(), verdict.unreadable, verdict.mismatch),
        (false, Some((5, "no event".to_owned())), None)
    );
}

#[test]
fn n2_hashes_of_other_schemes_are_not_compared() {
    let verdict = checked(|run| run.state_hash = Some("state0:ab".to_owned()));
    assert!(verdict.holds());
    assert_eq!(verdict.hash, HashVerdict::OtherScheme { stored: Digest("state0:ab".to_owned()) });
    let verdict = checked(|run| run.state_hash = None);
    assert_eq!((verdict.holds(), verdict.hash), (true, HashVerdict::NotStored));
}
