//! When something last came: what a clock can be held against.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, sql};

/// When the newest message came; none: there is none.
pub async fn message_at(tx: &mut Tx) -> Result<Option<Timestamp>, StoreError> {
    let received = sql::query_scalar!("SELECT received_at FROM inbound WHERE id > 0 ORDER BY id DESC LIMIT 1")
        .fetch_optional(tx)
        .await?;
    Ok(received.and_then(|received| Timestamp::from_millisecond(received).ok()))
}
