//! One exchange with a model over HTTP: the request is sent once, the answer is read as a stream of events.
//!
//! Never: a retry, or a meaning; what the events say is the dialect's [`ReplyFold`].
//! Start at [`exchange`].

use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::{ErrorClass, ModelError};
use crate::exchange::answer::Failure;
use crate::exchange::frame::{Frame, Frames, Framing};
use crate::exchange::surrogates::{SurrogateHalves, repaired};
use crate::message::{Completion, ReplyPart};
use crate::metered_provider;
use crate::provider::Sink;
use crate::settings::Deadlines;
use hob_telemetry::genai;

pub(crate) mod answer;
pub mod endpoint;
pub(crate) mod frame;
pub(crate) mod surrogates;

/// How long a reply may take in all: one that never ends is given up, however lively.
const REPLY_DURATION_MAX: Duration = Duration::from_secs(30 * 60);
/// How long the rest (the usage) may take after the model has said that it is done.
const REST_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long a server may take to answer what is not a call of a model.
pub(crate) const LOOK_UP_WAIT_MAX: Duration = Duration::from_secs(15);

/// Puts a reply together from the events of its stream.
pub trait ReplyFold: Send {
    /// Takes one event's data, answers with the new text that may be shown.
    fn take(&mut self, event: &str) -> Result<String, ModelError>;

    /// Whether the reply is whole; at most its price may follow.
    fn finished(&self) -> bool;

    /// Whether the server has said that nothing follows: some keep the connection open.
    fn is_over(&self) -> bool {
        false
    }

    /// The reply, now that the stream is over.
    fn complete(self) -> Result<Completion, ModelError>;
}

/// What is sent, and how the answer is written.
#[derive(Debug)]
pub struct HttpCall {
    /// The request, with headers and body.
    pub request: RequestBuilder,
    /// How its events stand in the stream.
    pub(crate) framing: Framing,
}

/// Sends the call, streams the reply's text into `sink`, answers with the whole of it.
pub async fn exchange<F: ReplyFold>(
    deadlines: &Deadlines,
    call: HttpCall,
    fold: F,
    sink: &dyn Sink,
) -> Result<Completion, Failure> {
    let sent = Instant::now();
    let first = sent + deadlines.first_event;
    let response = timeout_at(first, send(call.request)).await.map_err(|_elapsed| no_answer())??;
    let stream = Stream { response, frames: Frames::new(call.framing) };
    let limits = ReadDeadlines { first, between: deadlines.between_events, over: sent + REPLY_DURATION_MAX };
    let mut completion = read(stream, limits, fold, sink).await?;
    for part in &mut completion.parts {
        if let ReplyPart::Call(call) = part {
            call.arguments = repaired(std::mem::take(&mut call.arguments));
        }
    }
    completion.latency_ms = u64::try_from(sent.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(completion)
}

/// Asks for something that is not a call of a model: a list, a description.
pub(crate) async fn get_json<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, Failure> {
    let sent = async { Ok(request.send().await.map_err(|error| answer::unreachable_server(&error))?) };
    parse_answer(&body_within(LOOK_UP_WAIT_MAX, sent).await?)
}

/// The body of the response that is `sent`, if all of it comes within `wait`.
pub(crate) async fn body_within(
    wait: Duration,
    sent: impl Future<Output = Result<Response, Failure>>,
) -> Result<Vec<u8>, Failure> {
    let whole = async { answer::read_body(sent.await?).await };
    timeout(wait, whole).await.map_err(|_elapsed| no_answer())?
}

/// What an answer says, if it has the shape.
pub(crate) fn parse_answer<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        // Where it is wrong, not what it says.
        tracing::debug!(line = error.line(), column = error.column(), "a model server's answer has another shape");
        malformed("The model server's answer cannot be understood.").into()
    })
}

async fn send(request: RequestBuilder) -> Result<Response, Failure> {
    answer::expect_stream(request.send().await.map_err(|error| answer::unreachable_server(&error))?).await
}

/// Until when to wait for what.
#[derive(Debug, Clone, Copy)]
struct ReadDeadlines {
    first: Instant,
    between: Duration,
    over: Instant,
}

async fn read<F: ReplyFold>(
    mut stream: Stream,
    mut limits: ReadDeadlines,
    mut fold: F,
    sink: &dyn Sink,
) -> Result<Completion, ModelError> {
    let mut deadline = limits.first;
    let mut begun = false;
    let mut halves = SurrogateHalves::default();
    let mut named = !genai::is_on();
    loop {
        let whole = fold.finished();
        let event = match timeout_at(deadline.min(limits.over), stream.next()).await {
            Ok(Ok(Some(Frame::Event(event)))) => Some(event),
            Ok(Ok(Some(Frame::Comment))) => None,
            Ok(Ok(None)) => break,
            // What is missing is at most the price.
            Ok(Err(_)) | Err(_) if whole => break,
            Ok(Err(error)) => return Err(error),
            Err(_) if Instant::now() >= limits.over => return Err(timed_out("did not come to an end")),
            Err(_) if begun => return Err(timed_out("fell silent during its reply")),
            Err(_) => return Err(no_answer()),
        };
        begun = true;
        deadline = Instant::now() + limits.between;
        named = named || event.as_deref().is_some_and(metered_provider::introduced);
        let shown = match event.map(|event| fold.take(&halves.join_halves(event))) {
            None => String::new(),
            Some(Ok(shown)) => shown,
            Some(Err(_)) if whole => break,
            Some(Err(error)) => return Err(error),
        };
        if !shown.is_empty() {
            sink.delta(&shown);
        }
        if fold.is_over() {
            break;
        }
        if !whole && fold.finished() {
            limits.over = limits.over.min(Instant::now() + REST_WAIT_MAX);
        }
    }
    fold.complete()
}

/// The answer's bytes, cut into events.
struct Stream {
    response: Response,
    frames: Frames,
}

impl Stream {
    async fn next(&mut self) -> Result<Option<Frame>, ModelError> {
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                return Ok(Some(frame));
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.frames.push(&bytes)?,
                Ok(None) => return Ok(self.frames.finish_stream()),
                Err(error) => {
                    tracing::debug!(%error, "a model's reply broke off");
                    return Err(broken_off());
                }
            }
        }
    }
}

/// The stream ended before the reply did.
pub(crate) fn broken_off() -> ModelError {
    ModelError::new(ErrorClass::Network, "The connection to the model provider broke off during the reply.")
}

/// The reply has another shape than it should, or another size.
pub fn malformed(message: &str) -> ModelError {
    ModelError::new(ErrorClass::Malformed, message)
}

/// The model did not do `what` in time.
pub fn timed_out(what: &str) -> ModelError {
    ModelError::new(ErrorClass::Timeout, format!("The model {what}."))
}

fn no_answer() -> ModelError {
    timed_out("did not answer in time")
}
