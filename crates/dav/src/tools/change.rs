//! `calendar_change` and `calendar_answer`: an entry is moved, renamed, answered.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::account::{AccountVisibility, Accounts};
use crate::edit::{self, Change, EditError, Length, Reply, Signature};
use crate::tools::add::place;
use crate::tools::question::assessed_change;
use crate::tools::relocate::NewCalendar;
use crate::tools::target::{EntryChange, NamedEntry, Target, letters, write};
use crate::tools::{accounts, changes, date, reader, start, undo};
use crate::when::Zones;
use hob_core::domain::tools::Assessment;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, Serialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeArguments {
    /// Its name from a list; or words of its title, which need no list.
    pub(super) entry: String,
    /// The day on which it is now, if the words fit several.
    pub(super) on: Option<String>,
    /// The new beginning: local time, as 2026-12-03T14:00; or a day, as 2026-12-03, on which it is at the same time.
    pub(super) start: Option<String>,
    pub(super) minutes: Option<i64>,
    /// How many whole days.
    pub(super) days: Option<i64>,
    pub(super) title: Option<String>,
    pub(super) place: Option<String>,
    pub(super) notes: Option<String>,
    /// Where it goes: an account, or account/calendar.
    pub(super) calendar: Option<String>,
    /// All of a series, not this time alone.
    pub(super) whole_series: Option<bool>,
    /// Addresses of the others who take part, and get a letter; who they are is said if it is needed.
    pub(super) tells: Option<Vec<String>>,
}

impl ChangeArguments {
    /// What is to become of the entry.
    pub(super) fn wish(&self) -> Result<Change, Outcome> {
        let length = match (self.minutes, self.days) {
            (Some(minutes), _) => Some(Length::Minutes(minutes.clamp(0, 60 * 24 * 31))),
            (None, days) => days.map(|days| Length::Days(days.clamp(1, 400))),
        };
        let start = self.start.as_deref().map(start).transpose()?;
        let (title, place, notes) = (self.title.clone(), self.place.clone(), self.notes.clone());
        Ok(Change { start, length, title, place, notes })
    }
}

impl ChangeArguments {
    fn called(&self) -> Result<NamedEntry, Outcome> {
        let (whole, tells) = (self.whole_series.unwrap_or(false), self.tells.clone().unwrap_or_default());
        Ok(NamedEntry { entry: self.entry.clone(), on: date(self.on.as_deref())?, whole, tells })
    }
}

/// The tool that changes.
pub(super) struct CalendarChange {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CalendarChange {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let about = "Moves, renames or otherwise changes an entry of a calendar of whoever asks.";
        Self { spec: changes(spec_of::<ChangeArguments>("calendar_change", about, true)), accounts }
    }

    async fn change(&self, invocation: &Invocation, arguments: ChangeArguments) -> Result<Outcome, Outcome> {
        let called = arguments.called()?;
        let wish = arguments.wish()?;
        let to = match &arguments.calendar {
            Some(named) => {
                let seen = accounts(&self.accounts, invocation, AccountVisibility::Whole).await?;
                let (account, collection) = place(&seen, Some(named), invocation.now).await?;
                Some(NewCalendar { account, collection })
            }
            None => None,
        };
        if wish == Change::default() && to.is_none() {
            return Err(Outcome::Error("It was not said what is to be changed.".to_owned()));
        }
        let done = write(&self.accounts, invocation, &called, to.as_ref(), |target, signature| {
            let from = target.entry.start.clone();
            edit::change(&mut target.calendar, &target.what, &wish, &from, signature).map_err(refused)?;
            Ok(EntryChange::Written)
        });
        let done = done.await?;
        let was = reader(&self.accounts.home, invocation.now).span(&done.entry.start, &done.entry.end);
        let letters = letters(&done, &called).await;
        let is = now_is(&done, &self.accounts, invocation);
        let place = arguments.calendar.map(|named| format!(" It is in {named} now.")).unwrap_or_default();
        let told = Outcome::Text(format!("Changed. It was {was}; {is}.{place}{letters}"));
        let signature = Signature { call: "", now: invocation.now, home: &self.accounts.home };
        let back = called.tells.is_empty().then(|| undo::of_changed(&done, &wish, to.as_ref(), signature));
        Ok(undo::offered(told, back.flatten()))
    }
}

/// How an entry is after a change. Not its name: whoever invited the account's people has chosen that.
fn now_is(done: &Target, known_accounts: &Accounts, invocation: &Invocation) -> String {
    let zones = Zones::of(&done.calendar, &known_accounts.home);
    let event = edit::component(&done.calendar, &zones, &done.what);
    let Some((start, long)) = event.and_then(|event| crate::series::extent(event, &zones)) else {
        return "how it is now cannot be read".to_owned();
    };
    let end = start.after(long).unwrap_or_else(|| start.clone());
    let span = reader(&known_accounts.home, invocation.now).span(&start, &end);
    let is_series = done.what == edit::SeriesPart::Whole && done.entry.repeats;
    if is_series { format!("the series now begins {span}") } else { format!("it is now {span}") }
}

fn refused(error: EditError) -> Outcome {
    Outcome::Error(format!("Nothing was changed: {error}."))
}

#[async_trait]
impl Tool for CalendarChange {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_content(&self, argument: &str) -> bool {
        matches!(argument, "title" | "notes")
    }

    fn settled(&self) -> Vec<String> {
        self.accounts.names()
    }

    /// A series that was moved as a whole stays so.
    fn undoable(&self, arguments: &Value) -> bool {
        arguments["whole_series"] != Value::Bool(true)
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let arguments = parse::<ChangeArguments>(&self.spec, invocation.arguments.clone());
        let called = arguments.and_then(|arguments| arguments.called());
        assessed_change(&self.accounts, invocation, called).await
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.change(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Yes,
    No,
    Maybe,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerArguments {
    /// Its name from a list, or words of its title.
    entry: String,
    /// The day on which it is, if the words fit several.
    on: Option<String>,
    answer: Answer,
    /// All of a series, not this time alone.
    whole_series: Option<bool>,
    /// Addresses of the others who take part; who they are is said if it is needed.
    tells: Option<Vec<String>>,
}

impl AnswerArguments {
    fn called(&self) -> Result<NamedEntry, Outcome> {
        let (whole, tells) = (self.whole_series.unwrap_or(false), self.tells.clone().unwrap_or_default());
        Ok(NamedEntry { entry: self.entry.clone(), on: date(self.on.as_deref())?, whole, tells })
    }
}

/// The tool that answers an invitation.
pub(super) struct CalendarAnswer {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CalendarAnswer {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let about = "Answers an invitation that stands in a calendar of whoever asks.";
        Self { spec: changes(spec_of::<AnswerArguments>("calendar_answer", about, true)), accounts }
    }

    async fn answer(&self, invocation: &Invocation, arguments: AnswerArguments) -> Result<Outcome, Outcome> {
        let answer = match arguments.answer {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Maybe => "maybe",
        };
        let called = arguments.called()?;
        let done = write(&self.accounts, invocation, &called, None, |target, signature| {
            let own = target.own.clone();
            edit::answer(&mut target.calendar, &target.what, Reply { own: &own, answer }, signature)
                .map_err(refused)?;
            Ok(EntryChange::Written)
        });
        let done = done.await?;
        let letters = letters(&done, &called).await;
        Ok(Outcome::Text(format!("Answered with {answer}.{letters}")))
    }
}

#[async_trait]
impl Tool for CalendarAnswer {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let arguments = parse::<AnswerArguments>(&self.spec, invocation.arguments.clone());
        let called = arguments.and_then(|arguments| arguments.called());
        assessed_change(&self.accounts, invocation, called).await
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.answer(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}
