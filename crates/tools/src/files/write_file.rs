//! `write_file`: a whole file, in one step.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, OpenOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ToolSpec;
use crate::files::access::{FileAccess, FileAccessError, ResolvedPath, real_path};
use crate::files::file_tool::{FileEffect, FileTool};
use crate::files::operation::{FileOperation, FileOperationResult};
use crate::files::text::size;
use crate::files::{MODULE, changing};
use crate::registry::{parse, spec_of};
use hob_core::domain::principal::Role;

/// The most bytes that are written at once.
pub const BYTES_MAX: usize = 8 << 20;
/// How many names are tried for what is being written.
const TRIES: u32 = 100;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    content: String,
}

/// The tool: writes in `room`.
pub fn tool(room: Arc<FileAccess>) -> FileTool {
    let about = "Writes a whole file, new or over an old one; makes its folders.";
    let spec = spec_of::<Arguments>("write_file", about, true).of(MODULE, Role::User).with(changing());
    let operation = |spec: &ToolSpec, arguments| parse(spec, arguments).map(FileOperation::Write);
    FileTool { spec, room, effect: FileEffect::Writes, operation }
}

/// Writes the file.
pub(super) fn execute(
    room: &FileAccess,
    Arguments { path, content }: &Arguments,
) -> Result<FileOperationResult, FileAccessError> {
    let before = room.size_of(path);
    write(room, path, content.as_bytes())?;
    let lines = content.lines().count();
    let was = before.map(|bytes| format!(" in place of the old one ({})", size(bytes))).unwrap_or_default();
    Ok(FileOperationResult::done(format!("Wrote {path:?}: {lines} lines, {}{was}.", size(content.len() as u64))))
}

/// Writes a file so that others see the old one or the new one, whole; one that is there keeps its permissions.
///
/// # Errors
/// When it may not be written, or is not an ordinary file.
pub fn write(room: &FileAccess, path: &str, content: &[u8]) -> Result<(), FileAccessError> {
    if content.len() > BYTES_MAX {
        return Err(FileAccessError::Content(format!("At most {} can be written at once.", size(BYTES_MAX as u64))));
    }
    let spot = room.resolve(path, true)?;
    let (parent, name) = target(room, &spot)?;
    let failed = |error: io::Error| room.failed(path, &error);
    let real = real_path(&parent).map_err(failed)?.join(&name);
    if room.is_own(&real) {
        return Err(FileAccessError::Own { path: path.to_owned() });
    }
    replace(&parent, Path::new(&name), content).map_err(failed)
}

/// The folder that the file is to be in, made if it is missing, and its name there. A link is followed, as far as it
/// stays inside.
fn target(room: &FileAccess, spot: &ResolvedPath) -> Result<(Dir, PathBuf), FileAccessError> {
    let failed = |error: io::Error| room.failed(&spot.path, &error);
    let relative = match spot.dir.symlink_metadata(&spot.relative) {
        Ok(found) if found.is_symlink() => spot.dir.canonicalize(&spot.relative).map_err(failed)?,
        Ok(found) if found.is_dir() => return Err(FileAccessError::Folder { path: spot.path.clone() }),
        Ok(found) if !found.is_file() => return Err(FileAccessError::Special { path: spot.path.clone() }),
        Ok(_) => spot.relative.clone(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => spot.relative.clone(),
        Err(error) => return Err(failed(error)),
    };
    let Some(name) = relative.file_name().map(PathBuf::from) else {
        return Err(FileAccessError::Folder { path: spot.path.clone() });
    };
    folder(room, spot, &relative, true).map(|dir| (dir, name))
}

/// The folder that something lies in, or is to lie in, and its name there; what it is itself is not looked at.
pub(super) fn folder_of(room: &FileAccess, spot: &ResolvedPath, make: bool) -> Result<(Dir, PathBuf), FileAccessError> {
    let Some(name) = spot.relative.file_name().map(PathBuf::from) else {
        return Err(FileAccessError::Folder { path: spot.path.clone() });
    };
    let dir = folder(room, spot, &spot.relative, make)?;
    let real = real_path(&dir).map_err(|error| room.failed(&spot.path, &error))?.join(&name);
    if room.is_own(&real) { Err(FileAccessError::Own { path: spot.path.clone() }) } else { Ok((dir, name)) }
}

/// The folder that this lies in, made if it is missing and wanted.
fn folder(room: &FileAccess, spot: &ResolvedPath, relative: &Path, make: bool) -> Result<Dir, FileAccessError> {
    let failed = |error: io::Error| room.failed(&spot.path, &error);
    let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = real_path(&spot.dir).map_err(failed)?;
    // Before anything is made there.
    let mut steps = parent.ancestors().map(|step| if step.as_os_str().is_empty() { Path::new(".") } else { step });
    let there = steps.find_map(|step| spot.dir.canonicalize(step).ok()).unwrap_or_default();
    if room.is_own(&real.join(there)) {
        return Err(FileAccessError::Own { path: spot.path.clone() });
    }
    if make {
        spot.dir.create_dir_all(parent).map_err(failed)?;
    }
    spot.dir.open_dir(parent).map_err(failed)
}

fn replace(parent: &Dir, name: &Path, content: &[u8]) -> io::Result<()> {
    match parent.symlink_metadata(name) {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is not an ordinary file")),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let (part, mut file) = temporary_file(parent)?;
    let done = (|| {
        if let Ok(found) = parent.metadata(name) {
            file.set_permissions(found.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        parent.rename(&part, parent, name)
    })();
    if done.is_err()
        && let Err(error) = parent.remove_file(&part)
    {
        tracing::debug!(%error, "what was half written stays in the workspace");
    }
    done?;
    // The folder's entry is as durable as the file.
    parent.open(".")?.sync_all()
}

/// A new file beside the one to be replaced.
pub(super) fn temporary_file(parent: &Dir) -> io::Result<(PathBuf, cap_std::fs::File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let process = std::process::id();
    for number in 0..TRIES {
        let name = PathBuf::from(format!(".hob-{process}-{number}.part"));
        match parent.open_with(&name, &options) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
