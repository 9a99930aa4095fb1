//! The tools: what a model may have done with calendars and address books.
//!
//! Looking taints: whoever invites somebody writes into their calendar. An entry that others take part in is changed only by a
//! call that names them, so that whoever is asked about it sees who gets a letter, and which entry it is about.
//! Start at [`all`].

mod add;
mod begun;
mod cancel;
mod change;
mod contacts;
mod free;
mod list;
mod question;
mod relocate;
mod target;
mod undo;

pub(crate) use contacts::{birthdays, contacts};

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::account::{Account, AccountVisibility, Accounts, Failed};
use crate::edit::NewStart;
use crate::words::Reader;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade, GrantScope, Risk, ToolFacts};
use hob_tools::{Invocation, Outcome, Tool, ToolSpec};

/// The most days that are looked at.
const DAYS_MAX: i64 = 400;

pub fn all(accounts: &Arc<Accounts>) -> Vec<Arc<dyn Tool>> {
    let own = || Arc::clone(accounts);
    vec![
        Arc::new(list::CalendarList::new(own())),
        Arc::new(list::CalendarRead::new(own())),
        Arc::new(free::CalendarFree::new(own())),
        Arc::new(add::CalendarAdd::new(own())),
        Arc::new(change::CalendarChange::new(own())),
        Arc::new(cancel::CalendarCancel::new(own())),
        Arc::new(change::CalendarAnswer::new(own())),
        Arc::new(contacts::ContactsFind::new(own())),
    ]
}

/// A tool that only looks.
fn looks(spec: ToolSpec) -> ToolSpec {
    spec.of("calendar", Role::User).shown_on_need()
}

/// A tool that changes something, and may have letters sent. Which entry a call means depends on how the calendar stands.
fn changes(spec: ToolSpec) -> ToolSpec {
    looks(spec).with(ToolFacts { changes: true, risk: Risk::Send, by_state: true, ..ToolFacts::default() })
}

/// What a change is: a message to all whom it names, or a change of one's own.
fn assessed(invocation: &Invocation, names: &str) -> Assessment {
    let told = invocation.arguments[names].as_array().map(Vec::as_slice).unwrap_or_default();
    let told: Vec<&str> = told.iter().filter_map(|address| address.as_str()).collect();
    if told.is_empty() {
        return Assessment::usual(Risk::Write);
    }
    let reasons = vec![format!("the calendar's server may send a letter to {}", told.join(", "))];
    Assessment { grade: DangerGrade::High, reasons, always: GrantScope::Never, ..Assessment::usual(Risk::Send) }
}

/// The accounts that whoever asks may see into.
async fn accounts(
    accounts: &Accounts,
    invocation: &Invocation,
    schema_at: AccountVisibility,
) -> Result<Vec<Arc<Account>>, Outcome> {
    let found = accounts.of(&invocation.principal, schema_at).await;
    let found = found.map_err(|error| Outcome::of_store(&error, format!("It is not known who asks: {error}.")))?;
    if found.is_empty() {
        return Err(Outcome::Error(
            "No calendar is set up for whoever asks: their owner adds a section [dav.NAME] to the config, or puts them into its `for`."
                .to_owned(),
        ));
    }
    Ok(found)
}

/// Where words of a calendar come from.
fn source(name: &str) -> OriginSource {
    OriginSource::new(Origin::Tool, &format!("the calendar or the contacts of {name}"))
}

/// Words with others' words in them.
fn tainting(outcome: Outcome, accounts: &[Arc<Account>]) -> Outcome {
    let names: Vec<&str> = accounts.iter().map(|account| account.settings.name.as_str()).collect();
    outcome.from(source(&names.join(", ")))
}

/// What was made of accounts that do not answer.
pub(crate) fn failures(failed: &Failed) -> String {
    let lines = failed.iter().map(|(name, error)| format!("{name}: {error}."));
    lines.collect::<Vec<_>>().join("\n")
}

/// The beginning that a model names.
fn start(text: &str) -> Result<NewStart, Outcome> {
    let text = text.trim();
    let no = || Outcome::Error(format!("{text:?} is not a time: write 2026-12-03T14:00, or 2026-12-03 for a day."));
    if text.len() == 10 {
        return text.parse::<Date>().map(NewStart::Day).map_err(|_no_day| no());
    }
    text.replace(' ', "T").parse::<DateTime>().map(NewStart::At).map_err(|_no_time| no())
}

fn date(text: Option<&str>) -> Result<Option<Date>, Outcome> {
    let read = |text: &str| {
        text.trim()
            .parse::<Date>()
            .map_err(|_no_day| Outcome::Error(format!("{text:?} is not a day: write 2026-12-03.")))
    };
    text.map(read).transpose()
}

fn reader<'a>(home: &'a TimeZone, now: Timestamp) -> Reader<'a> {
    Reader { home, now }
}
