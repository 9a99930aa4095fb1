//! What spans tell beyond the log, in OpenTelemetry's words for generative models.
//!
//! Never: anything of it in the log, or what anybody said unless the config asks for it.
//! Start at [`record_attribute`].

use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::Value;
use opentelemetry::trace::Status;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// What is done: `chat`, `execute_tool` or `invoke_agent`.
pub const OPERATION: &str = "gen_ai.operation.name";
/// A model is asked.
pub const CHAT: &str = "chat";
/// A tool is run.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// A run is driven.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// Who runs the model.
pub const PROVIDER: &str = "gen_ai.provider.name";
/// The model that is asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// The most tokens that it may write.
pub const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
/// The model that answered, by Hob's own label: no dialect's reply is asked for another.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Why the reply ended.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Tokens read.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Tokens written.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
/// Of those read, written to a cache.
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub const CONVERSATION: &str = "gen_ai.conversation.id";
/// Who acts.
pub const AGENT: &str = "gen_ai.agent.name";
pub const TOOL: &str = "gen_ai.tool.name";
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
/// What kind of tool.
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
/// What went wrong, by class.
pub(crate) const ERROR_TYPE: &str = "error.type";
/// What the model is told for good; only where the config asks for contents.
pub const SYSTEM: &str = "gen_ai.system_instructions";
/// What the model is told; the same.
pub const INPUT: &str = "gen_ai.input.messages";
/// What it said; the same.
pub const OUTPUT: &str = "gen_ai.output.messages";
/// What a tool was given; the same.
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// What it answered; the same.
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";

/// The most characters of one content.
const CONTENT_CHARS_MAX: usize = 8_000;

static ON: AtomicBool = AtomicBool::new(false);
static CONTENT: AtomicBool = AtomicBool::new(false);

/// From now on spans are exported, perhaps with contents.
pub(super) fn switch_on(content: bool) {
    CONTENT.store(content, Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
}

/// Whether anybody hears what is told.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Whether they are to hear what people, models and tools say.
pub(crate) fn wants_content() -> bool {
    is_on() && CONTENT.load(Ordering::Relaxed)
}

/// A span has this attribute, if anybody hears.
pub fn record_attribute(span: &Span, key: &'static str, value: impl Into<Value>) {
    if is_on() {
        span.set_attribute(key, value);
    }
}

/// A count of tokens.
pub fn record_count(span: &Span, key: &'static str, count: u64) {
    record_attribute(span, key, i64::try_from(count).unwrap_or(i64::MAX));
}

/// Words, as many as fit, if they are wanted: asked for only then.
pub fn record_content(span: &Span, key: &'static str, words: impl FnOnce() -> String) {
    if wants_content() {
        let words = words();
        let cut = words.char_indices().nth(CONTENT_CHARS_MAX).map_or(words.len(), |(at, _)| at);
        record_attribute(span, key, words.get(..cut).unwrap_or_default().to_owned());
    }
}

/// What the span stands for failed, in this way.
pub fn failed(span: &Span, class: &str) {
    if is_on() {
        record_attribute(span, ERROR_TYPE, class.to_owned());
        span.set_status(Status::error(class.to_owned()));
    }
}

/// OpenTelemetry's name for who runs the model with this label.
pub fn provider_of(label: &str) -> &str {
    match label.split_once('/').map_or(label, |(provider, _)| provider) {
        "gemini" => "gcp.gemini",
        "xai" => "x_ai",
        "mistral" => "mistral_ai",
        other => other,
    }
}

/// The model behind the provider's name.
pub fn model_of(label: &str) -> &str {
    label.split_once('/').map_or(label, |(_, model)| model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_have_the_names_of_the_conventions() {
        for (label, provider, model) in [
            ("openai/gpt-5-mini", "openai", "gpt-5-mini"),
            ("gemini/gemini-3-pro", "gcp.gemini", "gemini-3-pro"),
            ("xai/grok-5", "x_ai", "grok-5"),
            ("openrouter/a/b", "openrouter", "a/b"),
            ("offline", "offline", "offline"),
        ] {
            assert_eq!((provider_of(label), model_of(label)), (provider, model));
        }
    }
}
