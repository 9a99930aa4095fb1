//! What stands on a real terminal at the end: the whole answer, as if it had come at once.
//!
//! This test's own binary runs under a pseudo-terminal that `script` makes; what it writes is read by an emulator.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use hob_console::interact::interact;
use hob_console::page::TerminalPage;
use hob_console::screen::Console;
use hob_console::terminal::{Terminal, TerminalTraits};
use hob_console::{Ports, local};
use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::channel::{Channel as _, IdleReason, Intake, IntakeError, Progress, UpdateOutcome};
use hob_core::domain::clock::SystemClock;
use hob_core::domain::ids::{OutboxId, RunId};
use hob_core::domain::inbound::{ChannelKind, Cursor, Inbound, InboundEvent};
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::rng::SystemRng;
use hob_core::render::render;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr as _;

/// From this number on, the terminal grows while it is answered.
const GROWING: u64 = 1_000;
/// How large the terminal is, and what it shows: `40 24 styled`.
const SIZE: &str = "HOB_DRAWN_TEST_SIZE";
const ANSWERS: u64 = 30;
/// Has the terminal drawn on until it is stopped.
const DRAW: &str = "draw";
/// How often Ctrl-C is pressed into what is drawn.
const PRESSES: u64 = 40;
const ROWS: usize = 24;
/// What ends an answer, for whoever reads the screen.
const END: &str = "(that was answer";

/// Blocks that answers are made of.
const BLOCKS: &[&str] = &[
    "I will remember: my cat – called **Miso**.",
    "# A heading with `code`",
    "Plain words that are long enough to be broken on any terminal, for they go on and on, and *then some more*, until they end.",
    "| Day | What | Who |\n|---|:---:|--:|\n| Monday | bins | Anna |\n| Tuesday | a very long entry that no narrow terminal can hold in one row | Bo |\n| Friday | – | **all** |",
    "- one\n- two with `code` and a word\n  - nested\n  - again\n- three",
    "1. first\n2. second\n\n   with a paragraph of its own\n3. third",
    "- [x] done\n- [ ] to do",
    "```rust\nfn main() {\n    println!(\"a line of code that is wider than forty columns\");\n\n}\n```",
    "    indented code\n      further",
    "> Somebody said this,\n> and *that*.\n>\n> - in a list",
    "---",
    "Grüße, 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 and 🎉 at the end",
    "A line\nand the next, with a [link](https://example.org/somewhere) in it",
    "~~gone~~ and **bold that goes on for more than one row of a narrow terminal** but not further",
];

fn answer(number: u64) -> String {
    let mut rng = StdRng::seed_from_u64(number);
    if number > GROWING {
        // What says the same in any width.
        return [BLOCKS[0], BLOCKS[4], BLOCKS[2], BLOCKS[5], BLOCKS[9], BLOCKS[13]].join("\n\n");
    }
    let mut blocks: Vec<&str> = (0..rng.random_range(1..7)).map(|_| *BLOCKS.choose(&mut rng).unwrap()).collect();
    if number.is_multiple_of(7) {
        // Higher than the terminal.
        blocks.extend([BLOCKS[4]; 3].iter().chain([BLOCKS[3]; 4].iter()));
    }
    blocks.join("\n\n")
}

fn pieces(number: u64) -> Vec<String> {
    let mut rng = StdRng::seed_from_u64(number + 1_000);
    let mut pieces = vec![String::new()];
    for sign in answer(number).chars() {
        if rng.random_bool(0.2) {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push(sign);
    }
    pieces
}

fn outgoing(run: Option<RunId>, text: &str) -> Outgoing {
    Outgoing {
        id: OutboxId(1),
        destination: Destination { conversation: local(), reply_to: None },
        run,
        text: text.to_owned(),
        markup: run.map(|_| text.to_owned()),
        replaces: None,
        envelope: None,
        choices: Vec::new(),
        file: None,
        may_repeat: false,
    }
}

/// Answers a number with that answer, in pieces, and a stop with how many there were before.
struct Harness {
    console: Arc<Console<io::Stdout>>,
    page: TerminalPage,
    stops: Arc<AtomicU64>,
}

#[async_trait]
impl Intake for Harness {
    async fn accept(&self, inbound: Inbound) -> Result<UpdateOutcome, IntakeError> {
        let InboundEvent::Posted { text } = inbound.happening else { return Ok(UpdateOutcome::Ignored) };
        if text == DRAW {
            self.draw();
            return Ok(UpdateOutcome::Committed);
        }
        if text == "/stop" || text == "/stop now" {
            self.stop().await;
            return Ok(UpdateOutcome::Committed);
        }
        let number: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
        let run = RunId(i64::try_from(number).unwrap());
        let place = outgoing(None, "").destination;
        let show = |progress| self.console.progress(&place, run, &progress);
        show(Progress::Working);
        show(Progress::Doing("asking a model".to_owned()));
        for (at, piece) in pieces(number).into_iter().enumerate() {
            if number > GROWING && at % 20 == 10 {
                self.grow(20 + at);
            }
            show(Progress::Delta(piece));
            tokio::task::yield_now().await;
        }
        self.console.deliver(&outgoing(Some(run), &answer(number))).await.unwrap();
        show(Progress::Idle(IdleReason::Done));
        self.console.deliver(&outgoing(None, &format!("{END} {number})"))).await.unwrap();
        Ok(UpdateOutcome::Committed)
    }

    async fn cursors(&self, _channel: ChannelKind, _account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        Ok(BTreeMap::new())
    }

    async fn advance(&self, _channel: ChannelKind, _account: &str, _cursor: Cursor) -> Result<(), IntakeError> {
        Ok(())
    }
}

impl Harness {
    /// Draws from now on, until it is stopped.
    fn draw(&self) {
        let (console, page) = (Arc::clone(&self.console), self.page.clone());
        let (stopped, time) = (Arc::clone(&self.stops), self.stops.load(Ordering::Relaxed));
        std::thread::spawn(move || {
            let place = outgoing(None, "").destination;
            while stopped.load(Ordering::Relaxed) == time {
                for what in ["one", "two"] {
                    console.progress(&place, RunId(1), &Progress::Doing(format!("drawing {time}, {what}")));
                    page.flush().unwrap();
                }
            }
        });
    }

    /// Ends what is drawn, and says how often there was a stop before.
    async fn stop(&self) {
        let before = self.stops.fetch_add(1, Ordering::Relaxed);
        self.console.deliver(&outgoing(None, &format!("{END} {before})"))).await.unwrap();
    }

    /// The terminal is larger from here on; the emulator reads that where it stands.
    fn grow(&self, columns: usize) {
        let number = columns.to_string();
        let mut out = io::stdout().lock();
        write!(out, "\u{1b}[8;{ROWS};{columns}t").unwrap();
        out.flush().unwrap();
        stty(&["cols", &number]);
    }
}

fn stty(words: &[&str]) {
    assert!(Command::new("stty").args(words).stdin(Stdio::inherit()).status().unwrap().success());
}

/// The inner side; does nothing unless the outer one started it.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "it is told by the process that started it")]
async fn inner() {
    let Ok(size) = std::env::var(SIZE) else { return };
    let [columns, rows, look] = size.split(' ').collect::<Vec<_>>().try_into().unwrap();
    stty(&["cols", columns, "rows", rows]);
    let data = tempfile::tempdir().unwrap();
    let look = TerminalTraits { styles: look == "styled", is_dumb: look == "dumb", reflows: Some(false) };
    let (terminal, page) = Terminal::open(data.path(), vec!["status".to_owned()], look).unwrap();
    let drawn = page.clone();
    let console = Arc::new(Console::terminal(page));
    let intake = Arc::new(Harness { console: Arc::clone(&console), page: drawn, stops: Arc::default() });
    let ports = Ports {
        intake,
        rng: Arc::new(SystemRng),
        clock: Arc::new(SystemClock),
        name: "Ada".to_owned(),
        place: local(),
    };
    println!("Begin.");
    interact(terminal, &console, &ports).await.unwrap();
}

/// Takes the size that it is told.
struct Growing;

impl vt100::Callbacks for Growing {
    fn resize(&mut self, screen: &mut vt100::Screen, size: (u16, u16)) {
        screen.set_size(size.0, size.1);
    }
}

/// The terminal, as its person sees it.
struct Screen {
    child: Child,
    seen: vt100::Parser<Growing>,
}

impl Screen {
    fn start(columns: u16, look: &str) -> Self {
        let binary = std::env::current_exe().unwrap();
        let command = format!("exec {} --exact inner --nocapture", Path::new(&binary).display());
        let child = Command::new("timeout")
            .args(["60", "script", "-qfec", &command, "/dev/null"])
            .env(SIZE, format!("{columns} {ROWS} {look}"))
            .env("TERM", if look == "dumb" { "dumb" } else { "xterm" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, seen: vt100::Parser::new_with_callbacks(u16::try_from(ROWS).unwrap(), columns, 100_000, Growing) }
    }

    fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until a prompt stands below this row.
    fn sees(&mut self, row: &str) {
        let mut bytes = [0; 4_096];
        loop {
            let shown = self.seen.screen().contents();
            let mut last = shown.trim_end().lines().rev();
            if last.next().is_some_and(|prompt| prompt.starts_with('>')) && last.any(|line| line.contains(row)) {
                return;
            }
            let read = self.child.stdout.as_mut().unwrap().read(&mut bytes).unwrap();
            assert_ne!(read, 0, "no {row:?} on the screen:\n{shown}");
            self.seen.process(&bytes[..read]);
        }
    }

    /// Every row from the beginning on, those above the screen too.
    fn rows(&mut self) -> Vec<String> {
        let columns = self.seen.screen().size().1;
        self.seen.screen_mut().set_scrollback(usize::MAX);
        let above = self.seen.screen().scrollback();
        let mut all = Vec::new();
        for back in (0..=above).rev() {
            self.seen.screen_mut().set_scrollback(back);
            let mut rows = self.seen.screen().rows(0, columns);
            match back {
                0 => all.extend(rows),
                _ => all.extend(rows.next()),
            }
        }
        all.into_iter().map(|row| row.trim_end().to_owned()).collect()
    }
}

/// The whole answer, at once.
fn expected(number: u64, columns: u16, look: &str) -> Vec<String> {
    let mut plain = vt100::Parser::new(2_000, columns, 0);
    let shown = render(&answer(number), &Capabilities::terminal(look == "styled", Some(columns.into())));
    let shown: Vec<&str> = shown.iter().map(|chunk| chunk.markup.trim_end()).collect();
    plain.process(shown.join("\n").replace('\n', "\r\n").as_bytes());
    let rows = plain.screen().rows(0, columns).map(|row| row.trim_end().to_owned());
    let mut rows: Vec<String> = rows.collect();
    rows.truncate(rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1));
    rows
}

/// What does not depend on where a row that was too long was broken.
fn signs(rows: &[String]) -> String {
    rows.concat().split_whitespace().collect()
}

fn all_answers(columns: u16, look: &str, disturb: bool) {
    let mut screen = Screen::start(columns, look);
    screen.sees("Begin.");
    for number in 1..=ANSWERS {
        screen.types(&format!("{number}\r"));
        if disturb {
            // What is typed meanwhile stands in the prompt, and goes with the next number.
            screen.types(" x");
            screen.types("\u{15}");
        }
        screen.sees(&format!("{END} {number})"));
    }
    let rows = screen.rows();
    let mut exact = 0;
    let mut at = rows.iter().position(|row| row == "Begin.").unwrap() + 1;
    for number in 1..=ANSWERS {
        assert_eq!(rows[at].trim_end(), format!("> {number}"));
        let end = rows.iter().position(|row| *row == format!("{END} {number})")).unwrap();
        let shown = &rows[at + 1..end];
        let whole = expected(number, columns, look);
        let table = shown.join("\n");
        assert_eq!(signs(shown), signs(&whole), "{number} at {columns}, {look}:\n{table}\n\n{}", answer(number));
        if whole.iter().all(|row| row.width() < usize::from(columns)) {
            assert_eq!(shown, whole, "{number} at {columns}, {look}");
            exact += 1;
        }
        at = end + 1;
    }
    assert!(exact > ANSWERS / 6, "{exact} of the answers fit their terminal");
}

#[test]
fn k2_an_answer_in_any_pieces_stands_there_as_if_it_had_come_at_once() {
    for columns in [40, 80, 132] {
        all_answers(columns, "styled", false);
    }
}

#[test]
fn k2_without_colours_or_while_somebody_types_it_is_the_same() {
    all_answers(57, "bare", false);
    all_answers(64, "styled", true);
}

#[test]
fn k2_a_terminal_without_cursor_movements_shows_each_block_once() {
    all_answers(80, "dumb", false);
}

#[test]
fn k2_a_terminal_that_grows_meanwhile_shows_nothing_twice() {
    let mut screen = Screen::start(30, "styled");
    screen.sees("Begin.");
    let number = GROWING + 1;
    screen.types(&format!("{number}\r"));
    screen.sees(&format!("{END} {number})"));
    assert!(screen.seen.screen().size().1 > 80);
    let rows = screen.rows();
    let begin = rows.iter().position(|row| *row == format!("> {number}")).unwrap();
    let end = rows.iter().position(|row| *row == format!("{END} {number})")).unwrap();
    assert_eq!(signs(&rows[begin + 1..end]).replace('│', ""), signs(&expected(number, 80, "styled")).replace('│', ""));
}

#[test]
fn k2_what_is_drawn_while_ctrl_c_is_pressed_holds_nothing_up() {
    let mut screen = Screen::start(80, "styled");
    screen.sees("Begin.");
    for number in 0..PRESSES {
        screen.types(&format!("{DRAW}\r"));
        screen.sees(&format!("drawing {number},"));
        screen.types("\u{3}");
        screen.sees(&format!("{END} {number})"));
    }
}
