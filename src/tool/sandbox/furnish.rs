//! What a new mount namespace looks like: everything is read-only but what may be written, and processes see only each other.
//!
//! Landlock holds neither modes nor owners nor dates of files; a mount that is read-only holds them all.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use rustix::fs::{Mode, OFlags};

use crate::tool::sandbox::spec::{Overlay, Spec};
use crate::tool::sandbox::walls::{WallError, system};

const NONE: Option<&str> = None;

/// What a mount may have set already; taking any of it away is not allowed.
const OPTIONS: [(&str, MsFlags); 7] = [
    ("ro", MsFlags::MS_RDONLY),
    ("nosuid", MsFlags::MS_NOSUID),
    ("nodev", MsFlags::MS_NODEV),
    ("noexec", MsFlags::MS_NOEXEC),
    ("noatime", MsFlags::MS_NOATIME),
    ("nodiratime", MsFlags::MS_NODIRATIME),
    ("relatime", MsFlags::MS_RELATIME),
];

/// Furnishes the namespace that this process is the first in. False where the kernel allows no new `/proc` there.
pub(super) fn furnish(spec: &Spec) -> Result<bool, WallError> {
    let working = system("the working directory", std::env::current_dir())?;
    system("mounts", mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE))?;
    let mut writable = Vec::new();
    for path in spec.reach.write.iter().chain([&spec.temporary]) {
        // What is not there cannot be written either.
        let Ok(path) = path.canonicalize() else { continue };
        system("mounts", mount(Some(&path), &path, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE))?;
        writable.push(path);
    }
    for overlay in &spec.overlays {
        writable.push(lay(overlay)?);
    }
    let table = system("mounts", fs::read_to_string("/proc/self/mountinfo"))?;
    for (path, options) in table.lines().filter_map(mounted) {
        if options.contains(MsFlags::MS_RDONLY) || writable.iter().any(|writable| path.starts_with(writable)) {
            continue;
        }
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | options;
        match mount(NONE, &path, NONE, flags, NONE) {
            // Another mount lies over it: no path leads there.
            Ok(()) | Err(Errno::ENOENT | Errno::EINVAL | Errno::EACCES) => {}
            Err(error) => return Err(WallError::System("mounts", io::Error::from(error))),
        }
    }
    // It is still the folder beneath the new mounts.
    system("the working directory", std::env::set_current_dir(working))?;
    own_temporary(spec)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(mount(Some("proc"), "/proc", Some("proc"), flags, NONE).is_ok())
}

/// Puts the copy of a folder in its place; gives that place.
fn lay(overlay: &Overlay) -> Result<PathBuf, WallError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |path: &Path| system("a draft", rustix::fs::open(path, flags, Mode::empty()));
    let (lower, upper, work) = (open(&overlay.root)?, open(&overlay.upper)?, open(&overlay.work)?);
    // By number: a path could hold what means something among options, and is told to whoever asks for the mounts.
    let at = |file: &OwnedFd| format!("/proc/self/fd/{}", file.as_raw_fd());
    let options = format!("lowerdir={},upperdir={},workdir={},userxattr", at(&lower), at(&upper), at(&work));
    let place = system("a draft", overlay.root.canonicalize())?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    system("a draft", mount(Some("overlay"), &place, Some("overlay"), flags, Some(options.as_str())))?;
    Ok(place)
}

/// A `/tmp` of its own, unless that would hide what may be reached.
fn own_temporary(spec: &Spec) -> Result<(), WallError> {
    let reach = spec.reach.read.iter().chain(&spec.reach.write).chain([&spec.temporary]);
    let mut real = reach.filter_map(|path| path.canonicalize().ok());
    if real.any(|path| path.starts_with("/tmp")) || !Path::new("/tmp").is_dir() {
        return Ok(());
    }
    system("/tmp", mount(Some(&spec.temporary), "/tmp", NONE, MsFlags::MS_BIND, NONE))
}

/// A line of `mountinfo`: where, and how.
fn mounted(line: &str) -> Option<(PathBuf, MsFlags)> {
    let mut fields = line.split(' ').skip(4);
    let (path, options) = (fields.next()?, fields.next()?);
    let known = |option: &str| OPTIONS.iter().find(|(name, _)| *name == option).map(|(_, flag)| *flag);
    Some((unescaped(path), options.split(',').filter_map(known).collect()))
}

/// A path in which spaces and the like are written as three octal digits.
fn unescaped(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d6_mounts_are_read_as_the_kernel_writes_them() {
        let line = r"36 35 98:0 /mnt1 /mnt\040two/\134x rw,noatime,nosuid master:1 - ext3 /dev/root rw,errors=continue";
        let (path, options) = mounted(line).unwrap();
        assert_eq!(path, PathBuf::from(r"/mnt two/\x"));
        assert_eq!(options, MsFlags::MS_NOATIME | MsFlags::MS_NOSUID);
        assert!(mounted("36 35 98:0 /").is_none());
        assert_eq!(unescaped(r"/a\04"), PathBuf::from(r"/a\04"));
    }
}
