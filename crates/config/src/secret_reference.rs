//! Where a secret is, if it does not stand in the config itself: `file:`, `cred:`, `keychain:` (row N6).
//!
//! Never: a look at a file that others may change, or a secret in an error.
//! Start at [`Reference::of`]; `SecretSources::fetch` is the one place that goes there.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::environment::Environment;
use crate::keychain::{self, KeychainError};

/// The biggest file that is read as a secret, in bytes.
pub(crate) const SECRET_BYTES_MAX: u64 = 64 * 1024;
/// Where systemd puts a unit's credentials.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";
/// Where Docker, Podman and Kubernetes usually mount secrets: readable for all, as whoever is in the container may.
const MOUNTS: [&str; 2] = ["/run/secrets", "/var/run/secrets"];

/// A secret that stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The content of a file.
    File(PathBuf),
    /// A credential that systemd hands over.
    Credential(String),
    /// An entry of the system's keychain.
    Keychain(String),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Credential(name) => write!(f, "credential {name}"),
            Self::Keychain(name) => write!(f, "keychain entry {name}"),
        }
    }
}

impl Reference {
    /// What the text of a secret key refers to; none: it is the secret.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "file" => Some(Self::File(rest.into())),
            "cred" => Some(Self::Credential(rest.to_owned())),
            "keychain" => Some(Self::Keychain(rest.to_owned())),
            _ => None,
        }
    }
}

/// Why a secret cannot be had. None of it is the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SecretError {
    /// Nothing is named, or more than a name.
    NoName(Reference),
    /// The file cannot be read.
    Unreadable(PathBuf, io::ErrorKind),
    /// It is not a file.
    NotAFile(PathBuf),
    TooBig(PathBuf),
    /// It is not text.
    NotUtf8(PathBuf),
    /// There is nothing in it.
    Empty(PathBuf),
    /// Others may read or change it.
    Open(PathBuf, u32),
    /// It belongs to somebody else.
    Foreign(PathBuf),
    /// Hob was not started with credentials.
    NoCredentials(String),
    /// systemd handed over others.
    NoSuchCredential(String),
    /// The keychain does not have it, or cannot be asked.
    Keychain(String, KeychainError),
}

impl SecretError {
    /// What is wrong, and what to do.
    pub(crate) fn words(&self) -> (String, String) {
        let say = |why: String, fix: &str| (why, fix.to_owned());
        match self {
            Self::NoName(reference) => say(
                format!("refers to a {}, which names none", kind(reference)),
                "write `file:/path`, `cred:NAME` or `keychain:NAME`",
            ),
            Self::Unreadable(path, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => say(
                format!("refers to {}, which is not there", path.display()),
                "make the file, or correct the path; a relative one begins at the config's folder",
            ),
            Self::Unreadable(path, io::ErrorKind::PermissionDenied) => (
                format!("refers to {}, which Hob may not read", path.display()),
                format!("give it to the user that Hob runs as: `chown USER {}`", path.display()),
            ),
            Self::Unreadable(path, why) => {
                say(format!("refers to {}, which cannot be read: {why}", path.display()), "mend the file or the disk")
            }
            Self::NotAFile(path) => say(format!("refers to {}, which is not a file", path.display()), "name a file"),
            Self::TooBig(path) => say(
                format!("refers to {}, which has more than {SECRET_BYTES_MAX} bytes", path.display()),
                "name a file that holds the secret and nothing else",
            ),
            Self::NotUtf8(path) => say(
                format!("refers to {}, which is not UTF-8 text", path.display()),
                "name a file that holds the secret and nothing else",
            ),
            Self::Empty(path) => {
                say(format!("refers to {}, which is empty", path.display()), "write the secret into it")
            }
            Self::Open(path, mode) => (
                format!("refers to {}, which others than its owner may read or change ({mode:04o})", path.display()),
                format!("`chmod 600 {}`", path.display()),
            ),
            Self::Foreign(path) => (
                format!("refers to {}, which belongs to another user, who could change it", path.display()),
                format!("give it to the user that Hob runs as, or to root: `chown USER {}`", path.display()),
            ),
            Self::NoCredentials(name) => (
                format!("refers to the credential {name}, but Hob was not started by systemd with credentials"),
                format!("put `LoadCredential={name}:/path/of/the/secret` into the unit and start Hob by it"),
            ),
            Self::NoSuchCredential(name) => (
                format!("refers to the credential {name}, which the unit does not load"),
                format!(
                    "put `LoadCredential={name}:/path/of/the/secret` into the unit, then `systemctl daemon-reload`"
                ),
            ),
            Self::Keychain(name, error) => (format!("refers to the keychain entry {name}: {error}"), error.fix(name)),
        }
    }
}

fn kind(reference: &Reference) -> &'static str {
    match reference {
        Reference::File(_) => "file",
        Reference::Credential(_) => "credential",
        Reference::Keychain(_) => "keychain entry",
    }
}

/// From where secrets are fetched.
pub(crate) struct SecretSources<'a> {
    env: &'a Environment,
    /// The config's folder, where relative paths begin.
    folder: &'a Path,
}

impl<'a> SecretSources<'a> {
    /// Those of this environment, for the config `file`.
    pub(crate) fn of(file: &'a Path, env: &'a Environment) -> Self {
        Self { env, folder: file.parent().unwrap_or(Path::new("")) }
    }

    pub(super) fn env(&self) -> &Environment {
        self.env
    }

    pub(crate) fn fetch(&self, reference: &Reference) -> Result<String, SecretError> {
        match reference {
            Reference::File(path) if path.as_os_str().is_empty() => Err(SecretError::NoName(reference.clone())),
            Reference::File(path) => {
                let path = self.env.seen_from_here(&self.folder.join(path));
                let mounted = is_mounted(&path);
                read(&path, mounted)
            }
            Reference::Credential(name) if !is_plain_name(name) => Err(SecretError::NoName(reference.clone())),
            Reference::Credential(name) => {
                let folder = self.env.absolute_path(CREDENTIALS).ok_or(SecretError::NoCredentials(name.clone()))?;
                // Who may read these is systemd's to say: it keeps them in memory, for this unit's user alone.
                read(&folder.join(name), true).map_err(|missing| match missing {
                    SecretError::Unreadable(_, io::ErrorKind::NotFound) => SecretError::NoSuchCredential(name.clone()),
                    other => other,
                })
            }
            Reference::Keychain(name) if name.trim().is_empty() => Err(SecretError::NoName(reference.clone())),
            Reference::Keychain(name) => {
                keychain::get(name).map_err(|error| SecretError::Keychain(name.clone(), error))
            }
        }
    }
}

/// Whether a name stays within a folder.
fn is_plain_name(name: &str) -> bool {
    let mut steps = Path::new(name).components();
    matches!((steps.next(), steps.next()), (Some(Component::Normal(one)), None) if one == name)
}

/// Whether the path, without a step back, lies where containers get their secrets.
fn is_mounted(path: &Path) -> bool {
    let straight = path.components().all(|step| step != Component::ParentDir);
    straight && MOUNTS.iter().any(|mount| path.starts_with(mount))
}

/// How a file's permissions look.
#[derive(Debug, Clone, Copy)]
struct FilePermissions {
    mode: u32,
    owner: u32,
    /// The user that Hob runs as.
    me: u32,
    /// Whether it is handed over by whoever runs this container or unit.
    mounted: bool,
}

/// Whether others than whom it is meant for could read or change it.
///
/// What root owns may be readable for a group, as `root:hob 0640` is; what is mounted into a container may be readable for
/// all in it. Nothing may be written to by others.
fn judge(path: &Path, looks: FilePermissions) -> Result<(), SecretError> {
    let FilePermissions { mode, owner, me, mounted } = looks;
    let rights = mode & 0o7777;
    let others = match (mounted, owner == 0 && me != 0) {
        (true, _) => 0o022,
        (false, true) => 0o027,
        (false, false) => 0o077,
    };
    if rights & others != 0 {
        return Err(SecretError::Open(path.to_owned(), rights));
    }
    let foreign = owner != me && owner != 0 && !mounted;
    if foreign { Err(SecretError::Foreign(path.to_owned())) } else { Ok(()) }
}

/// The text of the file, without the line break at its end.
fn read(path: &Path, mounted: bool) -> Result<String, SecretError> {
    let unreadable = |why: io::Error| SecretError::Unreadable(path.to_owned(), why.kind());
    // Looked at before it is opened: to open a pipe would be to wait for its other end.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(SecretError::NotAFile(path.to_owned()));
    }
    let file = File::open(path).map_err(unreadable)?;
    let looks = file.metadata().map_err(unreadable)?;
    let me = rustix::process::geteuid().as_raw();
    judge(path, FilePermissions { mode: looks.mode(), owner: looks.uid(), me, mounted })?;
    let mut bytes = Vec::new();
    file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > SECRET_BYTES_MAX {
        return Err(SecretError::TooBig(path.to_owned()));
    }
    let mut text = String::from_utf8(bytes).map_err(|_not_text| SecretError::NotUtf8(path.to_owned()))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() { Err(SecretError::Empty(path.to_owned())) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n6_what_a_secret_key_refers_to() {
        for (text, expected) in [
            ("file:/run/key", Some(Reference::File("/run/key".into()))),
            ("file:keys/openai", Some(Reference::File("keys/openai".into()))),
            ("cred:openai", Some(Reference::Credential("openai".to_owned()))),
            ("keychain:hob/openai", Some(Reference::Keychain("hob/openai".to_owned()))),
            ("file", None),
            ("File:/x", None),
            ("123456789:AAfile:x", None),
            ("sk-abc", None),
            (" file:/x", None),
        ] {
            assert_eq!(Reference::of(text), expected, "{text}");
        }
    }

    #[test]
    fn who_may_read_and_change_a_file_with_a_secret() {
        let fine =
            |mode, owner, me, mounted| judge(Path::new("/k"), FilePermissions { mode, owner, me, mounted }).is_ok();
        for (mode, owner, me, mounted, expected) in [
            (0o100_600, 7, 7, false, true),
            (0o100_400, 7, 7, false, true),
            (0o100_640, 7, 7, false, false),
            (0o100_604, 7, 7, false, false),
            (0o100_620, 7, 7, false, false),
            (0o100_660, 0, 7, false, false),
            (0o100_640, 0, 7, false, true),
            (0o100_644, 0, 7, false, false),
            (0o100_640, 0, 0, false, false),
            (0o100_600, 0, 0, false, true),
            (0o100_600, 8, 7, false, false),
            (0o100_600, 8, 0, false, false),
            (0o100_444, 0, 7, true, true),
            (0o100_444, 8, 7, true, true),
            (0o100_666, 0, 7, true, false),
            (0o100_464, 0, 7, true, false),
        ] {
            assert_eq!(fine(mode, owner, me, mounted), expected, "{mode:o} {owner} {me} {mounted}");
        }
    }

    #[test]
    fn n6_only_the_usual_mounts_are_mounts() {
        for (path, expected) in [
            ("/run/secrets/key", true),
            ("/run/secrets/hob/..data/key", true),
            ("/var/run/secrets/key", true),
            ("/run/secrets/../key", false),
            ("/run/secretsx/key", false),
            ("/home/run/secrets/key", false),
        ] {
            assert_eq!(is_mounted(Path::new(path)), expected, "{path}");
        }
        for (name, expected) in
            [("a", true), ("a.b", true), ("", false), ("..", false), ("a/b", false), ("/a", false), ("a/", false)]
        {
            assert_eq!(is_plain_name(name), expected, "{name}");
        }
    }
}
