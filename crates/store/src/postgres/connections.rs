//! Connections of one kind to the server: as many as are needed at once, and one that is kept at hand.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx_postgres::PgPool;
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
    kept: Arc<Mutex<Option<(LentConnection, Instant)>>>,
}

/// A connection that somebody uses. Whoever drops it has given up in the middle: it is closed, as nobody knows what is open on it.
pub(super) struct LentConnection {
    pub(super) tx: Tx,
    is_in_order: bool,
}

impl Drop for LentConnection {
    fn drop(&mut self) {
        if !self.is_in_order {
            self.tx.close_on_drop();
        }
    }
}

impl Connections {
    pub(super) fn of(pool: PgPool) -> Self {
        Self { pool, kept: Arc::default() }
    }

    /// One that is free.
    pub(super) async fn take(&self) -> Result<LentConnection, StoreError> {
        match self.kept() {
            Some((mut lent, since)) if since.elapsed() < IDLE_MAX => {
                lent.is_in_order = false;
                Ok(lent)
            }
            Some((mut old, _)) => {
                old.is_in_order = false;
                drop(old);
                self.another().await
            }
            None => self.another().await,
        }
    }

    /// One that is not the one at hand.
    pub(super) async fn another(&self) -> Result<LentConnection, StoreError> {
        Ok(LentConnection { tx: self.pool.acquire().await?.into(), is_in_order: false })
    }

    /// Takes back one on which nothing is open.
    pub(super) fn put_back(&self, mut lent: LentConnection) {
        lent.is_in_order = true;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let lent_now = (self.pool.size() as usize).saturating_sub(self.pool.num_idle());
        // Where all are lent somebody may wait for one, and where they are closed somebody waits for all: those have it from the pool.
        let is_wanted = lent_now >= self.pool.options().get_max_connections() as usize;
        if kept.is_none() && !is_wanted && !self.pool.is_closed() {
            *kept = Some((lent, Instant::now()));
        }
    }

    /// Waits for those at work, and closes all.
    pub(super) async fn close(&self) {
        // From here on none is kept.
        let closing = self.pool.close();
        drop(self.kept());
        closing.await;
    }

    fn kept(&self) -> Option<(LentConnection, Instant)> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
