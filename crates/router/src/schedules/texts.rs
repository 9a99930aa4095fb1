//! What is said about schedules.

use jiff::SignedDuration;

use hob_store::schedules::ScheduleRow;
use hob_tools::schedule::render;

/// So much later than due is told as late.
const LATE: SignedDuration = SignedDuration::from_secs(60);
/// The most characters of a task in a notice.
const TASK_CHARS_MAX: usize = 120;

/// An instant that has come.
pub(super) struct DueInstant {
    /// In words.
    pub(super) at: String,
    /// How long ago.
    pub(super) late: SignedDuration,
}

/// What the model is told of a task that is due.
pub(super) fn prompt(row: &ScheduleRow, due: &DueInstant, missed: usize) -> String {
    let late = if due.late >= LATE { format!(", begun {} late", length(due.late)) } else { String::new() };
    let before = match missed {
        0 => String::new(),
        missed => format!("; {missed} or more before it were missed, and this one stands for them"),
    };
    let head = format!("[Schedule {}, {}. Due {}{late}{before}.]", row.id, render::when(row), due.at);
    format!("{head}\n{}", row.task)
}

/// It was due while nobody was there, and is too late by now.
pub(super) fn missed(row: &ScheduleRow, last: &str, count: usize) -> String {
    let times = if count > 1 { format!(", and {} times before", count - 1) } else { String::new() };
    format!(
        "I missed schedule {} ({}): it was due {last}{times}, and I was not running. It is not made up for.\n{}",
        row.id,
        render::when(row),
        task(row)
    )
}

/// It is paused, and nobody has asked for that.
pub(super) fn paused(row: &ScheduleRow) -> String {
    let why = match row.why.as_deref() {
        Some("failures") => format!("it has failed {} times in a row", row.failures),
        Some("access") => "whoever made it is not let in any more".to_owned(),
        _ => "its record cannot be read any more".to_owned(),
    };
    format!("Schedule {} is paused: {why}. `/schedules resume {}` lets it go on.\n{}", row.id, row.id, task(row))
}

fn task(row: &ScheduleRow) -> String {
    let shown: String = row.task.chars().take(TASK_CHARS_MAX).collect();
    if shown.len() < row.task.len() { format!("{shown}…") } else { shown }
}

fn length(late: SignedDuration) -> String {
    match late.as_mins() {
        mins @ ..120 => format!("{mins} minutes"),
        mins => format!("{} hours", mins / 60),
    }
}
