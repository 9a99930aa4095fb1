//! The secrets of the config and the environment: whoever prints them, nobody sees them and nothing keeps them (row N6).

use std::path::Path;

use rustix::process::Signal;

use hob_testkit::fake_model::{Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::process::{HobProcess, hob_command};
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

const KEY: &str = "sk-live-4711-0815-0042";
/// What Base64 makes of the key behind `user:`.
const ENCODED: &str = "dXNlcjpzay1saXZlLTQ3MTEtMDgxNS0wMDQy";

fn settings() -> String {
    format!(
        r#"
        [provider]
        api_key = "{KEY}"
        [tools.leak]
        sandbox = false
        description = "Prints."
        trusted_output = true
        command = ["/bin/sh", "-c", "seq 1 5000; echo {KEY} {ENCODED}; seq 1 5000; echo end {KEY}"]
        "#
    )
}

/// Every file below a directory that holds these bytes.
fn holding(dir: &Path, secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, secret));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.windows(secret.len()).any(|window| window == secret.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[tokio::test]
async fn n6_a_secret_that_somebody_prints_is_seen_and_kept_nowhere() {
    let mut hob = TestHob::running(&settings()).await;
    let token = FakeTelegram::TOKEN;
    hob.model.reply(Reply::call("leak", "{}"));
    hob.model.reply(Reply::call("remember_fact", &format!(r#"{{"category":"home","key":"key","value":"{KEY}"}}"#)));
    let reply = Script::default().text(&format!("It is {token}, {KEY}.")).finish("stop").in_pieces(3).into();
    let told = hob.ask(ADA, &format!("My key is {KEY}."), reply).await;
    assert!(told.starts_with("It is [redacted], [redacted]."), "{told}");
    let requests = hob.model.requests();
    let bodies: Vec<String> = requests.iter().map(|asked| serde_json::to_string(&asked.body).unwrap()).collect();
    assert!(bodies.iter().all(|body| !body.contains(KEY) && !body.contains(&ENCODED[8..])), "{bodies:#?}");
    assert!(bodies[0].contains("My key is [redacted]."));
    assert!(bodies[1].contains("end [redacted]"), "the tool's result is there without it");
    let refusal = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}.","code":"invalid_api_key"}}}}"#);
    hob.model.otherwise(move |_| Reply::http(401, "application/json", &refusal));
    hob.say(ADA, "And now?");
    let told = hob.told(ADA, 2).await.pop().unwrap();
    assert!(told.contains("[redacted]") || !told.contains("API key provided"), "{told}");
    let shown = hob.telegram.look(|world| format!("{:?}", world.chat(ADA).by_bot().collect::<Vec<_>>()));
    hob.stop().await;
    for secret in [KEY, token] {
        assert!(!shown.contains(secret), "{shown}");
        assert_eq!(holding(&hob.path("data"), secret), [""; 0]);
    }
    assert_eq!(holding(&hob.path("data"), &ENCODED[8..]), [""; 0]);
    assert!(!holding(&hob.path("data"), "[redacted]").is_empty());
    assert!(std::fs::read_dir(hob.path("data/results")).unwrap().next().is_some(), "the long result is in a file");
}

#[tokio::test]
async fn the_log_holds_no_secret() {
    let mut hob = TestHob::with(&format!("[provider]\napi_key = \"{KEY}\"\n[daemon]\nlog = \"trace\"")).await;
    let mut command = hob_command(hob.home.path(), &["run"]);
    // Whoever calls the directory so has it in the log's second line.
    command.env("HOB_HOME", hob.path(KEY));
    hob.process = Some(HobProcess::start(command));
    hob.ask(ADA, &format!("I say {KEY}"), Reply::text(KEY)).await;
    let log = hob.process().log();
    hob.stop().await;
    assert!(log.contains("[redacted]") && !log.contains(KEY) && !log.contains(FakeTelegram::TOKEN), "{log}");
}

#[tokio::test]
async fn a_commands_environment_holds_no_key() {
    let env = "[tools.env]\nsandbox = false\ndescription = \"Tells.\"\ncommand = [\"/usr/bin/env\"]";
    let mut hob = TestHob::with(env).await;
    let mut command = hob_command(hob.home.path(), &["run"]);
    command.env("OPENAI_API_KEY", KEY).env("HOUSE_DOOR", "open");
    hob.process = Some(HobProcess::start(command));
    hob.model.reply(Reply::call("env", "{}"));
    hob.ask(ADA, "What is there?", Reply::text("Little.")).await;
    let last = hob.model.requests().pop().unwrap();
    let result = last.last_text();
    assert!(result.contains("PATH="), "{result}");
    assert!(!result.contains("OPENAI") && !result.contains("HOUSE_DOOR") && !result.contains("[redacted]"), "{result}");
}

#[tokio::test]
async fn n7_a_section_without_its_secret_is_off_and_told_and_the_rest_answers() {
    let off = "[slack]\nbot_token = '${NO_SUCH}'\napp_token = 'xapp-1'\n[[provider.fallbacks]]\nkind = 'openai'\n\
               model = 'gpt'\napi_key = 'file:none'";
    let mut hob = TestHob::running(off).await;
    hob.process().until_logged("config.section_off", 2).await;
    assert_eq!(hob.ask(ADA, "Hi", Reply::text("Hello.")).await, "Hello.");
    hob.say(OWNER, "/status");
    let told = hob.told(OWNER, 1).await.concat();
    assert!(told.contains("degraded: [slack]: off, as slack.bot_token (line "), "{told}");
    assert!(told.contains("names the environment variable `NO_SUCH`, which is not set"), "{told}");
    assert!(told.contains("degraded: [provider.fallbacks[1]]: off, as provider.fallbacks[1].api_key"), "{told}");
    let check = hob_command(&hob.path(""), &["config", "check"]).output().await.unwrap();
    assert_eq!(check.status.code().map(|code| code == 0), Some(false));
    let said = String::from_utf8(check.stderr).unwrap();
    assert!(said.contains("Until then [slack] is off") && !said.contains("xapp-1"), "{said}");
}

#[tokio::test]
async fn n7_a_model_without_its_key_says_what_is_missing_and_nobody_is_asked() {
    let hob = TestHob::running("[provider]\napi_key = '${NO_SUCH}'").await;
    hob.say(ADA, "Hi");
    let told = hob.told(ADA, 1).await.concat();
    insta::assert_snapshot!(told, @"I could not get an answer from the model: openai-compatible/fake is off: provider.api_key names the environment variable `NO_SUCH`, which is not set. Whoever runs me has to mend the key in config.toml or in the environment.");
    assert!(hob.model.requests().is_empty());
}

#[tokio::test]
async fn n7_hob_stays_with_every_channel_off_and_says_so() {
    let hob = TestHob::with("[telegram]\nbot_token = 'cred:telegram'").await;
    let mut alone = HobProcess::start(hob_command(&hob.path(""), &["run"]));
    alone.until_logged("every channel is off", 1).await;
    alone.until_logged("hob.ready", 1).await;
    alone.signal(Signal::TERM);
    assert!(alone.ended().await.success());
}
