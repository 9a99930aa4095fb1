//! `read_file`: a text of the workspace, or one that came with a message. What a document says is read in the sandbox.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::access::{FileAccess, FileAccessError};
use crate::files::document::{self, DocumentReader, DocumentView};
use crate::files::operation::{self, FileOperation, FileOperationResult};
use crate::files::record::FileRecords;
use crate::files::text::{LineRange, size, sniff, view};
use crate::files::{MODULE, StopFlag, assess_path, blocking, from_file};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, OutputFile, Tool, ToolResult, ToolSpec};
use hob_core::domain::ids::FileId;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk};
use hob_model::picture;

/// How much of a file's beginning tells whether it is a picture.
const HEAD: u64 = 8_192;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// In the workspace.
    path: Option<String>,
    /// Of a file that came with a message.
    id: Option<i64>,
    from_line: Option<u64>,
    lines: Option<u64>,
    page: Option<String>,
}

/// The tool.
pub struct ReadFile {
    spec: ToolSpec,
    room: Arc<FileAccess>,
    records: FileRecords,
    reader: DocumentReader,
}

impl ReadFile {
    /// Reads in `room`, and from `records`; documents by `reader`.
    pub fn new(room: Arc<FileAccess>, records: FileRecords, reader: DocumentReader) -> Self {
        let about = "Reads a file by path or id: text with line numbers, documents by page.";
        let spec = spec_of::<Arguments>("read_file", about, true).of(MODULE, Role::User);
        Self { spec, room, records, reader }
    }

    async fn record(
        &self,
        invocation: &Invocation,
        id: FileId,
        wanted: ReadRequest,
    ) -> Result<Outcome, FileAccessError> {
        let (record, path) = self.records.find(invocation, id).await?;
        let (name, page) = (record.name.clone(), wanted.page.clone());
        let told = blocking(move |stop| {
            let opened = std::fs::File::open(&path);
            let mut file =
                opened.map_err(|error| FileAccessError::Failed { path: name.clone(), why: error.to_string() })?;
            let wanted = ReadRequest { path: name, ..wanted };
            read_text(&mut file, &wanted, true, stop)
        });
        let outcome = self.read(&record.name, told.await?, page).await;
        Ok(outcome.from(OriginSource::new(Origin::File, &record.name)))
    }

    async fn path(&self, invocation: &Invocation, wanted: ReadRequest) -> Result<Outcome, FileAccessError> {
        let (path, page) = (wanted.path.clone(), wanted.page.clone());
        let told = operation::run_operation(&self.room, invocation, FileOperation::Read(wanted)).await?;
        Ok(match told.of.is_some() {
            true => from_file(&self.room, &path, self.read(&path, told, page).await),
            false => operation::outcome(&self.room, told),
        })
    }

    /// What a file says: what was told, or what its reader makes of it.
    async fn read(&self, name: &str, told: FileOperationResult, page: Option<String>) -> Outcome {
        let FileOperationResult { text, is_error, file, .. } = told;
        match file {
            Some(bytes) if picture::inspect(sniff(&bytes), &bytes).is_some() => picture_outcome(name, bytes),
            Some(bytes) => match self.reader.read(name, bytes, page.as_deref().unwrap_or_default()).await {
                Ok(text) => Outcome::Text(text),
                Err(why) => Outcome::Error(why),
            },
            None if is_error => Outcome::Error(text),
            None => Outcome::Text(text),
        }
    }
}

/// A file of the workspace, and which of its lines.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReadRequest {
    path: String,
    from_line: Option<u64>,
    lines: Option<u64>,
    page: Option<String>,
}

/// Reads it.
pub(super) fn execute(
    room: &FileAccess,
    wanted: &ReadRequest,
    stop: &StopFlag,
) -> Result<FileOperationResult, FileAccessError> {
    let mut file = room.open(&room.resolve(&wanted.path, false)?)?;
    read_text(&mut file, wanted, false, stop)
}

/// The text of a file; a document as it is, for its reader.
fn read_text(
    file: &mut std::fs::File,
    wanted: &ReadRequest,
    came: bool,
    stop: &StopFlag,
) -> Result<FileOperationResult, FileAccessError> {
    let ReadRequest { path, from_line, lines, page } = wanted;
    let lines = LineRange { from: *from_line, count: *lines };
    let failed = |error: std::io::Error| FileAccessError::Failed { path: path.clone(), why: error.to_string() };
    // What people work on here is shown as it is written; of what came, people want to know what it says.
    let read = page.is_some() || came && lines == LineRange::default();
    let view_as = if read { DocumentView::Read } else { DocumentView::Written };
    if let Some(bytes) = read_picture(file).map_err(failed)? {
        return Ok(FileOperationResult::file(path, bytes));
    }
    if let Some(bytes) = document::read_as_document(file, path, view_as).map_err(failed)? {
        return Ok(FileOperationResult::file(path, bytes));
    }
    let text = view(file, lines, stop).map_err(failed)?.map_err(FileAccessError::Content)?;
    Ok(FileOperationResult::from(path, text))
}

/// All of a file, if it is a picture that models are shown.
fn read_picture(file: &mut std::fs::File) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD).read_to_end(&mut bytes)?;
    if picture::inspect(sniff(&bytes), &bytes).is_none() {
        return Ok(None);
    }
    file.take(picture::BYTES_MAX + 1 - HEAD).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// A picture of that name, to be shown.
fn picture_outcome(name: &str, bytes: Vec<u8>) -> Outcome {
    let mime = sniff(&bytes);
    match picture::inspect(mime, &bytes) {
        Some(Err(why)) => Outcome::Error(format!("This is {mime}, and it cannot be shown: {why}.")),
        _ => {
            let name = name.rsplit('/').next().unwrap_or(name).to_owned();
            Outcome::Text(format!("This is {mime}, {}.", size(bytes.len() as u64)))
                .with_files(vec![OutputFile { name, bytes }])
        }
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        assess_path(&self.room, &invocation.arguments, Risk::Read).await
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { path, id, from_line, lines, page } = parse(&self.spec, invocation.arguments.clone())?;
        let wanted = |path: String| ReadRequest { path, from_line, lines, page };
        let done = match (path, id) {
            (Some(path), None) => self.path(&invocation, wanted(path)).await,
            (None, Some(id)) => self.record(&invocation, FileId(id), wanted(String::new())).await,
            _ => Err(FileAccessError::Content("Give either a path or an id.".to_owned())),
        };
        Ok(done?)
    }
}
