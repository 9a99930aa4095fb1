//! What a turn allocates, and how many tokens it asks with. This test's own binary runs as Hob, with an allocator that counts.

use std::alloc::System;
use std::io::Write as _;
use std::process::Stdio;
use std::thread;

use alloc_tracker::{Allocator, Session};
use clap::Parser as _;
use hob::cli::{Arguments, dispatch};
use hob_config::environment::Environment;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

use crate::{eighty_facts, turn};
use hob_testkit::process::at_home;
use hob_testkit::test_hob::TestHob;

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

/// Set where the binary is Hob.
const AS_HOB: &str = "HOB_COSTS_TEST";
/// What stands before a number.
const TOLD: &str = "allocations so far: ";
/// Turns of which the middle one counts.
const TURNS: usize = 5;

/// Hob; does nothing unless a test started it. Each line that it reads asks for what was allocated so far.
#[test]
fn inner() {
    if Environment::of_process().get(AS_HOB).is_none() {
        return;
    }
    thread::spawn(|| {
        let session = Session::new().no_stdout().no_file();
        let operation = session.operation("everything");
        let mut span = operation.measure_process();
        for line in std::io::stdin().lines() {
            line.unwrap();
            drop(span.iterations(1));
            let so_far: u64 =
                session.to_report().operations().map(|(_, counted)| counted.total_allocations_count()).sum();
            writeln!(std::io::stdout(), "\n{TOLD}{so_far}").unwrap();
            span = operation.measure_process();
        }
        drop(span.iterations(0));
    });
    dispatch(Arguments::parse_from(["hob", "run"])).unwrap();
}

/// A house whose Hob is counted.
struct Counted {
    hob: TestHob,
    ask: ChildStdin,
    told: Lines<BufReader<ChildStdout>>,
}

impl Counted {
    async fn start() -> Self {
        // With the page, as by itself; without one, tests could not run beside each other.
        let mut hob = TestHob::with("[server]\nlisten = '127.0.0.1:0'").await;
        let mut command = at_home(&std::env::current_exe().unwrap(), hob.home.path());
        command.args(["--exact", "allocations::inner", "--nocapture"]).env(AS_HOB, "1").stdin(Stdio::piped());
        hob.start_as(command).await;
        let (ask, told) = (hob.process().stdin(), hob.process().stdout().lines());
        Self { hob, ask, told }
    }

    async fn so_far(&mut self) -> u64 {
        self.ask.write_all(b"\n").await.unwrap();
        loop {
            let line = self.told.next_line().await.unwrap().unwrap();
            if let Some(number) = line.strip_prefix(TOLD) {
                return number.parse().unwrap();
            }
        }
    }

    /// What a turn allocates, once nothing is done for the first time.
    async fn a_turn(&mut self) -> u64 {
        for _ in 0..3 {
            turn(&mut self.hob, "hi").await;
        }
        let mut counts = Vec::new();
        for _ in 0..TURNS {
            let before = self.so_far().await;
            turn(&mut self.hob, "hi").await;
            counts.push(self.so_far().await - before);
        }
        counts.sort_unstable();
        counts[TURNS / 2]
    }
}

/// Give or take a tenth: which rows share a page is chance, and what is looked at beside a turn.
fn about(count: u64, aim: u64) {
    assert!(count.abs_diff(aim) <= aim / 10, "{count} allocations, {aim} were expected");
}

#[tokio::test]
async fn n17_a_plain_hi_allocates_so_often() {
    let mut counted = Counted::start().await;
    about(counted.a_turn().await, 3_220);
}

#[tokio::test]
async fn n17_eighty_facts_allocate_so_often() {
    let mut counted = Counted::start().await;
    counted.hob.model.reply(eighty_facts());
    turn(&mut counted.hob, "Remember what stands on the shelves.").await;
    about(counted.a_turn().await, 4_940);
}

/// All that a start takes until the first turn is over. The page is built when somebody comes, and so is what describes its API.
#[tokio::test]
async fn n17_a_start_allocates_so_often() {
    let mut counted = Counted::start().await;
    turn(&mut counted.hob, "hi").await;
    about(counted.so_far().await, 51_800);
}
