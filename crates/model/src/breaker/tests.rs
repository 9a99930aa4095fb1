use jiff::SignedDuration;
use proptest::prelude::*;

use super::board::{self, BreakerBoard, BreakerKey};
use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_millis(ms)
}

/// Lets a call through at `ms` and tells what came of it; what is left of the rest then.
fn call(breaker: &mut Breaker, ms: i64, outcome: Outcome) -> Option<u128> {
    let permit = breaker.acquire(at(ms)).unwrap();
    breaker.record_outcome(permit, outcome, at(ms));
    breaker.resting(at(ms)).map(|resting| resting.remaining.as_millis())
}

fn failed(class: ErrorClass) -> Outcome {
    board::outcome(class, None)
}

#[test]
fn e2_the_table_holds() {
    use ErrorClass as C;
    for (class, after) in [
        (C::RateLimit, [None, None, None, Some(5_000)]),
        (C::Overloaded, [None, None, None, Some(5_000)]),
        (C::Server, [None, None, None, Some(5_000)]),
        (C::Timeout, [None, None, None, Some(5_000)]),
        (C::Network, [None, None, None, Some(5_000)]),
        (C::Malformed, [None, None, None, Some(5_000)]),
        (C::UnknownModel, [Some(5_000), None, None, None]),
        (C::Auth, [Some(300_000), None, None, None]),
        (C::Billing, [Some(300_000), None, None, None]),
        (C::ContextTooLong, [None; 4]),
        (C::Refused, [None; 4]),
        (C::BadRequest, [None; 4]),
        (C::Resting, [None; 4]),
    ] {
        let mut breaker = Breaker::default();
        let mut got = [None; 4];
        for slot in &mut got {
            *slot = call(&mut breaker, 0, failed(class));
            if slot.is_some() {
                break;
            }
        }
        assert_eq!(got, after, "{class:?}");
    }
}

#[test]
fn an_answer_between_failures_starts_the_count_anew() {
    for answer in [Outcome::Answered, failed(ErrorClass::Refused)] {
        let mut breaker = Breaker::default();
        for outcome in [failed(ErrorClass::Server), failed(ErrorClass::Timeout), answer, failed(ErrorClass::Network)] {
            assert_eq!(call(&mut breaker, 0, outcome), None);
        }
    }
}

#[test]
fn a_named_wait_opens_at_once_and_is_capped() {
    for (wait, rest) in [
        (Duration::from_secs(42), Some(42_000)),
        (Duration::from_micros(34_074_824), Some(34_074)),
        (Duration::from_secs(86_400), Some(300_000)),
        (Duration::ZERO, None),
    ] {
        let mut breaker = Breaker::default();
        assert_eq!(call(&mut breaker, 0, board::outcome(ErrorClass::RateLimit, Some(wait))), rest, "{wait:?}");
    }
}

#[test]
fn e2_each_failed_probe_doubles_the_rest_up_to_five_minutes() {
    let mut breaker = Breaker::default();
    let mut rests = Vec::new();
    let mut now = 0;
    while rests.len() < 9 {
        if let Some(rest) = call(&mut breaker, now, failed(ErrorClass::Overloaded)) {
            rests.push(rest / 1_000);
            now += i64::try_from(rest).unwrap();
        }
    }
    assert_eq!(rests, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
    assert_eq!(call(&mut breaker, now, Outcome::Answered), None);
    for _ in 1..FAILURES_MAX {
        assert_eq!(call(&mut breaker, now, failed(ErrorClass::Server)), None);
    }
    assert_eq!(call(&mut breaker, now, failed(ErrorClass::Server)), Some(5_000), "a success forgets the doubling");
}

#[test]
fn e2_one_probe_at_a_time_and_a_dropped_one_frees_its_place() {
    let mut breaker = Breaker::default();
    call(&mut breaker, 0, failed(ErrorClass::UnknownModel));
    assert!(breaker.acquire(at(4_999)).is_err());
    let first = breaker.acquire(at(5_000)).unwrap();
    assert_ne!(first, Permit::PLAIN);
    let skipped = breaker.acquire(at(5_000)).unwrap_err();
    assert_eq!(skipped, CircuitOpen { why: ErrorClass::UnknownModel, remaining: Duration::ZERO });
    breaker.record_outcome(first, Outcome::Unknown, at(6_000));
    let second = breaker.acquire(at(6_000)).unwrap();
    assert!(second != Permit::PLAIN && second != first);
    // A call from before, whose end comes late, does not take the probe's place.
    breaker.record_outcome(Permit::PLAIN, failed(ErrorClass::Server), at(6_000));
    breaker.record_outcome(first, Outcome::Unknown, at(6_000));
    assert!(breaker.acquire(at(6_000)).is_err());
    breaker.record_outcome(second, Outcome::Answered, at(7_000));
    assert_eq!(breaker.acquire(at(7_000)).unwrap(), Permit::PLAIN);
}

#[test]
fn what_comes_late_or_was_forced_begins_the_same_rest_anew() {
    let mut breaker = Breaker::default();
    call(&mut breaker, 0, failed(ErrorClass::UnknownModel));
    breaker.record_outcome(Permit::PLAIN, failed(ErrorClass::UnknownModel), at(3_000));
    assert_eq!(breaker.resting(at(3_000)).unwrap().remaining, REST_FIRST);
    breaker.record_outcome(Permit::PLAIN, Outcome::Answered, at(3_000));
    assert_eq!(breaker.resting(at(3_000)), None);
}

#[test]
fn a_clock_that_is_set_back_ends_a_rest() {
    let mut breaker = Breaker::default();
    call(&mut breaker, 100_000, failed(ErrorClass::Auth));
    assert_eq!(breaker.resting(at(99_999)), None);
}

fn key(model: &str) -> BreakerKey {
    BreakerKey { credential: "account".to_owned(), model: model.to_owned() }
}

#[test]
fn money_counts_for_the_whole_account_and_load_for_one_model() {
    let rests = |class| {
        let mut board = BreakerBoard::default();
        for _ in 0..FAILURES_MAX {
            let pass = board.force(&key("one"), at(0));
            board.record_outcome(&key("one"), pass, board::outcome(class, None), at(0));
        }
        let elsewhere = BreakerKey { credential: "another".to_owned(), model: "one".to_owned() };
        [key("one"), key("two"), elsewhere].map(|key| board.resting(&key, at(0)).is_some())
    };
    assert_eq!(rests(ErrorClass::Billing), [true, true, false]);
    assert_eq!(rests(ErrorClass::Auth), [true, true, false]);
    assert_eq!(rests(ErrorClass::Overloaded), [true, false, false]);
    assert_eq!(rests(ErrorClass::Refused), [false, false, false]);
}

#[test]
fn the_probe_of_an_account_is_one_of_any_model() {
    let mut board = BreakerBoard::default();
    let pass = board.acquire(&key("one"), at(0)).unwrap();
    board.record_outcome(&key("one"), pass, board::outcome(ErrorClass::Billing, None), at(0));
    let pass = board.acquire(&key("two"), at(300_000)).unwrap();
    assert!(board.acquire(&key("one"), at(300_000)).is_err());
    // No answer says nothing about the money: the next call finds out.
    board.record_outcome(&key("two"), pass, board::outcome(ErrorClass::Network, None), at(300_000));
    let pass = board.acquire(&key("one"), at(300_000)).unwrap();
    board.record_outcome(&key("one"), pass, Outcome::Answered, at(300_000));
    assert_eq!(board.resting(&key("two"), at(300_000)), None);
}

#[derive(Debug, Clone)]
enum Step {
    Pass(i64),
    Enter,
    Leave(usize, Outcome),
    Force(Outcome),
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    use ErrorClass as C;
    let classes = [C::RateLimit, C::Server, C::Timeout, C::Auth, C::UnknownModel, C::Malformed];
    let failed = (prop::sample::select(classes.to_vec()), prop::option::of(0_u64..1_000_000))
        .prop_map(|(class, wait)| Outcome::Failed(class, wait.map(Duration::from_millis)));
    prop_oneof![1 => Just(Outcome::Answered), 4 => failed, 1 => Just(Outcome::Unknown)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0_i64..400_000).prop_map(Step::Pass),
        4 => Just(Step::Enter),
        4 => (0_usize..4, outcomes()).prop_map(|(index, outcome)| Step::Leave(index, outcome)),
        1 => outcomes().prop_map(Step::Force),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn laws_hold_whatever_happens(steps in steps()) {
        let mut breaker = Breaker::default();
        let mut open: Vec<Permit> = Vec::new();
        let mut last_failure = 0;
        let mut now = 0;
        for step in steps {
            let told = match step {
                Step::Pass(ms) => {
                    now += ms;
                    None
                }
                Step::Enter => {
                    let before = breaker.clone();
                    match breaker.acquire(at(now)) {
                        Ok(permit) => open.push(permit),
                        Err(_) => prop_assert_eq!(&before, &breaker, "a skipped call changes nothing"),
                    }
                    None
                }
                Step::Leave(index, outcome) if index < open.len() => Some((open.remove(index), outcome)),
                Step::Leave(..) => None,
                Step::Force(outcome) => Some((Permit::PLAIN, outcome)),
            };
            if let Some((permit, outcome)) = told {
                breaker.record_outcome(permit, outcome, at(now));
                if matches!(outcome, Outcome::Failed(..)) {
                    last_failure = now;
                }
                if outcome == Outcome::Answered {
                    prop_assert_eq!(breaker.resting(at(now)), None, "a success closes");
                }
            }
            let probing = matches!(breaker.state, State::HalfOpen { .. });
            let current = open.iter().filter(|permit| matches!(breaker.state, State::HalfOpen { probe, .. } if permit.probe == Some(probe)));
            prop_assert_eq!(current.count(), usize::from(probing), "half-open is one probe");
            if !probing && now >= last_failure + 300_000 {
                prop_assert_eq!(breaker.resting(at(now)), None, "no rest is longer than five minutes");
            }
        }
    }
}
