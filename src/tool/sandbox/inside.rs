//! The way in: Hob started again, to become somebody else's program within walls.
//!
//! No code may run between `fork` and `exec` here (that would be unsafe), so each stage is a process of its own: the outer one
//! makes namespaces, the first in them raises the walls, starts the program, and takes everything with it when it goes.
//!
//! Never: a look at the config, the data directory or a runtime; it costs every command its time.
//! Start at [`entered`].

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{Pid, Resource, Signal, WaitOptions, getgid, getuid, kill_current_process_group};
use rustix::thread::CapabilitySet;

use crate::tool::files::deed;
use crate::tool::sandbox::furnish;
use crate::tool::sandbox::spec::{CHANGED, Found, Spec, Stage, Trial};
use crate::tool::sandbox::walls::{WallError, lower, raise, system};

/// The argument by which Hob knows that it is on the way in.
pub(super) const ENTRY: &str = "sandboxed";
/// Its exit code when a wall could not be raised; nothing was run then.
pub(super) const NO_WALLS: u8 = 125;
/// How often processes are counted where the kernel does not.
const COUNT_EVERY: Duration = Duration::from_millis(50);
/// The kernel keeps so many process ids for itself in each namespace.
const RESERVED: u64 = 300;

/// The first kernel in which each namespace has a number of its own.
const PID_MAX_OF_NAMESPACE: (u32, u32) = (6, 14);

/// What the way in ends with, if `arguments` (without the program's name) say that this is it.
#[must_use]
#[expect(clippy::print_stderr, reason = "a stage has no log; what it says is the command's output")]
pub fn entered(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != ENTRY {
        return None;
    }
    let told = arguments.next().unwrap_or_default();
    let vector: Vec<OsString> = arguments.collect();
    let ended = serde_json::from_slice::<Spec>(told.as_encoded_bytes())
        .map_err(|error| WallError::System("the way in", error.into()))
        .and_then(|spec| enter(&spec, &vector));
    Some(match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("The sandbox could not be set up, and nothing was run. {error}");
            ExitCode::from(NO_WALLS)
        }
    })
}

fn enter(spec: &Spec, vector: &[OsString]) -> Result<u8, WallError> {
    match spec.stage {
        Stage::Outer => outer(spec, vector),
        Stage::First => {
            // Should the outer one be killed, this is the next to go, and with it all others.
            system("its parent's end", rustix::process::set_parent_process_death_signal(Some(Signal::KILL)))?;
            let own = furnish::furnish(spec)?;
            let counted = count(spec, true);
            inner(spec, vector, State { alone: own, counted })
        }
        Stage::Wrapped => {
            let counted = count(spec, true);
            inner(spec, vector, State { alone: true, counted })
        }
        Stage::Bare => {
            leave_terminal();
            let counted = count(spec, false);
            inner(spec, vector, State { alone: false, counted })
        }
    }
}

/// What holds besides the walls.
struct State {
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

/// Makes namespaces, and is there until whatever is in them has ended.
fn outer(spec: &Spec, vector: &[OsString]) -> Result<u8, WallError> {
    leave_terminal();
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
    // Which lets the next stage take all others away for good.
    keep_through_exec(CapabilitySet::SETPCAP)?;
    let next = Spec { stage: Stage::First, ..spec.clone() };
    let told = serde_json::to_string(&next).map_err(|error| WallError::System("the way in", error.into()))?;
    let mut command = Command::new("/proc/self/exe");
    let status = system("its first process", command.arg(ENTRY).arg(told).args(vector).status())?;
    Ok(code(status.code(), status.signal()))
}

/// Who is not root loses its rights over the new namespaces with `exec` unless they are handed on.
fn keep_through_exec(capability: CapabilitySet) -> Result<(), WallError> {
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

/// Raises the walls, starts the program behind them, and ends with it.
fn inner(spec: &Spec, vector: &[OsString], state: State) -> Result<u8, WallError> {
    // The first to go when memory is short, and the last to get the processor. Neither is a wall.
    if fs::write("/proc/self/oom_score_adj", "900").is_err() || rustix::process::setpriority_process(None, 5).is_err() {
        // Some containers allow neither.
    }
    let input = spec.input.as_ref().map(|path| system("its input", File::open(path))).transpose()?;
    raise(&spec.reach, &spec.temporary, state.alone)?;
    if let Some(trial) = &spec.trial {
        if let Some(path) = &trial.change {
            system("a draft", fs::write(path, CHANGED))?;
        }
        let leaks = attempt(trial);
        let found = Found { leaks, counted: state.counted || state.alone, alone: state.alone };
        system("its report", serde_json::to_writer(io::stdout(), &found))?;
        return Ok(0);
    }
    std::thread::spawn(until_abandoned);
    if !state.counted && state.alone {
        let most = spec.reach.limits.processes;
        std::thread::spawn(move || until_too_many(most));
    }
    let Some((program, arguments)) = vector.split_first() else {
        return Err(WallError::System("the command", io::ErrorKind::InvalidInput.into()));
    };
    if program == deed::WORKER {
        let input = input.ok_or_else(|| WallError::System("its input", io::ErrorKind::InvalidInput.into()))?;
        system("the work with files", deed::serve(input))?;
        return Ok(0);
    }
    let input = input.map_or_else(Stdio::null, Stdio::from);
    let child = Command::new(program).args(arguments).stdin(input).spawn();
    let child = child.map_err(|error| WallError::System("the command", error))?;
    wait_for(i32::try_from(child.id()).ok().and_then(Pid::from_raw))
}

/// Waits for the program, and meanwhile for whatever was left to the first process of a namespace.
fn wait_for(program: Option<Pid>) -> Result<u8, WallError> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == program => {
                return Ok(code(status.exit_status(), status.terminating_signal()));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(WallError::System("the command's end", error.into())),
        }
    }
}

/// As a shell tells it.
fn code(code: Option<i32>, signal: Option<i32>) -> u8 {
    let code = code.or_else(|| signal.map(|signal| 128 + signal)).unwrap_or(i32::from(NO_WALLS));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Hob holds the other end of this standard input. When Hob is gone, so is everything here.
fn until_abandoned() {
    let mut byte = [0];
    while matches!(io::stdin().read(&mut byte), Ok(1..)) {}
    end();
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

/// Ends this process and its group; as the first of a namespace, all of it.
#[expect(clippy::disallowed_methods, reason = "this process is no daemon: its end is the end of the sandbox")]
fn end() {
    if kill_current_process_group(Signal::KILL).is_err() {
        // The exit does the same in a namespace.
    }
    std::process::exit(i32::from(NO_WALLS));
}

/// Tries what must not be possible; tells what was.
fn attempt(trial: &Trial) -> Vec<String> {
    let beside = |name: &str| trial.file.with_file_name(name);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, trial.port));
    let local = UnixStream::connect(beside("socket")).is_ok();
    let tries: [(&str, bool); 8] = [
        ("read", File::open(&trial.file).is_ok()),
        ("list", trial.file.parent().is_some_and(|dir| fs::read_dir(dir).is_ok())),
        ("write", OpenOptions::new().append(true).open(&trial.file).is_ok()),
        ("truncate", nix::unistd::truncate(&trial.file, 0).is_ok()),
        ("change the mode of", fs::set_permissions(&trial.file, Permissions::from_mode(0o600)).is_ok()),
        ("create", File::create(beside("new")).is_ok()),
        ("connect to", TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()),
        ("talk to", local),
    ];
    tries.into_iter().filter(|(_, done)| *done).map(|(what, _)| what.to_owned()).collect()
}
