//! What is stored: the database, who uses it, what is to be done later, backups.

use std::path::Path;
use std::time::Duration;

use crate::doctor::rules::finding::{Check, Finding};
use crate::doctor::rules::span;
use hob_core::domain::text::size;
use hob_store::error::StoreError;
use hob_store::inspect::InspectionReport;

/// A log that large is not folded into the database any more: somebody reads without an end.
const LOG_WARN: u64 = 64 << 20;
/// A schedule so late is not run by anybody.
const LATE: Duration = Duration::from_secs(3_600);

/// The database, as it was looked at.
pub fn database(inspected: &Result<InspectionReport, StoreError>) -> Vec<Finding> {
    let found = match inspected {
        Err(StoreError::Missing(path)) => {
            return vec![Finding::note(
                Check::Database,
                format!("there is none yet at {path}; the first start makes it"),
            )];
        }
        Err(error) => {
            let fix = "stop Hob, and restore a backup (`hob restore`); snapshots/ in the data directory has older ones";
            return vec![Finding::fail(Check::Database, error.to_string(), fix)];
        }
        Ok(found) => found,
    };
    let mut all = Vec::new();
    if !found.complaints.is_empty() {
        let what = format!("it is damaged: {}", found.complaints.join("; "));
        all.push(Finding::fail(
            Check::Database,
            what,
            "stop Hob, copy the data directory away, and restore a backup (`hob restore`)",
        ));
    }
    if found.loose > 0 {
        let what = format!("{} rows refer to others that are not there", found.loose);
        all.push(Finding::fail(Check::Database, what, "restore a backup (`hob restore`), and report it"));
    }
    if found.schema > found.known {
        let (schema, known) = (found.schema, found.known);
        let what = format!("it was made by a newer Hob (schema {schema}, this one knows {known})");
        all.push(Finding::fail(
            Check::Database,
            what,
            "start that Hob again, or see docs/upgrade.md, \"Back to an older Hob\"",
        ));
    }
    if found.log_bytes > LOG_WARN {
        let what = format!("its write-ahead log has grown to {}", size(found.log_bytes));
        all.push(Finding::warn(Check::Database, what, "restart Hob, which folds it in; if it grows again, report it"));
    }
    if all.is_empty() {
        let (bytes, log) = (size(found.bytes), size(found.log_bytes));
        all.push(Finding::ok(
            Check::Database,
            format!("it is whole: schema {}, {bytes}, {log} in its log", found.schema),
        ));
    }
    if found.schema < found.known {
        let (schema, known) = (found.schema, found.known);
        all.push(Finding::note(
            Check::Database,
            format!("it is of schema {schema}; the next start brings it to {known}, and keeps a snapshot"),
        ));
    }
    all
}

/// What is known of the Hob that uses the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonState {
    /// Nobody does.
    Absent,
    Answers {
        /// Its process; none: that is not known.
        pid: Option<String>,
        /// Whether it hears and is heard.
        ready: bool,
    },
    /// It holds the data, and does not answer.
    Silent {
        /// Its process.
        pid: String,
        /// Why, as far as that is known.
        why: String,
    },
    /// It cannot be found out.
    Unknown { why: String },
}

/// Whether Hob runs.
pub fn daemon(daemon: &DaemonState) -> Vec<Finding> {
    let process = |pid: &Option<String>| pid.as_ref().map_or_else(String::new, |pid| format!(" (pid {pid})"));
    vec![match daemon {
        DaemonState::Absent => Finding::note(Check::Daemon, "Hob is not running"),
        DaemonState::Answers { pid, ready: true } => {
            Finding::ok(Check::Daemon, format!("Hob runs{} and is ready", process(pid)))
        }
        DaemonState::Answers { pid, ready: false } => Finding::warn(
            Check::Daemon,
            format!("Hob runs{}, and is not ready", process(pid)),
            "`hob health` says what is missing",
        ),
        DaemonState::Silent { pid, why } => {
            let fix = "wait a moment, if it starts or stops just now; else look at its log, and restart it";
            Finding::fail(Check::Daemon, format!("Hob runs (pid {pid}), but cannot be asked: {why}"), fix)
        }
        DaemonState::Unknown { why } => Finding::fail(Check::Daemon, why.clone(), "run as the user that Hob runs as"),
    }]
}

/// A schedule, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleState {
    pub id: i64,
    /// `active`, `paused` or `done`.
    pub state: String,
    /// Why it is paused.
    pub why: Option<String>,
    /// What of it cannot be read; none: all can.
    pub unreadable: Option<String>,
    pub late: Option<Duration>,
}

/// What is to be done later.
pub fn schedules(all: &[ScheduleState], is_running: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for ScheduleState { id, state, why, unreadable, late } in all {
        if let Some(unreadable) = unreadable.as_ref().filter(|_| state != "done") {
            let fix = format!("delete it (`/schedules delete {id}`) and set it up again");
            found.push(Finding::fail(Check::Schedules, format!("schedule {id} cannot be read: {unreadable}"), fix));
        } else if let (Some(why), "paused") = (why, state.as_str()) {
            let fix = format!("`/schedules resume {id}` lets it go on, `/schedules delete {id}` ends it");
            found.push(Finding::warn(Check::Schedules, format!("schedule {id} is paused: {why}"), fix));
        } else if let Some(late) = late.filter(|late| *late > LATE && is_running && state == "active") {
            let fix = "look at the log for what keeps it; restart Hob if nothing does";
            found.push(Finding::warn(Check::Schedules, format!("schedule {id} is late by {}", span(late)), fix));
        }
    }
    if found.is_empty() {
        let active = all.iter().filter(|schedule| schedule.state == "active").count();
        found.push(Finding::ok(Check::Schedules, format!("{active} active, all readable")));
    }
    found
}

/// What is known of backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupState<'a> {
    pub folder: &'a Path,
    /// Hours between two; 0: Hob makes none by itself.
    pub every_hours: u32,
    /// How old the newest is; none: there is none.
    pub newest: Option<Duration>,
    /// Whether there is anything to lose.
    pub is_needed: bool,
    /// Whether the folder lies in the data directory.
    pub is_beside: bool,
}

pub fn backup(facts: &BackupState<'_>) -> Vec<Finding> {
    let folder = facts.folder.display();
    let by_itself = "let Hob make them: `every_hours = 24` in [backup]";
    if !facts.is_needed {
        return vec![Finding::note(Check::Backup, "there is nothing to back up yet")];
    }
    let every = Duration::from_secs(u64::from(facts.every_hours) * 3_600);
    let Some(newest) = facts.newest else {
        return vec![if facts.every_hours == 0 {
            Finding::warn(Check::Backup, "there is none", format!("`hob backup` makes one; {by_itself}"))
        } else {
            Finding::warn(
                Check::Backup,
                format!("there is none in {folder}"),
                "the running Hob makes one by itself; if it does not, its log says why",
            )
        }];
    };
    let age = span(newest);
    let mut found = vec![if facts.every_hours == 0 && newest > Duration::from_secs(7 * 86_400) {
        Finding::warn(Check::Backup, format!("the newest is {age} old"), format!("`hob backup` makes one; {by_itself}"))
    } else if facts.every_hours > 0 && newest > every * 2 {
        Finding::warn(
            Check::Backup,
            format!("the newest is {age} old, though one is due every {} h", facts.every_hours),
            "the log says why none is made, if Hob runs",
        )
    } else {
        Finding::ok(Check::Backup, format!("the newest is {age} old"))
    }];
    if facts.is_beside {
        found.push(Finding::note(
            Check::Backup,
            "they lie on the same disk as the data; `dir` in [backup] puts them elsewhere",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(findings: &[Finding]) -> String {
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn whole() -> InspectionReport {
        InspectionReport { schema: 14, known: 14, complaints: Vec::new(), loose: 0, bytes: 3_000_000, log_bytes: 0 }
    }

    #[test]
    fn n12_the_database() {
        let all = [
            Ok(whole()),
            Ok(InspectionReport { schema: 13, ..whole() }),
            Ok(InspectionReport { schema: 99, ..whole() }),
            Ok(InspectionReport { complaints: vec!["page 3: never used".to_owned()], loose: 2, ..whole() }),
            Ok(InspectionReport { log_bytes: 70 << 20, ..whole() }),
            Err(StoreError::Missing("/d/hob.db".to_owned())),
            Err(StoreError::Damaged("file is not a database".to_owned())),
        ];
        insta::assert_snapshot!(all.map(|found| shown(&database(&found))).join("\n"), @r#"
        ok   database: it is whole: schema 14, 3.0 MB, 0 kB in its log
        ok   database: it is whole: schema 13, 3.0 MB, 0 kB in its log
        note database: it is of schema 13; the next start brings it to 14, and keeps a snapshot
        fail database: it was made by a newer Hob (schema 99, this one knows 14); start that Hob again, or see docs/upgrade.md, "Back to an older Hob"
        fail database: it is damaged: page 3: never used; stop Hob, copy the data directory away, and restore a backup (`hob restore`)
        fail database: 2 rows refer to others that are not there; restore a backup (`hob restore`), and report it
        warn database: its write-ahead log has grown to 73.4 MB; restart Hob, which folds it in; if it grows again, report it
        note database: there is none yet at /d/hob.db; the first start makes it
        fail database: the database cannot be read: file is not a database; restore a backup, or move the file away to begin afresh; stop Hob, and restore a backup (`hob restore`); snapshots/ in the data directory has older ones
        "#);
    }

    #[test]
    fn n12_whether_it_runs() {
        let pid = || "7".to_owned();
        let all = [
            DaemonState::Absent,
            DaemonState::Answers { pid: Some(pid()), ready: true },
            DaemonState::Answers { pid: None, ready: false },
            DaemonState::Silent { pid: pid(), why: "there is no socket".to_owned() },
            DaemonState::Unknown { why: "hob.lock cannot be read".to_owned() },
        ];
        insta::assert_snapshot!(all.map(|all| shown(&daemon(&all))).join("\n"), @r"
        note daemon: Hob is not running
        ok   daemon: Hob runs (pid 7) and is ready
        warn daemon: Hob runs, and is not ready; `hob health` says what is missing
        fail daemon: Hob runs (pid 7), but cannot be asked: there is no socket; wait a moment, if it starts or stops just now; else look at its log, and restart it
        fail daemon: hob.lock cannot be read; run as the user that Hob runs as
        ");
    }

    #[test]
    fn n12_schedules() {
        let schedule =
            |id, state: &str| ScheduleState { id, state: state.to_owned(), why: None, unreadable: None, late: None };
        let late = ScheduleState { late: Some(Duration::from_secs(8_000)), ..schedule(2, "active") };
        assert!(shown(&schedules(&[], true)).starts_with("ok   schedules: 0 active"));
        assert!(shown(&schedules(std::slice::from_ref(&late), false)).starts_with("ok "), "nobody runs it");
        let all = [
            schedule(1, "active"),
            late,
            ScheduleState { why: Some("it failed 5 times in a row".to_owned()), ..schedule(3, "paused") },
            ScheduleState { unreadable: Some("zone \"Mars\"".to_owned()), ..schedule(4, "active") },
            ScheduleState { unreadable: Some("its rule".to_owned()), ..schedule(5, "done") },
        ];
        insta::assert_snapshot!(shown(&schedules(&all, true)), @r#"
        warn schedules: schedule 2 is late by 2 h; look at the log for what keeps it; restart Hob if nothing does
        warn schedules: schedule 3 is paused: it failed 5 times in a row; `/schedules resume 3` lets it go on, `/schedules delete 3` ends it
        fail schedules: schedule 4 cannot be read: zone "Mars"; delete it (`/schedules delete 4`) and set it up again
        "#);
    }

    #[test]
    fn n12_backups() {
        let facts = |every_hours, days: Option<u64>| BackupState {
            folder: Path::new("/b"),
            every_hours,
            newest: days.map(|days| Duration::from_secs(days * 86_400)),
            is_needed: true,
            is_beside: false,
        };
        let mut all =
            [(0, None), (24, None), (0, Some(8)), (24, Some(3)), (24, Some(1))].map(|(every, days)| facts(every, days));
        all[4].is_beside = true;
        insta::assert_snapshot!(all.map(|facts| shown(&backup(&facts))).join("\n"), @r"
        warn backup: there is none; `hob backup` makes one; let Hob make them: `every_hours = 24` in [backup]
        warn backup: there is none in /b; the running Hob makes one by itself; if it does not, its log says why
        warn backup: the newest is 8 d old; `hob backup` makes one; let Hob make them: `every_hours = 24` in [backup]
        warn backup: the newest is 3 d old, though one is due every 24 h; the log says why none is made, if Hob runs
        ok   backup: the newest is 24 h old
        note backup: they lie on the same disk as the data; `dir` in [backup] puts them elsewhere
        ");
        assert!(shown(&backup(&BackupState { is_needed: false, ..facts(0, None) })).starts_with("note"));
    }
}
