#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

use super::*;
use crate::error::ModelError;
use crate::message::Completion;
use crate::provider::{NoSink, Request, Sink};
use hob_core::domain::secret::Secret;

/// A clock that stands still until it is moved.
#[derive(Default)]
struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    fn pass(&self, seconds: i64) {
        *self.0.lock().unwrap() += SignedDuration::from_secs(seconds);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// A model that follows a script, and answers when that is over; `None` waits for ever.
struct ScriptedProvider {
    label: String,
    script: Mutex<VecDeque<Option<ModelError>>>,
    asked: Mutex<u32>,
    is_asked: Notify,
}

#[async_trait]
impl Provider for ScriptedProvider {
    fn label(&self) -> &str {
        &self.label
    }

    async fn complete(&self, _request: &Request, _sink: &dyn Sink) -> Result<Completion, ModelError> {
        *self.asked.lock().unwrap() += 1;
        self.is_asked.notify_one();
        let next = self.script.lock().unwrap().pop_front();
        match next {
            Some(Some(error)) => Err(error),
            Some(None) => std::future::pending().await,
            None => Ok(Completion::from_text_and_calls("Hello.", Vec::new())),
        }
    }
}

fn scripted(label: &str, script: impl IntoIterator<Item = Option<ErrorClass>>) -> Arc<ScriptedProvider> {
    let script = script.into_iter().map(|step| step.map(|class| ModelError::new(class, "no")));
    Arc::new(ScriptedProvider {
        label: label.to_owned(),
        script: Mutex::new(script.collect()),
        asked: Mutex::default(),
        is_asked: Notify::new(),
    })
}

fn request() -> Request {
    Request::default()
}

/// The class of the failure, or none for an answer.
async fn ask(provider: Option<Arc<dyn Provider>>) -> Option<ErrorClass> {
    provider.unwrap().complete(&request(), &NoSink).await.err().map(|error| error.class)
}

fn states(catalog: &Catalog) -> Vec<String> {
    catalog.states().iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn e2_a_failing_model_is_left_alone_and_asked_again() {
    let model = scripted("openai/gpt-5", vec![Some(ErrorClass::Overloaded); 5]);
    let clock = Arc::new(ManualClock::default());
    let catalog =
        Catalog::new(ModelEntry::new("primary", Arc::clone(&model) as _), Vec::new(), Arc::clone(&clock) as _);
    for _ in 0..4 {
        assert_eq!(ask(catalog.get("openai/gpt-5")).await, Some(ErrorClass::Overloaded));
    }
    let error = catalog.get("openai/gpt-5").unwrap().complete(&request(), &NoSink).await.unwrap_err();
    assert_eq!((error.class, error.retry_after), (ErrorClass::Resting, Some(Duration::from_secs(5))));
    insta::assert_snapshot!(error, @"openai/gpt-5 failed a moment ago (overloaded) and is left alone for 5 s.");
    assert_eq!(states(&catalog), ["openai/gpt-5 for 5 s (overloaded)"]);
    assert_eq!(*model.asked.lock().unwrap(), 4, "a skipped call does not reach the model");
    clock.pass(5);
    assert_eq!(ask(catalog.get("openai/gpt-5")).await, Some(ErrorClass::Overloaded), "the probe");
    assert_eq!(states(&catalog), ["openai/gpt-5 for 10 s (overloaded)"]);
    clock.pass(10);
    assert_eq!(ask(catalog.get("openai/gpt-5")).await, None);
    assert!(catalog.states().is_empty());
}

#[tokio::test]
async fn a_forced_call_reaches_a_resting_model_and_is_told_to_its_breaker() {
    let model = scripted("acme/one", [Some(ErrorClass::UnknownModel), Some(ErrorClass::UnknownModel)]);
    let clock = Arc::new(ManualClock::default());
    let catalog =
        Catalog::new(ModelEntry::new("primary", Arc::clone(&model) as _), Vec::new(), Arc::clone(&clock) as _);
    assert_eq!(ask(catalog.get("acme/one")).await, Some(ErrorClass::UnknownModel));
    clock.pass(3);
    assert_eq!(ask(catalog.get_forced("acme/one")).await, Some(ErrorClass::UnknownModel));
    assert_eq!(states(&catalog), ["acme/one for 5 s (unknown model)"]);
    assert_eq!(ask(catalog.get_forced("acme/one")).await, None);
    assert_eq!(ask(catalog.get("acme/one")).await, None);
}

#[tokio::test]
async fn a_probe_that_is_given_up_frees_its_place() {
    let model = scripted("acme/one", [Some(ErrorClass::UnknownModel), None]);
    let clock = Arc::new(ManualClock::default());
    let catalog =
        Catalog::new(ModelEntry::new("primary", Arc::clone(&model) as _), Vec::new(), Arc::clone(&clock) as _);
    assert_eq!(ask(catalog.get("acme/one")).await, Some(ErrorClass::UnknownModel));
    model.is_asked.notified().await;
    clock.pass(5);
    let probe = tokio::spawn(ask(catalog.get("acme/one")));
    model.is_asked.notified().await;
    let error = catalog.get("acme/one").unwrap().complete(&request(), &NoSink).await.unwrap_err();
    assert_eq!((error.class, error.retry_after), (ErrorClass::Resting, None));
    insta::assert_snapshot!(error, @"acme/one failed a moment ago (unknown model) and is being tried by another call.");
    assert_eq!(states(&catalog), ["acme/one is being tried again (unknown model)"]);
    probe.abort();
    assert!(probe.await.unwrap_err().is_cancelled());
    assert_eq!(ask(catalog.get("acme/one")).await, None);
}

#[tokio::test]
async fn models_of_one_account_share_its_troubles() {
    let account = |key: &str| Some(Credential::new("https://acme.example/v1/", Some(&Secret::new(key.to_owned()))));
    let entry =
        |label, key, script| ModelEntry::new("fallback", scripted(label, script) as _).with_credential(account(key));
    let primary = entry("acme/one", "a", vec![Some(ErrorClass::Billing)]);
    let others = vec![entry("acme/two", "a", Vec::new()), entry("acme/three", "b", Vec::new())];
    let catalog = Catalog::new(primary, others, Arc::new(ManualClock::default()));
    assert_eq!(ask(catalog.get("acme/one")).await, Some(ErrorClass::Billing));
    assert_eq!(ask(catalog.get("acme/two")).await, Some(ErrorClass::Resting));
    assert_eq!(ask(catalog.get("acme/three")).await, None);
    assert_eq!(states(&catalog), ["acme/one for 300 s (no credit)", "acme/two for 300 s (no credit)"]);
}

fn named() -> Catalog {
    let entry = |role, label| ModelEntry::new(role, scripted(label, []) as _);
    let others = vec![
        entry("fast", "anthropic/claude-haiku-4-5"),
        entry("smart", "anthropic/claude-opus-4-7"),
        entry("fallback", "openrouter/Acme/Big:free"),
        entry("fallback", "anthropic/claude-haiku-4-5"),
    ];
    let aliases = [("Cheap".to_owned(), "openrouter/Acme/Big:free".to_owned()), ("gone".to_owned(), "a/b".to_owned())];
    Catalog::new(entry("primary", "openai/gpt-5"), others, Arc::new(ManualClock::default())).with_aliases(aliases)
}

#[test]
fn words_stand_for_models() {
    let catalog = named();
    for (word, label) in [
        ("fast", Some("anthropic/claude-haiku-4-5")),
        (" Primary ", Some("openai/gpt-5")),
        ("OpenAI/GPT-5", Some("openai/gpt-5")),
        ("gpt-5", Some("openai/gpt-5")),
        ("acme/big:FREE", Some("openrouter/Acme/Big:free")),
        ("cheap", Some("openrouter/Acme/Big:free")),
        ("haiku", Some("anthropic/claude-haiku-4-5")),
        ("gpt", Some("openai/gpt-5")),
        ("claude", None),
        ("gone", None),
        ("gemini", None),
        ("", None),
    ] {
        assert_eq!(catalog.resolve(word), label, "{word:?}");
    }
    assert_eq!(catalog.candidates("claude"), ["anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-7"]);
    assert!(catalog.candidates(" ").is_empty());
}

#[test]
fn roles_are_known_by_label_and_the_other_way() {
    let catalog = named();
    assert_eq!(catalog.by_role("smart"), Some("anthropic/claude-opus-4-7"));
    assert_eq!(catalog.by_role("huge"), None);
    assert_eq!(catalog.role("openai/gpt-5"), Some("primary"));
    assert_eq!(catalog.role("openai/gpt-6"), None);
}

#[test]
fn a_chain_begins_with_the_choice_and_never_with_what_only_looks_like_it() {
    let catalog = named();
    let fallbacks = ["openrouter/Acme/Big:free", "anthropic/claude-haiku-4-5"];
    assert_eq!(catalog.chain(None), ["openai/gpt-5", fallbacks[0], fallbacks[1]]);
    assert_eq!(catalog.chain(Some("smart")), ["anthropic/claude-opus-4-7", fallbacks[0], fallbacks[1]]);
    assert_eq!(catalog.chain(Some(fallbacks[1])), [fallbacks[1], fallbacks[0]]);
    assert_eq!(catalog.chain(Some("anthropic/claude-opus")), catalog.chain(None));
}

#[test]
fn a_credential_is_one_address_and_one_key() {
    let secret = |key: &str| Secret::new(key.to_owned());
    let one = Credential::new("https://a.example/v1", Some(&secret("k")));
    assert_eq!(one, Credential::new("https://a.example/v1/", Some(&secret("k"))));
    assert_ne!(one, Credential::new("https://b.example/v1", Some(&secret("k"))));
    assert_ne!(one, Credential::new("https://a.example/v1", Some(&secret("l"))));
    assert!(!format!("{:?}", Credential::new("https://a.example", Some(&secret("hunter2")))).contains("hunter2"));
}
