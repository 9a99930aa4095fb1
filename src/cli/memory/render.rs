//! What is remembered, for people at the command line. Pure.

use crate::cli::memory::look::Row;
use crate::cli::memory::stats::Stats;
use crate::cli::replay::words::{count_of, cut, grouped, moment};
use crate::memory::forget::Forgotten;
use crate::memory::item::Item;
use crate::memory::transfer::import::Imported;

/// The first characters of what was said that are shown; `--json` has all.
const WORDS_MAX: usize = 100;

/// A line each.
pub(super) fn found(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "Nothing.\n".to_owned();
    }
    rows.iter().map(line).collect()
}

fn line(row: &Row) -> String {
    let key = row.key.as_ref().map(|key| format!("{key} = ")).unwrap_or_default();
    let pinned = if row.pinned { " (pinned)" } else { "" };
    let text = cut(&row.text, WORDS_MAX);
    format!("{:>6}  {}  {:<6} {}: {key}{text}{pinned}\n", row.id, moment(row.at), row.scope.to_string(), row.who)
}

/// What is gone.
pub(super) fn forgotten(item: Item, forgotten: &Forgotten) -> String {
    let others = forgotten.facts.iter().map(|fact| Item::Fact(*fact)).filter(|fact| *fact != item);
    let others: Vec<String> = others.map(|fact| fact.to_string()).collect();
    let along = if others.is_empty() { String::new() } else { format!(", with it {}", others.join(", ")) };
    let later = if forgotten.put_off { "; a run still works with it: its record goes when it is over" } else { "" };
    format!("forgotten: {item}{along}{later}\n")
}

/// What was brought in.
pub(super) fn imported(imported: &Imported) -> String {
    let Imported { memories, facts, people, known } = *imported;
    format!(
        "brought in: {}, {}, {}; {} were here already\n",
        count_of(memories as u64, "thing said").replace("thing saids", "things said"),
        count_of(facts as u64, "fact"),
        if people == 1 { "1 person".to_owned() } else { format!("{} people", grouped(people as u64)) },
        grouped(known as u64)
    )
}

/// All of it in numbers.
pub(super) fn stats(stats: &Stats) -> String {
    let mut shown = String::new();
    for of in &stats.scopes {
        let facts = count_of(of.facts.unsigned_abs(), "fact");
        let memories = grouped(of.memories.unsigned_abs());
        let people = grouped(of.people.unsigned_abs());
        shown += &format!("{:<6} {}: {memories} said, {facts}, {people} of people\n", of.scope.to_string(), of.whose);
    }
    if stats.scopes.is_empty() {
        shown += "Nothing is remembered yet.\n";
    }
    if let (Some(oldest), Some(newest)) = (stats.oldest, stats.newest) {
        shown += &format!("said from {} to {} UTC\n", moment(oldest), moment(newest));
    }
    shown += &match &stats.embedding {
        None => "no embedding: recall goes by words alone\n".to_owned(),
        Some(of) => format!("embedding: {}, {} wait for their vectors\n", of.model, grouped(of.backlog.unsigned_abs())),
    };
    shown += &format!("database: {} bytes\n", grouped(stats.bytes));
    shown
}
