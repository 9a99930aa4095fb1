use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::*;

/// What providers really answered, and what must be made of it.
const RECORDED: &[(&str, &str)] = &[
    ("openai", include_str!("../../../../tests/fixtures/errors/openai.json")),
    ("azure", include_str!("../../../../tests/fixtures/errors/azure.json")),
    ("openrouter", include_str!("../../../../tests/fixtures/errors/openrouter.json")),
    ("deepseek", include_str!("../../../../tests/fixtures/errors/deepseek.json")),
    ("groq", include_str!("../../../../tests/fixtures/errors/groq.json")),
    ("xai", include_str!("../../../../tests/fixtures/errors/xai.json")),
    ("moonshot", include_str!("../../../../tests/fixtures/errors/moonshot.json")),
    ("mistral", include_str!("../../../../tests/fixtures/errors/mistral.json")),
    ("local", include_str!("../../../../tests/fixtures/errors/local.json")),
    ("anthropic", include_str!("../../../../tests/fixtures/errors/anthropic.json")),
    ("gemini", include_str!("../../../../tests/fixtures/errors/gemini.json")),
    ("proxies", include_str!("../../../../tests/fixtures/errors/proxies.json")),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedResponse {
    name: String,
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Text that is not JSON stands here as a string.
    body: Value,
    class: ErrorClass,
    wait_ms: Option<u128>,
    parameter: Option<String>,
}

impl RecordedResponse {
    fn classify(&self) -> ModelError {
        let body = self.body.as_str().map_or_else(|| self.body.to_string(), str::to_owned);
        let header = |name: &str| self.headers.get(name).map(String::as_str);
        classify(&ErrorResponse::with_headers(self.status, header, &body))
    }
}

fn recorded() -> impl Iterator<Item = (&'static str, RecordedResponse)> {
    RECORDED.iter().flat_map(|(provider, text)| {
        serde_json::from_str::<Vec<RecordedResponse>>(text).unwrap().into_iter().map(|row| (*provider, row))
    })
}

#[test]
fn a7_real_bodies_get_their_class_wait_and_parameter() {
    assert!(recorded().count() >= 60);
    let mut wrong = Vec::new();
    for (provider, row) in recorded() {
        let error = row.classify();
        let got = (error.class, error.retry_after.map(|wait| wait.as_millis()), error.parameter.clone());
        let right = (row.class, row.wait_ms, row.parameter.clone());
        if got != right {
            wrong.push(format!("{provider}, {}: {got:?}, not {right:?}: {error}", row.name));
        }
        assert!(error.message.chars().count() <= 400, "{provider}, {}: {error}", row.name);
        assert!(!error.message.contains("sk-") && !error.message.contains('<'), "{provider}, {}: {error}", row.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a7_waits_are_read_from_headers_and_bodies() {
    let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
    let wait = |header, date| {
        let refusal = ErrorResponse { status: 429, retry_after: header, date, ..ErrorResponse::default() };
        classify(&refusal).retry_after.map(|wait| wait.as_millis())
    };
    assert_eq!(wait(Some("7"), None), Some(7_000));
    assert_eq!(wait(Some(" 0.5 "), None), Some(500));
    assert_eq!(wait(Some("Wed, 21 Oct 2015 07:28:30 GMT"), date), Some(30_000));
    assert_eq!(wait(Some("Wed, 21 Oct 2015 07:27:00 GMT"), date), None, "past");
    assert_eq!(wait(Some("Wed, 21 Oct 2015 07:28:30 GMT"), None), None, "no date to count from");
    assert_eq!(wait(Some("soon"), date), None);
    assert_eq!(wait(Some("-3"), None), None);
    assert_eq!(wait(Some("NaN"), None), None);
    assert_eq!(wait(Some("1e300"), None), None);
    assert_eq!(wait(Some("9999999"), None), Some(RETRY_AFTER_MAX.as_millis()));
    assert_eq!(wait(None, None), None);
    let error = classify(&ErrorResponse { status: 401, retry_after: Some("7"), ..ErrorResponse::default() });
    assert_eq!(error.retry_after, None, "waiting does not mend a key");
}

#[test]
fn a7_people_are_told_what_to_do() {
    let said: Vec<_> = recorded()
        .filter(|(provider, _)| matches!(*provider, "gemini" | "local" | "proxies"))
        .map(|(provider, row)| format!("{provider}, {}: {}", row.name, row.classify()))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    local, vLLM: model: The model cannot be used. It says: The model `x` does not exist.
    local, vLLM: model, newer: The model cannot be used. It says: The model `x` does not exist.
    local, vLLM: context: The conversation is too long for the model. It says: This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).
    local, vLLM: max_tokens: The model provider finds the request malformed (400). It says: 'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 16384 tokens and your request has 1200 input tokens (32000 > 16384 - 1200).
    local, vLLM: tools: The model cannot be used. It says: "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set
    local, vLLM: key: The model provider does not accept the API key.
    local, vLLM: validation: The model provider finds the request malformed (422). It says: Input should be a valid integer
    local, llama.cpp: context: The conversation is too long for the model. It says: the request exceeds the available context size (4096 tokens), try increasing it
    local, llama.cpp: loading: The model provider is overloaded at the moment. It says: Loading model
    local, llama.cpp: key: The model provider does not accept the API key.
    local, llama.cpp: address: There is no model API at this address (404): check `base_url` under [provider] in config.toml.
    local, LM Studio: nothing loaded: The model cannot be used. It says: No models loaded. Please load a model in the developer page or use the `lms load` command.
    local, LM Studio: context in the stream: The conversation is too long for the model. It says: The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input
    local, LM Studio: context, as text: The conversation is too long for the model. It says: Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)
    local, LM Studio: context, in a success: The conversation is too long for the model. It says: Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.
    local, Ollama: model: The model cannot be used. It says: model "llama9" not found, try pulling it first
    local, Ollama: model, native: The model cannot be used. It says: model 'llama9' not found
    local, Ollama: tools: The model cannot be used. It says: registry.ollama.ai/library/gemma:2b does not support tools
    local, Ollama: tools, native: The model cannot be used. It says: registry.ollama.ai/library/gemma:2b does not support tools
    local, Ollama: memory: The model provider failed (500). It says: model requires more system memory (5.6 GiB) than is available (3.1 GiB)
    local, Ollama: thinking: The model provider finds the request malformed (400). It says: "llama3.2" does not support thinking
    local, Ollama: context: The conversation is too long for the model. It says: the input length exceeds the context length
    local, Ollama: busy: The model provider is overloaded at the moment. It says: server busy, please try again. maximum pending requests exceeded
    local, Ollama: address: There is no model API at this address (404): check `base_url` under [provider] in config.toml.
    gemini, key: The model provider does not accept the API key.
    gemini, key leaked: The model provider does not accept the API key.
    gemini, not switched on: The model provider denies access (403): check that the API key may use this model. It says: Generative Language API has not been used in project 1 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project…
    gemini, place: The model provider denies access (400): check that the API key may use this model. It says: User location is not supported for the API use.
    gemini, minute: The model provider allows no more calls for now. It says: You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. * Quota exceeded for metric…
    gemini, minute, said in words alone: The model provider allows no more calls for now. It says: You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. Please retry in 34.07482422…
    gemini, day: The model provider allows no more calls today. It says: You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.
    gemini, bare: The model provider allows no more calls for now. It says: Resource has been exhausted (e.g. check quota).
    gemini, money: The account at the model provider has no credit left.
    gemini, no capacity, as a rate: The model provider is overloaded at the moment. It says: No capacity available for model gemini-3.1-flash-lite on the server
    gemini, overloaded: The model provider is overloaded at the moment. It says: The model is overloaded. Please try again later.
    gemini, model: The model cannot be used. It says: models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.
    gemini, context: The conversation is too long for the model. It says: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
    gemini, unknown field: The model provider finds the request malformed (400). It says: Invalid JSON payload received. Unknown name "stream": Cannot find field.
    gemini, unknown field deep inside: The model provider finds the request malformed (400). It says: Invalid JSON payload received. Unknown name "const" at 'tools[0].function_declarations[5].parameters.properties[8].value': Cannot find field.
    gemini, field out of range: The model provider finds the request malformed (400). It says: Unable to submit request because it has a temperature value out of range.
    gemini, unknown fault: The model provider finds the request malformed (400). It says: Request contains an invalid argument.
    gemini, deadline: The model provider did not answer in time.
    gemini, server: The model provider failed (500). It says: An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting
    gemini, within the stream: The model provider is overloaded at the moment. It says: The model is overloaded. Please try again later.
    proxies, nginx: gateway: The model provider failed (502).
    proxies, nginx: gateway timeout: The model provider did not answer in time.
    proxies, nginx: body: The conversation is too long for the model.
    proxies, nginx: upstream: The model provider is overloaded at the moment.
    proxies, Cloudflare: timeout: The model provider did not answer in time.
    proxies, Cloudflare: rate: The model provider allows no more calls for now. It says: error code: 1015
    proxies, Cloudflare: origin: The model provider failed (520). It says: error code: 520
    proxies, LiteLLM: parameter: The model provider finds the request malformed (400). It says: litellm.BadRequestError: XaiException - {"code":"Client specified an invalid argument","error":"Argument not supported on this model: stop"}. Received Model Group=xai_grok-4 Available Model Group Fall…
    proxies, LiteLLM: rate: The model provider allows no more calls for now. It says: litellm.RateLimitError: RateLimitError: GroqException - Rate limit reached for model `x` on tokens per minute (TPM): Limit 7000, Used 6148, Requested 7895. Please try again in 1m0.363142857s.
    proxies, LiteLLM: budget: The account at the model provider has no credit left.
    proxies, LiteLLM: budget, older: The account at the model provider has no credit left.
    proxies, LiteLLM: context: The conversation is too long for the model. It says: litellm.ContextWindowExceededError: litellm.BadRequestError: this request does not fit
    proxies, a list of errors: The model provider finds the request malformed (400). It says: max_tokens must be at most 4096
    proxies, a web page with status 200: There is a web page where the model should be: check `base_url` under [provider] in config.toml.
    proxies, a web page with status 404: There is no model API at this address (404): check `base_url` under [provider] in config.toml.
    proxies, FastAPI: There is no model API at this address (404): check `base_url` under [provider] in config.toml.
    proxies, a redirect: There is no model API at this address (301): check `base_url` under [provider] in config.toml.
    proxies, nothing, too large: The conversation is too long for the model.
    proxies, nothing, 500: The model provider failed (500).
    proxies, nothing, 429 with a date: The model provider allows no more calls for now.
    "#);
}

#[test]
fn keys_are_never_quoted() {
    assert_eq!(quote("bad\n key  'sk-123abc' here"), "bad key [secret] here");
    assert_eq!(quote(&"ä".repeat(300)).chars().count(), QUOTE_CHARS_MAX + 1);
    assert_eq!(quote("<html>"), "");
    assert_eq!(
        quote("see https://x.org/?key=AIzaSy1&a=1 and <ak-f81> of task-1"),
        "see [secret] and [secret] of task-1"
    );
    assert_eq!(quote("sent Authorization: Bearer abc.def yesterday"), "sent Authorization: Bearer [secret] yesterday");
}

proptest::proptest! {
    #[test]
    fn nothing_makes_it_panic(status in 0_u16..1000, header in ".{0,12}", body in ".{0,40}") {
        let refusal = ErrorResponse::with_headers(status, |_| Some(&header), &body);
        proptest::prop_assert!(!classify(&refusal).message.is_empty());
    }
}

#[test]
fn a7_only_a_web_page_is_called_one() {
    let said = |is_page| message(ErrorClass::Malformed, 200, &ErrorBody { is_page, ..ErrorBody::default() });
    assert!(said(true).contains("a web page"), "{}", said(true));
    assert_eq!(said(false), "The model's reply cannot be understood.");
}

#[test]
fn a7_no_status_is_not_quoted() {
    let said = |status| message(ErrorClass::Server, status, &ErrorBody::default());
    assert_eq!(
        (said(0), said(500)),
        ("The model provider failed.".to_owned(), "The model provider failed (500).".to_owned())
    );
}
