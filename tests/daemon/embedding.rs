//! Vectors of what is remembered, made by the real process with the real weights.

use std::path::{Path, PathBuf};

use hob_core::domain::ids::MemoryId;
use hob_core::domain::memory::Scope;
use hob_store::error::StoreError;
use hob_store::memories::{self, NewMemory};
use hob_store::{SchedulingMode, Store, Tx};

use hob_testkit::fake_embeddings::embeddings;
use hob_testkit::fake_model::Reply;
use hob_testkit::process::within;
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

fn weights() -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/embedding-model"));
    assert!(folder.join("installed").exists(), "run scripts/embedding-model once");
    folder
}

fn settings() -> String {
    format!("[memory.embedding]\npath = '{}'", weights().display())
}

/// Asks for `/status` until its line on memory is this.
async fn until_status(hob: &TestHob, line: &str) {
    let ask = async {
        loop {
            let before = hob.heard(ADA).len();
            hob.say(ADA, "/status");
            let told = hob.told(ADA, before + 1).await.pop().unwrap();
            if told.lines().any(|told| told == line) {
                return;
            }
        }
    };
    within(line, ask).await;
}

/// Remembers so many things, as an import does.
async fn import(tx: &mut Tx, count: usize) -> Result<Vec<MemoryId>, StoreError> {
    let episode = memories::begin_episode(tx, Scope::House, None, 0).await?;
    let mut ids = Vec::new();
    for number in 0..count {
        let new = NewMemory {
            scope: Scope::House,
            session: None,
            speaker: "Ada",
            user: None,
            message: None,
            text: &format!("The meter read {} on day {number}.", number * 7),
            asked: None,
            origin: "import",
            importance: 0.5,
            at: 0,
        };
        ids.push(memories::add_to(tx, episode, &new, None).await?);
    }
    Ok(ids)
}

/// How many memories there are, how many of them have a vector, and how many vectors there are in all.
async fn counts(database: &Path) -> (i64, i64, i64) {
    let mut database = Store::raw(database).await.unwrap();
    let counts = "SELECT (SELECT count(*) FROM memories),
        (SELECT count(*) FROM memories m WHERE EXISTS (SELECT 1 FROM vectors WHERE memory_id = m.id)),
        (SELECT count(*) FROM vectors)";
    sqlx::query_as(counts).fetch_one(&mut database).await.unwrap()
}

#[tokio::test]
async fn e5_the_backlog_is_worked_off_whatever_kills_hob() {
    let mut hob = TestHob::running(&settings()).await;
    assert!(hob.stop().await.success());
    let database = hob.path("data/hob.db");
    let store = Store::open(&database, SchedulingMode::Threaded).await.unwrap();
    store.write(async |tx| import(tx, 64).await).await.unwrap();
    store.close().await;

    hob.start().await;
    hob.process().until_log("memory.embedding.ready").await;
    hob.restart().await;
    hob.ask(ADA, "My sister comes on Friday", Reply::text("Good.")).await;
    until_status(&hob, "memory: by words and meaning (embedding-model)").await;
    // What was said last is counted there once it is looked for.
    until_embedded(&hob, 65).await;
    assert!(hob.stop().await.success());
    let (memories, embedded, vectors) = counts(&database).await;
    assert!(memories >= 64, "{memories}");
    assert_eq!((embedded, vectors), (memories, memories));
}

#[tokio::test]
async fn n9_status_says_how_memory_is_searched() {
    let mut hob = TestHob::running("[memory.embedding]\nkind = 'none'").await;
    until_status(&hob, "memory: by words alone (no embedding is configured)").await;
    hob.stop().await;
    hob.configure("[memory.embedding]\npath = '$HOME/nowhere'");
    hob.start().await;
    hob.process().until_log("memory.embedding.degraded").await;
    let folder = hob.path("nowhere");
    let why = format!(
        "The embedding model's file {}/config.json cannot be used: No such file or directory (os error 2). Put the model's files \
         there, or leave `path` under [memory.embedding] out: then Hob fetches its own.",
        folder.display()
    );
    until_status(&hob, &format!("memory: degraded: by words alone ({why})")).await;
}

#[tokio::test]
async fn e5_without_a_config_it_starts_at_once_and_fetches_nothing_against_ones_will() {
    let mut hob = TestHob::running("").await;
    hob.process().until_log("memory.embedding.absent").await;
    let answer = hob.ask(ADA, "Are you there?", Reply::text("Yes.")).await;
    assert_eq!(answer, "Yes.");
    assert!(!hob.path("data/models").exists());
}

/// Until so many memories have their vectors. Commands are none.
async fn until_embedded(hob: &TestHob, count: i64) {
    let look = async {
        while counts(&hob.path("data/hob.db")).await.1 < count {
            let heard = hob.heard(ADA).len();
            hob.say(ADA, "/status");
            hob.told(ADA, heard + 1).await;
        }
    };
    within("the vectors", look).await;
}

#[tokio::test]
async fn c2_vectors_from_a_server_are_on_the_bill_of_who_asks_or_whose_words_they_are() {
    let base_url = embeddings().await;
    let mut hob = TestHob::running(&format!(
        "[telegram]\npersonas = {{ '7' = 'cook' }}\n[personas.cook]\nprompt = 'You cook.'\n\
         [memory.embedding]\nkind = 'openai_compatible'\nmodel = 'm'\nbase_url = '{base_url}'"
    ))
    .await;
    // With whom the house's bill would be.
    hob.ask(OWNER, "The boiler is from 2003", Reply::text("I see.")).await;
    until_embedded(&hob, 1).await;
    hob.model.reply(Reply::call("recall", r#"{"query": "sister"}"#));
    hob.ask(ADA, "My sister comes on Friday", Reply::text("Good.")).await;
    until_embedded(&hob, 2).await;
    hob.stop().await;
    let bills =
        "SELECT coalesce(s.persona, ''), s.model, s.calls, s.input_tokens FROM spend s JOIN users u ON u.id = s.user_id
                 WHERE u.name = 'Person 7' AND s.model = 'embedding/m' ORDER BY 1";
    let bills: Vec<(String, String, i64, i64)> = hob.rows(bills).await;
    // Her message's own vector once it is remembered; and those of her message and of what was looked up for her, as the cook.
    let expected = [("", 1, 4), ("cook", 2, 8)];
    assert_eq!(bills, expected.map(|(persona, calls, tokens)| (persona.into(), "embedding/m".into(), calls, tokens)));
    hob.nothing_refused();
}
