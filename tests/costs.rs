//! What a turn costs, counted (row N17): statements, commits and bytes written to the log. A feature that adds to a turn has to raise a
//! number here, and say why.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use crate::support::fake_model::Reply;
use crate::support::house::{House, OWNER};

/// Statements are told by sqlx, one event each, without their values.
const COUNTED: &str = "[daemon]\nlog = 'info,hob=debug,sqlx::query=debug'\nlog_format = 'json'";

/// What was done since some moment.
#[derive(Debug, Default, Clone)]
struct Cost {
    statements: BTreeMap<String, usize>,
    log_bytes: u64,
}

impl Cost {
    fn total(&self) -> usize {
        self.statements.values().sum()
    }

    fn commits(&self) -> usize {
        self.statements.get("COMMIT").copied().unwrap_or(0)
    }
}

/// The statements that the log tells of, from this byte on.
fn since(log: &str, from: usize) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in log[from..].lines().filter(|line| line.contains("sqlx::query")) {
        let told: serde_json::Value = serde_json::from_str(line).unwrap();
        let summary = told.pointer("/fields/summary").or_else(|| told.get("summary")).unwrap_or(&told);
        let summary = summary.as_str().map_or_else(|| summary.to_string(), str::to_owned);
        // That the pool opens one more connection is no part of a turn.
        if !summary.starts_with("PRAGMA") {
            *found.entry(summary).or_default() += 1;
        }
    }
    found
}

fn log_file_bytes(house: &House) -> u64 {
    std::fs::metadata(house.path("data/hob.db-wal")).map_or(0, |file| file.len())
}

/// A turn of the owner's, from a quiet moment to the next.
async fn turn(house: &mut House, text: &str) -> Cost {
    let (from, wal) = (house.hob().log().len(), log_file_bytes(house));
    let delivered = house.hob().log().matches("outbox.delivered").count();
    house.ask(OWNER, text, Reply::text("Hello.")).await;
    house.recorded(delivered + 1).await;
    house.acknowledged().await;
    Cost { statements: since(&house.hob().log(), from), log_bytes: log_file_bytes(house) - wal }
}

/// What one turn may cost. It is exact: who needs more raises it here and says why, and who needs less lowers it.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    statements: usize,
    commits: usize,
}

impl Cost {
    fn count(&self) -> Count {
        Count { statements: self.total(), commits: self.commits() }
    }
}

/// A house in which some turns have been taken, so that nothing is done for the first time.
async fn house() -> House {
    let mut house = House::with(COUNTED).await;
    house.start().await;
    for _ in 0..3 {
        turn(&mut house, "hi").await;
    }
    house
}

#[tokio::test]
async fn n17_a_plain_hi() {
    let mut house = house().await;
    let cost = turn(&mut house, "hi").await;
    assert_eq!(cost.count(), Count { statements: 35, commits: 4 }, "{cost:#?}");
    // 57 pages of 4 KiB with their headers, give or take a tenth: which rows share a page is chance.
    assert!((211_000..=259_000).contains(&cost.log_bytes), "{cost:#?}");
}

#[tokio::test]
async fn n17_the_same_with_eighty_facts() {
    let mut house = house().await;
    let facts: Vec<String> =
        (0..80).map(|at| format!(r#"{{"category":"kitchen","key":"shelf {at}","value":"jar number {at}"}}"#)).collect();
    let calls: Vec<(&str, &str)> = facts.iter().map(|fact| ("remember_fact", fact.as_str())).collect();
    house.model.reply(Reply::calls(&calls));
    turn(&mut house, "Remember what stands on the shelves.").await;
    turn(&mut house, "hi").await;
    let cost = turn(&mut house, "hi").await;
    // Four more than without: what was recalled is kept, all of it at once, and what was said before the eighty calls is out of the
    // window by now, so that recall looks at it in three.
    assert_eq!(cost.count(), Count { statements: 39, commits: 4 }, "{cost:#?}");
}
