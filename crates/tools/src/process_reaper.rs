//! What the tools of a Hob that was killed have left running.
//!
//! A killed process runs no guard, so its children go on. Each of them carries a mark in its environment that names
//! the data directory, and so does what it started in turn, in whatever process group. Who holds that directory's lock
//! knows that nobody is alive to whom such a process belongs.
//!
//! Where no namespace holds a command's processes, each call of it has a mark as well, by which those are found that left its
//! process group.
//!
//! Never: a process without the mark.
//! Start at [`ProcessReaper::kill`].

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::unistd::{Pid as AnyPid, getpgid, getpgrp};
use rustix::process::{Pid, Signal, kill_process};

/// The mark's name.
const NAME: &str = "HOB_TOOL_OF";
/// How often is looked before what still runs is left alone: whoever forks meanwhile is found by the next look.
const LOOKS_MAX: u32 = 20;
/// The wait between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The mark's name where it is a single call's.
const NAME_OF_CALL: &str = "HOB_TOOL_CALL";

/// Calls that this process has marked.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// The processes that the tools of one data directory have started, or one call of them.
#[derive(Debug, Clone)]
pub struct ProcessReaper {
    name: &'static str,
    whose: OsString,
}

impl ProcessReaper {
    /// Those of this data directory.
    pub fn of(data_dir: &Path) -> Self {
        // As it was named serves where it cannot be resolved: the next start most likely names it so again.
        let resolved = data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned());
        Self { name: NAME, whose: resolved.into_os_string() }
    }

    /// Those of a call that now begins.
    pub(super) fn of_call() -> Self {
        let (process, call) = (std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
        Self { name: NAME_OF_CALL, whose: format!("{process}-{call}").into() }
    }

    /// The variable that every child gets.
    pub fn mark(&self) -> (&'static str, &OsStr) {
        (self.name, &self.whose)
    }

    /// Kills all of them and waits until they are gone. Those of a data directory: only for who holds its lock.
    pub async fn kill(&self) {
        for look in 0..LOOKS_MAX {
            let alive = match self.alive() {
                Ok(alive) => alive,
                Err(error) => {
                    tracing::debug!(%error, "what earlier tools left running cannot be seen");
                    return;
                }
            };
            if alive.is_empty() {
                return;
            }
            for pid in alive {
                match kill_process(pid, Signal::KILL) {
                    Ok(()) if look == 0 && self.name == NAME => {
                        tracing::warn!(pid = pid.as_raw_nonzero().get(), "tool.leftover_killed: a tool outlived Hob");
                    }
                    Ok(()) => tracing::debug!(pid = pid.as_raw_nonzero().get(), "tool.leftover_killed: once more"),
                    Err(error) => tracing::debug!(%error, "a leftover was gone already, or is another's"),
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        tracing::error!(
            "tool.leftover_stays: what an earlier tool started cannot be killed, and may have an effect yet"
        );
    }

    /// The marked processes; not those of our own group, for Hob itself may have been started by a tool.
    fn alive(&self) -> io::Result<Vec<Pid>> {
        let mut mark = OsString::from(self.name);
        mark.push("=");
        mark.push(&self.whose);
        // By `nix`, for a group may be 0: that of who is the first process of a container and leads no group itself. Rustix
        // takes 0 for impossible.
        let own = getpgrp();
        let pids = std::fs::read_dir("/proc")?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
        let in_another = |pid: Pid| getpgid(Some(AnyPid::from_raw(pid.as_raw_pid()))).is_ok_and(|group| group != own);
        Ok(pids.filter(|pid| is_marked(*pid, &mark) && in_another(*pid)).collect())
    }
}

/// Whether its environment has the entry. Of a process that has ended, or is another user's, it cannot be read.
fn is_marked(pid: Pid, mark: &OsStr) -> bool {
    let environment = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    environment.is_ok_and(|text| text.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that belongs to this data directory's tools, or to none.
    fn sleeper(leftovers: Option<&ProcessReaper>) -> Child {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("sleep");
        command.arg("600").process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        command.envs(leftovers.map(ProcessReaper::mark)).spawn().unwrap()
    }

    #[tokio::test]
    async fn only_the_marked_are_killed() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (ours, theirs) = (ProcessReaper::of(here.path()), ProcessReaper::of(there.path()));
        let (mut marked, mut others) = (sleeper(Some(&ours)), [sleeper(Some(&theirs)), sleeper(None)]);
        ours.kill().await;
        let ended = marked.wait().unwrap();
        assert_eq!(ended.signal(), Some(Signal::KILL.as_raw()));
        for other in &mut others {
            assert_eq!(other.try_wait().unwrap(), None);
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
