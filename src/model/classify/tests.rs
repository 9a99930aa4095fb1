use super::*;

/// Provider, status, body, the class it must get.
const BODIES: &[(&str, u16, &str, ErrorClass)] = &[
    (
        "OpenAI key",
        401,
        r#"{"error":{"message":"Incorrect API key provided: sk-abcde***wxyz. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        ErrorClass::Auth,
    ),
    (
        "OpenAI quota",
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
        ErrorClass::Billing,
    ),
    (
        "OpenAI rate",
        429,
        r#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
        ErrorClass::RateLimit,
    ),
    (
        "OpenAI model",
        404,
        r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
        ErrorClass::UnknownModel,
    ),
    (
        "OpenAI context",
        400,
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ErrorClass::ContextTooLong,
    ),
    (
        "OpenAI order",
        400,
        r#"{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.","type":"invalid_request_error","param":"messages","code":null}}"#,
        ErrorClass::BadRequest,
    ),
    (
        "OpenAI country",
        403,
        r#"{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}"#,
        ErrorClass::Auth,
    ),
    (
        "OpenAI server",
        500,
        r#"{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}"#,
        ErrorClass::Server,
    ),
    (
        "Azure filter",
        400,
        r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}"#,
        ErrorClass::Refused,
    ),
    ("OpenRouter key", 401, r#"{"error":{"message":"No auth credentials found","code":401}}"#, ErrorClass::Auth),
    (
        "OpenRouter money",
        402,
        r#"{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}"#,
        ErrorClass::Billing,
    ),
    (
        "OpenRouter model",
        400,
        r#"{"error":{"message":"acme/none is not a valid model ID","code":400},"user_id":"user_x"}"#,
        ErrorClass::UnknownModel,
    ),
    (
        "OpenRouter tools",
        404,
        r#"{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}"#,
        ErrorClass::UnknownModel,
    ),
    (
        "OpenRouter moderation",
        403,
        r#"{"error":{"message":"acme/x requires moderation on OpenAI. Your input was flagged for \"violence\".","code":403,"metadata":{"reasons":["violence"],"flagged_input":"…","provider_name":"OpenAI"}}}"#,
        ErrorClass::Refused,
    ),
    (
        "OpenRouter upstream rate",
        429,
        r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"acme/x:free is temporarily rate-limited upstream. Please retry shortly","provider_name":"Chutes"}}}"#,
        ErrorClass::RateLimit,
    ),
    (
        "OpenRouter upstream down",
        502,
        r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream connect error","provider_name":"Acme"}}}"#,
        ErrorClass::Server,
    ),
    (
        "OpenRouter within the stream",
        0,
        r#"{"error":{"code":502,"message":"Network connection lost.","metadata":{"provider_name":"Acme"}}}"#,
        ErrorClass::Server,
    ),
    (
        "OpenRouter rate within the stream",
        0,
        r#"{"error":{"code":429,"message":"Rate limit exceeded"}}"#,
        ErrorClass::RateLimit,
    ),
    (
        "Ollama model",
        404,
        r#"{"error":{"message":"model \"llama9\" not found, try pulling it first","type":"api_error","param":null,"code":null}}"#,
        ErrorClass::UnknownModel,
    ),
    ("Ollama model, native", 404, r#"{"error":"model 'llama9' not found"}"#, ErrorClass::UnknownModel),
    (
        "Ollama tools",
        400,
        r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error","param":null,"code":null}}"#,
        ErrorClass::UnknownModel,
    ),
    (
        "Ollama memory",
        500,
        r#"{"error":{"message":"model requires more system memory (5.6 GiB) than is available (3.1 GiB)","type":"api_error","param":null,"code":null}}"#,
        ErrorClass::Server,
    ),
    (
        "vLLM model",
        404,
        r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}"#,
        ErrorClass::UnknownModel,
    ),
    (
        "vLLM context",
        400,
        r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).","type":"BadRequestError","param":null,"code":400}"#,
        ErrorClass::ContextTooLong,
    ),
    ("vLLM key", 401, r#"{"error":"Unauthorized"}"#, ErrorClass::Auth),
    (
        "llama.cpp context",
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#,
        ErrorClass::ContextTooLong,
    ),
    (
        "llama.cpp loading",
        503,
        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
        ErrorClass::Overloaded,
    ),
    (
        "Gemini key",
        400,
        r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}]"#,
        ErrorClass::Auth,
    ),
    (
        "Gemini rate",
        429,
        r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]"#,
        ErrorClass::RateLimit,
    ),
    (
        "Gemini model",
        404,
        r#"[{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1main, or is not supported for generateContent.","status":"NOT_FOUND"}}]"#,
        ErrorClass::UnknownModel,
    ),
    (
        "Gemini context",
        400,
        r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        ErrorClass::ContextTooLong,
    ),
    (
        "Gemini overloaded",
        503,
        r#"[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]"#,
        ErrorClass::Overloaded,
    ),
    (
        "Anthropic key",
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_x"}"#,
        ErrorClass::Auth,
    ),
    (
        "Anthropic money",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}"#,
        ErrorClass::Billing,
    ),
    (
        "Anthropic model",
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
        ErrorClass::UnknownModel,
    ),
    (
        "Anthropic context",
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
        ErrorClass::ContextTooLong,
    ),
    (
        "Anthropic rate",
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 50 requests per minute."}}"#,
        ErrorClass::RateLimit,
    ),
    (
        "Anthropic overloaded",
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ErrorClass::Overloaded,
    ),
    (
        "Anthropic overloaded within the stream",
        0,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ErrorClass::Overloaded,
    ),
    ("Cloudflare", 524, "<html><head><title>524: A timeout occurred</title></head></html>", ErrorClass::Timeout),
    ("nginx", 502, "<html><body>Bad Gateway</body></html>", ErrorClass::Server),
    ("a web server", 404, "<!doctype html><p>Not Found</p>", ErrorClass::BadRequest),
    ("FastAPI", 404, r#"{"detail":"Not Found"}"#, ErrorClass::BadRequest),
    ("a redirect", 301, "", ErrorClass::BadRequest),
    ("too large", 413, "", ErrorClass::ContextTooLong),
    ("nothing", 500, "", ErrorClass::Server),
];

#[test]
fn real_bodies_get_their_class() {
    for (name, status, body, class) in BODIES {
        let error = classify(&Refusal { status: *status, body, ..Refusal::default() });
        assert_eq!(error.class, *class, "{name}: {error}");
        assert!(error.message.chars().count() <= 400, "{name}: {error}");
        assert!(!error.message.contains("sk-") && !error.message.contains('<'), "{name}: {error}");
    }
}

#[test]
fn waits_are_read_from_headers_and_bodies() {
    let date = Some("Wed, 21 Oct 2015 07:28:00 GMT");
    let wait = |header, date| {
        classify(&Refusal { status: 429, retry_after: header, date, body: "" }).retry_after.map(|wait| wait.as_millis())
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
    let gemini = BODIES.iter().find(|(name, ..)| *name == "Gemini rate").unwrap();
    let error = classify(&Refusal { status: gemini.1, body: gemini.2, ..Refusal::default() });
    assert_eq!(error.retry_after, Some(Duration::from_secs(34)));
    let error = classify(&Refusal { status: 401, retry_after: Some("7"), ..Refusal::default() });
    assert_eq!(error.retry_after, None, "waiting does not mend a key");
}

#[test]
fn people_are_told_what_to_do() {
    let said: Vec<_> = BODIES
        .iter()
        .filter(|(name, ..)| name.starts_with("OpenAI") || name.starts_with("Ollama") || name.starts_with("a web"))
        .map(|(name, status, body, _)| {
            format!("{name}: {}", classify(&Refusal { status: *status, body, ..Refusal::default() }))
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    OpenAI key: The model provider does not accept the API key: check `api_key` under [provider] in config.toml, or the key in the environment.
    OpenAI quota: The account at the model provider has no credit left: top it up there, or choose another provider under [provider] in config.toml.
    OpenAI rate: The model provider allows no more calls for now. It says: Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.
    OpenAI model: The model cannot be used: check `primary` under [provider.models] in config.toml. It says: The model `gpt-9` does not exist or you do not have access to it.
    OpenAI context: The conversation is too long for the model. It says: This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.
    OpenAI order: The model provider finds the request malformed (400). It says: An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.
    OpenAI country: The model provider denies access (403): check that the API key may use this model. It says: Country, region, or territory not supported
    OpenAI server: The model provider failed (500). It says: The server had an error while processing your request. Sorry about that!
    Ollama model: The model cannot be used: check `primary` under [provider.models] in config.toml. It says: model "llama9" not found, try pulling it first
    Ollama model, native: The model cannot be used: check `primary` under [provider.models] in config.toml. It says: model 'llama9' not found
    Ollama tools: The model cannot be used: check `primary` under [provider.models] in config.toml. It says: registry.ollama.ai/library/gemma:2b does not support tools
    Ollama memory: The model provider failed (500). It says: model requires more system memory (5.6 GiB) than is available (3.1 GiB)
    a web server: There is no model API at this address (404): check `base_url` under [provider] in config.toml.
    "#);
}

#[test]
fn only_the_refusal_of_usage_counts_as_such() {
    let refuses = |status, body| refuses_usage(&Refusal { status, body, ..Refusal::default() });
    assert!(refuses(400, r#"{"error":{"message":"Unknown parameter: 'stream_options'."}}"#));
    assert!(refuses(422, r#"{"detail":[{"loc":["body","stream_options","include_usage"]}]}"#));
    assert!(!refuses(500, "stream_options"));
    assert!(!refuses(400, "{}"));
}

#[test]
fn keys_are_never_quoted() {
    assert_eq!(quote("bad\n key  'sk-123abc' here"), "bad key [secret] here");
    assert_eq!(quote(&"ä".repeat(300)).chars().count(), QUOTE_CHARS_MAX + 1);
    assert_eq!(quote("<html>"), "");
}

proptest::proptest! {
    #[test]
    fn nothing_makes_it_panic(status in 0_u16..1000, header in ".{0,12}", body in ".{0,40}") {
        let refusal = Refusal { status, retry_after: Some(&header), date: Some(&header), body: &body };
        proptest::prop_assert!(!classify(&refusal).message.is_empty());
    }
}
