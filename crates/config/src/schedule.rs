//! `[[schedule]]`: what Hob does by itself, and when.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::{key_path, shape, values, zone};
use hob_core::policy::schedule::check::LookTarget;

/// What becomes of several times that were missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// only the newest is made up for
    #[default]
    Newest,
    /// each of them is, but no more than ten
    All,
}

/// Something that Hob does by itself. It is done in the name of the first owner.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<ScheduleConfig>)]
pub struct ScheduleConfig {
    /// Its name: a letter, then up to 63 letters, digits, `_` or `-`.
    #[schemars(length(min = 1, max = 64), example = &"morning")]
    pub name: String,
    /// When: in words (docs/schedules.md), or the five fields of cron.
    #[schemars(length(min = 1, max = 300), example = &"weekdays at 8:30")]
    pub when: String,
    /// What is to be done. `/today` alone tells what is on by the calendars, and asks no model.
    #[schemars(length(min = 1, max = 4000), example = &"Tell what is on today.")]
    pub task: String,
    /// A command that looks first whether there is something to do, so that no model need be asked: the program and its
    /// arguments, in the sandbox. Its last line is `NO_WORK`, or `{"wakeAgent": true}` after what there is to
    /// know; docs/schedules.md.
    #[serde(default)]
    #[schemars(length(max = 100), example = ["./new-mail.sh", "inbox"])]
    pub check: Vec<String>,
    /// Whether `check` may use the network.
    #[serde(default)]
    pub network: bool,
    /// Instead: a page, whose text has to have changed.
    #[schemars(length(min = 1, max = 8000), example = &"https://example.org/news")]
    pub watch: Option<String>,
    /// Where Hob answers: one of the `[destinations]`, on any platform. Without it: in the first owner's own chat.
    #[schemars(length(min = 1, max = 64), example = &"family")]
    pub to: Option<String>,
    /// Instead: a chat on Telegram, by its id.
    #[schemars(range(min = -4_503_599_627_370_495_i64, max = 4_503_599_627_370_495_i64), example = 123_456_789)]
    pub telegram_chat: Option<i64>,
    /// Whose wall clock is meant, by its IANA name. Without it: the household's.
    #[schemars(length(min = 1, max = 64), example = &"Europe/Berlin")]
    pub zone: Option<String>,
    /// Seconds that it may be late, if Hob was not running; what is later is missed.
    #[serde(default = "grace_secs")]
    #[schemars(range(min = 0, max = 31_536_000))]
    pub grace_secs: u64,
    /// What becomes of several times that were missed, as far as they are not too late.
    #[serde(default)]
    pub catch_up: CatchUp,
}

fn grace_secs() -> u64 {
    3_600
}

/// What cannot be, in all of them.
pub(super) fn validate(schedules: &[ScheduleConfig]) -> Vec<Finding> {
    let (mut found, mut names) = (Vec::new(), BTreeSet::new());
    for (index, schedule) in schedules.iter().enumerate() {
        let at = |key: &str| key_path::child(&key_path::item("schedule", index), key);
        if !values::is_name(&schedule.name) {
            let why = "cannot name a schedule, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new(at("name"), why, "rename it"));
        } else if !names.insert(schedule.name.as_str()) {
            found.push(Finding::new(at("name"), "is the name of another schedule, expected its own", "rename it"));
        }
        if schedule.watch.is_some() && !schedule.check.is_empty() {
            found.push(Finding::new(
                at("watch"),
                "stands beside `check`, expected one of them",
                "take one of them out",
            ));
        }
        if schedule.watch.as_deref().is_some_and(|url| !values::is_page(url)) {
            found.push(Finding::new(
                at("watch"),
                "is not an address of a page",
                "for example `https://example.org/news`",
            ));
        }
        if LookTarget::of_task(&schedule.task).is_some() && (schedule.watch.is_some() || !schedule.check.is_empty()) {
            let why = "asks no model, expected no `check` and no `watch` beside it";
            found.push(Finding::new(at("task"), why, "take them out, or write what is to be done in words"));
        }
        if schedule.check.first().is_some_and(String::is_empty) {
            found.push(Finding::new(at("check"), "names no program", "write the program first, then its arguments"));
        }
        if schedule.network && schedule.check.is_empty() {
            found.push(Finding::new(at("network"), "is said of no `check`", "take it out"));
        }
        if schedule.zone.as_deref().is_some_and(|zone| zone::named(zone).is_err()) {
            found.push(Finding::new(at("zone"), "is not an IANA time zone", "for example `Europe/Berlin`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n13_a_schedule_has_a_name_of_its_own_and_a_zone_that_there_is() {
        let of = |name: &str, zone: Option<&str>| ScheduleConfig {
            name: name.to_owned(),
            when: "every day at 9".to_owned(),
            task: "x".to_owned(),
            to: None,
            telegram_chat: None,
            zone: zone.map(str::to_owned),
            grace_secs: grace_secs(),
            catch_up: CatchUp::Newest,
            check: Vec::new(),
            network: false,
            watch: None,
        };
        let keys = |all: &[ScheduleConfig]| validate(all).into_iter().map(|found| found.key).collect::<Vec<_>>();
        assert!(keys(&[of("a", None), of("b", Some("Asia/Tokyo"))]).is_empty());
        assert_eq!(keys(&[of("a", None), of("a", None)]), ["schedule[2].name"]);
        assert_eq!(keys(&[of("a b", Some("Mars/Base"))]), ["schedule[1].name", "schedule[1].zone"]);
    }

    #[test]
    fn f1_a_schedule_looks_in_one_way_that_there_is() {
        let keys = |settings: &str| {
            let text = format!("name = 'a'\nwhen = 'every 10 minutes'\ntask = 'x'\n{settings}");
            let found = validate(&[toml::from_str::<ScheduleConfig>(&text).unwrap()]);
            found.into_iter().map(|found| found.key).collect::<Vec<_>>()
        };
        for good in ["", "check = ['a', '']", "check = ['a']\nnetwork = true", "watch = 'https://a.example/x?y=1'"] {
            assert!(keys(good).is_empty(), "{good}");
        }
        for (bad, key) in [
            ("check = ['']", "check"),
            ("network = true", "network"),
            ("watch = 'a.example'", "watch"),
            ("watch = 'file:///etc/passwd'", "watch"),
            ("watch = 'https://u:p@a.example'", "watch"),
            ("watch = 'https://a.example'\ncheck = ['a']", "watch"),
        ] {
            assert_eq!(keys(bad), [format!("schedule[1].{key}")], "{bad}");
        }
        let told = |more: &str| {
            let text = format!("name = 'a'\nwhen = 'every day at 7'\ntask = '/today'\n{more}");
            validate(&[toml::from_str::<ScheduleConfig>(&text).unwrap()]).len()
        };
        assert_eq!([told(""), told("check = ['a']"), told("watch = 'https://a.example'")], [0, 1, 1]);
    }
}
