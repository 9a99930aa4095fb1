//! How tools are run: again, alone, checked, hooked, stopped, and what of their results is shown.

use std::os::unix::fs::PermissionsExt as _;

use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::fifo::Fifo;
use hob_testkit::process::{HobProcess, hob_command};
use hob_testkit::test_hob::{ADA, BOB, HALL, TestHob, command};

/// A command that notes each of its runs, and fails in passing until the third.
const MOODY: &str = r#"
[agent]
tool_retries_ms = [1, 1, 1]
[tools.moody]
sandbox = false
trusted_output = true
description = "Fails twice."
command = ["/bin/sh", "-c", "echo run >> $HOME/runs; test $(wc -l < $HOME/runs) -ge 3 && echo there && exit; echo busy; exit 75"]
"#;

/// A command with a long output: the numbers to ten thousand.
const COUNT: &str = r#"
[tools.count]
sandbox = false
trusted_output = true
description = "Counts."
command = ["seq", "1", "10000"]
"#;

/// The tool `note`, which runs this, and a hook.
fn noting(command: &str, hook: &str) -> String {
    format!(
        r#"[tools.note]
        sandbox = false
        trusted_output = true
        description = "Notes."
        command = ["/bin/sh", "-c", "{command}"]
        [[hooks]]
        sandbox = false
        {hook}"#
    )
}

/// What tools answered in the last request, in order, without the guidance below what failed (row E9).
fn results(hob: &TestHob) -> Vec<String> {
    let last = hob.model.requests().pop().unwrap();
    let results = last.messages().iter().filter(|message| message["role"] == "tool");
    let text = |message: &serde_json::Value| {
        let text = message["content"].as_str().unwrap();
        let end = ["\n\n[It failed. ", "\n\n[It was denied. "].iter().filter_map(|guidance| text.find(guidance)).min();
        text[..end.unwrap_or(text.len())].to_owned()
    };
    results.map(text).collect()
}

/// The reply without what the record adds to it (row E10).
fn words(told: &str) -> &str {
    told.split("\n\n(By my record, ").next().unwrap()
}

#[tokio::test]
async fn b1_a_command_that_fails_in_passing_is_run_again() {
    let mut hob = TestHob::running(&format!("{MOODY}\nidempotent = true")).await;
    hob.model.reply(Reply::call("moody", "{}"));
    hob.ask(ADA, "Go", Reply::text("Done.")).await;
    assert_eq!(results(&hob), ["there"]);
    assert_eq!(hob.lines("runs").len(), 3);
    hob.process().until_logged("agent.tool.retry", 2).await;
    hob.nothing_refused();
}

#[tokio::test]
async fn b1_a_command_with_side_effects_is_run_once() {
    let hob = TestHob::running(MOODY).await;
    hob.model.reply(Reply::call("moody", "{}"));
    hob.ask(ADA, "Go", Reply::text("No.")).await;
    assert_eq!(results(&hob), ["exit status: 75\nbusy"]);
    assert_eq!(hob.lines("runs").len(), 1);
}

#[tokio::test]
async fn b1_a_retry_that_a_crash_cut_off_is_made_again() {
    let mut hob = TestHob::with(
        r#"[agent]
        tool_retries_ms = [1, 1, 1]
        [tools.frail]
        sandbox = false
        trusted_output = true
        description = "Fails, hangs, works."
        command = ["/bin/sh", "-c", "echo run >> $HOME/runs; case $(wc -l < $HOME/runs) in 1) exit 75;; 2) echo up > $HOME/up; sleep 600;; esac; echo there"]
        idempotent = true"#,
    )
    .await;
    let mut up = Fifo::make(&hob.path("up"));
    hob.start().await;
    hob.model.reply(Reply::call("frail", "{}"));
    hob.model.reply(Reply::text("Done."));
    hob.say(ADA, "Go");
    assert_eq!(up.line().await, "up");
    hob.restart().await;
    assert_eq!(hob.told(ADA, 1).await, ["Done."]);
    assert_eq!(results(&hob), ["there"]);
    assert_eq!(hob.lines("runs").len(), 3);
}

#[tokio::test]
async fn a5_a_result_is_on_record_before_the_next_call_begins() {
    let mut hob = TestHob::with(
        r#"[tools.first]
        sandbox = false
        trusted_output = true
        description = "Has an effect."
        command = ["/bin/sh", "-c", "echo ran >> $HOME/first; echo done"]
        exclusive = true
        [tools.second]
        sandbox = false
        trusted_output = true
        description = "Hangs once."
        command = ["/bin/sh", "-c", "mkdir $HOME/hung || exec echo there; echo up > $HOME/up; sleep 600"]
        idempotent = true"#,
    )
    .await;
    let mut up = Fifo::make(&hob.path("up"));
    hob.start().await;
    hob.model.reply(Reply::calls(&[("first", "{}"), ("second", "{}")]));
    hob.model.reply(Reply::text("Both."));
    hob.say(ADA, "Go");
    assert_eq!(up.line().await, "up");
    hob.restart().await;
    assert_eq!(hob.told(ADA, 1).await, ["Both."]);
    assert_eq!(hob.lines("first"), ["ran"], "what has a recorded result is not run again");
    assert_eq!(results(&hob)[0], "done");
    assert!(results(&hob)[1].starts_with("there"), "{:?}", results(&hob));
}

#[tokio::test]
async fn d4_a_command_that_runs_alone_has_no_other_beside_it() {
    let mut hob = TestHob::with(
        &(command(
            "alone",
            r#"echo "begin $1" >> $HOME/log; echo "$1" > $HOME/up; read line < $HOME/go; echo "end $1" >> $HOME/log"#,
            &["who"],
        ) + "exclusive = true\nidempotent = true"),
    )
    .await;
    let (mut up, mut go) = (Fifo::make(&hob.path("up")), Fifo::make(&hob.path("go")));
    hob.start().await;
    hob.model.reply(Reply::calls(&[("alone", r#"{"who": "a"}"#), ("alone", r#"{"who": "b"}"#)]));
    hob.model.reply(Reply::text("Both."));
    hob.say(ADA, "Go");
    for who in ["a", "b"] {
        assert_eq!(up.line().await, who);
        go.tell("go").await;
    }
    assert_eq!(hob.told(ADA, 1).await, ["Both."]);
    assert_eq!(hob.lines("log"), ["begin a", "end a", "begin b", "end b"]);
}

#[tokio::test]
async fn e3_the_environment_sets_the_usual_timeout_and_a_tools_own_goes_before_it() {
    let hob = TestHob::with(
        r#"[tools.hang]
        sandbox = false
        trusted_output = true
        description = "Hangs."
        command = ["/bin/sh", "-c", "exec 3> $HOME/hold; echo up >&3; sleep 600"]
        [tools.patient]
        sandbox = false
        trusted_output = true
        description = "Waits."
        command = ["/bin/sh", "-c", "read line < $HOME/go; echo $line"]
        timeout_secs = 0"#,
    )
    .await;
    let (mut hold, mut go) = (Fifo::make(&hob.path("hold")), Fifo::make(&hob.path("go")));
    let mut command = hob_command(hob.home.path(), &["run"]);
    command.env("HOB_TOOL_TIMEOUT_SECS", "1");
    let _hob = HobProcess::start(command);
    hob.model.reply(Reply::calls(&[("hang", "{}"), ("patient", "{}")]));
    hob.model.reply(Reply::text("It hung."));
    hob.say(ADA, "Go");
    assert_eq!(hold.line().await, "up");
    hold.abandoned().await;
    go.tell("there").await;
    assert_eq!(words(&hob.told(ADA, 1).await[0]), "It hung.");
    let results = results(&hob);
    insta::assert_snapshot!(results[0], @"Stopped after 1 s without a result; it may have had a part of its effect.");
    assert_eq!(results[1], "there");
}

#[tokio::test]
async fn e3_a_timeout_that_is_no_number_is_told_at_the_start() {
    let hob = TestHob::new().await;
    let mut command = hob_command(hob.home.path(), &["run"]);
    let output = command.env("HOB_AGENT_TOOL_TIMEOUT_SECS", "ten").output().await.unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(r#"$HOB_AGENT_TOOL_TIMEOUT_SECS is "ten", expected whole seconds"#), "{told}");
}

#[tokio::test]
async fn c9_a_long_result_is_shown_by_its_ends_and_read_again_by_its_id() {
    let hob = TestHob::running(&format!("{COUNT}\n[agent]\ntool_output_chars_max = 200")).await;
    hob.model.reply(Reply::call("count", "{}"));
    hob.model.reply(Reply::call("read_result", r#"{"id": "1/1.0", "from": 20000, "to": 20020}"#));
    hob.model.reply(Reply::call("read_result", r#"{"id": "1/1.0", "from": 20000}"#));
    hob.ask(ADA, "Count", Reply::text("Counted.")).await;
    let results = results(&hob);
    let shown: Vec<&str> = results[0].lines().collect();
    assert_eq!((shown[0], shown[shown.len() - 2]), ("1", "10000"));
    let cut = shown.iter().find(|line| line.starts_with('…')).unwrap();
    insta::assert_snapshot!(cut, @"… 48693 characters left out …");
    insta::assert_snapshot!(shown.last().unwrap(), @r#"[All 48893 characters: read_result {"id": "1/1.0"}]"#);
    insta::assert_snapshot!(results[1], @r"
    Characters 20000 to 20020 of 48893:
    22
    4223
    4224
    4225
    42
    ");
    assert_eq!(results[2].chars().count(), 140 + "Characters 20000 to 20140 of 48893:\n".len());
    let path = hob.path("data/results/1/1.0.txt");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let whole = std::fs::read_to_string(&path).unwrap();
    assert!(whole.starts_with("1\n2\n") && whole.ends_with("\n10000") && whole.lines().count() == 10_000);
    hob.nothing_refused();
}

#[tokio::test]
async fn c9_a_result_belongs_to_its_conversation_and_its_person() {
    let mut hob = TestHob::with(COUNT).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    let hall = async |person: i64, tool: &str, arguments: &str, nth: usize| {
        hob.model.reply(Reply::call(tool, arguments));
        hob.model.reply(Reply::text("Done."));
        hob.telegram.post(Post::new(HALL, person, &format!("@{} go", FakeTelegram::BOT_NAME)));
        hob.told(HALL, nth).await;
        results(&hob).pop().unwrap()
    };
    let counted = hall(ADA, "count", "{}", 1).await;
    assert!(counted.contains(r#"{"id": "1/1.0"}"#), "{counted}");
    let read = r#"{"id": "1/1.0", "to": 3}"#;
    assert_eq!(hall(ADA, "read_result", read, 2).await, "Characters 0 to 3 of 48893:\n1\n2");
    let refused = hall(BOB, "read_result", read, 3).await;
    insta::assert_snapshot!(refused, @"There is no kept result 1/1.0 in this conversation.");
    // The same person in another conversation, and what names no result at all.
    hob.model.reply(Reply::calls(&[("read_result", read), ("read_result", r#"{"id": "../1/1.0"}"#)]));
    hob.ask(ADA, "And here?", Reply::text("No.")).await;
    insta::assert_snapshot!(results(&hob).join("\n"), @r#"
    There is no kept result 1/1.0 in this conversation.
    "../1/1.0" is not the id of a result, which looks like 12/3.0.
    "#);
}

#[tokio::test]
async fn d5_arguments_that_do_not_fit_are_named_and_the_tool_is_not_run() {
    let hob = TestHob::running(&command("note", r#"echo "$1" >> $HOME/notes"#, &["line"])).await;
    hob.model.reply(Reply::calls(&[("note", r#"{"line": 3, "loud": true}"#), ("note", "{}")]));
    hob.ask(ADA, "Note it", Reply::text("No.")).await;
    insta::assert_snapshot!(results(&hob).join("\n"), @r#"
    The arguments do not fit note; the call was not made.
    - line: value is not of type "string"
    - the arguments: Additional properties are not allowed ('loud' was unexpected)
    The arguments do not fit note; the call was not made.
    - the arguments: "line" is a required property
    "#);
    assert_eq!(hob.lines("notes").len(), 0);
    hob.nothing_refused();
}

#[tokio::test]
async fn e7_a_hook_blocks_a_call_and_says_why() {
    let hob = TestHob::running(
        r#"[tools.note]
        sandbox = false
        trusted_output = true
        description = "Notes a line."
        command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/notes', "sh", "{line}"]
        parameters = { line = "The line." }
        [[hooks]]
        sandbox = false
        when = "before_tool"
        tools = ["no*"]
        command = ["/bin/sh", "-c", "cat >> $HOME/asked; grep -q secret $HOME/asked || exit 0; echo No secrets on paper.; exit 2"]"#,
    ).await;
    hob.model.reply(Reply::call("note", r#"{"line": "milk"}"#));
    hob.model.reply(Reply::calls(&[("note", r#"{"line": "the secret"}"#), ("current_time", "{}")]));
    hob.ask(ADA, "Note it", Reply::text("Partly.")).await;
    assert_eq!(hob.lines("notes"), ["milk"]);
    let results = results(&hob);
    insta::assert_snapshot!(results[1], @"Blocked by the hook /bin/sh: No secrets on paper.");
    assert!(results[2].starts_with("It is "), "another tool is none of its business: {results:?}");
    let asked = std::fs::read_to_string(hob.path("asked")).unwrap();
    let asked: serde_json::Value = serde_json::Deserializer::from_str(&asked).into_iter().next().unwrap().unwrap();
    assert_eq!((&asked["tool"], &asked["arguments"]["line"]), (&"note".into(), &"milk".into()));
    assert_eq!((&asked["session"], &asked["untrusted"]), (&"7".into(), &false.into()));
    hob.nothing_refused();
}

#[tokio::test]
async fn e7_a_hook_that_hangs_blocks_and_is_killed_with_all_it_started() {
    let mut hob = TestHob::with(&noting(
        "echo noted >> $HOME/notes",
        r#"when = "before_tool"
        command = ["/bin/sh", "-c", "exec 3> $HOME/hold; sleep 600 & echo up >&3; wait"]
        timeout_secs = 1"#,
    ))
    .await;
    let mut hold = Fifo::make(&hob.path("hold"));
    hob.start().await;
    hob.model.reply(Reply::call("note", "{}"));
    hob.model.reply(Reply::text("It may not."));
    hob.say(ADA, "Go");
    assert_eq!(hold.line().await, "up");
    hold.abandoned().await;
    assert_eq!(hob.told(ADA, 1).await, ["It may not."]);
    insta::assert_snapshot!(results(&hob)[0], @"Blocked: the hook /bin/sh gave no verdict (stopped after 1 s).");
    assert_eq!(hob.lines("notes").len(), 0);
}

#[tokio::test]
async fn e7_a_run_that_is_stopped_takes_its_hook_along() {
    let mut hob = TestHob::with(&noting(
        "echo noted >> $HOME/notes",
        r#"when = "before_tool"
        command = ["/bin/sh", "-c", "exec 3> $HOME/hold; echo up >&3; sleep 600"]
        timeout_secs = 600"#,
    ))
    .await;
    let mut hold = Fifo::make(&hob.path("hold"));
    hob.start().await;
    hob.model.reply(Reply::call("note", "{}"));
    hob.say(ADA, "Go");
    assert_eq!(hold.line().await, "up");
    hob.say(ADA, "/stop now");
    hold.abandoned().await;
    assert!(hob.told(ADA, 1).await[0].starts_with("Stopped. `note` was under way"));
    assert_eq!(hob.lines("notes").len(), 0);
}

#[tokio::test]
async fn e7_a_hook_after_a_call_withholds_its_result() {
    let hob = TestHob::running(&noting(
        "echo noted >> $HOME/notes; echo the key is hunter2",
        r#"when = "after_tool"
        tools = ["note"]
        command = ["/bin/sh", "-c", "grep -q hunter2 && echo A key is in it. && exit 2; exit 1"]"#,
    ))
    .await;
    hob.model.reply(Reply::call("note", "{}"));
    hob.ask(ADA, "Go", Reply::text("Noted.")).await;
    insta::assert_snapshot!(results(&hob)[0], @"The call was made, but the hook /bin/sh withholds its result: A key is in it.");
    assert_eq!(hob.lines("notes"), ["noted"]);
    assert!(!hob.path("data/results").exists());
    // What was done is done, whatever its words were.
    assert_eq!(hob.told(ADA, 1).await, ["Noted."]);
    hob.nothing_refused();
}

#[tokio::test]
async fn a10_a_command_knows_its_session_and_whether_the_run_is_tainted() {
    let hob = TestHob::running(&command(
        "who",
        r#"echo "$HOB_SESSION $HOB_UNTRUSTED $1 $2 $3""#,
        &["_session_id", "_untrusted_source", "word"],
    ))
    .await;
    let forged = r#"{"word": "hi", "_session_id": "8", "_untrusted_source": "0"}"#;
    hob.model.reply(Reply::calls(&[("who", r#"{"word": "hi"}"#), ("who", forged)]));
    hob.ask(ADA, "Who?", Reply::text("You.")).await;
    let results = results(&hob);
    assert_eq!(results[0], "7 0 7 0 hi");
    insta::assert_snapshot!(results[1], @r"
    The arguments do not fit who; the call was not made.
    - the arguments: Additional properties are not allowed ('_session_id', '_untrusted_source' were unexpected)
    ");
    let offered = hob.model.requests()[0].body["tools"].to_string();
    assert!(offered.contains("\"who\"") && !offered.contains("_session_id") && !offered.contains("_untrusted"));
    hob.nothing_refused();
}
