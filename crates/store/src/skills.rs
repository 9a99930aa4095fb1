//! Records of installed skills, and of procedures that were repeated (row K4).

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{RunId, UserId};

/// A skill that was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRow {
    pub name: String,
    /// Where it came from.
    pub source: String,
    /// `enabled` or `inert`.
    pub state: String,
    /// Its words may instruct.
    pub trusted: bool,
    /// The files that this was said of.
    pub digest: String,
}

/// A call of a run that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// Its name within the run.
    pub call: String,
    /// The tool.
    pub name: String,
    /// What it was given: JSON.
    pub arguments: String,
    /// It failed, or its end is not known.
    pub failed: bool,
}

/// A procedure that was offered, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferRow {
    pub user: UserId,
    pub fingerprint: String,
}

/// All records, by name.
pub async fn list(tx: &mut Tx) -> Result<Vec<SkillRow>, StoreError> {
    let rows = sql::query_as!(
        SkillRow,
        r#"SELECT name, source, state, trusted AS "trusted: bool", digest FROM skills ORDER BY name"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// Records what holds of a skill now; a record that is there is overwritten.
pub async fn put(tx: &mut Tx, row: &SkillRow, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "INSERT INTO skills (name, source, state, trusted, digest, installed_at, changed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (name) DO UPDATE SET source = excluded.source, state = excluded.state,
           trusted = excluded.trusted, digest = excluded.digest, changed_at = excluded.changed_at",
        row.name,
        row.source,
        row.state,
        row.trusted,
        row.digest,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Takes a record away.
pub async fn remove(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    sql::query!("DELETE FROM skills WHERE name = $1", name).execute(&mut *tx).await?;
    Ok(())
}

pub async fn calls(tx: &mut Tx, run: RunId) -> Result<Vec<CallRow>, StoreError> {
    let rows = sql::query_as!(
        CallRow,
        r#"SELECT call_id AS call, name, arguments, coalesce(is_error, 1) AS "failed!: bool"
           FROM tool_calls WHERE run_id = $1"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// Notes that a run did this. Noted twice, it counts once.
pub async fn note(tx: &mut Tx, run: RunId, user: UserId, print: &str, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "INSERT INTO procedures (run_id, user_id, fingerprint, ended_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (run_id) DO NOTHING",
        run,
        user,
        print,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The runs of this person that did this since then, the newest first.
pub async fn alike(tx: &mut Tx, user: UserId, print: &str, since: i64, limit: i64) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT run_id AS "run!: RunId" FROM procedures
           WHERE user_id = $1 AND fingerprint = $2 AND ended_at >= $3 ORDER BY ended_at DESC, run_id DESC LIMIT $4"#,
        user,
        print,
        since,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// Offers it to this person; false if that was done before.
pub async fn offer(tx: &mut Tx, user: UserId, print: &str, now: Timestamp) -> Result<bool, StoreError> {
    let now = millis(now);
    let done = sql::query!(
        "INSERT INTO procedure_offers (user_id, fingerprint, offered_at) VALUES ($1, $2, $3)
         ON CONFLICT (user_id, fingerprint) DO NOTHING",
        user,
        print,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// The newest offer that was not taken up; with `user`, of that person's.
pub async fn open_offer(tx: &mut Tx, user: Option<UserId>) -> Result<Option<OfferRow>, StoreError> {
    let row = sql::query_as!(
        OfferRow,
        r#"SELECT user_id AS "user!: UserId", fingerprint FROM procedure_offers INDEXED BY procedure_offers_open
           WHERE drafted_at IS NULL AND ($1 IS NULL OR user_id = $1) ORDER BY offered_at DESC, fingerprint LIMIT 1"#,
        user
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row)
}

/// It was taken up.
pub async fn drafted(tx: &mut Tx, offer: &OfferRow, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "UPDATE procedure_offers SET drafted_at = $1 WHERE user_id = $2 AND fingerprint = $3",
        now,
        offer.user,
        offer.fingerprint
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
