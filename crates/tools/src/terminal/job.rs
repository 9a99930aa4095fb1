//! A command at work, and those that go on in the background.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::draft_workspace::ScratchCopy;
use crate::process::{self, ConfinedProcess, OutputRouting, RunningProcess};
use crate::terminal::spool::{Spool, SpoolExcerpt};
use hob_core::domain::ids::{SessionKey, UserId};
use hob_core::domain::lock::lock;
use hob_telemetry::tasks;

/// The most that is kept of what a command prints, in bytes.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// How long the rest of the output is waited for after the command has ended.
const REST: Duration = Duration::from_secs(1);
/// Commands in the background at once, of the whole house.
pub(super) const RUNNING_MAX: usize = 8;
/// How long one may go on.
const AGE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// So many that have ended are still known.
const ENDED_MAX: usize = 32;

/// How a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobState {
    /// It runs.
    Running,
    /// It ended by itself.
    Ended(ExitStatus),
    /// It was ended because of its time.
    TimedOut,
    /// It was ended because somebody said so.
    Killed,
    /// It could not be followed to its end.
    Lost,
}

impl JobState {
    /// Its exit code, as a shell has it.
    pub(super) fn code(self) -> Option<i32> {
        match self {
            Self::Ended(status) => status.code().or_else(|| status.signal().map(|signal| 128 + signal)),
            Self::Running | Self::TimedOut | Self::Killed | Self::Lost => None,
        }
    }
}

/// Where a command's output is gathered, while it may still come.
pub(super) type SharedSpool = Arc<Mutex<Spool>>;

/// An empty spool, in this folder's file system.
pub(super) fn gather(dir: &Path) -> io::Result<SharedSpool> {
    Ok(Arc::new(Mutex::new(Spool::new(dir, OUTPUT_BYTES_MAX)?)))
}

/// A started command and where its output comes from. Dropping it kills it with all that it started.
pub(super) struct RunningCommand {
    started: RunningProcess,
    output: Receiver,
}

impl RunningCommand {
    pub(super) fn start(errand: &ConfinedProcess<'_>) -> io::Result<Self> {
        let (output, pipe) = io::pipe()?;
        let started = process::start(errand, OutputRouting::Together(pipe))?;
        Ok(Self { started, output: Receiver::from_owned_fd(output.into())? })
    }

    /// Gathers what it prints, to its end or for so long. Then nothing of it is left.
    pub(super) async fn run_until(mut self, limit: Duration, spool: &Mutex<Spool>) -> io::Result<JobState> {
        match tokio::time::timeout(limit, Box::pin(self.gather(spool))).await {
            Ok(status) => Ok(JobState::Ended(status?)),
            Err(_elapsed) => {
                self.started.child.start_kill()?;
                // What it was doing is over before anybody looks at what it did.
                if tokio::time::timeout(REST * 5, self.started.child.wait()).await.is_err() {
                    tracing::warn!("a command does not end");
                }
                Ok(JobState::TimedOut)
            }
        }
    }

    /// Gathers what it prints, to its end. Whoever holds the pipe open after that is not waited for.
    pub(super) async fn finish(mut self, spool: &Mutex<Spool>) -> io::Result<ExitStatus> {
        self.gather(spool).await
    }

    async fn gather(&mut self, spool: &Mutex<Spool>) -> io::Result<ExitStatus> {
        let gathering = copy_to_spool(&mut self.output, spool);
        let mut gathering = std::pin::pin!(gathering);
        tokio::select! {
            biased;
            gathered = &mut gathering => {
                gathered?;
                self.started.child.wait().await
            }
            status = self.started.child.wait() => {
                if let Ok(gathered) = tokio::time::timeout(REST, gathering).await {
                    gathered?;
                }
                status
            }
        }
    }
}

async fn copy_to_spool(output: &mut Receiver, spool: &Mutex<Spool>) -> io::Result<()> {
    let mut buffer = vec![0_u8; 64 << 10];
    loop {
        match output.read(&mut buffer).await? {
            0 => return Ok(()),
            read => lock(spool).keep(&buffer[..read]),
        }
    }
}

pub(super) struct BackgroundCommand {
    /// What was to be run.
    pub(super) command: String,
    /// When it was started.
    pub(super) since: Timestamp,
    whose: (SessionKey, UserId),
    spool: SharedSpool,
    told: Mutex<u64>,
    state: watch::Receiver<JobState>,
    stop: CancellationToken,
    _guard: DropGuard,
}

impl BackgroundCommand {
    /// How it stands.
    pub(super) fn state(&self) -> JobState {
        *self.state.borrow()
    }

    /// Waits until it has ended, or for so long.
    pub(super) async fn wait(&self, at_most: Duration) {
        let mut state = self.state.clone();
        let ended = state.wait_for(|state| *state != JobState::Running);
        match tokio::time::timeout(at_most, ended).await {
            Ok(Ok(_)) | Err(_) => {}
            Ok(Err(error)) => tracing::error!(%error, "a command in the background was lost"),
        }
    }

    /// Ends it, with all that it started.
    pub(super) async fn kill(&self) {
        self.stop.cancel();
        self.wait(REST * 5).await;
    }

    /// What it has printed since this was asked last.
    pub(super) fn news(&self) -> io::Result<SpoolExcerpt> {
        let spool = lock(&self.spool);
        let mut told = lock(&self.told);
        let from = std::mem::replace(&mut *told, spool.total());
        spool.excerpt_from(from)
    }
}

/// A command that is to go on in the background.
pub(super) struct JobRequest {
    /// What it will be called.
    pub(super) id: String,
    /// What is to be run, as it was written.
    pub(super) command: String,
    pub(super) whose: (SessionKey, UserId),
    pub(super) now: Timestamp,
    /// Where its output is gathered.
    pub(super) gathered: SharedSpool,
}

/// Those in the background. They end with this.
#[derive(Default)]
pub(super) struct Jobs {
    all: Mutex<BTreeMap<String, Arc<BackgroundCommand>>>,
}

impl Jobs {
    /// Starts one, in that copy of the workspace if there is one; false: there are too many.
    pub(super) fn start(
        &self,
        order: JobRequest,
        errand: &ConfinedProcess<'_>,
        aside: Option<ScratchCopy>,
    ) -> io::Result<bool> {
        let mut all = lock(&self.all);
        if all.values().filter(|job| job.state() == JobState::Running).count() >= RUNNING_MAX {
            return Ok(false);
        }
        let (work, spool) = (RunningCommand::start(errand)?, order.gathered);
        let (tell, state) = watch::channel(JobState::Running);
        let stop = CancellationToken::new();
        let (gathered, stopped) = (Arc::clone(&spool), stop.clone());
        follow(tell, async move {
            let end = tokio::select! {
                () = stopped.cancelled() => JobState::Killed,
                end = tokio::time::timeout(AGE_MAX, work.finish(&gathered)) => match end {
                    Ok(Ok(status)) => JobState::Ended(status),
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "a command in the background was lost");
                        JobState::Lost
                    }
                    Err(_elapsed) => JobState::TimedOut,
                },
            };
            if let Some(aside) = aside {
                aside.end().await;
            }
            end
        });
        let job = BackgroundCommand {
            command: order.command,
            since: order.now,
            whose: order.whose,
            spool,
            told: Mutex::new(0),
            state,
            _guard: stop.clone().drop_guard(),
            stop,
        };
        all.insert(order.id, Arc::new(job));
        forget_old(&mut all);
        Ok(true)
    }

    /// Theirs with that name.
    pub(super) fn get(&self, id: &str, whose: &(SessionKey, UserId)) -> Option<Arc<BackgroundCommand>> {
        lock(&self.all).get(id).filter(|job| job.whose == *whose).map(Arc::clone)
    }

    /// All of theirs.
    pub(super) fn list(&self, whose: &(SessionKey, UserId)) -> Vec<(String, Arc<BackgroundCommand>)> {
        let all = lock(&self.all);
        let theirs = all.iter().filter(|(_, job)| job.whose == *whose);
        theirs.map(|(id, job)| (id.clone(), Arc::clone(job))).collect()
    }
}

/// Tells how a command ends. Whatever becomes of whoever follows it, it runs no longer than they do: its place is free then.
fn follow(tell: watch::Sender<JobState>, end: impl Future<Output = JobState> + Send + 'static) {
    tasks::spawn("a command in the background", async move {
        let end = tasks::catch_panic("a command in the background", end).await;
        tell.send_replace(end.unwrap_or(JobState::Lost));
    });
}

/// Of many that have ended, the oldest go.
fn forget_old(all: &mut BTreeMap<String, Arc<BackgroundCommand>>) {
    let mut ended: Vec<(Timestamp, String)> = all
        .iter()
        .filter(|(_, job)| job.state() != JobState::Running)
        .map(|(id, job)| (job.since, id.clone()))
        .collect();
    ended.sort_unstable();
    let excess = ended.len().saturating_sub(ENDED_MAX);
    for (_, id) in ended.drain(..excess) {
        all.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[tokio::test]
    async fn a_command_whose_follower_panics_does_not_run_for_ever() {
        let (tell, mut state) = watch::channel(JobState::Running);
        follow(tell, async { panic!("simulated") });
        assert_eq!(*state.wait_for(|state| *state != JobState::Running).await.unwrap(), JobState::Lost);
        let (tell, mut state) = watch::channel(JobState::Running);
        follow(tell, async { JobState::TimedOut });
        assert_eq!(*state.wait_for(|state| *state != JobState::Running).await.unwrap(), JobState::TimedOut);
    }

    #[tokio::test]
    async fn a_full_disk_costs_the_output_and_not_the_command() {
        let (output, mut pipe) = io::pipe().unwrap();
        pipe.write_all(b"more than there is room for").unwrap();
        drop(pipe);
        let spool = Mutex::new(Spool::on_full_disk());
        let mut output = Receiver::from_owned_fd(output.into()).unwrap();
        copy_to_spool(&mut output, &spool).await.unwrap();
        let told = lock(&spool).excerpt_from(0).unwrap().into_text();
        assert_eq!(told, "… 27 bytes more were printed and could not be kept: the disk is full or broken …");
    }
}
