//! Who may what, and how much of it: people, roles, tools and quotas (rows A10, C1, C2, C4, C5, E1, E15, N4).

use std::time::Duration;

use hob_testkit::fake_model::{Gate, ReceivedRequest, Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{ADA, BOB, HALL, OWNER, STRANGER, TestHob};

/// A stranger is a guest.
const GUEST: &str = "[telegram]\nguest_user_ids = [99]";

/// A tool for admins.
const WIPE: &str = r#"
[tools.wipe]
sandbox = false
trusted_output = true
description = "Wipes."
command = ["/bin/sh", "-c", "echo wiped >> $HOME/wiped"]
role = "admin"
"#;

/// The tools that everybody is shown.
const EVERYBODYS: [&str; 4] = ["ask_human", "spawn_agent", "use_skill", "use_tool"];

/// The tools that everybody may call.
const GUESTS: [&str; 12] = [
    "agent_send",
    "append_run_journal_entry",
    "ask_human",
    "ask_reader",
    "current_time",
    "get_run_journal",
    "read_result",
    "request_more_iterations",
    "spawn_agent",
    "update_run_journal",
    "use_skill",
    "use_tool",
];

fn in_hall(hob: &TestHob, person: i64, text: &str) {
    hob.telegram.post(Post::new(HALL, person, &format!("@{} {text}", FakeTelegram::BOT_NAME)));
}

/// The last message without the guidance below it.
fn first_line(asked: &ReceivedRequest) -> &str {
    asked.last_text().lines().next().unwrap()
}

#[tokio::test]
async fn c1_who_is_not_named_is_nobody_unless_guests_are_let_in() {
    let mut hob = TestHob::running("").await;
    hob.say(STRANGER, "Hello");
    assert!(hob.told(STRANGER, 1).await[0].starts_with("I do not know you yet."));
    hob.stop().await;
    hob.configure("[telegram]\nallow_guests = true");
    hob.start().await;
    assert_eq!(hob.ask(STRANGER, "And now?", Reply::text("Welcome.")).await, "Welcome.");
    let requests = hob.model.requests();
    assert_eq!(requests.len(), 1, "what was said before is not answered");
    assert_eq!(requests[0].tools(), EVERYBODYS);
    hob.nothing_refused();
}

#[tokio::test]
async fn c1_one_person_under_two_names_is_one_person() {
    let mut hob = TestHob::running("[people.ada]\ntelegram_user_ids = [7, 99]").await;
    let fact = r#"{"category": "home", "key": "bins", "value": "They go out on Tuesday"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    hob.ask(ADA, "The bins go out on Tuesday", Reply::text("Noted.")).await;
    hob.ask(STRANGER, "It is me", Reply::text("I know.")).await;
    hob.ask(BOB, "It is not her", Reply::text("I know.")).await;
    let requests = hob.model.requests();
    let knows = |index: usize| requests[index].body["messages"].to_string().contains("They go out on Tuesday");
    assert!(knows(2) && !knows(3), "{requests:#?}");
    hob.stop().await;
    let people: Vec<(i64, i64)> = hob.rows("SELECT count(*), count(DISTINCT user_id) FROM identities").await;
    assert_eq!(people, [(3, 2)]);
}

#[tokio::test]
async fn c1_two_who_turn_out_to_be_one_are_one_from_then_on() {
    let mut hob = TestHob::running("").await;
    let fact = r#"{"category": "home", "key": "bins", "value": "They go out on Tuesday"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    hob.ask(ADA, "The bins go out on Tuesday", Reply::text("Noted.")).await;
    hob.ask(BOB, "Hello", Reply::text("Hello.")).await;
    hob.stop().await;
    hob.configure("[people.ada]\ntelegram_user_ids = [7, 8]");
    hob.start().await;
    hob.ask(BOB, "It was me all along", Reply::text("I see.")).await;
    let last = hob.model.requests().pop().unwrap();
    assert!(last.body["messages"].to_string().contains("They go out on Tuesday"), "{last:#?}");
}

#[tokio::test]
async fn c5_tools_go_by_role_and_what_is_not_offered_cannot_be_called() {
    let hob = TestHob::running(&format!("{WIPE}\n{GUEST}")).await;
    hob.model.reply(Reply::call("wipe", "{}"));
    assert_eq!(hob.ask(ADA, "Wipe it", Reply::text("I can't.")).await, "I can't.");
    let requests = hob.model.requests();
    assert!(!requests[0].tools().contains(&"wipe"));
    insta::assert_snapshot!(first_line(&requests[1]), @r#"There is no tool "wipe". There are: agent_send, append_run_journal_entry, ask_human, ask_reader, current_time, delete_file, edit_file, forget, get_run_journal, keep_changes, keep_file, list_files, manage_people, move_file, plan, read_file, read_result, recall, remember_fact, request_more_iterations, schedule, search_files, send_file, send_message, spawn_agent, system_info, terminal, update_run_journal, use_skill, use_tool, watch_command, watch_page, web_fetch, web_search, write_file."#);
    assert!(hob.lines("wiped").is_empty(), "it exists, and was not run");
    hob.model.reply(Reply::call("remember_fact", r#"{"category":"a","key":"b","value":"c"}"#));
    hob.ask(STRANGER, "Remember that", Reply::text("I can't.")).await;
    let requests = hob.model.requests();
    let refused = first_line(&requests[3]);
    assert_eq!(refused, format!(r#"There is no tool "remember_fact". There are: {}."#, GUESTS.join(", ")));
    hob.model.reply(Reply::call("wipe", "{}"));
    hob.ask(OWNER, "Wipe it", Reply::text("Wiped.")).await;
    assert_eq!(hob.lines("wiped"), ["wiped"]);
}

#[tokio::test]
async fn a_guest_chooses_nothing_for_those_who_share_a_conversation() {
    let mut hob = TestHob::with("[telegram]\nguest_user_ids = [99]\n[provider.models]\nothers = ['big']").await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob.model.reply(Reply::text("I see."));
    in_hall(&hob, ADA, "The bins go out on Tuesday");
    hob.told(HALL, 1).await;
    let said = ["/model openai-compatible/big", "/auto", "/queue mode interrupt", "/new", "/reset", "/clean", "/pause"];
    for (count, command) in (2..).zip(said) {
        hob.telegram.post(Post::new(HALL, STRANGER, command));
        let told = hob.told(HALL, count).await.pop().unwrap();
        assert_eq!(told, "Guests cannot choose that: somebody of the household can.", "{command}");
    }
    hob.model.reply(Reply::text("Tuesday."));
    in_hall(&hob, ADA, "When do the bins go out?");
    hob.told(HALL, 2 + said.len()).await;
    let asked = hob.model.requests().pop().unwrap();
    assert_eq!(asked.body["model"], "fake", "nobody else is told what is said here");
    assert!(asked.body.to_string().contains("The bins go out on Tuesday"), "and what was said stays in sight");
    // Alone they begin anew as they like, but choose no model that the household pays.
    hob.say(STRANGER, "/new");
    hob.say(STRANGER, "/model openai-compatible/big");
    let told = hob.told(STRANGER, 2).await;
    assert!(told[0].starts_with("A new conversation."), "{told:?}");
    assert_eq!(told[1], "Guests cannot choose that: somebody of the household can.");
    hob.nothing_refused();
}

#[tokio::test]
async fn n4_what_waits_behind_the_owner_runs_as_its_own_sender() {
    let mut hob = TestHob::with(WIPE).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).text("Tidy.").finish("stop").into());
    in_hall(&hob, OWNER, "tidy up");
    hob.asked(1).await;
    hob.model.reply(Reply::call("wipe", "{}"));
    hob.model.reply(Reply::text("I can't."));
    in_hall(&hob, BOB, "and wipe it");
    hob.told(HALL, 1).await;
    gate.open();
    assert_eq!(hob.told(HALL, 3).await[1..], ["Tidy.", "I can't."]);
    let requests = hob.model.requests();
    let offered: Vec<bool> = requests.iter().map(|request| request.tools().contains(&"wipe")).collect();
    assert_eq!(offered, [true, false, false]);
    assert!(hob.lines("wiped").is_empty());
}

/// Waits until a run is withdrawn: it is logged just before.
async fn withdrawn(hob: &TestHob) {
    let runs = "SELECT count(*) FROM runs WHERE state = 'withdrawn'";
    while hob.value::<i64>(runs).await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn n4_what_waits_is_withdrawn_when_its_sender_is_not_let_in_any_more() {
    let mut hob = TestHob::new().await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob.model.reply(Script::default().gate(&Gate::default()).text("Never.").finish("stop").into());
    in_hall(&hob, ADA, "take your time");
    hob.asked(1).await;
    in_hall(&hob, BOB, "and me?");
    hob.told(HALL, 1).await;
    hob.recorded(1).await;
    hob.crash().await;
    hob.configure("[telegram]\nallowed_user_ids = [7]");
    hob.model.reply(Reply::text("Here I am."));
    hob.model.reply(Reply::text("Still here."));
    hob.start().await;
    hob.told(HALL, 2).await;
    hob.process().until_logged("its sender is not let in any more", 1).await;
    withdrawn(&hob).await;
    in_hall(&hob, ADA, "and now?");
    let told = hob.told(HALL, 3).await;
    assert_eq!(told[1..], ["Here I am.", "Still here."]);
    hob.stop().await;
    let states: Vec<(String,)> = hob.rows("SELECT state FROM runs ORDER BY id").await;
    assert_eq!(
        states.iter().map(|state| state.0.as_str()).collect::<Vec<_>>(),
        ["completed", "withdrawn", "completed"]
    );
}

#[tokio::test]
async fn a10_a_tool_knows_whose_call_it_is() {
    let hob = TestHob::running("").await;
    let fact = r#"{"category": "home", "key": "doctor", "value": "Weber"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    hob.ask(ADA, "My doctor is called so", Reply::text("Noted.")).await;
    for (person, found) in [(ADA, true), (BOB, false)] {
        hob.model.reply(Reply::call("recall", r#"{"query": "doctor", "what": "facts"}"#));
        hob.ask(person, "who?", Reply::text("Well.")).await;
        let last = hob.model.requests().pop().unwrap();
        assert_eq!(last.last_text().contains("Weber"), found, "{person}: {}", last.last_text());
    }
}

#[tokio::test]
async fn c4_each_chat_and_each_topic_is_a_conversation_of_its_own() {
    let mut hob = TestHob::new().await;
    hob.telegram.group(HALL, &[5, 6]);
    hob.start().await;
    hob.ask(ADA, "alone", Reply::text("one")).await;
    for (count, (topic, text)) in
        [(5, "in the fifth"), (6, "in the sixth"), (5, "in the fifth again")].iter().enumerate()
    {
        hob.model.reply(Reply::text("here"));
        let text = format!("@{} {text}", FakeTelegram::BOT_NAME);
        hob.telegram.post(Post::new(HALL, ADA, &text).in_topic(*topic));
        hob.told(HALL, count + 1).await;
    }
    let last = hob.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(last.contains("in the fifth again") && last.contains("in the fifth\""), "{last}");
    assert!(!last.contains("in the sixth") && !last.contains("alone"), "{last}");
}

#[tokio::test]
async fn c2_a_guest_runs_into_their_tokens_and_is_told_when_they_begin_anew() {
    let hob = TestHob::running(GUEST).await;
    let read = |tokens: u64| -> Reply { Script::default().text("Welcome.").reads(tokens).finish("stop").into() };
    assert_eq!(hob.ask(STRANGER, "Hello", read(4_993)).await, "Welcome.");
    hob.say(STRANGER, "And again");
    let told = hob.told(STRANGER, 2).await.pop().unwrap();
    let begins =
        "Your tokens for a guest's month are used up: 5000 of 5000. So I have not begun with this. They begin anew on ";
    assert!(told.starts_with(begins), "{told}");
    assert!(
        told.ends_with(", 00:00; or whoever runs me raises guest_month_tokens under [quotas] in config.toml."),
        "{told}"
    );
    hob.say(STRANGER, "/status");
    let status = hob.told(STRANGER, 3).await.pop().unwrap();
    assert!(status.contains("\nyour tokens: 5000 of 5000 for a guest's month, anew on "), "{status}");
    // Others have more, or no limit at all.
    for person in [ADA, OWNER] {
        assert_eq!(hob.ask(person, "Hello", read(4_993)).await, "Welcome.");
        assert_eq!(hob.ask(person, "And again", Reply::text("Hi.")).await, "Hi.");
    }
    assert_eq!(hob.model.requests().len(), 5);
}

#[tokio::test]
async fn c2_runs_at_once_cannot_overshoot_a_quota_together() {
    let mut hob = TestHob::with(&format!("{GUEST}\n[quotas]\nguest_month_tokens = 1500")).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    let gate = Gate::default();
    hob.model.reply(Script::default().gate(&gate).text("Hi.").finish("stop").into());
    hob.say(STRANGER, &"word ".repeat(500));
    hob.asked(1).await;
    in_hall(&hob, STRANGER, &"word ".repeat(500));
    let told = hob.told(HALL, 1).await.pop().unwrap();
    assert!(told.starts_with("Your tokens for a guest's month do not allow the next step: "), "{told}");
    gate.open();
    hob.told(STRANGER, 1).await;
    hob.model.reply(Reply::text("Hi."));
    in_hall(&hob, STRANGER, "and now?");
    assert_eq!(hob.told(HALL, 2).await[1], "Hi.", "what was expected and not read is free again");
}

#[tokio::test]
async fn e15_at_the_quota_the_task_is_handed_back_with_what_was_done() {
    let hob = TestHob::running("[quotas]\nhour_tokens = 3000").await;
    let fact = r#"{"category":"home","key":"colour","value":"red"}"#;
    let script = Script::default().fragment(0, Some("c"), Some("remember_fact"), fact);
    hob.model.reply(script.reads(2_990).finish("tool_calls").into());
    hob.say(ADA, "Remember that the door is red");
    let told = hob.told(ADA, 1).await.pop().unwrap();
    assert!(told.starts_with("Your tokens for an hour do not allow the next step: 2997 of 3000 are used"), "{told}");
    assert!(told.contains("So I have stopped here.\nDone so far:\n- remember_fact\nThey begin anew on "), "{told}");
    assert!(told.contains("raises hour_tokens under [quotas] in config.toml.\n\nObjective: "), "{told}");
}

#[tokio::test]
async fn e15_more_tool_calls_than_a_minute_has_are_refused() {
    let mut hob = TestHob::running("[quotas]\ntool_calls_per_minute = 2").await;
    hob.model.reply(Reply::calls(&[("current_time", "{}"), ("current_time", "{}"), ("current_time", "{}")]));
    hob.model.reply(Reply::call("current_time", "{}"));
    hob.ask(ADA, "What time is it?", Reply::text("Late.")).await;
    let requests = hob.model.requests();
    let results = |index: usize| -> Vec<String> {
        let messages = requests[index].messages().iter().filter(|message| message["role"] == "tool");
        messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    };
    let refused = "Not run: there may be 2 tool calls for one person in a minute, and there were as many. The next one may be made in ";
    let starts: Vec<bool> = results(1).iter().map(|result| result.starts_with(refused)).collect();
    assert_eq!(starts, [false, false, true], "{:?}", results(1));
    assert!(results(2)[3].starts_with(refused), "{:?}", results(2));
    // Each person has their own minute, and what was not run does not count.
    hob.model.reply(Reply::call("current_time", "{}"));
    hob.ask(BOB, "And for me?", Reply::text("Late.")).await;
    let last = hob.model.requests().pop().unwrap();
    assert!(!last.last_text().starts_with(refused), "{}", last.last_text());
    hob.stop().await;
    let counted: Vec<(i64, i64)> = hob.rows("SELECT count(*), count(user_id) FROM tool_calls").await;
    assert_eq!(counted, [(5, 3)]);
}

#[tokio::test]
async fn e1_a_message_has_so_many_characters_at_most() {
    let hob = TestHob::running("").await;
    hob.say(ADA, &"x".repeat(128_001));
    let told = hob.told(ADA, 1).await.pop().unwrap();
    assert_eq!(
        told,
        "That message has 128001 characters; I take at most 128000. Please send it in parts, or as a file."
    );
    assert_eq!(hob.ask(ADA, &"x".repeat(128_000), Reply::text("Long.")).await, "Long.");
}

#[tokio::test]
async fn e1_the_model_is_found_by_alias_then_breaker_then_alternative() {
    let mut hob = TestHob::new().await;
    let base_url = hob.model.base_url();
    hob.configure(&format!(
        "[provider.models]
        others = ['big']
        [[provider.fallbacks]]
        kind = 'openai_compatible'
        base_url = '{base_url}'
        api_key = 'sk-other'
        model = 'spare'
        [aliases]
        quick = 'openai-compatible/big'"
    ));
    hob.model.otherwise(|asked| match asked.body["model"].as_str() {
        Some("big") => Reply::status(404),
        model => Reply::text(&format!("I am {}.", model.unwrap_or_default())),
    });
    hob.start().await;
    hob.say(ADA, "/model quick");
    insta::assert_snapshot!(hob.told(ADA, 1).await[0], @"From now on I use openai-compatible/big here.");
    hob.say(ADA, "Who is there?");
    let told = hob.told(ADA, 3).await;
    assert!(told[1..].contains(&"I am spare.".to_owned()), "{told:?}");
    hob.say(ADA, "And now?");
    assert_eq!(hob.told(ADA, 4).await[3], "I am spare.");
    let asked: Vec<String> =
        hob.model.requests().iter().map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(asked, ["big", "spare", "spare"], "what rests is passed over");
}
