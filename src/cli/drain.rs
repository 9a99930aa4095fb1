//! `hob drain`: the Hob of this data directory takes nothing new in, finishes what it can, hands over, and ends.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use crate::cli::next_step::refuse;
use crate::cli::{leader_of, show, state_if_known};
use hob_config::environment::Environment;
use hob_store::lock::holder;
use hob_store::place::StatePlace;

/// Between two looks whether it is still there.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// So long another may take to lead: it looks once a second.
const TAKE_OVER_MAX: Duration = Duration::from_secs(3);

/// Asks it to end, and waits until it has.
///
/// # Errors
/// When it may not be asked, or what works on the data directory is no daemon.
pub(super) fn run(named: Option<&Path>) -> anyhow::Result<()> {
    let (data_dir, state) = state_if_known(named, &Environment::of_process())?;
    let Some(begun) = holder(&data_dir)? else {
        return Ok(show(&format!("no Hob runs on {}: there is nothing to hand over\n", data_dir.display()))?);
    };
    let Some(process) = begun.process else {
        refuse!("what works on {} is in a container", data_dir.display(); "run this in there")
    };
    let pid = process.as_raw_nonzero();
    if !ends_in_order(process) {
        refuse!("what works on {} (pid {pid}) is no Hob that can be asked to end", data_dir.display(); "wait until it is done");
    }
    match kill_process(process, Signal::TERM) {
        // It has ended just now.
        Ok(()) | Err(Errno::SRCH) => show(&format!("pid {pid} is asked to end\n"))?,
        Err(error) => {
            refuse!("pid {pid} cannot be asked to end: {error}"; "run this as the user that Hob runs as, or with sudo")
        }
    }
    while holder(&data_dir)?.is_some_and(|now| now.process == Some(process)) {
        sleep(LOOK_EVERY);
    }
    let goes_on = match successor(&state) {
        Some(leader) => format!("{leader} leads"),
        None => "what it had begun goes on at the next start".to_owned(),
    };
    Ok(show(&format!("drained: pid {pid} has ended; {goes_on}\n"))?)
}

/// Which daemon has taken over; none: nobody has, or nobody can.
fn successor(state: &StatePlace) -> Option<String> {
    let StatePlace::Server(_) = state else { return None };
    let end = Instant::now() + TAKE_OVER_MAX;
    loop {
        let leader = leader_of(state);
        if leader.is_some() || Instant::now() >= end {
            return leader;
        }
        sleep(LOOK_EVERY);
    }
}

/// Whether this process does something of its own at SIGTERM, as a daemon does. A restore or a copy would be cut off by it.
fn ends_in_order(process: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    caught.is_some_and(|bits| bits & (1 << (Signal::TERM.as_raw() - 1)) != 0)
}
