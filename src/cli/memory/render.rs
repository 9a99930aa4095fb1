//! What is remembered, for people at the command line. Pure.

use jiff::Timestamp;

use crate::cli::memory::stats::MemoryStats;
use crate::cli::replay::phrases::{count_of, cut, utc_text};
use hob_core::domain::text::grouped;
use hob_memory::forget::ForgetOutcome;
use hob_memory::item::MemoryItem;
use hob_memory::transfer::import::ImportReport;
use hob_web::memory::entry::Entry;

/// The first characters of what was said that are shown; `--json` has all.
const WORDS_MAX: usize = 100;

pub(super) fn row_lines(rows: &[Entry]) -> String {
    if rows.is_empty() {
        return "Nothing.\n".to_owned();
    }
    rows.iter().map(line).collect()
}

fn line(row: &Entry) -> String {
    let key = row.key.as_ref().map(|key| format!("{key} = ")).unwrap_or_default();
    let pinned = if row.pinned { " (pinned)" } else { "" };
    let text = cut(&row.text, WORDS_MAX);
    let at = utc_text(Timestamp::from_millisecond(row.at).unwrap_or_default());
    format!("{:>6}  {at}  {:<6} {}: {key}{text}{pinned}\n", row.id, row.scope, row.who)
}

/// What is gone.
pub(super) fn forgotten(item: MemoryItem, forgotten: &ForgetOutcome) -> String {
    let others = forgotten.facts.iter().map(|fact| MemoryItem::Fact(*fact)).filter(|fact| *fact != item);
    let others: Vec<String> = others.map(|fact| fact.to_string()).collect();
    let along = if others.is_empty() { String::new() } else { format!(", with it {}", others.join(", ")) };
    let later = if forgotten.put_off { "; a run still works with it: its record goes when it is over" } else { "" };
    format!("forgotten: {item}{along}{later}\n")
}

/// What was brought in.
pub(super) fn imported(imported: &ImportReport) -> String {
    let ImportReport { memories, facts, people, known } = *imported;
    format!(
        "brought in: {} said, {}, {}; {} were here already\n",
        grouped(memories as u64),
        count_of(facts as u64, "fact"),
        self::people(people as u64),
        grouped(known as u64)
    )
}

fn people(count: u64) -> String {
    if count == 1 { "1 person".to_owned() } else { format!("{} people", grouped(count)) }
}

/// All of it in numbers.
pub(super) fn stats(stats: &MemoryStats) -> String {
    let scopes = stats.scopes.iter().map(|of| {
        let facts = count_of(of.facts.unsigned_abs(), "fact");
        let (memories, people) = (grouped(of.memories.unsigned_abs()), people(of.people.unsigned_abs()));
        format!("{:<6} {}: {memories} said, {facts}, {people}", of.scope.to_string(), of.whose)
    });
    let mut shown: Vec<String> = scopes.collect();
    if shown.is_empty() {
        shown.push("Nothing is remembered yet.".to_owned());
    }
    if let (Some(oldest), Some(newest)) = (stats.oldest, stats.newest) {
        shown.push(format!("said from {} to {} UTC", utc_text(oldest), utc_text(newest)));
    }
    shown.push(match &stats.embedding {
        None => "meaning: no model has looked at it yet; it is found by words alone".to_owned(),
        Some(of) => format!("meaning: by {}; {} wait for it", of.model, grouped(of.backlog.unsigned_abs())),
    });
    shown.push(format!("database: {} bytes", grouped(stats.bytes)));
    shown.join("\n") + "\n"
}
