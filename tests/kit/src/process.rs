//! Hob as a process of its own: started, watched, killed; its end is always waited for with bounded patience.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use hob_config::environment::Environment;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::watch;

/// How long anything that a test waits for may take. Who waits so long waits for what never comes: nothing is asserted by it, and
/// a machine that has other things to do must not use it up.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for `what`, but not for ever.
pub async fn within<T>(what: &str, waited: impl Future<Output = T>) -> T {
    let come = tokio::time::timeout(PATIENCE, waited).await;
    come.unwrap_or_else(|_| panic!("no {what} in {PATIENCE:?}"))
}

/// The binary that cargo built with this test, two folders above it: `target/debug/hob` for `target/debug/deps/daemon-0123`.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("hob")
}

/// The binary under test: the one that cargo built, or `$HOB_TORTURE_BIN`.
pub fn binary() -> PathBuf {
    Environment::of_process().get("HOB_TORTURE_BIN").map_or_else(built, PathBuf::from)
}

/// `hob` with these arguments, in `home` and with nothing of this process's environment that it would look at.
pub fn hob_command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = at_home(&binary(), home);
    command.args(arguments);
    command
}

/// A program that is `hob`, in its `home`.
pub fn at_home(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(home).env_clear().kill_on_drop(true);
    command.env("PATH", Environment::of_process().get("PATH").unwrap_or_default()).env("HOME", home);
    command.env("HOB_HOME", home.join("data")).env("TZ", "UTC").env("OLLAMA_HOST", "127.0.0.1:1");
    // A test reaches out to nobody.
    command.env("HOB_NO_FETCH", "1").env("HOB_LISTEN", "off");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running `hob`. Dropped, it is killed; if the test failed, what it wrote to standard error is shown.
pub struct HobProcess {
    child: Child,
    log: watch::Receiver<String>,
}

impl HobProcess {
    /// Starts it and reads its standard error.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (write, log) = watch::channel(String::new());
        let stderr = child.stderr.take().unwrap();
        tokio::spawn(keep(stderr, write));
        Self { child, log }
    }

    /// Its standard output, once.
    pub fn stdout(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.child.stdout.take().unwrap())
    }

    /// Its standard input, once.
    pub fn stdin(&mut self) -> tokio::process::ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// What it has written to standard error.
    pub fn log(&self) -> String {
        self.log.borrow().clone()
    }

    /// Waits until it has written this to standard error.
    pub async fn until_log(&mut self, text: &str) {
        self.until_logged(text, 1).await;
    }

    /// Waits until it has written this to standard error so often.
    pub async fn until_logged(&mut self, text: &str, times: usize) {
        let holds = |log: &String| log.matches(text).count() >= times;
        let said = within(&format!("{text:?} in the log"), self.log.wait_for(holds)).await;
        assert!(said.is_ok(), "it ended without {text:?}");
    }

    /// Waits until so many of its runs are over, however they ended.
    pub async fn until_ended(&mut self, runs: usize) {
        let over = ["agent_run.completed", "agent_run.cancelled", "agent_run.failed"];
        // A line says it twice: as its words, and as its event.
        let ends = |line: &&str| over.iter().any(|end| line.contains(end));
        let holds = |log: &String| log.lines().filter(ends).count() >= runs;
        let said = within(&format!("{runs} runs over"), self.log.wait_for(holds)).await;
        assert!(said.is_ok(), "it ended before {runs} runs were over");
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for its end, and for all that it wrote.
    pub async fn ended(&mut self) -> ExitStatus {
        let status = within("end of the process", self.child.wait()).await.unwrap();
        // The sender is gone when everything is read; a child that it left behind may hold the pipe open.
        let _drained = tokio::time::timeout(Duration::from_secs(1), self.log.wait_for(|_| false)).await.is_ok();
        status
    }

    /// Whether it has ended by now.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// `kill -9`; returns when it is gone.
    pub async fn kill(&mut self) {
        self.child.start_kill().unwrap();
        within("end of a killed process", self.child.wait()).await.unwrap();
    }
}

impl Drop for HobProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- standard error of hob ---\n{}--- end ---", self.log());
        }
    }
}

async fn keep(stderr: ChildStderr, log: watch::Sender<String>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.send_modify(|log| {
            log.push_str(&line);
            log.push('\n');
        });
    }
}
