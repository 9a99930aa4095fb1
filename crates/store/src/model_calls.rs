//! Every call of a model and what it cost (row C8), as the journal projects it.

use crate::error::StoreError;
use crate::spend::{self, SpendTotals};
use crate::{Tx, sql};
use hob_core::domain::ids::{RunId, SessionId, UserId};

/// A call about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewModelCall<'a> {
    /// The run that makes it.
    pub run: RunId,
    /// The number of the event that starts it.
    pub asked_seq: i64,
    pub model: &'a str,
    pub session: SessionId,
    pub user: UserId,
    /// As which persona; none: as nobody in particular.
    pub persona: Option<&'a str>,
    /// The tokens it will read, as counted here, before calibration.
    pub estimate: i64,
    /// What is set aside for it, in nano-dollars.
    pub reserved: i64,
    /// When, in Unix milliseconds.
    pub at: i64,
}

/// Records that a model is about to be asked. Gives what the last run's requests began with, of the same session.
pub async fn ask(tx: &mut Tx, call: &NewModelCall<'_>) -> Result<Option<String>, StoreError> {
    let prefix = sql::query_scalar!(
        r#"INSERT INTO model_calls
             (run_id, asked_seq, model, state, session_id, user_id, estimate, reserved, asked_at, persona)
           VALUES ($1, $2, $3, 'asked', $4, $5, $6, $7, $8, $9)
           RETURNING (SELECT prefix FROM sessions WHERE id = session_id) AS "prefix: String""#,
        call.run,
        call.asked_seq,
        call.model,
        call.session,
        call.user,
        call.estimate,
        call.reserved,
        call.at,
        call.persona
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(prefix)
}

/// Notes why the provider's cache could not go on from what the session's requests began with, and that they begin with
/// `prefix` now.
pub async fn breaks(
    tx: &mut Tx,
    run: RunId,
    asked_seq: i64,
    reason: Option<&str>,
    prefix: &str,
) -> Result<(), StoreError> {
    if reason.is_some() {
        sql::query!(
            "UPDATE model_calls SET prefix_break = $3 WHERE run_id = $1 AND asked_seq = $2",
            run,
            asked_seq,
            reason
        )
        .execute(&mut *tx)
        .await?;
    }
    sql::query!("UPDATE sessions SET prefix = $2 WHERE id = (SELECT session_id FROM runs WHERE id = $1)", run, prefix)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// How a call came out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallEnd {
    /// `answered`, `failed`, `lost` or `dropped`.
    pub state: &'static str,
    /// Nobody was asked: the model rests.
    pub skipped: bool,
    /// Tokens read; an estimate for a lost or dropped call.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Of those read, from the provider's cache.
    pub cached_tokens: i64,
    /// Of those read, written to the provider's cache.
    pub cache_write_tokens: i64,
    /// Of those written, thinking.
    pub reasoning_tokens: i64,
    /// What it cost, in nano-dollars; none: its price is not known.
    pub cost: Option<i64>,
    /// From sending to the end, in milliseconds, where there was an end.
    pub latency_ms: Option<i64>,
    /// What went wrong.
    pub error: Option<String>,
}

impl CallEnd {
    /// What it adds to the sums.
    pub(crate) fn spent(&self, prefix_breaks: i64) -> SpendTotals {
        SpendTotals {
            calls: i64::from(!self.skipped),
            unpriced: i64::from(self.cost.is_none() && self.state != "failed"),
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_tokens: self.cached_tokens,
            cache_write_tokens: self.cache_write_tokens,
            reasoning_tokens: self.reasoning_tokens,
            cost: self.cost.unwrap_or(0),
            prefix_breaks,
        }
    }
}

/// Records how the open call of a run came out, and adds it to the sums; a run has at most one.
///
/// Gives which model stands in for which in its session, as the chat was told, as JSON; none: the right one answers.
pub async fn end(tx: &mut Tx, run: RunId, end: &CallEnd, at: i64) -> Result<Option<String>, StoreError> {
    let ended = sql::query!(
        r#"UPDATE model_calls SET state = $1, input_tokens = $2, output_tokens = $3, cached_tokens = $4,
               cache_write_tokens = $5, reasoning_tokens = $6, cost = $7, latency_ms = $8, error = $9, ended_at = $10
           WHERE run_id = $11 AND state = 'asked'
           RETURNING model AS "model!", user_id AS "user: UserId", persona, prefix_break IS NOT NULL AS "breaks!: i64",
             (SELECT stand_in FROM sessions s WHERE s.id = session_id) AS "stand_in: String""#,
        end.state,
        end.input_tokens,
        end.output_tokens,
        end.cached_tokens,
        end.cache_write_tokens,
        end.reasoning_tokens,
        end.cost,
        end.latency_ms,
        end.error,
        at,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some((ended, user)) = ended.and_then(|ended| ended.user.map(|user| (ended, user))) else {
        return Ok(None);
    };
    let payer = spend::Payer { user: Some(user), persona: ended.persona.as_deref() };
    spend::add(tx, at, payer, &ended.model, &end.spent(ended.breaks)).await?;
    Ok(ended.stand_in)
}

/// A call of the past: what was counted here, and what the provider counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCountSample {
    /// Counted here.
    pub estimate: i64,
    /// By the provider.
    pub reported: i64,
}

/// Only this many of the latest calls are searched: a model that is not among them is calibrated anew.
const LATEST_CALLS: i64 = 1_000;

/// The latest answered calls of a model, the newest first.
pub async fn latest_counts(tx: &mut Tx, model: &str, limit: i64) -> Result<Vec<TokenCountSample>, StoreError> {
    let counts = sql::query_as!(
        TokenCountSample,
        r#"SELECT estimate AS "estimate!: i64", input_tokens AS "reported!: i64" FROM (
             SELECT model, state, estimate, input_tokens, asked_at FROM model_calls ORDER BY asked_at DESC LIMIT $3)
           WHERE model = $1 AND state = 'answered' AND estimate > 0 AND input_tokens > 0
           ORDER BY asked_at DESC LIMIT $2"#,
        model,
        limit,
        LATEST_CALLS
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(counts)
}

/// How often a provider's cache could not go on, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixBreak {
    pub reason: String,
    /// How often.
    pub count: i64,
}

/// Why providers' caches could not go on since a time, for one person's calls or for all; the most frequent first.
pub async fn prefix_breaks(tx: &mut Tx, since: i64, user: Option<UserId>) -> Result<Vec<PrefixBreak>, StoreError> {
    let breaks = sql::query_as!(
        PrefixBreak,
        r#"SELECT prefix_break AS "reason!", count(*) AS "count!: i64" FROM model_calls
           WHERE asked_at >= $1 AND prefix_break IS NOT NULL AND ($2 IS NULL OR user_id = $2)
           GROUP BY prefix_break ORDER BY count(*) DESC, prefix_break"#,
        since,
        user
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(breaks)
}
