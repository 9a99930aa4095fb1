//! `calendar_free`: when several people are free. It tells times and nothing that anybody has written.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;
use jiff::ToSpan as _;
use jiff::civil::Time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::account::{Account, AccountVisibility, Accounts, entries_of};
use crate::free::{FreeTimeQuery, free};
use crate::series::Window;
use crate::tools::target::all_failed;
use crate::tools::{accounts, date, looks, reader};
use crate::when::start_of;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

/// How many days are looked at where nobody says, and at most.
const DAYS: i64 = 7;
const DAYS_MAX: i64 = 62;
/// The most stretches that are told.
const STRETCHES_MAX: usize = 40;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The first day, as 2026-12-03; without it today.
    from: Option<String>,
    /// How many days, 7 without it.
    days: Option<i64>,
    /// At least so long; 60 without it.
    minutes: Option<i64>,
    /// Between these times of day, as 09:00-18:00; 08:00-22:00 without it.
    between: Option<String>,
    /// Whose, by the names of their accounts; without it all that may be seen.
    who: Option<Vec<String>>,
}

/// The tool.
pub(super) struct CalendarFree {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CalendarFree {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let known = accounts.names().join(", ");
        let about = format!("Finds when people are all free, by their calendars. There are those of {known}.");
        Self { spec: looks(spec_of::<Arguments>("calendar_free", &about, true)), accounts }
    }

    async fn find(&self, invocation: &Invocation, arguments: Arguments) -> Result<Outcome, Outcome> {
        let (now, home) = (invocation.now, &self.accounts.home);
        let seen = accounts(&self.accounts, invocation, AccountVisibility::Busy).await?;
        let seen = chosen(seen, arguments.who.as_deref())?;
        let first = date(arguments.from.as_deref())?.unwrap_or_else(|| now.to_zoned(home.clone()).date());
        let days = arguments.days.unwrap_or(DAYS).clamp(1, DAYS_MAX);
        let (opens, closes) = hours(arguments.between.as_deref().unwrap_or("08:00-22:00"))?;
        let minutes = arguments.minutes.unwrap_or(60).clamp(5, 24 * 60);
        let wanted = FreeTimeQuery { first, days, opens, closes, least: SignedDuration::from_mins(minutes), now };
        let last = first.checked_add(days.days()).unwrap_or(first);
        let window = Window { from: start_of(first, home), to: start_of(last, home) };
        let (all, failed) = entries_of(&seen, window, reader(home, now)).await;
        if !failed.is_empty() {
            // Whoever is not seen may be busy.
            return Err(all_failed(&failed));
        }
        let busy = all.iter().map(|(_, entry)| entry).filter(|entry| entry.said.busy);
        let busy: Vec<_> = busy.map(|entry| (entry.start.instant(home), entry.end.instant(home))).collect();
        let found = free(&busy, &wanted, home);
        let names: Vec<&str> = seen.iter().map(|account| account.settings.name.as_str()).collect();
        let heading = format!("Free for {}, {minutes} minutes or longer:", names.join(" and "));
        if found.is_empty() {
            return Ok(Outcome::Text(format!("{heading} never in these {days} days.")));
        }
        let reader = reader(home, now);
        let lines = found.iter().take(STRETCHES_MAX).map(|(from, to)| reader.between(*from, *to));
        let lines: Vec<String> = std::iter::once(heading).chain(lines).collect();
        Ok(Outcome::Text(lines.join("\n")))
    }
}

#[async_trait]
impl Tool for CalendarFree {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn settled(&self) -> Vec<String> {
        self.accounts.names()
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.find(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}

/// Those that are named.
fn chosen(seen: Vec<Arc<Account>>, who: Option<&[String]>) -> Result<Vec<Arc<Account>>, Outcome> {
    let Some(who) = who.filter(|who| !who.is_empty()) else { return Ok(seen) };
    let named = |name: &String| {
        let found = seen.iter().find(|account| account.settings.name.eq_ignore_ascii_case(name.trim()));
        let known = || seen.iter().map(|account| account.settings.name.as_str()).collect::<Vec<_>>().join(", ");
        found.cloned().ok_or_else(|| {
            Outcome::Error(format!("Whether {name:?} is free is not known here. There are: {}.", known()))
        })
    };
    who.iter().map(named).collect()
}

fn hours(text: &str) -> Result<(Time, Time), Outcome> {
    let read = |text: &str| text.trim().parse::<Time>().ok();
    let both = text.split_once(['-', '–']).and_then(|(from, to)| Some((read(from)?, read(to)?)));
    both.filter(|(from, to)| from < to)
        .ok_or_else(|| Outcome::Error(format!("{text:?} is not a time range: write 09:00-18:00.")))
}
