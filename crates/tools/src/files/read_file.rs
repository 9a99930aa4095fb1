//! `read_file`: a text of the workspace, or one that came with a message.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::deed::{Deed, Told, carry_out};
use crate::files::record::Records;
use crate::files::room::{Room, RoomError};
use crate::files::text::{Lines, view};
use crate::files::{MODULE, Stop, assess_path, blocking};
use crate::registry::{parse, spec_of};
use crate::{Heard, Invocation, Outcome, Tool, ToolSpec};
use hob_core::domain::ids::FileId;
use hob_core::domain::origin::{Origin, Source};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// In the workspace.
    path: Option<String>,
    /// Of a file that came with a message.
    id: Option<i64>,
    from_line: Option<u64>,
    lines: Option<u64>,
}

/// The tool.
pub struct ReadFile {
    spec: ToolSpec,
    room: Arc<Room>,
    records: Records,
}

impl ReadFile {
    /// Reads in `room`, and from `records`.
    #[must_use]
    pub fn new(room: Arc<Room>, records: Records) -> Self {
        let about = "Reads a text file by path or id; lines come with their numbers.";
        Self { spec: spec_of::<Arguments>("read_file", about, true).of(MODULE, Role::User), room, records }
    }

    async fn record(&self, invocation: &Invocation, id: FileId, wanted: Lines) -> Result<Outcome, RoomError> {
        let (record, path) = self.records.find(invocation.place, id).await?;
        let name = record.name.clone();
        let shown = blocking(move |stop| {
            let opened = std::fs::File::open(&path);
            let mut file = opened.map_err(|error| RoomError::Failed { path: name.clone(), why: error.to_string() })?;
            shown(&mut file, &name, (wanted, stop))
        });
        Ok(Outcome::Text(shown.await?).from(Source::new(Origin::File, &record.name)))
    }
}

/// A file of the workspace, and which of its lines.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Wanted {
    path: String,
    from_line: Option<u64>,
    lines: Option<u64>,
}

/// Reads it.
pub(super) fn done(room: &Room, wanted: &Wanted, stop: &Stop) -> Result<Told, RoomError> {
    let Wanted { path, from_line, lines } = wanted;
    let mut file = room.open(&room.spot(path, false)?)?;
    let text = shown(&mut file, path, (Lines { from: *from_line, count: *lines }, stop))?;
    Ok(Told::from(path, text))
}

fn shown(file: &mut std::fs::File, path: &str, (wanted, stop): (Lines, &Stop)) -> Result<String, RoomError> {
    let viewed = view(file, wanted, stop);
    let failed = |error: std::io::Error| RoomError::Failed { path: path.to_owned(), why: error.to_string() };
    viewed.map_err(failed)?.map_err(RoomError::Content)
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _heard: &Heard<'_>) -> Assessment {
        assess_path(&self.room, &invocation.arguments, Risk::Read)
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        let Arguments { path, id, from_line, lines } = match parse(&self.spec, invocation.arguments.clone()) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let wanted = Lines { from: from_line, count: lines };
        match (path, id) {
            (Some(path), None) => {
                carry_out(&self.room, &invocation, Deed::Read(Wanted { path, from_line, lines })).await
            }
            (None, Some(id)) => {
                let done = self.record(&invocation, FileId(id), wanted).await;
                done.unwrap_or_else(|error| Outcome::Error(error.to_string()))
            }
            _ => Outcome::Error("Give either a path or an id.".to_owned()),
        }
    }
}
