//! What a person sees of replies.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use hob_console::screen::Console;
use hob_core::domain::channel::Ended;
use hob_core::domain::channel::{Channel, Progress};
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::{Choice, Outgoing};

use crate::{Paper, destination, reply};

fn show(console: &Console<Paper>, run: i64, progress: Progress) {
    console.progress(&destination(), RunId(run), &progress);
}

fn stream(console: &Console<Paper>, run: i64, deltas: &[&str]) {
    for delta in deltas {
        show(console, run, Progress::Delta((*delta).to_owned()));
    }
}

async fn say(console: &Console<Paper>, run: i64, text: &str) {
    console.deliver(&reply(Some(RunId(run)), text)).await.unwrap();
}

fn terminal() -> (Console<Paper>, Paper) {
    let paper = Paper::default();
    (Console::terminal(paper.clone()), paper)
}

#[tokio::test]
async fn a_reply_is_shown_as_it_comes_and_never_again() {
    let (console, paper) = terminal();
    show(&console, 1, Progress::Working);
    stream(&console, 1, &["It is ", "five"]);
    assert_eq!(paper.text(), "It is five");
    stream(&console, 1, &[" o'clock."]);
    say(&console, 1, "It is five o'clock.").await;
    show(&console, 1, Progress::Idle(Ended::Done));
    insta::assert_snapshot!(paper.text(), @"It is five o'clock.");
    assert!(paper.text().ends_with(".\n"));
    assert!(!console.is_busy());
}

#[tokio::test]
async fn a_reply_in_chunks_is_shown_once() {
    let (console, paper) = terminal();
    stream(&console, 1, &["First.\n\nSec", "ond.\n"]);
    for chunk in ["First.", "Second."] {
        say(&console, 1, chunk).await;
    }
    say(&console, 1, "Third.").await;
    insta::assert_snapshot!(paper.text(), @"
    First.

    Second.
    Third.
    ");
}

#[tokio::test]
async fn a_stream_that_broke_off_is_completed() {
    let (console, paper) = terminal();
    stream(&console, 1, &["It is "]);
    say(&console, 1, "It is five o'clock.").await;
    assert_eq!(paper.text(), "It is five o'clock.\n");
}

#[tokio::test]
async fn a_reply_that_became_another_is_shown_whole() {
    let (console, paper) = terminal();
    stream(&console, 1, &["Your key is abc"]);
    say(&console, 1, "Your key is [secret]").await;
    insta::assert_snapshot!(paper.text(), @"
    Your key is abc
    Your key is [secret]
    ");
}

#[tokio::test]
async fn a_reply_that_starts_again_says_so() {
    let (console, paper) = terminal();
    show(&console, 1, Progress::Restart);
    stream(&console, 1, &["It is f"]);
    show(&console, 1, Progress::Restart);
    stream(&console, 1, &["It is six."]);
    say(&console, 1, "It is six.").await;
    insta::assert_snapshot!(paper.text(), @"
    It is f
    (starting the reply again)
    It is six.
    ");
}

#[tokio::test]
async fn runs_do_not_share_a_line() {
    let (console, paper) = terminal();
    stream(&console, 1, &["One is do"]);
    stream(&console, 2, &["Two beg"]);
    say(&console, 1, "One is done.").await;
    stream(&console, 2, &["ins."]);
    say(&console, 2, "Two begins.").await;
    insta::assert_snapshot!(paper.text(), @"
    One is do
    Two beg
    ne.
    ins.
    ");
}

#[tokio::test]
async fn decisions_are_shown_once() {
    let (console, paper) = terminal();
    let choice = |label: &str| Choice { label: label.to_owned(), token: label.to_lowercase() };
    let question = Outgoing {
        choices: vec![choice("Allow"), choice("Deny")],
        ..reply(Some(RunId(1)), "May I?\n1. Allow\n2. Deny")
    };
    console.deliver(&question).await.unwrap();
    insta::assert_snapshot!(paper.text(), @"
    May I?
    1. Allow
    2. Deny
    ");
}

#[tokio::test]
async fn a_possible_repetition_is_marked() {
    let (console, paper) = terminal();
    console.deliver(&Outgoing { may_repeat: true, ..reply(Some(RunId(1)), "Done.") }).await.unwrap();
    insta::assert_snapshot!(paper.text(), @"
    (this may be a repetition)
    Done.
    ");
}

#[tokio::test]
async fn control_sequences_do_not_reach_the_terminal() {
    let (console, paper) = terminal();
    stream(&console, 1, &["\u{1b}[2J", "bad"]);
    say(&console, 1, "\u{1b}[2Jbad").await;
    assert_eq!(paper.text(), "␛[2Jbad\n");
}

fn styled() -> (Console<Paper>, Paper) {
    let paper = Paper::default();
    (Console::styled(paper.clone(), Arc::new(AtomicUsize::new(40))), paper)
}

fn markdown(run: i64, text: &str) -> Outgoing {
    Outgoing { markup: Some(text.to_owned()), ..reply(Some(RunId(run)), text) }
}

#[tokio::test]
async fn k2_a_terminal_with_styles_shows_each_block_when_it_is_finished() {
    let (console, paper) = styled();
    let text = "# Times\n\nIt is **five**.\n\n- one\n- two\n\n```\nlet a = 1;\n```\n\nThat is all.";
    let mut shown = Vec::new();
    for delta in text.split_inclusive(' ') {
        stream(&console, 1, &[delta]);
        shown.push(paper.text());
    }
    assert_eq!(shown[0], "", "a heading that may go on");
    assert!(shown.iter().any(|text| text.ends_with("five\u{1b}[22m.\n")), "{shown:?}");
    assert!(paper.text().ends_with("\n\nThat is all."), "plain words are shown as they come");
    console.deliver(&markdown(1, text)).await.unwrap();
    let streamed = paper.text();
    insta::assert_snapshot!(streamed.replace('\u{1b}', "␛"), @"
    ␛[1mTimes␛[22m

    It is ␛[1mfive␛[22m.

    • one
    • two

        ␛[36mlet a = 1;␛[39m

    That is all.
    ");
    let (console, paper) = styled();
    console.deliver(&markdown(1, text)).await.unwrap();
    assert_eq!(paper.text(), streamed, "it is the same at once");
}

#[tokio::test]
async fn k2_plain_words_are_shown_as_they_come_and_not_again() {
    let (console, paper) = styled();
    for (delta, expected) in [
        ("The kettle", "The kettle"),
        (" is on, and **the", "The kettle is on, and"),
        (" tea**", "The kettle is on, and"),
        ("\n\n", "The kettle is on, and ␛[1mthe tea␛[22m\n"),
        ("Good ", "The kettle is on, and ␛[1mthe tea␛[22m\n\nGood"),
    ] {
        stream(&console, 1, &[delta]);
        assert_eq!(paper.text().replace('\u{1b}', "␛"), expected, "{delta:?}");
    }
    console.deliver(&markdown(1, "The kettle is on, and **the tea**\n\nGood night.")).await.unwrap();
    assert!(paper.text().ends_with("\n\nGood night.\n"), "{}", paper.text());
}

#[tokio::test]
async fn k2_what_a_run_had_begun_to_say_is_shown_when_it_is_stopped_or_calls_a_tool() {
    let (console, paper) = styled();
    stream(&console, 1, &["Let me *look*."]);
    show(&console, 1, Progress::Working);
    stream(&console, 1, &["It is"]);
    show(&console, 1, Progress::Restart);
    stream(&console, 1, &["It is fi"]);
    show(&console, 1, Progress::Idle(Ended::Quietly));
    say(&console, 1, "Stopped *here*.").await;
    insta::assert_snapshot!(paper.text().replace('\u{1b}', "␛"), @"
    Let me ␛[3mlook␛[23m.

    It is
    (starting the reply again)
    It is fi
    Stopped *here*.
    ");
}

#[tokio::test]
async fn k2_nothing_that_a_reply_says_steers_a_terminal_with_styles() {
    let (console, paper) = styled();
    stream(&console, 1, &["\u{1b}]0;owned\u{7} **bold**\n\n"]);
    console.deliver(&markdown(1, "\u{1b}]0;owned\u{7} **bold**\n\n\u{9b}2J")).await.unwrap();
    let left = paper.text().replace("\u{1b}[1m", "").replace("\u{1b}[22m", "");
    assert!(left.chars().all(|sign| sign == '\n' || !sign.is_control()), "{left:?}");
}
