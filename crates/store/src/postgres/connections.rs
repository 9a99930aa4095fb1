//! Connections of one kind to the server: as many as are needed at once, and one that is kept at hand.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx_postgres::{PgPool, Postgres};
use tokio::time::Instant;

use crate::Tx;
use crate::error::StoreError;

/// So long one is kept that nobody uses. What is between here and the server may forget it after some minutes, without a word, and
/// whoever used it then would wait for the network to give up.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(super) struct Connections {
    pool: PgPool,
    /// The one at hand, and since when. To give one back to the pool takes a round trip, to keep it none.
    kept: Arc<Mutex<Option<(Tx, Instant)>>>,
}

impl Connections {
    pub(super) fn of(pool: PgPool) -> Self {
        Self { pool, kept: Arc::default() }
    }

    /// One that is free. Dropped, it goes back to the others; what was begun on it is taken back.
    pub(super) async fn take(&self) -> Result<Tx, StoreError> {
        match self.kept() {
            Some((tx, since)) if since.elapsed() < IDLE_MAX => return Ok(tx),
            Some((tx, _)) => tx.forget_connection(),
            None => {}
        }
        Ok(self.another().await?.into())
    }

    /// One that is not the one at hand.
    pub(super) async fn another(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        Ok(self.pool.acquire().await?)
    }

    /// Keeps one at hand that is in order.
    pub(super) fn put_back(&self, tx: Tx) {
        let kept = Some((tx, Instant::now()));
        // Another one goes back to the pool.
        drop(std::mem::replace(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner), kept));
    }

    /// Waits for those at work, and closes all.
    pub(super) async fn close(&self) {
        drop(self.kept());
        self.pool.close().await;
    }

    fn kept(&self) -> Option<(Tx, Instant)> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
