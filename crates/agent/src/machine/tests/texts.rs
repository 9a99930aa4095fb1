//! Every text of a run that a person or the model reads, word for word.

use super::{Script, fails, hard_limit, panic, stop};
use crate::machine::event::{Event, JournalMismatch, RunReply};
use crate::machine::question::Question;
use crate::machine::run_start::IterationLimits;
use crate::machine::texts::{self, FallbackModel};
use hob_core::domain::ids::CallId;
use hob_model::error::ErrorClass;

#[test]
fn failures_of_the_model_say_who_can_do_what() {
    let classes = [
        ErrorClass::Auth,
        ErrorClass::Billing,
        ErrorClass::RateLimit,
        ErrorClass::Overloaded,
        ErrorClass::UnknownModel,
        ErrorClass::ContextTooLong,
        ErrorClass::Refused,
        ErrorClass::BadRequest,
        ErrorClass::Timeout,
        ErrorClass::Network,
        ErrorClass::Server,
        ErrorClass::Malformed,
    ];
    let all: Vec<String> = classes
        .into_iter()
        .map(|class| format!("{}: {}", class.name(), texts::model_failed(class, " it said no. ")))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    auth: I could not get an answer from the model: it said no. Whoever runs me has to mend the key in config.toml or in the environment.
    billing: I could not get an answer from the model: it said no. Whoever runs me has to look at the account's balance.
    rate_limit: I could not get an answer from the model: it said no. Please send it again in a while.
    overloaded: I could not get an answer from the model: it said no. Please send it again in a while.
    unknown_model: I could not get an answer from the model: it said no. Whoever runs me has to name another model in config.toml; /model shows the one in use.
    context_too_long: I could not get an answer from the model: it said no. Our conversation has grown too long for it: /compact sums it up, /reset starts afresh.
    refused: I could not get an answer from the model: it said no. Put in other words, it may go through.
    bad_request: I could not get an answer from the model: it said no. This looks like a fault of mine or of the provider; the log has the details.
    timeout: I could not get an answer from the model: it said no. I tried again without luck. Please send it again in a while.
    network: I could not get an answer from the model: it said no. I tried again without luck. Please send it again in a while.
    server: I could not get an answer from the model: it said no. I tried again without luck. Please send it again in a while.
    malformed: I could not get an answer from the model: it said no. I tried again without luck. Please send it again in a while.
    ");
}

#[test]
fn notices() {
    let notice = |event: Event| {
        let mut run = Script::begun();
        run.on(event);
        let said = |event: &Event| {
            if let Event::Replied(RunReply::Notice { text }) = event { Some(text.clone()) } else { None }
        };
        run.journal.iter().find_map(said).unwrap()
    };
    insta::assert_snapshot!(notice(hard_limit()), @"I ran out of time on this and stopped. What was done so far is in our conversation; send a message to go on from there.");
    insta::assert_snapshot!(notice(panic()), @"Something broke inside me while I worked on this, and I stopped: index out of bounds. The log has the details.");
    insta::assert_snapshot!(notice(fails(ErrorClass::Refused)), @"I could not get an answer from the model: no luck. Put in other words, it may go through.");
    insta::assert_snapshot!(texts::GIVEN_UP, @"Given up. Nothing more happens for that message.");
    insta::assert_snapshot!(texts::answer("half", texts::AnswerEnding::Limit), @r"
    half

    (The model's output limit cut this answer off here.)
    ");
    insta::assert_snapshot!(texts::lost_beginning(&mismatch()), @"I was interrupted on this, and my record of it does not add up (event 5 of the journal should be tool.started 1.0 send attempt 1 but is run.resumed). I can't tell what was done, so I have stopped. Please look, and send it again if it is still needed.");
    assert_eq!(texts::panicked("").len(), texts::panicked("x").len() - 1);
    assert!(texts::panicked(&"ä".repeat(1_000)).chars().count() < 320);
    let mut stopped = Script::begun();
    stopped.check(stop(), &["end Cancelled"]);
}

fn mismatch() -> JournalMismatch {
    JournalMismatch { seq: 5, expected: "tool.started 1.0 send attempt 1".to_owned(), actual: "run.resumed".to_owned() }
}

#[test]
fn words_for_the_model() {
    let limits = |iterations| IterationLimits { iterations, iterations_step: 10, iterations_cap: 25 };
    let all = [
        texts::STOPPED,
        texts::INTERRUPTED,
        texts::HAPPENED,
        texts::GIVEN_UP_CALL,
        texts::ONE_QUESTION,
        texts::SILENCE,
        texts::EMPTY_REPLY,
        texts::WRAP_UP_TIME,
        texts::WRAP_UP_ITERATIONS,
        &texts::more_iterations(&limits(10)).0,
        &texts::more_iterations(&limits(25)).0,
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    Stopped by the user before it finished; it may have had a part of its effect.
    Interrupted before it finished; it may have had a part of its effect.
    This call took effect; a person confirmed it. Its output was lost.
    Given up; whether it took effect is not known.
    Only one question can be asked at a time. Ask again after the first is answered.
    [no reply needed]
    the model answered nothing
    The time for this task is up. Tools are no longer available. Tell the user plainly what has been done, what has not, and what should happen next.
    The steps for this task are used up. Tools are no longer available. Tell the user plainly what has been done, what has not, and what should happen next.
    Granted: up to 20 steps in all.
    Not granted: 25 steps are the most. Finish with what you have.
    ");
}

#[test]
fn a_stand_in_is_told_once_and_over_once() {
    let told = |first: &str, by: &str| Some(FallbackModel { first: first.to_owned(), by: by.to_owned() });
    let failed = "(a does not answer. Until it does, c stands in.)";
    let table = [
        ("a", "a", None, None),
        ("a", "c", None, Some(failed)),
        ("a", "c", told("a", "c"), None),
        ("a", "a", told("a", "c"), Some("(a answers again.)")),
        // The message wanted another model, which answers as it always did.
        ("b", "b", told("a", "c"), None),
        // A person chose the one that stood in.
        ("c", "c", told("a", "c"), None),
        // The whole provider is out: one word is enough.
        ("b", "c", told("a", "c"), None),
        ("a", "c", told("a", "b"), Some(failed)),
    ];
    for (first, by, known, expected) in table {
        assert_eq!(texts::stand_in(first, by, None, known.as_ref()).as_deref(), expected, "{first} {by} {known:?}");
    }
}

#[test]
fn e13_what_may_turn_out_to_be_silence() {
    for words in ["", " \n", "N", "NO_", " NO_REPLY", "NO_REPLY\n ", "[", "[SILENT", "[SILENT]"] {
        assert!(texts::may_be_silence(words), "{words:?}");
    }
    for words in ["No", "NO_REPLY.", "NO_REPLY, no", "[S]", "[SILENT] x", "I", "x NO_REPLY"] {
        assert!(!texts::may_be_silence(words), "{words:?}");
    }
}

#[test]
fn long_arguments_are_cut_with_a_sign() {
    let note = |chars: usize| doubt(format!("{{\"note\":\"{}\"}}", "ä".repeat(chars)), 1);
    assert!(note(300).contains(&format!("send\nnote: {}\n", "ä".repeat(300))));
    assert!(note(3_000).contains(&format!("send\nnote: {} ⟨… 2550 characters …⟩ ", "ä".repeat(300))));
}

#[test]
fn b10_a_second_question_about_a_call_does_not_look_like_the_first() {
    assert!(doubt("{}".to_owned(), 1).starts_with("I was interrupted while this call was under way"));
    assert!(doubt("{}".to_owned(), 2).starts_with("I was interrupted again (try 2) while this call was under way"));
}

fn doubt(arguments: String, attempt: u32) -> String {
    let (call, name) = (CallId::new(1, 0), "send".to_owned());
    texts::question(&Question::UnsafeCall { call, name, arguments, attempt })
}
