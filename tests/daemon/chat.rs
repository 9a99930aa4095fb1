//! `hob chat` from a pipe.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::process::{HobProcess, hob_command, within};
use hob_testkit::test_hob::TestHob;

fn chat(hob: &TestHob) -> HobProcess {
    let mut command = hob_command(hob.home.path(), &["chat"]);
    command.stdin(Stdio::piped());
    HobProcess::start(command)
}

/// Gives the script this input to its end; returns the exit code and what it printed.
async fn piped(hob: &TestHob, input: &[u8]) -> (Option<i32>, String) {
    let mut process = chat(hob);
    let mut stdin = process.stdin();
    stdin.write_all(input).await.unwrap();
    drop(stdin);
    let mut printed = String::new();
    within("end of the output", process.stdout().read_to_string(&mut printed)).await.unwrap();
    (process.ended().await.code(), printed)
}

async fn echoing() -> TestHob {
    let hob = TestHob::new().await;
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_text().lines().last().unwrap())));
    hob
}

#[tokio::test]
async fn each_line_is_answered_and_it_ends_well() {
    let hob = echoing().await;
    let (code, printed) = piped(&hob, b"one\r\n\n  \ncaf\xe9\n/queue\nlast").await;
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(printed, @"
    You said one
    You said caf�
    Nothing is waiting. (Mode: queue.)
    You said last
    ");
    assert_eq!(hob.telegram.look(|world| world.called("getUpdates")), 0, "a chat does not serve Telegram");
    hob.nothing_refused();
}

#[tokio::test]
async fn no_input_is_no_conversation() {
    assert_eq!(piped(&echoing().await, b"").await, (Some(0), String::new()));
}

#[tokio::test]
async fn the_offline_model_answers_without_a_config() {
    let hob = TestHob::new().await;
    std::fs::write(hob.path("config.toml"), "[provider]\nkind = 'offline'").unwrap();
    let (code, printed) =
        piped(&hob, b"remember that the bins go out on Tuesday\nwhat do you know about the bins").await;
    assert_eq!(code, Some(0));
    assert_eq!(printed.matches("Tuesday").count(), 2, "{printed}");
}

#[tokio::test]
async fn the_offline_model_answers_from_what_it_was_told_and_reminds() {
    let hob = TestHob::new().await;
    std::fs::write(hob.path("config.toml"), "[provider]\nkind = 'offline'").unwrap();
    let said = b"remember that my cat is called Miso\nwhat is my cat called?\nwhat is my dog called?\nremind me in 20 minutes to stretch\n/schedules";
    let (code, printed) = piped(&hob, said).await;
    assert_eq!(code, Some(0));
    let told: Vec<&str> = printed.lines().filter(|line| line.starts_with("You told me on ")).collect();
    assert!(told.len() == 1 && told[0].ends_with("Miso"), "{printed}");
    assert!(printed.contains("You have told me nothing about that."), "{printed}");
    assert_eq!(printed.matches("Remind me: stretch").count(), 2, "it is told, and in the list: {printed}");
}

#[tokio::test]
async fn b4_the_offline_model_sums_nothing_up() {
    let hob = TestHob::new().await;
    std::fs::write(hob.path("config.toml"), "[provider]\nkind = 'offline'").unwrap();
    let (_, printed) = piped(&hob, b"hello\nthanks\nhello\nthanks\nhello\nthanks\nhello\n/compact\n").await;
    assert!(printed.contains("I could not compact our conversation: the offline model cannot sum up."), "{printed}");
}

#[tokio::test]
async fn a_failure_of_the_model_is_an_answer() {
    let hob = TestHob::new().await;
    hob.model.reply(Reply::status(401));
    let (code, printed) = piped(&hob, b"hello\n").await;
    assert_eq!(code, Some(0));
    assert!(printed.starts_with("I could not get an answer from the model: "), "{printed}");
}

#[tokio::test]
async fn d6_a_typed_decision_approves_and_what_waits_keeps_nobody() {
    let settings = r#"[tools.pay]
    sandbox = false
    trusted_output = true
    description = "Pays."
    command = ["/bin/sh", "-c", "echo paid >> $HOME/paid; echo paid"]
    approval = "ask""#;
    let hob = TestHob::with(settings).await;
    hob.model.reply(Reply::call("pay", "{}"));
    hob.model.reply(Reply::text("Paid."));
    hob.model.reply(Reply::call("pay", "{}"));
    hob.model.reply(Reply::text("Not paid."));
    let (code, printed) = piped(&hob, b"pay\n1\npay again\nno, because I said so\n/pause\nhello\n").await;
    assert_eq!((code, hob.lines("paid").len()), (Some(0), 1));
    let waits = printed.lines().last().unwrap();
    assert!(waits.starts_with("Taken in; it waits.") && waits.ends_with("It goes on with /resume."), "{waits}");
    let (rest, _) = printed.trim_end().rsplit_once('\n').unwrap();
    insta::assert_snapshot!(rest, @r#"
    May I do this?
    pay – Pays
    (no arguments)
    It runs a program, which can do anything that its rights allow.
    "always": here I do not ask you again about: pay
    To say why not: deny: REASON
    1. approve
    2. always
    3. deny
    Paid.
    May I do this?
    pay – Pays
    (no arguments)
    It runs a program, which can do anything that its rights allow.
    "always": here I do not ask you again about: pay
    To say why not: deny: REASON
    1. approve
    2. always
    3. deny
    Not paid.
    Paused. What you send waits until /resume.
    "#);
    hob.nothing_refused();
}

/// Kills a chat while the model is asked for the answer to its only line.
async fn killed(hob: &TestHob) {
    hob.model.reply(Script::default().gate(&Gate::default()).text("Never.").finish("stop").into());
    let mut process = chat(hob);
    let mut stdin = process.stdin();
    stdin.write_all(b"before the crash\n").await.unwrap();
    hob.asked(1).await;
    process.kill().await;
}

#[tokio::test]
async fn what_a_crash_left_open_is_answered_first() {
    let hob = echoing().await;
    killed(&hob).await;
    let (code, printed) = piped(&hob, b"after it\n").await;
    assert_eq!((code, printed.as_str()), (Some(0), "You said before the crash\nYou said after it\n"));
    hob.nothing_refused();
}

#[tokio::test]
async fn what_a_crash_left_open_is_answered_without_a_word() {
    let hob = echoing().await;
    killed(&hob).await;
    assert_eq!(piped(&hob, b"").await, (Some(0), "You said before the crash\n".to_owned()));
}

#[tokio::test]
async fn a_reply_comes_before_the_next_line_is_written() {
    let hob = echoing().await;
    let mut process = chat(&hob);
    let (mut stdin, mut stdout) = (process.stdin(), process.stdout());
    for text in ["one", "two"] {
        stdin.write_all(format!("{text}\n").as_bytes()).await.unwrap();
        let mut line = String::new();
        within("reply", stdout.read_line(&mut line)).await.unwrap();
        assert_eq!(line, format!("You said {text}\n"));
    }
    drop(stdin);
    assert!(process.ended().await.success());
}
