//! So many calls in a minute, and no more.

use std::sync::Mutex;

use hob_core::domain::lock::lock;

/// So many refused calls are told in the log, of each kind: who has no secret must not fill it.
pub(crate) const REFUSED_TOLD_PER_MINUTE: u32 = 6;

/// Counts the calls of a minute; what comes in the next counts anew.
#[derive(Debug)]
pub struct PerMinuteLimit {
    most: u32,
    /// The minute, and the calls in it.
    counted: Mutex<(i64, u32)>,
}

impl PerMinuteLimit {
    /// At most so many.
    pub fn new(most: u32) -> Self {
        Self { most, counted: Mutex::new((0, 0)) }
    }

    /// Counts a call at `now`, in Unix seconds; false: it is one too many.
    pub fn allows(&self, now: i64) -> bool {
        let minute = now.div_euclid(60);
        // Two numbers that are written together: a panic elsewhere leaves nothing half done.
        let mut counted = lock(&self.counted);
        if counted.0 != minute {
            *counted = (minute, 0);
        }
        counted.1 = counted.1.saturating_add(1);
        counted.1 <= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_calls() {
        let limit = PerMinuteLimit::new(2);
        let allowed: Vec<bool> = [0, 1, 59, 60, 61, 62, 30].iter().map(|now| limit.allows(*now)).collect();
        assert_eq!(allowed, [true, true, false, true, true, false, true]);
    }
}
