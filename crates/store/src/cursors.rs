//! How far each account has come with what it catches up with after an outage.

use std::collections::BTreeMap;

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::inbound::{ChannelKind, Cursor};

/// Moves a cursor on; never back.
pub async fn advance(tx: &mut Tx, channel: ChannelKind, account: &str, cursor: &Cursor) -> Result<(), StoreError> {
    let channel = channel.as_str();
    sql::query!(
        "INSERT INTO cursors (channel, account, list, position) VALUES ($1, $2, $3, $4)
         ON CONFLICT (channel, account, list) DO UPDATE SET position = max(cursors.position, excluded.position)",
        channel,
        account,
        cursor.list,
        cursor.position
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// An account's cursors, by list.
pub async fn of_account(tx: &mut Tx, channel: ChannelKind, account: &str) -> Result<BTreeMap<String, i64>, StoreError> {
    let channel = channel.as_str();
    let rows = sql::query!("SELECT list, position FROM cursors WHERE channel = $1 AND account = $2", channel, account)
        .fetch_all(&mut *tx)
        .await?;
    Ok(rows.into_iter().map(|row| (row.list, row.position)).collect())
}
