use super::*;
use crate::error::ModelError;

const SENT: &[&str] = &["temperature", "max_tokens", "stream_options", "reasoning_effort", "tool_choice", "image_url"];

fn failure(status: u16, parameter: Option<&str>, body: &str) -> Failure {
    let error = ModelError { parameter: parameter.map(str::to_owned), ..ModelError::new(ErrorClass::BadRequest, "") };
    Failure { error, status, body: body.to_owned() }
}

#[test]
fn refusals_name_the_parameter_in_many_ways() {
    let table = [
        // OpenAI
        (
            400,
            None,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}"#,
            Some("max_tokens"),
        ),
        (400, Some("temperature"), "max_tokens", Some("temperature")),
        (400, Some("stream_options.include_usage"), "", Some("stream_options")),
        (400, Some("messages.[0].image_url"), "", Some("image_url")),
        // FastAPI, pydantic (Mistral)
        (
            422,
            None,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]}"#,
            Some("stream_options"),
        ),
        // DeepSeek (serde)
        (400, None, "messages[1]: unknown variant `image_url`, expected `text` at line 1 column 9", Some("image_url")),
        // xAI
        (400, None, "Model grok does not support parameter reasoning_effort.", Some("reasoning_effort")),
        // The first that is named.
        (400, None, "tool_choice, not temperature", Some("tool_choice")),
        // Parts of longer names, other statuses, nothing named.
        (400, None, "max_tokens_to_sample and xtemperature", None),
        (500, Some("temperature"), "temperature", None),
        (400, Some("messages"), "Invalid 'messages[0]'", None),
        (400, None, "", None),
    ];
    for (status, parameter, body, expected) in table {
        assert_eq!(RefusedParameters::default().learn(&failure(status, parameter, body), SENT), expected, "{body}");
    }
}

#[test]
fn other_failures_teach_nothing() {
    let mut too_long = failure(400, None, "the context holds 10 tokens, max_tokens is 20");
    too_long.error.class = ErrorClass::ContextTooLong;
    assert_eq!(RefusedParameters::default().learn(&too_long, SENT), None);
}

#[test]
fn the_other_name_is_tried_then_none() {
    let mut learned = RefusedParameters::default();
    let names = ["max_tokens", "max_completion_tokens"];
    assert_eq!(learned.usable(&names), Some("max_tokens"));
    for (refused, left) in [("max_tokens", Some("max_completion_tokens")), ("max_completion_tokens", None)] {
        assert_eq!(learned.learn(&failure(400, Some(refused), ""), &[refused]), Some(refused));
        assert_eq!(learned.usable(&names), left);
    }
    assert_eq!(learned.learn(&failure(400, Some("max_tokens"), ""), &["max_tokens"]), None, "nothing new");
    assert_eq!(serde_json::to_string(&learned).unwrap(), r#"["max_completion_tokens","max_tokens"]"#);
}

#[test]
fn calls_at_the_same_time_share_what_was_learned() {
    let memory = ParameterMemory::new("a/b", "http://host/v1/", Arc::new(NoParameterStore));
    let (first, second) = (memory.current(), memory.current());
    let refusal = failure(400, Some("temperature"), "");
    assert!(memory.learn(&refusal, &first, SENT));
    assert!(memory.learn(&refusal, &second, SENT), "the second knew it not, and is to try again");
    assert!(!memory.learn(&refusal, &memory.current(), SENT));
    assert_eq!(memory.place, "a/b at http://host/v1");
}
