//! The machine: config, folders, disk, limits, clock, time zone.

use std::path::Path;
use std::time::Duration;

use crate::doctor::rules::finding::{Check, Finding};
use crate::doctor::rules::span;
use hob_core::domain::text::size;

/// With less room than that nothing can be relied upon.
const ROOM_FAIL: u64 = 100 << 20;
/// With less room than that a backup or a migration may not fit.
const ROOM_WARN: u64 = 1 << 30;
/// The fewest files that must be free to be opened: conversations, connections and tools' pipes.
const FILES_WARN: u64 = 1_024;
/// What others refuse: certificates and signed calls are as old as they say.
const SKEW_FAIL: Duration = Duration::from_secs(300);
/// What begins to be odd: schedules and ages are wrong by as much.
const SKEW_WARN: Duration = Duration::from_secs(30);
/// No Hob is older than that, and none is so old.
const YEARS: std::ops::RangeInclusive<i16> = 2026..=2200;

/// What is known of the config file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFacts<'a> {
    /// The file; none: there is none.
    pub path: Option<&'a Path>,
    /// What is wrong with it.
    pub problems: &'a [String],
    /// Whether people can write to it: on a platform, or on its page.
    pub has_channel: bool,
}

/// The config file.
pub fn config(facts: &ConfigFacts<'_>) -> Vec<Finding> {
    let bad = |problem: &String| Finding::fail(Check::Config, problem.clone(), "mend that line");
    if !facts.problems.is_empty() {
        return facts.problems.iter().map(bad).collect();
    }
    let Some(path) = facts.path else {
        return vec![Finding::warn(
            Check::Config,
            "there is no config file: Hob goes by what it finds, and talks at the terminal alone",
            "`hob init` makes one",
        )];
    };
    let whole = Finding::ok(Check::Config, format!("{} is whole", path.display()));
    let silent = Finding::warn(
        Check::Config,
        "no platform is connected and no page is served, so `hob run` does not start",
        "add [telegram], [slack], [discord], [matrix] or [email]",
    );
    if facts.has_channel { vec![whole] } else { vec![whole, silent] }
}

/// Who may read or write a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileModeFacts<'a> {
    pub path: &'a Path,
    /// Its permissions, as in `chmod`.
    pub mode: u32,
    pub owner: u32,
    /// As whom this is asked.
    pub me: u32,
}

/// The config file's permissions; `secrets`: whether keys stand in it.
pub fn permissions(file: &FileModeFacts<'_>, secrets: bool) -> Vec<Finding> {
    let path = file.path.display();
    let mode = file.mode & 0o777;
    if mode & 0o022 != 0 {
        let what = format!("{path} can be changed by others than its owner (mode {mode:o})");
        return vec![Finding::fail(Check::Permissions, what, format!("chmod go-w {path}"))];
    }
    if secrets && mode & 0o044 != 0 {
        let what = format!("{path} holds keys, and others than its owner can read it (mode {mode:o})");
        return vec![Finding::fail(
            Check::Permissions,
            what,
            format!("chmod 600 {path}, or take the keys from `${{VARIABLE}}`"),
        )];
    }
    if ![0, file.me].contains(&file.owner) {
        let what = format!("{path} belongs to user {}, and this is user {}", file.owner, file.me);
        return vec![Finding::warn(Check::Permissions, what, "give it to the user that Hob runs as, or to root")];
    }
    vec![Finding::ok(Check::Permissions, format!("{path} is safe (mode {mode:o})"))]
}

/// The data directory, which is there.
pub fn data(folder: &FileModeFacts<'_>, refusal: Option<String>) -> Vec<Finding> {
    let path = folder.path.display();
    if let Some(refusal) = refusal {
        return vec![Finding::fail(Check::Data, refusal, "run `hob doctor` as the user that Hob runs as to be sure")];
    }
    if folder.owner != folder.me {
        let what = format!("{path} belongs to user {}, and this is user {}", folder.owner, folder.me);
        return vec![Finding::warn(Check::Data, what, format!("run as that user, or `chown -R {} {path}`", folder.me))];
    }
    if folder.mode & 0o077 != 0 {
        let what = format!("others can look into {path} (mode {:o})", folder.mode & 0o777);
        return vec![Finding::warn(Check::Data, what, format!("chmod 700 {path}"))];
    }
    vec![Finding::ok(Check::Data, format!("{path} is there, writable, and its owner's alone"))]
}

/// The data directory that is not there.
pub fn no_data(folder: &Path, standing_in_the_way: Option<String>) -> Vec<Finding> {
    match standing_in_the_way {
        Some(refusal) => vec![Finding::fail(Check::Data, refusal, "see to that path")],
        None => {
            vec![Finding::note(Check::Data, format!("{} is not there; the first start makes it", folder.display()))]
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskRoom {
    /// Bytes that can still be written.
    pub bytes: u64,
    /// Files that can still be made; none: the file system does not count them.
    pub files: Option<u64>,
}

/// Room on the data directory's disk.
pub fn disk(room: DiskRoom) -> Vec<Finding> {
    let free = size(room.bytes);
    if room.bytes < ROOM_FAIL {
        return vec![Finding::fail(
            Check::Disk,
            format!("{free} are left where the data is"),
            "free some: messages may not be stored any more",
        )];
    }
    if room.files.is_some_and(|files| files < 1_000) {
        return vec![Finding::fail(
            Check::Disk,
            "hardly any more files can be made where the data is",
            "delete files there",
        )];
    }
    if room.bytes < ROOM_WARN {
        return vec![Finding::warn(
            Check::Disk,
            format!("{free} are left where the data is"),
            "free some: a backup or an upgrade may not fit",
        )];
    }
    vec![Finding::ok(Check::Disk, format!("{free} are left where the data is"))]
}

/// How many files this user's processes may have open; none: without limit.
pub fn files(limit: Option<u64>) -> Vec<Finding> {
    match limit {
        Some(limit) if limit < FILES_WARN => vec![Finding::warn(
            Check::Files,
            format!("a process may have {limit} files open"),
            format!("raise it to {FILES_WARN} at least: `ulimit -n`, or `LimitNOFILE=` in the unit"),
        )],
        Some(limit) => vec![Finding::ok(Check::Files, format!("a process may have {limit} files open"))],
        None => vec![Finding::ok(Check::Files, "a process may have any number of files open")],
    }
}

/// The clock: this machine's year, and by how much it is ahead of another's clock, in seconds.
pub fn clock(year: i16, ahead: Option<(&str, i64)>) -> Vec<Finding> {
    let fix = "set the clock, or have it set: `timedatectl set-ntp true`";
    if !YEARS.contains(&year) {
        return vec![Finding::fail(Check::Clock, format!("this machine's clock says that it is the year {year}"), fix)];
    }
    let Some((whose, ahead)) = ahead else {
        return vec![Finding::note(Check::Clock, "the year is right; no server told the time to compare with")];
    };
    let skew = Duration::from_secs(ahead.unsigned_abs());
    let what = format!(
        "this machine's clock is {} {} that of {whose}",
        span(skew),
        if ahead < 0 { "behind" } else { "ahead of" }
    );
    vec![match skew {
        skew if skew >= SKEW_FAIL => Finding::fail(Check::Clock, what, fix),
        skew if skew >= SKEW_WARN => Finding::warn(Check::Clock, what, fix),
        _ => Finding::ok(Check::Clock, format!("it agrees with {whose}")),
    }]
}

/// Where the household's time zone comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeZoneSource {
    /// The config names it.
    Named(String),
    Machine(String),
    /// Nothing says.
    Unknown,
}

pub fn zone(zone: &TimeZoneSource) -> Vec<Finding> {
    vec![match zone {
        TimeZoneSource::Named(name) => Finding::ok(Check::Zone, format!("{name}, as config.toml says")),
        TimeZoneSource::Machine(name) if ["UTC", "Etc/UTC", "Etc/Unknown"].contains(&name.as_str()) => Finding::note(
            Check::Zone,
            format!(
                "{name}, as this machine says; if the household lives elsewhere, name its zone: `time_zone` in [agent]"
            ),
        ),
        TimeZoneSource::Machine(name) => Finding::ok(Check::Zone, format!("{name}, as this machine says")),
        TimeZoneSource::Unknown => Finding::warn(
            Check::Zone,
            "nothing says where the household lives, so schedules go by UTC",
            "name the zone: `time_zone = \"Europe/Berlin\"` in [agent]",
        ),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(findings: &[Finding]) -> String {
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn n12_the_config() {
        let path = Path::new("/c/config.toml");
        let unknown = ["config.toml:2: x: is not a known key".to_owned()];
        let facts = |path, problems, has_channel| shown(&config(&ConfigFacts { path, problems, has_channel }));
        insta::assert_snapshot!(facts(Some(path), &unknown, true), @"fail config: config.toml:2: x: is not a known key; mend that line");
        insta::assert_snapshot!(facts(None, &[], false), @"warn config: there is no config file: Hob goes by what it finds, and talks at the terminal alone; `hob init` makes one");
        insta::assert_snapshot!(facts(Some(path), &[], false), @r"
        ok   config: /c/config.toml is whole
        warn config: no platform is connected and no page is served, so `hob run` does not start; add [telegram], [slack], [discord], [matrix] or [email]
        ");
        assert_eq!(config(&ConfigFacts { path: Some(path), problems: &[], has_channel: true }).len(), 1);
    }

    #[test]
    fn n12_who_may_read_and_write() {
        let file = |mode, owner, secrets| {
            shown(&permissions(&FileModeFacts { path: Path::new("/c"), mode, owner, me: 7 }, secrets))
        };
        insta::assert_snapshot!([file(0o100_600, 7, true), file(0o644, 0, false), file(0o644, 7, true), file(0o660, 7, false), file(0o600, 9, true)].join("\n"), @r"
        ok   permissions: /c is safe (mode 600)
        ok   permissions: /c is safe (mode 644)
        fail permissions: /c holds keys, and others than its owner can read it (mode 644); chmod 600 /c, or take the keys from `${VARIABLE}`
        fail permissions: /c can be changed by others than its owner (mode 660); chmod go-w /c
        warn permissions: /c belongs to user 9, and this is user 7; give it to the user that Hob runs as, or to root
        ");
        let folder = |mode, owner, refusal: Option<&str>| {
            let refusal = refusal.map(str::to_owned);
            shown(&data(&FileModeFacts { path: Path::new("/d"), mode, owner, me: 7 }, refusal))
        };
        insta::assert_snapshot!([folder(0o700, 7, None), folder(0o755, 7, None), folder(0o700, 0, None), folder(0o500, 7, Some("/d: is read-only"))].join("\n"), @r"
        ok   data: /d is there, writable, and its owner's alone
        warn data: others can look into /d (mode 755); chmod 700 /d
        warn data: /d belongs to user 0, and this is user 7; run as that user, or `chown -R 7 /d`
        fail data: /d: is read-only; run `hob doctor` as the user that Hob runs as to be sure
        ");
        insta::assert_snapshot!(shown(&no_data(Path::new("/d"), None)), @"note data: /d is not there; the first start makes it");
        assert_eq!(
            no_data(Path::new("/d"), Some("/d is a file".to_owned()))[0].verdict,
            crate::doctor::rules::finding::Verdict::Fail
        );
    }

    #[test]
    fn n12_room_and_limits() {
        let at = |bytes, files| shown(&disk(DiskRoom { bytes, files }));
        insta::assert_snapshot!([at(5 << 30, Some(9_000)), at(300 << 20, None), at(9 << 20, None), at(5 << 30, Some(3))].join("\n"), @r"
        ok   disk: 5.4 GB are left where the data is
        warn disk: 314.6 MB are left where the data is; free some: a backup or an upgrade may not fit
        fail disk: 9.4 MB are left where the data is; free some: messages may not be stored any more
        fail disk: hardly any more files can be made where the data is; delete files there
        ");
        insta::assert_snapshot!([Some(256), Some(65_536), None].map(|limit| shown(&files(limit))).join("\n"), @r"
        warn files: a process may have 256 files open; raise it to 1024 at least: `ulimit -n`, or `LimitNOFILE=` in the unit
        ok   files: a process may have 65536 files open
        ok   files: a process may have any number of files open
        ");
    }

    #[test]
    fn n12_the_time() {
        let at = |year, ahead| shown(&clock(year, ahead));
        let all = [
            at(1970, None),
            at(2026, None),
            at(2026, Some(("api.example.org", 29))),
            at(2026, Some(("api.example.org", -45))),
            at(2026, Some(("api.example.org", 7_300))),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        fail clock: this machine's clock says that it is the year 1970; set the clock, or have it set: `timedatectl set-ntp true`
        note clock: the year is right; no server told the time to compare with
        ok   clock: it agrees with api.example.org
        warn clock: this machine's clock is 45 s behind that of api.example.org; set the clock, or have it set: `timedatectl set-ntp true`
        fail clock: this machine's clock is 2 h ahead of that of api.example.org; set the clock, or have it set: `timedatectl set-ntp true`
        ");
        let all = [
            TimeZoneSource::Named("Asia/Tokyo".to_owned()),
            TimeZoneSource::Machine("Europe/Berlin".to_owned()),
            TimeZoneSource::Machine("UTC".to_owned()),
            TimeZoneSource::Unknown,
        ];
        insta::assert_snapshot!(all.map(|all| shown(&zone(&all))).join("\n"), @r#"
        ok   zone: Asia/Tokyo, as config.toml says
        ok   zone: Europe/Berlin, as this machine says
        note zone: UTC, as this machine says; if the household lives elsewhere, name its zone: `time_zone` in [agent]
        warn zone: nothing says where the household lives, so schedules go by UTC; name the zone: `time_zone = "Europe/Berlin"` in [agent]
        "#);
    }
}
