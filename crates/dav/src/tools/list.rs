//! `calendar_list` and `calendar_read`: what there is, and one entry whole.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::ToSpan as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::account::{AccountVisibility, Accounts, entries_of};
use crate::entry::{Entry, Participant};
use crate::series::Window;
use crate::tools::target::{NamedEntry, Target, all_failed, open, resolve};
use crate::tools::{DAYS_MAX, accounts, date, failures, looks, reader, tainting};
use crate::when::start_of;
use crate::words::one_line;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

/// How many days are told where nobody says.
const DAYS: i64 = 7;
/// The most entries that are told at once.
const ENTRIES_MAX: usize = 80;
/// The most characters of a note.
const NOTES_CHARS_MAX: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    /// The first day, as 2026-12-03; without it today.
    from: Option<String>,
    /// How many days, 7 without it.
    days: Option<i64>,
    /// Only entries with this in their title or place.
    words: Option<String>,
}

/// The tool that lists.
pub(super) struct CalendarList {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CalendarList {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let about = "Lists the entries of whoever asks in their calendars, each with its name in brackets for the other calendar tools.";
        Self { spec: looks(spec_of::<ListArguments>("calendar_list", about, true)), accounts }
    }

    async fn list(&self, invocation: &Invocation, arguments: ListArguments) -> Result<Outcome, Outcome> {
        let (now, home) = (invocation.now, &self.accounts.home);
        let seen = accounts(&self.accounts, invocation, AccountVisibility::Whole).await?;
        let first = date(arguments.from.as_deref())?.unwrap_or_else(|| now.to_zoned(home.clone()).date());
        let days = arguments.days.unwrap_or(DAYS).clamp(1, DAYS_MAX);
        let last = first.checked_add(days.days()).unwrap_or(first);
        let window = Window { from: start_of(first, home), to: start_of(last, home) };
        let (mut all, failed) = entries_of(&seen, window, reader(home, now)).await;
        if failed.len() == seen.len() {
            return Err(all_failed(&failed));
        }
        if let Some(words) = arguments.words.map(|words| words.to_lowercase()) {
            let fits = |text: &str| text.to_lowercase().contains(words.trim());
            all.retain(|(_, entry)| fits(&entry.said.title) || entry.said.place.as_deref().is_some_and(fits));
        }
        let reader = reader(home, now);
        let mut lines: Vec<String> =
            all.iter().take(ENTRIES_MAX).map(|(_, entry)| format!("{} [{}]", reader.line(entry), entry.id)).collect();
        if lines.is_empty() {
            lines.push(format!("Nothing from {} on for {days} days.", reader.day(first)));
        }
        if all.len() > ENTRIES_MAX {
            lines.push(format!("And {} more: ask for fewer days.", all.len() - ENTRIES_MAX));
        }
        if !failed.is_empty() {
            lines.push(format!("Not looked at, so there may be more:\n{}", failures(&failed)));
        }
        Ok(tainting(Outcome::Text(lines.join("\n")), &seen))
    }
}

#[async_trait]
impl Tool for CalendarList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn settled(&self) -> Vec<String> {
        self.accounts.names()
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.list(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    /// Its name from a list, or words of its title.
    entry: String,
    /// The day on which it is, if the words fit several.
    on: Option<String>,
}

/// The tool that reads one whole.
pub(super) struct CalendarRead {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CalendarRead {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let about = "Reads an entry of a calendar whole: its notes, and who takes part.";
        Self { spec: looks(spec_of::<ReadArguments>("calendar_read", about, true)), accounts }
    }
}

#[async_trait]
impl Tool for CalendarRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let ReadArguments { entry, on } = parse(&self.spec, invocation.arguments.clone())?;
        let called = NamedEntry { entry, on: date(on.as_deref())?, whole: false, tells: Vec::new() };
        let id = resolve(&self.accounts, &invocation, &called).await?;
        let Target { account, entry, .. } = open(&self.accounts, &invocation, &id, None).await?;
        let reader = reader(&self.accounts.home, invocation.now);
        let text = format!("{} [{}]{}", reader.line(&entry), entry.id, more(&entry));
        Ok(tainting(Outcome::Text(text), &[account]))
    }
}

/// What a line does not say of an entry.
fn more(entry: &Entry) -> String {
    let person = |one: &Participant| {
        let name = one.name.as_deref().map(|name| format!("{} ", one_line(name))).unwrap_or_default();
        let role = if one.organizer { "calls it together" } else { one.answer };
        format!("\n- {name}<{}>: {role}", one_line(&one.address))
    };
    let people: String = entry.said.others.iter().chain(&entry.said.own).map(person).collect();
    let people = if people.is_empty() { people } else { format!("\nWho takes part:{people}") };
    let notes = entry.said.notes.as_deref().map(|notes| {
        let (notes, _) = hob_http::page::characters::strip_invisible(notes);
        format!("\nNotes: {}", notes.chars().take(NOTES_CHARS_MAX).collect::<String>())
    });
    format!("{people}{}", notes.unwrap_or_default())
}
