//! A server's process: started clean and marked, watched to its end, and ended with everything that it started.
//!
//! Never: Hob's own environment, or a word of it above debug level.
//! Start at [`start`].

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;

use crate::mcp::diagnostics::ServerDiagnostics;
use crate::process::{self, PreparedCommand, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::sandbox::confinement::{Confinement, ScratchDir};
use hob_core::domain::secret::Secret;

/// How long it is given to end by itself when it is told to.
const GRACE: Duration = Duration::from_secs(2);
/// How long its last words are waited for.
const REST: Duration = Duration::from_millis(200);
/// How much of what it writes to its standard error is logged, in bytes; the rest is only read.
const LOGGED_BYTES_MAX: usize = 1 << 20;

/// What is to be started.
pub(super) struct Program<'a> {
    /// The program and its arguments.
    pub(super) vector: &'a [String],
    /// What its environment has besides the usual.
    pub(super) environment: &'a [(String, Secret)],
    /// Where.
    pub(super) dir: &'a Path,
    /// Whose mark it carries.
    pub(super) leftovers: &'a ProcessReaper,
    /// How it is confined.
    pub(super) confinement: Option<Confinement>,
}

/// A process at work. Dropping it kills it with everything it started.
pub(super) struct RunningProcess {
    child: Child,
    stderr: Option<ChildStderr>,
    end: ProcessCleanup,
}

/// Starts it.
pub(super) async fn start(program: &Program<'_>) -> io::Result<(RunningProcess, ChildStdin, ChildStdout)> {
    let environment = program.environment.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    let errand = ProcessSpec {
        vector: program.vector.to_vec(),
        dir: program.dir.to_owned(),
        environment: environment.collect(),
        input: None,
        bytes_max: 0,
        leftovers: program.leftovers.clone(),
        confinement: program.confinement.clone(),
    };
    let PreparedCommand { mut command, mut sweep, scratch } = process::prepare(&errand.ready().await)?;
    if errand.confinement.is_none() {
        let this = ProcessReaper::of_call();
        command.envs([this.mark()]);
        sweep = Some(this);
    }
    let mut end = ProcessCleanup { group: None, sweep, scratch };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    end.group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("its input and output are not there"));
    };
    let stderr = child.stderr.take();
    Ok((RunningProcess { child, stderr, end }, stdin, stdout))
}

/// By what a process is told to end, and tells that it has.
#[derive(Debug, Clone, Default)]
pub(super) struct ShutdownTokens {
    /// Nobody needs it any more: it is ended at once.
    pub(super) over: CancellationToken,
    /// It is to end by itself, soon.
    pub(super) leaving: CancellationToken,
    /// It is gone, with everything it started.
    pub(super) gone: CancellationToken,
}

impl RunningProcess {
    /// Watches it to its end.
    pub(super) async fn supervise(mut self, fate: Arc<ServerDiagnostics>, tokens: ShutdownTokens) {
        let murmurs = read_stderr(self.stderr.take(), &fate);
        let mut murmurs = std::pin::pin!(murmurs);
        let mut silent = false;
        let exited = loop {
            tokio::select! {
                status = self.child.wait() => break Some(status),
                () = &mut murmurs, if !silent => silent = true,
                () = tokens.over.cancelled() => break None,
                () = tokens.leaving.cancelled() => {
                    self.end.signal(Signal::TERM);
                    break tokio::time::timeout(GRACE, self.child.wait()).await.ok();
                }
                () = fate.flood.cancelled() => break None,
            }
        };
        if let Some(Ok(status)) = exited {
            fate.note_exit(status);
            if !silent && tokio::time::timeout(REST, murmurs).await.is_err() {
                tracing::debug!("a child of the server holds its output open");
            }
        }
        if let Err(error) = self.child.start_kill() {
            tracing::debug!(%error, "the server was gone already");
        }
        self.end.all().await;
        // From here on nobody waits for an answer: a child that holds its output open would let them.
        tokens.over.cancel();
        if let Err(error) = self.child.wait().await {
            tracing::debug!(%error, "how the server ended cannot be told");
        }
        tokens.gone.cancel();
    }
}

/// Reads what it writes to its standard error, to the end.
async fn read_stderr(stderr: Option<ChildStderr>, fate: &ServerDiagnostics) {
    let Some(mut stderr) = stderr else { return };
    let mut buffer = [0_u8; 4096];
    let mut logged = 0;
    loop {
        match stderr.read(&mut buffer).await {
            Ok(0) => return,
            Ok(read) => {
                fate.note_stderr(&buffer[..read]);
                if logged < LOGGED_BYTES_MAX {
                    tracing::debug!(text = %String::from_utf8_lossy(&buffer[..read]), "mcp.murmur");
                }
                logged = logged.saturating_add(read);
            }
            Err(error) => return tracing::debug!(%error, "a server's words broke off"),
        }
    }
}

/// Ends everything that it started, at the latest when it is dropped.
struct ProcessCleanup {
    group: Option<Pid>,
    /// By which those are found that have left the group.
    sweep: Option<ProcessReaper>,
    /// What it had to itself.
    scratch: Option<ScratchDir>,
}

impl ProcessCleanup {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group
            && let Err(error) = kill_process_group(group, signal)
        {
            tracing::debug!(%error, "the process group was gone already");
        }
    }

    /// Kills all of it, and waits until it is gone.
    async fn all(&mut self) {
        self.signal(Signal::KILL);
        self.group = None;
        if let Some(sweep) = self.sweep.take() {
            sweep.kill().await;
        }
        ScratchDir::delete(self.scratch.take()).await;
    }
}

impl Drop for ProcessCleanup {
    fn drop(&mut self) {
        if self.group.is_some() {
            // The watch was cut off: the runtime ends, and the next start finds who has left the group.
            self.signal(Signal::KILL);
        }
    }
}
