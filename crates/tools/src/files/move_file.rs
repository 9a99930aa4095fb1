//! `move_file`: another name or place for a file or a link.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{RenameFlags, renameat_with};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ToolSpec;
use crate::files::access::{FileAccess, FileAccessError};
use crate::files::file_tool::{FileEffect, FileTool};
use crate::files::operation::{FileOperation, FileOperationResult};
use crate::files::write_file::folder_of;
use crate::files::{MODULE, changing};
use crate::registry::{parse, spec_of};
use hob_core::domain::principal::Role;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    /// Its new path; nothing may be there.
    to: String,
}

/// The tool: moves in `room`.
pub fn tool(room: Arc<FileAccess>) -> FileTool {
    let about = "Moves or renames a file; makes the folders that it needs.";
    let spec = spec_of::<Arguments>("move_file", about, false).of(MODULE, Role::User).with(changing()).shown_on_need();
    let operation = |spec: &ToolSpec, arguments| parse(spec, arguments).map(FileOperation::Move);
    FileTool { spec, room, effect: FileEffect::Moves, operation }
}

/// Moves what is there, never over anything.
pub(super) fn execute(
    room: &FileAccess,
    Arguments { path, to }: &Arguments,
) -> Result<FileOperationResult, FileAccessError> {
    let (from, name) = folder_of(room, &room.resolve(path, true)?, false)?;
    let (into, new) = folder_of(room, &room.resolve(to, true)?, true)?;
    let renamed = renameat_with(&from, Path::new(&name), &into, Path::new(&new), RenameFlags::NOREPLACE);
    renamed.map_err(|error| match io::Error::from(error) {
        error if error.kind() == io::ErrorKind::AlreadyExists => {
            FileAccessError::Content(format!("There is something at {to:?} already."))
        }
        error if error.kind() == io::ErrorKind::CrossesDevices => FileAccessError::Content(
            "A folder is not moved here, nor a file from one of the roots to another: copy it by the terminal."
                .to_owned(),
        ),
        error => room.failed(path, &error),
    })?;
    Ok(FileOperationResult::done(format!("Moved {path:?} to {to:?}.")))
}
