//! What was spent, summed up by quarter of an hour, person, model and persona.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::UserId;

/// Who stands in the table for the house itself, as `''` does for no persona.
const HOUSE: UserId = UserId(0);
/// Milliseconds of a quarter of an hour: every time zone's days begin at one.
const QUARTER_MS: i64 = 15 * 60 * 1000;

/// Calls and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendTotals {
    /// Calls made.
    pub calls: i64,
    /// Of those, how many cost something that is not known.
    pub unpriced: i64,
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Of those read, from a provider's cache.
    pub cached_tokens: i64,
    /// Of those read, written to a provider's cache.
    pub cache_write_tokens: i64,
    /// Of those written, thinking.
    pub reasoning_tokens: i64,
    /// Nano-dollars.
    pub cost: i64,
    /// How often a conversation could not go on from the provider's cache.
    pub prefix_breaks: i64,
}

/// The quarter that a moment is in.
pub(crate) fn quarter(at: i64) -> i64 {
    at.div_euclid(QUARTER_MS)
}

/// Whose bill it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payer<'a> {
    /// The person; none: the house itself.
    pub user: Option<UserId>,
    /// The persona; none: nobody in particular.
    pub persona: Option<&'a str>,
}

/// Adds to the sums of the quarter that `at` is in.
pub async fn add(tx: &mut Tx, at: i64, payer: Payer<'_>, model: &str, spent: &SpendTotals) -> Result<(), StoreError> {
    let quarter = quarter(at);
    let (user, persona) = (payer.user.unwrap_or(HOUSE), payer.persona.unwrap_or_default());
    sql::query!(
        "INSERT INTO spend (quarter, user_id, model, calls, unpriced, input_tokens, output_tokens, cached_tokens,
                            cache_write_tokens, reasoning_tokens, cost, prefix_breaks, persona)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         ON CONFLICT (quarter, user_id, model, persona) DO UPDATE SET
             calls = spend.calls + excluded.calls, unpriced = spend.unpriced + excluded.unpriced,
             input_tokens = spend.input_tokens + excluded.input_tokens,
             output_tokens = spend.output_tokens + excluded.output_tokens,
             cached_tokens = spend.cached_tokens + excluded.cached_tokens,
             cache_write_tokens = spend.cache_write_tokens + excluded.cache_write_tokens,
             reasoning_tokens = spend.reasoning_tokens + excluded.reasoning_tokens,
             cost = spend.cost + excluded.cost, prefix_breaks = spend.prefix_breaks + excluded.prefix_breaks",
        quarter,
        user,
        model,
        spent.calls,
        spent.unpriced,
        spent.input_tokens,
        spent.output_tokens,
        spent.cached_tokens,
        spent.cache_write_tokens,
        spent.reasoning_tokens,
        spent.cost,
        spent.prefix_breaks,
        persona
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// What was spent since the quarter that `since` is in, by one person or by all.
pub async fn since(tx: &mut Tx, since: i64, user: Option<UserId>) -> Result<SpendTotals, StoreError> {
    let quarter = quarter(since);
    let spent = sql::query_as!(
        SpendTotals,
        r#"SELECT coalesce(sum(calls), 0) AS "calls!: i64", coalesce(sum(unpriced), 0) AS "unpriced!: i64",
                  coalesce(sum(input_tokens), 0) AS "input_tokens!: i64",
                  coalesce(sum(output_tokens), 0) AS "output_tokens!: i64",
                  coalesce(sum(cached_tokens), 0) AS "cached_tokens!: i64",
                  coalesce(sum(cache_write_tokens), 0) AS "cache_write_tokens!: i64",
                  coalesce(sum(reasoning_tokens), 0) AS "reasoning_tokens!: i64",
                  coalesce(sum(cost), 0) AS "cost!: i64", coalesce(sum(prefix_breaks), 0) AS "prefix_breaks!: i64"
           FROM spend WHERE quarter >= $1 AND ($2 IS NULL OR user_id = $2)"#,
        quarter,
        user
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(spent)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillLine {
    /// A model's label or a person's name.
    pub name: String,
    /// Calls made.
    pub calls: i64,
    /// Tokens read and written.
    pub tokens: i64,
    /// Nano-dollars.
    pub cost: i64,
}

/// The bill by model, the dearest first.
pub async fn by_model(tx: &mut Tx, since: i64, user: Option<UserId>) -> Result<Vec<BillLine>, StoreError> {
    let quarter = quarter(since);
    let lines = sql::query_as!(
        BillLine,
        r#"SELECT model AS "name!", sum(calls) AS "calls!: i64",
                  sum(input_tokens + output_tokens) AS "tokens!: i64", sum(cost) AS "cost!: i64"
           FROM spend WHERE quarter >= $1 AND ($2 IS NULL OR user_id = $2)
           GROUP BY model ORDER BY sum(cost) DESC, sum(calls) DESC, model LIMIT 20"#,
        quarter,
        user
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(lines)
}

/// The bill by person, the dearest first; the house's own is a line like theirs.
pub async fn by_user(tx: &mut Tx, since: i64) -> Result<Vec<BillLine>, StoreError> {
    let quarter = quarter(since);
    let lines = sql::query_as!(
        BillLine,
        r#"SELECT coalesce(u.name, 'the house') AS "name!: String", sum(s.calls) AS "calls!: i64",
                  sum(s.input_tokens + s.output_tokens) AS "tokens!: i64", sum(s.cost) AS "cost!: i64"
           FROM spend s LEFT JOIN users u ON u.id = s.user_id WHERE s.quarter >= $1
           GROUP BY s.user_id, u.name ORDER BY sum(s.cost) DESC, sum(s.calls) DESC, 1 LIMIT 20"#,
        quarter
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(lines)
}

/// Notes that a budget's state was told in a period; false if it was noted before.
pub async fn note_once(tx: &mut Tx, scope: &str, period: i64) -> Result<bool, StoreError> {
    let noted =
        sql::query!("INSERT INTO budget_notes (scope, period) VALUES ($1, $2) ON CONFLICT DO NOTHING", scope, period)
            .execute(&mut *tx)
            .await?;
    Ok(noted.rows_affected() > 0)
}

/// Whose sums are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendGroup {
    Model,
    /// The people's, and the house's own.
    User,
}

/// What one model, or one person, spent in one stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendShare {
    /// Which of the stretches, from 0 on.
    pub stretch: i64,
    /// A model's label or a person's name.
    pub name: String,
    /// Calls made.
    pub calls: i64,
    /// Of those, how many cost something that is not known.
    pub unpriced: i64,
    /// Tokens read.
    pub input_tokens: i64,
    /// Of those, from a provider's cache.
    pub cached_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Nano-dollars.
    pub cost: i64,
}

/// What was spent in each of these stretches, from one moment (Unix milliseconds) up to the next.
pub async fn shares(tx: &mut Tx, moments: &[i64], by: SpendGroup) -> Result<Vec<SpendShare>, StoreError> {
    let quarters: Vec<[i64; 2]> =
        moments.windows(2).filter_map(|pair| Some([quarter(*pair.first()?), quarter(*pair.get(1)?)])).collect();
    let stretches = serde_json::to_string(&quarters).map_err(|error| StoreError::Database(error.to_string()))?;
    let shares =
        match by {
            SpendGroup::Model => {
                sql::query_as!(
                    SpendShare,
                    r#"SELECT CAST(d.key AS INTEGER) AS "stretch!: i64", s.model AS "name!",
                          sum(s.calls) AS "calls!: i64", sum(s.unpriced) AS "unpriced!: i64",
                          sum(s.input_tokens) AS "input_tokens!: i64", sum(s.cached_tokens) AS "cached_tokens!: i64",
                          sum(s.output_tokens) AS "output_tokens!: i64", sum(s.cost) AS "cost!: i64"
                   FROM json_each($1) d CROSS JOIN spend s ON s.quarter >= CAST(d.value ->> 0 AS INTEGER)
                     AND s.quarter < CAST(d.value ->> 1 AS INTEGER)
                   GROUP BY 1, 2 ORDER BY 1, 2"#,
                    stretches
                )
                .fetch_all(&mut *tx)
                .await?
            }
            SpendGroup::User => sql::query_as!(
                SpendShare,
                r#"SELECT CAST(d.key AS INTEGER) AS "stretch!: i64", coalesce(u.name, 'the house') AS "name!: String",
                          sum(s.calls) AS "calls!: i64", sum(s.unpriced) AS "unpriced!: i64",
                          sum(s.input_tokens) AS "input_tokens!: i64", sum(s.cached_tokens) AS "cached_tokens!: i64",
                          sum(s.output_tokens) AS "output_tokens!: i64", sum(s.cost) AS "cost!: i64"
                   FROM json_each($1) d CROSS JOIN spend s ON s.quarter >= CAST(d.value ->> 0 AS INTEGER)
                     AND s.quarter < CAST(d.value ->> 1 AS INTEGER)
                        LEFT JOIN users u ON u.id = s.user_id
                   GROUP BY 1, s.user_id, u.name ORDER BY 1, 2, s.user_id"#,
                stretches
            )
            .fetch_all(&mut *tx)
            .await?,
        };
    Ok(shares)
}
