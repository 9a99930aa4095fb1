//! `schedule`: what is to be done later, once or again and again (row N13).
//!
//! Never: a run started from here. What is due, the router begins.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;

use crate::memory_tools::remembered;
use crate::registry::{parse, spec_of};
use crate::schedule::change::{Change, ChangeOutcome, Viewer};
use crate::schedule::creation::{ScheduleRequest, ScheduleRequester};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::ids::ScheduleId;
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk, ToolFacts};
use hob_store::Store;
use hob_store::error::StoreError;
use hob_store::unit::UnitOfWork;

pub mod change;
pub mod creation;
pub mod look;
pub mod render;
#[cfg(test)]
mod tests;
pub mod watch;

/// So late it may be run, in seconds, unless the config says otherwise.
pub(crate) const GRACE_SECS: i64 = 3_600;
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create,
    List,
    Pause,
    Resume,
    Delete,
    RunNow,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    action: Action,
    /// create: `weekdays at 8:30`, `in 2h`, `every other Friday at 17:00`, cron.
    when: Option<String>,
    /// create: what to do then, complete in itself.
    task: Option<String>,
    /// create: IANA zone, if not the household's.
    zone: Option<String>,
    /// Its number in the list.
    id: Option<i64>,
}

/// Where schedules are kept.
#[derive(Clone)]
pub struct ScheduleKeeper {
    pub store: Store,
    /// Whose wall clock they go by without a word about it.
    pub zone: TimeZone,
    /// Rung when one has changed.
    pub alarm: Arc<Notify>,
}

impl ScheduleKeeper {
    async fn write(&self, unit: impl UnitOfWork<ChangeOutcome> + 'static) -> Result<ChangeOutcome, Outcome> {
        let changed = self.store.write(unit).await.map_err(failed)?;
        self.alarm.notify_one();
        Ok(changed)
    }

    /// Makes one, for whoever called.
    ///
    /// # Errors
    /// When it is none, or cannot be stored.
    pub async fn create(&self, invocation: &Invocation, wish: ScheduleRequest) -> Result<Outcome, Outcome> {
        let maker = ScheduleRequester {
            user: invocation.principal.user,
            conversation: invocation.destination.conversation.clone(),
            taint: invocation.taint.clone(),
            call: invocation.run.recorded().map(|run| (run, invocation.call.clone())),
        };
        let now = invocation.now;
        let new = wish.shape(maker, &self.zone, now).map_err(|error| Outcome::Error(error.to_string()))?;
        let made = self.write(async move |tx| change::make(tx, &new, now).await).await?;
        made.describe("Stored as", now).map(Outcome::Text).map_err(Outcome::Error)
    }
}

/// The tool. Made again, the same call changes nothing more.
pub struct ScheduleTool {
    spec: ToolSpec,
    keeper: ScheduleKeeper,
}

impl ScheduleTool {
    /// The tool for these schedules.
    pub fn new(keeper: ScheduleKeeper) -> Self {
        let about = "Has something done later, once or repeatedly; reminders too.";
        let spec = spec_of::<Fields>("schedule", about, true).of("schedules", Role::User);
        let facts = ToolFacts { changes: true, risk: Risk::Write, ..spec.facts };
        Self { spec: spec.with(facts), keeper }
    }

    async fn act(&self, invocation: &Invocation, fields: Fields) -> Result<Outcome, Outcome> {
        let viewer = Viewer {
            principal: invocation.principal.clone(),
            conversation: invocation.destination.conversation.clone(),
        };
        let now = invocation.now;
        let (change, did) = match fields.action {
            Action::Create => {
                let Fields { when, task, zone, .. } = fields;
                let wish = ScheduleRequest { when, task, zone, ..ScheduleRequest::default() };
                return self.keeper.create(invocation, wish).await;
            }
            Action::List => {
                let (text, taint) =
                    self.keeper.store.read(async |tx| change::list(tx, &viewer, now).await).await.map_err(failed)?;
                return Ok(remembered(text, [taint]));
            }
            Action::Pause => (Change::Pause, "Paused"),
            Action::Resume => (Change::Resume, "It goes on"),
            Action::Delete => (Change::Remove, "Deleted"),
            Action::RunNow if invocation.attempt > 1 => {
                let told = "It may have been begun already: list the schedules, and ask again if it was not.";
                return Err(Outcome::Error(told.to_owned()));
            }
            Action::RunNow => (Change::RunNow, "It is run now, beside its rule"),
        };
        let Some(id) = fields.id else {
            return Err(Outcome::Error("This action needs `id`: list the schedules to see it.".to_owned()));
        };
        let id = ScheduleId(id);
        let changed =
            self.keeper.write(async move |tx| change::apply_change(tx, &viewer, id, change, now).await).await?;
        // Done twice, the second time finds nothing: that is what was wanted.
        if change == Change::Remove && changed == ChangeOutcome::Unknown && invocation.attempt > 1 {
            return Ok(Outcome::Text("Deleted.".to_owned()));
        }
        let text = changed.describe(did, now).map_err(Outcome::Error)?;
        let taint = match &changed {
            ChangeOutcome::Done(row, _) => Taint::from_stored(Some(&row.taint)),
            ChangeOutcome::Unknown
            | ChangeOutcome::NotTheirs
            | ChangeOutcome::InConfig(_)
            | ChangeOutcome::Over
            | ChangeOutcome::TooMany => Taint::default(),
        };
        Ok(remembered(text, [taint]))
    }
}

fn failed(error: StoreError) -> Outcome {
    Outcome::of_store(&error, format!("The schedules could not be reached: {error}."))
}

#[async_trait]
impl Tool for ScheduleTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let looks = invocation.arguments.get("action").and_then(serde_json::Value::as_str) == Some("list");
        Assessment::usual(if looks { Risk::Read } else { Risk::Write })
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let fields: Fields = parse(&self.spec, invocation.arguments.clone())?;
        self.act(&invocation, fields).await
    }
}
