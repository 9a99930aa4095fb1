//! `home_watch`: a schedule that waits until something at home has become so.
//!
//! What it makes is a schedule like any other; the tool `schedule` lists and changes it.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::entity::RenderedState;
use crate::home::Home;
use crate::tools::{MODULE, acting_role, checked, failed, named, source};
use crate::watch::look::first_seen;
use hob_core::domain::tools::{Risk, ToolFacts};
use hob_core::policy::schedule::check::{EntityCondition, EntityWatch, LookTarget};
use hob_tools::registry::{parse, spec_of};
use hob_tools::schedule::ScheduleKeeper;
use hob_tools::schedule::creation::ScheduleRequest;
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

/// So often it is looked at whatever the socket tells.
const LOOK_EVERY: &str = "every 30 minutes";
/// The longest that something may have to stay so, in minutes.
const MINUTES_MAX: u32 = 24 * 60;
/// The most characters of a state that is waited for.
const STATE_CHARS_MAX: usize = 100;
/// The greatest limit.
const LIMIT_MAX: f64 = 1e12;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its id.
    entity: String,
    /// The state that it is to become: `off`, `idle`, …
    becomes: Option<String>,
    /// Or the number that it is to rise above.
    above: Option<f64>,
    /// Or the number that it is to fall below. With none of the three: any change.
    below: Option<f64>,
    /// So many minutes it has to stay so: a washing machine rests between two steps.
    minutes: Option<u32>,
    /// Each time, not only the next time.
    again: Option<bool>,
    /// What to do then, complete in itself.
    task: String,
}

/// The tool.
pub(super) struct HomeWatch {
    spec: ToolSpec,
    home: Arc<Home>,
    keeper: ScheduleKeeper,
}

impl HomeWatch {
    pub(super) fn new(home: Arc<Home>, keeper: ScheduleKeeper) -> Self {
        let about = "Wakes you when something at home has become so: a machine is done, a door stands open.";
        let facts = ToolFacts { changes: true, risk: Risk::Write, ..ToolFacts::default() };
        let spec = spec_of::<Arguments>("home_watch", about, true).of(MODULE, acting_role(&home)).shown_on_need();
        Self { spec: spec.with(facts), home, keeper }
    }

    async fn watch(&self, invocation: &Invocation, arguments: Arguments) -> Result<Outcome, Outcome> {
        checked(&self.home, invocation)?;
        if invocation.destination.conversation.is_aloud() {
            return Err(Outcome::Error(
                "Nothing was stored: through a voice assistant nobody can be told later.".to_owned(),
            ));
        }
        let until = arguments.until()?;
        let minutes = arguments.minutes.unwrap_or(0).min(MINUTES_MAX);
        if minutes > 0 && until == EntityCondition::Another {
            return Err(Outcome::Error(
                "Nothing was stored: `minutes` needs `becomes`, `above` or `below`.".to_owned(),
            ));
        }
        let Arguments { entity, task, again, .. } = arguments;
        let ids = named(&self.home, &[entity])?;
        let Some(id) = ids.first() else { return Err(Outcome::Error("No entity was named.".to_owned())) };
        let state = self.home.state(id, invocation.now).await.map_err(|error| failed(id, &error))?;
        let watch = EntityWatch { entity: id.to_string(), until, minutes, again: again.unwrap_or(false) };
        let seen = first_seen(&watch, &state, invocation.now);
        let wish = ScheduleRequest {
            when: Some(LOOK_EVERY.to_owned()),
            task: Some(task),
            zone: None,
            looks_at: Some(LookTarget::Entity(watch)),
            seen,
        };
        let made = self.keeper.create(invocation, wish).await?;
        let RenderedState { text, is_foreign } = state.line(self.home.settings.exposure.names(id));
        let made = made.with(&format!("It stands so now, and what is so already is not waited for: {text}"));
        Ok(if is_foreign { made.from(source()) } else { made })
    }
}

impl Arguments {
    /// What is waited for.
    fn until(&self) -> Result<EntityCondition, Outcome> {
        let no = |why: &str| Err(Outcome::Error(format!("Nothing was stored: {why}.")));
        match (&self.becomes, self.above, self.below) {
            (None, None, None) => Ok(EntityCondition::Another),
            (Some(state), None, None) if (1..=STATE_CHARS_MAX).contains(&state.trim().chars().count()) => {
                Ok(EntityCondition::State(state.trim().to_owned()))
            }
            (Some(_), None, None) => no("`becomes` is a short state"),
            (None, Some(than), None) => {
                thousandths(than).map(EntityCondition::Above).map_or_else(|| no("`above` is out of range"), Ok)
            }
            (None, None, Some(than)) => {
                thousandths(than).map(EntityCondition::Below).map_or_else(|| no("`below` is out of range"), Ok)
            }
            _ => no("only one of `becomes`, `above` and `below` can be waited for"),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it is within the limit")]
fn thousandths(number: f64) -> Option<i64> {
    (number.abs() <= LIMIT_MAX).then(|| (number * 1_000.0).round() as i64)
}

#[async_trait]
impl Tool for HomeWatch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn settled(&self) -> Vec<String> {
        self.home.settings.exposure.named().map(|id| id.to_string()).collect()
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.watch(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}
