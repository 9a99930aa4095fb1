//! How far long work is: a bar at a terminal, plain lines elsewhere. On standard error, as it is not a result.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Smaller work says nothing where there is no terminal.
const WORTH_A_LINE_BYTES: u64 = 32 << 20;
const MEGABYTE: u64 = 1 << 20;
/// How often the bar shows that it is alive.
const TICK: Duration = Duration::from_millis(100);
const OF_BYTES: &str = "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left";
const OF_STEPS: &str = "{msg} {wide_bar} {pos} of {len}";
/// What has no end that is known.
const OPEN: &str = "{spinner} {msg}";

/// One long piece of work; dropped when it is over.
pub(super) struct Progress {
    what: &'static str,
    /// None: there is no terminal.
    bar: Option<ProgressBar>,
    /// How many quarters were told in lines.
    quarters: AtomicU64,
}

impl Progress {
    /// Something begins.
    pub(super) fn begin(what: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::no_length().with_style(style(OPEN)).with_message(what);
            bar.enable_steady_tick(TICK);
            bar
        });
        Self { what, bar, quarters: AtomicU64::new(0) }
    }

    /// So many bytes of so many; of none nobody knows how many there are.
    pub(super) fn at(&self, done: u64, all: u64) {
        match &self.bar {
            Some(bar) if all > 0 => place(bar, OF_BYTES, done.min(all), all),
            Some(_) => {}
            None => {
                if let Some(line) = line(self.what, done, all, self.quarters.load(Ordering::Relaxed)) {
                    self.quarters.store(quarters(done, all), Ordering::Relaxed);
                    eprintln!("{line}");
                }
            }
        }
    }

    /// So many steps of so many; the line is for where there is no bar.
    pub(super) fn step(&self, done: usize, all: usize, line: &str) {
        match &self.bar {
            Some(bar) => place(bar, OF_STEPS, done as u64, all as u64),
            None => eprintln!("{line}"),
        }
    }

    /// So many of so many things. Where there is no bar, each quarter is told.
    pub(super) fn count(&self, done: usize, all: usize) {
        let (done, all) = (done as u64, all as u64);
        match &self.bar {
            Some(bar) => place(bar, OF_STEPS, done, all),
            None if quarters(done, all) > self.quarters.load(Ordering::Relaxed) => {
                self.quarters.store(quarters(done, all), Ordering::Relaxed);
                eprintln!("{}: {done} of {all}", self.what);
            }
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn place(bar: &ProgressBar, template: &str, done: u64, all: u64) {
    if bar.length().is_none() {
        bar.set_style(style(template));
    }
    bar.set_length(all);
    bar.set_position(done);
}

/// A style from one of the templates above.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_never| ProgressStyle::default_bar()).progress_chars("=> ")
}

fn quarters(done: u64, all: u64) -> u64 {
    done.min(all).saturating_mul(4) / all.max(1)
}

/// The line that is due when so much is done and so many quarters were told.
fn line(what: &str, done: u64, all: u64, told: u64) -> Option<String> {
    let is_due = all >= WORTH_A_LINE_BYTES && quarters(done, all) > told;
    is_due.then(|| {
        format!(
            "{what}: {} %, {} of {} MB",
            quarters(done, all) * 25,
            done.min(all).div_ceil(MEGABYTE),
            all.div_ceil(MEGABYTE)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_told_in_quarters_and_short_work_not_at_all() {
        let mega = |count: u64| count * MEGABYTE;
        let table = [
            ((mega(1), mega(20)), 0, None),
            ((mega(10), 0), 0, None),
            ((mega(10), mega(100)), 0, None),
            ((mega(26), mega(100)), 0, Some("Packing: 25 %, 26 of 100 MB")),
            ((mega(30), mega(100)), 1, None),
            ((mega(80), mega(100)), 1, Some("Packing: 75 %, 80 of 100 MB")),
            ((mega(101), mega(100)), 3, Some("Packing: 100 %, 100 of 100 MB")),
            ((mega(101), mega(100)), 4, None),
        ];
        for ((done, all), told, expected) in table {
            assert_eq!(line("Packing", done, all, told).as_deref(), expected, "{done} of {all}");
        }
    }

    #[test]
    fn the_templates_are_good() {
        for template in [OF_BYTES, OF_STEPS, OPEN] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
