//! Who may open the page, and what programs may call its API: by the SHA-256 of what they show.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};

/// A key that holds, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidKey {
    pub id: i64,
    /// What it opens: `viewer` or `owner`.
    pub role: String,
    /// When it was last seen, in milliseconds.
    pub seen_at: Option<i64>,
}

/// Makes a login that works once.
pub async fn add_login(tx: &mut Tx, hash: &str, role: &str, expires_at: Timestamp) -> Result<(), StoreError> {
    let expires_at = millis(expires_at);
    sql::query!("INSERT INTO web_logins (hash, role, expires_at) VALUES ($1, $2, $3)", hash, role, expires_at)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Takes a login: gives its role, once. Those that are over go.
pub async fn take_login(tx: &mut Tx, hash: &str, now: Timestamp) -> Result<Option<String>, StoreError> {
    let now = millis(now);
    sql::query!("DELETE FROM web_logins WHERE expires_at <= $1", now).execute(&mut *tx).await?;
    let taken = sql::query_scalar!("DELETE FROM web_logins WHERE hash = $1 RETURNING role", hash);
    Ok(taken.fetch_optional(&mut *tx).await?)
}

/// Whether a login can be taken.
pub async fn login_holds(tx: &mut Tx, hash: &str, now: Timestamp) -> Result<bool, StoreError> {
    let now = millis(now);
    let found = sql::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM web_logins WHERE hash = $1 AND expires_at > $2) AS "holds!: bool""#,
        hash,
        now
    );
    Ok(found.fetch_one(&mut *tx).await?)
}

/// A browser that has logged in.
#[derive(Debug, Clone)]
pub struct NewBrowserSession<'a> {
    /// Of its cookie.
    pub hash: &'a str,
    pub role: &'a str,
    /// What it says it is.
    pub agent: &'a str,
    /// Until when, unless it comes again.
    pub expires_at: Timestamp,
}

/// Begins a visit. Those that are over go.
pub async fn add_visit(tx: &mut Tx, visit: &NewBrowserSession<'_>, now: Timestamp) -> Result<(), StoreError> {
    let (now, expires_at) = (millis(now), millis(visit.expires_at));
    sql::query!("DELETE FROM web_visits WHERE expires_at <= $1", now).execute(&mut *tx).await?;
    sql::query!(
        "INSERT INTO web_visits (hash, role, agent, began_at, seen_at, expires_at) VALUES ($1, $2, $3, $4, $4, $5)",
        visit.hash,
        visit.role,
        visit.agent,
        now,
        expires_at
    )
    .execute(&mut *tx)
    .await?;
    sql::query!(
        "INSERT INTO web_entered (role, first_at) VALUES ($1, $2) ON CONFLICT (role) DO NOTHING",
        visit.role,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The visit that a cookie belongs to.
pub async fn find_visit(tx: &mut Tx, hash: &str, now: Timestamp) -> Result<Option<ValidKey>, StoreError> {
    let now = millis(now);
    let found = sql::query_as!(
        ValidKey,
        "SELECT id, role, seen_at FROM web_visits WHERE hash = $1 AND expires_at > $2",
        hash,
        now
    );
    Ok(found.fetch_optional(&mut *tx).await?)
}

/// Whether a visit has neither been ended nor run out.
pub async fn visit_holds(tx: &mut Tx, id: i64, now: Timestamp) -> Result<bool, StoreError> {
    let now = millis(now);
    let found = sql::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM web_visits WHERE id = $1 AND expires_at > $2) AS "holds!: bool""#,
        id,
        now
    );
    Ok(found.fetch_one(&mut *tx).await?)
}

/// It came again: it holds until then.
pub async fn prolong_visit(tx: &mut Tx, id: i64, now: Timestamp, until: Timestamp) -> Result<(), StoreError> {
    let (now, until) = (millis(now), millis(until));
    sql::query!("UPDATE web_visits SET seen_at = $1, expires_at = $2 WHERE id = $3", now, until, id)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

pub async fn end_visit(tx: &mut Tx, id: i64) -> Result<bool, StoreError> {
    Ok(sql::query!("DELETE FROM web_visits WHERE id = $1", id).execute(&mut *tx).await?.rows_affected() > 0)
}

/// Whether an owner has ever logged in, so that they need not be told how.
pub async fn owner_entered(tx: &mut Tx) -> Result<bool, StoreError> {
    let found =
        sql::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM web_entered WHERE role = 'owner') AS "entered!: bool""#);
    Ok(found.fetch_one(&mut *tx).await?)
}

/// A program's key, without the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub id: i64,
    pub name: String,
    /// What it opens.
    pub role: String,
    /// When it was made, in milliseconds.
    pub made_at: i64,
    /// When it was last used.
    pub used_at: Option<i64>,
}

/// Makes a program's key; false: there is one of that name.
pub async fn add_token(tx: &mut Tx, name: &str, role: &str, hash: &str, now: Timestamp) -> Result<bool, StoreError> {
    let now = millis(now);
    let made = sql::query!(
        "INSERT INTO web_tokens (name, hash, role, made_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING",
        name,
        hash,
        role,
        now
    );
    Ok(made.execute(&mut *tx).await?.rows_affected() > 0)
}

/// The key that a program shows.
pub async fn find_token(tx: &mut Tx, hash: &str) -> Result<Option<ValidKey>, StoreError> {
    let found = sql::query_as!(ValidKey, "SELECT id, role, used_at AS seen_at FROM web_tokens WHERE hash = $1", hash);
    Ok(found.fetch_optional(&mut *tx).await?)
}

/// Whether a key has not been taken back.
pub async fn token_holds(tx: &mut Tx, id: i64) -> Result<bool, StoreError> {
    let found = sql::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM web_tokens WHERE id = $1) AS "holds!: bool""#, id);
    Ok(found.fetch_one(&mut *tx).await?)
}

/// It was used.
pub async fn note_token(tx: &mut Tx, id: i64, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!("UPDATE web_tokens SET used_at = $1 WHERE id = $2", now, id).execute(&mut *tx).await?;
    Ok(())
}

/// All keys.
pub async fn tokens(tx: &mut Tx) -> Result<Vec<ApiToken>, StoreError> {
    let all = sql::query_as!(ApiToken, "SELECT id, name, role, made_at, used_at FROM web_tokens ORDER BY name");
    Ok(all.fetch_all(&mut *tx).await?)
}

/// Takes a key back.
pub async fn remove_token(tx: &mut Tx, name: &str) -> Result<bool, StoreError> {
    Ok(sql::query!("DELETE FROM web_tokens WHERE name = $1", name).execute(&mut *tx).await?.rows_affected() > 0)
}
