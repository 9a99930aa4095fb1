//! What is under way: at most one model call, and the tools of one batch. Dropping it stops it.

mod reply_stream;
pub(super) mod tool;
mod tool_files;
mod undo_offer;

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{self, BoxFuture};
use tracing::Instrument;

use crate::activity_text;
use crate::driver::assess::AssessmentContext;
use crate::driver::metrics::{StageTimers, ToolCallMeter, tool_span};
use crate::driver::perform::reply_stream::ReplyStream;
use crate::driver::perform::tool::{ToolJob, ToolJobOutcome};
use crate::driver::pictures::shows_pictures;
use crate::machine::compaction;
use crate::machine::effect::{FallbackChain, ModelCall};
use crate::machine::event::{Event, ToolOutcome};
use crate::ports::Ports;
use hob_core::domain::channel::Progress;
use hob_core::domain::ids::{CallId, RunId};
use hob_core::domain::outgoing::Destination;
use hob_core::policy::redact::redact;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, ToolCall};
use hob_model::provider::{NoSink, Provider, Request, Sink};

/// For the model: a tool panicked.
const BROKE: &str = "The tool broke. What it had done by then is not known.";
/// How much of a panic's words is logged.
const LOGGED_PANIC_CHARS_MAX: usize = 200;

/// Everything that is under way in one run.
#[derive(Default)]
pub(super) struct PendingWork {
    running: Vec<PendingTask>,
    ready: VecDeque<Event>,
}

/// One thing under way; dropping it stops it.
struct PendingTask {
    /// Which tool call it is; the model has none.
    call: Option<CallId>,
    work: BoxFuture<'static, Vec<Event>>,
}

/// Where a model call's words go while they come.
pub(super) struct ReplyTarget<'a> {
    pub(super) ports: &'a Arc<Ports>,
    pub(super) destination: &'a Destination,
    pub(super) run: RunId,
    /// No person waits for these words: nothing of them is shown.
    pub(super) mute: bool,
    /// What is noted of the answer.
    pub(super) stages: &'a StageTimers,
}

impl PendingWork {
    /// What there is to say of the next thing that is done; pends while nothing is.
    pub(super) async fn next(&mut self) -> Vec<Event> {
        if let Some(event) = self.ready.pop_front() {
            return vec![event];
        }
        let running = &mut self.running;
        // They are few, and always asked in the order in which they began.
        future::poll_fn(|context| {
            for at in 0..running.len() {
                if let Poll::Ready(events) = running[at].work.as_mut().poll(context) {
                    drop(running.remove(at));
                    return Poll::Ready(events);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Asks the model, and its tools what they think of the calls it wants made.
    pub(super) fn call_model(
        &mut self,
        stage: &ReplyTarget<'_>,
        call: ModelCall,
        request: Request,
        look: AssessmentContext,
    ) {
        let live = ReplyStream::of(stage, call.check || stage.mute);
        live.tell(start_of(&call));
        live.tell(Progress::Doing(activity_text::model_asked_text(&call.label)));
        let models = &stage.ports.models;
        let provider = if call.chain.forced { models.get_forced(&call.label) } else { models.get(&call.label) };
        let fraction = stage.ports.rng.fraction();
        let work = Box::pin(async move {
            if call.delay_ms > 0 {
                tokio::time::sleep(with_jitter(call.delay_ms, fraction)).await;
            }
            let pictures = shows_pictures(&request);
            let asked = AssertUnwindSafe(ask(provider, &call.label, &request, &live)).catch_unwind().await;
            match asked {
                Ok(Ok(completion)) => {
                    let known = look.assess_reply(&completion).await;
                    known.into_iter().chain([Event::ModelAnswered(completion)]).collect()
                }
                Ok(Err(error)) => vec![failed(&error, pictures)],
                // A panic is nothing that pictures bring about.
                Err(panic) => vec![failed(&ModelError::new(ErrorClass::BadRequest, panic_message(&*panic)), false)],
            }
        });
        self.running.push(PendingTask { call: None, work });
    }

    /// Asks a call's tool what it would do now.
    pub(super) fn look(&mut self, look: AssessmentContext, call: ToolCall) {
        let work = Box::pin(async move {
            let known = look.reassess(&call).await;
            vec![Event::Looked { call: call.id, known }]
        });
        self.running.push(PendingTask { call: None, work });
    }

    /// Asks for a summary, for so long and no longer.
    pub(super) fn summarise(&mut self, ports: &Arc<Ports>, label: String, request: Request, deadline: Duration) {
        let provider = ports.models.get(&label);
        let work = Box::pin(async move {
            let asked = AssertUnwindSafe(ask(provider, &label, &request, &NoSink)).catch_unwind();
            let event = match tokio::time::timeout(deadline, asked).await {
                Ok(Ok(Ok(completion))) => {
                    Event::SummaryMade { text: redact(&completion.text()), usage: completion.usage }
                }
                Ok(Ok(Err(error))) => Event::SummaryFailed { why: error.message, late: false },
                Ok(Err(panic)) => Event::SummaryFailed { why: panic_message(&*panic), late: true },
                Err(_elapsed) => Event::SummaryFailed { why: compaction::texts::LATE.to_owned(), late: true },
            };
            vec![event]
        });
        self.running.push(PendingTask { call: None, work });
    }

    pub(super) fn run_tool(&mut self, ports: &Arc<Ports>, job: ToolJob) {
        let ports = Arc::clone(ports);
        let id = job.call.id.clone();
        let doing = Progress::Doing(activity_text::call_running_text(&job.call));
        ports.watcher.progress(&job.destination, job.run, doing);
        let work = Box::pin(async move {
            let call = job.call.id.clone();
            let (span, is_known) = (tool_span(&job.call), job.tools.get(&job.call.name).is_some());
            let mut meter = ToolCallMeter::begin(&ports.meters, &job.call, is_known);
            let done = AssertUnwindSafe(tool::run(&ports, job)).catch_unwind().instrument(span.clone()).await;
            let ToolJobOutcome { outcome, source, draft, undo } = done.unwrap_or_else(|panic| {
                let message = panic_message(&*panic);
                tracing::error!(message = excerpt(&message), "a tool panicked");
                // A panic's words may quote whatever the tool had read: nobody vouches for them.
                ToolJobOutcome::of(ToolOutcome::Text { text: BROKE.to_owned(), is_error: true })
            });
            meter.ended(&span, &outcome);
            vec![Event::ToolFinished { call, outcome, source, draft, undo }]
        });
        self.running.push(PendingTask { call: Some(id), work });
    }

    /// Stops tools: what they started is killed before their end is told, for that end may be committed at once.
    pub(super) fn abort(&mut self, calls: &[CallId]) {
        for id in calls {
            if let Some(at) = self.running.iter().position(|running| running.call.as_ref() == Some(id)) {
                drop(self.running.remove(at));
                let (call, outcome) = (id.clone(), ToolOutcome::Interrupted);
                self.ready.push_back(Event::ToolFinished { call, outcome, source: None, draft: None, undo: None });
            }
        }
    }
}

/// What is told when a model is asked: after a failure, whoever it was, what was streamed is void; so is a reply that is
/// looked at again.
fn start_of(call: &ModelCall) -> Progress {
    let again = call.failures > 0 || call.chain != FallbackChain::default() || call.check;
    if again { Progress::Restart } else { Progress::Working }
}

/// Up to a quarter more, so that those who failed together do not come back together (row E2); never less than asked.
fn with_jitter(delay_ms: u64, fraction: f64) -> Duration {
    Duration::from_millis(delay_ms).mul_f64(1.0 + fraction / 4.0)
}

fn failed(error: &ModelError, pictures: bool) -> Event {
    let retry_after_ms = error.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    Event::ModelFailed { class: error.class, message: error.message.clone(), retry_after_ms, pictures }
}

async fn ask(
    provider: Option<Arc<dyn Provider>>,
    label: &str,
    request: &Request,
    sink: &dyn Sink,
) -> Result<Completion, ModelError> {
    match provider {
        Some(provider) => provider.complete(request, sink).await,
        None => Err(ModelError::new(ErrorClass::UnknownModel, format!("{label} is no longer configured"))),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

/// What a log shows of a panic: its words may quote what a person or a provider said.
fn excerpt(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    line.char_indices().nth(LOGGED_PANIC_CHARS_MAX).map_or(line, |(end, _)| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::digest::Digest;
    use crate::machine::effect::ModelCallPurpose;
    use hob_model::provider::ToolChoice;

    /// Under way for ever; tells when it is dropped.
    fn held(call: &str) -> (PendingTask, Arc<()>) {
        let outside = Arc::new(());
        let inside = Arc::clone(&outside);
        let work = Box::pin(async move {
            let _inside = inside;
            future::pending().await
        });
        (PendingTask { call: Some(CallId(call.to_owned())), work }, outside)
    }

    #[test]
    fn what_a_failed_model_streamed_is_void_for_the_next_one() {
        let first = ModelCall {
            purpose: ModelCallPurpose::Work,
            choice: ToolChoice::Auto,
            check: false,
            blind: false,
            model: 0,
            label: String::new(),
            delay_ms: 0,
            failures: 0,
            chain: FallbackChain::default(),
            digest: Digest::of("request1", &[]),
            counted: 0,
            input_estimate: 0,
            reserve: None,
        };
        assert_eq!(start_of(&first), Progress::Working);
        assert_eq!(start_of(&ModelCall { failures: 1, ..first.clone() }), Progress::Restart);
        assert_eq!(start_of(&ModelCall { check: true, ..first.clone() }), Progress::Restart);
        let blinded = FallbackChain { blinded: true, ..FallbackChain::default() };
        assert_eq!(start_of(&ModelCall { chain: blinded, ..first.clone() }), Progress::Restart);
        let passed = FallbackChain { passed: 1, ..FallbackChain::default() };
        assert_eq!(start_of(&ModelCall { chain: passed, ..first }), Progress::Restart);
    }

    #[test]
    fn a_panic_is_logged_with_its_first_line_cut() {
        assert_eq!(excerpt("broke\nsaid: a secret"), "broke");
        assert_eq!(excerpt(&"ä".repeat(300)), "ä".repeat(200));
        assert_eq!(excerpt(""), "");
    }

    #[tokio::test]
    async fn what_is_aborted_is_gone_before_its_end_is_told() {
        let mut work = PendingWork::default();
        let (first, first_held) = held("1.0");
        let (second, second_held) = held("1.1");
        work.running.extend([first, second]);
        assert!(work.next().now_or_never().is_none(), "both have begun");
        work.abort(&[CallId("1.1".to_owned())]);
        assert_eq!((Arc::strong_count(&first_held), Arc::strong_count(&second_held)), (2, 1));
        let told = work.next().await;
        let (call, outcome) = (CallId("1.1".to_owned()), ToolOutcome::Interrupted);
        assert_eq!(told, [Event::ToolFinished { call, outcome, source: None, draft: None, undo: None }]);
        assert!(work.next().now_or_never().is_none(), "the other goes on");
        assert_eq!(Arc::strong_count(&first_held), 2);
    }
}
