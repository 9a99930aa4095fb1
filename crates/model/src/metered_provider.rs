//! A model whose calls are counted and traced: how many, how long, what they read and wrote, what that cost.
//!
//! Never: a change to what is asked or answered.
//! Start at `MeteredProvider`.

use std::sync::Arc;

use async_trait::async_trait;
use opentelemetry::{Array, StringValue, Value};
use serde::Deserialize;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use crate::error::ModelError;
use crate::message::{Completion, StopReason, Usage};
use crate::model_table::ModelTable;
use crate::price;
use crate::provider::{ModelCheck, Provider, Request, Sink};
use hob_telemetry::genai;
use hob_telemetry::meters::Meters;

/// Where calls are counted, and by which prices.
#[derive(Clone)]
pub struct Metering {
    pub meters: Arc<Meters>,
    /// The prices.
    pub table: Arc<ModelTable>,
}

/// The model behind it, counted.
pub(crate) struct MeteredProvider {
    inner: Arc<dyn Provider>,
    metering: Metering,
}

impl MeteredProvider {
    /// `inner`, whose calls are counted by `metering`.
    pub(crate) fn new(inner: Arc<dyn Provider>, metering: Metering) -> Self {
        Self { inner, metering }
    }

    fn bill(&self, usage: &Usage) {
        let (meters, label) = (&self.metering.meters, self.inner.label());
        let kinds = [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached", usage.cached_tokens),
            ("cache_write", usage.cache_write_tokens),
            ("reasoning", usage.reasoning_tokens),
        ];
        for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
            meters.tokens.of(&[label, kind]).add(count);
        }
        if let Some(rates) = self.metering.table.facts(label).rates {
            let nanos = u64::try_from(price::cost(usage, &rates).nanos()).unwrap_or(0);
            meters.cost.of(&[label]).add(nanos);
        }
    }
}

/// A call under way. Dropped without an end, nobody waited for it.
struct OpenCall<'a> {
    metered: &'a MeteredProvider,
    begun: Instant,
    outcome: &'static str,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let (meters, label) = (&self.metered.metering.meters, self.metered.inner.label());
        meters.model_calls.of(&[label, self.outcome]).inc();
        meters.model_time.of(&[label]).observe(self.begun.elapsed());
    }
}

#[async_trait]
impl Provider for MeteredProvider {
    fn label(&self) -> &str {
        self.inner.label()
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let span = tracing::info_span!("model.call", model = self.inner.label());
        record_request(&span, self.inner.label(), request);
        let mut open = OpenCall { metered: self, begun: Instant::now(), outcome: "abandoned" };
        let answer = self.inner.complete(request, sink).instrument(span.clone()).await;
        match &answer {
            Ok(completion) => {
                open.outcome = "answered";
                self.bill(&completion.usage);
                answered(&span, completion);
            }
            Err(error) => {
                open.outcome = error.class.name();
                genai::failed(&span, open.outcome);
            }
        }
        answer
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        self.inner.check().await
    }
}

fn record_request(span: &Span, label: &str, request: &Request) {
    if !genai::is_on() {
        return;
    }
    genai::record_attribute(span, genai::OPERATION, genai::CHAT);
    genai::record_attribute(span, genai::PROVIDER, genai::provider_of(label).to_owned());
    genai::record_attribute(span, genai::REQUEST_MODEL, genai::model_of(label).to_owned());
    if let Some(limit) = request.max_output_tokens {
        genai::record_count(span, genai::REQUEST_MAX_TOKENS, limit);
    }
    genai::record_content(span, genai::SYSTEM, || request.system.clone());
    genai::record_content(span, genai::INPUT, || serde_json::to_string(&request.messages).unwrap_or_default());
}

fn answered(span: &Span, completion: &Completion) {
    if !genai::is_on() {
        return;
    }
    let Usage { input_tokens, output_tokens, cached_tokens, cache_write_tokens, .. } = completion.usage;
    genai::record_count(span, genai::INPUT_TOKENS, input_tokens);
    genai::record_count(span, genai::OUTPUT_TOKENS, output_tokens);
    genai::record_count(span, genai::CACHE_READ_TOKENS, cached_tokens);
    genai::record_count(span, genai::CACHE_WRITE_TOKENS, cache_write_tokens);
    let reason = match completion.stop {
        StopReason::End => "stop",
        StopReason::MaxTokens => "length",
        StopReason::ContentFilter => "content_filter",
    };
    genai::record_attribute(span, genai::FINISH_REASONS, Value::Array(Array::String(vec![StringValue::from(reason)])));
    genai::record_content(span, genai::OUTPUT, || completion.text().into_owned());
}

/// Who answers, by its own word in an event of its stream; asked for only while somebody hears.
pub(super) fn introduced(event: &str) -> bool {
    let Some(model) = serde_json::from_str::<ModelNameEvent>(event).ok().and_then(ModelNameEvent::model) else {
        return false;
    };
    genai::record_attribute(&Span::current(), genai::RESPONSE_MODEL, model);
    true
}

/// Where the dialects name the model that answers.
#[derive(Deserialize)]
struct ModelNameEvent {
    model: Option<String>,
    #[serde(rename = "modelVersion")]
    model_version: Option<String>,
    message: Option<NestedModelName>,
}

#[derive(Deserialize)]
struct NestedModelName {
    model: Option<String>,
}

impl ModelNameEvent {
    fn model(self) -> Option<String> {
        self.model.or(self.model_version).or_else(|| self.message?.model).filter(|model| !model.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::error::ErrorClass;
    use crate::provider::NoSink;
    use hob_telemetry::metrics::{Counter, Family};

    struct FakeProvider(Option<Result<Completion, ErrorClass>>);

    #[async_trait]
    impl Provider for FakeProvider {
        fn label(&self) -> &'static str {
            "openai/gpt-5-mini"
        }

        async fn complete(&self, _request: &Request, _sink: &dyn Sink) -> Result<Completion, ModelError> {
            match self.0.clone() {
                Some(answer) => answer.map_err(|class| ModelError::new(class, "no")),
                None => std::future::pending().await,
            }
        }
    }

    fn all(family: &Family<Counter>) -> BTreeMap<String, u64> {
        family.all().into_iter().map(|(values, counter)| (values.join(" "), counter.get())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn n11_each_call_is_counted_by_what_came_of_it() {
        let metering = Metering { meters: Arc::default(), table: Arc::new(ModelTable::new(&BTreeMap::new()).unwrap()) };
        let request = Request::default();
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 1_000, cached_tokens: 10, ..Usage::default() };
        let said = Completion { usage, ..Completion::from_text_and_calls("yes", Vec::new()) };
        for answer in [Some(Ok(said)), Some(Err(ErrorClass::Overloaded)), None] {
            let model = MeteredProvider::new(Arc::new(FakeProvider(answer)), metering.clone());
            let wait = std::time::Duration::from_secs(1);
            let _whatever = tokio::time::timeout(wait, model.complete(&request, &NoSink)).await;
        }
        let meters = &metering.meters;
        let calls = all(&meters.model_calls);
        let expected =
            ["abandoned", "answered", "overloaded"].map(|outcome| (format!("openai/gpt-5-mini {outcome}"), 1));
        assert_eq!(calls, BTreeMap::from(expected));
        let tokens = all(&meters.tokens);
        assert_eq!(tokens["openai/gpt-5-mini input"], 1_000_000);
        assert_eq!(tokens["openai/gpt-5-mini cached"], 10);
        assert_eq!(tokens.len(), 3, "what was not used has no series");
        let rates = metering.table.facts("openai/gpt-5-mini").rates.unwrap();
        let cost = u64::try_from(price::cost(&usage, &rates).nanos()).unwrap();
        assert_eq!(all(&meters.cost), BTreeMap::from([("openai/gpt-5-mini".to_owned(), cost)]));
        assert!(cost > 0);
        assert_eq!(meters.model_time.of(&["openai/gpt-5-mini"]).spread().count, 3);
    }

    #[test]
    fn each_dialect_names_who_answers() {
        let named = |event: &str| serde_json::from_str::<ModelNameEvent>(event).ok().and_then(ModelNameEvent::model);
        for (event, expected) in [
            (r#"{"id":"1","model":"gpt-5-mini-2026","choices":[]}"#, Some("gpt-5-mini-2026")),
            (r#"{"type":"message_start","message":{"model":"claude-9","usage":{}}}"#, Some("claude-9")),
            (r#"{"candidates":[],"modelVersion":"gemini-4"}"#, Some("gemini-4")),
            (r#"{"model":"qwen4","message":{"role":"assistant","content":""}}"#, Some("qwen4")),
            (r#"{"choices":[]}"#, None),
            ("[DONE]", None),
        ] {
            assert_eq!(named(event).as_deref(), expected, "{event}");
        }
    }
}
