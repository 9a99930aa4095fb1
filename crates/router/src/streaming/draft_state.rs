//! What a run has written so far, and what is to be done about it next. Nothing here waits or sends.

use std::time::Duration;

use tokio::time::Instant;

use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::Destination;
use hob_core::render::{Chunk, RenderedPiece, TextFormat, pieces, render};

/// A reply that is done sooner comes whole …
const FIRST_AFTER: Duration = Duration::from_secs(1);
/// … and so does one that is shorter.
const FIRST_CHARS: usize = 40;
/// No platform shows more in one message.
const SHOWN_BYTES_MAX: usize = 48 * 1024;
/// What says that more comes.
const MORE: char = '…';

#[derive(Default)]
pub(super) struct DraftState {
    pub(super) sheet: Option<GrowingReply>,
    /// This run is over; it may have left its draft behind.
    pub(super) over: Option<RunId>,
    /// Somebody draws.
    pub(super) at_work: bool,
}

/// What a run has written so far.
#[derive(Clone)]
pub(super) struct GrowingReply {
    pub(super) run: RunId,
    pub(super) destination: Destination,
    pub(super) text: String,
    /// It is no reply: it says how far a call is, as long as that is at work.
    pub(super) is_step: bool,
    /// When its first word came.
    pub(super) begun: Instant,
    /// How much of `text` is shown, in bytes; none: this text never was.
    pub(super) shown: Option<usize>,
    /// The draft as it stands.
    pub(super) drawn: Option<RenderedPiece>,
    /// It is not changed before.
    pub(super) from: Option<Instant>,
    /// The platform will have no more of it.
    pub(super) given_up: bool,
}

/// What the worker of a conversation does next.
#[derive(Debug, PartialEq)]
pub(super) enum NextDraftAction {
    Draw,
    Clear(RunId),
    Wait(Option<Instant>),
    Leave,
}

impl GrowingReply {
    pub(super) fn of(run: RunId, destination: &Destination, now: Instant) -> Self {
        Self {
            run,
            destination: destination.clone(),
            text: String::new(),
            is_step: false,
            begun: now,
            shown: None,
            drawn: None,
            from: None,
            given_up: false,
        }
    }

    /// From when on there is something to draw; none: not yet.
    pub(super) fn due(&self) -> Option<Instant> {
        let new = self.shown != Some(self.text.len());
        let enough = self.is_step || self.drawn.is_some() || self.text.chars().nth(FIRST_CHARS - 1).is_some();
        if self.given_up || !new || !enough || self.text.trim().is_empty() {
            return None;
        }
        let first = if self.drawn.is_some() { self.begun } else { self.begun + FIRST_AFTER };
        Some(self.from.map_or(first, |from| from.max(first)))
    }

    /// What was shown of it is void: other words come.
    pub(super) fn begin_again(&mut self, now: Instant) {
        self.text.clear();
        (self.is_step, self.shown) = (false, None);
        self.begun = now;
    }

    /// This is shown of it; other words may have come since.
    pub(super) fn is_shown(&mut self, text: &str) {
        self.shown = self.text.starts_with(text).then_some(text.len());
    }

    /// More of the reply.
    pub(super) fn grow(&mut self, more: &str, now: Instant) {
        if self.is_step || self.text.is_empty() {
            self.begin_again(now);
        }
        self.text.push_str(more);
    }

    /// A call is so far.
    pub(super) fn step(&mut self, words: &str, now: Instant) {
        if !self.is_step {
            self.begin_again(now);
        }
        if self.text != words {
            (self.text, self.shown) = (words.to_owned(), None);
        }
        self.is_step = true;
    }

    /// What of it stands in the chat as long as it grows.
    pub(super) fn first_piece(&self, capabilities: &Capabilities) -> Option<RenderedPiece> {
        match self.is_step {
            true => pieces(&format!("{} {MORE}", self.text), TextFormat::Plain, self.destination.conversation.channel),
            false => first_chunk(&self.text, capabilities),
        }
        .into_iter()
        .next()
    }
}

impl DraftState {
    /// What is due; the worker that is told to leave is at work no more.
    pub(super) fn next(&mut self, now: Instant) -> NextDraftAction {
        if let Some(run) = self.over.take() {
            return NextDraftAction::Clear(run);
        }
        let Some(sheet) = &self.sheet else {
            self.at_work = false;
            return NextDraftAction::Leave;
        };
        match sheet.due() {
            Some(due) if due <= now => NextDraftAction::Draw,
            due => NextDraftAction::Wait(due),
        }
    }
}

/// The first message of a reply so far. Where it is all of it, it says that more comes.
fn first_chunk(text: &str, capabilities: &Capabilities) -> Vec<RenderedPiece> {
    let end = text.floor_char_boundary(SHOWN_BYTES_MAX);
    let text = text.get(..end).unwrap_or(text).trim_end();
    let last = text.lines().last().unwrap_or_default().trim();
    // Behind a fence, a rule or a row of a table the sign would be taken for a part of it.
    let fence = last.starts_with("```") || last.starts_with("~~~");
    let rule = last.chars().all(|sign| matches!(sign, '-' | '=' | '*' | '_' | '#' | ' '));
    let alone = fence || rule || last.contains('|');
    let marked = if alone { format!("{text}\n\n{MORE}") } else { format!("{text} {MORE}") };
    let piece = |chunk: Chunk| RenderedPiece { text: chunk.plain, markup: Some(chunk.markup) };
    render(&marked, capabilities).into_iter().take(1).map(piece).collect()
}
