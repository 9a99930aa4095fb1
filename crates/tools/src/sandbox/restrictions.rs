//! The restrictions themselves: what a process takes from itself, for good, before it becomes somebody else's program.
//!
//! Never: a restriction that is left out in silence.
//! Start at [`raise`].

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, make_bitflags, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::sandbox::layout::outermost;
use crate::sandbox::spec::{Limits, SandboxAccess};
use crate::sandbox::syscalls::filter;

/// The newest Landlock whose rights are known here; older kernels take what they have of it.
const NEWEST: ABI = ABI::V7;
/// The oldest that will do: before it, files outside could be cut to nothing.
const OLDEST: ABI = ABI::V3;

/// What a program needs of the system to run at all: read, and run, never written.
pub(super) const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/sys/devices/system/cpu"];
/// Devices that give or take bytes, and nothing else.
pub(super) const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// What of `/etc` programs read. It is named one by one: what else lies there may be a secret, and Hob may run as root.
pub(super) const SETTINGS: [&str; 44] = [
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
pub(super) const MACHINE: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/uptime",
    "/proc/version",
];

/// A restriction could not be set up.
#[derive(Debug, thiserror::Error)]
pub(super) enum RestrictionError {
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

/// What sets up no restriction of its own, with what it was for.
pub(super) fn system<T>(what: &'static str, result: Result<T, impl Into<io::Error>>) -> Result<T, RestrictionError> {
    result.map_err(|error| RestrictionError::System(what, error.into()))
}

/// What the restrictions are to let through, besides what is within reach.
pub(super) struct Exemptions<'a> {
    /// The folder of its own.
    pub(super) temporary: &'a Path,
    /// Hob's own program.
    pub(super) program: &'a Path,
    /// No other's processes are in `/proc`.
    pub(super) alone: bool,
}

/// Raises them all around this thread and whatever it starts from now on.
pub(super) fn enforce(reach: &SandboxAccess, doors: &Exemptions<'_>) -> Result<(), RestrictionError> {
    limit(&reach.limits)?;
    drop_capabilities()?;
    system("no new privileges", rustix::thread::set_no_new_privs(true))?;
    fence(reach, doors)?;
    filter(reach.network)
}

/// Resource limits; where there are narrower ones already, those stay.
fn limit(limits: &Limits) -> Result<(), RestrictionError> {
    for (resource, most) in [
        (Resource::Data, limits.memory_mb << 20),
        (Resource::Fsize, limits.file_mb << 20),
        (Resource::Nofile, 4_096),
        (Resource::Core, 0),
    ] {
        lower(resource, most)?;
    }
    limits.cpu_secs.map_or(Ok(()), |most| lower(Resource::Cpu, most))
}

/// Lowers a limit.
pub(super) fn lower(resource: Resource, most: u64) -> Result<(), RestrictionError> {
    let most = Some(getrlimit(resource).maximum.map_or(most, |hard| hard.min(most)));
    system("resource limits", setrlimit(resource, Rlimit { current: most, maximum: most }))
}

/// Root without its privileges: it owns its files, and that is all.
fn drop_capabilities() -> Result<(), RestrictionError> {
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
fn fence(
    reach: &SandboxAccess,
    &Exemptions { temporary, program, alone }: &Exemptions<'_>,
) -> Result<(), RestrictionError> {
    let all = AccessFs::from_all(NEWEST);
    let writes = all & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});
    let reads = AccessFs::from_read(NEWEST);
    let settings = SETTINGS.iter().map(|name| Path::new("/etc").join(name));
    let proc = if alone { vec![PathBuf::from("/proc")] } else { MACHINE.iter().map(PathBuf::from).collect() };
    let devices = DEVICES.iter().map(PathBuf::from);
    let (read, write) = outermost(reach);
    let program = [program.to_owned()];
    let readable =
        SYSTEM.iter().map(PathBuf::from).chain(settings).chain(proc).chain(devices).chain(program).chain(read);
    let writable = write.into_iter().chain([temporary.to_owned(), PathBuf::from("/dev/null")]);
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
    let created =
        ruleset.create()?.add_rules(rules(readable.collect(), reads))?.add_rules(rules(writable.collect(), writes))?;
    match created.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err(RestrictionError::NoLandlock),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}
