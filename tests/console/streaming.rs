//! What a person sees of replies, on a terminal of 40 columns.

use std::io;
use std::sync::{Arc, Mutex};

use hob_console::page::{PageStyle, Size, TerminalPage};
use hob_console::screen::Console;
use hob_core::domain::channel::IdleReason;
use hob_core::domain::channel::{Channel, Progress};
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::{Choice, Outgoing};

use crate::{Paper, destination, reply};

/// A console, and the terminal that shows what it draws.
struct Seen {
    console: Console<io::Stdout>,
    page: TerminalPage,
    screen: Arc<Mutex<vt100::Parser>>,
}

fn terminal() -> Seen {
    let screen = Arc::new(Mutex::new(vt100::Parser::new(24, 40, 100)));
    let shown = Arc::clone(&screen);
    let print = move |drawing: String| {
        shown.lock().unwrap().process(drawing.replace('\n', "\r\n").as_bytes());
        Ok(())
    };
    let style = PageStyle::AbovePrompt { styles: true, reflows: false };
    let page = TerminalPage::start(style, || Size::of(40, 24), print).unwrap();
    Seen { console: Console::terminal(page.clone()), page, screen }
}

impl Seen {
    fn show(&self, run: i64, progress: Progress) {
        self.console.progress(&destination(), RunId(run), &progress);
    }

    fn stream(&self, run: i64, deltas: &[&str]) {
        for delta in deltas {
            self.show(run, Progress::Delta((*delta).to_owned()));
        }
    }

    async fn say(&self, run: i64, text: &str) {
        self.console.deliver(&markdown(run, text)).await.unwrap();
    }

    fn text(&self) -> String {
        self.page.flush().unwrap();
        self.screen.lock().unwrap().screen().contents().trim_end().to_owned()
    }
}

fn markdown(run: i64, text: &str) -> Outgoing {
    Outgoing { markup: Some(text.to_owned()), ..reply(Some(RunId(run)), text) }
}

#[tokio::test]
async fn k2_a_reply_is_shown_as_it_comes_and_never_again() {
    let seen = terminal();
    seen.show(1, Progress::Working);
    for (delta, expected) in [
        ("I will remember", "I will remember"),
        (": my cat – called", "I will remember: my cat – called"),
        (" **Mi", "I will remember: my cat – called Mi"),
        ("so**.", "I will remember: my cat – called Miso."),
    ] {
        seen.stream(1, &[delta]);
        assert_eq!(seen.text(), expected);
    }
    seen.say(1, "I will remember: my cat – called **Miso**.").await;
    seen.show(1, Progress::Idle(IdleReason::Done));
    assert_eq!(seen.text(), "I will remember: my cat – called Miso.");
    assert!(!seen.console.is_busy());
}

#[tokio::test]
async fn k2_a_table_is_one_at_every_moment() {
    let seen = terminal();
    seen.stream(1, &["| a | b |\n|---|---|\n| 1 |", " 2 |\n"]);
    insta::assert_snapshot!(seen.text(), @"
    a | b
    --+--
    1 | 2
    ");
    seen.stream(1, &["| 3333 | 4 |\n\nEnd"]);
    insta::assert_snapshot!(seen.text(), @"
        a    | b
        -----+--
        1    | 2
        3333 | 4

    End
    ");
}

#[tokio::test]
async fn a_reply_in_chunks_is_shown_once() {
    let seen = terminal();
    seen.stream(1, &["First.\n\nSec", "ond.\n"]);
    for chunk in ["First.", "Second."] {
        seen.say(1, chunk).await;
    }
    seen.say(1, "Third.").await;
    insta::assert_snapshot!(seen.text(), @"
    First.

    Second.

    Third.
    ");
}

#[tokio::test]
async fn a_stream_that_broke_off_is_completed() {
    let seen = terminal();
    seen.stream(1, &["One.\n\nIt is "]);
    seen.say(1, "One.\n\nIt is five o'clock.").await;
    assert_eq!(seen.text(), "One.\n\nIt is five o'clock.");
}

#[tokio::test]
async fn a_reply_that_became_another_takes_the_place_of_what_was_live() {
    let seen = terminal();
    seen.stream(1, &["Your key is abc"]);
    seen.say(1, "Your key is [secret]").await;
    assert_eq!(seen.text(), "Your key is [secret]");
}

#[tokio::test]
async fn a_reply_that_starts_again_says_so_where_some_of_it_stays() {
    let seen = terminal();
    seen.show(1, Progress::Restart);
    seen.stream(1, &["It is f"]);
    seen.show(1, Progress::Restart);
    assert_eq!(seen.text(), "");
    seen.stream(1, &["It is five.\n\nOr"]);
    seen.show(1, Progress::Restart);
    seen.stream(1, &["It is six."]);
    seen.say(1, "It is six.").await;
    insta::assert_snapshot!(seen.text(), @"
    It is five.
    (starting the reply again)
    It is six.
    ");
}

#[tokio::test]
async fn k2_a_reply_that_is_made_again_and_says_the_same_is_shown_once() {
    let seen = terminal();
    for _ in 0..3 {
        seen.stream(1, &["It is five.\n\n", "Or so"]);
        seen.show(1, Progress::Restart);
    }
    seen.say(1, "It is five.\n\nOr so.").await;
    assert_eq!(seen.text(), "It is five.\n\nOr so.");
}

#[tokio::test]
async fn runs_grow_beside_each_other() {
    let seen = terminal();
    seen.stream(1, &["One is do"]);
    seen.stream(2, &["Two beg"]);
    assert_eq!(seen.text(), "One is do\nTwo beg");
    seen.say(1, "One is done.").await;
    seen.stream(2, &["ins."]);
    seen.say(2, "Two begins.").await;
    assert_eq!(seen.text(), "One is done.\nTwo begins.");
}

#[tokio::test]
async fn decisions_are_shown_once() {
    let seen = terminal();
    let choice = |label: &str| Choice { label: label.to_owned(), token: label.to_lowercase() };
    let question = Outgoing {
        choices: vec![choice("Allow"), choice("Deny")],
        ..reply(Some(RunId(1)), "May I?\n1. Allow\n2. Deny")
    };
    seen.console.deliver(&question).await.unwrap();
    assert_eq!(seen.text(), "May I?\n1. Allow\n2. Deny");
}

#[tokio::test]
async fn a_possible_repetition_is_marked() {
    let seen = terminal();
    seen.console.deliver(&Outgoing { may_repeat: true, ..reply(Some(RunId(1)), "Done.") }).await.unwrap();
    assert_eq!(seen.text(), "(this may be a repetition)\nDone.");
}

#[tokio::test]
async fn k2_what_is_done_is_shown_until_words_come() {
    let seen = terminal();
    seen.show(1, Progress::Working);
    seen.show(1, Progress::Doing("reading list.md".to_owned()));
    assert!(seen.text().ends_with(" reading list.md"), "{}", seen.text());
    seen.stream(1, &["Done"]);
    assert_eq!(seen.text(), "Done");
    seen.show(1, Progress::Doing("writing list.md".to_owned()));
    assert!(seen.text().starts_with("Done\n") && seen.text().ends_with(" writing list.md"), "{}", seen.text());
    seen.show(1, Progress::Idle(IdleReason::Quietly));
    assert_eq!(seen.text(), "Done");
}

#[tokio::test]
async fn k2_what_a_run_had_begun_to_say_stays_when_it_is_stopped_or_calls_a_tool() {
    let seen = terminal();
    seen.stream(1, &["Let me *look*."]);
    seen.show(1, Progress::Working);
    seen.stream(1, &["It is fi"]);
    seen.show(1, Progress::Idle(IdleReason::Quietly));
    seen.console.deliver(&reply(Some(RunId(1)), "Stopped *here*.")).await.unwrap();
    insta::assert_snapshot!(seen.text(), @"
    Let me look.

    It is fi
    Stopped *here*.
    ");
}

#[tokio::test]
async fn k2_nothing_that_a_reply_says_steers_the_terminal() {
    let seen = terminal();
    seen.stream(1, &["\u{1b}[2J\u{1b}]0;owned\u{7} **bold**\n\n\u{9b}2J"]);
    let live = seen.text();
    seen.say(1, "\u{1b}[2J\u{1b}]0;owned\u{7} **bold**\n\n\u{9b}2J").await;
    seen.console.deliver(&reply(None, "\u{1b}[2Jbad")).await.unwrap();
    assert!(live.contains("[2J") && live.contains("bold"), "{live}");
    assert!(seen.text().contains("bold") && seen.text().ends_with("␛[2Jbad"), "{}", seen.text());
}

#[tokio::test]
async fn b7_a_run_that_waits_for_its_agents_can_be_stopped() {
    let console = Console::pipe(Paper::default());
    let hear = |run, progress| console.progress(&destination(), RunId(run), &progress);
    let suspended = Progress::Idle(IdleReason::Suspended);
    hear(1, Progress::Working);
    // Its agent is only queued.
    hear(1, suspended.clone());
    assert!(console.is_busy());
    hear(2, Progress::Working);
    hear(2, suspended);
    hear(1, Progress::Working);
    hear(1, Progress::Idle(IdleReason::Done));
    assert!(!console.is_busy(), "with it, its agents are over");
}
