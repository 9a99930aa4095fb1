//! What the sandbox costs a command: `true` within the walls and without them, in turn; with a draft, and in a workspace of
//! 200,000 files as well. Before that, 10,000 changed files of a draft are looked at and kept.
//!
//! `cargo bench --bench sandbox`, or the files alone: `-- kept`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hob_core::domain::ids::{RunId, SessionKey, UserId};
use hob_tools::changes::{DraftId, DraftOwner, Drafts};
use hob_tools::sandbox::probe::ProbeRequest;
use hob_tools::sandbox::spec::{Limits, Overlay, SandboxAccess};
use hob_tools::sandbox::{Sandbox, SandboxProfile};
use hob_tools::workspace::Workspace;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::time::Instant;

const STARTS: usize = 200;
const FILES: usize = 200_000;
const CHANGED: usize = 10_000;

fn took(vector: &[OsString], dir: &Path) -> Duration {
    let begun = Instant::now();
    let mut command = Command::new(&vector[0]);
    assert!(command.args(&vector[1..]).current_dir(dir).stdin(Stdio::null()).status().unwrap().success());
    begun.elapsed()
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

/// Fills a folder: a thousand files in each of its own.
fn fill(dir: &Path, files: usize, text: &str) {
    for number in 0..files {
        let folder = dir.join((number / 1_000).to_string());
        if number % 1_000 == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        fs::write(folder.join(number.to_string()), text).unwrap();
    }
}

/// Keeps changed files, with a yes and without one.
fn keep(dir: &Path) {
    println!("{CHANGED} changed files:");
    for (run, agreed) in [(1, true), (2, false)] {
        let root = dir.join(format!("kept-{run}"));
        fill(&root, CHANGED, "as it was\n");
        let workspace = Workspace { root, read: Vec::new(), write: Vec::new() };
        let now = Timestamp::UNIX_EPOCH;
        let of = DraftOwner { run: RunId(run), session: SessionKey("bench".into()), user: UserId(1), now };
        let draft = Drafts::new(dir, &workspace).open(&of, &DraftId::Shared(0)).unwrap();
        // As the kernel writes what is changed in an overlay.
        fill(&draft.overlays()[0].upper, CHANGED, "as it became\n");
        let begun = Instant::now();
        let digest = agreed.then(|| draft.change_set().unwrap().digest());
        let looked = begun.elapsed();
        let kept = match &digest {
            Some(digest) => draft.keep(digest, now),
            None => draft.keep_all(now),
        };
        let (kept, all) = (kept.unwrap(), begun.elapsed());
        assert_eq!((usize::try_from(kept.changes).unwrap(), kept.left_out.len()), (CHANGED, 0));
        match digest {
            Some(_) => println!("  looked at in {looked:?}, and kept as agreed in {:?}", all.saturating_sub(looked)),
            None => println!("  kept at once in {all:?}"),
        }
    }
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    keep(dir.path());
    if !std::env::args().any(|argument| argument == "kept") {
        start(&dir);
    }
}

/// Starts programs in turn.
fn start(dir: &TempDir) {
    let at = |name: &str| dir.path().join(name);
    for name in ["workspace", "upper", "work", "temporary"] {
        fs::create_dir(at(name)).unwrap();
    }
    let root = at("workspace");
    let reach =
        SandboxAccess { read: Vec::new(), write: vec![root.clone()], network: false, limits: Limits::default() };
    let program = Path::new(env!("CARGO_BIN_EXE_hob"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let probed = |namespaces: bool| {
        let question =
            ProbeRequest { program, data_dir: dir.path(), config: None, reach: &reach, namespaces, path: None };
        runtime.block_on(Sandbox::probe(&question))
    };
    let (own, alone) = (probed(true), probed(false));
    let overlay = Overlay { root: root.clone(), upper: at("upper"), work: at("work") };
    let vector = |sandbox: &Sandbox, overlays: Vec<Overlay>| {
        let room = SandboxProfile { reach: reach.clone(), overlays, temporary: at("temporary") };
        sandbox.vector(&room, &["/bin/true".to_owned()]).unwrap()
    };
    let mut ways = vec![
        ("bare", vec![OsString::from("/bin/true")]),
        ("Landlock alone", vector(&alone, Vec::new())),
        ("with namespaces", vector(&own, Vec::new())),
    ];
    if own.overlays() {
        ways.push(("with a draft", vector(&own, vec![overlay])));
    }
    for files in [0, FILES] {
        if files > 0 {
            fill(&root, FILES, "");
        }
        println!("{STARTS} starts of each in turn, {files} files in the workspace:");
        let mut all: Vec<Vec<Duration>> = ways.iter().map(|_| Vec::new()).collect();
        for _ in 0..STARTS {
            for (times, (_, vector)) in all.iter_mut().zip(&ways) {
                times.push(took(vector, &root));
            }
        }
        let medians: Vec<Duration> = all.into_iter().map(median).collect();
        for ((what, _), median) in ways.iter().zip(&medians) {
            println!("  {what}: p50 {median:?}, {:?} more than bare", median.saturating_sub(medians[0]));
        }
    }
}
