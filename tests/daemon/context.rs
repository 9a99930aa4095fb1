//! The context is kept within the model's window, and the run goes on with its task.

use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::AssertSqlSafe;

use hob_testkit::fake_model::{Gate, ReceivedRequest, Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{ADA, BOB, TestHob};

/// A group that both are in.
const HALL: i64 = -100_321;
/// Words of a file that fill an eighth of the window.
const WORDS: usize = 500;
/// Two messages are kept as they are, and the rest of the prompt is short. More of `[context]` comes before it.
const NARROW: &str = r#"
keep_messages = 2
prune_keep_messages = 2
[agent]
system_prompt = "You are Hob."
persona = "narrow"
iterations_max = 20
[personas.narrow]
modules = ["commands", "journal", "time"]
[tools.show]
sandbox = false
trusted_output = true
description = "Shows a file."
command = ["/bin/sh", "-c", "cat $HOME/$1", "sh", "{name}"]
parameters = { name = "Which." }
"#;
const CODE: &str = r#"
[tools.code]
sandbox = false
trusted_output = true
description = "Tells the code."
command = ["/bin/echo", "The code is 4711."]
"#;

fn sums_up(asked: &ReceivedRequest) -> bool {
    asked.system().starts_with("You sum up")
}

/// A household with a window of so many tokens, of which 1,000 are the reply's, and with files that fill it.
pub(crate) async fn narrow(window_tokens: u32, context: &str, more: &str) -> TestHob {
    let hob = TestHob::with(&format!("[context]\nwindow_tokens = {window_tokens}\n{context}{NARROW}{more}")).await;
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        std::fs::write(hob.path(name), format!("file {name}: {}", "word ".repeat(WORDS))).unwrap();
    }
    hob
}

async fn hob(summary_secs: u32) -> TestHob {
    let mut hob = narrow(3600, &format!("summary_timeout_secs = {summary_secs}"), CODE).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob
}

/// A model that looks up the code, reads these files one after another, and answers; asked for a summary it gives
/// `summary`.
fn reads(hob: &TestHob, files: &'static [&'static str], summary: impl Fn() -> Reply + Send + Sync + 'static) {
    let step = AtomicUsize::new(0);
    hob.model.otherwise(move |asked| {
        if sums_up(asked) {
            return summary();
        }
        match step.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::call("code", "{}"),
            at if at <= files.len() => Reply::call("show", &format!(r#"{{"name": "{}"}}"#, files[at - 1])),
            _ => Reply::text("Blue, and 4711."),
        }
    });
}

fn seen(asked: &ReceivedRequest) -> String {
    asked.body["messages"].to_string()
}

async fn events(hob: &TestHob, kind: &str) -> i64 {
    hob.value(AssertSqlSafe(format!("SELECT count(*) FROM run_events WHERE kind = '{kind}'"))).await
}

const TASK: &str = "Which colour do the files name, and what is the code?";

#[tokio::test]
async fn b4_after_a_compaction_the_run_goes_on_with_its_task() {
    let mut hob = hob(60).await;
    reads(&hob, &["a", "b", "c"], || {
        Reply::text("File a names the colour blue. password=hunter2 sk-abcdefghijklmnop1234")
    });
    hob.say(ADA, TASK);
    assert_eq!(hob.told(ADA, 1).await, ["Blue, and 4711."]);
    let requests = hob.model.requests();
    let asked: Vec<&ReceivedRequest> = requests.iter().filter(|asked| sums_up(asked)).collect();
    assert_eq!(asked.len(), 1, "one summary");
    assert!(seen(asked[0]).contains("file a: word"), "{}", seen(asked[0]));
    let last = seen(requests.last().unwrap());
    for part in ["File a names the colour blue", "The code is 4711", TASK, "file c: word", "<earlier>"] {
        assert!(last.contains(part), "no {part:?} in {last}");
    }
    assert!(!last.contains("hunter2") && !last.contains("sk-abcdef"), "{last}");
    hob.nothing_refused();

    hob.recorded(1).await;
    assert_eq!(events(&hob, "agent.compaction.run").await, 1);
    assert_eq!(events(&hob, "agent.recovery.fired").await, 1);
    let stored: (String, i64) = hob.row("SELECT text, through FROM summaries").await;
    let journalled: String = hob.value("SELECT body FROM run_events WHERE kind = 'summary.made'").await;
    let calls: i64 = hob.value("SELECT count(*) FROM model_calls WHERE state = 'answered'").await;
    assert_eq!(calls, i64::try_from(requests.len()).unwrap(), "the summary is on the bill");
    for text in [&stored.0, &journalled] {
        assert!(text.contains("the colour blue") && !text.contains("hunter2") && !text.contains("sk-abcdef"), "{text}");
    }
    assert!(stored.0.contains("The code is 4711"), "{}", stored.0);

    // Row C7: the next run begins with it.
    hob.model.otherwise(|_asked| Reply::text("Still blue."));
    hob.say(ADA, "And now?");
    assert_eq!(hob.told(ADA, 2).await[1], "Still blue.");
    let next = seen(hob.model.requests().last().unwrap());
    assert!(next.contains("the colour blue") && next.contains("The code is 4711"), "{next}");
    assert!(!next.contains("file a: word") && next.contains("file c: word"), "{next}");
    hob.nothing_refused();
}

#[tokio::test]
async fn b4_a_summary_that_fails_is_empty_long_or_late_leaves_the_head_out() {
    let long = "word ".repeat(3_000);
    let bad: [(&str, Reply); 4] = [
        ("fails", Reply::status(500)),
        ("is empty", Script::default().text(" ").finish("stop").into()),
        ("is too long", Script::default().text(&long).finish("stop").into()),
        ("is late", Script::default().stall().into()),
    ];
    for (what, reply) in bad {
        let hob = hob(1).await;
        reads(&hob, &["a", "b", "c"], move || reply.clone());
        hob.say(ADA, TASK);
        assert_eq!(hob.told(ADA, 1).await, ["Blue, and 4711."], "a summary that {what}");
        let last = seen(hob.model.requests().last().unwrap());
        for part in ["messages before this are left out", "The code is 4711", TASK, "file c: word"] {
            assert!(last.contains(part), "a summary that {what}: no {part:?} in {last}");
        }
        assert!(!last.contains("file a: word"), "{last}");
        hob.nothing_refused();
    }
}

#[tokio::test]
async fn b4_kill_9_while_the_summary_is_made() {
    let mut hob = hob(60).await;
    let gate = Gate::default();
    let held: Reply = Script::default().gate(&gate).text("Never.").finish("stop").into();
    reads(&hob, &["a", "b", "c"], move || held.clone());
    hob.say(ADA, TASK);
    gate.reached().await;
    hob.crash().await;
    hob.model.otherwise(|asked| {
        if sums_up(asked) { Reply::text("File a names the colour blue.") } else { Reply::text("Blue, and 4711.") }
    });
    hob.start().await;
    assert_eq!(hob.told(ADA, 1).await, ["Blue, and 4711."]);
    let requests = hob.model.requests();
    let asked: Vec<&ReceivedRequest> = requests.iter().filter(|asked| sums_up(asked)).collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].body["messages"], asked[1].body["messages"], "the same is asked again");
    assert!(seen(requests.last().unwrap()).contains("the colour blue"));
    hob.nothing_refused();
}

#[tokio::test]
async fn b5_compact_then_prune_then_ask_the_person() {
    let mut hob = hob(60).await;
    reads(&hob, &["a", "b", "c", "d", "e", "f", "g", "h"], || Reply::text("File a names the colour blue."));
    hob.say(ADA, TASK);
    let told = hob.told(ADA, 1).await;
    insta::assert_snapshot!(told[0], @r"
    I have made progress, but my memory of this task fills faster than I can empty it. Shall I keep going with less of it in mind, or stop? Or tell me in your own words what to do instead.
    1. keep going
    2. stop
    ");
    hob.recorded(1).await;
    // However many files fit until then: it reads no more of them.
    hob.model.otherwise(|asked| if sums_up(asked) { Reply::text("Blue.") } else { Reply::text("It is 4711.") });
    hob.say(ADA, "Forget the colour, tell me the code alone");
    assert_eq!(hob.told(ADA, 2).await[1], "It is 4711.");
    let last = seen(hob.model.requests().last().unwrap());
    assert!(last.contains("Forget the colour, tell me the code alone") && last.contains(TASK), "{last}");
    let pruned = last.split("[deep pruned: ").nth(1).and_then(|rest| rest.split(']').next());
    assert!(pruned.is_some_and(|told| told.contains("called in them: show ×")), "what is gone is told: {last}");
    hob.recorded(2).await;
    assert_eq!(events(&hob, "agent.recovery.fired").await, 3);
    hob.nothing_refused();
}

#[tokio::test]
async fn e11_too_long_trims_and_then_names_what_helps() {
    let too_long = r#"{"error": {"message": "This model's maximum context length is 2000 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}"#;
    let hob = hob(60).await;
    hob.ask(ADA, "Hello", Reply::text("Hello Ada.")).await;
    for file in ["a", "b"] {
        hob.model.reply(Reply::call("show", &format!(r#"{{"name": "{file}"}}"#)));
    }
    hob.model.reply(Reply::http(400, "application/json", too_long));
    hob.model.reply(Reply::text("Read."));
    hob.say(ADA, "Read a and b");
    assert_eq!(hob.told(ADA, 2).await[1], "Read.");
    let requests = hob.model.requests();
    let (refused, again) =
        (requests[requests.len() - 2].body.to_string(), requests[requests.len() - 1].body.to_string());
    assert!(again.len() < refused.len() && again.contains("characters left out"), "{again}");
    hob.model.otherwise(move |_asked| Reply::http(400, "application/json", too_long));
    hob.say(ADA, "And now?");
    let told = hob.told(ADA, 3).await;
    assert!(told[2].contains("/compact") && told[2].contains("/reset"), "{told:?}");
    hob.nothing_refused();
}

#[tokio::test]
async fn b4_fixed_parts_that_do_not_fit_are_told_before_any_model_is_asked() {
    let hob = TestHob::running(&format!(
        "[context]\nwindow_tokens = 1000\n[agent]\nsystem_prompt = '{}'",
        "word ".repeat(2_000).trim()
    ))
    .await;
    hob.say(ADA, "Hello");
    let told = hob.told(ADA, 1).await;
    assert!(told[0].contains("has room for 750 tokens") && told[0].contains("- my instructions: 2,0"), "{told:?}");
    assert!(told[0].contains("- my tools: ") && told[0].contains("- time and facts: "), "{told:?}");
    assert!(hob.model.requests().is_empty());
}

#[tokio::test]
async fn c7_compact_and_reset_by_hand() {
    let hob = hob(60).await;
    hob.say(ADA, "/compact");
    assert_eq!(hob.told(ADA, 1).await, ["There is nothing to compact yet: our conversation is still short."]);
    for (count, text) in ["My bin is green", "My door is red", "My roof is blue"].iter().enumerate() {
        hob.model.reply(Reply::text(&format!(
            "A fine colour, number {count}, and quite the one that I would have chosen for it."
        )));
        hob.say(ADA, text);
        hob.told(ADA, count + 2).await;
    }
    hob.model.reply(Reply::text("Bin: green."));
    hob.say(ADA, "/compact");
    let told = hob.told(ADA, 5).await;
    assert!(told[4].starts_with("Compacted: 4 messages, ~"), "{told:?}");
    assert_eq!(hob.ask(ADA, "And?", Reply::text("Yes.")).await, "Yes.");
    let next = seen(hob.model.requests().last().unwrap());
    assert!(next.contains("Bin: green.") && next.contains("My roof is blue") && !next.contains("My bin"), "{next}");
    assert!(!next.contains("/compact"), "words about the conversation are not part of it: {next}");
    hob.say(ADA, "/reset");
    insta::assert_snapshot!(hob.told(ADA, 7).await[6], @"A new conversation: what was said here before is out of sight, also its summary. What you told me stays remembered.");
    assert_eq!(hob.ask(ADA, "Anything?", Reply::text("No.")).await, "No.");
    let next = seen(hob.model.requests().last().unwrap());
    assert!(!next.contains("green") && !next.contains("roof"), "{next}");

    // What runs is stopped, and what it did is not carried over.
    let gate = Gate::default();
    hob.model.reply(Reply::call("code", "{}"));
    hob.model.reply(Script::default().gate(&gate).text("Never.").finish("stop").into());
    hob.say(ADA, "Look it up");
    gate.reached().await;
    hob.say(ADA, "/reset");
    assert!(hob.told(ADA, 9).await[8].starts_with("Stopped. A new conversation"));
    hob.model.dropped(1).await;
    assert_eq!(hob.ask(ADA, "Anything?", Reply::text("No.")).await, "No.");
    let next = seen(hob.model.requests().last().unwrap());
    assert!(!next.contains("4711") && !next.contains("Look it up"), "{next}");
    hob.nothing_refused();
}

#[tokio::test]
async fn c7_what_was_summed_up_for_one_is_not_shown_to_another() {
    let hob = hob(60).await;
    reads(&hob, &["a", "b", "c"], || Reply::text("File a names the colour blue."));
    let post = |hob: &TestHob, person: i64, text: &str| {
        hob.telegram.post(Post::new(HALL, person, &format!("@{} {text}", FakeTelegram::BOT_NAME)));
    };
    post(&hob, ADA, TASK);
    assert_eq!(hob.told(HALL, 1).await, ["Blue, and 4711."]);
    hob.model.otherwise(|_asked| Reply::text("Ask Ada."));
    post(&hob, BOB, "what was that about?");
    assert_eq!(hob.told(HALL, 2).await[1], "Ask Ada.");
    let next = seen(hob.model.requests().last().unwrap());
    assert!(!next.contains("the colour blue") && !next.contains("The code is 4711."), "{next}");
    assert!(next.contains("Blue, and 4711."), "what was said to all is: {next}");
    hob.nothing_refused();
}
