//! What the sandbox costs a command: `true` within the walls and without them, in turn.
//!
//! `cargo bench --bench sandbox`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hob::tool::sandbox::probe::Question;
use hob::tool::sandbox::spec::{Limits, Reach};
use hob::tool::sandbox::{Room, Sandbox};
use tokio::time::Instant;

const STARTS: usize = 200;

fn took(vector: &[OsString], dir: &Path) -> Duration {
    let begun = Instant::now();
    let mut command = Command::new(&vector[0]);
    let mut child = command.args(&vector[1..]).current_dir(dir).stdin(Stdio::piped()).spawn().unwrap();
    // `wait` would close its standard input, which ends the sandbox.
    let _held = child.stdin.take();
    assert!(child.wait().unwrap().success());
    begun.elapsed()
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let reach =
        Reach { read: Vec::new(), write: vec![dir.path().to_owned()], network: false, limits: Limits::default() };
    let plain = [OsString::from("/bin/true")];
    println!("bare and sandboxed, {STARTS} starts of each in turn:");
    for namespaces in [true, false] {
        let program = Path::new(env!("CARGO_BIN_EXE_hob"));
        let question = Question { program, data_dir: dir.path(), reach: &reach, namespaces, path: None };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let sandbox = runtime.block_on(Sandbox::probe(&question));
        let room = Room { reach: reach.clone(), overlays: Vec::new(), temporary: dir.path().to_owned(), input: None };
        let walled = sandbox.vector(&room, &["/bin/true".to_owned()]).unwrap();
        let (mut bare, mut sandboxed): (Vec<_>, Vec<_>) =
            (0..STARTS).map(|_| (took(&plain, dir.path()), took(&walled, dir.path()))).unzip();
        bare.sort_unstable();
        sandboxed.sort_unstable();
        let (bare, sandboxed) = (bare[STARTS / 2], sandboxed[STARTS / 2]);
        let what = if namespaces { "with namespaces" } else { "Landlock alone" };
        println!("{what}: p50 {bare:?} bare, {sandboxed:?} sandboxed, {:?} more", sandboxed.saturating_sub(bare));
    }
}
