//! When something last came: what a clock can be held against.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Statement, Tx};

/// When the newest message came; none: there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newest;

#[async_trait]
impl Statement for Newest {
    type Output = Option<Timestamp>;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output, StoreError> {
        let received = sqlx::query_scalar!("SELECT received_at FROM inbound WHERE id > 0 ORDER BY id DESC LIMIT 1")
            .fetch_optional(tx)
            .await?;
        Ok(received.and_then(|received| Timestamp::from_millisecond(received).ok()))
    }
}
