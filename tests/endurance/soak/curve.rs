//! What was sampled, as a table, as curves for people, and as a verdict.

use std::fmt::Write as _;

/// What a process holds at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) second: f64,
    pub(crate) turns: u64,
    pub(crate) resident_kib: u64,
    /// What of it is its own, not pages of its binary.
    pub(crate) own_kib: u64,
    pub(crate) descriptors: u64,
    pub(crate) log_kib: u64,
    pub(crate) file_kib: u64,
}

/// All samples, in order.
#[derive(Debug, Default)]
pub(crate) struct Curve {
    pub(crate) samples: Vec<Sample>,
    /// The descriptors when nobody had talked for longer than a connection is kept for the next request.
    pub(crate) quiet: Option<u64>,
}

/// The columns of a curve.
const WIDTH: usize = 60;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How many more descriptors there may be in the quiet than there were when there were fewest: those of a poll, of a round
/// of upkeep.
const DESCRIPTORS_MORE: u64 = 4;

/// What is looked at: its name, where it is, and how much more of it the second half may end with than it began with; nothing:
/// it comes and goes, and what is left of it in the end counts.
type Series = (&'static str, fn(&Sample) -> f64, Option<fn(f64) -> f64>);

const SERIES: [Series; 4] = [
    // A tenth, or 6 MB: allocators keep what they had once.
    ("resident KiB", |sample| sample.resident_kib as f64, Some(|mean| (mean / 10.0).max(6_144.0))),
    ("own KiB", |sample| sample.own_kib as f64, Some(|mean| (mean / 10.0).max(6_144.0))),
    // Connections: more of them in an outage, fewer after it.
    ("descriptors", |sample| sample.descriptors as f64, None),
    ("log KiB", |sample| sample.log_kib as f64, Some(|_| 8_192.0)),
];

impl Curve {
    /// A line for each sample.
    pub(crate) fn csv(&self) -> String {
        let mut text = "second,turns,resident_kib,own_kib,descriptors,log_kib,file_kib\n".to_owned();
        for s in &self.samples {
            let (turns, resident, own, descriptors) = (s.turns, s.resident_kib, s.own_kib, s.descriptors);
            writeln!(text, "{:.1},{turns},{resident},{own},{descriptors},{},{}", s.second, s.log_kib, s.file_kib)
                .unwrap();
        }
        text
    }

    /// A line for each series.
    pub(crate) fn drawn(&self) -> String {
        let mut text = String::new();
        for (name, of, _) in SERIES {
            let values: Vec<f64> = self.samples.iter().map(of).collect();
            let (low, high) = values.iter().fold((f64::MAX, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
            let change = self.change(of).unwrap_or(0.0);
            writeln!(text, "{name:>13} {} {low:.0} to {high:.0}, second half {change:+.0}", bars(&values)).unwrap();
        }
        if let Some(quiet) = self.quiet {
            writeln!(text, "descriptors in the quiet after it: {quiet}").unwrap();
        }
        text
    }

    /// By how much the second half rises, by the line that fits it best; none: there are too few samples.
    fn change(&self, of: fn(&Sample) -> f64) -> Option<f64> {
        let half = self.samples.get(self.samples.len() / 2..).filter(|half| half.len() >= 4)?;
        let points: Vec<(f64, f64)> = half.iter().map(|sample| (sample.second, of(sample))).collect();
        let length = points.last()?.0 - points.first()?.0;
        Some(slope(&points)? * length)
    }

    /// What is not flat; nothing: all is.
    pub(crate) fn verdict(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, of, allowed) in SERIES {
            let Some(allowed) = allowed else { continue };
            let Some(change) = self.change(of) else {
                wrong.push(format!("{name}: too few samples"));
                continue;
            };
            let mean = self.samples.iter().map(of).sum::<f64>() / self.samples.len() as f64;
            if change > allowed(mean) {
                wrong.push(format!("{name}: +{change:.0} in the second half, {:.0} may be", allowed(mean)));
            }
        }
        let fewest = self.samples.iter().map(|sample| sample.descriptors).min().unwrap_or_default();
        match self.quiet {
            None => wrong.push("descriptors: not counted in the quiet".to_owned()),
            Some(left) if left > fewest + DESCRIPTORS_MORE => {
                wrong.push(format!("descriptors: {left} in the quiet, {fewest} when there were fewest"));
            }
            Some(_) => {}
        }
        wrong
    }
}

/// The slope of the line that fits best.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        (above + (point.0 - x) * (point.1 - y), below + (point.0 - x) * (point.0 - x))
    });
    (below > 0.0).then(|| above / below)
}

fn bars(values: &[f64]) -> String {
    let high = values.iter().copied().fold(1.0_f64, f64::max);
    let every = values.len().div_ceil(WIDTH).max(1);
    let bar = |some: &[f64]| {
        let most = some.iter().copied().fold(0.0_f64, f64::max);
        // From nothing to the highest: what is flat looks flat.
        BARS[((most / high * 7.0).round() as usize).min(7)]
    };
    values.chunks(every).map(bar).collect()
}

#[test]
fn a_leak_is_seen_and_noise_is_not() {
    let of = |resident: fn(u64) -> u64| Curve {
        samples: (0..40)
            .map(|place| Sample {
                second: place as f64 * 10.0,
                turns: place,
                resident_kib: resident(place),
                own_kib: 12_000,
                descriptors: 30 + place % 3,
                log_kib: (place * 1_000) % 7_000,
                file_kib: place * 100,
            })
            .collect(),
        quiet: Some(30),
    };
    let warming_up = of(|place| if place < 10 { 20_000 + place * 3_000 } else { 50_000 + (place * 977) % 2_000 });
    assert_eq!(warming_up.verdict(), Vec::<String>::new());
    let leaking = of(|place| 50_000 + place * 700);
    assert_eq!(leaking.verdict(), ["resident KiB: +13300 in the second half, 6365 may be"]);
    let few = Curve { samples: leaking.samples[..5].to_vec(), quiet: None };
    assert_eq!(few.verdict().len(), 4, "that is too few to tell");
    let left_open = Curve { quiet: Some(35), ..of(|_| 50_000) };
    assert_eq!(left_open.verdict(), ["descriptors: 35 in the quiet, 30 when there were fewest"]);
    assert!(leaking.csv().starts_with(
        "second,turns,resident_kib,own_kib,descriptors,log_kib,file_kib\n0.0,0,50000,12000,30,0,0\n10.0,1,"
    ));
    assert!(leaking.drawn().contains("50000 to 77300, second half +13300"), "{}", leaking.drawn());
}
