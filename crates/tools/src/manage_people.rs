//! `manage_people`: keeps the people whom the household knows.

use async_trait::async_trait;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::memory_tools::{Audience, end_of_day, remembered, scope, stored_taint};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec, remember_fact};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk, ToolFacts};
use hob_core::policy::memory::visible_scopes;
use hob_core::policy::restricted::may_keep;
use hob_memory::facts::{ToldFact, stated_expiry};
use hob_memory::people::birthday::Birthday;
use hob_memory::people::change::{
    ChangeContext, FieldChange, ForgetPersonFact, HobUser, PersonDetails, RemovePerson, SavePerson, TellFact,
};
use hob_memory::people::merge::MergePeople;
use hob_memory::people::{Identity, LookUpPeople, PeopleError, Person, PersonCard, PersonQuery, normalized_name};
use hob_store::Store;
use hob_store::error::StoreError;
use hob_store::unit::UnitOfWork;

pub mod render;
#[cfg(test)]
mod tests;

/// The longest category, key or value, in characters.
const CHARS_MAX: usize = 2_000;
/// How far ahead birthdays are looked for unless it is said.
const DAYS: u16 = 30;
/// How far ahead they can be.
const DAYS_MAX: u16 = 366;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Show,
    Add,
    Update,
    AddFact,
    ForgetFact,
    Remove,
    Merge,
    UpcomingBirthdays,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// What to do.
    action: Action,
    /// Whom: a name, another name or address of theirs, or who they are (`my sister`).
    name: Option<String>,
    /// update: how they are called from now on.
    new_name: Option<String>,
    /// Who they are to the user: `sister`, `plumber`. Empty: not known any more.
    relation: Option<String>,
    /// When they were born: 1990-05-03, or --05-03 without the year. Empty: not known any more.
    birthday: Option<String>,
    /// Other names and addresses to add: `name: Anni`, `email: anna@example.org`, `phone: +49 …`, `telegram: @anna`.
    #[serde(default)]
    identities: Vec<String>,
    /// update: other names and addresses to drop.
    #[serde(default)]
    drop_identities: Vec<String>,
    /// Which user of mine they are, by name; `me` is the user who speaks. Empty: none.
    user: Option<String>,
    /// add_fact: what it is about, broadly: `work`, `preference`, `home` …
    category: Option<String>,
    /// add_fact, forget_fact: what it is about: `job`, `favourite cake`.
    key: Option<String>,
    /// add_fact: what is known.
    value: Option<String>,
    /// add_fact: the last day on which it holds, if it ends: 2027-05-03.
    until: Option<String>,
    /// merge: who stays; `name` is the one who goes.
    into: Option<String>,
    /// upcoming_birthdays: how far to look ahead; 30 if not said.
    days: Option<u16>,
    /// For whom the person is kept: `me`, in a group those in it; `everyone` in the house, only if the user asks for that.
    #[serde(default, rename = "for")]
    audience: Audience,
    /// Set it only if the user asked for just that to be kept, and it is about health, money, politics or religion.
    #[serde(default)]
    sensitive: bool,
}

/// The tool. Whatever it does, doing it twice changes nothing more: it is idempotent.
pub struct ManagePeople {
    spec: ToolSpec,
    store: Store,
    zone: TimeZone,
}

/// A call that can be carried out.
struct PeopleCall {
    fields: Fields,
    whose: ChangeContext,
    today: Date,
}

impl ManagePeople {
    /// Keeps people in `store`; days are those of `zone`.
    pub fn new(store: Store, zone: TimeZone) -> Self {
        let about =
            "Keeps the people whom the user knows: who they are, birthdays, names and addresses, facts about them.";
        let spec = spec_of::<Fields>("manage_people", about, true).of("memory", Role::User).shown_on_need();
        let facts = ToolFacts { changes: true, risk: Risk::Write, ..spec.facts };
        Self { spec: ToolSpec { facts, ..spec }, store, zone }
    }

    async fn act(&self, invocation: &Invocation, fields: Fields) -> Result<Outcome, Outcome> {
        let whose = ChangeContext {
            scope: scope(invocation, fields.audience)?,
            caller: invocation.principal.clone(),
            place: invocation.place,
        };
        let call = PeopleCall { fields, whose, today: invocation.now.to_zoned(self.zone.clone()).date() };
        let told = match call.fields.action {
            Action::List => Ok(render::list(&self.everybody(invocation, &call).await?, call.today)),
            Action::UpcomingBirthdays => {
                let days = call.fields.days.unwrap_or(DAYS).min(DAYS_MAX);
                Ok(render::birthdays(&self.everybody(invocation, &call).await?, call.today, i32::from(days)))
            }
            Action::Show => {
                let who = PersonQuery::Called(call.name()?);
                let cards = self.look_up(invocation, &call, who).await?;
                let taints = cards.iter().flat_map(|card| &card.facts).map(|fact| stored_taint(fact.taint.as_ref()));
                let lines = cards.iter().map(|card| render::card(card, call.today, &self.zone));
                return Ok(remembered(lines.collect::<Vec<_>>().join("\n"), taints.collect::<Vec<_>>()));
            }
            Action::Add => self.save(invocation, &call, true).await,
            Action::Update => self.save(invocation, &call, false).await,
            Action::AddFact => self.add_fact(invocation, &call).await,
            Action::ForgetFact => self.forget_fact(&call).await,
            Action::Remove => self.remove(&call).await,
            Action::Merge => {
                let (from, into) = (call.name()?, required(call.fields.into.as_ref(), "into")?);
                let merge = MergePeople { whose: call.whose.clone(), from, into, at: invocation.now };
                let person = self.change(async move |tx| merge.run(tx).await).await?;
                Ok(format!("They are one person:\n{}", render::person_line(&person, call.today)))
            }
        };
        told.map(Outcome::Text)
    }

    async fn everybody(&self, invocation: &Invocation, call: &PeopleCall) -> Result<Vec<Person>, Outcome> {
        let cards = self.look_up(invocation, call, PersonQuery::Everybody).await?;
        Ok(cards.into_iter().map(|card| card.person).collect())
    }

    async fn look_up(
        &self,
        invocation: &Invocation,
        call: &PeopleCall,
        who: PersonQuery,
    ) -> Result<Vec<PersonCard>, Outcome> {
        let scopes = match call.fields.audience {
            Audience::Me => visible_scopes(&invocation.principal, invocation.place),
            Audience::Everyone => vec![call.whose.scope],
        };
        let found = self.store.read(async |tx| LookUpPeople { scopes, who, now: invocation.now }.run(tx).await).await;
        found.map_err(failed)?.map_err(refused)
    }

    async fn change<T: Send + 'static>(
        &self,
        unit: impl UnitOfWork<Result<T, PeopleError>> + 'static,
    ) -> Result<T, Outcome> {
        self.store.write(unit).await.map_err(failed)?.map_err(refused)
    }

    async fn save(&self, invocation: &Invocation, call: &PeopleCall, adds: bool) -> Result<String, Outcome> {
        let details = call.details(invocation).map_err(refused)?;
        let save = SavePerson { whose: call.whose.clone(), name: call.name()?, details, adds, at: invocation.now };
        let saved = self.change(async move |tx| save.run(tx).await).await?;
        let known = if saved.added { "Added" } else { "Known as" };
        Ok(format!("{known}:\n{}", render::person_line(&saved.person, call.today)))
    }

    async fn add_fact(&self, invocation: &Invocation, call: &PeopleCall) -> Result<String, Outcome> {
        let fields = &call.fields;
        let category = required(fields.category.as_ref(), "category")?.to_lowercase();
        let (key, value) = (required(fields.key.as_ref(), "key")?, required(fields.value.as_ref(), "value")?);
        if [&category, &key, &value].iter().any(|text| text.chars().count() > CHARS_MAX) {
            return Err(Outcome::Error(format!("category, key and value may have {CHARS_MAX} characters each.")));
        }
        may_keep(&format!("{category} {key}"), call.whose.scope, fields.sensitive)
            .map_err(|restriction| Outcome::Error(restriction.to_string()))?;
        let valid_until = match fields.until.as_deref().map(str::trim).filter(|until| !until.is_empty()) {
            Some(until) => Some(end_of_day(until, invocation.now, &self.zone)?),
            None => stated_expiry(&value, invocation.now, &self.zone),
        };
        let (scope, user, run, at) =
            (call.whose.scope, invocation.principal.user, invocation.run.recorded(), invocation.now);
        let taint = invocation.taint.clone();
        let (shown_key, shown_value) = (key.clone(), value.clone());
        let tell = TellFact {
            whose: call.whose.clone(),
            about: Some(call.name()?),
            adds: false,
            fact: ToldFact { scope, user, category, key, value, person: None, valid_until, run, taint, at },
            today: call.today,
        };
        let told = self.change(async move |tx| tell.run(tx).await).await?;
        Ok(remember_fact::outcome_text(&told, &shown_key, &shown_value, fields.audience))
    }

    async fn forget_fact(&self, call: &PeopleCall) -> Result<String, Outcome> {
        let (name, key) = (call.name()?, required(call.fields.key.as_ref(), "key")?);
        let forget = ForgetPersonFact { whose: call.whose.clone(), name, key: key.clone() };
        Ok(match self.change(async move |tx| forget.run(tx).await).await? {
            Some(person) => format!("Forgotten: {}, {key}.", person.name),
            None => "Nothing is known under that key: nothing was forgotten.".to_owned(),
        })
    }

    async fn remove(&self, call: &PeopleCall) -> Result<String, Outcome> {
        let name = call.name()?;
        let remove = RemovePerson { whose: call.whose.clone(), name };
        match self.store.write(async move |tx| remove.run(tx).await).await.map_err(failed)? {
            Ok(person) => Ok(format!("Removed, with all that was known: {}.", person.name)),
            // It may have been done before a crash.
            Err(PeopleError::Unknown { name, near }) if near.is_empty() => {
                Ok(format!("Nobody called {name:?} is known: nothing was removed."))
            }
            Err(error) => Err(refused(error)),
        }
    }
}

impl PeopleCall {
    fn name(&self) -> Result<String, Outcome> {
        required(self.fields.name.as_ref(), "name")
    }

    fn details(&self, invocation: &Invocation) -> Result<PersonDetails, PeopleError> {
        let Fields { new_name, relation, birthday, identities, drop_identities, user, .. } = &self.fields;
        let parse = |all: &[String]| all.iter().map(|text| Identity::parse(text)).collect::<Result<Vec<_>, _>>();
        let hob_user = |text: &str| match text.trim() {
            "me" => HobUser::Known(invocation.principal.user),
            name => HobUser::Called(name.to_owned()),
        };
        Ok(PersonDetails {
            name: new_name.as_deref().map(|name| normalized_name(name, "new_name")).transpose()?,
            relation: field(relation.as_ref(), |text| normalized_name(text, "relation"))?,
            birthday: field(birthday.as_ref(), |text| Ok(Birthday::parse(text, self.today)?))?,
            user: field(user.as_ref(), |text| Ok(hob_user(text)))?,
            identities: parse(identities)?,
            dropped: parse(drop_identities)?,
        })
    }
}

/// What becomes of a field: left out it stays, empty it goes.
fn field<T>(
    text: Option<&String>,
    read: impl FnOnce(&str) -> Result<T, PeopleError>,
) -> Result<FieldChange<T>, PeopleError> {
    match text {
        None => Ok(FieldChange::Keep),
        Some(text) if text.trim().is_empty() => Ok(FieldChange::Clear),
        Some(text) => read(text).map(FieldChange::Set),
    }
}

fn required(text: Option<&String>, what: &str) -> Result<String, Outcome> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    text.ok_or_else(|| Outcome::Error(format!("This action needs `{what}`.")))
}

fn refused(error: PeopleError) -> Outcome {
    Outcome::Error(error.to_string())
}

fn failed(error: StoreError) -> Outcome {
    Outcome::of_store(&error, format!("The people could not be reached: {error}."))
}

#[async_trait]
impl Tool for ManagePeople {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Whoever only looks changes nothing.
    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let action = invocation.arguments.get("action").and_then(Value::as_str);
        let looks = matches!(action, Some("list" | "show" | "upcoming_birthdays"));
        Assessment::usual(if looks { Risk::Read } else { Risk::Write })
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let fields: Fields = parse(&self.spec, invocation.arguments.clone())?;
        self.act(&invocation, fields).await
    }
}
