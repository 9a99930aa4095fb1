//! Every call of a model and what it cost (row C8), as the journal projects it.

use crate::domain::ids::RunId;
use crate::store::Tx;
use crate::store::error::StoreError;

/// Records that a model is about to be asked.
///
/// # Errors
/// When the database fails.
pub async fn ask(tx: &mut Tx, run: RunId, asked_seq: i64, model: &str, at: i64) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO model_calls (run_id, asked_seq, model, state, asked_at) VALUES ($1, $2, $3, 'asked', $4)",
        run,
        asked_seq,
        model,
        at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// How a call came out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallEnd {
    /// `answered`, `failed`, `lost` or `dropped`.
    pub state: &'static str,
    /// Tokens read; an estimate for a lost or dropped call.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Of those read, from the provider's cache.
    pub cached_tokens: i64,
    /// What went wrong.
    pub error: Option<String>,
}

/// Records how the open call of a run came out; a run has at most one.
///
/// # Errors
/// When the database fails.
pub async fn end(tx: &mut Tx, run: RunId, end: &CallEnd, at: i64) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE model_calls SET state = $1, input_tokens = $2, output_tokens = $3, cached_tokens = $4, error = $5, ended_at = $6
         WHERE run_id = $7 AND state = 'asked'",
        end.state,
        end.input_tokens,
        end.output_tokens,
        end.cached_tokens,
        end.error,
        at,
        run
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Tokens spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls made.
    pub calls: i64,
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
}

/// What was spent since a time.
///
/// # Errors
/// When the database fails.
pub async fn spent_since(tx: &mut Tx, since: i64) -> Result<Spent, StoreError> {
    let spent = sqlx::query_as!(
        Spent,
        r#"SELECT count(*) AS "calls!: i64", coalesce(sum(input_tokens), 0) AS "input_tokens!: i64",
                  coalesce(sum(output_tokens), 0) AS "output_tokens!: i64"
           FROM model_calls WHERE asked_at >= $1"#,
        since
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(spent)
}
