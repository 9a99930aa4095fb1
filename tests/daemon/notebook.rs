//! Notes that outlive a run, limits, silence and heartbeats.

use hob_testkit::fake_model::{Asked, Gate, Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::house::{ADA, BOB, HALL, House, OWNER};

/// The heads of some notes.
const NOTES: &str =
    r#"{"objective": "Paint the fence", "current_state": "One side is done", "handoff_next_action": "The other side"}"#;
/// An entry of theirs.
const FINDING: &str = r#"{"section": "verified_findings", "entry": "The paint is in the shed"}"#;

/// The content of the block of data that a request has.
fn context(asked: &Asked) -> String {
    let mut said = asked.messages().iter().filter_map(|message| message["content"].as_str());
    said.rfind(|text| text.starts_with("<context>")).unwrap().to_owned()
}

#[tokio::test]
async fn b12_notes_of_a_task_that_ran_out_of_steps_are_gone_on_with() {
    let house = House::running("[agent]\niterations_max = 2\niterations_cap = 2").await;
    house.model.reply(Reply::call("update_run_journal", NOTES));
    house.model.reply(Reply::call("append_run_journal_entry", FINDING));
    assert_eq!(house.ask(ADA, "Paint the fence", Reply::text("I ran out of steps.")).await, "I ran out of steps.");
    house.say(ADA, "/journal");
    insta::assert_snapshot!(house.told(ADA, 2).await[1], @r"
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
    house.model.reply(Reply::call("get_run_journal", "{}"));
    assert_eq!(house.ask(ADA, "Go on", Reply::text("Nothing is left.")).await, "Nothing is left.");
    house.say(ADA, "/journal");
    insta::assert_snapshot!(house.told(ADA, 4).await[3], @"There is no run journal here: nothing was noted, or the task came to its end.");
    house.ask(ADA, "And now?", Reply::text("Nothing.")).await;

    let requests = house.model.requests();
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
    house.nothing_refused();
}

#[tokio::test]
async fn b12_a_failure_is_told_with_the_notes_and_a_new_conversation_drops_them() {
    let house = House::running("").await;
    house.model.reply(Reply::call("update_run_journal", NOTES));
    insta::assert_snapshot!(house.ask(ADA, "Paint the fence", Reply::status(401)).await, @r"
    I could not get an answer from the model: The model provider does not accept the API key. Whoever runs me has to mend the key in config.toml or in the environment.

    Objective: Paint the fence
    Where it stood: One side is done
    Next: The other side
    /journal shows what I noted.
    1. Resume
    2. Try again from the start
    3. Let it be
    ");
    house.say(ADA, "/new");
    house.told(ADA, 2).await;
    house.say(ADA, "/journal");
    assert!(house.told(ADA, 3).await[2].starts_with("There is no run journal here"));
    house.nothing_refused();
}

/// A task of Ada's that noted something and failed.
async fn failed() -> House {
    let mut house = House::running("").await;
    house.model.reply(Reply::call("update_run_journal", NOTES));
    house.ask(ADA, "Paint the fence", Reply::status(401)).await;
    house.ended(1).await;
    house
}

#[tokio::test]
async fn b12_a_failed_run_is_resumed_by_its_button_and_goes_on_from_its_journal() {
    let house = failed().await;
    let panel = house.remembered(ADA);
    let labels: Vec<&str> = panel.all.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["Resume", "Try again from the start", "Let it be"]);
    house.model.reply(Reply::text("The other side is done, too."));
    house.press(ADA, "Resume");
    assert_eq!(house.told(ADA, 2).await[1], "The other side is done, too.");
    let asked = house.model.requests().pop().unwrap();
    assert!(context(&asked).contains("## Next action\nThe other side"), "{}", context(&asked));
    assert!(asked.body["messages"].to_string().contains("Go on with what I asked for before"), "{:?}", asked.body);
    let settled = house.heard(ADA)[0].clone();
    assert!(settled.ends_with("— resumed, by Person 7") && !settled.contains("1. Resume"), "{settled}");
    // It is settled once.
    house.press_remembered(ADA, &panel, "Try again from the start");
    assert_eq!(house.told(ADA, 3).await[2], "That is settled already, or that run did not fail.");
    house.nothing_refused();
}

#[tokio::test]
async fn b12_what_comes_between_a_failure_and_its_resume_neither_shows_nor_loses_the_notes() {
    let house = failed().await;
    let panel = house.remembered(ADA);
    // It notes something of its own, and comes to its end.
    house.model.reply(Reply::call("update_run_journal", r#"{"objective": "Greet"}"#));
    assert_eq!(house.ask(ADA, "Hello", Reply::text("Good day.")).await, "Good day.");
    let hello = house.model.requests().pop().unwrap();
    assert!(!hello.body["messages"].to_string().contains("state: One side"), "{:?}", hello.body);
    assert!(!context(&hello).contains("The other side"), "{}", context(&hello));
    house.say(ADA, "/journal");
    let kept = house.told(ADA, 3).await.remove(2);
    assert!(kept.starts_with("What I had noted when I failed") && kept.contains("One side is done"), "{kept}");
    house.model.reply(Reply::text("The other side is done, too."));
    house.press_remembered(ADA, &panel, "Resume");
    assert_eq!(house.told(ADA, 4).await[3], "The other side is done, too.");
    let asked = house.model.requests().pop().unwrap();
    assert!(context(&asked).contains("## Next action\nThe other side"), "{}", context(&asked));
    assert!(asked.last_text().contains("<run_journal>"), "{}", asked.last_text());
    house.say(ADA, "/journal");
    assert!(house.told(ADA, 5).await[4].starts_with("There is no run journal here"));
    house.nothing_refused();
}

#[tokio::test]
async fn b12_a_failed_run_whose_notes_gave_way_to_others_is_resumed_from_its_journal() {
    let mut house = failed().await;
    let panel = house.remembered(ADA);
    house.model.reply(Reply::call("update_run_journal", r#"{"objective": "Mow"}"#));
    assert!(house.ask(ADA, "Mow the lawn", Reply::status(401)).await.contains("Objective: Mow"));
    house.ended(2).await;
    house.model.reply(Reply::text("The other side is done, too."));
    house.press_remembered(ADA, &panel, "Resume");
    assert_eq!(house.told(ADA, 3).await[2], "The other side is done, too.");
    let asked = house.model.requests().pop().unwrap();
    assert!(context(&asked).contains("## Next action\nThe other side"), "{}", context(&asked));
    assert!(!context(&asked).contains("Mow"), "{}", context(&asked));
    house.nothing_refused();
}

#[tokio::test]
async fn b12_what_a_run_noted_is_no_step_that_it_did() {
    let house = House::running("").await;
    house.model.reply(Reply::call("update_run_journal", r#"{"objective": "Mow"}"#));
    let told = house.ask(ADA, "Mow the lawn", Reply::status(401)).await;
    assert!(told.contains("Where it stood: nothing was done yet"), "{told}");
    house.nothing_refused();
}

#[tokio::test]
async fn b12_a_failed_run_is_tried_again_from_the_start_by_words_and_knows_no_notes() {
    let house = failed().await;
    assert_eq!(house.ask(ADA, "2", Reply::text("Which fence?")).await, "Which fence?");
    let asked = house.model.requests().pop().unwrap();
    assert!(!context(&asked).contains("The other side"), "{}", context(&asked));
    let put = |said: &&serde_json::Value| {
        said["role"] == "user" && said["content"].as_str().is_some_and(|text| text.ends_with("Paint the fence"))
    };
    assert_eq!(asked.messages().iter().filter(put).count(), 2, "it was put again: {:?}", asked.messages());
    // Now it is a number like any other.
    assert_eq!(house.ask(ADA, "2", Reply::text("Two?")).await, "Two?");
    house.nothing_refused();
}

#[tokio::test]
async fn b12_a_failed_run_is_let_be_by_whoever_may_decide_for_its_person() {
    let mut house = House::new().await;
    house.telegram.group(HALL, &[]);
    house.start().await;
    let named = |text: &str| format!("@{} {text}", FakeTelegram::BOT_NAME);
    house.model.reply(Reply::call("update_run_journal", NOTES));
    house.model.reply(Reply::status(401));
    house.telegram.post(Post::new(HALL, ADA, &named("paint the fence")));
    house.told(HALL, 1).await;
    house.ended(1).await;
    let panel = house.remembered(HALL);
    let press = |person: i64| house.telegram.press(HALL, person, panel.message, &panel.all[2].1);
    press(BOB);
    assert!(house.told(HALL, 2).await[1].contains("somebody else"));
    press(OWNER);
    house.acknowledged().await;
    house.telegram.post(Post::new(HALL, ADA, &format!("/journal@{}", FakeTelegram::BOT_NAME)));
    assert!(house.told(HALL, 3).await[2].starts_with("There is no run journal here"));
    assert!(house.heard(HALL)[0].ends_with("— let be, by Person 1"), "{:?}", house.heard(HALL));
    assert_eq!(house.model.requests().len(), 2, "nothing was asked");
}

#[tokio::test]
async fn b12_a_failure_without_notes_says_how_far_it_came_and_one_before_any_step_asks_nothing() {
    let house = House::running("").await;
    let told = house.ask(ADA, "What time is it?", Reply::status(401)).await;
    assert!(!told.contains("Resume"), "{told}");
    house.model.reply(Reply::call("current_time", "{}"));
    let told = house.ask(ADA, "What time is it now?", Reply::status(401)).await;
    let (_, panel) = told.split_once("\n\n").unwrap();
    insta::assert_snapshot!(panel, @r"
    Objective: What time is it now?
    Where it stood: one step was done: current_time
    Next: nothing noted
    1. Resume
    2. Try again from the start
    3. Let it be
    ");
    house.nothing_refused();
}

#[tokio::test]
async fn b12_in_a_group_only_the_one_whose_task_it_is_and_owners_see_the_notes() {
    const HALL: i64 = -100_123;
    let mut house = House::new().await;
    house.telegram.group(HALL, &[]);
    house.start().await;
    let mut count = 0;
    let mut said = async |house: &House, person: i64, text: &str| {
        let name = FakeTelegram::BOT_NAME;
        let text = if text.starts_with('/') { format!("{text}@{name}") } else { format!("@{name} {text}") };
        house.telegram.post(Post::new(HALL, person, &text));
        count += 1;
        house.told(HALL, count).await.pop().unwrap()
    };
    house.model.reply(Reply::call("update_run_journal", NOTES));
    house.model.reply(Reply::status(401));
    said(&house, ADA, "paint the fence").await;
    let shown = said(&house, ADA, "/journal").await;
    assert!(shown.starts_with("What I had noted when I failed"), "{shown}");
    let refused = said(&house, BOB, "/journal").await;
    assert!(refused.contains("somebody else"), "{refused}");
    assert!(said(&house, OWNER, "/journal").await.contains("One side is done"));
    house.model.reply(Reply::text("Nice."));
    said(&house, BOB, "how is it going?").await;
    let asked = house.model.requests().pop().unwrap();
    assert!(!context(&asked).contains("One side"), "another's notes are not gone on with: {}", context(&asked));
    assert!(said(&house, ADA, "/journal").await.contains("One side is done"), "nor done with by another's task");
}

#[tokio::test]
async fn b12_the_notes_of_what_runs_are_shown_while_it_runs() {
    let house = House::running("").await;
    let gate = Gate::default();
    house.model.reply(Reply::call("update_run_journal", NOTES));
    house.model.reply(Script::default().gate(&gate).text("Nothing is left.").finish("stop").into());
    house.say(ADA, "Paint the fence");
    house.asked(2).await;
    house.say(ADA, "/journal");
    assert!(house.told(ADA, 1).await[0].starts_with("What I have noted on what I am doing:\n\n## Objective"));
    gate.open();
    assert_eq!(house.told(ADA, 2).await[1], "Nothing is left.");
}

#[tokio::test]
async fn e13_silence_is_not_sent_and_stands_in_the_history() {
    let mut house = House::running("").await;
    house.model.reply(Reply::text(" NO_REPLY\n"));
    house.say(ADA, "Just so you know");
    house.hob().until_ended(1).await;
    assert_eq!(house.ask(ADA, "And?", Reply::text("I would answer NO_REPLY.")).await, "I would answer NO_REPLY.");
    assert_eq!(house.heard(ADA).len(), 1);
    let history = house.model.requests()[1].body["messages"].to_string();
    assert!(history.contains("Just so you know") && history.contains("[no reply needed]"), "{history}");
    house.nothing_refused();
}

#[tokio::test]
async fn e14_a_heartbeat_that_finds_nothing_leaves_no_trace_and_one_that_speaks_does() {
    let mut house = House::running("[heartbeat]\nevery_secs = 1\nprompt = 'Look.'").await;
    let (first, second) = (Gate::default(), Gate::default());
    house.model.reply(Reply::text("Good day."));
    house.model.reply(Reply::text("NO_REPLY"));
    house.model.reply(Script::default().gate(&first).text("The door is open.").finish("stop").into());
    house.model.reply(Script::default().gate(&second).text("NO_REPLY").finish("stop").into());
    house.say(OWNER, "Hello");
    assert_eq!(house.told(OWNER, 1).await, ["Good day."]);
    house.asked(3).await;
    assert_eq!(house.heard(OWNER).len(), 1, "the first one was silent");
    first.open();
    assert_eq!(house.told(OWNER, 2).await[1], "The door is open.");
    house.asked(4).await;

    let seen = |index: usize| house.model.requests()[index].body["messages"].to_string();
    assert!(seen(1).contains("Good day.") && seen(1).contains("Look."), "{}", seen(1));
    assert_eq!(seen(2).matches("Look.").count(), 1, "the silent one is not read: {}", seen(2));
    assert!(!seen(2).contains("[no reply needed]"), "{}", seen(2));
    assert_eq!(seen(3).matches("Look.").count(), 2, "the other one is: {}", seen(3));
    assert!(seen(3).contains("The door is open."), "{}", seen(3));
    house.nothing_refused();
    house.crash().await;
    let pruned: Vec<(String,)> = house.rows("SELECT text FROM messages WHERE pruned = 1 ORDER BY id").await;
    assert_eq!(pruned, [("Look.".to_owned(),), ("[no reply needed]".to_owned(),)]);
}

#[tokio::test]
async fn c10_what_is_broken_inside_is_told_and_logged() {
    let mut house = House::running("").await;
    house.model.reply(Reply::call("ask_human", r#"{"question": "Red or blue?"}"#));
    house.say(ADA, "Paint it");
    house.told(ADA, 1).await;
    house.recorded(1).await;
    house.crash().await;
    let damage = "UPDATE run_events SET version = 999 WHERE kind = 'human.asked'";
    house.execute(damage).await;
    house.start().await;
    house.model.reply(Reply::text("Good day."));
    house.say(ADA, "blue");
    let told = house.told(ADA, 3).await;
    assert!(told[1].contains("put it aside"), "{told:?}");
    assert_eq!(told[2], "Good day.");
    assert_eq!(
        house.ask(BOB, "Hello", Reply::text("Hello Bob.")).await,
        "Hello Bob.",
        "it costs one message, not the channel"
    );
    house.hob().until_logged("run_events", 1).await;
    house.hob().until_logged("agent_run.parked", 1).await;
}
