//! What is used of what caps hold for: money and tokens, of runs' calls, memory's and recordings' alike (rows C2, N10).
//!
//! Never: the caps. Whoever asks does so in the transaction that sets more aside: there is one writer.
//! Start at [`within`] and [`reserved`].

use std::ops::Range;

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::{RunId, UserId};
use hob_core::domain::money::Money;
use hob_core::policy::budget::MoneyAndTokens;

/// Whose calls are meant: all that fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallFilter<'a> {
    /// One person's; none: anybody's.
    pub user: Option<UserId>,
    /// Made as one persona; none: as any, or as nobody in particular.
    pub persona: Option<&'a str>,
}

struct UsageRow {
    cost: i64,
    tokens: i64,
}

impl From<UsageRow> for MoneyAndTokens {
    fn from(row: UsageRow) -> Self {
        Self { usd: Money::from_nanos(row.cost), tokens: u64::try_from(row.tokens).unwrap_or(0) }
    }
}

/// What the calls that were begun within a time (Unix milliseconds) and are over have used: exact, and slow over a long time. What
/// is dated later, by a clock that was wrong, is of another time.
pub async fn within(tx: &mut Tx, of: CallFilter<'_>, time: Range<i64>) -> Result<MoneyAndTokens, StoreError> {
    let row = sql::query_as!(
        UsageRow,
        r#"SELECT coalesce(sum(cost), 0) AS "cost!: i64", coalesce(sum(tokens), 0) AS "tokens!: i64" FROM (
             SELECT cost, input_tokens + output_tokens AS tokens FROM model_calls
             WHERE asked_at >= $1 AND asked_at < $4 AND state <> 'asked'
               AND ($2 IS NULL OR user_id = $2) AND ($3 IS NULL OR persona = $3)
             UNION ALL
             SELECT cost, input_tokens + output_tokens FROM memory_calls
             WHERE asked_at >= $1 AND asked_at < $4 AND state <> 'asked'
               AND ($2 IS NULL OR user_id = $2) AND ($3 IS NULL OR persona = $3)
             UNION ALL
             SELECT cost, input_tokens + output_tokens FROM recordings
             WHERE asked_at >= $1 AND asked_at < $4 AND state <> 'asked'
               AND ($2 IS NULL OR user_id = $2) AND ($3 IS NULL OR persona = $3))"#,
        time.start,
        of.user,
        of.persona,
        time.end
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(row.into())
}

/// The same by the sums: of the quarters of an hour that begin within the time, and of the one in which that begins.
pub async fn within_quarters(tx: &mut Tx, of: CallFilter<'_>, time: Range<i64>) -> Result<MoneyAndTokens, StoreError> {
    let (first, last) = (crate::spend::quarter(time.start), crate::spend::quarter(time.end - 1));
    let row = sql::query_as!(
        UsageRow,
        r#"SELECT coalesce(sum(cost), 0) AS "cost!: i64", coalesce(sum(input_tokens + output_tokens), 0) AS "tokens!: i64"
           FROM spend WHERE quarter >= $1 AND quarter <= $4
             AND ($2 IS NULL OR user_id = $2) AND ($3 IS NULL OR persona = $3)"#,
        first,
        of.user,
        of.persona,
        last
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(row.into())
}

/// What is set aside for the calls that are open.
pub async fn reserved(tx: &mut Tx, of: CallFilter<'_>) -> Result<MoneyAndTokens, StoreError> {
    let row = sql::query_as!(
        UsageRow,
        r#"SELECT coalesce(sum(cost), 0) AS "cost!: i64", coalesce(sum(tokens), 0) AS "tokens!: i64" FROM (
             SELECT reserved AS cost, estimate AS tokens FROM model_calls
             WHERE state = 'asked' AND ($1 IS NULL OR user_id = $1) AND ($2 IS NULL OR persona = $2)
             UNION ALL
             SELECT reserved, input_tokens FROM memory_calls
             WHERE state = 'asked' AND ($1 IS NULL OR user_id = $1) AND ($2 IS NULL OR persona = $2)
             UNION ALL
             SELECT reserved, input_tokens FROM recordings
             WHERE state = 'asked' AND ($1 IS NULL OR user_id = $1) AND ($2 IS NULL OR persona = $2))"#,
        of.user,
        of.persona
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(row.into())
}

/// What the calls of a person's run, and of all agents that work for it, have used, without what is only set aside.
pub async fn by_run(tx: &mut Tx, run: RunId) -> Result<MoneyAndTokens, StoreError> {
    let row = sql::query_as!(
        UsageRow,
        r#"SELECT coalesce(sum(cost), 0) AS "cost!: i64", coalesce(sum(input_tokens + output_tokens), 0) AS "tokens!: i64"
           FROM model_calls
           WHERE run_id IN (SELECT $1 UNION ALL SELECT id FROM runs WHERE root_run = $1) AND state <> 'asked'"#,
        run
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(row.into())
}

/// What is set aside for the open calls of a person's run and of all agents that work for it.
pub async fn reserved_for_run(tx: &mut Tx, run: RunId) -> Result<MoneyAndTokens, StoreError> {
    let row = sql::query_as!(
        UsageRow,
        r#"SELECT coalesce(sum(reserved), 0) AS "cost!: i64", coalesce(sum(estimate), 0) AS "tokens!: i64" FROM model_calls
           WHERE run_id IN (SELECT $1 UNION ALL SELECT id FROM runs WHERE root_run = $1) AND state = 'asked'"#,
        run
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(row.into())
}
