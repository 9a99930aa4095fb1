//! The Responses API against a strict fake.

use std::sync::Arc;

use hob_model::message::{Message, StopReason};
use hob_model::provider::NoSink;
use hob_model::refused_parameters::NoParameterStore;
use hob_model::responses::Responses;
use serde_json::json;

use hob_testkit::dialect::{answered, asking, heard, settings};
use hob_testkit::fake_responses::{Answer, FakeResponses, call, items, message, thought};

fn provider(fake: &FakeResponses, model: &str) -> Responses {
    Responses::new(settings(&fake.base_url(), model), Arc::new(NoParameterStore)).unwrap()
}

#[tokio::test]
async fn f5_a_model_thinks_and_uses_tools_in_one_go_and_gets_its_thinking_back() {
    let fake = FakeResponses::start().await;
    fake.answer(items(&[thought("gAAAA1"), call("look", "{\"at\": \"Köln\"}")]));
    fake.answer(items(&[thought("gAAAA2"), message("It is dry there.")])).answer(items(&[message("Good night.")]));
    let provider = provider(&fake, "gpt-6-luna");
    let mut history = vec![Message::user("How is the garden?")];
    for (shown, next) in [("", None), ("It is dry there.", Some("Good night")), ("Good night.", None)] {
        let (reply, said) = heard(&provider, &asking(history.clone())).await;
        assert_eq!(said, shown);
        history = answered(history, &reply.unwrap(), next);
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    let requests = fake.requests();
    let kinds = |at: usize| -> Vec<String> {
        let items = requests[at]["input"].as_array().unwrap();
        items.iter().map(|item| item["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(1), ["message", "reasoning", "function_call", "function_call_output"]);
    let sealed = requests[2]["input"].as_array().unwrap().iter().filter_map(|item| item["encrypted_content"].as_str());
    assert_eq!(sealed.collect::<Vec<_>>(), ["gAAAA1", "gAAAA2"]);
}

#[tokio::test]
async fn k1_a_models_words_go_back_in_the_phase_that_it_gave_them() {
    let fake = FakeResponses::start().await;
    let mut aside = message("Let me see.");
    aside["phase"] = json!("commentary");
    fake.answer(items(&[aside, call("look", "{\"at\": \"Köln\"}")])).answer(items(&[message("It is dry there.")]));
    fake.answer(items(&[message("Good night.")]));
    let provider = provider(&fake, "gpt-6-luna");
    let mut history = vec![Message::user("How is the garden?")];
    for next in [None, Some("Good night")] {
        let reply = heard(&provider, &asking(history.clone())).await.0.unwrap();
        history = answered(history, &reply, next);
    }
    heard(&provider, &asking(history)).await.0.unwrap();
    assert_eq!(fake.refused(), Vec::<String>::new());
    let requests = fake.requests();
    let phases: Vec<_> = requests[2]["input"].as_array().unwrap().iter().map(|item| item["phase"].as_str()).collect();
    // The question, the aside, its call and result, the answer, the last word.
    assert_eq!(phases, [None, Some("commentary"), None, None, Some("final_answer"), None]);
}

#[tokio::test]
async fn f5_a_model_that_does_not_think_is_asked_without_what_it_refuses() {
    let fake = FakeResponses::start().await;
    fake.answer(items(&[message("Hello.")])).answer(items(&[message("Hello again.")]));
    let provider = provider(&fake, "gpt-4o");
    for _ in 0..2 {
        heard(&provider, &asking(vec![Message::user("Hi")])).await.0.unwrap();
    }
    assert_eq!(fake.refused(), ["Unsupported parameter: 'include' is not supported with this model."]);
    assert!(fake.requests().iter().all(|body| body.get("include").is_none() && body["store"] == false));
}

#[tokio::test]
async fn e4_a_reply_that_was_cut_off_says_so() {
    let fake = FakeResponses::start().await;
    let end = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}});
    fake.answer(Answer::Items(vec![message("One, two, ")], end));
    let (reply, _) = heard(&provider(&fake, "gpt-6-luna"), &asking(vec![Message::user("Count")])).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text().as_ref(), reply.stop), ("One, two, ", StopReason::MaxTokens));
}

#[tokio::test]
async fn f5_a_flood_ends_the_call_and_not_the_memory() {
    use hob_model::provider::Provider as _;
    let fake = FakeResponses::start().await;
    let words = "x".repeat(256 * 1024);
    fake.answer(Answer::Flood(json!({"type": "response.output_text.delta", "output_index": 0, "delta": words})));
    fake.answer(Answer::Flood(json!({"type": "response.unheard_of", "filler": words})));
    let provider = provider(&fake, "gpt-6-luna");
    for _ in 0..2 {
        let failed = provider.complete(&asking(vec![Message::user("Hi")]), &NoSink).await.unwrap_err();
        assert_eq!(failed.class, hob_model::error::ErrorClass::Malformed, "{failed}");
    }
}
