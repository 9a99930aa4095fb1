//! Vectors of what is remembered, made by the real process with the real weights.

use std::path::{Path, PathBuf};

use hob_core::domain::ids::MemoryId;
use hob_core::domain::memory::Scope;
use hob_store::error::StoreError;
use hob_store::memories::{self, NewMemory};
use hob_store::{SchedulingMode, Store, Tx};

use hob_testkit::fake_embeddings::embeddings;
use hob_testkit::fake_model::Reply;
use hob_testkit::house::{ADA, House, OWNER};
use hob_testkit::process::within;

fn weights() -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/embedding-model"));
    assert!(folder.join("installed").exists(), "run scripts/embedding-model once");
    folder
}

fn settings() -> String {
    format!("[memory.embedding]\npath = '{}'", weights().display())
}

/// Asks for `/status` until its line on memory is this.
async fn until_status(house: &House, line: &str) {
    let ask = async {
        loop {
            let before = house.heard(ADA).len();
            house.say(ADA, "/status");
            let told = house.told(ADA, before + 1).await.pop().unwrap();
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
    let mut house = House::running(&settings()).await;
    assert!(house.stop().await.success());
    let database = house.path("data/hob.db");
    let store = Store::open(&database, SchedulingMode::Threaded).await.unwrap();
    store.write(async |tx| import(tx, 64).await).await.unwrap();
    store.close().await;

    house.start().await;
    house.hob().until_log("memory.embedding.ready").await;
    house.restart().await;
    house.ask(ADA, "My sister comes on Friday", Reply::text("Good.")).await;
    until_status(&house, "memory: by words and meaning (embedding-model)").await;
    assert!(house.stop().await.success());
    let (memories, embedded, vectors) = counts(&database).await;
    assert!(memories >= 64, "{memories}");
    assert_eq!((embedded, vectors), (memories, memories));
}

#[tokio::test]
async fn n9_status_says_how_memory_is_searched() {
    let mut house = House::running("[memory.embedding]\nkind = 'none'").await;
    until_status(&house, "memory: by words alone (no embedding is configured)").await;
    house.stop().await;
    house.configure("[memory.embedding]\npath = '$HOME/nowhere'");
    house.start().await;
    house.hob().until_log("memory.embedding.degraded").await;
    let folder = house.path("nowhere");
    let why = format!(
        "The embedding model's file {}/config.json cannot be used: No such file or directory (os error 2). Put the model's files \
         there, or leave `path` under [memory.embedding] out: then Hob fetches its own.",
        folder.display()
    );
    until_status(&house, &format!("memory: degraded: by words alone ({why})")).await;
}

#[tokio::test]
async fn e5_without_a_config_it_starts_at_once_and_fetches_nothing_against_ones_will() {
    let mut house = House::running("").await;
    house.hob().until_log("memory.embedding.absent").await;
    let answer = house.ask(ADA, "Are you there?", Reply::text("Yes.")).await;
    assert_eq!(answer, "Yes.");
    assert!(!house.path("data/models").exists());
}

/// Until so many memories have their vectors. Commands are none.
async fn until_embedded(house: &House, count: i64) {
    let look = async {
        while counts(&house.path("data/hob.db")).await.1 < count {
            let heard = house.heard(ADA).len();
            house.say(ADA, "/status");
            house.told(ADA, heard + 1).await;
        }
    };
    within("the vectors", look).await;
}

#[tokio::test]
async fn c2_vectors_from_a_server_are_on_the_bill_of_who_asks_or_whose_words_they_are() {
    let base_url = embeddings().await;
    let mut house = House::running(&format!(
        "[telegram]\npersonas = {{ '7' = 'cook' }}\n[personas.cook]\nprompt = 'You cook.'\n\
         [memory.embedding]\nkind = 'openai_compatible'\nmodel = 'm'\nbase_url = '{base_url}'"
    ))
    .await;
    // With whom the house's bill would be.
    house.ask(OWNER, "The boiler is from 2003", Reply::text("I see.")).await;
    until_embedded(&house, 1).await;
    house.model.reply(Reply::call("recall", r#"{"query": "sister"}"#));
    house.ask(ADA, "My sister comes on Friday", Reply::text("Good.")).await;
    until_embedded(&house, 2).await;
    house.stop().await;
    let bills =
        "SELECT coalesce(s.persona, ''), s.model, s.calls, s.input_tokens FROM spend s JOIN users u ON u.id = s.user_id
                 WHERE u.name = 'Person 7' AND s.model = 'embedding/m' ORDER BY 1";
    let bills: Vec<(String, String, i64, i64)> = house.rows(bills).await;
    // Her message's own vector once it is remembered; and those of her message and of what was looked up for her, as the cook.
    let expected = [("", 1, 4), ("cook", 2, 8)];
    assert_eq!(bills, expected.map(|(persona, calls, tokens)| (persona.into(), "embedding/m".into(), calls, tokens)));
    house.nothing_refused();
}
