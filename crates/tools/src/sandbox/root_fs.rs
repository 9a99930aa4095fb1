//! Makes the root that a program sees: a file system of its own in memory, in which what is laid out stands, read-only but for
//! what may be written.
//!
//! Landlock holds neither modes nor owners nor dates of files, and hides no names; what is not there has none.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::pivot_root;
use rustix::fs::{Mode, OFlags};
use rustix::process::getuid;

use crate::sandbox::layout::{Layout, MountEntry};
use crate::sandbox::restrictions::{RestrictionError, system};
use crate::sandbox::spec::{Overlay, Spec};
use hob_store::backup::mounts::unescape;

const NONE: Option<&str> = None;
/// Where the former root is while the new one is furnished.
const FORMER: &str = "/former";
/// It holds folders, links and places to mount on, and nothing else.
const SIZE: &str = "mode=755,size=1m,nr_inodes=8k";
/// What `/proc` is mounted with.
const OF_PROC: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV).union(MsFlags::MS_NOEXEC);

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
pub(super) fn build_root(spec: &Spec) -> Result<bool, RestrictionError> {
    let working = system("the working directory", std::env::current_dir())?;
    let temporary = system("the temporary folder", spec.temporary.canonicalize())?;
    let layout = Layout::of(spec);
    system("mounts", mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE))?;
    let copies = spec.overlays.iter().map(OverlayHandles::open).collect::<Result<Vec<_>, _>>()?;
    // Any folder serves: what lies in it shows again once the new root is the root.
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    system("the new root", mount(Some("tmpfs"), &temporary, Some("tmpfs"), flags, Some(SIZE)))?;
    let former = temporary.join(FORMER.trim_start_matches('/'));
    system("the new root", fs::create_dir(&former))?;
    system("the new root", pivot_root(&temporary, &former))?;
    system("the new root", std::env::set_current_dir("/"))?;
    system("mounts", fs::create_dir("/proc"))?;
    let own = mount(Some("proc"), "/proc", Some("proc"), OF_PROC, NONE).is_ok();
    let layout = if own { layout } else { layout.with_machine() };
    for (at, to) in &layout.links {
        link(at, to)?;
    }
    for (at, piece) in &layout.pieces {
        mount_piece(at, piece, &copies)?;
    }
    if own && getuid().is_root() {
        mask()?;
    }
    remount_read_only(&layout)?;
    system("the former root", umount2(FORMER, MntFlags::MNT_DETACH))?;
    // Whoever works in a folder that is not there works nowhere.
    system("the working directory", std::env::set_current_dir(working))?;
    Ok(own)
}

/// From now on nothing in `/proc` can be written, the kernel's switches least of all.
pub(super) fn seal_proc() -> Result<(), RestrictionError> {
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | OF_PROC;
    system("/proc", mount(NONE, "/proc", NONE, flags, NONE))
}

/// What only root may read in `/proc` tells about the kernel. Hob's root is no other than the machine's.
fn mask() -> Result<(), RestrictionError> {
    for entry in system("/proc", fs::read_dir("/proc"))? {
        let path = system("/proc", entry)?.path();
        let shut = |what: fs::Metadata| what.is_file() && what.permissions().mode() & 0o004 == 0;
        if fs::symlink_metadata(&path).is_ok_and(shut) {
            let nothing = Path::new(FORMER).join("dev/null");
            system("/proc", mount(Some(&nothing), &path, NONE, MsFlags::MS_BIND, NONE))?;
        }
    }
    Ok(())
}

/// A symbolic link. Where a folder from outside stands above it, it stands in that.
fn link(at: &Path, to: &Path) -> Result<(), RestrictionError> {
    system("the new root", fs::create_dir_all(at.parent().unwrap_or(Path::new("/"))))?;
    system("the new root", std::os::unix::fs::symlink(to, at))
}

/// What stands at a place.
fn mount_piece(at: &Path, piece: &MountEntry, copies: &[OverlayHandles]) -> Result<(), RestrictionError> {
    let (MountEntry::Read(from) | MountEntry::Write(from) | MountEntry::Device(from)) = piece else {
        let MountEntry::Copy(index) = piece else { return Ok(()) };
        system("the new root", fs::create_dir_all(at))?;
        return copies.get(*index).map_or(Ok(()), |copy| copy.mount_at(at));
    };
    let outside = Path::new(FORMER).join(from.strip_prefix("/").unwrap_or(from));
    // What is not there can neither be read nor written.
    let Ok(what) = fs::symlink_metadata(&outside) else { return Ok(()) };
    if what.is_dir() {
        system("the new root", fs::create_dir_all(at))?;
    } else if fs::symlink_metadata(at).is_err() {
        system("the new root", fs::create_dir_all(at.parent().unwrap_or(Path::new("/"))))?;
        system("the new root", fs::File::create(at).map(drop))?;
    }
    system("mounts", mount(Some(&outside), at, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE))
}

/// Makes all of it read-only but what may be written, and what was mounted in it as well.
fn remount_read_only(layout: &Layout) -> Result<(), RestrictionError> {
    let table = system("mounts", fs::read_to_string(Path::new(FORMER).join("proc/self/mountinfo")))?;
    for (path, options) in table.lines().filter_map(mounted) {
        if path.starts_with(FORMER) || path == Path::new("/proc") {
            continue;
        }
        let above = path.ancestors().find_map(|above| layout.pieces.get(above));
        let added = match above {
            Some(MountEntry::Write(_) | MountEntry::Copy(_)) => MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
            Some(MountEntry::Device(_)) => MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
            Some(MountEntry::Read(_)) | None => MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_RDONLY,
        };
        if options.contains(added) {
            continue;
        }
        match mount(NONE, &path, NONE, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | added | options, NONE) {
            // Another mount lies over it: no path leads there.
            Ok(()) | Err(Errno::ENOENT | Errno::EINVAL | Errno::EACCES) => {}
            Err(error) => return Err(RestrictionError::System("mounts", io::Error::from(error))),
        }
    }
    Ok(())
}

/// The copy of a folder, before it is laid in its place.
struct OverlayHandles {
    lower: OwnedFd,
    upper: OwnedFd,
    work: OwnedFd,
}

impl OverlayHandles {
    fn open(overlay: &Overlay) -> Result<Self, RestrictionError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &Path| system("a draft", rustix::fs::open(path, flags, Mode::empty()));
        Ok(Self { lower: open(&overlay.root)?, upper: open(&overlay.upper)?, work: open(&overlay.work)? })
    }

    fn mount_at(&self, at: &Path) -> Result<(), RestrictionError> {
        // By number: a path could hold what means something among options, and is told to whoever asks for the mounts.
        let of = |file: &OwnedFd| format!("{FORMER}/proc/self/fd/{}", file.as_raw_fd());
        let (lower, upper, work) = (of(&self.lower), of(&self.upper), of(&self.work));
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        system("a draft", mount(Some("overlay"), at, Some("overlay"), flags, Some(options.as_str())))
    }
}

/// A line of `mountinfo`: where, and how.
fn mounted(line: &str) -> Option<(PathBuf, MsFlags)> {
    let mut fields = line.split(' ').skip(4);
    let (path, options) = (fields.next()?, fields.next()?);
    let known = |option: &str| OPTIONS.iter().find(|(name, _)| *name == option).map(|(_, flag)| *flag);
    Some((unescape(path), options.split(',').filter_map(known).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_as_the_kernel_writes_them() {
        let line = r"36 35 98:0 /mnt1 /mnt\040two/\134x rw,noatime,nosuid master:1 - ext3 /dev/root rw,errors=continue";
        let (path, options) = mounted(line).unwrap();
        assert_eq!(path, PathBuf::from(r"/mnt two/\x"));
        assert_eq!(options, MsFlags::MS_NOATIME | MsFlags::MS_NOSUID);
        assert!(mounted("36 35 98:0 /").is_none());
        assert_eq!(unescape(r"/a\04"), PathBuf::from(r"/a\04"));
    }
}
