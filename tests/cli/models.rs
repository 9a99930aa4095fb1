//! `hob models` as a process, with a strict model server on loopback.

use std::process::Output;

use hob_testkit::fake_model::{FakeModel, Reply};
use hob_testkit::process::{hob_command, within};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home, a model server, and a config that names it.
struct Harness {
    home: TempDir,
    model: FakeModel,
}

impl Harness {
    async fn new() -> Self {
        let harness = Self { home: tempfile::tempdir().unwrap(), model: FakeModel::start().await };
        let config = format!(
            "[provider]
            kind = 'openai_compatible'
            base_url = '{}'
            api_key = 'sk-test'
            [provider.models]
            primary = 'fake'
            fast = 'small'
            smart = 'fake'
            [[provider.fallbacks]]
            kind = 'offline'
            model = 'offline'
            [models.'openai-compatible/fake']
            context_tokens = 50_000
            input_usd = 1
            output_usd = 10.5
            [aliases]
            quick = 'openai-compatible/small'
            gone = 'openai/gpt-5-mini'",
            harness.model.base_url()
        );
        std::fs::write(harness.home.path().join("config.toml"), config).unwrap();
        harness.model.require_key("sk-test");
        harness
    }

    /// Runs `hob models …` to its end.
    async fn models(&self, arguments: &[&str]) -> Output {
        ran(&self.home, arguments, &[]).await
    }

    /// Runs a test of the primary model against these replies; it must fail.
    async fn failed(&self, replies: Vec<Reply>) -> String {
        for reply in replies {
            self.model.reply(reply);
        }
        let output = self.models(&["test"]).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(!stderr(&output).contains("sk-test"));
        stderr(&output)
    }
}

async fn ran(home: &TempDir, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = hob_command(home.path(), &[&["models"], arguments].concat());
    command.envs(environment.iter().copied());
    within("end of the command", command.output()).await.unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test]
async fn a_list_shows_what_is_configured() {
    let harness = Harness::new().await;
    let output = harness.models(&["--json"]).await;
    assert!(output.status.success(), "{output:?}");
    let list: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let models = list["models"].as_array().unwrap();
    assert_eq!(models.len(), 3);
    assert_eq!(models[0]["roles"], json!(["primary", "smart"]));
    assert_eq!(models[0]["label"], "openai-compatible/fake");
    assert_eq!(models[0]["context_tokens"], 50_000);
    assert_eq!((&models[0]["price"]["input_usd"], &models[0]["price"]["output_usd"]), (&json!(1.0), &json!(10.5)));
    assert_eq!(models[0]["price_source"], "config.toml");
    assert_eq!((&models[1]["roles"], &models[1]["aliases"]), (&json!(["fast"]), &json!(["quick"])));
    assert_eq!((&models[1]["price"], &models[1]["price_source"]), (&Value::Null, &json!("unknown")));
    assert_eq!((&models[2]["label"], &models[2]["reach"]["is"]), (&json!("offline/built-in"), &json!("built_in")));
    assert_eq!(list["loose_aliases"], json!([["gone", "openai/gpt-5-mini"]]));

    let text = stdout(&harness.models(&[]).await);
    assert!(text.contains("primary, smart: openai-compatible/fake\n"), "{text}");
    assert!(
        text.contains("per million tokens $1.00 read, $1.00 read from cache, $10.50 written (config.toml)"),
        "{text}"
    );
    assert!(text.contains("The alias gone leads nowhere"), "{text}");
    assert!(!text.contains("sk-test"));
    // Looking costs nothing.
    assert_eq!(harness.model.requests().len(), 0);
}

#[tokio::test]
async fn a_server_that_is_gone_is_told() {
    let Harness { home, model } = Harness::new().await;
    drop(model);
    let output = ran(&home, &["test"], &[]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Check that the server runs"), "{output:?}");
}

#[tokio::test]
async fn without_a_config_the_offline_model_answers() {
    let home = tempfile::tempdir().unwrap();
    let output = ran(&home, &[], &[]).await;
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    assert!(text.starts_with("The built-in offline model answers"), "{text}");
    assert!(text.contains("To connect a model, set OPENAI_API_KEY"), "{text}");
    assert!(text.contains("primary: offline/built-in\n  built in: needs no server"), "{text}");

    let output = ran(&home, &["test"], &[]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("To connect a model"), "{output:?}");
}

#[tokio::test]
async fn what_else_could_be_used_is_told() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.toml"), "[provider]\nkind = 'offline'").unwrap();
    let ollama = FakeModel::start().await;
    ollama.tags(r#"{"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "size": 1}]}"#);
    let environment = [
        ("ANTHROPIC_API_KEY", "sk-secret"),
        ("OPENAI_API_KEY", ""),
        ("OLLAMA_HOST", ollama.address()),
        // Nobody is asked for real.
        ("HTTPS_PROXY", "http://127.0.0.1:1"),
    ];
    let text = stdout(&ran(&home, &[], &environment).await);
    assert!(text.contains("other: anthropic/claude-"), "{text}");
    assert!(text.contains("Besides, an Ollama answers: ollama/qwen3:8b could be used."), "{text}");
    assert!(!text.contains("openai/") && !text.contains("sk-secret"), "{text}");
}

#[tokio::test]
async fn a_model_that_uses_the_tool_passes() {
    let harness = Harness::new().await;
    harness.model.reply(Reply::call("echo_number", r#"{"number": 7341}"#)).reply(Reply::text("It returned 7341."));
    let output = harness.models(&["test"]).await;
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    assert!(text.starts_with("Asking openai-compatible/fake to call a tool.\n  called the tool: "), "{text}");
    assert!(text.contains("\n  second reply: ") && text.contains(" written, $0.0"), "{text}");
    assert!(text.ends_with("It works. It said: It returned 7341.\n"), "{text}");
    let requests = harness.model.requests();
    assert_eq!((requests.len(), requests[0].tools()), (2, vec!["echo_number"]));
    assert_eq!((requests[1].last_role(), requests[1].last_text()), ("tool", "7341"));
    assert_eq!(harness.model.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn a_test_speaks_json_and_knows_aliases() {
    let harness = Harness::new().await;
    harness.model.reply(Reply::call("echo_number", r#"{"number":7341}"#)).reply(Reply::text("7341"));
    let output = harness.models(&["test", "quick", "--json"]).await;
    assert!(output.status.success(), "{output:?}");
    let trial: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&trial["label"], &trial["said"]), (&json!("openai-compatible/small"), &json!("7341")));
    assert_eq!((&trial["failure"], trial["steps"].as_array().unwrap().len()), (&Value::Null, 2));
    assert_eq!(harness.model.requests()[0].body["model"], "small");

    let output = harness.models(&["test", "nobody"]).await;
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(told.contains("no model is configured as nobody: name one of openai-compatible/fake (primary)"), "{told}");
}

#[tokio::test]
async fn what_fails_is_told_with_what_to_do() {
    let harness = Harness::new().await;
    let told = harness.failed(vec![Reply::text("Sure, 7341!")]).await;
    assert!(told.contains("openai-compatible/fake did not pass: it called no tool, but said: Sure, 7341!"), "{told}");
    assert!(told.contains("Take a model that can use tools."), "{told}");

    let told = harness.failed(vec![Reply::call("echo_number", r#"{"number": 1}"#)]).await;
    assert!(told.contains(r#"it called echo_number with {"number": 1}, and was told to with 7341"#), "{told}");

    let right = Reply::call("echo_number", r#"{"number": 7341}"#);
    let told = harness.failed(vec![right.clone(), right]).await;
    assert!(told.contains("with the result in hand it called echo_number again"), "{told}");

    let told = harness.failed(vec![Reply::status(401)]).await;
    assert!(told.contains("Check the key: `api_key` under [provider] in config.toml"), "{told}");

    let told = harness.failed(vec![Reply::status(404)]).await;
    assert!(told.contains("Check the model's name under [provider.models]"), "{told}");
    assert_eq!(harness.model.refused(), Vec::<String>::new());
}
