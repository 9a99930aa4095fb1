//! What holds for the whole house. There is one switch so far: the emergency stop.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::UserId;

/// Who turned the emergency stop on, by name; none: it is off.
pub async fn paused_by(tx: &mut Tx) -> Result<Option<String>, StoreError> {
    let name =
        sql::query_scalar!("SELECT u.name FROM switches w JOIN users u ON u.id = w.set_by WHERE w.name = 'paused'")
            .fetch_optional(&mut *tx)
            .await?;
    Ok(name)
}

/// Turns the emergency stop on; on already, it stays as it is.
pub async fn pause(tx: &mut Tx, by: UserId, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "INSERT INTO switches (name, set_by, set_at) VALUES ('paused', $1, $2) ON CONFLICT (name) DO NOTHING",
        by,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Turns it off.
pub async fn resume(tx: &mut Tx) -> Result<(), StoreError> {
    sql::query!("DELETE FROM switches WHERE name = 'paused'").execute(&mut *tx).await?;
    Ok(())
}
