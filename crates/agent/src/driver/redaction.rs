//! What the world says to a run, without the secrets of this Hob: the machine never sees one, nor does the record.

use crate::machine::event::{Event, ToolOutcome};
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::redactor::Redactor;
use hob_tools::Outcome;

/// The event without secrets. What a model says comes without any (`model::redacting`), what people say too (`router::intake`).
pub(super) fn event(redactor: &Redactor, event: Event) -> Event {
    match event {
        Event::ToolFinished { call, outcome, source, draft, undo } => {
            let source = source.map(|source| OriginSource::new(source.origin, &redactor.redact(&source.what)));
            let draft = draft.map(|draft| Box::new(redact_draft(redactor, *draft)));
            Event::ToolFinished { call, outcome: redact_tool_outcome(redactor, outcome), source, draft, undo }
        }
        Event::Assessed { mut calls } => {
            calls.iter_mut().flat_map(|call| &mut call.reasons).for_each(|reason| redactor.redact_in_place(reason));
            Event::Assessed { calls }
        }
        Event::Looked { call, mut known } => {
            known.reasons.iter_mut().for_each(|reason| redactor.redact_in_place(reason));
            Event::Looked { call, known }
        }
        Event::ModelFailed { class, message, retry_after_ms, pictures } => {
            Event::ModelFailed { class, message: redact_text(redactor, message), retry_after_ms, pictures }
        }
        Event::SummaryFailed { why, late } => Event::SummaryFailed { why: redact_text(redactor, why), late },
        Event::Panicked { message } => Event::Panicked { message: redact_text(redactor, message) },
        other => other,
    }
}

/// What a tool answered, without secrets: before anybody is told of it, or anything of it is written to a file.
pub(super) fn redact_outcome(redactor: &Redactor, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Text(text) => Outcome::Text(redact_text(redactor, text)),
        Outcome::Exited { text, code } => Outcome::Exited { text: redact_text(redactor, text), code },
        Outcome::Error(text) => Outcome::Error(redact_text(redactor, text)),
        Outcome::Transient(text) => Outcome::Transient(redact_text(redactor, text)),
        // It was made of arguments, in which there are none.
        Outcome::Request(request) => Outcome::Request(request),
        Outcome::From(source, inner) => Outcome::From(source, Box::new(redact_outcome(redactor, *inner))),
        Outcome::Along(files, inner) => Outcome::Along(files, Box::new(redact_outcome(redactor, *inner))),
        // It is as it is, or none (`undo_offer`).
        Outcome::Undoable(inverse, inner) => Outcome::Undoable(inverse, Box::new(redact_outcome(redactor, *inner))),
    }
}

/// What a draft shows quotes files.
fn redact_draft(redactor: &Redactor, mut draft: WorkspaceDraft) -> WorkspaceDraft {
    redactor.redact_in_place(&mut draft.shown);
    draft.whole.iter_mut().for_each(|whole| redactor.redact_in_place(whole));
    draft.runs_later.iter_mut().for_each(|path| redactor.redact_in_place(path));
    draft
}

fn redact_tool_outcome(redactor: &Redactor, outcome: ToolOutcome) -> ToolOutcome {
    match outcome {
        ToolOutcome::Text { text, is_error } => ToolOutcome::Text { text: redact_text(redactor, text), is_error },
        ToolOutcome::Seen { text, is_error, pictures } => {
            ToolOutcome::Seen { text: redact_text(redactor, text), is_error, pictures }
        }
        ToolOutcome::Exited { text, code } => ToolOutcome::Exited { text: redact_text(redactor, text), code },
        ToolOutcome::Transient { text } => ToolOutcome::Transient { text: redact_text(redactor, text) },
        ToolOutcome::Denied { reason } => ToolOutcome::Denied { reason: redact_text(redactor, reason) },
        other => other,
    }
}

fn redact_text(redactor: &Redactor, mut text: String) -> String {
    redactor.redact_in_place(&mut text);
    text
}
