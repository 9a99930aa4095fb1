//! What the fuzz targets in `fuzz/` call; there only with the feature `fuzzing`.
//!
//! Never: I/O. Each checks a law besides not panicking: how the bytes are cut makes no difference, and what was shown
//! is what was said.
//! Start at [`reply`].

use crate::classify::{ErrorResponse, RETRY_AFTER_MAX, classify};
use crate::error::ModelError;
use crate::exchange::ReplyFold;
use crate::exchange::frame::{Frame, Frames, Framing};
use crate::exchange::surrogates::SurrogateHalves;
use crate::message::Completion;
use crate::{anthropic, gemini, ollama, openai, responses};

/// Whose reply it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's, with the thinking that OpenRouter wants back.
    OpenAi,
    /// That of OpenAI's Responses.
    Responses,
    Anthropic,
    Gemini,
    Ollama,
}

/// A reply: the first byte says how the rest is cut.
///
/// # Panics
/// When a law does not hold.
pub fn reply(dialect: Dialect, input: &[u8]) {
    match dialect {
        Dialect::OpenAi => laws(Framing::ServerSentEvents, openai::fold, input),
        Dialect::Responses => laws(Framing::ServerSentEvents, responses::fold, input),
        Dialect::Anthropic => laws(Framing::ServerSentEvents, || anthropic::reply::Reply::new("a/b"), input),
        Dialect::Gemini => laws(Framing::ServerSentEvents, gemini::fold, input),
        Dialect::Ollama => laws(Framing::JsonLines, ollama::fold, input),
    }
}

/// A stream's events in both framings: the first byte says how the rest is cut.
///
/// # Panics
/// When the cut makes a difference.
pub fn frames(input: &[u8]) {
    let Some((cut, stream)) = input.split_first() else { return };
    for framing in [Framing::ServerSentEvents, Framing::JsonLines] {
        assert_eq!(events(framing, stream, stream.len()), events(framing, stream, usize::from(*cut)));
    }
}

/// The body of a refusal: the first two bytes are its status.
///
/// # Panics
/// When there are no words for it, or it names an absurd wait.
pub fn error_body(input: &[u8]) {
    let Some((status, body)) = input.split_first_chunk() else { return };
    let body = String::from_utf8_lossy(body);
    let line = body.lines().next();
    let refusal = ErrorResponse::with_headers(u16::from_le_bytes(*status), |_name| line, &body);
    let error = classify(&refusal);
    assert!(!error.message.trim().is_empty() && error.retry_after.is_none_or(|wait| wait <= RETRY_AFTER_MAX));
}

fn laws<F: ReplyFold>(framing: Framing, fold: impl Fn() -> F, input: &[u8]) {
    let Some((cut, stream)) = input.split_first() else { return };
    let (shown, outcome) = run_fold(framing, fold(), stream, stream.len());
    if let Ok(completion) = &outcome {
        assert_eq!(shown, completion.text(), "what was shown is not what was said");
    }
    assert_eq!((shown, outcome), run_fold(framing, fold(), stream, usize::from(*cut)), "the cut makes a difference");
}

/// What is shown of a stream that comes in pieces of this length, and what comes of it.
fn run_fold<F: ReplyFold>(
    framing: Framing,
    mut fold: F,
    stream: &[u8],
    piece_len: usize,
) -> (String, Result<Completion, ModelError>) {
    let (events, broken) = events(framing, stream, piece_len);
    let (mut shown, mut halves) = (String::new(), SurrogateHalves::default());
    for frame in events {
        let Frame::Event(event) = frame else { continue };
        match fold.take(&halves.join_halves(event)) {
            Ok(more) => shown.push_str(&more),
            Err(_) if fold.finished() => break,
            Err(error) => return (shown, Err(error)),
        }
    }
    match broken {
        Some(error) if !fold.finished() => (shown, Err(error)),
        Some(_) | None => (shown, fold.complete()),
    }
}

/// The events of a stream up to its end, or to what is not a stream.
fn events(framing: Framing, stream: &[u8], piece_len: usize) -> (Vec<Frame>, Option<ModelError>) {
    let mut frames = Frames::new(framing);
    let mut events = Vec::new();
    for piece in stream.chunks(piece_len.max(1)) {
        if let Err(error) = frames.push(piece) {
            return (events, Some(error));
        }
        loop {
            match frames.next_frame() {
                Ok(Some(frame)) => events.push(frame),
                Ok(None) => break,
                Err(error) => return (events, Some(error)),
            }
        }
    }
    events.extend(frames.finish_stream());
    (events, None)
}
