//! What is to be done later, and what came of it (row N13). Rules and taints are opaque here: JSON.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{CallId, RunId, ScheduleId, UserId};
use hob_core::domain::inbound::{ChannelKind, Conversation};

/// A schedule about to be stored.
#[derive(Debug, Clone)]
pub struct NewSchedule {
    /// In whose name.
    pub user: UserId,
    /// Where its answers go.
    pub conversation: Conversation,
    /// What is to be done.
    pub task: String,
    pub timing: Timing,
    /// What the run had read that made it, as JSON.
    pub taint: String,
    /// The call that made it.
    pub call: Option<(RunId, CallId)>,
    /// Its name in the config.
    pub name: Option<String>,
    /// So late it may be, in seconds.
    pub grace_secs: i64,
    /// Of several that were missed only the newest is run.
    pub coalesces: bool,
    /// What is looked at before it is run, as JSON; none: nothing is.
    pub looks_at: Option<String>,
    /// What is known of that already; none: the first look finds it out.
    pub seen: Option<String>,
}

/// When something is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The rule, as JSON.
    pub rule: String,
    /// The zone's IANA name.
    pub zone: String,
    /// The words that it was made from.
    pub asked: String,
    /// The first instant.
    pub next: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRow {
    pub id: ScheduleId,
    /// Its name in the config; none: it was made in a chat.
    pub name: Option<String>,
    /// In whose name.
    pub user: UserId,
    pub user_name: String,
    pub channel: String,
    /// Which of Hob's accounts there.
    pub account: String,
    pub chat: String,
    pub thread: Option<String>,
    /// What is to be done.
    pub task: String,
    /// When, as JSON.
    pub rule: String,
    /// Whose wall clock.
    pub zone: String,
    /// The words that the rule was made from.
    pub asked: String,
    /// What the run had read that made it, as JSON.
    pub taint: String,
    /// `active`, `paused`, `done` or `removed`.
    pub state: String,
    /// Why it is paused.
    pub why: Option<String>,
    /// Runs in a row that failed.
    pub failures: i64,
    /// So late it may be, in seconds.
    pub grace_secs: i64,
    /// Of several that were missed only the newest is run.
    pub coalesces: bool,
    /// The next instant, in Unix milliseconds.
    pub next_at: Option<i64>,
    /// When somebody wanted it run at once.
    pub asked_at: Option<i64>,
    /// What is looked at before it is run, as JSON; none: nothing is.
    pub looks_at: Option<String>,
    /// What a watched page was like when it was last looked at.
    pub seen: Option<String>,
    /// Looks in a row that failed.
    pub looks_failed: i64,
}

impl ScheduleRow {
    /// Where its answers go; none: this Hob does not know the platform.
    pub fn conversation(&self) -> Option<Conversation> {
        let channel = self.channel.parse::<ChannelKind>().ok()?;
        let (account, chat, thread) = (self.account.clone(), self.chat.clone(), self.thread.clone());
        Some(Conversation { channel, account, chat, thread })
    }
}

/// Stores one; the same call's, or the config's of the same name, is not stored twice.
pub async fn add(tx: &mut Tx, new: &NewSchedule, now: Timestamp) -> Result<ScheduleId, StoreError> {
    let (run, call) = new.call.clone().unzip();
    if let (Some(run), Some(call)) = (run, &call)
        && let Some(known) = find_by_call(tx, run, call).await?
    {
        return Ok(known);
    }
    let source = if new.name.is_some() { "config" } else { "chat" };
    let call = call.map(|call| call.0);
    let (channel, place) = (new.conversation.channel.as_str(), &new.conversation);
    let (next, now) = (new.timing.next.map(millis), millis(now));
    let id = sql::query_scalar!(
        r#"INSERT INTO schedules
             (source, name, user_id, channel, account, chat, thread, task, rule, zone, asked, taint, run_id, call_id,
              state, grace_secs, coalesces, next_at, created_at, looks_at, seen)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'active', $15, $16, $17, $18, $19, $20)
           RETURNING id AS "id!: ScheduleId""#,
        source,
        new.name,
        new.user,
        channel,
        place.account,
        place.chat,
        place.thread,
        new.task,
        new.timing.rule,
        new.timing.zone,
        new.timing.asked,
        new.taint,
        run,
        call,
        new.grace_secs,
        new.coalesces,
        next,
        now,
        new.looks_at,
        new.seen
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// The one that a call made.
pub async fn find_by_call(tx: &mut Tx, run: RunId, call: &CallId) -> Result<Option<ScheduleId>, StoreError> {
    let call = call.0.as_str();
    let id = sql::query_scalar!(
        r#"SELECT id AS "id!: ScheduleId" FROM schedules WHERE run_id = $1 AND call_id = $2"#,
        run,
        call
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(id)
}

/// The schedule with this id, be it removed.
pub async fn lookup(tx: &mut Tx, id: ScheduleId) -> Result<Option<ScheduleRow>, StoreError> {
    let row = sql::query_as!(
        ScheduleRow,
        r#"SELECT s.id AS "id!: ScheduleId", s.name, s.user_id AS "user!: UserId", u.name AS user_name, s.channel,
                  s.account, s.chat, s.thread, s.task, s.rule, s.zone, s.asked, s.taint, s.state, s.why, s.failures,
                  s.grace_secs, s.coalesces AS "coalesces!: bool", s.next_at, s.asked_at, s.looks_at,
                  s.seen, s.looks_failed
           FROM schedules s JOIN users u ON u.id = s.user_id WHERE s.id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row)
}

/// Those of a person, or of everybody, that are not removed, in the order in which they were made.
pub async fn list(tx: &mut Tx, user: Option<UserId>, limit: i64) -> Result<Vec<ScheduleRow>, StoreError> {
    let rows = sql::query_as!(
        ScheduleRow,
        r#"SELECT s.id AS "id!: ScheduleId", s.name, s.user_id AS "user!: UserId", u.name AS user_name, s.channel,
                  s.account, s.chat, s.thread, s.task, s.rule, s.zone, s.asked, s.taint, s.state, s.why, s.failures,
                  s.grace_secs, s.coalesces AS "coalesces!: bool", s.next_at, s.asked_at, s.looks_at,
                  s.seen, s.looks_failed
           FROM schedules s JOIN users u ON u.id = s.user_id
           WHERE s.state <> 'removed' AND ($1 IS NULL OR s.user_id = $1)
           ORDER BY s.state = 'done', s.id LIMIT $2"#,
        user,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// How many a person has that are not over.
pub async fn count(tx: &mut Tx, user: UserId) -> Result<i64, StoreError> {
    let count = sql::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM schedules WHERE user_id = $1 AND state IN ('active', 'paused')"#,
        user
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(count)
}

/// Those that stand in the config, by name.
pub async fn list_named(tx: &mut Tx) -> Result<Vec<(ScheduleId, String)>, StoreError> {
    let rows = sql::query!(
        r#"SELECT id AS "id!: ScheduleId", name AS "name!: String" FROM schedules
           WHERE name IS NOT NULL AND state <> 'removed' ORDER BY name"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// Among which schedules it is looked for those that are due; both are JSON.
#[derive(Debug, Clone, Copy)]
pub struct DueFilter<'a> {
    /// The platforms that they speak on.
    pub platforms: &'a str,
    /// Which are left out.
    pub but: &'a str,
}

/// When the next is due, in Unix milliseconds; none: nothing is.
pub async fn next_due(tx: &mut Tx, among: DueFilter<'_>) -> Result<Option<i64>, StoreError> {
    let DueFilter { platforms, but } = among;
    let by_rule = sql::query_scalar!(
        r#"SELECT next_at AS "next!: i64" FROM schedules
           WHERE state = 'active' AND next_at IS NOT NULL AND channel IN (SELECT value FROM json_each($1))
             AND id NOT IN (SELECT CAST(value AS INTEGER) FROM json_each($2)) ORDER BY next_at LIMIT 1"#,
        platforms,
        but
    )
    .fetch_optional(&mut *tx)
    .await?;
    let by_wish = sql::query_scalar!(
        r#"SELECT asked_at AS "asked!: i64" FROM schedules
           WHERE asked_at IS NOT NULL AND channel IN (SELECT value FROM json_each($1))
             AND id NOT IN (SELECT CAST(value AS INTEGER) FROM json_each($2)) ORDER BY asked_at LIMIT 1"#,
        platforms,
        but
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(by_rule.into_iter().chain(by_wish).min())
}

/// A schedule that comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpcomingSchedule {
    pub id: ScheduleId,
    /// Its name in the config; none: it was made in a chat.
    pub name: Option<String>,
    /// What is to be done.
    pub task: String,
    /// When, in Unix milliseconds.
    pub next_at: i64,
}

/// Those that come next, the first of them.
pub async fn upcoming(tx: &mut Tx, limit: i64) -> Result<Vec<UpcomingSchedule>, StoreError> {
    let next = sql::query_as!(
        UpcomingSchedule,
        r#"SELECT id AS "id!: ScheduleId", name, task, next_at AS "next_at!: i64" FROM schedules
           WHERE state = 'active' AND next_at IS NOT NULL ORDER BY next_at, id LIMIT $1"#,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(next)
}

/// Those that are due, the longest first: so many by a wish, and so many by their rules.
pub async fn list_due(
    tx: &mut Tx,
    among: DueFilter<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<ScheduleId>, StoreError> {
    let DueFilter { platforms, but } = among;
    let now = millis(now);
    let asked = sql::query_scalar!(
        r#"SELECT id AS "id!: ScheduleId" FROM schedules WHERE asked_at IS NOT NULL AND asked_at <= $1
             AND channel IN (SELECT value FROM json_each($3)) AND id NOT IN (SELECT CAST(value AS INTEGER) FROM json_each($4))
           ORDER BY asked_at LIMIT $2"#,
        now,
        limit,
        platforms,
        but
    )
    .fetch_all(&mut *tx)
    .await?;
    let due = sql::query_scalar!(
        r#"SELECT id AS "id!: ScheduleId" FROM schedules
           WHERE state = 'active' AND next_at IS NOT NULL AND next_at <= $1
             AND channel IN (SELECT value FROM json_each($3)) AND id NOT IN (SELECT CAST(value AS INTEGER) FROM json_each($4))
           ORDER BY next_at LIMIT $2"#,
        now,
        limit,
        platforms,
        but
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(asked.into_iter().chain(due).collect())
}

/// Those of whose pause nobody was told.
pub async fn list_untold(tx: &mut Tx) -> Result<Vec<ScheduleId>, StoreError> {
    let ids = sql::query_scalar!(r#"SELECT id AS "id!: ScheduleId" FROM schedules WHERE untold = 1 ORDER BY id"#)
        .fetch_all(&mut *tx)
        .await?;
    Ok(ids)
}

/// Its people are told.
pub async fn set_told(tx: &mut Tx, id: ScheduleId) -> Result<(), StoreError> {
    sql::query!("UPDATE schedules SET untold = 0 WHERE id = $1", id).execute(&mut *tx).await?;
    Ok(())
}

/// Sets when it is due next; none: it is done.
pub async fn set_next(tx: &mut Tx, id: ScheduleId, next: Option<Timestamp>) -> Result<(), StoreError> {
    let next = next.map(millis);
    sql::query!(
        "UPDATE schedules SET next_at = $1, state = CASE WHEN $1 IS NULL THEN 'done' ELSE state END
         WHERE id = $2 AND state = 'active'",
        next,
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// It is to be run once more at once, or that is done with.
pub async fn set_asked(tx: &mut Tx, id: ScheduleId, at: Option<Timestamp>) -> Result<(), StoreError> {
    let at = at.map(millis);
    sql::query!("UPDATE schedules SET asked_at = $1 WHERE id = $2", at, id).execute(&mut *tx).await?;
    Ok(())
}

/// What entities the active ones follow, each as its JSON.
pub async fn list_followed(tx: &mut Tx, limit: i64) -> Result<Vec<String>, StoreError> {
    let followed = sql::query_scalar!(
        r#"SELECT looks_at AS "looks_at!: String" FROM schedules
           WHERE state = 'active' AND next_at IS NOT NULL AND looks_at LIKE '{"kind":"entity"%' ORDER BY next_at LIMIT $1"#,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(followed)
}

/// Those that look at this are due at `at`, if they are not due before.
pub async fn hasten(tx: &mut Tx, looks_at: &str, at: Timestamp) -> Result<(), StoreError> {
    let at = millis(at);
    sql::query!(
        "UPDATE schedules SET next_at = $1 WHERE state = 'active' AND next_at IS NOT NULL AND next_at > $1 AND looks_at = $2",
        at,
        looks_at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A look has come to something: what a watched page is like now, and how many looks in a row have failed.
pub async fn set_looked(tx: &mut Tx, id: ScheduleId, seen: Option<&str>, failed: i64) -> Result<(), StoreError> {
    sql::query!("UPDATE schedules SET seen = coalesce($1, seen), looks_failed = $2 WHERE id = $3", seen, failed, id)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Pauses it; `untold` if its people have to be told.
pub async fn pause(tx: &mut Tx, id: ScheduleId, why: &str, untold: bool) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE schedules SET state = 'paused', why = $1, untold = $2, asked_at = NULL WHERE id = $3 AND state = 'active'",
        why,
        untold,
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Lets it go on, from `next`, as if nothing had failed.
pub async fn resume(tx: &mut Tx, id: ScheduleId, next: Timestamp) -> Result<(), StoreError> {
    let next = millis(next);
    sql::query!(
        "UPDATE schedules SET state = 'active', why = NULL, untold = 0, failures = 0, looks_failed = 0, next_at = $1
         WHERE id = $2 AND state = 'paused'",
        next,
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Takes it away, with its words; what came of it stays.
pub async fn remove(tx: &mut Tx, id: ScheduleId) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE schedules SET state = 'removed', why = NULL, untold = 0, next_at = NULL, asked_at = NULL, task = '', asked = '',
           looks_at = NULL, seen = NULL
         WHERE id = $1",
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Changes one of the config's to what the file says now.
pub async fn replace(tx: &mut Tx, id: ScheduleId, new: &NewSchedule) -> Result<(), StoreError> {
    let (channel, place) = (new.conversation.channel.as_str(), &new.conversation);
    let next = new.timing.next.map(millis);
    sql::query!(
        "UPDATE schedules SET user_id = $1, channel = $2, account = $3, chat = $4, thread = $5, task = $6, rule = $7,
           zone = $8, asked = $9, grace_secs = $10, coalesces = $11, next_at = $12, failures = 0, untold = 0,
           seen = CASE WHEN looks_at IS NOT DISTINCT FROM $14 THEN seen END, looks_at = $14, looks_failed = 0,
           state = CASE WHEN state = 'done' THEN 'active' ELSE state END
         WHERE id = $13",
        new.user,
        channel,
        place.account,
        place.chat,
        place.thread,
        new.task,
        new.timing.rule,
        new.timing.zone,
        new.timing.asked,
        new.grace_secs,
        new.coalesces,
        next,
        id,
        new.looks_at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A run that waits for the lane lets people's messages go before it.
pub async fn yield_to_people(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sql::query!("UPDATE runs SET yields = 1 WHERE id = $1", run).execute(&mut *tx).await?;
    Ok(())
}

/// Takes the words out of what this run has had scheduled, where nothing more will come of it.
pub async fn blank_done(tx: &mut Tx, run: RunId, word: &str) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE schedules SET task = $1, asked = '', looks_at = NULL, seen = NULL WHERE run_id = $2 AND state IN ('done', 'removed')",
        word,
        run
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
