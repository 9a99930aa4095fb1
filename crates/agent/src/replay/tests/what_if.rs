use super::{busy, recorded};
use crate::machine::run_start::ModelBill;
use crate::machine::tests::{Script, crash, says};
use crate::replay::what_if::{LimitsChange, WhatIf, WhatIfChange, WhatIfReport, what_if};
use hob_model::price::{Rate, Rates};

fn compared(script: &Script, text: &str) -> WhatIfReport {
    what_if(&recorded(script), &WhatIfChange { what: WhatIf::parse(text).unwrap(), bills: Vec::new() }).unwrap()
}

#[test]
fn n2_the_same_numbers_decide_the_same() {
    let report = compared(&busy(), "[limits]\niterations = 10");
    assert_eq!((report.differences, report.asked_otherwise.len(), report.stopped), (vec![], 0, None));
    assert_eq!(report.was, report.would_be);
    assert_eq!((report.compared, report.was.cycles, report.was.status), (9, 3, "completed"));
}

#[test]
fn n2_fewer_iterations_end_it_sooner() {
    let report = compared(&busy(), "[limits]\niterations = 1");
    let [difference] = &report.differences[..] else { panic!("{report:#?}") };
    assert_eq!((difference.seq, difference.after), (10, "tool.finished"));
    assert_eq!(difference.was, ["ask the model: work"]);
    assert_eq!(difference.would_be, ["ask the model: wrap_up_iterations"]);
    let stopped = report.stopped.unwrap();
    assert_eq!(stopped.seq, 10);
    insta::assert_snapshot!(stopped.why, @"the model would have been asked for something else (wrap_up_iterations instead of work), and what it would have answered is not on record");
    assert_eq!((report.was.cycles, report.would_be.cycles), (1, 1));
}

/// The boundary: as many as were used are enough.
#[test]
fn n2_enough_iterations_change_nothing_but_the_last_request() {
    let report = compared(&busy(), "[limits]\niterations = 3");
    assert_eq!((report.differences.len(), report.stopped), (0, None));
    let report = compared(&busy(), "[limits]\niterations = 2");
    assert_eq!((report.differences.len(), report.stopped.map(|stopped| stopped.seq)), (1, Some(14)));
}

#[test]
fn n2_another_model_changes_what_is_asked_and_what_it_costs() {
    let rates = Rates { input: Rate::from_micro_usd(1_000_000), ..Rates::FREE };
    let bill = ModelBill { rates: Some(rates), per_mille: 2_000, window: None, assumed: None };
    let what = WhatIf::parse("models = ['c/three']").unwrap();
    let report = what_if(&recorded(&busy()), &WhatIfChange { what, bills: vec![bill] }).unwrap();
    assert_eq!(report.notes.len(), 1);
    let asked: Vec<_> = report.asked_otherwise.iter().map(|ask| (ask.seq, ask.would_be.model.as_str())).collect();
    assert_eq!(asked, [(2, "c/three"), (4, "c/three"), (10, "c/three"), (14, "c/three")]);
    let first = &report.asked_otherwise[0];
    assert_eq!((first.was.estimate * 2, first.was.most), (first.would_be.estimate, None));
    assert!(first.would_be.most.is_some());
    assert_eq!((report.was.cost.nanos(), report.would_be.cost.nanos()), (0, 27_000));
    assert_eq!(report.stopped, None);
}

#[test]
fn n2_another_prompt_changes_what_is_asked() {
    let report = compared(&busy(), "system = 'You are Hob, and you are brief.'");
    assert_eq!((report.differences.len(), report.asked_otherwise.len()), (0, 4));
    let ask = &report.asked_otherwise[0];
    assert!(ask.would_be.estimate > ask.was.estimate, "{ask:?}");
    assert_eq!(report.stopped, None);
}

/// A process that took the run up again had the prompt that the run began with: so it is no other one now.
#[test]
fn n2_another_prompt_is_no_drift() {
    let mut script = Script::begun();
    script.on(crash());
    script.on(says("Yes."));
    let report = compared(&script, "system = 'Other.'");
    assert_eq!((report.differences, report.stopped), (vec![], None));
    assert_eq!(report.would_be.status, "completed");
}

#[test]
fn n2_a_run_that_has_not_begun_has_decided_nothing() {
    let report = compared(&Script::queued(), "[limits]\niterations = 1");
    insta::assert_snapshot!(report.notes.join("\n"), @"the run has not begun: nothing was decided yet");
}

#[test]
fn n2_a_record_that_is_not_the_rules_own_is_not_compared() {
    let mut run = recorded(&busy());
    run.events.remove(2);
    let what = WhatIf::parse("[limits]\niterations = 9").unwrap();
    let report = what_if(&run, &WhatIfChange { what, bills: Vec::new() }).unwrap();
    insta::assert_snapshot!(report.stopped.unwrap().why, @"the record is not what this Hob's rules derive from it: see --verify");
}

#[test]
fn n2_a_file_says_what_is_otherwise() {
    let what =
        WhatIf::parse("models = ['a']\n[limits]\niterations_cap = 3\n[policy.guards]\nidentical_max = 2").unwrap();
    assert_eq!((what.models, what.system), (vec!["a".to_owned()], None));
    assert_eq!(what.limits, LimitsChange { iterations_cap: Some(3), ..LimitsChange::default() });
    insta::assert_snapshot!(WhatIf::parse("").unwrap_err(), @"it changes nothing: it may hold [policy.guards] and the other tables of the policy, [limits], `models` and `system`");
    let wrong = WhatIf::parse("[policy.guards]\nidentcal_max = 2").unwrap_err();
    assert!(wrong.contains("line 2") && wrong.contains("unknown field `identcal_max`"), "{wrong}");
    let wrong = WhatIf::parse("[limits]\niterations = 'x'").unwrap_err();
    assert!(wrong.contains("line 2"), "{wrong}");
    let wrong = WhatIf::parse("limit = 3").unwrap_err();
    assert!(wrong.contains("unknown field `limit`"), "{wrong}");
}
