//! A walk through folders by their handles, bounded; links are named, never followed.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use crate::files::StopFlag;
use crate::files::access::{FileAccess, FileAccessError, ResolvedPath, real_path};

/// The most entries that one walk looks at.
pub(super) const ENTRIES_MAX: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Folder,
    File(u64),
    Link,
    Special,
}

/// What a walk meets.
pub(super) struct Entry<'a> {
    /// The folder that it is in.
    pub(super) dir: &'a Dir,
    pub(super) name: &'a Path,
    /// The way from where the walk began.
    pub(super) path: &'a Path,
    pub(super) kind: EntryKind,
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkControl {
    On,
    /// Not into this folder.
    Past,
    End,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkOutcome {
    All,
    /// There was more than one walk looks at.
    TooMany,
}

/// Walks through a folder, `depth` levels deep, in the order of names; each folder before what is in it.
pub(super) fn walk(
    room: &FileAccess,
    spot: &ResolvedPath,
    depth: usize,
    stop: &StopFlag,
    see: &mut dyn FnMut(&Entry<'_>) -> WalkControl,
) -> Result<WalkOutcome, FileAccessError> {
    let dir = room.open_folder(spot)?;
    let mut looked_at = 0;
    let mut open = vec![(dir, PathBuf::new())];
    while let Some((dir, path)) = open.pop() {
        if stop.is_stopped() {
            return Ok(WalkOutcome::TooMany);
        }
        let (names, more) = match names(&dir, ENTRIES_MAX - looked_at) {
            Ok(found) => found,
            Err(error) if path.as_os_str().is_empty() => return Err(room.failed(&spot.path, &error)),
            // One folder that cannot be read hides nothing else.
            Err(_unreadable) => continue,
        };
        looked_at += names.len();
        let mut folders = Vec::new();
        for (name, kind) in names {
            let path = path.join(&name);
            let next = see(&Entry { dir: &dir, name: &name, path: &path, kind });
            match next {
                WalkControl::End => return Ok(WalkOutcome::All),
                WalkControl::On if kind == EntryKind::Folder && path.components().count() < depth => {
                    folders.push((name, path))
                }
                WalkControl::On | WalkControl::Past => {}
            }
        }
        if more {
            return Ok(WalkOutcome::TooMany);
        }
        for (name, path) in folders.into_iter().rev() {
            let own = |dir: &Dir| real_path(dir).is_ok_and(|real| room.is_own(&real));
            open.extend(dir.open_dir(&name).ok().filter(|dir| !own(dir)).map(|dir| (dir, path)));
        }
    }
    Ok(WalkOutcome::All)
}

/// What is in a folder, in the order of names; whether there is more.
fn names(dir: &Dir, most: usize) -> io::Result<(Vec<(PathBuf, EntryKind)>, bool)> {
    let mut found = Vec::new();
    for entry in dir.entries()? {
        let entry = entry?;
        if found.len() >= most {
            found.sort();
            return Ok((kinds(dir, found), true));
        }
        found.push(PathBuf::from(entry.file_name()));
    }
    found.sort();
    Ok((kinds(dir, found), false))
}

fn kinds(dir: &Dir, names: Vec<PathBuf>) -> Vec<(PathBuf, EntryKind)> {
    let kind = |name: PathBuf| {
        // What is gone by now is left out.
        let found = dir.symlink_metadata(&name).ok()?;
        let kind = match found.file_type() {
            kind if kind.is_dir() => EntryKind::Folder,
            kind if kind.is_file() => EntryKind::File(found.len()),
            kind if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::Special,
        };
        Some((name, kind))
    };
    names.into_iter().filter_map(kind).collect()
}
