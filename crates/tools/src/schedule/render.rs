//! How a schedule is told, to models and to people: always from its stored row.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::memory_tools::line;
use hob_core::policy::schedule::Rule;
use hob_core::policy::schedule::check::LookTarget;
use hob_store::occurrences::OccurrenceRow;
use hob_store::schedules::ScheduleRow;

/// The most characters of a task in a list.
const TASK_CHARS_MAX: usize = 120;
/// So many instants to come are told.
const NEXT_SHOWN: usize = 3;

/// The rule of a row, and its zone; none: the row is damaged.
pub fn timing(row: &ScheduleRow) -> Option<(Rule, TimeZone)> {
    let rule = serde_json::from_str(&row.rule).ok()?;
    Some((rule, TimeZone::get(&row.zone).ok()?))
}

/// What is looked at before it is run; none: nothing is, or the row is damaged.
pub fn look_target(row: &ScheduleRow) -> Option<LookTarget> {
    row.looks_at.as_deref().and_then(|target| serde_json::from_str(target).ok())
}

/// The rule in words, with its zone.
pub fn when(row: &ScheduleRow) -> String {
    match timing(row) {
        Some((rule, zone)) => format!("{} ({})", rule.in_words(&zone), row.zone),
        None => "damaged".to_owned(),
    }
}

/// A moment on the wall clock of a zone.
pub fn instant(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M %:z").to_string()
}

/// A schedule in full, with the next instants.
pub fn card(row: &ScheduleRow, history: &[OccurrenceRow], now: Timestamp) -> String {
    let mut lines = vec![head(row)];
    let Some((rule, zone)) = timing(row) else {
        return lines.concat();
    };
    if let Some(target) = look_target(row) {
        lines.push(format!("   looks first {}", line(&target.to_string(), TASK_CHARS_MAX)));
    }
    if row.state == "active" {
        let first = row.next_at.and_then(|next| Timestamp::from_millisecond(next).ok());
        let others = rule.next_few(&zone, first.unwrap_or(now).max(now), NEXT_SHOWN);
        let next = first.into_iter().chain(others.into_iter().filter(|at| Some(*at) != first)).take(NEXT_SHOWN);
        let next: Vec<String> = next.map(|at| instant(at, &zone)).collect();
        lines.push(format!("   next: {}", next.join(", ")));
    }
    let past: Vec<String> = history.iter().filter_map(|past| outcome_text(past, &zone)).collect();
    if !past.is_empty() {
        lines.push(format!("   last: {}", past.join(", ")));
    }
    lines.join("\n")
}

fn head(row: &ScheduleRow) -> String {
    let state = match (row.state.as_str(), row.why.as_deref()) {
        ("paused", Some("failures")) if row.looks_failed > 0 => {
            format!(" [paused: its look failed {} times in a row]", row.looks_failed)
        }
        ("paused", Some("failures")) => format!(" [paused: it failed {} times in a row]", row.failures),
        ("paused", Some("access")) => " [paused: whoever made it may not have it done any more]".to_owned(),
        ("paused", Some("damaged")) => " [paused: its record is damaged]".to_owned(),
        ("paused", _) => " [paused]".to_owned(),
        ("done", _) => " [done]".to_owned(),
        _ => String::new(),
    };
    let name = row.name.as_ref().map_or(String::new(), |name| format!(" {name:?} (from the config)"));
    format!("{}.{name}{state} {}: {}", row.id, when(row), line(&row.task, TASK_CHARS_MAX))
}

fn outcome_text(past: &OccurrenceRow, zone: &TimeZone) -> Option<String> {
    let at = Timestamp::from_millisecond(past.due_at).ok()?;
    let at = instant(at, zone);
    Some(match (past.look.as_deref(), past.state.as_str()) {
        (Some(look), "skipped") => format!("{at} looked: {look}"),
        (_, "queued") => format!("{at} at work"),
        (_, state) => format!("{at} {state}"),
    })
}
