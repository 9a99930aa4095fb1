//! A tool that does one thing with the files of the workspace. Which thing, and with which arguments, each tool's own file says.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::files::access::FileAccess;
use crate::files::operation::{FileOperation, carry_out};
use crate::files::{assess_change, assess_path, assess_write};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::tools::{Assessment, DangerGrade, Risk};

/// What a tool does to the files that its call names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileEffect {
    Reads,
    /// Also over a file that is there.
    Writes,
    Moves,
    Deletes,
}

/// Reads a call's arguments; an error is what the model is told.
type OperationOf = fn(&ToolSpec, Value) -> Result<FileOperation, Outcome>;

pub struct FileTool {
    pub(super) spec: ToolSpec,
    pub(super) room: Arc<FileAccess>,
    pub(super) effect: FileEffect,
    pub(super) operation: OperationOf,
}

#[async_trait]
impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let (room, arguments) = (&self.room, &invocation.arguments);
        match self.effect {
            FileEffect::Reads => assess_path(room, arguments, Risk::Read).await,
            FileEffect::Writes => assess_write(room, arguments).await,
            FileEffect::Moves => assess_change(room, arguments, &["path", "to"]).await,
            FileEffect::Deletes => {
                let mut known = assess_change(room, arguments, &["path"]).await;
                if known.grade == DangerGrade::Safe && !known.contained {
                    known.grade = DangerGrade::Medium;
                    known.reasons.push("It cannot be undone".to_owned());
                }
                known
            }
        }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let operation = (self.operation)(&self.spec, invocation.arguments.clone())?;
        carry_out(&self.room, &invocation, operation).await
    }
}
