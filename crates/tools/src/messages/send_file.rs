//! `send_file`: a file to the conversation, as it is at this moment.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::access::{FileAccess, FileAccessError};
use crate::files::blocking;
use crate::files::record::FileRecords;
use crate::files::text::size;
use crate::messages::{HERE, MODULE};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, OutputFile, Request, Tool, ToolResult, ToolSpec};
use hob_core::domain::ids::FileId;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::outgoing::DeliveryRequest;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};
use hob_store::contents::BYTES_MAX;

/// The most characters under a file.
const CAPTION_CHARS_MAX: usize = 20_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    /// Of a file that came with a message.
    id: Option<i64>,
    caption: Option<String>,
}

/// The tool. It may be run twice: only what is recorded of it is sent, once.
pub struct SendFile {
    spec: ToolSpec,
    room: Arc<FileAccess>,
    records: FileRecords,
}

impl SendFile {
    /// Sends what lies in `room`, or was recorded.
    pub fn new(room: Arc<FileAccess>, records: FileRecords) -> Self {
        let about = "Sends a file to this conversation.";
        let facts =
            ToolFacts { changes: true, workspace: true, by_state: true, risk: Risk::Send, ..ToolFacts::default() };
        let spec = spec_of::<Arguments>("send_file", about, true).of(MODULE, Role::User).with(facts).shown_on_need();
        Self { spec, room, records }
    }

    /// The record of what is to be sent: of a file in the workspace, as it is now.
    async fn record(&self, invocation: &Invocation, arguments: &Arguments) -> Result<FileId, FileAccessError> {
        let path = match (&arguments.path, arguments.id) {
            (None, Some(id)) => return Ok(self.records.find(invocation, FileId(id)).await?.0.id),
            (Some(path), None) => path.clone(),
            _ => return Err(FileAccessError::Content("Give either a path or an id.".to_owned())),
        };
        let (room, asked) = (Arc::clone(&self.room), path.clone());
        let bytes = blocking(move |_| {
            let file = room.open(&room.resolve(&asked, false)?)?;
            let mut bytes = Vec::new();
            file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| room.failed(&asked, &error))?;
            Ok(bytes)
        });
        let bytes = bytes.await?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(FileAccessError::Content(format!(
                "It is larger than {}, the most that can be sent.",
                size(BYTES_MAX)
            )));
        }
        if bytes.is_empty() {
            return Err(FileAccessError::Content("The file is empty; platforms take none that is.".to_owned()));
        }
        let name =
            Path::new(&path).file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        self.records.snapshot(invocation, OutputFile { name, bytes }, OriginSource::new(Origin::File, &path)).await
    }
}

#[async_trait]
impl Tool for SendFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let path = invocation.arguments.get("path").and_then(serde_json::Value::as_str);
        match path.and_then(|path| self.room.refusal(path, false)) {
            Some(reason) => {
                Assessment { grade: DangerGrade::Refused, reasons: vec![reason], ..Assessment::usual(Risk::Write) }
            }
            // It goes to those who ask, as an answer does.
            None => Assessment::usual(Risk::Write),
        }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let arguments: Arguments = parse(&self.spec, invocation.arguments.clone())?;
        if arguments.caption.as_ref().is_some_and(|caption| caption.chars().count() > CAPTION_CHARS_MAX) {
            return Err(Outcome::Error(format!("The caption may have {CAPTION_CHARS_MAX} characters.")));
        }
        let file = self.record(&invocation, &arguments).await?;
        let (name, text) = (HERE.to_owned(), arguments.caption.unwrap_or_default());
        Ok(Outcome::Request(Request::Deliver(Box::new(DeliveryRequest { to: None, name, text, file: Some(file) }))))
    }
}
