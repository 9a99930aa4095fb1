//! `delete_file`: a file, a link, or an empty folder.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::access::{FileAccess, FileAccessError};
use crate::files::operation::{FileOperation, FileOperationResult, carry_out};
use crate::files::write_file::folder_of;
use crate::files::{MODULE, assess_change, changing};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolSpec};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
}

/// The tool.
pub struct DeleteFile {
    spec: ToolSpec,
    room: Arc<FileAccess>,
}

impl DeleteFile {
    /// Deletes in `room`.
    #[must_use]
    pub fn new(room: Arc<FileAccess>) -> Self {
        let about = "Deletes a file or an empty folder.";
        let spec =
            spec_of::<Arguments>("delete_file", about, false).of(MODULE, Role::User).with(changing()).shown_on_need();
        Self { spec, room }
    }
}

#[async_trait]
impl Tool for DeleteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _heard: &MentionCheck<'_>) -> Assessment {
        let mut known = assess_change(&self.room, &invocation.arguments, &["path"]).await;
        if known.grade == DangerGrade::Safe && !known.contained {
            known.grade = DangerGrade::Medium;
            known.reasons.push("It cannot be undone".to_owned());
        }
        known
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        match parse(&self.spec, invocation.arguments.clone()) {
            Ok(wanted) => carry_out(&self.room, &invocation, FileOperation::Delete(wanted)).await,
            Err(outcome) => outcome,
        }
    }
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
