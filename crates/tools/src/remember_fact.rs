//! `remember_fact`: keeps what the person wants kept.

use async_trait::async_trait;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::memory_tools::{Audience, end_of_day, scope};
use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Risk, ToolFacts};
use hob_core::policy::restricted::may_keep;
use hob_memory::facts::keep::RememberOutcome;
use hob_memory::facts::{ToldFact, stated_expiry};
use hob_memory::people::change::{ChangeContext, TellFact, TellOutcome};
use hob_store::Store;

/// The longest category, key or value, in characters.
const CHARS_MAX: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What it is about, broadly: `person`, `preference`, `home`, `work`, `general` …
    category: String,
    /// What it is about, in a few words: `door code`, or with `about`, `birthday`. The same key again replaces the value.
    key: String,
    /// What is to be remembered.
    value: String,
    /// Which person it is about, if not the user: their name, or who they are (`my sister`).
    about: Option<String>,
    /// For whom it is kept: `me`, in a group those in it; `everyone` in the house, only if the user asks for that.
    #[serde(default, rename = "for")]
    audience: Audience,
    /// The last day on which it holds, if it ends: 2027-05-03.
    until: Option<String>,
    /// Set it only if the user asked for just that to be remembered, and it is about health, money, politics or religion.
    #[serde(default)]
    sensitive: bool,
}

/// The tool. Remembering the same thing twice leaves one fact: it is idempotent.
pub struct RememberFact {
    spec: ToolSpec,
    store: Store,
    zone: TimeZone,
}

impl RememberFact {
    /// Remembers in `store`; days are those of `zone`.
    pub fn new(store: Store, zone: TimeZone) -> Self {
        let about =
            "Remembers a fact about the user, somebody they know, or the household, for all later conversations.";
        let spec = spec_of::<Arguments>("remember_fact", about, true).of("memory", Role::User);
        let facts = ToolFacts { changes: true, risk: Risk::Write, ..spec.facts };
        Self { spec: ToolSpec { facts, ..spec }, store, zone }
    }

    /// What is to be kept, or why it is not.
    fn fact_from_arguments(&self, invocation: &Invocation, arguments: Arguments) -> Result<TellFact, Outcome> {
        let clean = |text: &str| text.trim().to_owned();
        let (category, key, value) =
            (clean(&arguments.category).to_lowercase(), clean(&arguments.key), clean(&arguments.value));
        if [&category, &key, &value].iter().any(|text| text.is_empty() || text.chars().count() > CHARS_MAX) {
            return Err(Outcome::Error(format!("category, key and value need 1 to {CHARS_MAX} characters each.")));
        }
        let scope = scope(invocation, arguments.audience)?;
        may_keep(&format!("{category} {key}"), scope, arguments.sensitive)
            .map_err(|restriction| Outcome::Error(restriction.to_string()))?;
        let valid_until = match arguments.until.as_deref().map(str::trim).filter(|until| !until.is_empty()) {
            Some(until) => Some(end_of_day(until, invocation.now, &self.zone)?),
            None => stated_expiry(&value, invocation.now, &self.zone),
        };
        let (user, run, at) = (invocation.principal.user, invocation.run.recorded(), invocation.now);
        let taint = invocation.taint.clone();
        Ok(TellFact {
            whose: ChangeContext { scope, caller: invocation.principal.clone(), place: invocation.place },
            about: arguments.about.map(|about| clean(&about)).filter(|about| !about.is_empty()),
            adds: true,
            fact: ToldFact { scope, user, category, key, value, person: None, valid_until, run, taint, at },
            today: at.to_zoned(self.zone.clone()).date(),
        })
    }
}

/// What came of it, for the model.
pub(super) fn outcome_text(told: &TellOutcome, key: &str, value: &str, audience: Audience) -> String {
    let of = told.person.as_ref().map_or(String::new(), |person| format!("{}: ", person.name));
    let everyone = if audience == Audience::Everyone { ", for everyone" } else { "" };
    let what = format!("{of}{key}: {value}");
    let kept = match &told.fact {
        RememberOutcome::Known { settled: None, .. } => format!("Known already: {what}{everyone}."),
        RememberOutcome::Rival { current, .. } => {
            format!("Remembered beside what is known ({current}): {what}{everyone}.")
        }
        RememberOutcome::Past { .. } => format!("Remembered as what was once so: {what}{everyone}."),
        RememberOutcome::New { .. } | RememberOutcome::Superseded { .. } | RememberOutcome::Known { .. } => {
            match told.fact.superseded_value() {
                Some(before) => format!("Remembered{everyone}: {what} (before: {before})."),
                None => format!("Remembered{everyone}: {what}."),
            }
        }
    };
    match (&told.person, &told.added) {
        (Some(person), Some(near)) if near.is_empty() => format!("{kept} {} is new.", person.name),
        (Some(person), Some(near)) => format!(
            "{kept} {} is new. Names like it: {}; if that is the same person, merge them with manage_people.",
            person.name,
            near.join(", ")
        ),
        _ => kept,
    }
}

#[async_trait]
impl Tool for RememberFact {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let arguments: Arguments = parse(&self.spec, invocation.arguments.clone())?;
        let audience = arguments.audience;
        let tell = self.fact_from_arguments(&invocation, arguments)?;
        let (key, value) = (tell.fact.key.clone(), tell.fact.value.clone());
        match self.store.write(async move |tx| tell.run(tx).await).await {
            Ok(Ok(done)) => Ok(Outcome::Text(outcome_text(&done, &key, &value, audience))),
            Ok(Err(refused)) => Err(Outcome::Error(refused.to_string())),
            Err(error) => Err(Outcome::of_store(&error, format!("Could not be remembered: {error}."))),
        }
    }
}
