//! One real call with a harmless tool, step by step.
//!
//! Never: a tool that does anything, or a retry: what fails once is what the person wants to know.
//! Start at [`run`].

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use hob_core::domain::ids::CallId;
use hob_core::domain::money::Money;
use hob_core::domain::text::{cut, one_line};
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, Message, ReplyPart, ToolCall, ToolResult};
use hob_model::offline;
use hob_model::price::{Rates, cost};
use hob_model::provider::{NoSink, Provider, Request, ToolSchema};

const TOOL: &str = "echo_number";
/// What it is to be called with: no number that a model would come upon by itself.
const NUMBER: i64 = 7341;
/// The longest that one reply may take as a whole: a model that never stops is no use.
const REPLY_MAX: Duration = Duration::from_secs(300);

/// A step that was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct TrialStep {
    what: &'static str,
    latency_ms: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    #[serde(rename = "cost_usd", serialize_with = "in_usd")]
    cost: Option<Money>,
}

/// What failed, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct TrialFailure {
    what: String,
    advice: &'static str,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ModelTrial {
    label: String,
    steps: Vec<TrialStep>,
    /// The model's last words, if it passed.
    pub(super) said: Option<String>,
    /// Why it did not pass.
    pub(super) failure: Option<TrialFailure>,
}

#[expect(clippy::ref_option, reason = "serde hands a reference in")]
fn in_usd<S: serde::Serializer>(cost: &Option<Money>, serializer: S) -> Result<S::Ok, S::Error> {
    cost.map(|cost| cost.nanos() as f64 / 1e9).serialize(serializer)
}

impl fmt::Display for TrialStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, latency_ms, input_tokens, cached_tokens, output_tokens, cost } = self;
        write!(f, "  {what}: {:.1} s, {input_tokens} tokens read", *latency_ms as f64 / 1000.0)?;
        if *cached_tokens > 0 {
            write!(f, " ({cached_tokens} of them cached)")?;
        }
        write!(f, ", {output_tokens} written, ")?;
        match cost {
            Some(cost) => cost.fmt(f),
            None => f.write_str("price unknown"),
        }
    }
}

impl fmt::Display for TrialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.what, self.advice)
    }
}

/// Makes the calls, tells each step as soon as it is made, and says how it went.
pub(super) async fn run(
    provider: &dyn Provider,
    rates: Option<&Rates>,
    tell: &mut (dyn FnMut(&TrialStep) + Send),
) -> ModelTrial {
    let mut steps = Vec::new();
    let mut made = |what, completion: &Completion| {
        let usage = completion.usage;
        let step = TrialStep {
            what,
            latency_ms: completion.latency_ms,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            cost: rates.map(|rates| cost(&usage, rates)),
        };
        tell(&step);
        steps.push(step);
    };
    let ended = both_calls(provider, &mut made).await;
    let (said, failure) = match ended {
        Ok(said) => (Some(said), None),
        Err(failure) => (None, Some(failure)),
    };
    ModelTrial { label: provider.label().to_owned(), steps, said, failure }
}

async fn both_calls(
    provider: &dyn Provider,
    made: &mut (dyn FnMut(&'static str, &Completion) + Send),
) -> Result<String, TrialFailure> {
    if provider.label() == offline::LABEL {
        let what = "the built-in offline model knows a few sentences and no tool of others".to_owned();
        return Err(TrialFailure { what, advice: offline::phrases::HOW_TO_CONNECT });
    }
    let mut request = first_request();
    let completion = ask(provider, &request).await?;
    let checked = called(&completion);
    made(if checked.is_ok() { "called the tool" } else { "first reply" }, &completion);
    checked?;
    request.messages.extend(reply_and_results(&completion));
    let completion = ask(provider, &request).await?;
    made("second reply", &completion);
    last_words(&completion)
}

async fn ask(provider: &dyn Provider, request: &Request) -> Result<Completion, TrialFailure> {
    let asked = tokio::time::timeout(REPLY_MAX, provider.complete(request, &NoSink)).await;
    let error = match asked {
        Ok(Ok(completion)) => return Ok(completion),
        Ok(Err(error)) => error,
        Err(_elapsed) => {
            let what = format!("its reply did not end within {} seconds", REPLY_MAX.as_secs());
            ModelError::new(ErrorClass::Timeout, what)
        }
    };
    Err(TrialFailure { what: error.message, advice: advice(error.class) })
}

fn first_request() -> Request {
    let echo = ToolSchema {
        name: TOOL.to_owned(),
        description: "Returns the number that it is given.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"number": {"type": "integer", "description": "The number to return."}},
            "required": ["number"],
        }),
    };
    let words = format!(
        "Call the tool {TOOL} with the number {NUMBER}. When you have its result, tell me in one short sentence what it \
         returned."
    );
    Request {
        system: "This is a test of whether you can use tools. Do exactly what you are told.".to_owned(),
        messages: vec![Message::user(words)],
        stable: 1,
        tools: vec![echo].into(),
        ..Request::default()
    }
}

/// Arguments of the tool.
#[derive(Debug, Deserialize)]
struct Echo {
    number: Value,
}

/// Whether the reply calls the tool as it was told to.
fn called(completion: &Completion) -> Result<(), TrialFailure> {
    const NO_TOOLS: &str = "Take a model that can use tools. On your own server this can be a switch: llama.cpp needs \
                            --jinja, vLLM --enable-auto-tool-choice and --tool-call-parser.";
    const TOO_WEAK: &str = "Take a larger model, or one made for tools: this one would get calls wrong in earnest too.";
    let failed = |what: String, advice| Err(TrialFailure { what, advice });
    let Some(call) = completion.calls().next() else {
        let said = shortened(&completion.text());
        return failed(format!("it called no tool, but said: {said}"), NO_TOOLS);
    };
    if call.name != TOOL {
        return failed(
            format!("it called {}, which is not a tool, in place of {TOOL}", shortened(&call.name)),
            TOO_WEAK,
        );
    }
    let arguments = shortened(&call.arguments);
    let Ok(Echo { number }) = serde_json::from_str(&call.arguments) else {
        return failed(format!("it called {TOOL} with arguments that are not of its form: {arguments}"), TOO_WEAK);
    };
    if number.as_i64() != Some(NUMBER) {
        return failed(format!("it called {TOOL} with {arguments}, and was told to with {NUMBER}"), TOO_WEAK);
    }
    Ok(())
}

/// The reply and the results of its calls, as the history goes on; the ids are made unique, as in a run.
fn reply_and_results(completion: &Completion) -> Vec<Message> {
    let mut parts = completion.parts.clone();
    let mut results = Vec::new();
    for part in &mut parts {
        if let ReplyPart::Call(call) = part {
            call.id = CallId::new(1, results.len());
            results.push(Message::Tool(result(call)));
        }
    }
    std::iter::once(Message::Assistant { parts }).chain(results).collect()
}

fn result(call: &ToolCall) -> ToolResult {
    ToolResult { call: call.id.clone(), name: call.name.clone(), text: NUMBER.to_string(), is_error: false }
}

fn last_words(completion: &Completion) -> Result<String, TrialFailure> {
    let text = completion.text();
    if text.trim().is_empty() {
        let what = match completion.calls().next() {
            Some(call) => format!("with the result in hand it called {} again", shortened(&call.name)),
            None => "with the result in hand it said nothing".to_owned(),
        };
        let advice = "Try again; if it stays like this, take another model: conversations with it would not end.";
        return Err(TrialFailure { what, advice });
    }
    Ok(shortened(&text))
}

/// A model's words on one line, and not too many.
fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    cut(&one_line(text).replace(char::is_control, ""), CHARS_MAX)
}

/// What the person can do about a failure of this class.
fn advice(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Auth => {
            "Check the key: `api_key` under [provider] in config.toml, or the provider's variable in the environment."
        }
        ErrorClass::Billing => "Add money to the account, or raise its limit, on the provider's web site.",
        ErrorClass::RateLimit => "Wait a little and try again; a bigger plan at the provider allows more calls.",
        ErrorClass::Overloaded | ErrorClass::Server => {
            "The provider has a problem of its own: try again later, and add [[provider.fallbacks]] for such times."
        }
        ErrorClass::UnknownModel => {
            "Check the model's name under [provider.models] in config.toml; `hob models` says what the server lists."
        }
        ErrorClass::ContextTooLong => "This request is tiny, so the server's window is: give the model a larger one.",
        ErrorClass::Refused => "The provider's filter took offence at a harmless request: try another model.",
        ErrorClass::BadRequest => {
            "The server does not take Hob's request: check `kind` and `base_url` under [provider] in config.toml."
        }
        ErrorClass::Timeout => {
            "Try again when the model is loaded; for slow machines raise `first_event_timeout_secs` under [provider]."
        }
        ErrorClass::Network => "Check that the server runs, and `base_url` under [provider] in config.toml.",
        ErrorClass::Malformed => {
            "Something else than a model answers there: check `kind` and `base_url` under [provider] in config.toml."
        }
        ErrorClass::Resting => "It failed often a moment ago and is left alone for a while: try again in some minutes.",
    }
}

#[cfg(test)]
mod tests;
