//! Files reached by directory handles: no link is followed, nothing above the handle and no other mount is ever reached.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, StatxFlags, chmod, fgetxattr, listxattr, openat2,
    readlinkat, removexattr, statx,
};
use rustix::io::{Errno, Result};
use serde::{Deserialize, Serialize};

/// What an overlay notes beside files and folders.
pub(super) const OVERLAY_NOTES: &[u8] = b"user.overlay.";
/// A list of names of notes is at most so long, says the kernel.
const NOTES_BYTES_MAX: usize = 64 << 10;

/// An instant of the file system's clock: seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct FileTime(pub(super) i64, pub(super) u32);

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStat {
    pub(super) inode: u64,
    pub(super) kind: FileType,
    /// All twelve bits.
    pub(super) mode: u32,
    pub(super) size: u64,
    /// What it takes on the disk.
    pub(super) stored: u64,
    pub(super) changed: FileTime,
    /// The device that it stands for.
    pub(super) device: (u32, u32),
}

impl FileStat {
    /// The mark by which an overlay hides what lies below.
    pub(super) fn is_whiteout(&self) -> bool {
        self.kind == FileType::CharacterDevice && self.device == (0, 0)
    }

    pub(super) fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }
}

/// Opens something below; links, other mounts and `..` are refused.
fn open(root: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve =
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    openat2(root, path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty(), resolve)
}

/// A folder below, to be listed.
pub(super) fn open_folder_for_reading(root: impl AsFd, path: &Path) -> Result<OwnedFd> {
    open(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// A folder below, to work in.
pub(super) fn open_folder(root: impl AsFd, path: &Path) -> Result<OwnedFd> {
    open(root, path, OFlags::PATH | OFlags::DIRECTORY)
}

/// A file in this folder, to be read; a FIFO keeps nobody waiting.
pub(super) fn open_file(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    open(folder, Path::new(name), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Whatever stands there, only to be named.
pub(super) fn open_path_handle(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd> {
    open(folder, Path::new(name), OFlags::PATH)
}

/// A root, which is trusted to be where it is; itself it is not a link.
pub(super) fn open_root(path: &Path) -> Result<OwnedFd> {
    rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn statx_fields() -> StatxFlags {
    StatxFlags::BASIC_STATS
}

/// What stands at this name; none: nothing.
pub(super) fn stat_at(folder: impl AsFd, name: &OsStr) -> Result<Option<FileStat>> {
    match statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, statx_fields()) {
        Ok(found) => Ok(Some(file_stat(&found))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn stat_handle(handle: impl AsFd) -> Result<FileStat> {
    statx(handle, c"", AtFlags::EMPTY_PATH, statx_fields()).map(|found| file_stat(&found))
}

/// The mount that a handle is in, beside its device: files move by name only within one.
pub(super) fn mount_of(handle: impl AsFd) -> Result<(u32, u32, u64)> {
    let found = statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
    Ok((found.stx_dev_major, found.stx_dev_minor, found.stx_mnt_id))
}

fn file_stat(found: &rustix::fs::Statx) -> FileStat {
    FileStat {
        inode: found.stx_ino,
        kind: FileType::from_raw_mode(found.stx_mode.into()),
        mode: u32::from(found.stx_mode) & 0o7777,
        size: found.stx_size,
        stored: found.stx_blocks.saturating_mul(512),
        changed: FileTime(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        device: (found.stx_rdev_major, found.stx_rdev_minor),
    }
}

/// Where a link leads.
pub(super) fn read_link(folder: impl AsFd, name: &OsStr) -> Result<OsString> {
    readlinkat(folder, name, Vec::new()).map(|target: CString| OsString::from_vec(target.into_bytes()))
}

/// The names in a folder, as they come.
pub(super) fn list_names(folder: impl AsFd) -> Result<impl Iterator<Item = Result<OsString>>> {
    let entries = Dir::read_from(folder)?;
    let name = |entry: Result<rustix::fs::DirEntry>| {
        let bytes = match entry {
            Ok(entry) => entry.file_name().to_bytes().to_vec(),
            Err(error) => return Some(Err(error)),
        };
        (bytes != b"." && bytes != b"..").then(|| Ok(OsString::from_vec(bytes)))
    };
    Ok(entries.filter_map(name))
}

/// The note with this name, if it is there: its first byte.
pub(super) fn overlay_xattr(handle: impl AsFd, name: &str) -> Result<Option<u8>> {
    let mut value = [0; 16];
    match fgetxattr(handle, name, &mut value[..]) {
        Ok(length) => Ok(Some(if length == 0 { 0 } else { value[0] })),
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        // It is there, and longer than any that matters.
        Err(Errno::RANGE) => Ok(Some(0)),
        Err(error) => Err(error),
    }
}

/// The name by which the kernel knows an open handle: it leads to the very file, whatever its path is now.
fn proc_fd_path(handle: BorrowedFd<'_>) -> PathBuf {
    format!("/proc/self/fd/{}", handle.as_raw_fd()).into()
}

/// Sets the mode of whatever the handle is of, which is not a link.
pub(super) fn set_mode(handle: impl AsFd, mode: u32) -> Result<()> {
    // It is held open until the name is used: the number may be another file's afterwards.
    chmod(proc_fd_path(handle.as_fd()), Mode::from_raw_mode(mode))
}

/// Takes away what the overlay noted beside a file or folder, which is not a link.
pub(super) fn remove_overlay_xattrs(handle: impl AsFd, mode: u32) -> Result<bool> {
    let path = proc_fd_path(handle.as_fd());
    let mut list = vec![0; 1024];
    let length = match listxattr(&path, &mut list[..]) {
        Err(Errno::RANGE) => {
            list.resize(NOTES_BYTES_MAX, 0);
            listxattr(&path, &mut list[..])?
        }
        Err(Errno::NOTSUP) => 0,
        length => length?,
    };
    let notes = list[..length].split(|byte| *byte == 0).filter(|name| name.starts_with(OVERLAY_NOTES));
    let notes: Vec<&OsStr> = notes.map(OsStr::from_bytes).collect();
    if notes.is_empty() {
        return Ok(false);
    }
    // Only who may write to a file may change its notes.
    chmod(&path, Mode::from_raw_mode(mode | 0o600))?;
    for name in notes {
        removexattr(&path, name)?;
    }
    Ok(true)
}
