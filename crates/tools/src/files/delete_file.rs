//! `delete_file`: a file, a link, or an empty folder.

use std::path::Path;
use std::sync::Arc;

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
}

/// The tool: deletes in `room`.
pub fn tool(room: Arc<FileAccess>) -> FileTool {
    let about = "Deletes a file or an empty folder.";
    let spec =
        spec_of::<Arguments>("delete_file", about, false).of(MODULE, Role::User).with(changing()).shown_on_need();
    let operation = |spec: &ToolSpec, arguments| parse(spec, arguments).map(FileOperation::Delete);
    FileTool { spec, room, effect: FileEffect::Deletes, operation }
}

/// Deletes what is there; of a link, the link.
pub(super) fn execute(
    room: &FileAccess,
    Arguments { path }: &Arguments,
) -> Result<FileOperationResult, FileAccessError> {
    let (parent, name) = folder_of(room, &room.resolve(path, true)?, false)?;
    let name = Path::new(&name);
    let failed = |error: std::io::Error| room.failed(path, &error);
    let found = parent.symlink_metadata(name).map_err(failed)?;
    if found.is_dir() { parent.remove_dir(name) } else { parent.remove_file(name) }.map_err(failed)?;
    Ok(FileOperationResult::done(format!("Deleted {path:?}.")))
}
