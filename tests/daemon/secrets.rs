//! The secrets of the config and the environment: whoever prints them, nobody sees them and nothing keeps them (row N6).

use std::path::Path;

use crate::support::fake_model::{Reply, Script};
use crate::support::fake_telegram::FakeTelegram;
use crate::support::house::{ADA, House};
use crate::support::process::{Hob, hob};

const KEY: &str = "sk-live-4711-0815-0042";
/// What Base64 makes of the key behind `user:`.
const ENCODED: &str = "dXNlcjpzay1saXZlLTQ3MTEtMDgxNS0wMDQy";

fn settings() -> String {
    format!(
        r#"
        [provider]
        api_key = "{KEY}"
        [tools.leak]
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
    let mut house = House::with(&settings()).await;
    house.start().await;
    let token = FakeTelegram::TOKEN;
    house.model.reply(Reply::call("leak", "{}"));
    house.model.reply(Reply::call("remember_fact", &format!(r#"{{"category":"home","key":"key","value":"{KEY}"}}"#)));
    let reply = Script::default().text(&format!("It is {token}, {KEY}.")).finish("stop").in_pieces(3).into();
    let told = house.ask(ADA, &format!("My key is {KEY}."), reply).await;
    assert!(told.starts_with("It is [redacted], [redacted]."), "{told}");
    let requests = house.model.requests();
    let bodies: Vec<String> = requests.iter().map(|asked| serde_json::to_string(&asked.body).unwrap()).collect();
    assert!(bodies.iter().all(|body| !body.contains(KEY) && !body.contains(&ENCODED[8..])), "{bodies:#?}");
    assert!(bodies[0].contains("My key is [redacted]."));
    assert!(bodies[1].contains("end [redacted]"), "the tool's result is there without it");
    let refusal = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}.","code":"invalid_api_key"}}}}"#);
    house.model.otherwise(move |_| Reply::http(401, "application/json", &refusal));
    house.say(ADA, "And now?");
    let told = house.told(ADA, 2).await.pop().unwrap();
    assert!(told.contains("[redacted]") || !told.contains("API key provided"), "{told}");
    let shown = house.telegram.look(|world| format!("{:?}", world.chat(ADA).by_bot().collect::<Vec<_>>()));
    house.stop().await;
    for secret in [KEY, token] {
        assert!(!shown.contains(secret), "{shown}");
        assert_eq!(holding(&house.path("data"), secret), [""; 0]);
    }
    assert_eq!(holding(&house.path("data"), &ENCODED[8..]), [""; 0]);
    assert!(!holding(&house.path("data"), "[redacted]").is_empty());
    assert!(std::fs::read_dir(house.path("data/results")).unwrap().next().is_some(), "the long result is in a file");
}

#[tokio::test]
async fn n6_the_log_holds_no_secret() {
    let mut house = House::with(&format!("[provider]\napi_key = \"{KEY}\"\n[daemon]\nlog = \"trace\"")).await;
    let mut command = hob(house.home.path(), &["run"]);
    // Whoever calls the directory so has it in the log's second line.
    command.env("HOB_HOME", house.path(KEY));
    house.hob = Some(Hob::start(command));
    house.ask(ADA, &format!("I say {KEY}"), Reply::text(KEY)).await;
    let log = house.hob().log();
    house.stop().await;
    assert!(log.contains("[redacted]") && !log.contains(KEY) && !log.contains(FakeTelegram::TOKEN), "{log}");
}

#[tokio::test]
async fn n6_a_commands_environment_holds_no_key() {
    let env = "[tools.env]\ndescription = \"Tells.\"\ncommand = [\"/usr/bin/env\"]";
    let mut house = House::with(env).await;
    let mut command = hob(house.home.path(), &["run"]);
    command.env("OPENAI_API_KEY", KEY).env("HOUSE_DOOR", "open");
    house.hob = Some(Hob::start(command));
    house.model.reply(Reply::call("env", "{}"));
    house.ask(ADA, "What is there?", Reply::text("Little.")).await;
    let last = house.model.requests().pop().unwrap();
    let result = last.last_text();
    assert!(result.contains("PATH="), "{result}");
    assert!(!result.contains("OPENAI") && !result.contains("HOUSE_DOOR") && !result.contains("[redacted]"), "{result}");
}
