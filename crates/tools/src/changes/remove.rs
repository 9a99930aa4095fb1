//! Deleting a tree that somebody hostile has made, however deep and however locked.
//!
//! A folder within is moved up beside its parent under a number before it is emptied. So nothing recurses, no path grows, and
//! two handles are enough.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, RenameFlags, renameat_with, unlinkat};
use rustix::io::{Errno, Result};

use crate::changes::beneath;

/// What folders are called that were moved up; nothing that a program made stands there under such a name.
const MOVED: &str = ".hob-gone-";

/// Deletes a folder and all that is in it; it is no error if there is none.
pub(super) fn remove(path: &Path) -> std::io::Result<()> {
    let top = match beneath::root(path) {
        Err(Errno::NOENT) => return Ok(()),
        top => top?,
    };
    empty(&top)?;
    std::fs::remove_dir(path)
}

/// Deletes all that is in a folder.
pub(super) fn empty(top: &OwnedFd) -> Result<()> {
    beneath::set_mode(top, 0o700)?;
    let mut moved: u64 = 0;
    loop {
        let mut found = false;
        // Names are read whole before any goes: a folder that shrinks under its reader may be read in part.
        let names: Vec<_> = beneath::names(beneath::folder(top, Path::new(""))?)?.collect::<Result<_>>()?;
        for name in names {
            found = true;
            if !unlinked(top, &name)? {
                flatten(top, &name, &mut moved)?;
            }
        }
        if !found {
            return Ok(());
        }
    }
}

/// Deletes what is no folder.
fn unlinked(folder: &OwnedFd, name: &OsStr) -> Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        // POSIX and Linux each have a word for it.
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Empties a folder in `top` but for folders, which move up to `top`, and deletes it.
fn flatten(top: &OwnedFd, name: &OsStr, moved: &mut u64) -> Result<()> {
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {}
        done => return done,
    }
    beneath::set_mode(beneath::handle(top, name)?, 0o700)?;
    let folder = beneath::folder(top, Path::new(name))?;
    let names: Vec<_> = beneath::names(&folder)?.collect::<Result<_>>()?;
    for inner in names {
        if unlinked(&folder, &inner)? {
            continue;
        }
        // Who may not write to a folder may not move it away from its parent.
        beneath::set_mode(beneath::handle(&folder, &inner)?, 0o700)?;
        loop {
            *moved += 1;
            match renameat_with(&folder, &inner, top, format!("{MOVED}{moved}"), RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                done => break done?,
            }
        }
    }
    unlinkat(top, name, AtFlags::REMOVEDIR)
}
