//! `calendar_cancel`: an entry, or one time of a series, is called off.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::account::Accounts;
use crate::edit::{self, SeriesPart};
use crate::tools::question::assessed_change;
use crate::tools::target::{EntryChange, NamedEntry, letters, write};
use crate::tools::{changes, date, reader, undo};
use hob_core::domain::tools::Assessment;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its name from a list; or words of its title, which need no list.
    entry: String,
    /// The day on which it is, if the words fit several.
    on: Option<String>,
    /// All of a series, not this time alone.
    whole_series: Option<bool>,
    /// Addresses of the others who take part, and get a letter; who they are is said if it is needed.
    tells: Option<Vec<String>>,
}

impl Arguments {
    fn called(self) -> Result<NamedEntry, Outcome> {
        let (whole, tells) = (self.whole_series.unwrap_or(false), self.tells.unwrap_or_default());
        Ok(NamedEntry { entry: self.entry, on: date(self.on.as_deref())?, whole, tells })
    }
}

/// The tool.
pub(super) struct CalendarCancel {
    spec: ToolSpec,
    accounts: Arc<Accounts>,
}

impl CalendarCancel {
    pub(super) fn new(accounts: Arc<Accounts>) -> Self {
        let about = "Calls off an entry of a calendar of whoever asks, or one time of a series.";
        Self { spec: changes(spec_of::<Arguments>("calendar_cancel", about, true)), accounts }
    }

    async fn cancel(&self, invocation: &Invocation, arguments: Arguments) -> Result<Outcome, Outcome> {
        let called = arguments.called()?;
        let done = write(&self.accounts, invocation, &called, None, |target, signature| {
            let SeriesPart::Once(original) = target.what.clone() else { return Ok(EntryChange::Removed) };
            edit::call_off(&mut target.calendar, &original, signature)
                .map_err(|error| Outcome::Error(format!("Nothing was changed: {error}.")))?;
            Ok(EntryChange::Written)
        });
        let done = done.await?;
        let was = reader(&self.accounts.home, invocation.now).span(&done.entry.start, &done.entry.end);
        let letters = letters(&done, &called).await;
        let what = if done.what == SeriesPart::Whole && done.entry.repeats { "The whole series was" } else { "It was" };
        let back = called.tells.is_empty().then(|| undo::of_cancelled(&done, &self.accounts.home));
        Ok(undo::offered(Outcome::Text(format!("Called off. {what} {was}.{letters}")), back.flatten()))
    }
}

#[async_trait]
impl Tool for CalendarCancel {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let arguments = parse::<Arguments>(&self.spec, invocation.arguments.clone());
        assessed_change(&self.accounts, invocation, arguments.and_then(Arguments::called)).await
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.cancel(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}
