//! Calls of a model on memory's behalf, outside any run, and what they cost (row N10).

use std::ops::Range;

use crate::error::StoreError;
use crate::model_calls::CallEnd;
use crate::spend;
use crate::{Tx, sql};
use hob_core::domain::ids::{EpisodeId, UserId};

/// A call about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMemoryCall<'a> {
    /// Who pays; none: the house itself.
    pub user: Option<UserId>,
    /// As which persona Hob heard what it is about; none: as nobody in particular.
    pub persona: Option<&'a str>,
    /// `extraction` or `embedding`.
    pub purpose: &'static str,
    pub model: &'a str,
    /// The tokens it will read, as counted here.
    pub estimate: i64,
    /// What is set aside for it, in nano-dollars.
    pub reserved: i64,
    /// When, in Unix milliseconds.
    pub at: i64,
}

/// Records that a model is about to be asked; gives the call's row.
pub async fn ask(tx: &mut Tx, call: &NewMemoryCall<'_>) -> Result<i64, StoreError> {
    // The tokens it is expected to read stand in for those it read, until that is known.
    let id = sql::query_scalar!(
        r#"INSERT INTO memory_calls (user_id, purpose, model, state, input_tokens, reserved, asked_at, persona)
           VALUES ($1, $2, $3, 'asked', $4, $5, $6, $7) RETURNING id AS "id!""#,
        call.user,
        call.purpose,
        call.model,
        call.estimate,
        call.reserved,
        call.at,
        call.persona
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// Records how an open call came out, and adds it to the sums; false: it was not open.
pub async fn end(tx: &mut Tx, call: i64, end: &CallEnd, at: i64) -> Result<bool, StoreError> {
    let ended = sql::query!(
        r#"UPDATE memory_calls SET state = $2, input_tokens = $3, output_tokens = $4, cached_tokens = $5, cost = $6,
               error = $7, ended_at = $8
           WHERE id = $1 AND state = 'asked' RETURNING model AS "model!", user_id AS "user: UserId", persona"#,
        call,
        end.state,
        end.input_tokens,
        end.output_tokens,
        end.cached_tokens,
        end.cost,
        end.error,
        at
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(ended) = ended else { return Ok(false) };
    let payer = spend::Payer { user: ended.user, persona: ended.persona.as_deref() };
    spend::add(tx, at, payer, &ended.model, &end.spent(0)).await?;
    Ok(true)
}

/// As which persona the last run answered in the conversation that a stretch of talk is of.
pub async fn persona_of(tx: &mut Tx, episode: EpisodeId) -> Result<Option<String>, StoreError> {
    let persona = sql::query_scalar!(
        r#"SELECT c.persona AS "persona: String" FROM model_calls c
           WHERE c.run_id = (SELECT r.id FROM runs r WHERE r.state IN ('completed', 'cancelled', 'failed')
                               AND r.session_id = (SELECT e.session_id FROM episodes e WHERE e.id = $1)
                             ORDER BY r.id DESC LIMIT 1)
           ORDER BY c.asked_seq DESC LIMIT 1"#,
        episode
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(persona.flatten())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMemoryCall {
    pub id: i64,
    pub model: String,
    /// The tokens it was expected to read.
    pub estimate: i64,
}

pub async fn open(tx: &mut Tx) -> Result<Vec<OpenMemoryCall>, StoreError> {
    let calls = sql::query_as!(
        OpenMemoryCall,
        r#"SELECT id AS "id!", model, input_tokens AS estimate FROM memory_calls WHERE state = 'asked' ORDER BY id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(calls)
}

/// How many calls to draw facts were begun within a time.
pub async fn within(tx: &mut Tx, time: Range<i64>) -> Result<i64, StoreError> {
    let count = sql::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM memory_calls
           WHERE asked_at >= $1 AND asked_at < $2 AND purpose <> 'embedding'"#,
        time.start,
        time.end
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(count)
}
