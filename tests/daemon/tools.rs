//! Tools, built in and declared.

use hob_testkit::fake_model::{Reply, Script};
use hob_testkit::fifo::Fifo;
use hob_testkit::test_hob::{ADA, TestHob, command};

/// A tool that appends a line to a file.
const NOTE: &str = r#"
[tools.note]
sandbox = false
trusted_output = true
description = "Notes a line."
command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/notes; echo noted "$1"', "sh", "{line}"]
parameters = { line = "The line." }
"#;

#[tokio::test]
async fn a5_a_fact_is_remembered_and_recalled_in_another_conversation() {
    let hob = TestHob::running("").await;
    let fact = r#"{"category": "home", "key": "bins", "value": "They go out on Tuesday"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    assert_eq!(hob.ask(ADA, "The bins go out on Tuesday", Reply::text("Noted.")).await, "Noted.");
    hob.say(ADA, "/new");
    hob.told(ADA, 2).await;
    hob.model.reply(Reply::call("recall", r#"{"query": "bins"}"#));
    assert_eq!(hob.ask(ADA, "When?", Reply::text("On Tuesday.")).await, "On Tuesday.");
    let requests = hob.model.requests();
    assert_eq!(requests[1].last_text(), "Remembered: bins: They go out on Tuesday.");
    assert_eq!(requests[2].messages().len(), 2, "the conversation is new");
    assert!(requests[3].last_text().contains("They go out on Tuesday"), "{}", requests[3].last_text());
    hob.nothing_refused();
}

#[tokio::test]
async fn d5_a_call_that_does_not_fit_is_answered_to_the_model() {
    let hob = TestHob::running("").await;
    let broken = Script::default().fragment(0, Some("c"), Some("recall"), r#"{"query": "bi"#).finish("tool_calls");
    hob.model.reply(broken.into());
    hob.model.reply(Reply::call("recall", r#"{"question": 3}"#));
    hob.model.reply(Reply::call("make_tea", "{}"));
    assert_eq!(hob.ask(ADA, "Go", Reply::text("I can't.")).await, "I can't.");
    let requests = hob.model.requests();
    assert!(requests[1..].iter().all(|request| request.last_role() == "tool"));
    let said = |index: usize| requests[index].last_text();
    assert!(said(1).starts_with("The arguments are not valid JSON ("), "{}", said(1));
    insta::assert_snapshot!(said(2), @r#"
    The arguments do not fit recall; the call was not made.
    - the arguments: Additional properties are not allowed ('question' was unexpected)
    - the arguments: "query" is a required property

    [It failed. Don't make results up: try another way, or say plainly what is not known or not done.]
    "#);
    insta::assert_snapshot!(said(3), @r#"
    There is no tool "make_tea". There are: agent_send, append_run_journal_entry, ask_human, ask_reader, current_time, delete_file, edit_file, forget, get_run_journal, keep_changes, keep_file, list_files, manage_people, move_file, plan, read_file, read_result, recall, remember_fact, request_more_iterations, schedule, search_files, send_file, send_message, spawn_agent, system_info, terminal, update_run_journal, use_skill, use_tool, watch_command, watch_page, web_fetch, web_search, write_file.

    [It failed. Don't make results up: try another way, or say plainly what is not known or not done.]
    "#);
    hob.nothing_refused();
}

#[tokio::test]
async fn d4_the_calls_of_one_reply_run_side_by_side() {
    let mut hob = TestHob::with(
        &(command("meet", r#"echo "$1" > $HOME/up; read line < $HOME/go; echo "$1 done""#, &["who"])
            + "idempotent = true"),
    )
    .await;
    let (mut up, mut go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::calls(&[("meet", r#"{"who": "a"}"#), ("meet", r#"{"who": "b"}"#)]));
    hob.model.reply(Reply::text("Both."));
    hob.say(ADA, "Go");
    let mut there = [up.line().await, up.line().await];
    there.sort();
    assert_eq!(there, ["a", "b"]);
    go.tell("go\ngo").await;
    assert_eq!(hob.told(ADA, 1).await, ["Both."]);
    let messages = hob.model.requests()[1].messages().to_vec();
    let results: Vec<_> = messages.iter().filter(|m| m["role"] == "tool").map(|m| m["content"].clone()).collect();
    assert_eq!(results, ["a done", "b done"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn a_declared_command_runs_with_its_arguments_as_they_are() {
    let hob = TestHob::running(NOTE).await;
    hob.model.reply(Reply::call("note", r#"{"line": "$(id); \"milk\" && eggs"}"#));
    hob.ask(ADA, "Note it", Reply::text("Done.")).await;
    assert_eq!(hob.lines("notes"), [r#"$(id); "milk" && eggs"#]);
    let requests = hob.model.requests();
    assert!(requests[0].tools().contains(&"note"));
    assert_eq!(requests[1].last_text(), r#"noted $(id); "milk" && eggs"#);
}

#[tokio::test]
async fn d5_a_command_that_fails_says_how() {
    let hob = TestHob::running(
        r#"[tools.fail]
        sandbox = false
        trusted_output = true
        description = "Fails."
        command = ["/bin/sh", "-c", "echo almost; echo why >&2; exit 3"]
        [tools.missing]
        sandbox = false
        trusted_output = true
        description = "Is not there."
        command = ["/nonexistent/program"]"#,
    )
    .await;
    hob.model.reply(Reply::calls(&[("fail", "{}"), ("missing", "{}")]));
    hob.ask(ADA, "Go", Reply::text("No.")).await;
    let messages = hob.model.requests()[1].messages().to_vec();
    let results: Vec<_> = messages.iter().filter(|m| m["role"] == "tool").map(|m| m["content"].to_string()).collect();
    insta::assert_snapshot!(results.join("\n"), @r#"
    "exit status: 3\nalmost\nwhy\n\n[It failed. Don't make results up: try another way, or say plainly what is not known or not done.]"
    "/nonexistent/program could not be run: No such file or directory (os error 2).\n\n[It failed. Don't make results up: try another way, or say plainly what is not known or not done.]"
    "#);
}

#[tokio::test]
async fn e3_a_command_that_takes_too_long_is_killed_with_all_it_started() {
    let mut hob = TestHob::with(
        &(command("hang", "exec 3> $HOME/hold; sleep 600 & echo up >&3; wait", &[]) + "timeout_secs = 1"),
    )
    .await;
    let mut hold = Fifo::make(&hob.path("hold"));
    hob.start().await;
    hob.model.reply(Reply::call("hang", "{}"));
    hob.model.reply(Reply::text("It hung."));
    hob.say(ADA, "Go");
    assert_eq!(hold.line().await, "up");
    hold.abandoned().await;
    let answer = hob.told(ADA, 1).await.remove(0);
    assert!(answer.starts_with("It hung.\n\n(By my record, not all of it was done. hang: 0 of 1 done"), "{answer}");
    let told = hob.model.requests()[1].last_text().to_owned();
    insta::assert_snapshot!(told, @"
    Stopped after 1 s without a result; it may have had a part of its effect.

    [It failed. Don't make results up: try another way, or say plainly what is not known or not done.]
    ");
}

#[tokio::test]
async fn a6_a11_steps_run_out_and_can_be_asked_for() {
    let hob = TestHob::running("[agent]\niterations_max = 1\niterations_step = 1\niterations_cap = 2").await;
    hob.model.reply(Reply::call("request_more_iterations", r#"{"reason": "two clocks"}"#));
    hob.model.reply(Reply::calls(&[("current_time", "{}"), ("request_more_iterations", r#"{"reason": "three"}"#)]));
    assert_eq!(hob.ask(ADA, "Go", Reply::text("That is all I could do.")).await, "That is all I could do.");
    let requests = hob.model.requests();
    insta::assert_snapshot!(requests[1].last_text(), @"Granted: up to 2 steps in all.");
    let (last, results) = requests[2].messages().split_last().unwrap();
    insta::assert_snapshot!(results.last().unwrap()["content"].as_str().unwrap(), @"Not granted: 2 steps are the most. Finish with what you have.");
    assert_eq!(last["role"], "user");
    assert_eq!(requests[2].body["tool_choice"], "none", "the last turn calls no tools");
    assert_eq!(requests[2].body["tools"], requests[1].body["tools"], "what was cached stays so");
    hob.nothing_refused();
}
