//! Files that a tool brings along with its words: kept and recorded as those are that come with messages, before the call's end is.
//!
//! A file that cannot be kept costs the result nothing: a line says so.

use crate::machine::event::ToolOutcome;
use crate::ports::Ports;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_model::message::{Picture, Pictures};
use hob_model::picture;
use hob_tools::files::record::{FileRecords, clean, record_line};
use hob_tools::files::text::sniff;
use hob_tools::{Invocation, Outcome, OutputFile};

/// The most files of one result.
const FILES_MAX: usize = 10;

/// Keeps what came along; gives the result with a line for each file, and the pictures among them that can be shown.
pub(super) async fn keep_files(
    ports: &Ports,
    invocation: &Invocation,
    outcome: Outcome,
    source: Option<&OriginSource>,
    files: Vec<OutputFile>,
) -> (Outcome, Pictures) {
    if files.is_empty() {
        return (outcome, Pictures::default());
    }
    let records = FileRecords { store: ports.store.clone(), contents: ports.contents.clone() };
    let (mut lines, mut pictures, count) = (Vec::new(), Vec::new(), files.len());
    for (at, OutputFile { name, bytes }) in files.into_iter().take(FILES_MAX).enumerate() {
        let name = clean(&ports.redactor.redact(&name));
        let shown = picture::inspect(sniff(&bytes), &bytes);
        let origin = source.cloned().unwrap_or_else(|| OriginSource::new(Origin::File, &name));
        let recorded =
            match records.record_brought_file(invocation, at, OutputFile { name: name.clone(), bytes }, origin).await {
                Ok(recorded) => recorded,
                Err(why) => {
                    lines.push(format!("[The file {name:?} could not be kept: {why}]"));
                    continue;
                }
            };
        lines.push(record_line(recorded.id, &name, recorded.mime, recorded.bytes));
        match shown {
            Some(Ok(media_type)) => pictures.push(Picture {
                file: recorded.id,
                hash: recorded.hash,
                media_type,
                name,
                bytes: recorded.bytes,
            }),
            Some(Err(why)) => lines.push(format!("[picture {name:?}: it is not shown to you: {why}]")),
            None => {}
        }
    }
    if count > FILES_MAX {
        lines
            .push(format!("[{} more files were left out: {FILES_MAX} in one result are the most.]", count - FILES_MAX));
    }
    (outcome.with(&lines.join("\n")), pictures.into())
}

/// What came of the call, with its pictures. Only words have any.
pub(super) fn with_pictures(outcome: ToolOutcome, pictures: Pictures) -> ToolOutcome {
    match outcome {
        ToolOutcome::Text { text, is_error } if !pictures.is_empty() => ToolOutcome::Seen { text, is_error, pictures },
        outcome => outcome,
    }
}
