//! Recorded sequences: what is never stopped, and what is caught, and when.

use super::{CircleDetector, FinishedCall, canonical, similar, words};
use crate::machine::policy::GuardPolicy;

/// A call and what came of it: tool, arguments, result. `!` before the result: it failed; before the tool: it is a deed.
type CallTuple = (String, String, String);

fn call(tool: &str, arguments: &str, result: &str) -> CallTuple {
    (tool.to_owned(), arguments.to_owned(), result.to_owned())
}

/// The verdicts, one letter a call: allowed, *W*arned, *B*locked.
fn verdicts(calls: &[CallTuple]) -> String {
    let (mut watch, policy) = (CircleDetector::default(), GuardPolicy::default());
    let mut verdicts = String::new();
    for (tool, arguments, result) in calls {
        let (name, deed) = (tool.trim_start_matches('!'), tool.starts_with('!'));
        if watch.forbids(&policy, name, arguments, 0).is_some() {
            watch.forgive_one();
            verdicts.push('B');
            continue;
        }
        let text = result.trim_start_matches('!');
        let made =
            FinishedCall { tool: name, arguments, result: text, is_error: result.starts_with('!'), changes: deed };
        verdicts.push(if watch.observe(&policy, &made).is_some() { 'W' } else { '.' });
    }
    verdicts
}

fn times(count: usize, make: impl Fn(usize) -> Vec<CallTuple>) -> Vec<CallTuple> {
    (0..count).flat_map(make).collect()
}

fn read(file: usize, contents: &str) -> CallTuple {
    call("read_file", &format!(r#"{{"path": "src/module{file}.rs"}}"#), contents)
}

#[test]
fn b2_long_honest_runs_are_not_even_warned() {
    let files = times(40, |n| vec![read(n, &format!("contents {n}"))]);
    let some_equal = times(40, |n| vec![read(n, &if n % 2 == 0 { "".to_owned() } else { format!("contents {n}") })]);
    let pairs_equal = times(40, |n| vec![read(n, &format!("contents {}", n / 2))]);
    let tests_fixed = times(10, |n| {
        let failing = format!("!{} tests fail, the first is number {n}", 10 - n);
        vec![call("!edit", &format!(r#"{{"file": {n}}}"#), "ok"), call("!run", r#"{"tests": "all"}"#, &failing)]
    });
    let tests_by_command = times(10, |n| {
        let failing = format!("{} tests fail", 10 - n);
        vec![call("edit", &format!(r#"{{"file": {n}}}"#), "ok"), call("run", r#"{"tests": "all"}"#, &failing)]
    });
    let looked_and_edited = times(10, |n| {
        vec![
            read(n, &format!("before {n}")),
            call("!edit", &format!(r#"{{"path": "src/module{n}.rs"}}"#), "ok"),
            call("!edit", &format!(r#"{{"path": "src/module{n}.rs", "again": true}}"#), "ok"),
            call("!run", "{}", &format!("!failure {n}")),
        ]
    });
    let pages =
        times(30, |n| vec![call("read", &format!(r#"{{"path": "log", "from": {}}}"#, n * 100), &format!("page {n}"))]);
    let polled = times(12, |n| vec![call("status", r#"{"job": 7}"#, &format!("{} % done", n * 8))]);
    let slowly = times(12, |n| vec![call("status", r#"{"job": 7}"#, &format!("step {}", n / 2))]);
    let retried = vec![
        call("fetch", r#"{"url": "a"}"#, "!timed out"),
        call("fetch", r#"{"url": "a"}"#, "!timed out"),
        call("fetch", r#"{"url": "a"}"#, "the page"),
        call("fetch", r#"{"url": "b"}"#, "!timed out"),
        call("fetch", r#"{"url": "b"}"#, "the other page"),
    ];
    let messages = times(20, |n| vec![call("!send", &format!(r#"{{"to": "guest {n}"}}"#), "sent")]);
    let table = [
        ("files", files),
        ("half equal", some_equal),
        ("equal by pairs", pairs_equal),
        ("tests fixed", tests_fixed),
        ("by a command", tests_by_command),
        ("looked and edited", looked_and_edited),
        ("pages", pages),
        ("polled", polled),
        ("slowly", slowly),
        ("retried", retried),
        ("messages", messages),
    ];
    for (name, calls) in table {
        assert_eq!(verdicts(&calls), ".".repeat(calls.len()), "{name}");
    }
}

#[test]
fn b2_fresh_looks_that_find_the_same_are_warned_of_but_never_stopped() {
    let empty = times(25, |n| vec![read(n, "")]);
    assert_eq!(verdicts(&empty), format!("...W{}", ".".repeat(21)));
    let switched = times(25, |n| vec![call("switch", &format!(r#"{{"room": {n}}}"#), "off")]);
    assert!(!verdicts(&switched).contains('B'));
}

#[test]
fn b2_identical_thrash_is_warned_of_at_three_of_six_and_then_blocked() {
    let same = || call("look", r#"{"a": 1, "b": 2}"#, "nothing");
    let other = |n: usize| call("other", &format!(r#"{{"n": {n}}}"#), &format!("new {n}"));
    assert_eq!(verdicts(&times(5, |_| vec![same()])), "..WBB");
    let reordered = call("look", r#"{"b":2,"a":1}"#, "nothing");
    assert_eq!(verdicts(&[same(), reordered, same(), same()]), "..WB", "the order of keys tells no calls apart");
    assert_eq!(verdicts(&[same(), other(1), same(), other(2), same(), other(3), same()]), "....W.W", "news forgives");
    assert_eq!(verdicts(&[same(), other(1), other(2), other(3), same(), other(4), same()]), ".......", "of seven");
    assert_eq!(verdicts(&[same(), other(1), other(2), same(), other(3), same()]), ".....W", "of six");
    let failing = |n: usize| vec![call("look", "{}", if n < 9 { "!no" } else { "yes" })];
    assert_eq!(verdicts(&times(4, failing)), "..WB");
}

#[test]
fn b2_a_repeated_deed_is_worth_a_word_once() {
    let sent = times(8, |n| vec![call("!send", r#"{"text": "hi"}"#, &format!("sent as number {n}"))]);
    assert_eq!(verdicts(&sent), "..W.....");
    let same = times(5, |_| vec![call("!send", r#"{"text": "hi"}"#, "sent")]);
    assert_eq!(verdicts(&same), "..WBB");
}

#[test]
fn b2_pattern_thrash_is_warned_of_at_four_of_six_and_blocked_after_two_more_failures() {
    let words = ["apple", "berry", "cherry", "date", "elder", "fig", "grape", "hazel", "iris"];
    let failing = |n: usize| vec![call("search", &format!(r#"{{"{0}": "{0}"}}"#, words[n]), "!no such thing")];
    assert_eq!(verdicts(&times(9, failing)), "...W..B.B");
    let mut looked_elsewhere = times(3, failing);
    looked_elsewhere.extend([call("read", "{}", "news"), call("read", "{}", "news"), failing(3).remove(0)]);
    assert_eq!(verdicts(&looked_elsewhere), ".....W", "of six");
    let mut later = times(3, failing);
    later.extend(times(3, |n| vec![call("read", &format!("[{n}]"), &format!("news {n}"))]));
    later.extend(failing(3));
    assert_eq!(verdicts(&later), ".......", "of seven");
}

#[test]
fn a11_a_stall_is_warned_of_at_three_in_a_row() {
    let failing = |n: usize| call("search", &format!(r#"{{"query": "blue bird {n}"}}"#), "!no such thing");
    assert_eq!(verdicts(&times(7, |n| vec![failing(n)])), "..W..B.");
    let between = [failing(1), failing(2), call("read", "{}", "news"), failing(3)];
    assert_eq!(verdicts(&between), "....", "not in a row");
}

#[test]
fn b2_two_tools_in_turn_with_nothing_new_are_a_circle() {
    let words = ["apple", "berry", "cherry", "date", "elder", "fig", "grape"];
    let turn = |n: usize| {
        let arguments = format!(r#"{{"{0}": "{0}"}}"#, words[n]);
        vec![call("open", &arguments, "!locked"), call("unlock", &arguments, "!no key")]
    };
    assert_eq!(verdicts(&times(5, turn)), ".....W..BW");
    let mut with_news = times(2, turn);
    with_news.push(call("open", "{}", "opened"));
    with_news.extend(turn(3));
    assert_eq!(verdicts(&with_news), ".......");
}

#[test]
fn e6_in_one_reply_a_call_beyond_the_third_of_its_kind_is_blocked() {
    let (watch, policy) = (CircleDetector::default(), GuardPolicy::default());
    let seen = |beside| watch.forbids(&policy, "send", "{}", beside).map(|found| found.seen);
    assert_eq!([seen(0), seen(2), seen(3)], [None, None, Some(4)]);
}

#[test]
fn a11_the_same_words_three_times_are_a_circle() {
    let (mut watch, policy) = (CircleDetector::default(), GuardPolicy::default());
    let mut seen = |words: &str| watch.observe_words(&policy, words).map(|found| found.seen);
    assert_eq!(seen("Let me see."), None);
    assert_eq!(seen(" let  me see."), None);
    assert_eq!(seen(""), None);
    assert_eq!(seen("Something else."), None);
    assert_eq!(seen("Let me see."), Some(3));
    assert_eq!(seen("Let me see."), Some(4));
    let news = FinishedCall { tool: "look", arguments: "{}", result: "news", is_error: false, changes: false };
    assert_eq!(watch.observe(&policy, &news), None);
    assert_eq!(watch.observe_words(&policy, "Let me see."), None, "news forgives");
}

#[test]
fn a11_words_are_compared_in_a_window() {
    let (mut watch, policy) = (CircleDetector::default(), GuardPolicy::default());
    let heard: Vec<bool> =
        ["a", "b", "a", "c", "d", "e", "a", "a"].map(|words| watch.observe_words(&policy, words).is_some()).into();
    assert_eq!(heard, [false, false, false, false, false, false, false, true]);
}

#[test]
fn b2_arguments_are_known_by_their_meaning() {
    assert_eq!(
        canonical(r#" { "b" : [1, {"d": 2, "c": null}], "a": "x y" } "#),
        r#"{"a":"x y","b":[1,{"c":null,"d":2}]}"#
    );
    assert_eq!(canonical(""), "{}");
    assert_eq!(canonical(" not json "), "not json");
}

#[test]
fn a11_arguments_are_similar_when_two_thirds_of_their_words_are() {
    let alike = |one, other| similar(&words(one), &words(other));
    assert!(alike("a b c 1", "a B 2 c"));
    assert!(alike("a b c", "a b"));
    assert!(!alike("a b c", "a d"));
    assert!(!alike("a b", "a"));
    assert!(alike("1", "2"));
}
