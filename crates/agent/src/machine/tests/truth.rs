//! What is told agrees with what was done (row E10).

use super::{
    BEN, Script, answers, asks, begun, completion, crash, cut_off, done, fails, finished, says, steers, wants,
};
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::policy::{Policy, TruthPolicy};
use crate::machine::run_start::RunStart;
use crate::machine::state::Phase;
use crate::machine::stop::BudgetStop;
use hob_core::domain::ids::CallId;
use hob_core::domain::money::Money;
use hob_core::domain::tools::ToolFacts;
use hob_core::policy::budget::CapScope;
use hob_model::error::ErrorClass;
use hob_model::message::{Completion, ToolCall};

const CAUGHT: [&str; 2] = ["agent.phantom.caught", "ask a/one Work"];
const FOOTER: &str = "(By my record, nothing was changed for this: no tool did it.)";

/// A run that could send.
fn can_send() -> RunStart {
    let facts = |name: &str, changes| (name.to_owned(), ToolFacts { changes, ..ToolFacts::default() });
    RunStart { tools: [facts("look", false), facts("send", true)].into(), ..begun() }
}

fn of(begun: RunStart) -> Script {
    let mut run = Script::queued();
    run.on(Event::Begun(Box::new(begun)));
    run
}

fn failed(call: &str, text: &str) -> Event {
    finished(call, ToolOutcome::Text { text: text.to_owned(), is_error: true })
}

/// A reply that wants `send` for each of these.
fn sends(to: &[&str]) -> Event {
    let call = |to: &&str| ToolCall {
        id: CallId(String::new()),
        name: "send".to_owned(),
        arguments: format!(r#"{{"to": "{to}"}}"#),
    };
    Event::ModelAnswered(Completion::from_text_and_calls("", to.iter().map(call).collect()))
}

#[test]
fn e10_a_claim_without_a_deed_is_looked_at_once_more() {
    let mut run = of(can_send());
    run.check(says("Ich habe Ben geschrieben und die Nachricht gesendet."), &CAUGHT);
    assert_eq!(run.said(), ["user: hello"], "nobody has been told yet");
    let aside = run.run().truth.aside();
    assert_eq!(aside[0].text(), "Ich habe Ben geschrieben und die Nachricht gesendet.");
    insta::assert_snapshot!(aside[1].text(), @"[Before your reply goes out: by the record, no tool has changed anything for this message. If your reply says or implies that you have now done, saved, sent or changed something, do it now with a tool; or, if that cannot be, write the reply anew so that it is true, in the same language, and without a word about this check. If it claims nothing of the kind, or tells of something done earlier, answer exactly KEEP]");
    run.check(says("Ich kann Ben nicht erreichen."), &["answer Ich kann Ben nicht erreichen.", "end Completed"]);
    assert_eq!(run.said(), ["user: hello", "hob: Ich kann Ben nicht erreichen."]);
}

#[test]
fn e10_the_check_is_part_of_the_request() {
    let mut run = of(can_send());
    let Phase::Calling(first) = run.run().phase.clone() else { panic!() };
    run.on(says("Sent."));
    let Phase::Calling(check) = &run.run().phase else { panic!() };
    assert!(check.check && !first.check);
    assert_ne!(check.digest, first.digest);
    assert!(check.counted > first.counted + 50, "{} {}", check.counted, first.counted);
}

#[test]
fn e10_what_may_stand_stands() {
    for keep in ["KEEP", " KEEP.", "\"KEEP\"", "`KEEP`\n"] {
        let mut run = of(can_send());
        run.check(says("Done."), &CAUGHT);
        run.check(says(keep), &["answer Done.", "end Completed"]);
        assert_eq!(run.said(), ["user: hello", "hob: Done."]);
    }
    let mut run = of(can_send());
    run.on(says("Done."));
    run.check(says("keep"), &["answer keep", "end Completed"]);
}

#[test]
fn e10_the_deed_may_be_done_now() {
    let mut run = of(can_send());
    run.on(says("Sent."));
    run.check(wants(&["send"]), &["run 2.0 send #1"]);
    run.check(done("2.0"), &["ask a/one Work"]);
    run.check(says("Sent."), &["answer Sent.", "end Completed"]);
    assert_eq!(run.said()[1], "hob: Sent.");
    assert_eq!(run.said()[3..], ["hob:  <2.0 send>", "tool 2.0: ok", "hob: Sent."]);
}

#[test]
fn e10_who_claims_it_again_is_contradicted_by_the_record() {
    let mut run = of(can_send());
    run.on(says("Sent."));
    run.check(says("I've sent it."), &[&format!("answer I've sent it.\n\n{FOOTER}"), "end Completed"]);
    let mut run = of(can_send());
    run.on(says("Sent."));
    run.on(wants(&["look"]));
    run.on(done("2.0"));
    run.check(says("Sent."), &[&format!("answer Sent.\n\n{FOOTER}"), "end Completed"]);
}

#[test]
fn e10_who_has_done_something_is_not_asked() {
    let mut run = of(can_send());
    run.on(wants(&["send"]));
    run.on(done("1.0"));
    run.check(says("Sent."), &["answer Sent.", "end Completed"]);
    let mut run = of(can_send());
    run.on(wants(&["look"]));
    run.on(done("1.0"));
    run.check(says("Sent."), &CAUGHT);
}

#[test]
fn e10_where_nothing_can_be_changed_nobody_is_asked() {
    let mut run = of(begun());
    run.check(says("Sent."), &["answer Sent.", "end Completed"]);
    let policy = Policy { truth: TruthPolicy { ask_again: false }, ..Policy::default() };
    let mut run = of(RunStart { policy: Some(Box::new(policy)), ..can_send() });
    run.check(says("Sent."), &["answer Sent.", "end Completed"]);
    let mut run = of(can_send());
    run.on(Event::SoftLimit);
    run.check(says("Sent."), &["answer Sent.", "end Completed"]);
    let mut run = of(can_send());
    run.on(says("NO_REPLY"));
    assert!(run.run().end().is_some());
}

#[test]
fn e10_without_money_or_a_model_the_reply_is_told_as_it_was() {
    let nano = Money::from_nanos(1);
    let stop = BudgetStop { scope: CapScope::Run, cap: nano, used: nano, resets: None, persona: None };
    let mut run = of(can_send());
    run.on(Event::BudgetReached(stop));
    run.check(says("Sent."), &["answer Sent.", "end Completed"]);
    let mut run = of(can_send());
    run.on(says("Sent."));
    run.check(fails(ErrorClass::Refused), &[&format!("answer Sent.\n\n{FOOTER}"), "end Completed"]);
}

#[test]
fn e10_a_check_survives_a_crash_and_yields_to_people() {
    let mut run = of(can_send());
    run.on(says("Sent."));
    run.check(crash(), &["ask a/one Work"]);
    run.check(says("KEEP"), &["answer Sent.", "end Completed"]);
    let mut run = of(can_send());
    run.on(says("Sent."));
    run.check(steers(BEN, "and me"), &[]);
    run.check(says("KEEP"), &["ask a/one Work"]);
    assert_eq!(run.said(), ["user: hello", "hob: Sent.", "user: [Ben] and me"]);
    let mut run = of(can_send());
    run.on(says("Sent."));
    run.on(steers(BEN, "and me"));
    run.check(crash(), &["ask a/one Work"]);
    assert_eq!(run.said(), ["user: hello", "hob: Sent.", "user: [Ben] and me"]);
    assert!(run.run().truth.aside().is_empty());
}

#[test]
fn e10_a_reply_in_parts_is_looked_at_as_a_whole() {
    let mut run = of(can_send());
    run.on(cut_off("I've"));
    run.check(says(" sent it."), &CAUGHT);
    run.check(says("KEEP"), &["answer I've sent it.", "end Completed"]);
    let mut run = of(can_send());
    run.on(cut_off("I've"));
    run.on(says(" sent it."));
    run.check(says("I can't send it."), &["answer I can't send it.", "end Completed"]);
}

#[test]
fn e10_a_partial_failure_is_told_as_partial() {
    let mut run = of(can_send());
    run.on(sends(&["anna", "ben", "cleo", "dan"]));
    run.on(done("1.0"));
    run.on(failed("1.1", "no such address.\nmore"));
    run.on(finished("1.2", ToolOutcome::Denied { reason: "not on the list".to_owned() }));
    run.on(finished("1.3", ToolOutcome::Interrupted));
    let told = run.on(says("All four are sent."));
    insta::assert_snapshot!(told[0], @"
    answer All four are sent.

    (By my record, not all of it was done. send: 1 of 4 done, 1 failed (no such address), 1 not allowed (not on the list), 1 perhaps done (Interrupted before it finished; it may have had a part of its effect).)
    ");
}

#[test]
fn e10_what_was_made_good_is_not_told() {
    let mut run = of(can_send());
    run.on(sends(&["anna"]));
    run.on(failed("1.0", "busy"));
    run.on(sends(&["anna"]));
    run.on(failed("2.0", "busy"));
    run.on(sends(&["anna"]));
    run.on(done("3.0"));
    run.check(says("Sent."), &["answer Sent.", "end Completed"]);
    let mut run = of(can_send());
    run.on(sends(&["anna"]));
    run.on(failed("1.0", "busy"));
    run.on(sends(&["ben"]));
    run.on(done("2.0"));
    let told = run.on(says("Sent."));
    assert!(
        told[0].ends_with("(By my record, not all of it was done. send: 1 of 2 done, 1 failed (busy).)"),
        "{told:?}"
    );
    let mut run = of(can_send());
    run.on(wants(&["look"]));
    run.on(failed("1.0", "nothing there"));
    run.check(says("There is nothing."), &["answer There is nothing.", "end Completed"]);
}

#[test]
fn e10_the_same_failure_is_counted_once() {
    let mut run = of(can_send());
    run.on(sends(&["anna"]));
    run.on(failed("1.0", "busy"));
    run.on(sends(&["anna"]));
    run.on(failed("2.0", &"x".repeat(200)));
    let told = run.on(says("It could not be sent."));
    let short = format!("send: 0 of 1 done, 1 failed ({} …)", "x".repeat(80));
    assert!(told[0].contains(&short), "{told:?}");
}

#[test]
fn e10_of_hobs_own_refusal_people_are_told_one_sentence() {
    let expired = "Not run: a person had to approve this call, and nobody did in time. They have been told.";
    for (why, told) in [
        (expired, "a person had to approve this call, and nobody did in time"),
        ("Not run: it rains.", "it rains"),
        ("The door is open. It rains.", "The door is open. It rains"),
    ] {
        let mut run = of(can_send());
        run.on(sends(&["anna", "ben"]));
        run.on(done("1.0"));
        run.on(finished("1.1", ToolOutcome::Denied { reason: why.to_owned() }));
        let said = run.on(says("One is sent."));
        assert!(said[0].ends_with(&format!("1 not allowed ({told}).)")), "{said:?}");
    }
}

#[test]
fn e10_a_long_reason_ends_with_a_word() {
    for (why, told) in [
        ("y".repeat(80), "y".repeat(80)),
        (format!("{} {}", "x".repeat(70), "y".repeat(9)), format!("{} {}", "x".repeat(70), "y".repeat(9))),
        (format!("{} {}", "x".repeat(70), "y".repeat(10)), format!("{} …", "x".repeat(70))),
    ] {
        let mut run = of(can_send());
        run.on(sends(&["anna"]));
        run.on(failed("1.0", &why));
        let said = run.on(says("It could not be sent."));
        assert!(said[0].ends_with(&format!("1 failed ({told}).)")), "{said:?}");
    }
}

#[test]
fn e10_who_denied_all_of_it_is_not_told_so_again() {
    let denied = |call: &str| finished(call, ToolOutcome::Denied { reason: "he owes me".to_owned() });
    let mut run = of(can_send());
    run.on(sends(&["anna", "ben"]));
    run.on(denied("1.0"));
    run.on(denied("1.1"));
    run.check(says("Not sent."), &["answer Not sent.", "end Completed"]);
    // Unless the reply claims it.
    let record = "(By my record, not all of it was done. send: 0 of 1 done, 1 not allowed (he owes me).)";
    let mut run = of(can_send());
    run.on(sends(&["anna"]));
    run.on(denied("1.0"));
    run.check(says("I've sent it."), &CAUGHT);
    run.check(says("I have sent it."), &[&format!("answer I have sent it.\n\n{record}"), "end Completed"]);
    // Nor where something was done or tried in vain.
    for other in [done("1.1"), failed("1.1", "busy")] {
        let mut run = of(can_send());
        run.on(sends(&["anna", "ben"]));
        run.on(denied("1.0"));
        run.on(other);
        let told = run.on(says("Not sent."));
        assert!(told[0].contains("1 not allowed (he owes me)"), "{told:?}");
    }
}

#[test]
fn e10_hand_offs_tell_what_was_not_done() {
    let mut run = of(can_send());
    run.on(sends(&["anna"]));
    run.on(failed("1.0", "busy"));
    run.on(super::hard_limit());
    assert!(
        run.said()
            .last()
            .unwrap()
            .ends_with("\n\n(By my record, not all of it was done. send: 0 of 1 done, 1 failed (busy).)")
    );
}

#[test]
fn e10_an_answered_question_is_no_deed() {
    let mut run = of(can_send());
    run.on(Event::ModelAnswered(completion("", &["ask_human"])));
    run.on(asks("1.0", "to whom?"));
    run.on(answers("Ben"));
    run.check(says("Sent to Ben."), &CAUGHT);
}
