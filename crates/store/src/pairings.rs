//! Codes by which people are let in: what strangers were given, wrong guesses, and the first owner's.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::inbound::{Conversation, Sender};
use hob_core::policy::pairing::{CODE_LIFE, GUESSES_WITHIN};

/// A stranger who waits to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPairing {
    /// The hash of the code that they were given.
    pub code: String,
    pub channel: String,
    /// Hob's account there.
    pub account: String,
    /// The platform's id of them.
    pub external_id: String,
    pub name: String,
    /// Where they wrote.
    pub chat: String,
    pub thread: Option<String>,
    /// Until when the code holds, in Unix milliseconds.
    pub expires_at: i64,
}

impl PendingPairing {
    /// Where they wrote; none: its platform is not known any more.
    pub fn conversation(&self) -> Option<Conversation> {
        let (channel, thread) = (self.channel.parse().ok()?, self.thread.clone());
        Some(Conversation { channel, account: self.account.clone(), chat: self.chat.clone(), thread })
    }
}

/// Lets go of what has expired: codes, and guesses that count no more.
pub async fn sweep(tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
    let (now, guesses) = (millis(now), millis(now.saturating_sub(GUESSES_WITHIN).unwrap_or(Timestamp::MIN)));
    sql::query!("DELETE FROM pairings WHERE expires_at <= $1", now).execute(&mut *tx).await?;
    sql::query!("DELETE FROM pairing_guesses WHERE at <= $1", guesses).execute(&mut *tx).await?;
    Ok(())
}

/// Whether this stranger has a code, and how many codes of the account there are.
pub async fn pending_codes(tx: &mut Tx, place: &Conversation, sender: &str) -> Result<(bool, i64), StoreError> {
    let channel = place.channel.as_str();
    let known = sql::query!(
        r#"SELECT count(*) AS "open!: i64", coalesce(max(CASE WHEN external_id = $3 THEN 1 ELSE 0 END), 0) AS "has_code!: bool" FROM pairings
           WHERE channel = $1 AND account = $2"#,
        channel,
        place.account,
        sender
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok((known.has_code, known.open))
}

/// Keeps what somebody was given.
pub async fn add(
    tx: &mut Tx,
    place: &Conversation,
    sender: &Sender,
    code: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (channel, until) = (place.channel.as_str(), millis(now.saturating_add(CODE_LIFE).unwrap_or(Timestamp::MAX)));
    sql::query!(
        "INSERT INTO pairings (code, channel, account, external_id, name, chat, thread, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        code,
        channel,
        place.account,
        sender.external_id,
        sender.name,
        place.chat,
        place.thread,
        until
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Takes the stranger with this code: it holds no more.
pub async fn take(tx: &mut Tx, code: &str, now: Timestamp) -> Result<Option<PendingPairing>, StoreError> {
    let now = millis(now);
    let taken = sql::query_as!(
        PendingPairing,
        r#"DELETE FROM pairings WHERE code = $1 AND expires_at > $2
           RETURNING code, channel, account, external_id, name, chat, thread, expires_at"#,
        code,
        now
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(taken)
}

/// Nobody needs to let this person in any more.
pub async fn drop_of(tx: &mut Tx, place: &Conversation, sender: &str) -> Result<(), StoreError> {
    let channel = place.channel.as_str();
    sql::query!(
        "DELETE FROM pairings WHERE channel = $1 AND account = $2 AND external_id = $3",
        channel,
        place.account,
        sender
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Who waits to be let in.
pub async fn list(tx: &mut Tx, now: Timestamp) -> Result<Vec<PendingPairing>, StoreError> {
    let now = millis(now);
    let all = sql::query_as!(
        PendingPairing,
        "SELECT code, channel, account, external_id, name, chat, thread, expires_at FROM pairings
         WHERE expires_at > $1 ORDER BY expires_at",
        now
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(all)
}

/// Keeps that somebody said a wrong code.
pub async fn note_wrong_code(
    tx: &mut Tx,
    place: &Conversation,
    sender: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (channel, at) = (place.channel.as_str(), millis(now));
    sql::query!(
        "INSERT INTO pairing_guesses (channel, account, external_id, at) VALUES ($1, $2, $3, $4)",
        channel,
        place.account,
        sender,
        at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// How many wrong codes somebody has said lately.
pub async fn count_wrong_codes(
    tx: &mut Tx,
    place: &Conversation,
    sender: &str,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let (channel, since) =
        (place.channel.as_str(), millis(now.saturating_sub(GUESSES_WITHIN).unwrap_or(Timestamp::MIN)));
    let count = sql::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM pairing_guesses
           WHERE channel = $1 AND account = $2 AND external_id = $3 AND at > $4"#,
        channel,
        place.account,
        sender,
        since
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(count)
}

/// The first owner's code and how often it was guessed wrong; none: there is an owner.
pub async fn first_owner(tx: &mut Tx) -> Result<Option<(String, i64)>, StoreError> {
    let row = sql::query!("SELECT code, guesses FROM first_owner WHERE id = 1").fetch_optional(&mut *tx).await?;
    Ok(row.map(|row| (row.code, row.guesses)))
}

/// Sets the first owner's code; none: there is none.
pub async fn set_first_owner(tx: &mut Tx, code: Option<&str>) -> Result<(), StoreError> {
    sql::query!("DELETE FROM first_owner").execute(&mut *tx).await?;
    if let Some(code) = code {
        sql::query!("INSERT INTO first_owner (id, code) VALUES (1, $1)", code).execute(&mut *tx).await?;
    }
    Ok(())
}

/// Somebody said another code than the first owner's.
pub async fn guessed_first_owner(tx: &mut Tx) -> Result<(), StoreError> {
    sql::query!("UPDATE first_owner SET guesses = guesses + 1").execute(&mut *tx).await?;
    Ok(())
}
