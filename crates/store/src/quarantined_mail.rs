//! Letters that wait for an owner, who is known as a correspondent, and how often each was written to.
//!
//! States of a held letter: held · approved · refused · expired. Its row in the outbox is abandoned while it is held.

use std::ops::Range;

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{OutboxId, SessionId, UserId};
use hob_core::domain::principal::Role;

/// What stands in the outbox beside a letter that is held.
const WAITS: &str = "an owner has to let it out first (/mail)";

/// A letter that is to be held.
#[derive(Debug, Clone, Copy)]
pub struct NewQuarantinedMail<'a> {
    pub id: OutboxId,
    /// The mailbox.
    pub account: &'a str,
    /// To whom it goes, as it is stored.
    pub recipients: &'a str,
    /// What it answers.
    pub subject: &'a str,
}

/// A letter that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedMail {
    pub id: OutboxId,
    pub session: SessionId,
    /// The mailbox.
    pub account: String,
    /// To whom it goes, as it is stored.
    pub recipients: String,
    /// What it answers.
    pub subject: String,
    pub text: String,
    /// Since when.
    pub held_at: i64,
}

/// Is this somebody whom Hob answers unasked: a member of the household, or whom an owner has had answered before?
pub async fn is_known(tx: &mut Tx, account: &str, address: &str) -> Result<bool, StoreError> {
    let role = sql::query_scalar!(
        r#"SELECT u.role AS "role!: Role" FROM identities i JOIN users u ON u.id = i.user_id
           WHERE i.channel = 'email' AND i.account = $1 AND i.external_id = $2"#,
        account,
        address
    )
    .fetch_optional(&mut *tx)
    .await?;
    if role >= Some(Role::User) {
        return Ok(true);
    }
    let known = sql::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM correspondents WHERE account = $1 AND address = $2) AS "known!: bool""#,
        account,
        address
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(known)
}

/// Holds a letter that was taken from the outbox; true if no other one to the same people is held.
pub async fn hold(tx: &mut Tx, new: &NewQuarantinedMail<'_>, now: Timestamp) -> Result<bool, StoreError> {
    let now = millis(now);
    let others = sql::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM held_letters WHERE state = 'held' AND account = $1 AND recipients = $2)
           AS "others!: bool""#,
        new.account,
        new.recipients
    )
    .fetch_one(&mut *tx)
    .await?;
    sql::query!(
        "INSERT INTO held_letters (outbox_id, account, recipients, subject, state, held_at) VALUES ($1, $2, $3, $4, 'held', $5)",
        new.id,
        new.account,
        new.recipients,
        new.subject,
        now
    )
    .execute(&mut *tx)
    .await?;
    sql::query!(
        "UPDATE outbox SET state = 'abandoned', error = $1, ended_at = $2, attempts = 0 WHERE id = $3",
        WAITS,
        now,
        new.id
    )
    .execute(&mut *tx)
    .await?;
    Ok(!others)
}

/// The letters that are held, oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<QuarantinedMail>, StoreError> {
    let held = sql::query_as!(
        QuarantinedMail,
        r#"SELECT h.outbox_id AS "id!: OutboxId", o.session_id AS "session!: SessionId", h.account, h.recipients, h.subject,
                  o.text, h.held_at
           FROM held_letters h JOIN outbox o ON o.id = h.outbox_id WHERE h.state = 'held' ORDER BY h.outbox_id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(held)
}

/// A letter, if it is held.
pub async fn find(tx: &mut Tx, id: OutboxId) -> Result<Option<QuarantinedMail>, StoreError> {
    let held = sql::query_as!(
        QuarantinedMail,
        r#"SELECT h.outbox_id AS "id!: OutboxId", o.session_id AS "session!: SessionId", h.account, h.recipients, h.subject,
                  o.text, h.held_at
           FROM held_letters h JOIN outbox o ON o.id = h.outbox_id WHERE h.state = 'held' AND h.outbox_id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(held)
}

/// Decides over a letter and all others to the same people; gives the sessions that have something to send now.
pub async fn decide(
    tx: &mut Tx,
    held: &QuarantinedMail,
    send: bool,
    by: UserId,
    now: Timestamp,
) -> Result<Vec<SessionId>, StoreError> {
    let (now, state) = (millis(now), if send { "approved" } else { "refused" });
    let decided = sql::query_scalar!(
        r#"UPDATE held_letters SET state = $1, decided_at = $2, decided_by = $3
           WHERE state = 'held' AND account = $4 AND recipients = $5 RETURNING outbox_id AS "id!: OutboxId""#,
        state,
        now,
        by,
        held.account,
        held.recipients
    )
    .fetch_all(&mut *tx)
    .await?;
    let mut sessions = Vec::new();
    for id in decided {
        if !send {
            sql::query!("UPDATE outbox SET error = 'an owner did not let it out' WHERE id = $1", id)
                .execute(&mut *tx)
                .await?;
            continue;
        }
        let session = sql::query_scalar!(
            r#"UPDATE outbox SET state = 'pending', error = NULL, ended_at = NULL, attempts = 0, created_at = $1, next_attempt_at = $1
               WHERE id = $2 RETURNING session_id AS "session!: SessionId""#,
            now,
            id
        )
        .fetch_one(&mut *tx)
        .await?;
        sessions.push(session);
    }
    Ok(sessions)
}

/// A letter goes to whom this envelope names, whatever it answers.
pub async fn set_envelope(tx: &mut Tx, key: &str, envelope: &str) -> Result<Option<OutboxId>, StoreError> {
    let id = sql::query_scalar!(
        r#"INSERT INTO letters_to (outbox_id, envelope) SELECT id, $2 FROM outbox WHERE key = $1
           ON CONFLICT (outbox_id) DO UPDATE SET envelope = excluded.envelope RETURNING outbox_id AS "id!: OutboxId""#,
        key,
        envelope
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(id)
}

/// The same for a letter that was taken from the outbox.
pub async fn set_taken_envelope(tx: &mut Tx, id: OutboxId, envelope: &str) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO letters_to (outbox_id, envelope) VALUES ($1, $2)
         ON CONFLICT (outbox_id) DO UPDATE SET envelope = excluded.envelope",
        id,
        envelope
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The envelope of a letter, if it has one of its own.
pub(crate) async fn envelope_of(tx: &mut Tx, id: OutboxId) -> Result<Option<String>, StoreError> {
    let envelope =
        sql::query_scalar!("SELECT envelope FROM letters_to WHERE outbox_id = $1", id).fetch_optional(&mut *tx).await?;
    Ok(envelope)
}

/// The addresses under which owners have written to a mailbox.
pub async fn owners(tx: &mut Tx, account: &str) -> Result<Vec<String>, StoreError> {
    let addresses = sql::query_scalar!(
        "SELECT i.external_id FROM identities i JOIN users u ON u.id = i.user_id
         WHERE i.channel = 'email' AND i.account = $1 AND u.role = 'owner' ORDER BY i.external_id",
        account
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(addresses)
}

/// From now on somebody is answered unasked.
pub async fn add_correspondent(
    tx: &mut Tx,
    account: &str,
    address: &str,
    by: UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "INSERT INTO correspondents (account, address, approved_by, approved_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account, address) DO NOTHING",
        account,
        address,
        by,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Gives up what nobody has decided on since `before`.
pub async fn expire(tx: &mut Tx, before: Timestamp, now: Timestamp) -> Result<u64, StoreError> {
    let (before, now) = (millis(before), millis(now));
    let done = sql::query!(
        "UPDATE held_letters SET state = 'expired', decided_at = $1 WHERE state = 'held' AND held_at < $2",
        now,
        before
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected())
}

/// How many letters went to somebody within a time, and when the oldest of them did; none: this one is counted already.
pub async fn counted(
    tx: &mut Tx,
    account: &str,
    address: &str,
    id: OutboxId,
    time: Range<Timestamp>,
) -> Result<Option<(i64, Option<i64>)>, StoreError> {
    let (since, until) = (millis(time.start), millis(time.end));
    let row = sql::query!(
        r#"SELECT count(*) AS "count!: i64", min(sent_at) AS "oldest: i64", max(CASE WHEN outbox_id = $3 THEN 1 ELSE 0 END) AS "counted: bool" FROM letters_sent
           WHERE account = $1 AND address = $2 AND sent_at > $4 AND sent_at < $5"#,
        account,
        address,
        id,
        since,
        until
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok((row.counted != Some(true)).then_some((row.count, row.oldest)))
}

/// A letter is about to go to somebody.
pub async fn count(tx: &mut Tx, account: &str, address: &str, id: OutboxId, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "INSERT INTO letters_sent (account, address, outbox_id, sent_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account, address, outbox_id) DO NOTHING",
        account,
        address,
        id,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Lets go of what was counted before `before`.
pub async fn drop_old_counts(tx: &mut Tx, before: Timestamp) -> Result<(), StoreError> {
    let before = millis(before);
    sql::query!("DELETE FROM letters_sent WHERE sent_at < $1", before).execute(&mut *tx).await?;
    Ok(())
}

/// A letter that was taken waits until its time.
pub async fn postpone(tx: &mut Tx, id: OutboxId, until: i64) -> Result<(), StoreError> {
    let why = "its recipient has had too many letters within an hour";
    // It was tried once, as far as the outbox is concerned: what never was goes out whatever its time says.
    sql::query!(
        "UPDATE outbox SET state = 'pending', attempts = 1, next_attempt_at = $1, error = $2 WHERE id = $3",
        until,
        why,
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// What nobody can guess, for the name of a thread.
pub async fn thread_secret(tx: &mut Tx) -> Result<String, StoreError> {
    let secret = sql::query_scalar!(r#"SELECT lower(hex(randomblob(16))) AS "secret!: String""#);
    Ok(secret.fetch_one(&mut *tx).await?)
}
