//! What tools cost before and after they work: a command judged, a page read, secrets taken out, a rule's next instant.
//!
//! `cargo bench --bench tools`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use hob_core::domain::clock::{Clock, SystemClock};
use hob_core::domain::redactor::Redactor;
use hob_core::domain::secret::Secret;
use hob_core::policy::redact::redact;
use hob_core::policy::schedule::Rule;
use hob_core::policy::shell::assess;
use hob_http::page;
use jiff::tz::TimeZone;
use tokio::time::Instant;
use url::Url;

/// The table by which commands are judged in the tests.
const VERDICTS: &str = include_str!("../crates/core/src/policy/shell/verdicts.txt");
const ROUNDS: usize = 15;
const MEGABYTE: usize = 1_000_000;

/// The median of some rounds.
fn median(mut work: impl FnMut()) -> Duration {
    let mut took: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .collect();
    took.sort_unstable();
    took[ROUNDS / 2]
}

fn commands() {
    let lines = VERDICTS.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '@']));
    let commands: Vec<&str> = lines.filter_map(|line| line.split_once(' ').map(|(_, command)| command)).collect();
    let mut took: Vec<Duration> = commands.iter().map(|command| median(|| drop(black_box(assess(command))))).collect();
    took.sort_unstable();
    let count = took.len();
    println!("a command judged, of {count}: p50 {:?}  max {:?}", took[count / 2], took[count - 1]);
    for (what, long) in [("pipe", "cat a | sort | ".repeat(1_000)), ("nest", "$(echo ".repeat(2_000))] {
        println!("16 KiB of a {what}: {:?}", median(|| drop(black_box(assess(&long)))));
    }
}

fn pages() {
    let url = Url::parse("https://example.org/").unwrap();
    let mut text = "<html><head><title>A garden</title></head><body><article>".to_owned();
    for paragraph in 0.. {
        if text.len() >= MEGABYTE {
            break;
        }
        let rose = "the rose that climbs the wall, and <a href='/rose'>its neighbour</a>, want water in the morning. ";
        write!(text, "<h2>Bed {paragraph}</h2><p class='bed'>In this bed {}</p>", rose.repeat(6)).unwrap();
    }
    text.push_str("</article></body></html>");
    println!("a page of 1 MB read: {:?}", median(|| drop(black_box(page::html(&text, &url)))));
}

fn secrets() {
    let keys: Vec<Secret> = (0..20).map(|key| Secret::new(format!("sk-{key:02}Q7r9tY2uI4oP6aS8dF0gH"))).collect();
    let redactor = Redactor::new(&keys).unwrap();
    let text = "What is there to be said about the garden today? The roses want water. ".repeat(MEGABYTE / 71);
    let rate = |took: Duration| text.len() as f64 / 1e6 / took.as_secs_f64();
    let known = median(|| drop(black_box(redactor.redact(&text))));
    let shaped = median(|| drop(black_box(redact(&text))));
    println!("secrets looked for: known values (20) {:.0} MB/s, known shapes {:.0} MB/s", rate(known), rate(shaped));
}

fn instants() {
    let (zone, now) = (TimeZone::get("Europe/Berlin").unwrap(), SystemClock.now());
    for expression in ["30 8 * * 1-5", "*/5 * * * *", "0 12 29 2 *"] {
        let rule = Rule::Cron { expression: expression.to_owned() };
        println!("the next instant of `{expression}`: {:?}", median(|| _ = black_box(rule.next(&zone, now))));
    }
    let never = Rule::Cron { expression: "0 0 31 2 *".to_owned() };
    println!("31 February refused: {:?}", median(|| drop(black_box(never.check(&zone, now)))));
}

fn main() {
    commands();
    pages();
    secrets();
    instants();
}
