//! What the file tools do, as data: done here, or in a draft of the workspace, in the sandbox ([`serve`]).
//!
//! What works in a draft sees the workspace as commands see it there, because the kernel shows it so.

use std::io;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::draft_workspace::{CallPreparation, CallWorkspace, DraftWorkspace, RetrySafety};
use crate::files::access::{FileAccess, FileAccessError};
use crate::files::{
    StopFlag, blocking, delete_file, edit_file, from_file, keep_file, list_files, move_file, read_file, search_files,
    write_file,
};
use crate::process::{self, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::{Invocation, Outcome, ToolResult};

/// The program that the sandbox knows to be this worker.
pub(crate) const WORKER: &str = "hob:files";
/// The longest answer of the worker, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Something to be done with files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FileOperation {
    Read(read_file::ReadRequest),
    List(list_files::ListRequest),
    Search(search_files::Arguments),
    Write(write_file::Arguments),
    Edit(edit_file::Arguments),
    Move(move_file::Arguments),
    Delete(delete_file::Arguments),
    Keep(keep_file::KeepRequest),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileOperationResult {
    pub(super) text: String,
    pub(super) is_error: bool,
    /// The file or folder that the words come from.
    pub(super) of: Option<String>,
    /// In place of words, a file that has to be looked at elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "packed")]
    pub(super) file: Option<Vec<u8>>,
}

/// Bytes in Base64, on the way from a worker.
mod packed {
    use super::*;

    #[expect(clippy::ref_option, reason = "serde hands a reference in")]
    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| STANDARD.encode(bytes)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| STANDARD.decode(text)).transpose().map_err(serde::de::Error::custom)
    }
}

impl FileOperationResult {
    /// Hob's own words.
    pub(super) fn done(text: String) -> Self {
        Self { text, is_error: false, of: None, file: None }
    }

    /// Words of this file.
    pub(super) fn from(path: &str, text: String) -> Self {
        Self { text, is_error: false, of: Some(path.to_owned()), file: None }
    }

    /// This file, to be looked at elsewhere.
    pub(super) fn file(path: &str, bytes: Vec<u8>) -> Self {
        Self { file: Some(bytes), ..Self::from(path, String::new()) }
    }
}

impl FileOperation {
    fn changes(&self) -> bool {
        match self {
            Self::Read(_) | Self::List(_) | Self::Search(_) => false,
            Self::Write(_) | Self::Edit(_) | Self::Move(_) | Self::Delete(_) | Self::Keep(_) => true,
        }
    }

    fn again(&self) -> RetrySafety {
        match self {
            Self::Read(_) | Self::List(_) | Self::Search(_) | Self::Write(_) | Self::Keep(_) => RetrySafety::Safe,
            Self::Edit(_) | Self::Move(_) | Self::Delete(_) => RetrySafety::Unsafe,
        }
    }

    fn carry_out(&self, room: &FileAccess, stop: &StopFlag) -> Result<FileOperationResult, FileAccessError> {
        match self {
            Self::Read(wanted) => read_file::execute(room, wanted, stop),
            Self::List(wanted) => list_files::execute(room, wanted, stop),
            Self::Search(wanted) => search_files::execute(room, wanted, stop),
            Self::Write(wanted) => write_file::execute(room, wanted),
            Self::Edit(wanted) => edit_file::execute(room, wanted, stop),
            Self::Move(wanted) => move_file::execute(room, wanted),
            Self::Delete(wanted) => delete_file::execute(room, wanted),
            Self::Keep(wanted) => keep_file::execute(room, wanted),
        }
    }

    /// What lies outside of the room, and is read for it.
    fn source(&self) -> Option<&Path> {
        match self {
            Self::Keep(wanted) => Some(wanted.source()),
            Self::Read(_)
            | Self::List(_)
            | Self::Search(_)
            | Self::Write(_)
            | Self::Edit(_)
            | Self::Move(_)
            | Self::Delete(_) => None,
        }
    }
}

/// Has it done where the call works.
pub(super) async fn carry_out(room: &Arc<FileAccess>, invocation: &Invocation, deed: FileOperation) -> ToolResult {
    Ok(outcome(room, run_operation(room, invocation, deed).await?))
}

/// The same, and what came of it.
pub(super) async fn run_operation(
    room: &Arc<FileAccess>,
    invocation: &Invocation,
    deed: FileOperation,
) -> Result<FileOperationResult, FileAccessError> {
    match room.desk_that_holds().await {
        Some(draft_workspace) if deed.changes() || draft_workspace.is_open(invocation).await => {
            run_in_draft(draft_workspace, room, invocation, deed).await
        }
        _ => {
            let room = Arc::clone(room);
            blocking(move |stop| deed.carry_out(&room, stop)).await
        }
    }
}

/// What came of it, for the model.
pub(super) fn outcome(
    room: &FileAccess,
    FileOperationResult { text, is_error, of, .. }: FileOperationResult,
) -> Outcome {
    let outcome = if is_error { Outcome::Error(text) } else { Outcome::Text(text) };
    match of {
        Some(path) => from_file(room, &path, outcome),
        None => outcome,
    }
}

/// Has it done by the worker.
async fn run_in_draft(
    draft_workspace: &DraftWorkspace,
    room: &Arc<FileAccess>,
    invocation: &Invocation,
    deed: FileOperation,
) -> Result<FileOperationResult, FileAccessError> {
    let bench = match draft_workspace.begin(invocation, deed.again()).await.map_err(FileAccessError::Content)? {
        CallPreparation::Work(bench) => bench,
        CallPreparation::Over { text, is_error } => {
            return Ok(FileOperationResult { is_error, ..FileOperationResult::done(text) });
        }
    };
    let told = run_in_worker(&bench, room, &deed).await;
    let Some(said) = bench.end().await else { return told };
    // It names files, and whoever named those may be anybody.
    let of = |of: Option<String>| of.or_else(|| Some(".".to_owned()));
    told.map(|told| FileOperationResult { text: format!("{}\n{said}", told.text), of: of(told.of), ..told })
}

async fn run_in_worker(
    bench: &CallWorkspace,
    room: &FileAccess,
    deed: &FileOperation,
) -> Result<FileOperationResult, FileAccessError> {
    let failed = |why: String| FileAccessError::Content(format!("It could not be done: {why}."));
    let input = serde_json::to_vec(&(room.plan(), deed)).map_err(|error| failed(error.to_string()))?;
    let mut confinement = bench.confinement.clone();
    confinement.reach.read.extend(deed.source().map(Path::to_owned));
    let errand = ProcessSpec {
        vector: vec![WORKER.to_owned()],
        dir: room.root().to_owned(),
        environment: Vec::new(),
        input: Some(input),
        bytes_max: ANSWER_BYTES_MAX,
        leftovers: ProcessReaper::of_call(),
        confinement: Some(confinement),
    };
    // It is large, and each file tool would hold it.
    let ended = Box::pin(process::run(errand)).await.map_err(|error| failed(error.to_string()))?;
    serde_json::from_str::<Result<FileOperationResult, String>>(&ended.out)
        .map_err(|_unreadable| failed(ended.err.trim().chars().take(300).collect()))?
        .map_err(FileAccessError::Content)
}

/// The worker: does what is asked for on `input`, and answers on the standard output.
///
/// # Errors
/// When it can neither read nor answer.
pub(crate) fn serve(input: impl io::Read) -> io::Result<()> {
    let (plan, deed): (_, FileOperation) = serde_json::from_reader(io::BufReader::new(input))?;
    let room = FileAccess::of_plan(plan);
    let told = deed.carry_out(&room, &StopFlag::default()).map_err(|error| error.to_string());
    serde_json::to_writer(io::stdout(), &told)?;
    Ok(())
}
