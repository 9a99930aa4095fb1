//! Traces, sent to a collector as OTLP over HTTP: finished spans wait in a bounded queue for a task that sends them in batches.
//!
//! Never: a wait where the work is done, a second attempt, or a secret. Who cannot be told is told nothing, and what was lost is
//! counted.
//! Start at `layer`, then [`Exporter`].

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::trace::{SpanKind, Status, TracerProvider};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor};
use prost::Message;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::metrics::Counter;
use crate::tasks;
use crate::{genai, hidden};
use hob_core::domain::secret::Secret;

/// The most finished spans that wait; those that come then are lost.
const QUEUE_MAX: usize = 2_048;
/// The most spans of one request.
const BATCH_MAX: usize = 512;
/// A span waits no longer for others to go with it.
const BATCH_EVERY: Duration = Duration::from_secs(2);
/// A collector that takes longer has not heard.
const EXPORT_MAX: Duration = Duration::from_secs(10);

/// The spans that are traces; the others are for the log alone. Those that last as long as the process would be roots without end.
pub const SPANS: [&str; 6] = ["router.accept", "run", "model.call", "tool.call", "memory.recall", "outbox.send"];

/// Spans that a collector took.
pub static SENT: Counter = Counter::new();
/// Spans that nobody will ever see: the queue was full, or the collector did not take them.
pub static LOST: Counter = Counter::new();

/// Where traces go, and what is in them.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// The collector's address, without `/v1/traces`.
    pub endpoint: String,
    pub headers: Vec<(String, Secret)>,
    /// What this Hob is called.
    pub service_name: String,
    /// Which share of the runs is traced.
    pub sample_ratio: f64,
    /// Whether what is said is told.
    pub content: bool,
    /// Who carries it there.
    pub client: reqwest::Client,
}

/// What makes traces of spans, and who sends them.
pub(super) fn layer(otlp: OtlpSettings) -> (Box<dyn Layer<LayeredRegistry> + Send + Sync>, Exporter) {
    let (queue, spans) = mpsc::channel(QUEUE_MAX);
    let resource = Resource::builder_empty()
        .with_service_name(otlp.service_name.clone())
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let provider = SdkTracerProvider::builder()
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(otlp.sample_ratio))))
        .with_resource(resource.clone())
        .with_span_processor(SpanQueue(queue))
        .build();
    let tracer = provider.tracer("hob");
    genai::switch_on(otlp.content);
    let layer = recorder(tracer).with_filter(filter_fn(is_traced)).boxed();
    (layer, Exporter { spans, otlp, resource, _provider: provider, fails: AtomicBool::new(false) })
}

/// What the layer stands on.
pub(super) type LayeredRegistry =
    tracing_subscriber::layer::Layered<Vec<Box<dyn Layer<Registry> + Send + Sync>>, Registry>;

fn recorder<S>(
    tracer: opentelemetry_sdk::trace::SdkTracer,
) -> tracing_opentelemetry::OpenTelemetryLayer<S, opentelemetry_sdk::trace::SdkTracer>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false)
}

/// Lines of the log are not part of a trace: they may quote what nobody has looked through yet.
fn is_traced(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && SPANS.contains(&metadata.name())
}

/// Where a finished span waits. It never makes whoever finished it wait.
#[derive(Debug)]
struct SpanQueue(mpsc::Sender<SpanData>);

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.0.try_send(span).is_err() {
            LOST.inc();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Sends what waits.
pub struct Exporter {
    spans: mpsc::Receiver<SpanData>,
    otlp: OtlpSettings,
    resource: Resource,
    /// The provider shuts its processors down when the last one lets go of it.
    _provider: SdkTracerProvider,
    /// The last batch was not taken: that is said once.
    fails: AtomicBool,
}

/// An exporter at work.
pub struct RunningExporter {
    task: JoinHandle<()>,
    stop: CancellationToken,
}

impl RunningExporter {
    /// Sends what still waits, for so long and no longer.
    pub async fn end(mut self, within: Duration) {
        self.stop.cancel();
        if tokio::time::timeout(within, &mut self.task).await.is_err() {
            self.task.abort();
            tracing::warn!("telemetry.lost: the last traces could not be sent in time");
        }
    }
}

/// A batch was not taken.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("{}", without_address(.0))]
    Unreachable(reqwest::Error),
    #[error("it answered {0}")]
    Refused(reqwest::StatusCode),
}

/// What went wrong, down to its cause, without the address: that may hold a key.
fn without_address(error: &reqwest::Error) -> String {
    let cause = std::iter::successors(std::error::Error::source(error), |cause| cause.source()).last();
    cause.map_or_else(|| "it cannot be reached".to_owned(), ToString::to_string)
}

impl Exporter {
    /// Begins to send, on the runtime that it is called on.
    pub fn begin(self) -> RunningExporter {
        let stop = CancellationToken::new();
        RunningExporter { task: tasks::spawn("telemetry", self.work(stop.clone())), stop }
    }

    async fn work(mut self, stop: CancellationToken) {
        let mut batch = Vec::new();
        while self.gather(&mut batch, &stop).await {
            self.send(std::mem::take(&mut batch)).await;
        }
        // What waits now is the last.
        loop {
            while let Some(span) = self.spans.try_recv().ok().filter(|_| batch.len() < BATCH_MAX) {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            self.send(std::mem::take(&mut batch)).await;
        }
    }

    /// Waits for spans, and then a moment for more; false: it is to stop.
    async fn gather(&mut self, batch: &mut Vec<SpanData>, stop: &CancellationToken) -> bool {
        tokio::select! {
            biased;
            () = stop.cancelled() => return false,
            span = self.spans.recv() => match span {
                Some(span) => batch.push(span),
                None => return false,
            },
        }
        let due = Instant::now() + BATCH_EVERY;
        while batch.len() < BATCH_MAX {
            let room = BATCH_MAX - batch.len();
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                () = tokio::time::sleep_until(due) => return true,
                taken = self.spans.recv_many(batch, room) => if taken == 0 { return true },
            }
        }
        true
    }

    async fn send(&self, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        match self.export(batch).await {
            Ok(rejected) => {
                SENT.add(count.saturating_sub(rejected));
                LOST.add(rejected.min(count));
                if self.fails.swap(false, Ordering::Relaxed) {
                    tracing::info!("telemetry.sent: the collector takes traces again");
                }
            }
            Err(error) => {
                LOST.add(count);
                if !self.fails.swap(true, Ordering::Relaxed) {
                    let error = hidden(&error.to_string());
                    tracing::warn!(
                        error,
                        "telemetry.lost: the collector under telemetry.otlp takes no traces; they are dropped"
                    );
                }
            }
        }
    }

    /// Sends a batch once; gives how many of it the collector rejected.
    async fn export(&self, batch: Vec<SpanData>) -> Result<u64, ExportError> {
        let spans = batch.into_iter().map(with_conventions).map(clean).collect();
        let resource = ResourceAttributesWithSchema::from(&self.resource);
        let request = ExportTraceServiceRequest { resource_spans: group_spans_by_resource_and_scope(spans, &resource) };
        let address = format!("{}/v1/traces", self.otlp.endpoint.trim_end_matches('/'));
        let mut post = self.otlp.client.post(address).timeout(EXPORT_MAX);
        for (name, value) in &self.otlp.headers {
            post = post.header(name, value.expose());
        }
        let post = post.header("content-type", "application/x-protobuf").body(request.encode_to_vec());
        let answer = post.send().await.map_err(ExportError::Unreachable)?;
        if !answer.status().is_success() {
            return Err(ExportError::Refused(answer.status()));
        }
        // An answer that cannot be read rejects nothing.
        let body = answer.bytes().await.map_err(ExportError::Unreachable)?;
        let partial = ExportTraceServiceResponse::decode(body).unwrap_or_default().partial_success;
        Ok(partial.map_or(0, |partial| u64::try_from(partial.rejected_spans).unwrap_or(0)))
    }
}

/// A span under the name and kind that the conventions give it: the log knows it by another.
fn with_conventions(mut span: SpanData) -> SpanData {
    let text =
        |key: &str| span.attributes.iter().find(|kept| kept.key.as_str() == key).map(|kept| kept.value.to_string());
    if let Some(operation) = text(genai::OPERATION) {
        let subject = [genai::REQUEST_MODEL, genai::TOOL, genai::AGENT].into_iter().find_map(text);
        span.span_kind = if operation == genai::CHAT { SpanKind::Client } else { SpanKind::Internal };
        span.name = Cow::Owned(match subject {
            Some(subject) => format!("{operation} {subject}"),
            None => operation,
        });
    }
    span
}

/// A span without secrets.
fn clean(mut span: SpanData) -> SpanData {
    span.name = Cow::Owned(hidden(&span.name));
    for kept in &mut span.attributes {
        match &mut kept.value {
            Value::String(text) => *text = StringValue::from(hidden(text.as_str())),
            Value::Array(Array::String(texts)) => {
                texts.iter_mut().for_each(|text| *text = StringValue::from(hidden(text.as_str())));
            }
            _ => {}
        }
    }
    if let Status::Error { description } = &mut span.status {
        *description = Cow::Owned(hidden(description));
    }
    span
}
