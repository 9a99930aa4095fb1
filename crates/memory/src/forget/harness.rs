//! A database with words in it that are to go, for tests.

use sqlx::Row;
use tempfile::TempDir;

use super::{ForgetItem, ForgetOutcome};
use hob_store::error::StoreError;
use hob_store::{SchedulingMode, Store, Tx};

/// The word that is to go.
pub(super) const WORD: &str = "zanzibar";

/// Statements as they stand.
async fn raw(tx: &mut Tx, statements: &[String]) -> Result<(), StoreError> {
    for statement in statements {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.clone())).execute(&mut *tx).await?;
    }
    Ok(())
}

/// The first column of a query's rows, as text.
async fn column(tx: &mut Tx, query: &'static str) -> Result<Vec<String>, StoreError> {
    let rows = sqlx::query(query).fetch_all(&mut *tx).await?;
    Ok(rows.iter().map(|row| row.get::<Option<String>, _>(0).unwrap_or_default()).collect())
}

/// A database in which something was said.
pub(super) struct Harness {
    home: TempDir,
    pub(super) store: Store,
}

impl Harness {
    pub(super) async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let harness = Self { home, store };
        harness
            .sql(&["INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'user', 0), (2, 'Bob', 'user', 0);
             INSERT INTO sessions (id, key, channel, created_at) VALUES (1, '7', 'telegram', 0), (2, '8', 'telegram', 0);
             INSERT INTO episodes (id, scope, session_id, began_at, ended_at, turns) VALUES (1, 'p1', 1, 0, 0, 9), (2, 'p2', 2, 0, 0, 9);
             INSERT INTO embedding_models (id, name, dimensions, digest, created_at) VALUES (1, 'm', 3, 'd', 0);"
                .to_owned()])
            .await;
        harness
    }

    pub(super) async fn sql(&self, statements: &[String]) {
        let statements = statements.to_vec();
        self.store.write(async move |tx| raw(tx, &statements).await).await.unwrap();
    }

    /// A run of a message, in its user's own conversation, with all that comes of it; Hob's answer repeats the words.
    pub(super) async fn says(&self, run: i64, user: i64, words: &str, state: &str) {
        let ended = if state == "completed" { "1" } else { "NULL" };
        let delivered = if state == "completed" { ("delivered", "1") } else { ("pending", "NULL") };
        let (said, answer) = (run * 10, run * 10 + 1);
        self.sql(&[format!(
            "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition, sent_at, received_at)
               VALUES ({run}, {user}, {user}, 'telegram', 'default', '7', '{run}', '{words}', 0, 'run', 0, 0);
             INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at, ended_at, state_hash)
               VALUES ({run}, {user}, {run}, {user}, '{state}', 0, {ended}, 'hash');
             INSERT INTO run_events (run_id, seq, kind, version, body, at) VALUES
               ({run}, 1, 'input.accepted', 1, '{{\"kind\":\"input.accepted\",\"body\":{{\"text\":\"{words}\"}}}}', 0),
               ({run}, 2, 'run.begun', 1, '{{\"kind\":\"run.begun\",\"body\":{{\"context\":{{\"tail\":\"blob:{run}\"}}}}}}', 0);
             INSERT INTO signals (run_id, body, created_at, taken) VALUES ({run}, '{words}', 0, 1);
             INSERT INTO blobs (hash, text) VALUES ('blob:{run}', 'the tail of run {run}');
             INSERT INTO messages (id, session_id, ordinal, run_id, role, user_id, body, text, at) VALUES
               ({said}, {user}, {said}, {run}, 'user', {user}, '{{\"role\":\"user\",\"text\":\"{words}\"}}', '{words}', 0),
               ({answer}, {user}, {answer}, {run}, 'assistant', NULL, '{{\"role\":\"assistant\",\"text\":\"So: {words}\"}}', 'So: {words}', 0);
             INSERT INTO tool_calls (run_id, call_id, name, arguments, attempts, started_at, finished_at, is_error, result)
               VALUES ({run}, '1.0', 'remember_fact', '{words}', 1, 0, 0, 0, '{words}');
             INSERT INTO outbox (key, session_id, run_id, channel, account, chat, text, choices, state, next_attempt_at, created_at, ended_at)
               VALUES ('run:{run}:5:0', {user}, {run}, 'telegram', 'default', '7', 'So: {words}', '[]', '{}', 0, 0, {});
             INSERT INTO memories (id, episode_id, place, scope, speaker, user_id, message_id, text, origin, importance, at)
               VALUES ({run}, {user}, {run}, 'p{user}', 'Ada', {user}, {said}, '{words}', 'user', 0.5, {run});
             INSERT INTO vectors (model_id, memory_id, vector) VALUES (1, {run}, x'01');
             INSERT INTO token_signs (model_id, memory_id, signs) VALUES (1, {run}, x'01');",
            delivered.0, delivered.1
        )])
        .await;
    }

    pub(super) async fn fact(&self, id: i64, message: Option<i64>, value: &str, superseded: bool) {
        let message = message.map_or_else(|| "NULL".to_owned(), |message| message.to_string());
        let superseded = if superseded { "9" } else { "NULL" };
        self.sql(&[format!(
            "INSERT INTO facts (id, scope, category, key, value, user_id, speaker, message_id, source, confidence, importance, created_at, superseded_at)
             VALUES ({id}, 'p1', 'travel', 'next trip', '{value}', 1, 'Ada', {message}, 'told', 1, 0.5, {id}, {superseded})"
        )])
        .await;
    }

    pub(super) async fn texts(&self, query: &'static str) -> Vec<String> {
        self.store.read(async |tx| column(tx, query).await).await.unwrap()
    }

    pub(super) async fn forget(&self, what: ForgetItem) -> ForgetOutcome {
        self.store.write(async move |tx| what.run(tx).await).await.unwrap()
    }

    /// Whether the word is still in the file, once the log is folded into it.
    pub(super) async fn keeps_the_word(self) -> bool {
        self.store.close().await;
        assert!(!self.home.path().join("hob.db-wal").exists(), "the log was folded into the file");
        let bytes = std::fs::read(self.home.path().join("hob.db")).unwrap();
        bytes.windows(WORD.len()).any(|window| window.eq_ignore_ascii_case(WORD.as_bytes()))
    }
}
