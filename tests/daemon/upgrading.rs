//! What was begun under the release before goes on by its own rules, in the database that it was begun in (rows B10, D6, K3).

use std::path::Path;

use serde_json::{Value, json};
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};

use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::{ADA, TestHob};

/// The last migration of the release before.
const BEFORE: &str = "0001";
/// The journal of a run of then, up to its first question.
const JOURNAL: &str = include_str!("../fixtures/journals/v1/approved_and_retried.jsonl");
const EVENTS: usize = 10;

const TOOLS: &str = r#"
[tools.send]
sandbox = false
description = "Sends."
command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/sent', "sh", "{path}"]
parameters = { path = "What." }
approval = "ask"
[tools.wipe]
sandbox = false
description = "Wipes."
command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/wiped', "sh", "{path}"]
parameters = { path = "What." }
approval = "critical"
"#;

/// A database as the release before has left it.
async fn database(path: &Path) -> SqliteConnection {
    let migrations = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir("migrations").unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if name.to_str().unwrap()[..4] <= *BEFORE {
            std::fs::copy(path, migrations.path().join(name)).unwrap();
        }
    }
    let mut database = SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap();
    Migrator::new(migrations.path()).await.unwrap().run(&mut database).await.unwrap();
    database
}

async fn write(database: &mut SqliteConnection, sql: &str, values: &[&str]) {
    let query = values.iter().fold(sqlx::query(AssertSqlSafe(sql.to_owned())), |query, value| query.bind(*value));
    query.execute(database).await.unwrap();
}

/// The events, as Ada's, with the model of this house; their requests were counted by another recipe.
fn events() -> Vec<Value> {
    let here = |line: &str| line.replace("home/small", "openai-compatible/fake").replace("request1:", "request0:");
    let mut events: Vec<Value> =
        JOURNAL.lines().take(EVENTS).map(|line| serde_json::from_str(&here(line)).unwrap()).collect();
    let accepted = &mut events[0]["body"]["body"];
    accepted["principal"]["role"] = json!("user");
    accepted["destination"]["conversation"]["chat"] = json!(ADA.to_string());
    let begun = &mut events[1]["body"]["body"];
    (begun["past"], begun["persona"]) = (json!([]), Value::Null);
    begun["context"]["history_through"] = json!(0);
    events
}

#[tokio::test]
async fn k3_a_run_that_waits_for_an_approval_goes_on_after_the_upgrade() {
    let mut hob = TestHob::with(TOOLS).await;
    std::fs::create_dir(hob.path("data")).unwrap();
    let mut database = database(&hob.path("data/hob.db")).await;
    let rows = format!(
        "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Anna', 'user', 0);
         INSERT INTO identities (channel, account, external_id, user_id) VALUES ('telegram', 'default', '{ADA}', 1);
         INSERT INTO sessions (id, key, channel, created_at) VALUES (1, '{ADA}', 'telegram', 0);
         INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition,
           sent_at, received_at) VALUES (3, 1, 1, 'telegram', 'default', '{ADA}', '12', 'hello', 0, 'run', 0, 0);
         INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at) VALUES (1, 1, 3, 1, 'waiting', 0);"
    );
    for row in rows.split(';').filter(|row| !row.trim().is_empty()) {
        write(&mut database, row, &[]).await;
    }
    let events = events();
    for (seq, event) in (1..).zip(&events) {
        let sql =
            format!("INSERT INTO run_events (run_id, seq, kind, version, body, at) VALUES (1, {seq}, $1, 1, $2, 0)");
        write(&mut database, &sql, &[event["kind"].as_str().unwrap(), &event["body"].to_string()]).await;
    }
    let context = &events[1]["body"]["body"]["context"];
    for (part, text) in [("system", "You are Hob."), ("tools", "[]"), ("tail", "It is noon.")] {
        let hash = context[part].as_str().unwrap();
        write(&mut database, "INSERT INTO blobs (hash, text) VALUES ($1, $2)", &[hash, text]).await;
    }
    database.close().await.unwrap();

    hob.start().await;
    hob.say(ADA, "approve");
    let asked = hob.told(ADA, 1).await.remove(0);
    assert!(asked.starts_with("May I do this? (This is asked each time.)\nwipe"), "{asked}");
    assert_eq!(hob.lines("sent"), ["list.txt"]);
    hob.recorded(1).await;
    hob.restart().await;
    hob.model.reply(Reply::text("It is sent, and not wiped."));
    hob.press(ADA, "deny");
    assert!(hob.told(ADA, 2).await[1].starts_with("It is sent, and not wiped."));
    assert_eq!((hob.lines("sent").len(), hob.lines("wiped").len()), (1, 0));
    hob.ask(ADA, "Thanks", Reply::text("You are welcome.")).await;
    hob.nothing_refused();
}
