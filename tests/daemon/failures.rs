//! However the model fails, the person is told what happened and who can do what.

use hob_testkit::fake_model::{Reply, Script};
use hob_testkit::test_hob::{ADA, TestHob};

/// What the person is told when each of so many requests is answered like this; then the conversation goes on.
async fn told(reply: Reply, requests: usize) -> String {
    let hob = TestHob::running("[provider]\nfirst_event_timeout_secs = 1\nidle_timeout_secs = 1").await;
    for _ in 0..requests {
        hob.model.reply(reply.clone());
    }
    hob.say(ADA, "Go");
    let told = hob.told(ADA, 1).await.remove(0);
    assert_eq!(hob.model.requests().len(), requests);
    assert_eq!(hob.ask(ADA, "And now?", Reply::text("Now I can.")).await, "Now I can.");
    hob.nothing_refused();
    told
}

#[tokio::test]
async fn a7_a_bad_key() {
    insta::assert_snapshot!(told(Reply::status(401), 1).await, @"I could not get an answer from the model: The model provider does not accept the API key. Whoever runs me has to mend the key in config.toml or in the environment.");
}

#[tokio::test]
async fn a7_an_empty_account() {
    insta::assert_snapshot!(told(Reply::status(402), 1).await, @"I could not get an answer from the model: The account at the model provider has no credit left. Whoever runs me has to look at the account's balance.");
}

#[tokio::test]
async fn a7_a_model_that_is_not_known() {
    insta::assert_snapshot!(told(Reply::status(404), 1).await, @"I could not get an answer from the model: The model cannot be used. It says: The model `x` does not exist. Whoever runs me has to name another model in config.toml; /model shows the one in use.");
}

#[tokio::test]
async fn a7_too_many_requests() {
    insta::assert_snapshot!(told(Reply::status(429).header("retry-after", "1"), 2).await, @"I could not get an answer from the model: The model provider allows no more calls for now. It says: Rate limit reached. Please send it again in a while.");
}

#[tokio::test]
async fn a7_a_server_that_breaks() {
    insta::assert_snapshot!(told(Reply::status(500), 2).await, @"I could not get an answer from the model: The model provider failed (500). It says: The server had an error. I tried again without luck. Please send it again in a while.");
}

#[tokio::test]
async fn e2_a_server_that_is_overloaded() {
    insta::assert_snapshot!(told(Reply::status(503), 4).await, @"I could not get an answer from the model: The model provider is overloaded at the moment. It says: The engine is currently overloaded. Please send it again in a while.");
}

#[tokio::test]
async fn a_model_that_stalls() {
    insta::assert_snapshot!(told(Script::default().text("It").stall().into(), 2).await, @"I could not get an answer from the model: The model fell silent during its reply. I tried again without luck. Please send it again in a while.");
}

#[tokio::test]
async fn a_stream_of_garbage() {
    insta::assert_snapshot!(told(Script::default().raw(b"data: {]\n\n").into(), 2).await, @"I could not get an answer from the model: The model's reply cannot be understood. I tried again without luck. Please send it again in a while.");
}

#[tokio::test]
async fn a_web_page() {
    insta::assert_snapshot!(told(Reply::html(), 2).await, @"I could not get an answer from the model: There is a web page where the model should be: check `base_url` under [provider] in config.toml. I tried again without luck. Please send it again in a while.");
}

#[tokio::test]
async fn an_empty_reply() {
    insta::assert_snapshot!(told(Script::default().finish("stop").into(), 2).await, @"I could not get an answer from the model: The model's reply is empty. I tried again without luck. Please send it again in a while.");
}

#[tokio::test]
async fn a_stream_that_is_cut() {
    insta::assert_snapshot!(told(Script::default().text("It is").cut().into(), 2).await, @"I could not get an answer from the model: The connection to the model provider broke off during the reply. I tried again without luck. Please send it again in a while.");
}

#[tokio::test]
async fn a_passing_failure_is_not_told() {
    let hob = TestHob::running("").await;
    hob.model.reply(Script::default().text("It is").cut().into());
    assert_eq!(hob.ask(ADA, "Go", Reply::text("It is noon.")).await, "It is noon.");
}

#[tokio::test]
async fn e2_another_model_stands_in() {
    let mut hob = TestHob::new().await;
    let base = hob.model.base_url();
    hob.configure(&format!(
        "[[provider.fallbacks]]\nkind = 'openai_compatible'\nmodel = 'other'\nbase_url = '{base}'\napi_key = 'sk-other'"
    ));
    hob.start().await;
    hob.model.reply(Reply::status(404)).reply(Reply::text("I am the other."));
    hob.say(ADA, "Go");
    insta::assert_snapshot!(hob.told(ADA, 2).await.join("\n"), @r"
    (openai-compatible/fake does not answer: The model cannot be used. It says: The model `x` does not exist. Until it does, openai-compatible/other stands in.)
    I am the other.
    ");
    let asked = hob.model.requests().iter().map(|asked| asked.body["model"].to_string()).collect::<Vec<_>>();
    assert_eq!(asked, ["\"fake\"", "\"other\""]);
    assert_eq!(hob.model.requests()[1].authorization.as_deref(), Some("Bearer sk-other"));
}
