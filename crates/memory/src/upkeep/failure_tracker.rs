//! When it does not go on: told once, tried again, each time after a longer wait.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::embedding::error::EmbedError;
use crate::embedding_service::{EmbeddingService, EmbeddingStatus};
use crate::upkeep::{PrepareError, RetryPolicy, UpkeepError};

/// Waits that grow from the first to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// From `first` to `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The wait after so many failures before this one.
    fn after(self, failures: usize) -> Duration {
        let delays = ExponentialBuilder::new().with_min_delay(self.first).with_max_delay(self.longest).with_factor(2.0);
        delays.without_max_times().build().nth(failures).unwrap_or(self.longest)
    }
}

/// What goes wrong, from the first time until it is over.
pub(super) struct FailureTracker<'a> {
    embedding_service: &'a EmbeddingService,
    pace: RetryPolicy,
    /// In a row.
    failures: usize,
}

impl<'a> FailureTracker<'a> {
    pub(super) fn new(embedding_service: &'a EmbeddingService, pace: RetryPolicy) -> Self {
        Self { embedding_service, pace, failures: 0 }
    }

    /// Tells of it, if it was not told yet, and waits until it is worth another attempt.
    pub(super) async fn wait(&mut self, halt: &UpkeepError) {
        let wait = self.pause(halt);
        if self.failures == 0 {
            tracing::warn!(why = %halt, again_in = ?wait, "memory.embedding.degraded");
        } else {
            tracing::debug!(why = %halt, again_in = ?wait, failures = self.failures, "memory.embedding.degraded");
        }
        self.failures += 1;
        self.embedding_service.set_status(EmbeddingStatus::Degraded { why: halt.to_string() });
        tokio::time::sleep(wait).await;
    }

    /// It works. Whether it did not before.
    pub(super) fn clear_failure(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }

    fn pause(&self, halt: &UpkeepError) -> Duration {
        match halt {
            UpkeepError::Unprepared(PrepareError::Failed(EmbedError::Transient { .. })) => {
                self.pace.fetch.after(self.failures)
            }
            // Whoever gives other files than those that are wanted does so tomorrow as well.
            UpkeepError::Unprepared(_) => self.pace.fetch.longest,
            UpkeepError::Embed(EmbedError::Setup(_)) => self.pace.setup.after(self.failures),
            UpkeepError::Embed(EmbedError::Transient { retry_after, .. }) => {
                self.pace.passing.after(self.failures).max(retry_after.unwrap_or_default())
            }
            UpkeepError::Embed(EmbedError::Refused(_) | EmbedError::Malformed(_)) | UpkeepError::Store(_) => {
                self.pace.passing.after(self.failures)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e5_the_waits_grow_and_heed_the_server() {
        let embedding_service = EmbeddingService::default();
        let pauses = |halt: UpkeepError| {
            [0, 1, 5, 40].map(|failures| {
                let trouble =
                    FailureTracker { embedding_service: &embedding_service, pace: RetryPolicy::PRODUCTION, failures };
                trouble.pause(&halt).as_secs()
            })
        };
        let transient = |seconds: Option<u64>| EmbedError::Transient {
            what: "The server does not answer.".to_owned(),
            retry_after: seconds.map(Duration::from_secs),
        };
        let fetch = |error| UpkeepError::Unprepared(PrepareError::Failed(error));
        assert_eq!(pauses(transient(None).into()), [1, 2, 32, 300]);
        assert_eq!(pauses(transient(Some(20)).into()), [20, 20, 32, 300]);
        assert_eq!(pauses(EmbedError::Malformed(String::new()).into()), [1, 2, 32, 300]);
        assert_eq!(pauses(EmbedError::Setup(String::new()).into()), [3_600; 4]);
        assert_eq!(pauses(fetch(transient(None))), [600, 1_200, 19_200, 86_400]);
        assert_eq!(pauses(fetch(EmbedError::Setup(String::new()))), [86_400; 4]);
    }
}
