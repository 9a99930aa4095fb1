//! Browsers that are told when something waits for their owner and no page is open, and the key they know Hob by.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};

/// The most browsers that are told.
const SUBSCRIPTIONS_MAX: i64 = 50;

/// A browser's address at its push service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    pub id: i64,
    /// Where its push service takes messages for it.
    pub endpoint: String,
    /// Its public key, in base64url.
    pub p256dh: String,
    /// Its secret, in base64url.
    pub auth: String,
}

/// The key in use; `fresh` becomes it where there is none yet.
pub async fn key(tx: &mut Tx, fresh: &[u8]) -> Result<Vec<u8>, StoreError> {
    sql::query!("INSERT INTO web_push_key (id, pkcs8) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", fresh)
        .execute(&mut *tx)
        .await?;
    Ok(sql::query_scalar!("SELECT pkcs8 FROM web_push_key WHERE id = 1").fetch_one(&mut *tx).await?)
}

/// The key in use, if one was ever made.
pub async fn find_key(tx: &mut Tx) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(sql::query_scalar!("SELECT pkcs8 FROM web_push_key WHERE id = 1").fetch_optional(&mut *tx).await?)
}

/// A browser of this visit is to be told; the address it had before goes. False: there are too many already.
pub async fn add(tx: &mut Tx, visit: i64, new: &Subscription, now: Timestamp) -> Result<bool, StoreError> {
    // One visit is one browser, and a browser has one address.
    sql::query!("DELETE FROM web_pushes WHERE visit_id = $1 OR endpoint = $2", visit, new.endpoint)
        .execute(&mut *tx)
        .await?;
    let count = sql::query_scalar!(r#"SELECT count(*) AS "count!: i64" FROM web_pushes"#).fetch_one(&mut *tx).await?;
    if count >= SUBSCRIPTIONS_MAX {
        return Ok(false);
    }
    let now = millis(now);
    sql::query!(
        "INSERT INTO web_pushes (visit_id, endpoint, p256dh, auth, made_at) VALUES ($1, $2, $3, $4, $5)",
        visit,
        new.endpoint,
        new.p256dh,
        new.auth,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(true)
}

/// The browsers of visits that hold, the oldest first.
pub async fn list(tx: &mut Tx, now: Timestamp) -> Result<Vec<Subscription>, StoreError> {
    let now = millis(now);
    let all = sql::query_as!(
        Subscription,
        "SELECT p.id, p.endpoint, p.p256dh, p.auth FROM web_pushes p JOIN web_visits v ON v.id = p.visit_id
         WHERE v.expires_at > $1 AND v.role = 'owner' ORDER BY p.id",
        now
    );
    Ok(all.fetch_all(&mut *tx).await?)
}

/// Whether a visit's browser is told.
pub async fn is_told(tx: &mut Tx, visit: i64) -> Result<bool, StoreError> {
    let found =
        sql::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM web_pushes WHERE visit_id = $1) AS "told!: bool""#, visit);
    Ok(found.fetch_one(&mut *tx).await?)
}

/// A visit's browser is told no more.
pub async fn unsubscribe(tx: &mut Tx, visit: i64) -> Result<(), StoreError> {
    sql::query!("DELETE FROM web_pushes WHERE visit_id = $1", visit).execute(&mut *tx).await?;
    Ok(())
}

/// A push service knows this address no more.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), StoreError> {
    sql::query!("DELETE FROM web_pushes WHERE id = $1", id).execute(&mut *tx).await?;
    Ok(())
}
