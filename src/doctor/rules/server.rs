//! The server that the state is on.

use std::time::Duration;

use crate::doctor::rules::finding::{Check, Finding};
use hob_core::domain::text::size;
use hob_store::error::StoreError;
use hob_store::inspect::ServerReport;

/// A turn asks the server some ten times, one after the other.
const ROUND_TRIP_WARN: Duration = Duration::from_millis(20);
/// What is due, and how long a lease holds, is seen by both clocks.
const CLOCK_WARN_MS: u64 = 2_000;
/// What one Hob has at most.
const CONNECTIONS: i64 = 6;

/// The server, as it was looked at.
pub fn database(inspected: &Result<ServerReport, StoreError>) -> Vec<Finding> {
    let found = match inspected {
        Err(StoreError::Server { what, fix }) => return vec![Finding::fail(Check::Database, what, fix)],
        Err(error) => {
            let fix = "look whether the server runs and can be reached from here; its log may say more";
            return vec![Finding::fail(Check::Database, error.to_string(), fix)];
        }
        Ok(found) => found,
    };
    let (known, version, place) = (found.known, &found.version, &found.place);
    let Some(schema) = found.schema else {
        let what = format!("{place} (PostgreSQL {version}) has no state yet; the first start makes it");
        return std::iter::once(Finding::note(Check::Database, what)).chain(warnings(found)).collect();
    };
    let mut all = Vec::new();
    if schema > known {
        let what = format!("it was made by a newer Hob (schema {schema}, this one knows {known})");
        all.push(Finding::fail(Check::Database, what, "start that Hob again, or restore a backup from before"));
    }
    all.extend(warnings(found));
    if all.is_empty() {
        let took = found.round_trip.as_secs_f64() * 1_000.0;
        let what = format!("{place}: PostgreSQL {version}, schema {schema}, {}, {took:.1} ms away", size(found.bytes));
        all.push(Finding::ok(Check::Database, what));
    }
    if schema < known {
        let what = format!("it is of schema {schema}; the next start brings it to {known}: make a backup before");
        all.push(Finding::note(Check::Database, what));
    }
    all
}

fn warnings(found: &ServerReport) -> Vec<Finding> {
    let mut all = Vec::new();
    if found.round_trip > ROUND_TRIP_WARN {
        let what = format!("a question to the server takes {} ms, and a turn asks many", found.round_trip.as_millis());
        all.push(Finding::warn(Check::Database, what, "run Hob near the server, in the same data centre"));
    }
    if found.ahead_ms.unsigned_abs() > CLOCK_WARN_MS {
        let (seconds, how) =
            (found.ahead_ms.unsigned_abs() / 1_000, if found.ahead_ms > 0 { "ahead of" } else { "behind" });
        let what = format!("the server's clock is {seconds} s {how} this machine's");
        all.push(Finding::warn(Check::Database, what, "have both set by NTP (`timedatectl set-ntp true`)"));
    }
    let left = found.connections_max - found.connections;
    if left < CONNECTIONS {
        let what = format!(
            "{} of {} connections to the server are taken, and a Hob needs up to {CONNECTIONS}",
            found.connections, found.connections_max
        );
        all.push(Finding::warn(Check::Database, what, "raise max_connections of the server, or end what holds them"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n15_what_is_said_of_one_postgresql() {
        let whole = || ServerReport {
            place: "postgres://hob@db:5432/hob".to_owned(),
            version: "15.3".to_owned(),
            schema: Some(3),
            known: 3,
            bytes: 12_000_000,
            round_trip: Duration::from_micros(400),
            ahead_ms: 12,
            connections: 9,
            connections_max: 100,
        };
        let all = [
            Ok(whole()),
            Ok(ServerReport { schema: None, connections: 95, ..whole() }),
            Ok(ServerReport { schema: Some(2), ..whole() }),
            Ok(ServerReport { schema: Some(4), ..whole() }),
            Ok(ServerReport { round_trip: Duration::from_millis(41), ahead_ms: -7_300, ..whole() }),
            Err(StoreError::Server { what: "it is a replica".to_owned(), fix: "name the primary".to_owned() }),
            Err(StoreError::Disconnected("it went".to_owned())),
        ];
        let shown = all.map(|found| database(&found).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        insta::assert_snapshot!(shown.join("\n"), @r"
        ok   database: postgres://hob@db:5432/hob: PostgreSQL 15.3, schema 3, 12.0 MB, 0.4 ms away
        note database: postgres://hob@db:5432/hob (PostgreSQL 15.3) has no state yet; the first start makes it
        warn database: 95 of 100 connections to the server are taken, and a Hob needs up to 6; raise max_connections of the server, or end what holds them
        ok   database: postgres://hob@db:5432/hob: PostgreSQL 15.3, schema 2, 12.0 MB, 0.4 ms away
        note database: it is of schema 2; the next start brings it to 3: make a backup before
        fail database: it was made by a newer Hob (schema 4, this one knows 3); start that Hob again, or restore a backup from before
        warn database: a question to the server takes 41 ms, and a turn asks many; run Hob near the server, in the same data centre
        warn database: the server's clock is 7 s behind this machine's; have both set by NTP (`timedatectl set-ntp true`)
        fail database: it is a replica; name the primary
        fail database: the database server cannot be reached: it went; look whether the server runs and can be reached from here; its log may say more
        ");
    }
}
