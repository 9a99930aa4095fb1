//! What recall reads. A row through the driver costs more than finding it, so hundreds of rows come as one: a JSON list, and
//! their bytes one after the other in the same order.
//!
//! `scopes` is a JSON list everywhere, as is `ids`. What is not in the scopes is not read.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{MemoryId, SessionId, UserId};

/// The most speakers that are told.
const SPEAKERS_MAX: i64 = 200;
/// What these last runs of a conversation were shown is not raised again unasked.
const SHOWN_RUNS: i64 = 10;

/// Reads a list that SQLite made.
pub(crate) fn list<T: DeserializeOwned>(what: &'static str, json: &str) -> Result<Vec<T>, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::inconsistent("memories", "", format!("{what}: {error}")))
}

/// Cuts the next `length` bytes off.
fn cut<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (first, rest) = bytes.split_at(length.min(bytes.len()));
    *bytes = rest;
    first
}

/// What takes part in recall whatever the question is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecallCandidates {
    /// About how many memories there are, whoever's.
    pub all: i64,
    /// Who speaks in the scopes.
    pub speakers: Vec<String>,
    /// What may be raised unasked in this turn: the pinned first, then what the speaker said that matters; of each those that
    /// matter most first.
    pub salient: Vec<SalientMemory>,
    /// What stands in the stretch of the conversation that goes along anyway.
    pub window: Vec<i64>,
    /// The last of the conversation.
    pub recent: Vec<i64>,
}

/// A stretch of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrdinalRange {
    pub session: SessionId,
    /// Its first ordinal.
    pub from: i64,
    /// Its last ordinal.
    pub through: i64,
}

/// A memory that is pinned, or matters much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SalientMemory {
    /// The memory.
    pub id: i64,
    /// Whether it is pinned.
    pub pinned: bool,
    /// From 0 to 1.
    pub importance: f64,
}

/// Somebody's turn in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeakerTurn {
    pub session: SessionId,
    /// Whose turn it is.
    pub speaker: UserId,
}

/// When it is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueryMoment {
    /// In whose turn; none: in nobody's, and nothing is raised unasked.
    pub turn: Option<SpeakerTurn>,
    /// What goes along anyway.
    pub stretch: Option<OrdinalRange>,
}

/// What takes part in recall whatever the question is: at most `salient` pinned memories, as many of the speaker's own that matter
/// in each scope, and the `recent` last of the conversation.
///
/// What stands in the stretch is not salient, nor is what one of the conversation's last runs was shown, nor what a guest said, but
/// to that guest: nobody asked for it, and it would taint the run.
pub async fn recall_candidates(
    tx: &mut Tx,
    scopes: &str,
    QueryMoment { turn, stretch }: QueryMoment,
    salient: i64,
    recent: i64,
) -> Result<RecallCandidates, StoreError> {
    let session = stretch.map(|of| of.session);
    let (from, through) = stretch.map(|of| (of.from, of.through)).unzip();
    let (conversation, speaker) = turn.map(|turn| (turn.session, turn.speaker)).unzip();
    let row = sql::query!(
        r#"WITH RECURSIVE speakers (scope, name, place) AS (
             -- From one name to the next by the index, as there may be a million rows for each.
             SELECT s.value, (SELECT min(speaker) FROM memories WHERE scope = s.value), 1 FROM json_each($1) s
             UNION ALL
             SELECT scope, (SELECT min(speaker) FROM memories WHERE scope = speakers.scope AND speaker > speakers.name), place + 1
             FROM speakers WHERE name IS NOT NULL AND place < $7),
           shown (id) AS (
             SELECT r.memory_id FROM (
               SELECT id FROM runs INDEXED BY runs_over WHERE session_id = $8 AND state IN ('completed', 'cancelled', 'failed')
               ORDER BY id DESC LIMIT $10) latest
             CROSS JOIN recalled r ON r.run_id = latest.id WHERE r.memory_id IS NOT NULL)
           SELECT (SELECT coalesce(max(id), 0) FROM memories) AS "all!: i64",
             (SELECT json_group_array(name) FROM (
                SELECT DISTINCT name FROM speakers WHERE name IS NOT NULL ORDER BY name)) AS "speakers!: String",
             (SELECT json_group_array(json_array(id, importance)) FROM (
                SELECT m.id, m.importance FROM json_each($1) s CROSS JOIN memories m ON m.scope = s.value
                WHERE m.pinned = 1 AND $9 IS NOT NULL AND (m.origin <> 'guest' OR m.user_id = $9)
                  AND m.id NOT IN (SELECT id FROM shown) AND NOT EXISTS (
                    SELECT 1 FROM messages g WHERE g.id = m.message_id AND g.session_id = $2 AND g.ordinal BETWEEN $3 AND $4)
                ORDER BY m.importance DESC, m.id DESC LIMIT $5)) AS "pinned!: String",
             (SELECT json_group_array(json(i.value)) FROM json_each($1) s, json_each((
                SELECT json_group_array(json_array(id, importance)) FROM (
                  SELECT m.id, m.importance FROM memories m
                  WHERE m.scope = s.value AND m.importance >= 0.8 AND m.user_id = $9 AND m.pinned = 0
                    AND m.id NOT IN (SELECT id FROM shown) AND NOT EXISTS (
                      SELECT 1 FROM messages g WHERE g.id = m.message_id AND g.session_id = $2 AND g.ordinal BETWEEN $3 AND $4)
                  ORDER BY m.importance DESC, m.id DESC LIMIT $5))) i) AS "important!: String",
             (SELECT json_group_array(m.id) FROM messages g CROSS JOIN memories m ON m.message_id = g.id
              WHERE g.session_id = $2 AND g.ordinal BETWEEN $3 AND $4) AS "window!: String",
             (SELECT json_group_array(id) FROM (
                SELECT m.id FROM (
                  SELECT e.id FROM json_each($1) s CROSS JOIN episodes e ON e.session_id = $2 AND e.scope = s.value
                  ORDER BY e.id DESC LIMIT $6) latest
                CROSS JOIN memories m ON m.episode_id = latest.id
                ORDER BY latest.id DESC, m.place DESC LIMIT $6)) AS "recent!: String""#,
        scopes,
        session,
        from,
        through,
        salient,
        recent,
        SPEAKERS_MAX,
        conversation,
        speaker,
        SHOWN_RUNS
    )
    .fetch_one(&mut *tx)
    .await?;
    let salient = |pinned: bool, json: &str| -> Result<_, StoreError> {
        let rows: Vec<(i64, f64)> = list("what is salient", json)?;
        Ok(rows.into_iter().map(move |(id, importance)| SalientMemory { id, pinned, importance }))
    };
    let salient = [salient(true, &row.pinned)?, salient(false, &row.important)?];
    Ok(RecallCandidates {
        all: row.all,
        speakers: list("speakers", &row.speakers)?,
        salient: salient.into_iter().flatten().collect(),
        window: list("window", &row.window)?,
        recent: list("recent", &row.recent)?,
    })
}

/// The rows that match each of FTS5's `queries` (a JSON list), in their order: of each at most so many, the newest first.
///
/// # Errors
/// When one of them is not FTS5's syntax, or the database fails.
pub async fn matching(tx: &mut Tx, queries: &str, limit: i64) -> Result<Vec<Vec<i64>>, StoreError> {
    let rows = sql::query_scalar!(
        [
            r#"SELECT '[' || coalesce(group_concat((
             SELECT '[' || coalesce(group_concat(id), '') || ']' FROM (
               SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH wanted.value ORDER BY rowid DESC LIMIT $2)
             )), '') || ']' AS "rows!: String" FROM json_each($1) wanted"#,
            r#"SELECT '[' || coalesce(string_agg((
             SELECT '[' || coalesce(string_agg(id::text, ','), '') || ']' FROM (
               SELECT id FROM memories WHERE words @@ matching(wanted.value) ORDER BY id DESC LIMIT $2) found
             ), ','), '') || ']' AS "rows!: String" FROM json_elements($1) wanted"#
        ],
        queries,
        limit
    )
    .fetch_one(&mut *tx)
    .await?;
    list("matches", &rows)
}

/// Those of `ids` that are in the scopes.
pub async fn of_scopes(tx: &mut Tx, ids: &str, scopes: &str) -> Result<Vec<i64>, StoreError> {
    let ids = sql::query_scalar!(
        r#"SELECT '[' || coalesce(group_concat(m.id), '') || ']' AS "ids!: String"
           FROM json_each($1) wanted CROSS JOIN memories m ON m.id = CAST(wanted.value AS INTEGER)
           WHERE m.scope IN (SELECT value FROM json_each($2))"#,
        ids,
        scopes
    )
    .fetch_one(&mut *tx)
    .await?;
    list("ids", &ids)
}

/// Where a memory stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryPosition {
    /// The memory.
    pub id: i64,
    pub episode: i64,
    pub place: i64,
    /// How many turns the episode has.
    pub turns: i64,
    pub began_at: i64,
}

#[derive(Deserialize)]
struct MemoryPositionRow(i64, i64, i64, i64, i64, Option<usize>, Option<String>);

/// Where those of `ids` stand that are in the scopes, each with the bytes of its stems, or its text where it has none.
pub async fn places(tx: &mut Tx, ids: &str, scopes: &str) -> Result<Vec<(MemoryPosition, MemoryWords)>, StoreError> {
    let row = sql::query!(
        r#"SELECT json_group_array(json_array(m.id, m.episode_id, m.place, e.turns, e.began_at, length(m.stems),
                    CASE WHEN m.stems IS NULL THEN m.text END)) AS "rows!: String",
                  CAST(group_concat(m.stems, '') AS BLOB) AS "stems: Vec<u8>"
           FROM json_each($1) wanted CROSS JOIN memories m ON m.id = CAST(wanted.value AS INTEGER) CROSS JOIN episodes e ON e.id = m.episode_id
           WHERE m.scope IN (SELECT value FROM json_each($2))"#,
        ids,
        scopes
    )
    .fetch_one(&mut *tx)
    .await?;
    let stems = row.stems.unwrap_or_default();
    let mut stems = stems.as_slice();
    let place = |MemoryPositionRow(id, episode, place, turns, began_at, length, text): MemoryPositionRow| {
        let place = MemoryPosition { id, episode, place, turns, began_at };
        (place, MemoryWords::of(cut(&mut stems, length.unwrap_or(0)), text))
    };
    Ok(list("places", &row.rows)?.into_iter().map(place).collect())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryWords {
    /// The bytes of its stems.
    Stems(Vec<u8>),
    /// It has none yet: its text.
    Text(String),
}

impl MemoryWords {
    fn of(stems: &[u8], text: Option<String>) -> Self {
        text.map_or_else(|| Self::Stems(stems.to_vec()), Self::Text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeTurnRow {
    /// Its memory.
    pub id: i64,
    pub episode: i64,
    pub place: i64,
    /// Who said it.
    pub speaker: String,
    /// The manner, as bits.
    pub manner: Option<i64>,
    /// Whether Hob's question before it asks.
    pub is_asked_for: bool,
    /// What was said.
    pub words: MemoryWords,
}

#[derive(Deserialize)]
struct TurnJson(i64, i64, i64, String, Option<i64>, i64, Option<usize>, Option<String>);

/// All turns of these episodes, as far as they are in the scopes, in order.
pub async fn turns(tx: &mut Tx, episodes: &str, scopes: &str) -> Result<Vec<EpisodeTurnRow>, StoreError> {
    let row = sql::query!(
        r#"SELECT json_group_array(json_array(m.id, m.episode_id, m.place, m.speaker, m.manner,
                    coalesce(instr(m.asked, '?'), 0), length(m.stems),
                    CASE WHEN m.stems IS NULL OR m.manner IS NULL THEN m.text END)) AS "rows!: String",
                  CAST(group_concat(m.stems, '') AS BLOB) AS "stems: Vec<u8>"
           FROM json_each($1) wanted CROSS JOIN memories m ON m.episode_id = CAST(wanted.value AS INTEGER)
           WHERE m.scope IN (SELECT value FROM json_each($2))"#,
        episodes,
        scopes
    )
    .fetch_one(&mut *tx)
    .await?;
    let stems = row.stems.unwrap_or_default();
    let mut stems = stems.as_slice();
    let turn = |TurnJson(id, episode, place, speaker, manner, asked, length, text): TurnJson| {
        let words = MemoryWords::of(cut(&mut stems, length.unwrap_or(0)), text);
        EpisodeTurnRow { id, episode, place, speaker, manner, is_asked_for: asked > 0, words }
    };
    let mut turns: Vec<EpisodeTurnRow> = list("turns", &row.rows)?.into_iter().map(turn).collect();
    turns.sort_by_key(|turn| (turn.episode, turn.place));
    Ok(turns)
}

/// What a model made of a memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VectorRow {
    /// The memory.
    pub id: i64,
    /// Its vector, or the signs of its tokens, as stored.
    pub bytes: Vec<u8>,
}

#[derive(Deserialize)]
struct VectorJson(i64, usize);

/// The vectors of these memories, of what has one.
pub async fn vectors(tx: &mut Tx, model: i64, ids: &str) -> Result<Vec<VectorRow>, StoreError> {
    let row = sql::query!(
        r#"SELECT json_group_array(json_array(v.memory_id, length(v.vector))) AS "rows!: String",
                  CAST(group_concat(v.vector, '') AS BLOB) AS "bytes: Vec<u8>"
           FROM json_each($1) wanted CROSS JOIN vectors v ON v.model_id = $2 AND v.memory_id = CAST(wanted.value AS INTEGER)"#,
        ids,
        model
    )
    .fetch_one(&mut *tx)
    .await?;
    vector_rows(&row.rows, row.bytes)
}

/// The signs of the tokens of these memories, of what has them.
pub async fn token_signs(tx: &mut Tx, model: i64, ids: &str) -> Result<Vec<VectorRow>, StoreError> {
    let row = sql::query!(
        r#"SELECT json_group_array(json_array(t.memory_id, length(t.signs))) AS "rows!: String",
                  CAST(group_concat(t.signs, '') AS BLOB) AS "bytes: Vec<u8>"
           FROM json_each($1) wanted CROSS JOIN token_signs t ON t.model_id = $2 AND t.memory_id = CAST(wanted.value AS INTEGER)"#,
        ids,
        model
    )
    .fetch_one(&mut *tx)
    .await?;
    vector_rows(&row.rows, row.bytes)
}

fn vector_rows(rows: &str, bytes: Option<Vec<u8>>) -> Result<Vec<VectorRow>, StoreError> {
    let bytes = bytes.unwrap_or_default();
    let mut rest = bytes.as_slice();
    let meaning = |VectorJson(id, length)| VectorRow { id, bytes: cut(&mut rest, length).to_vec() };
    Ok(list("vectors", rows)?.into_iter().map(meaning).collect())
}

/// The newest that was said in a scope from `from` until before `until`.
pub async fn said_between(tx: &mut Tx, scope: &str, from: i64, until: i64, limit: i64) -> Result<Vec<i64>, StoreError> {
    let ids = sql::query_scalar!(
        r#"SELECT id AS "id!: i64" FROM memories
           WHERE scope = $1 AND at >= $2 AND at < $3 ORDER BY at DESC, id DESC LIMIT $4"#,
        scope,
        from,
        until,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(ids)
}

/// A memory as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledMemory {
    pub id: MemoryId,
    /// Who said it.
    pub speaker: String,
    /// Their role.
    pub origin: String,
    pub text: String,
    /// Hob's question that it answers.
    pub asked: Option<String>,
    /// What stands before it in its episode.
    pub before_id: Option<MemoryId>,
    /// Who said that.
    pub before_speaker: Option<String>,
    /// Their role.
    pub before_origin: Option<String>,
    pub before: Option<String>,
    /// When it was said.
    pub at: i64,
}

/// These memories, as far as they are in the scopes.
pub async fn recalled_memories(tx: &mut Tx, ids: &str, scopes: &str) -> Result<Vec<RecalledMemory>, StoreError> {
    let told = sql::query_as!(
        RecalledMemory,
        r#"SELECT m.id AS "id!: MemoryId", m.speaker, m.origin, m.text, m.asked, b.id AS "before_id?: MemoryId",
               b.speaker AS "before_speaker?", b.origin AS "before_origin?", b.text AS "before?", m.at
           FROM json_each($1) wanted CROSS JOIN memories m ON m.id = CAST(wanted.value AS INTEGER) LEFT JOIN memories b ON b.id = (
               SELECT id FROM memories
               WHERE episode_id = m.episode_id AND place < m.place AND scope = m.scope ORDER BY place DESC LIMIT 1)
           WHERE m.scope IN (SELECT value FROM json_each($2))"#,
        ids,
        scopes
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(told)
}
