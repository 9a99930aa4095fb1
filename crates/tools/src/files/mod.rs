//! Files of the workspace, and those that came with messages: reading, writing, editing, listing, searching.
//!
//! Every path goes through a directory handle ([`access`]), so that nothing outside of the allowed folders is reached.
//!
//! Never: a path opened by its name alone, a special file waited for, or a read without a bound.
//! Start at [`access::FileAccess`]; then a file per tool.

pub mod access;
pub mod delete_file;
pub mod document;
pub mod edit_file;
pub(crate) mod file_tool;
pub mod keep_file;
pub mod list_files;
pub mod move_file;
pub(crate) mod operation;
pub mod read_file;
pub mod record;
pub mod search_files;
pub mod text;
mod walk;
pub mod write_file;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::Outcome;
use crate::files::access::{FileAccess, FileAccessError};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};

/// The module of these tools.
pub const MODULE: &str = "files";

/// What tools that change files say of themselves.
pub fn changing() -> ToolFacts {
    ToolFacts { changes: true, workspace: true, by_state: true, risk: Risk::Write, ..ToolFacts::default() }
}

/// Told when the call that works is dropped: what blocks looks at it from time to time.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Is the call gone?
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells the work to stop when it is dropped.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does work with files on a thread of its own; a call that is dropped tells it to stop.
pub async fn blocking<T, F>(work: F) -> Result<T, FileAccessError>
where
    T: Send + 'static,
    F: FnOnce(&StopFlag) -> Result<T, FileAccessError> + Send + 'static,
{
    let call = StopOnDrop(StopFlag::default());
    let stop = call.0.clone();
    let done = tokio::task::spawn_blocking(move || work(&stop)).await;
    done.unwrap_or_else(|error| Err(FileAccessError::Failed { path: "the file".to_owned(), why: error.to_string() }))
}

/// Words that a file of the workspace is the source of. Its owner may vouch for all of them.
pub(crate) fn from_file(room: &FileAccess, path: &str, words: Outcome) -> Outcome {
    let path = if path == "." { "in the workspace" } else { path };
    if room.is_trusted() { words } else { words.from(OriginSource::new(Origin::File, path)) }
}

/// What is to be known of a call that names a path: one that leads out is refused.
async fn assess_path(room: &FileAccess, arguments: &Value, risk: Risk) -> Assessment {
    assess_paths(room, arguments, risk, &["path"]).await
}

/// What is to be known of a call that changes what these arguments name.
async fn assess_change(room: &FileAccess, arguments: &Value, names: &[&str]) -> Assessment {
    assess_paths(room, arguments, Risk::Write, names).await
}

async fn assess_paths(room: &FileAccess, arguments: &Value, risk: Risk, names: &[&str]) -> Assessment {
    let paths = || names.iter().filter_map(|name| arguments.get(name).and_then(Value::as_str));
    let refused = paths().find_map(|path| room.refusal(path, !risk.is_read()));
    match refused {
        Some(reason) => {
            Assessment { risk, grade: DangerGrade::Refused, reasons: vec![reason], ..Assessment::default() }
        }
        None => {
            let contained = room.desk_that_holds().await.is_some();
            let changed = paths().filter(|_| !risk.is_read());
            let behind_links = changed.filter_map(|path| room.behind_links(path)).collect();
            Assessment { contained, behind_links, ..Assessment::usual(risk) }
        }
    }
}

/// The same, for what may replace a file that is there.
async fn assess_write(room: &FileAccess, arguments: &Value) -> Assessment {
    let mut assessment = assess_path(room, arguments, Risk::Write).await;
    let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
    if assessment.grade == DangerGrade::Safe
        && let Some(bytes) = room.size_of(path)
    {
        assessment.reasons.push(format!("It changes {path:?}, which is there already ({})", text::size(bytes)));
    }
    assessment
}

#[cfg(test)]
mod tests;
