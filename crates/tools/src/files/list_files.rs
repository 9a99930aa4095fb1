//! `list_files`: what is in a folder.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::deed::{Deed, Told, carry_out};
use crate::files::room::{Room, RoomError};
use crate::files::text::size;
use crate::files::walk::{ENTRIES_MAX, Entry, Kind, Next, Walked, walk};
use crate::files::{MODULE, Stop, assess_path};
use crate::registry::{parse, spec_of};
use crate::{Heard, Invocation, Outcome, Tool, ToolSpec};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk};

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

/// The tool.
pub struct ListFiles {
    spec: ToolSpec,
    room: Arc<Room>,
}

impl ListFiles {
    /// Lists in `room`.
    #[must_use]
    pub fn new(room: Arc<Room>) -> Self {
        let spec = spec_of::<Arguments>("list_files", "Lists a folder.", true).of(MODULE, Role::User).on_need();
        Self { spec, room }
    }
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _heard: &Heard<'_>) -> Assessment {
        assess_path(&self.room, &invocation.arguments, Risk::Read).await
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        let Arguments { path, depth } = match parse(&self.spec, invocation.arguments.clone()) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let path = path.unwrap_or_else(|| ".".to_owned());
        let wanted = Wanted { path, depth: depth.unwrap_or(1).clamp(1, DEPTH_MAX) };
        carry_out(&self.room, &invocation, Deed::List(wanted)).await
    }
}

/// A folder, and how deep.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Wanted {
    path: String,
    depth: usize,
}

/// Lists it.
pub(super) fn done(room: &Room, Wanted { path, depth }: &Wanted, stop: &Stop) -> Result<Told, RoomError> {
    Ok(Told::from(path, list(room, path, *depth, stop)?))
}

fn list(room: &Room, path: &str, depth: usize, stop: &Stop) -> Result<String, RoomError> {
    let spot = room.spot(path, false)?;
    let mut lines = Vec::new();
    let walked = walk(room, &spot, depth, stop, &mut |entry: &Entry<'_>| {
        let shown = entry.path.display().to_string().replace(char::is_control, "\u{fffd}");
        lines.push(match entry.kind {
            Kind::Folder => format!("{shown}/"),
            Kind::File(bytes) => format!("{shown} ({})", size(bytes)),
            Kind::Link => format!("{shown} (link)"),
            Kind::Special => format!("{shown} (no ordinary file)"),
        });
        Next::On
    })?;
    if walked == Walked::TooMany {
        lines.push(format!("… and more: {ENTRIES_MAX} entries are the most."));
    }
    Ok(if lines.is_empty() { "(The folder is empty.)".to_owned() } else { lines.join("\n") })
}
