//! The walls themselves: what a process takes from itself, for good, before it becomes somebody else's program.
//!
//! Never: a wall that is left out in silence.
//! Start at [`raise`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, make_bitflags, path_beneath_rules,
};
use nix::libc;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use crate::tool::sandbox::spec::{Limits, Reach};

/// The newest Landlock whose rights are known here; older kernels take what they have of it.
const NEWEST: ABI = ABI::V7;
/// The oldest that will do: before it, files outside could be cut to nothing.
const OLDEST: ABI = ABI::V3;

/// What a program needs of the system to run at all: read, and run, never written.
const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/sys/devices/system/cpu",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];
/// What of `/etc` programs read. It is named one by one: what else lies there may be a secret, and Hob may run as root.
const SETTINGS: [&str; 44] = [
    "ImageMagick-6",
    "ImageMagick-7",
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "papersize",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xdg",
];
/// What of `/proc` tells about the machine, where all of it would tell about other people's processes.
const MACHINE: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/uptime",
    "/proc/version",
];

/// A wall could not be raised.
#[derive(Debug, thiserror::Error)]
pub(super) enum WallError {
    /// By the file system's.
    #[error("Landlock: {0}")]
    Landlock(#[from] RulesetError),
    /// The kernel has none.
    #[error("the kernel has no Landlock, or it is switched off")]
    NoLandlock,
    /// By the system calls'.
    #[error("seccomp: {0}")]
    Seccomp(#[from] seccompiler::Error),
    /// By the filter's making.
    #[error("seccomp: {0}")]
    Filter(#[from] seccompiler::BackendError),
    /// By the kernel.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
}

/// What raises no wall of its own, with what it was for.
pub(super) fn system<T>(what: &'static str, result: Result<T, impl Into<io::Error>>) -> Result<T, WallError> {
    result.map_err(|error| WallError::System(what, error.into()))
}

/// Raises them all around this thread and whatever it starts from now on. `alone`: no other's processes are in `/proc`.
pub(super) fn raise(reach: &Reach, temporary: &Path, alone: bool) -> Result<(), WallError> {
    limit(&reach.limits)?;
    drop_capabilities()?;
    system("no new privileges", rustix::thread::set_no_new_privs(true))?;
    fence(reach, temporary, alone)?;
    filter(reach.network)
}

/// Resource limits; where there are narrower ones already, those stay.
fn limit(limits: &Limits) -> Result<(), WallError> {
    for (resource, most) in [
        (Resource::Data, limits.memory_mb << 20),
        (Resource::Fsize, limits.file_mb << 20),
        (Resource::Nofile, 4_096),
        (Resource::Core, 0),
    ] {
        lower(resource, most)?;
    }
    Ok(())
}

/// Lowers a limit.
pub(super) fn lower(resource: Resource, most: u64) -> Result<(), WallError> {
    let most = Some(getrlimit(resource).maximum.map_or(most, |hard| hard.min(most)));
    system("resource limits", setrlimit(resource, Rlimit { current: most, maximum: most }))
}

/// Root without its privileges: it owns its files, and that is all.
fn drop_capabilities() -> Result<(), WallError> {
    system("ambient capabilities", rustix::thread::clear_ambient_capability_set())?;
    for capability in CapabilitySet::all().iter() {
        // Who has none cannot drop any, and with `no_new_privs` gains none.
        if rustix::thread::remove_capability_from_bounding_set(capability).is_err() {
            break;
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    system("capabilities", rustix::thread::set_capabilities(None, sets))
}

/// The file system, TCP, signals and abstract sockets.
fn fence(reach: &Reach, temporary: &Path, alone: bool) -> Result<(), WallError> {
    let all = AccessFs::from_all(NEWEST);
    let writes = all & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    let reads = AccessFs::from_read(NEWEST);
    let settings = SETTINGS.iter().map(|name| Path::new("/etc").join(name));
    let proc = if alone { vec![PathBuf::from("/proc")] } else { MACHINE.iter().map(PathBuf::from).collect() };
    let readable = SYSTEM.iter().map(PathBuf::from).chain(settings).chain(proc).chain(reach.read.iter().cloned());
    let writable = reach.write.iter().map(PathBuf::as_path).chain([temporary, Path::new("/dev/null")]);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?;
    if !reach.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let rules = |paths: Vec<PathBuf>, access: BitFlags<AccessFs>| path_beneath_rules(paths, access);
    let created = ruleset
        .create()?
        .add_rules(rules(readable.collect(), reads))?
        .add_rules(rules(writable.map(Path::to_owned).collect(), writes))?;
    match created.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err(WallError::NoLandlock),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

/// System calls by which a program could reach around the other walls, or at the kernel.
const FORBIDDEN: [i64; 42] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_open_by_handle_at,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// What the second ABI of x86-64 adds to a system call's number, to reach the same call.
const X32: i64 = 0x4000_0000;

/// Namespaces that a new process could be put in.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

fn filter(network: bool) -> Result<(), WallError> {
    let refused = u32::try_from(libc::EPERM).unwrap_or(1);
    let missing = u32::try_from(libc::ENOSYS).unwrap_or(38);
    // Its flags lie in memory, where no filter sees them; without it, libraries use `clone`.
    let unseen = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    apply(unseen, missing)?;
    apply(rules(network)?, refused)
}

fn apply(mut rules: BTreeMap<i64, Vec<SeccompRule>>, errno: u32) -> Result<(), WallError> {
    if cfg!(target_arch = "x86_64") {
        let again: Vec<_> = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(again);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), arch)?.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}

fn rules(network: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, WallError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let not = |family: i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))
    };
    // Never a local socket: behind those sit the machine's own services, which know nothing of this sandbox.
    let sockets = if network {
        vec![SeccompRule::new(vec![not(libc::AF_INET)?, not(libc::AF_INET6)?, not(libc::AF_NETLINK)?])?]
    } else {
        Vec::new()
    };
    rules.insert(libc::SYS_socket, sockets);
    let mut made = Vec::new();
    for bit in (0..64).map(|bit| 1 << bit).filter(|bit| NAMESPACES & bit != 0) {
        let asked = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bit), bit)?;
        made.push(SeccompRule::new(vec![asked])?);
    }
    rules.insert(libc::SYS_clone, made);
    // Words put into the terminal of whoever started Hob.
    let typed = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::TIOCSTI)?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![typed])?]);
    Ok(rules)
}
