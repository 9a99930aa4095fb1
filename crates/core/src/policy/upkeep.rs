//! What upkeep decides: how much in one step, whether the disk is low, whether the log is stuck.

use std::time::Duration;

/// How long a step may keep others from writing, as it is aimed at. What may be seen is five times that.
const AIM: Duration = Duration::from_millis(10);

/// How much is done in one step: as much as fits in the aim, learnt from the steps before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepSize {
    size: i64,
    most: i64,
    /// Steps in a row of which not even the least fitted.
    failures: u8,
}

/// A machine may stand still for a moment: so often the least is tried.
const FAILURES_MAX: u8 = 8;

impl StepSize {
    /// Begins with so much, and never does more than that.
    pub fn new(size: i64, most: i64) -> Self {
        Self { size, most, failures: 0 }
    }

    /// So much in the next step.
    pub fn size(self) -> i64 {
        self.size
    }

    /// A step of this size took so long.
    #[must_use]
    pub fn after(self, held: Duration) -> Self {
        let size = if held > AIM {
            self.size / 2
        } else if held < AIM / 4 {
            self.size.saturating_mul(2)
        } else {
            self.size
        };
        Self { size: size.clamp(1, self.most), failures: 0, ..self }
    }

    /// A step took too long and has done nothing; none: less cannot be tried.
    #[must_use]
    pub fn after_timeout(self) -> Option<Self> {
        let failures = if self.size > 1 { 0 } else { self.failures + 1 };
        (failures < FAILURES_MAX).then_some(Self { size: (self.size / 4).max(1), failures, ..self })
    }
}

/// Whether the disk has room for more than messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DiskState {
    #[default]
    Ample,
    /// Big work is refused.
    Low,
}

impl DiskState {
    /// With so many bytes free, where fewer than `low` are too few. It is over a little above that, so that it does not flicker.
    #[must_use]
    pub fn judge(self, free: u64, low: u64) -> Self {
        let enough = match self {
            Self::Ample => low,
            Self::Low => low.saturating_add(low / 4),
        };
        if free < enough { Self::Low } else { Self::Ample }
    }
}

/// So many pages of the log that cannot be folded in are many: 32 MB.
const STUCK_PAGES: i64 = 32_768;
/// For so many looks in a row.
const STUCK_LOOKS: u32 = 30;

/// Whether somebody who reads keeps the log from being folded in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WalMonitor {
    looks: u32,
}

impl WalMonitor {
    /// At this look so many pages were in the log, and so many of them could be folded in.
    #[must_use]
    pub fn after(self, pages: i64, folded: i64) -> Self {
        let looks = if pages.saturating_sub(folded) > STUCK_PAGES { self.looks.saturating_add(1) } else { 0 };
        Self { looks }
    }

    /// It has been so for long.
    pub fn is_stuck(self) -> bool {
        self.looks >= STUCK_LOOKS
    }
}

/// So many free pages stay in the file in any case: 1 MB.
const KEPT_PAGES: i64 = 1_024;

/// How many of a file's free pages are given back: some are kept, as the next messages need them.
pub fn surplus(pages: i64, free: i64) -> i64 {
    let kept = (pages / 20).max(KEPT_PAGES);
    if free > kept.saturating_mul(2) { free - kept } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_stride_finds_what_fits_in_its_time() {
        let sizes = |held: &[u64]| {
            let mut stride = StepSize::new(100, 300);
            held.iter()
                .map(|held| {
                    stride = stride.after(ms(*held));
                    stride.size()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[1, 1, 1, 5, 11]), [200, 300, 300, 300, 150]);
        assert_eq!(sizes(&[40; 8]), [50, 25, 12, 6, 3, 1, 1, 1]);
        let stride = StepSize::new(100, 300);
        assert_eq!(stride.after_timeout().unwrap().size(), 25);
        assert_eq!(StepSize::new(3, 300).after_timeout().unwrap().size(), 1);
        let tries = |first: StepSize| std::iter::successors(Some(first), |stride| stride.after_timeout()).count();
        assert_eq!(tries(StepSize::new(1, 300)), 8);
        assert_eq!(
            StepSize::new(1, 300).after_timeout().unwrap().after(ms(5)),
            StepSize::new(1, 300),
            "one that fits is a new beginning"
        );
    }

    #[test]
    fn n9_the_disk_is_low_and_does_not_flicker() {
        let mut room = DiskState::default();
        let seen: Vec<DiskState> = [500, 400, 399, 420, 499, 500, 450, 399]
            .map(|free| {
                room = room.judge(free, 400);
                room
            })
            .into();
        use DiskState::{Ample, Low};
        assert_eq!(seen, [Ample, Ample, Low, Low, Low, Ample, Ample, Low]);
    }

    #[test]
    fn a_log_is_stuck_when_it_stays_long() {
        let watch = (0..29).fold(WalMonitor::default(), |watch, _| watch.after(80_000, 100));
        assert!(!watch.is_stuck() && watch.after(80_000, 100).is_stuck());
        assert!(!watch.after(80_000, 100).after(80_000, 80_000).is_stuck());
        assert!(!(0..99).fold(WalMonitor::default(), |watch, _| watch.after(32_000, 0)).is_stuck(), "that is not many");
    }

    #[test]
    fn some_free_pages_are_kept() {
        for (pages, free, gone) in
            [(9_000, 2_048, 0), (9_000, 2_049, 1_025), (100_000, 10_000, 0), (100_000, 20_000, 15_000)]
        {
            assert_eq!(surplus(pages, free), gone, "{pages} {free}");
        }
    }
}
