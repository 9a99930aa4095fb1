//! The system calls that a program may not make, or not so.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use crate::sandbox::restrictions::RestrictionError;

/// Calls that the library has no names for on every machine; their numbers are the same on all.
const FCHMODAT2: i64 = 452;
/// As above.
const OPEN_TREE_ATTR: i64 = 467;

/// System calls by which a program could reach around the other restrictions, or at the kernel.
const FORBIDDEN: [i64; 46] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
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
    libc::SYS_quotactl_fd,
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

/// System calls that libraries do without where the kernel has none. What they are asked for lies in memory, where no filter
/// sees it.
const UNSEEN: [i64; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// What the older calls are asked, by which a disk is filled at once as by `fallocate`: room for what comes, in 32 and 64 bits, and
/// for zeros (`_IOW('X', 40 | 42 | 57, struct space_resv)`, linux/falloc.h).
const RESERVES: [u64; 3] = [0x4030_5828, 0x4030_582a, 0x4030_5839];

/// What an `ioctl` is asked for has its kind in these bits. Those of btrfs make folders that not even their owner can empty; sharing
/// what two files hold is among them, and programs copy instead.
const KIND: u64 = 0xff00;
/// As above.
const OF_BTRFS: u64 = 0x9400;

/// What the second ABI of x86-64 adds to a system call's number, to reach the same call.
const X32: i64 = 0x4000_0000;

/// Calls that give somebody limits, or a place among others, and the arguments by which that is the caller alone.
const ITS_OWN: [(i64, &[(u8, u64)]); 6] = [
    (libc::SYS_prlimit64, &[(0, 0)]),
    (libc::SYS_sched_setscheduler, &[(0, 0)]),
    (libc::SYS_sched_setparam, &[(0, 0)]),
    (libc::SYS_sched_setattr, &[(0, 0)]),
    (libc::SYS_setpriority, &[(0, libc::PRIO_PROCESS as u64), (1, 0)]),
    // IOPRIO_WHO_PROCESS
    (libc::SYS_ioprio_set, &[(0, 1), (1, 0)]),
];

/// Namespaces that a new process could be put in.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// What lets a program run as its owner or its group.
const SETID: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];
/// Calls that give a file a mode, and which of their arguments it is.
#[cfg(target_arch = "x86_64")]
const MODES: [(i64, u8); 9] = [
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_creat, 1),
    (libc::SYS_mkdir, 1),
    (libc::SYS_mkdirat, 2),
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
/// As above.
#[cfg(not(target_arch = "x86_64"))]
const MODES: [(i64, u8); 5] =
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mkdirat, 2), (libc::SYS_mknodat, 2)];
/// Calls that may make a file while they open it, and which of their arguments says so; its mode is the next.
#[cfg(target_arch = "x86_64")]
const OPENS: [(i64, u8); 2] = [(libc::SYS_open, 1), (libc::SYS_openat, 2)];
/// As above.
#[cfg(not(target_arch = "x86_64"))]
const OPENS: [(i64, u8); 1] = [(libc::SYS_openat, 2)];
/// The bits that say so.
const MAKES: [u64; 2] = [libc::O_CREAT as u64, (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64];

/// The bits of a socket's type that are its type.
const TYPE: u64 = 0xf;
/// The types of which both ends of a pair are joined for good. A datagram can be sent elsewhere.
const JOINED: [u64; 2] = [libc::SOCK_STREAM as u64, libc::SOCK_SEQPACKET as u64];

/// Puts it before this thread and whatever it starts.
pub(super) fn filter(network: bool) -> Result<(), RestrictionError> {
    let refused = u32::try_from(libc::EPERM).unwrap_or(1);
    let missing = u32::try_from(libc::ENOSYS).unwrap_or(38);
    let unsupported = u32::try_from(libc::EOPNOTSUPP).unwrap_or(95);
    apply(UNSEEN.iter().map(|call| (*call, Vec::new())).collect(), missing)?;
    // Programs write instead, as where a file system has none of it.
    let mut reserving =
        RESERVES.map(|what| argument_equals(1, what)).into_iter().collect::<Result<Vec<_>, RestrictionError>>()?;
    reserving.push(SeccompRule::new(vec![has(1, KIND, OF_BTRFS)?])?);
    apply(BTreeMap::from([(libc::SYS_fallocate, Vec::new()), (libc::SYS_ioctl, reserving)]), unsupported)?;
    apply(rules(network)?, refused)
}

fn apply(mut rules: BTreeMap<i64, Vec<SeccompRule>>, errno: u32) -> Result<(), RestrictionError> {
    if cfg!(target_arch = "x86_64") {
        let again: Vec<_> = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(again);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), arch)?.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}

fn rules(network: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, RestrictionError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let not = |family: i32| argument_differs(0, u64::from(family.unsigned_abs()));
    // Never a local socket: behind those sit the machine's own services, which know nothing of this sandbox.
    let sockets = if network {
        vec![SeccompRule::new(vec![not(libc::AF_INET)?, not(libc::AF_INET6)?, not(libc::AF_NETLINK)?])?]
    } else {
        Vec::new()
    };
    rules.insert(libc::SYS_socket, sockets);
    let mut pairs = vec![SeccompRule::new(vec![not(libc::AF_UNIX)?])?];
    for kind in (0..=TYPE).filter(|kind| !JOINED.contains(kind)) {
        pairs.push(SeccompRule::new(vec![has(1, TYPE, kind)?])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    let namespaces = (0..64).map(|bit| 1 << bit).filter(|bit| NAMESPACES & bit != 0);
    let made = namespaces.map(|bit| Ok(SeccompRule::new(vec![wide(0, bit)?])?));
    rules.insert(libc::SYS_clone, made.collect::<Result<_, RestrictionError>>()?);
    // Words put into the terminal of whoever started Hob.
    let typed = [libc::TIOCSTI, libc::TIOCLINUX].map(|what| argument_equals(1, what));
    rules.insert(libc::SYS_ioctl, typed.into_iter().collect::<Result<_, RestrictionError>>()?);
    // Limits and places of others: the one that ends all the others goes by its own.
    for (call, own) in ITS_OWN {
        let others = own.iter().map(|(argument, own)| Ok(SeccompRule::new(vec![argument_differs(*argument, *own)?])?));
        rules.insert(call, others.collect::<Result<_, RestrictionError>>()?);
    }
    modes(&mut rules)?;
    Ok(rules)
}

/// This argument, of 32 bits, is another than this.
fn argument_differs(argument: u8, than: u64) -> Result<SeccompCondition, RestrictionError> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, than)?)
}

/// This argument, of 32 bits, is this.
fn argument_equals(argument: u8, what: u64) -> Result<SeccompRule, RestrictionError> {
    let is_it = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, what)?;
    Ok(SeccompRule::new(vec![is_it])?)
}

/// No file comes out of here that runs as somebody else.
fn modes(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), RestrictionError> {
    for (call, argument) in MODES {
        let bits = SETID.iter().map(|bit| Ok(SeccompRule::new(vec![has(argument, *bit, *bit)?])?));
        rules.insert(call, bits.collect::<Result<_, RestrictionError>>()?);
    }
    for (call, flags) in OPENS {
        let mut made = Vec::new();
        for (makes, bit) in MAKES.iter().flat_map(|makes| SETID.map(|bit| (*makes, bit))) {
            // Where nothing is made, what stands in its place is chance.
            made.push(SeccompRule::new(vec![has(flags, makes, makes)?, has(flags + 1, bit, bit)?])?);
        }
        rules.insert(call, made);
    }
    Ok(())
}

/// Of the bits of `mask` in an argument, exactly these are set.
fn has(argument: u8, mask: u64, bits: u64) -> Result<SeccompCondition, RestrictionError> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), bits)?)
}

/// A bit of an argument of 64 is set.
fn wide(argument: u8, bit: u64) -> Result<SeccompCondition, RestrictionError> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bit), bit)?)
}
