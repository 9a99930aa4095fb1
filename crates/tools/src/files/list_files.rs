//! `list_files`: what is in a folder.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ToolSpec;
use crate::files::access::{FileAccess, FileAccessError};
use crate::files::file_tool::{FileEffect, FileTool};
use crate::files::operation::{FileOperation, FileOperationResult};
use crate::files::text::size;
use crate::files::walk::{ENTRIES_MAX, Entry, EntryKind, WalkControl, WalkOutcome, walk};
use crate::files::{MODULE, StopFlag};
use crate::registry::{parse, spec_of};
use hob_core::domain::principal::Role;

/// The most levels.
const DEPTH_MAX: usize = 32;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Without it: the workspace.
    path: Option<String>,
    /// Levels of folders; usually 1.
    depth: Option<usize>,
}

/// The tool: lists in `room`.
pub fn tool(room: Arc<FileAccess>) -> FileTool {
    let spec = spec_of::<Arguments>("list_files", "Lists a folder.", true).of(MODULE, Role::User).shown_on_need();
    let operation = |spec: &ToolSpec, arguments| {
        let Arguments { path, depth } = parse(spec, arguments)?;
        let path = path.unwrap_or_else(|| ".".to_owned());
        Ok(FileOperation::List(ListRequest { path, depth: depth.unwrap_or(1).clamp(1, DEPTH_MAX) }))
    };
    FileTool { spec, room, effect: FileEffect::Reads, operation }
}

/// A folder, and how deep.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ListRequest {
    path: String,
    depth: usize,
}

/// Lists it.
pub(super) fn execute(
    room: &FileAccess,
    ListRequest { path, depth }: &ListRequest,
    stop: &StopFlag,
) -> Result<FileOperationResult, FileAccessError> {
    Ok(FileOperationResult::from(path, list(room, path, *depth, stop)?))
}

fn list(room: &FileAccess, path: &str, depth: usize, stop: &StopFlag) -> Result<String, FileAccessError> {
    let spot = room.resolve(path, false)?;
    let mut lines = Vec::new();
    let walked = walk(room, &spot, depth, stop, &mut |entry: &Entry<'_>| {
        let shown = entry.path.display().to_string().replace(char::is_control, "\u{fffd}");
        lines.push(match entry.kind {
            EntryKind::Folder => format!("{shown}/"),
            EntryKind::File(bytes) => format!("{shown} ({})", size(bytes)),
            EntryKind::Link => format!("{shown} (link)"),
            EntryKind::Special => format!("{shown} (no ordinary file)"),
        });
        WalkControl::On
    })?;
    if walked == WalkOutcome::TooMany {
        lines.push(format!("… and more: {ENTRIES_MAX} entries are the most."));
    }
    Ok(if lines.is_empty() { "(The folder is empty.)".to_owned() } else { lines.join("\n") })
}
