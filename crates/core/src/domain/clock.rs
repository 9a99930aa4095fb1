//! The wall clock as an argument. Waiting is done with `tokio::time`, which tests hold still.

use jiff::Timestamp;

/// Tells the time of day.
pub trait Clock: Send + Sync {
    /// Now, in UTC.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock: the only place that reads it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
