//! Places: which of them a command may look at, and which ones nobody should touch.

use std::path::{Component, Path, PathBuf};

use super::words::UNKNOWN;
use super::{Grounds, Reason};
use crate::domain::tools::Grade;

/// What is done to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    /// It is looked at.
    Read,
    /// It is run.
    Run,
    /// It is made or changed.
    Write,
}

/// Names of files and folders that hold keys, passwords or what people did.
const KEPT_SECRET: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".kube",
    ".git-credentials",
    ".pgpass",
    ".azure",
    ".password-store",
    ".vault-token",
    ".docker",
    ".gcloud",
    "gcloud",
    ".htpasswd",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    "fish_history",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "shadow",
    "gshadow",
    "shadow-",
    "sudoers",
    "sudoers.d",
    "keyrings",
    "cookies.sqlite",
    "logins.json",
    "key4.db",
    "Login Data",
    "hob.db",
    "authorized_keys",
    "credentials.toml",
    ".env",
    "environ",
    "kcore",
    "docker.sock",
    ".mozilla",
    ".thunderbird",
];

/// Ends of names of keys.
const KEY_ENDS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks"];

/// Words that are secret only as a part of a whole path.
const SECRET_PATHS: &[&str] =
    &["/proc/self/mem", "/proc/kcore", ".config/gh/hosts.yml", ".cargo/credentials", ".config/hob"];

/// What runs by itself later, or holds the house together: nobody's own work is there.
const HOUSEKEEPING: &[&str] = &[
    "cron",
    "cron.d",
    "cron.daily",
    "cron.hourly",
    "cron.weekly",
    "crontab",
    "crontabs",
    "systemd",
    "init.d",
    ".ssh",
    "authorized_keys",
    "autostart",
    "sudoers",
    "sudoers.d",
    "ld.so.preload",
    "pam.d",
    "LaunchAgents",
    "LaunchDaemons",
];

/// Files that a shell, an editor or git runs by itself.
const STARTUP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".bash_logout",
    ".inputrc",
    ".vimrc",
    ".gitconfig",
    ".envrc",
    ".xinitrc",
    ".xprofile",
];

/// Devices that are nobody's data.
const HARMLESS: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
];

/// Beginnings of the names of disks.
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "mapper", "loop", "md", "disk", "mem", "kmem", "port", "zram",
    "sr",
];

/// The path that words name, without `.` and `..`; symbolic links are the caller's.
pub(super) fn plain(cwd: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in cwd.join(text).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(component),
        }
    }
    path
}

/// Within what the command may change.
pub(super) fn is_own(path: &Path, grounds: &Grounds) -> bool {
    path.starts_with(&grounds.workspace) || grounds.writable.iter().any(|own| path.starts_with(own))
}

/// What speaks against such an access; none: nothing.
pub(super) fn judge(path: &Path, access: Access, grounds: &Grounds) -> Option<Reason> {
    let known = [device(path, access), housekeeping(path, access), secret(path), startup(path, access)];
    if let Some(reason) = known.into_iter().flatten().max_by_key(|reason| reason.grade) {
        return Some(reason);
    }
    let harmless = path.to_str().is_some_and(|path| HARMLESS.contains(&path)) || path.starts_with("/dev/fd");
    let readable = || grounds.readable.iter().any(|place| path.starts_with(place));
    let within = harmless || is_own(path, grounds) || (access != Access::Write && readable());
    (!within).then(|| Reason::new(Grade::High, "is outside the workspace"))
}

fn device(path: &Path, access: Access) -> Option<Reason> {
    let text = path.to_str()?;
    if access == Access::Write && ["/proc", "/sys"].iter().any(|system| path.starts_with(system)) {
        let refused = text.contains("sysrq") || text.ends_with("core_pattern");
        let grade = if refused { Grade::Refused } else { Grade::Critical };
        return Some(Reason::new(grade, "changes the running system"));
    }
    let name = text.strip_prefix("/dev/")?;
    if HARMLESS.contains(&text) || name.starts_with("fd/") || name.starts_with("shm/") {
        return None;
    }
    if DISKS.iter().any(|disk| name.starts_with(disk)) {
        let grade = if access == Access::Write { Grade::Refused } else { Grade::High };
        return Some(Reason::new(grade, "goes at a disk itself"));
    }
    Some(Reason::new(Grade::High, "goes at a device"))
}

fn names(path: &Path) -> impl Iterator<Item = &str> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    })
}

fn housekeeping(path: &Path, access: Access) -> Option<Reason> {
    let found = access == Access::Write && names(path).any(|name| HOUSEKEEPING.iter().any(|known| fits(name, known)));
    found.then(|| Reason::new(Grade::Critical, "changes what the system runs or lets in"))
}

fn startup(path: &Path, access: Access) -> Option<Reason> {
    let hook = names(path).any(|name| name == ".git")
        && names(path).any(|name| matches!(name, "hooks" | "config" | "info" | "modules"));
    let found = hook || names(path).any(|name| STARTUP.iter().any(|known| fits(name, known)));
    (access == Access::Write && found).then(|| Reason::new(Grade::High, "changes what is run by itself later"))
}

/// Whether keys or passwords are kept there.
pub(super) fn secret(path: &Path) -> Option<Reason> {
    let whole = path.to_str().unwrap_or_default();
    let kept = names(path).any(is_secret_name)
        || SECRET_PATHS.iter().any(|part| whole.contains(part))
        || (path.starts_with("/proc") && whole.ends_with("/mem"));
    kept.then(|| Reason::new(Grade::High, "may hold keys, passwords or what people did"))
}

fn is_secret_name(name: &str) -> bool {
    let example = ["example", "sample", "template", "dist"].iter().any(|end| name.ends_with(end));
    (name.starts_with(".env.") && !example)
        || KEPT_SECRET.iter().any(|known| fits(name, known))
        || KEY_ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether a name, perhaps with wildcards, means this one. What is almost nothing but wildcards means no name in particular.
fn fits(name: &str, known: &str) -> bool {
    if !name.contains(['*', '?', '[', UNKNOWN]) {
        return name.eq_ignore_ascii_case(known);
    }
    let firm = name.chars().filter(|&c| !matches!(c, '*' | '?' | '[' | ']' | '!' | '^' | UNKNOWN)).count();
    firm >= 2 && name.starts_with('.') == known.starts_with('.') && matches(name.as_bytes(), known.as_bytes())
}

/// Wildcards, in time bounded by the product of the lengths; a bracket is taken for any one character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'*' || first >= 0x80 {
            let from = reached.iter().position(|&at| at).unwrap_or(name.len());
            reached.iter_mut().skip(from).for_each(|at| *at = true);
            continue;
        }
        if first == b'[' {
            rest = rest.iter().position(|&c| c == b']').map_or(&rest[..0], |end| &rest[end + 1..]);
        }
        let any = matches!(first, b'?' | b'[');
        for index in (0..name.len()).rev() {
            reached[index + 1] = reached[index] && (any || name[index].eq_ignore_ascii_case(&first));
        }
        reached[0] = false;
    }
    reached.last().copied().unwrap_or_default()
}

/// What taking a whole folder away there means.
pub(super) fn razed(path: &Path, grounds: &Grounds) -> Reason {
    let home = grounds.home.as_deref();
    let holds = |inner: &Path| inner.starts_with(path);
    if path == grounds.workspace || grounds.writable.iter().any(|own| own == path) {
        return Reason::new(Grade::Critical, "deletes the whole workspace");
    }
    if holds(&grounds.workspace) || home.is_some_and(holds) || path.components().count() <= 2 {
        return Reason::new(Grade::Refused, "deletes the system, a home or what Hob lives in");
    }
    if let Some(reason) = device(path, Access::Write) {
        return reason;
    }
    if is_own(path, grounds) {
        return Reason::new(Grade::High, "deletes a whole folder");
    }
    Reason::new(Grade::Critical, "deletes a whole folder outside the workspace")
}

/// The folder whose content a path with wildcards at its end means, and whether there are such wildcards.
pub(super) fn swept(path: &Path) -> (PathBuf, bool) {
    let mut folder = path.to_path_buf();
    let mut all = false;
    while let Some(name) = folder.file_name().and_then(|name| name.to_str()) {
        let wild = name.contains('*') && name.chars().all(|c| matches!(c, '*' | '?' | '.' | '[' | ']' | '!' | '^'));
        if !wild {
            break;
        }
        all = true;
        folder.pop();
    }
    (folder, all)
}
