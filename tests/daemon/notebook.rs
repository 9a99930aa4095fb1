//! Notes that outlive a run, limits, silence and heartbeats.

use hob_testkit::fake_model::{Gate, ReceivedRequest, Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{ADA, BOB, HALL, OWNER, TestHob};

/// The heads of some notes.
const NOTES: &str =
    r#"{"objective": "Paint the fence", "current_state": "One side is done", "handoff_next_action": "The other side"}"#;
/// An entry of theirs.
const FINDING: &str = r#"{"section": "verified_findings", "entry": "The paint is in the shed"}"#;

/// The content of the block of data that a request has.
fn context(asked: &ReceivedRequest) -> String {
    let mut said = asked.messages().iter().filter_map(|message| message["content"].as_str());
    said.rfind(|text| text.starts_with("<context>")).unwrap().to_owned()
}

#[tokio::test]
async fn b12_notes_of_a_task_that_ran_out_of_steps_are_gone_on_with() {
    let hob = TestHob::running("[agent]\niterations_max = 2\niterations_cap = 2").await;
    hob.model.reply(Reply::call("update_run_journal", NOTES));
    hob.model.reply(Reply::call("append_run_journal_entry", FINDING));
    assert_eq!(hob.ask(ADA, "Paint the fence", Reply::text("I ran out of steps.")).await, "I ran out of steps.");
    hob.say(ADA, "/journal");
    insta::assert_snapshot!(hob.told(ADA, 2).await[1], @r"
    What I had noted when I stopped; your next message goes on from it:

    ## Objective
    Paint the fence

    ## Current state
    One side is done

    ## Verified findings
    - The paint is in the shed

    ## Next action
    The other side
    ");
    hob.model.reply(Reply::call("get_run_journal", "{}"));
    assert_eq!(hob.ask(ADA, "Go on", Reply::text("Nothing is left.")).await, "Nothing is left.");
    hob.say(ADA, "/journal");
    insta::assert_snapshot!(hob.told(ADA, 4).await[3], @"There is no run journal here: nothing was noted, or the task came to its end.");
    hob.ask(ADA, "And now?", Reply::text("Nothing.")).await;

    let requests = hob.model.requests();
    let last = |index: usize| requests[index].messages().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(!last(0).contains("run_journal"), "nothing was noted: {}", last(0));
    insta::assert_snapshot!(last(1), @r"
    <run_journal>
    Your notes on this task, as data:
    objective: Paint the fence
    state: One side is done
    next: The other side
    </run_journal>
    ");
    assert!(context(&requests[3]).contains("## Next action\nThe other side"), "{}", context(&requests[3]));
    assert!(last(3).contains("found: The paint is in the shed"), "{}", last(3));
    assert!(!context(&requests[5]).contains("fence"), "the task came to its end: {}", context(&requests[5]));
    hob.nothing_refused();
}

#[tokio::test]
async fn b12_a_failure_is_told_with_the_notes_and_a_new_conversation_drops_them() {
    let hob = TestHob::running("").await;
    hob.model.reply(Reply::call("update_run_journal", NOTES));
    insta::assert_snapshot!(hob.ask(ADA, "Paint the fence", Reply::status(401)).await, @r"
    I could not get an answer from the model: The model provider does not accept the API key. Whoever runs me has to mend the key in config.toml or in the environment.

    Objective: Paint the fence
    Where it stood: One side is done
    Next: The other side
    /journal shows what I noted.
    1. Resume
    2. Try again from the start
    3. Let it be
    ");
    hob.say(ADA, "/new");
    hob.told(ADA, 2).await;
    hob.say(ADA, "/journal");
    assert!(hob.told(ADA, 3).await[2].starts_with("There is no run journal here"));
    hob.nothing_refused();
}

/// A task of Ada's that noted something and failed.
async fn failed() -> TestHob {
    let mut hob = TestHob::running("").await;
    hob.model.reply(Reply::call("update_run_journal", NOTES));
    hob.ask(ADA, "Paint the fence", Reply::status(401)).await;
    hob.ended(1).await;
    hob
}

#[tokio::test]
async fn b12_a_failed_run_is_resumed_by_its_button_and_goes_on_from_its_journal() {
    let hob = failed().await;
    let panel = hob.remembered(ADA);
    let labels: Vec<&str> = panel.all.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["Resume", "Try again from the start", "Let it be"]);
    hob.model.reply(Reply::text("The other side is done, too."));
    hob.press(ADA, "Resume");
    assert_eq!(hob.told(ADA, 2).await[1], "The other side is done, too.");
    let asked = hob.model.requests().pop().unwrap();
    assert!(context(&asked).contains("## Next action\nThe other side"), "{}", context(&asked));
    assert!(asked.body["messages"].to_string().contains("Go on with what I asked for before"), "{:?}", asked.body);
    let settled = hob.heard(ADA)[0].clone();
    assert!(settled.ends_with("— resumed, by Person 7") && !settled.contains("1. Resume"), "{settled}");
    // It is settled once.
    hob.press_remembered(ADA, &panel, "Try again from the start");
    assert_eq!(hob.told(ADA, 3).await[2], "That is settled already, or that run did not fail.");
    hob.nothing_refused();
}

#[tokio::test]
async fn b12_what_comes_between_a_failure_and_its_resume_neither_shows_nor_loses_the_notes() {
    let hob = failed().await;
    let panel = hob.remembered(ADA);
    // It notes something of its own, and comes to its end.
    hob.model.reply(Reply::call("update_run_journal", r#"{"objective": "Greet"}"#));
    assert_eq!(hob.ask(ADA, "Hello", Reply::text("Good day.")).await, "Good day.");
    let hello = hob.model.requests().pop().unwrap();
    assert!(!hello.body["messages"].to_string().contains("state: One side"), "{:?}", hello.body);
    assert!(!context(&hello).contains("The other side"), "{}", context(&hello));
    hob.say(ADA, "/journal");
    let kept = hob.told(ADA, 3).await.remove(2);
    assert!(kept.starts_with("What I had noted when I failed") && kept.contains("One side is done"), "{kept}");
    hob.model.reply(Reply::text("The other side is done, too."));
    hob.press_remembered(ADA, &panel, "Resume");
    assert_eq!(hob.told(ADA, 4).await[3], "The other side is done, too.");
    let asked = hob.model.requests().pop().unwrap();
    assert!(context(&asked).contains("## Next action\nThe other side"), "{}", context(&asked));
    assert!(asked.last_text().contains("<run_journal>"), "{}", asked.last_text());
    hob.say(ADA, "/journal");
    assert!(hob.told(ADA, 5).await[4].starts_with("There is no run journal here"));
    hob.nothing_refused();
}

#[tokio::test]
async fn b12_a_failed_run_whose_notes_gave_way_to_others_is_resumed_from_its_journal() {
    let mut hob = failed().await;
    let panel = hob.remembered(ADA);
    hob.model.reply(Reply::call("update_run_journal", r#"{"objective": "Mow"}"#));
    assert!(hob.ask(ADA, "Mow the lawn", Reply::status(401)).await.contains("Objective: Mow"));
    hob.ended(2).await;
    hob.model.reply(Reply::text("The other side is done, too."));
    hob.press_remembered(ADA, &panel, "Resume");
    assert_eq!(hob.told(ADA, 3).await[2], "The other side is done, too.");
    let asked = hob.model.requests().pop().unwrap();
    assert!(context(&asked).contains("## Next action\nThe other side"), "{}", context(&asked));
    assert!(!context(&asked).contains("Mow"), "{}", context(&asked));
    hob.nothing_refused();
}

#[tokio::test]
async fn b12_what_a_run_noted_is_no_step_that_it_did() {
    let hob = TestHob::running("").await;
    hob.model.reply(Reply::call("update_run_journal", r#"{"objective": "Mow"}"#));
    let told = hob.ask(ADA, "Mow the lawn", Reply::status(401)).await;
    assert!(told.contains("Where it stood: nothing was done yet"), "{told}");
    hob.nothing_refused();
}

#[tokio::test]
async fn b12_a_failed_run_is_tried_again_from_the_start_by_words_and_knows_no_notes() {
    let hob = failed().await;
    assert_eq!(hob.ask(ADA, "2", Reply::text("Which fence?")).await, "Which fence?");
    let asked = hob.model.requests().pop().unwrap();
    assert!(!context(&asked).contains("The other side"), "{}", context(&asked));
    let put = |said: &&serde_json::Value| {
        said["role"] == "user" && said["content"].as_str().is_some_and(|text| text.ends_with("Paint the fence"))
    };
    assert_eq!(asked.messages().iter().filter(put).count(), 2, "it was put again: {:?}", asked.messages());
    // Now it is a number like any other.
    assert_eq!(hob.ask(ADA, "2", Reply::text("Two?")).await, "Two?");
    hob.nothing_refused();
}

#[tokio::test]
async fn b12_a_failed_run_is_let_be_by_whoever_may_decide_for_its_person() {
    let mut hob = TestHob::new().await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    let named = |text: &str| format!("@{} {text}", FakeTelegram::BOT_NAME);
    hob.model.reply(Reply::call("update_run_journal", NOTES));
    hob.model.reply(Reply::status(401));
    hob.telegram.post(Post::new(HALL, ADA, &named("paint the fence")));
    hob.told(HALL, 1).await;
    hob.ended(1).await;
    let panel = hob.remembered(HALL);
    let press = |person: i64| hob.telegram.press(HALL, person, panel.message, &panel.all[2].1);
    press(BOB);
    assert!(hob.told(HALL, 2).await[1].contains("somebody else"));
    press(OWNER);
    hob.acknowledged().await;
    hob.telegram.post(Post::new(HALL, ADA, &format!("/journal@{}", FakeTelegram::BOT_NAME)));
    assert!(hob.told(HALL, 3).await[2].starts_with("There is no run journal here"));
    assert!(hob.heard(HALL)[0].ends_with("— let be, by Person 1"), "{:?}", hob.heard(HALL));
    assert_eq!(hob.model.requests().len(), 2, "nothing was asked");
}

#[tokio::test]
async fn b12_a_failure_without_notes_says_how_far_it_came_and_one_before_any_step_asks_nothing() {
    let hob = TestHob::running("").await;
    let told = hob.ask(ADA, "What time is it?", Reply::status(401)).await;
    assert!(!told.contains("Resume"), "{told}");
    hob.model.reply(Reply::call("current_time", "{}"));
    let told = hob.ask(ADA, "What time is it now?", Reply::status(401)).await;
    let (_, panel) = told.split_once("\n\n").unwrap();
    insta::assert_snapshot!(panel, @r"
    Objective: What time is it now?
    Where it stood: one step was done: current_time
    Next: nothing noted
    1. Resume
    2. Try again from the start
    3. Let it be
    ");
    hob.nothing_refused();
}

#[tokio::test]
async fn b12_in_a_group_only_the_one_whose_task_it_is_and_owners_see_the_notes() {
    const HALL: i64 = -100_123;
    let mut hob = TestHob::new().await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    let mut count = 0;
    let mut said = async |hob: &TestHob, person: i64, text: &str| {
        let name = FakeTelegram::BOT_NAME;
        let text = if text.starts_with('/') { format!("{text}@{name}") } else { format!("@{name} {text}") };
        hob.telegram.post(Post::new(HALL, person, &text));
        count += 1;
        hob.told(HALL, count).await.pop().unwrap()
    };
    hob.model.reply(Reply::call("update_run_journal", NOTES));
    hob.model.reply(Reply::status(401));
    said(&hob, ADA, "paint the fence").await;
    let shown = said(&hob, ADA, "/journal").await;
    assert!(shown.starts_with("What I had noted when I failed"), "{shown}");
    let refused = said(&hob, BOB, "/journal").await;
    assert!(refused.contains("somebody else"), "{refused}");
    assert!(said(&hob, OWNER, "/journal").await.contains("One side is done"));
    hob.model.reply(Reply::text("Nice."));
    said(&hob, BOB, "how is it going?").await;
    let asked = hob.model.requests().pop().unwrap();
    assert!(!context(&asked).contains("One side"), "another's notes are not gone on with: {}", context(&asked));
    assert!(said(&hob, ADA, "/journal").await.contains("One side is done"), "nor done with by another's task");
}

#[tokio::test]
async fn b12_the_notes_of_what_runs_are_shown_while_it_runs() {
    let hob = TestHob::running("").await;
    let gate = Gate::default();
    hob.model.reply(Reply::call("update_run_journal", NOTES));
    hob.model.reply(Script::default().gate(&gate).text("Nothing is left.").finish("stop").into());
    hob.say(ADA, "Paint the fence");
    hob.asked(2).await;
    hob.say(ADA, "/journal");
    assert!(hob.told(ADA, 1).await[0].starts_with("What I have noted on what I am doing:\n\n## Objective"));
    gate.open();
    assert_eq!(hob.told(ADA, 2).await[1], "Nothing is left.");
}

#[tokio::test]
async fn e13_silence_is_not_sent_and_stands_in_the_history() {
    let mut hob = TestHob::running("").await;
    hob.model.reply(Reply::text(" NO_REPLY\n"));
    hob.say(ADA, "Just so you know");
    hob.process().until_ended(1).await;
    assert_eq!(hob.ask(ADA, "And?", Reply::text("I would answer NO_REPLY.")).await, "I would answer NO_REPLY.");
    assert_eq!(hob.heard(ADA).len(), 1);
    let history = hob.model.requests()[1].body["messages"].to_string();
    assert!(history.contains("Just so you know") && history.contains("[no reply needed]"), "{history}");
    hob.nothing_refused();
}

#[tokio::test]
async fn e14_a_heartbeat_that_finds_nothing_leaves_no_trace_and_one_that_speaks_does() {
    let mut hob = TestHob::running("[heartbeat]\nevery_secs = 1\nprompt = 'Look.'").await;
    let (first, second) = (Gate::default(), Gate::default());
    hob.model.reply(Reply::text("Good day."));
    hob.model.reply(Reply::text("NO_REPLY"));
    hob.model.reply(Script::default().gate(&first).text("The door is open.").finish("stop").into());
    hob.model.reply(Script::default().gate(&second).text("NO_REPLY").finish("stop").into());
    hob.say(OWNER, "Hello");
    assert_eq!(hob.told(OWNER, 1).await, ["Good day."]);
    hob.asked(3).await;
    assert_eq!(hob.heard(OWNER).len(), 1, "the first one was silent");
    first.open();
    assert_eq!(hob.told(OWNER, 2).await[1], "The door is open.");
    hob.asked(4).await;

    let seen = |index: usize| hob.model.requests()[index].body["messages"].to_string();
    assert!(seen(1).contains("Good day.") && seen(1).contains("Look."), "{}", seen(1));
    assert_eq!(seen(2).matches("Look.").count(), 1, "the silent one is not read: {}", seen(2));
    assert!(!seen(2).contains("[no reply needed]"), "{}", seen(2));
    assert_eq!(seen(3).matches("Look.").count(), 2, "the other one is: {}", seen(3));
    assert!(seen(3).contains("The door is open."), "{}", seen(3));
    hob.nothing_refused();
    hob.crash().await;
    let pruned: Vec<(String,)> = hob.rows("SELECT text FROM messages WHERE pruned = 1 ORDER BY id").await;
    assert_eq!(pruned, [("Look.".to_owned(),), ("[no reply needed]".to_owned(),)]);
}

#[tokio::test]
async fn c10_what_is_broken_inside_is_told_and_logged() {
    let mut hob = TestHob::running("").await;
    hob.model.reply(Reply::call("ask_human", r#"{"question": "Red or blue?"}"#));
    hob.say(ADA, "Paint it");
    hob.told(ADA, 1).await;
    hob.recorded(1).await;
    hob.crash().await;
    let damage = "UPDATE run_events SET version = 999 WHERE kind = 'human.asked'";
    hob.execute(damage).await;
    hob.start().await;
    hob.model.reply(Reply::text("Good day."));
    hob.say(ADA, "blue");
    let told = hob.told(ADA, 3).await;
    assert!(told[1].contains("put it aside"), "{told:?}");
    assert_eq!(told[2], "Good day.");
    assert_eq!(
        hob.ask(BOB, "Hello", Reply::text("Hello Bob.")).await,
        "Hello Bob.",
        "it costs one message, not the channel"
    );
    hob.process().until_logged("run_events", 1).await;
    hob.process().until_logged("agent_run.parked", 1).await;
}
