//! The way in: Hob started again, to become somebody else's program in the sandbox.
//!
//! No code may run between `fork` and `exec` here (that would be unsafe), so each stage is a process of its own: the outer one
//! makes namespaces, the first in them sets the restrictions up, starts the program, and takes everything with it when it goes.
//!
//! Never: a look at the config, the data directory or a runtime; it costs every command its time.
//! Start at [`entered`].

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal as PosixSignal};
use rustix::fs::OFlags;
use rustix::io::FdFlags;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Signal, WaitOptions, getgid, getppid, getuid,
    kill_current_process_group, pidfd_open, set_dumpable_behavior,
};
use rustix::thread::CapabilitySet;

use crate::files::{document, operation};
use crate::sandbox::disk::ReserveGuard;
use crate::sandbox::escape_attempts::attempt;
use crate::sandbox::layout::{Layout, PROGRAM, TEMPORARY};
use crate::sandbox::restrictions::{Exemptions, RestrictionError, enforce, lower, system};
use crate::sandbox::root_fs;
use crate::sandbox::spec::{CHANGED, Spec, Stage, TrialReport};

/// The argument by which Hob knows that it is on the way in.
pub(super) const ENTRY: &str = "sandboxed";
/// Its exit code when a restriction could not be set up; nothing was run then.
pub(super) const NO_WALLS: u8 = 125;
/// How often processes are counted where the kernel does not.
const COUNT_EVERY: Duration = Duration::from_millis(50);
/// The kernel keeps so many process ids for itself in each namespace.
const RESERVED: u64 = 300;

/// The first kernel in which each namespace has a number of its own.
const PID_MAX_OF_NAMESPACE: (u32, u32) = (6, 14);

/// What the way in ends with, if `arguments` (without the program's name) say that this is it.
#[expect(clippy::print_stderr, reason = "a stage has no log; what it says is the command's output")]
pub fn entered(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != ENTRY {
        return None;
    }
    let told = arguments.next().unwrap_or_default();
    let vector: Vec<OsString> = arguments.collect();
    let ended = serde_json::from_slice::<Spec>(told.as_encoded_bytes())
        .map_err(|error| RestrictionError::System("the way in", error.into()))
        .and_then(|spec| {
            close_strays(&spec)?;
            enter(spec, &vector)
        });
    Some(match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("The sandbox could not be set up, and nothing was run. {error}");
            ExitCode::from(NO_WALLS)
        }
    })
}

fn enter(mut spec: Spec, vector: &[OsString]) -> Result<u8, RestrictionError> {
    match spec.stage {
        Stage::Outer => run_outer_stage(&spec, vector),
        Stage::First => {
            // Should the outer one be killed, this is the next to go, and with it all others. What holds if it was killed before
            // this line is the lifeline.
            system("its parent's end", rustix::process::set_parent_process_death_signal(Some(Signal::KILL)))?;
            // In a group of its own: who signals theirs does not meet the outer one, which watches Hob.
            leave_terminal();
            let lifeline = lifeline(&spec)?;
            let alone = root_fs::build_root(&spec)?;
            (spec.temporary, spec.program) = (TEMPORARY.into(), PROGRAM.into());
            let counted = count(&spec, true);
            raise_oom_score();
            if alone {
                root_fs::seal_proc()?;
            }
            run_inner_stage(&spec, vector, Isolation { alone, counted }, lifeline)
        }
        Stage::Wrapped => {
            let lifeline = lifeline(&spec)?;
            (spec.temporary, spec.program) = (TEMPORARY.into(), PROGRAM.into());
            let counted = count(&spec, true);
            raise_oom_score();
            run_inner_stage(&spec, vector, Isolation { alone: true, counted }, lifeline)
        }
        Stage::Bare => {
            leave_terminal();
            let hob = watched(&spec)?;
            let counted = count(&spec, false);
            raise_oom_score();
            run_inner_stage(&spec, vector, Isolation { alone: false, counted }, hob)
        }
    }
}

/// Whatever Hob itself was started with is nobody's business here.
fn close_strays(spec: &Spec) -> Result<(), RestrictionError> {
    let entries = system("open files", fs::read_dir("/proc/self/fd"))?;
    let number = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<i32>().ok();
    let open: Vec<i32> = entries.filter_map(number).collect();
    for file in open.into_iter().filter(|file| *file > 2 && Some(*file) != spec.lifeline) {
        // The list itself is closed already.
        if !matches!(nix::unistd::close(file), Ok(()) | Err(Errno::EBADF)) {
            return Err(RestrictionError::System("open files", io::ErrorKind::InvalidData.into()));
        }
    }
    Ok(())
}

/// Hob, by what tells of its end for sure. It must be this process's parent yet: another may have its number by now.
fn watched(spec: &Spec) -> Result<OwnedFd, RestrictionError> {
    let gone = || RestrictionError::System("Hob's end", io::ErrorKind::NotFound.into());
    let is_there = || getppid().filter(|parent| u32::try_from(parent.as_raw_pid()) == Ok(spec.parent));
    let parent = is_there().ok_or_else(gone)?;
    let hob = system("Hob's end", pidfd_open(parent, PidfdFlags::empty()))?;
    is_there().map(|_| hob).ok_or_else(gone)
}

/// What ends with the outer stage: a pipe of which only that one has the other end.
fn lifeline(spec: &Spec) -> Result<OwnedFd, RestrictionError> {
    let none = || RestrictionError::System("its lifeline", io::ErrorKind::InvalidInput.into());
    let number = spec.lifeline.ok_or_else(none)?;
    // Anew, so that no program inherits it.
    let file = system("its lifeline", File::open(format!("/proc/self/fd/{number}")))?;
    system("its lifeline", nix::unistd::close(number).map_err(io::Error::from))?;
    Ok(file.into())
}

/// The first to go when memory is short. It restricts nothing.
fn raise_oom_score() {
    if fs::write("/proc/self/oom_score_adj", "900").is_err() {
        // Some containers do not allow it.
    }
}

/// The last to get the processor: what this thread starts from now on. Those that end it stand before it.
fn lower_priority() {
    if rustix::process::setpriority_process(None, 5).is_err() {
        // It restricts nothing either.
    }
}

/// What holds besides the restrictions.
struct Isolation {
    /// `/proc` shows no other's processes.
    alone: bool,
    /// The kernel bounds how many there can be.
    counted: bool,
}

/// A session of its own: nothing can be typed into the terminal that Hob was started from.
fn leave_terminal() {
    if rustix::process::setsid().is_err() {
        // Whoever leads its group already is in one.
    }
}

/// Has namespaces made, and is there until whatever is in them has ended, or Hob has.
fn run_outer_stage(spec: &Spec, vector: &[OsString]) -> Result<u8, RestrictionError> {
    leave_terminal();
    let hob = watched(spec)?;
    let (held, kept) = system("its lifeline", nix::unistd::pipe())?;
    system("its lifeline", rustix::io::fcntl_setfd(&kept, FdFlags::CLOEXEC))?;
    let stage = if spec.bubblewrap.is_some() { Stage::Wrapped } else { Stage::First };
    let next = Spec { stage, lifeline: Some(held.as_raw_fd()), ..spec.clone() };
    let told = serde_json::to_string(&next).map_err(|error| RestrictionError::System("the way in", error.into()))?;
    let mut command = match &spec.bubblewrap {
        Some(bubblewrap) => bubblewrap_command(bubblewrap, spec),
        None => {
            separate(spec)?;
            Command::new("/proc/self/exe")
        }
    };
    let mut child = system("its first process", command.arg(ENTRY).arg(told).args(vector).spawn())?;
    drop(held);
    persist()?;
    let first = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let first =
        first.ok_or_else(|| RestrictionError::System("its first process", io::ErrorKind::InvalidData.into()))?;
    let ended = system("its first process", pidfd_open(first, PidfdFlags::empty()))?;
    while !is_over(&ended, Some(&hob))? {
        if is_over(&hob, None)? {
            end();
        }
    }
    let status = system("its first process", child.wait())?;
    drop(kept);
    Ok(code(status.code(), status.signal()))
}

/// Who is asked to end in peace is the program; this process is there until it has.
fn persist() -> Result<(), RestrictionError> {
    let asked: SigSet = [PosixSignal::SIGTERM, PosixSignal::SIGINT, PosixSignal::SIGHUP].into_iter().collect();
    system("its signals", asked.thread_block())
}

/// Has this process ended? With `other`, it is waited for one of the two.
fn is_over(process: &OwnedFd, other: Option<&OwnedFd>) -> Result<bool, RestrictionError> {
    let mut all = vec![PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    all.extend(other.map(|other| PollFd::new(other.as_fd(), PollFlags::POLLIN)));
    let within = if other.is_some() { PollTimeout::NONE } else { PollTimeout::ZERO };
    match poll(&mut all, within) {
        Ok(_) | Err(Errno::EINTR) => Ok(all.first().and_then(PollFd::any).unwrap_or_default()),
        Err(error) => Err(RestrictionError::System("its end", error.into())),
    }
}

/// Makes namespaces for whatever this process starts from now on.
fn separate(spec: &Spec) -> Result<(), RestrictionError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let mut kinds = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    kinds.set(CloneFlags::CLONE_NEWNET, !spec.reach.network);
    system("namespaces", unshare(kinds))?;
    system("its groups", fs::write("/proc/self/setgroups", "deny"))?;
    system("its user", fs::write("/proc/self/uid_map", format!("{user} {user} 1")))?;
    system("its group", fs::write("/proc/self/gid_map", format!("{group} {group} 1")))?;
    keep_through_exec(CapabilitySet::SYS_ADMIN)?;
    // The kernel keeps a folder without any rights for the copy of another, in the name of who made the copy.
    keep_through_exec(CapabilitySet::DAC_OVERRIDE)?;
    // Which lets the next stage take all others away for good.
    keep_through_exec(CapabilitySet::SETPCAP)
}

/// The same by bubblewrap.
fn bubblewrap_command(bubblewrap: &Path, spec: &Spec) -> Command {
    let mut command = Command::new(bubblewrap);
    // The next stage is the first there, which nobody within can stop: it looks after the disk, and ends them.
    command.args(["--die-with-parent", "--new-session", "--as-pid-1"]);
    command.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
    command.args((!spec.reach.network).then_some("--unshare-net"));
    command.args(["--dev", "/dev", "--proc", "/proc"]).args(Layout::of(spec).for_bubblewrap());
    command.args(["--remount-ro", "/", "--", PROGRAM]);
    command
}

/// Who is not root loses its rights over the new namespaces with `exec` unless they are handed on.
fn keep_through_exec(capability: CapabilitySet) -> Result<(), RestrictionError> {
    let mut sets = system("capabilities", rustix::thread::capabilities(None))?;
    sets.inheritable |= capability;
    system("capabilities", rustix::thread::set_capabilities(None, sets))?;
    system("ambient capabilities", rustix::thread::configure_capability_in_ambient_set(capability, true))
}

/// Bounds the number of processes; false where the kernel does not do that for this user.
fn count(spec: &Spec, namespace: bool) -> bool {
    let most = spec.reach.limits.processes;
    // Before, the number was everybody's.
    let ids = namespace
        && kernel().is_some_and(|kernel| kernel >= PID_MAX_OF_NAMESPACE)
        && fs::write("/proc/sys/kernel/pid_max", (RESERVED + most).to_string()).is_ok();
    // Per user, and for root not at all; in a user namespace of one's own nobody else is counted.
    let others = if namespace { 0 } else { processes_of_user() };
    let limited = lower(Resource::Nproc, most + others).is_ok() && !getuid().is_root();
    ids || limited
}

/// The kernel's version, as far as it matters.
fn kernel() -> Option<(u32, u32)> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut parts = release.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The processes and threads that this user has already.
fn processes_of_user() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let user = getuid().as_raw();
    let threads = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let own = entry.metadata().ok()?.uid() == user;
        own.then(|| fs::read_dir(entry.path().join("task")).map_or(1, Iterator::count))
    };
    let count: usize = fs::read_dir("/proc").into_iter().flatten().filter_map(threads).sum();
    u64::try_from(count).unwrap_or(u64::MAX / 2)
}

/// Sets the restrictions up, starts the program under them, and ends with it, or with whom `life` tells of.
fn run_inner_stage(spec: &Spec, vector: &[OsString], state: Isolation, life: OwnedFd) -> Result<u8, RestrictionError> {
    let disk = ReserveGuard::new(&spec.temporary, spec.reach.limits.disk_left_mb.saturating_mul(1 << 20), state.alone);
    // Nobody within looks into this process, or takes what it has open: it is the one that ends them.
    system("its privacy", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    enforce(&spec.reach, &Exemptions { temporary: &spec.temporary, program: &spec.program, alone: state.alone })?;
    if let Some(trial) = &spec.trial {
        if let Some(path) = &trial.change {
            system("a draft", fs::write(path, CHANGED))?;
        }
        let leaks = attempt(trial, &spec.temporary);
        let found = TrialReport { leaks, counted: state.counted || state.alone, alone: state.alone };
        system("its report", serde_json::to_writer(io::stdout(), &found))?;
        return Ok(0);
    }
    std::thread::spawn(move || until_abandoned(&life));
    if !state.counted && state.alone {
        let most = spec.reach.limits.processes;
        std::thread::spawn(move || until_too_many(most));
    }
    end_if_short(&disk);
    let (program_runs, wait_for_program) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        // Until the child is the program it hides its memory as this process does, and who hides has written all.
        wait_for_program.iter().for_each(drop);
        loop {
            disk.wait();
            end_if_short(&disk);
        }
    });
    let Some((program, arguments)) = vector.split_first() else {
        return Err(RestrictionError::System("the command", io::ErrorKind::InvalidInput.into()));
    };
    lower_priority();
    if program == operation::WORKER {
        drop(program_runs);
        system("the work with files", operation::serve(io::stdin()))?;
        return Ok(0);
    }
    if program == document::WORKER {
        drop(program_runs);
        system("the work with a document", document::serve(io::stdin()))?;
        return Ok(0);
    }
    let mut command = Command::new(program);
    if !matches!(spec.stage, Stage::Bare) {
        command.env("TMPDIR", &spec.temporary);
    }
    let child = command.args(arguments).spawn().map_err(|error| RestrictionError::System("the command", error))?;
    drop(program_runs);
    wait_for(i32::try_from(child.id()).ok().and_then(Pid::from_raw))
}

/// Waits for the program, and meanwhile for whatever was left to the first process of a namespace.
fn wait_for(program: Option<Pid>) -> Result<u8, RestrictionError> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == program => {
                return Ok(code(status.exit_status(), status.terminating_signal()));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(RestrictionError::System("the command's end", error.into())),
        }
    }
}

/// As a shell tells it.
fn code(code: Option<i32>, signal: Option<i32>) -> u8 {
    let code = code.or_else(|| signal.map(|signal| 128 + signal)).unwrap_or(i32::from(NO_WALLS));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// When Hob is gone, or the stage that watches it, so is everything here.
fn until_abandoned(life: &OwnedFd) {
    loop {
        let mut all = [PollFd::new(life.as_fd(), PollFlags::POLLIN)];
        match poll(&mut all, PollTimeout::NONE) {
            Err(Errno::EINTR) | Ok(0) => {}
            Ok(_) | Err(_) => end(),
        }
    }
}

/// Where the kernel counts no processes, this does.
fn until_too_many(most: u64) {
    let is_process = |name: &OsStr| name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    loop {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let count = entries.filter(|entry| is_process(&entry.file_name())).count();
        if u64::try_from(count).is_ok_and(|count| count > most) {
            end();
        }
        std::thread::sleep(COUNT_EVERY);
    }
}

/// What it writes must not fill the disk on which Hob keeps its own.
fn end_if_short(disk: &ReserveGuard) {
    if disk.is_short() {
        write_nonblocking("Hob has ended this: the disk is nearly full.\n");
        end();
    }
}

/// Says this in the program's output, if it can be said now: who shares that may have filled it, and nobody waits for them.
fn write_nonblocking(words: &str) {
    let output = io::stderr();
    let told = rustix::fs::fcntl_setfl(&output, OFlags::NONBLOCK);
    if told.and_then(|()| rustix::io::write(&output, words.as_bytes())).is_err() {
        // Nothing can be done about it: the end says enough.
    }
}

/// Ends this process and its group; as the first of a namespace, all of it.
#[expect(clippy::disallowed_methods, reason = "this process is no daemon: its end is the end of the sandbox")]
fn end() {
    if kill_current_process_group(Signal::KILL).is_err() {
        // The exit does the same in a namespace.
    }
    std::process::exit(i32::from(NO_WALLS));
}
