//! What the world says to a run, without the secrets of this Hob: the machine never sees one, nor does the record.

use crate::machine::event::{Event, ToolOutcome};
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::redactor::Redactor;
use hob_tools::Outcome;

/// The event without secrets. What a model says comes without any (`model::redacting`), what people say too (`router::intake`).
pub(super) fn event(redactor: &Redactor, event: Event) -> Event {
    match event {
        Event::ToolFinished { call, outcome, source, draft } => {
            let source = source.map(|source| OriginSource::new(source.origin, &redactor.redact(&source.what)));
            let draft = draft.map(|draft| Box::new(seen(redactor, *draft)));
            Event::ToolFinished { call, outcome: finished(redactor, outcome), source, draft }
        }
        Event::Assessed { mut calls } => {
            calls.iter_mut().flat_map(|call| &mut call.reasons).for_each(|reason| redactor.clean(reason));
            Event::Assessed { calls }
        }
        Event::Looked { call, mut known } => {
            known.reasons.iter_mut().for_each(|reason| redactor.clean(reason));
            Event::Looked { call, known }
        }
        Event::ModelFailed { class, message, retry_after_ms, pictures } => {
            Event::ModelFailed { class, message: without(redactor, message), retry_after_ms, pictures }
        }
        Event::SummaryFailed { why, late } => Event::SummaryFailed { why: without(redactor, why), late },
        Event::Panicked { message } => Event::Panicked { message: without(redactor, message) },
        other => other,
    }
}

/// What a tool answered, without secrets: before anybody is told of it, or anything of it is written to a file.
pub(super) fn answered(redactor: &Redactor, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Text(text) => Outcome::Text(without(redactor, text)),
        Outcome::Exited { text, code } => Outcome::Exited { text: without(redactor, text), code },
        Outcome::Error(text) => Outcome::Error(without(redactor, text)),
        Outcome::Transient(text) => Outcome::Transient(without(redactor, text)),
        // It was made of arguments, in which there are none.
        Outcome::Request(request) => Outcome::Request(request),
        Outcome::From(source, inner) => Outcome::From(source, Box::new(answered(redactor, *inner))),
        Outcome::Along(files, inner) => Outcome::Along(files, Box::new(answered(redactor, *inner))),
    }
}

/// What a draft shows quotes files.
fn seen(redactor: &Redactor, mut draft: WorkspaceDraft) -> WorkspaceDraft {
    redactor.clean(&mut draft.shown);
    draft.whole.iter_mut().for_each(|whole| redactor.clean(whole));
    draft.runs_later.iter_mut().for_each(|path| redactor.clean(path));
    draft
}

fn finished(redactor: &Redactor, outcome: ToolOutcome) -> ToolOutcome {
    match outcome {
        ToolOutcome::Text { text, is_error } => ToolOutcome::Text { text: without(redactor, text), is_error },
        ToolOutcome::Seen { text, is_error, pictures } => {
            ToolOutcome::Seen { text: without(redactor, text), is_error, pictures }
        }
        ToolOutcome::Exited { text, code } => ToolOutcome::Exited { text: without(redactor, text), code },
        ToolOutcome::Transient { text } => ToolOutcome::Transient { text: without(redactor, text) },
        ToolOutcome::Denied { reason } => ToolOutcome::Denied { reason: without(redactor, reason) },
        other => other,
    }
}

fn without(redactor: &Redactor, mut text: String) -> String {
    redactor.clean(&mut text);
    text
}
