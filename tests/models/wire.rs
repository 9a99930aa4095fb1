//! What the dialects put on the wire, for histories much worse than any that Hob writes: the validators of the published
//! rules, which know nothing of the dialects, take it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri};
use hob_config::provider::ApiConfig;
use hob_core::domain::choices::Effort;
use hob_model::anthropic::Anthropic;
use hob_model::gemini::Gemini;
use hob_model::ollama::Ollama;
use hob_model::openai::OpenAi;
use hob_model::openai::quirks::PLAIN;
use hob_model::provider::{NoSink, Provider, Request, ToolChoice};
use hob_model::refused_parameters::NoParameterStore;
use hob_model::responses::Responses;
use hob_model::settings::{Settings, Tuning};
use hob_testkit::dialect::{asking, settings};
use hob_testkit::histories::{MODELS, histories, switched};
use hob_testkit::served::Served;
use hob_testkit::validate;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

const GEMINI: &str = "gemini-3-pro-preview";
/// What Ollama tells of a model when it is asked before the first call.
const SHOWN: &str = r#"{"capabilities":["completion","tools","thinking","vision"],
    "model_info":{"general.architecture":"q","q.context_length":32768}}"#;

/// A server that keeps what it is asked and answers nothing of use.
async fn recorder() -> (Served, Arc<Mutex<Vec<Bytes>>>) {
    let bodies: Arc<Mutex<Vec<Bytes>>> = Arc::default();
    let kept = Arc::clone(&bodies);
    let router = Router::new().fallback(async move |uri: Uri, body: Bytes| {
        if uri.path().ends_with("/show") {
            return (StatusCode::OK, SHOWN);
        }
        kept.lock().unwrap().push(body);
        (StatusCode::BAD_REQUEST, "{}")
    });
    (Served::start(router).await, bodies)
}

type Validator = fn(&Value) -> Result<(), String>;

/// The dialect of the model, and the rules for what it sends.
fn dialect(label: &str, api: ApiConfig, settings: Settings) -> (Box<dyn Provider>, Validator) {
    let with = |model: &str| Settings { model: model.to_owned(), label: label.to_owned(), ..settings };
    match label.split_once('/').unwrap().0 {
        "openai" if api == ApiConfig::Responses => {
            let responses = Responses::new(with("gpt-6-luna"), Arc::new(NoParameterStore)).unwrap();
            (Box::new(responses), |body| validate::responses::request(body, &HashSet::new()))
        }
        "openai" => {
            let openai = OpenAi::new(with("gpt-4o"), &PLAIN, Arc::new(NoParameterStore)).unwrap();
            (Box::new(openai), validate::openai::request)
        }
        "anthropic" => (Box::new(Anthropic::new(with("claude-sonnet-4-5")).unwrap()), validate::anthropic::request),
        "gemini" => (Box::new(Gemini::new(with(GEMINI)).unwrap()), |body| validate::gemini::request_for(GEMINI, body)),
        "ollama" => (Box::new(Ollama::new(with("qwen3")).unwrap()), validate::ollama::request),
        other => panic!("no dialect for {other}"),
    }
}

fn choices() -> impl Strategy<Value = ToolChoice> {
    let one = ToolChoice::Tool { name: "look".to_owned() };
    select(vec![ToolChoice::Auto, ToolChoice::None, ToolChoice::Any, one])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn a9_any_history_goes_out_as_the_provider_takes_it(
        messages in prop_oneof![histories(14), switched(4)], label in select(MODELS), tool_choice in choices(),
        effort in proptest::option::of(select(&[Effort::Low, Effort::High][..])), sees_images in any::<bool>(),
        api in select(&[ApiConfig::Chat, ApiConfig::Responses][..]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (server, bodies) = recorder().await;
            let tuning = Tuning { effort, ..Tuning::default() };
            let (provider, validator) = dialect(label, api, Settings { tuning, sees_images, ..settings(&server.root(), "") });
            let request = Request { stable: messages.len(), tool_choice, ..asking(messages) };
            prop_assert!(provider.complete(&request, &NoSink).await.is_err(), "the server refuses all");
            let bodies = bodies.lock().unwrap();
            prop_assert!(!bodies.is_empty());
            for body in bodies.iter() {
                let body = serde_json::from_slice(body).unwrap();
                prop_assert_eq!(validator(&body), Ok(()), "{}", body);
            }
            Ok(())
        })?;
    }
}
