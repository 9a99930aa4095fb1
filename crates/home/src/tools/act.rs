//! `home_do`: something is switched or set, by a service that is called for entities which the call names.
//!
//! Never: a service, a field or an entity that is in no list, or a template, which would be code on Home Assistant's side.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::classes::{self, DOMAINS, EntityClass};
use crate::entity::{EntityState, RenderedState};
use crate::error::HomeError;
use crate::exposure::{EntityId, is_switchable};
use crate::home::Home;
use crate::tools::{MODULE, acting_role, checked, failed, known_ids, named, told, undo};
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};

/// The most characters of a text in a service's data.
const TEXT_CHARS_MAX: usize = 200;
/// The most numbers of a list in a service's data: a colour.
const NUMBERS_MAX: usize = 5;
/// The most members of a group that are looked at.
const MEMBERS_MAX: usize = 100;
/// What makes Home Assistant take a text for a template.
const TEMPLATE_SIGNS: [&str; 3] = ["{{", "{%", "{#"];
/// So long it may be looked what an entity is, before a call is judged.
const LOOK_MAX: Duration = Duration::from_millis(1_500);

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// `light.turn_on`, `cover.close_cover`, …
    pub(super) service: String,
    /// Their ids, all of the service's domain.
    pub(super) entities: Vec<String>,
    /// What else it takes, as {"brightness_pct": 40}.
    pub(super) data: Option<Map<String, Value>>,
    /// Only while each of them stands so.
    pub(super) only_if: Option<String>,
}

/// A call that is in the lists.
pub(super) struct ServiceCall {
    pub(super) domain: &'static str,
    pub(super) service: String,
    pub(super) ids: Vec<EntityId>,
    pub(super) data: Map<String, Value>,
}

/// The tool.
pub(super) struct HomeDo {
    spec: ToolSpec,
    home: Arc<Home>,
}

impl HomeDo {
    pub(super) fn new(home: Arc<Home>) -> Self {
        let exposure = &home.settings.exposure;
        let services = DOMAINS.iter().filter(|domain| exposure.has_domain(domain.name));
        let services: Vec<String> = services.map(classes::DomainClass::in_words).collect();
        let known = known_ids(exposure.named().filter(is_switchable));
        let known = if known.is_empty() { known } else { format!(" Known by their ids: {known}.") };
        let about =
            format!("Switches or sets things at home.{known} Services, with their data:\n{}", services.join("\n"));
        let facts = ToolFacts { changes: true, risk: Risk::Execute, by_state: true, ..ToolFacts::default() };
        let spec =
            spec_of::<Arguments>("home_do", &about, false).of(MODULE, acting_role(&home)).shown_on_need().with(facts);
        Self { spec, home }
    }

    async fn act(&self, invocation: &Invocation, arguments: Arguments) -> Result<Outcome, Outcome> {
        checked(&self.home, invocation)?;
        let only_if = arguments.only_if.clone();
        let order = self.order(arguments)?;
        let now = invocation.now;
        let mut before = Vec::new();
        for (id, found) in order.ids.iter().zip(self.states(&order.ids, now).await) {
            let found = found.map_err(|error| failed(id, &error))?;
            if let Some(wanted) = &only_if
                && !found.stands(wanted)
            {
                return Err(Outcome::Error(format!("{id} does not stand so any more. Nothing was done.")));
            }
            before.push(found);
        }
        let called = self.home.client.call(order.domain, &order.service, &order.ids, &order.data).await;
        self.home.noted(called, now).map_err(|error| not_done(&error))?;
        let mut text = format!("{}.{} was called.", order.domain, order.service);
        let (mut is_foreign, mut after) = (false, Vec::new());
        for (before, found) in before.iter().zip(self.states(&order.ids, now).await) {
            let Ok(found) = found else {
                text.extend(["\n", before.id.as_str(), ": how it stands now is not known"]);
                continue;
            };
            let (was, is) = (before.told_state(), found.told_state());
            is_foreign |= was.is_foreign || is.is_foreign;
            text.push_str(&change(&found.id, &was, &is));
            after.push(found);
        }
        let is_named = order.ids.iter().all(|id| self.home.settings.exposure.names(id));
        let back = undo::of(&order, &before, &after).filter(|_| is_named);
        Ok(back.into_iter().fold(told(text, is_foreign), Outcome::undone_by))
    }

    async fn states(&self, ids: &[EntityId], now: Timestamp) -> Vec<Result<EntityState, HomeError>> {
        join_all(ids.iter().map(|id| self.home.state(id, now))).await
    }

    /// The call, if all of it is in the lists.
    fn order(&self, arguments: Arguments) -> Result<ServiceCall, Outcome> {
        let no = |why: String| Outcome::Error(format!("{why} Nothing was done."));
        let unknown = || no("There is no such service here: home_do's description names all.".to_owned());
        let (domain, service) = arguments.service.trim().split_once('.').ok_or_else(unknown)?;
        let known = classes::domain(domain).ok_or_else(unknown)?;
        let fields = known.fields(service).ok_or_else(unknown)?;
        let ids = named(&self.home, &arguments.entities)?;
        if let Some(other) = ids.iter().find(|id| id.domain() != known.name) {
            return Err(no(format!("{other} is no {domain}: a service is for entities of its own domain.")));
        }
        let data = arguments.data.unwrap_or_default();
        for (field, value) in &data {
            if !fields.contains(&field.as_str()) {
                return Err(no(format!("{domain}.{service} takes only this data: [{}].", fields.join(", "))));
            }
            if !is_plain(value) {
                return Err(no(format!(
                    "{field} has to be a number, true or false, a short text without a template, or a list of numbers."
                )));
            }
        }
        Ok(ServiceCall { domain: known.name, service: service.to_owned(), ids, data })
    }

    /// How grave it is to have something done with these, and why.
    async fn graded(&self, ids: &[EntityId], invocation: &Invocation) -> Assessment {
        let looked = tokio::time::timeout(LOOK_MAX, self.states(ids, invocation.now)).await;
        let looked =
            looked.unwrap_or_else(|_late| ids.iter().map(|_| Err(HomeError::Lost("it says nothing"))).collect());
        let mut assessed = Assessment::usual(Risk::Execute);
        for (id, found) in ids.iter().zip(looked) {
            let state = found.as_ref().ok();
            let (grade, reason) = self.grade(id, state);
            assessed.grade = assessed.grade.max(grade);
            assessed.reasons.extend(reason);
        }
        assessed
    }

    /// How grave it is to have something done with this one, and all that it stands for.
    fn grade(&self, id: &EntityId, state: Option<&EntityState>) -> (DangerGrade, Option<String>) {
        let exposure = &self.home.settings.exposure;
        let class = state.and_then(EntityState::device_class);
        let Some(own) = exposure.grade(id, class) else { return (DangerGrade::Refused, None) };
        let mut worst = (own, reason(id, class, own));
        if state.is_none() && own < DangerGrade::High {
            worst = (DangerGrade::High, Some(format!("what {id} stands for could not be looked up")));
        }
        let members = state.map(EntityState::members).unwrap_or_default();
        if members.len() > MEMBERS_MAX && worst.0 < DangerGrade::High {
            worst = (DangerGrade::High, Some(format!("{id} acts on more than {MEMBERS_MAX} others")));
        }
        for member in members.into_iter().take(MEMBERS_MAX) {
            // What it is by its device is not known here: then it is what is gravest of its kind. What stands for others in
            // turn (`group.x` in a scene) is of no kind in the table.
            let grade = exposure.grade(&member, None).unwrap_or(DangerGrade::High);
            if grade > worst.0 {
                worst = (grade, Some(format!("{id} also acts on {member}")));
            }
            if !exposure.shows(&member) && worst.0 < DangerGrade::High {
                worst = (DangerGrade::High, Some(format!("{id} also acts on {member}, which is not under `entities`")));
            }
        }
        worst
    }
}

fn reason(id: &EntityId, class: Option<&str>, grade: DangerGrade) -> Option<String> {
    let kind = EntityClass { domain: id.domain(), device_class: class };
    match (grade, id.domain()) {
        (DangerGrade::Safe, _) => None,
        (DangerGrade::Critical, "cover") if kind.grade() == Some(grade) => {
            // Only what stands in the table is told: the rest is Home Assistant's word.
            let known = classes::domain("cover")
                .and_then(|cover| cover.by_class.iter().find(|(name, _)| Some(*name) == class).map(|(name, _)| *name));
            Some(known.map_or_else(
                || format!("what {id} moves is not known"),
                |class| format!("{id} is a cover of the class {class}"),
            ))
        }
        (DangerGrade::Critical, _) if kind.grade() != Some(grade) => Some(format!("{id} is listed as critical")),
        (DangerGrade::Critical | DangerGrade::High, domain) => {
            Some(format!("{id} is of a kind that is asked about each time ({})", domain.replace('_', " ")))
        }
        (DangerGrade::Medium | DangerGrade::Refused, _) => {
            Some(format!("what {id} does is known to Home Assistant alone"))
        }
    }
}

fn change(id: &EntityId, was: &RenderedState, is: &RenderedState) -> String {
    if was.text == is.text {
        format!("\n{id}: {} (as before: some take a while)", is.text)
    } else {
        format!("\n{id}: {} (it was {})", is.text, was.text)
    }
}

/// A call that failed: where it may have been done, that is said, and it is not made again by itself.
fn not_done(error: &HomeError) -> Outcome {
    match error {
        HomeError::Net(_) | HomeError::Busy(_) | HomeError::Lost(_) | HomeError::Unreadable(_) => Outcome::Error(
            format!("Whether it was done is not known: look before it is tried again. Home Assistant: {error}"),
        ),
        HomeError::Unauthorized
        | HomeError::Forbidden
        | HomeError::Gone
        | HomeError::Refused(_)
        | HomeError::Elsewhere(_) => Outcome::Error(format!("Nothing was done: {error}.")),
    }
}

/// Is it nothing but a value?
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => {
            text.chars().count() <= TEXT_CHARS_MAX && !TEMPLATE_SIGNS.iter().any(|sign| text.contains(sign))
        }
        Value::Array(items) => items.len() <= NUMBERS_MAX && items.iter().all(Value::is_number),
        Value::Null | Value::Object(_) => false,
    }
}

#[async_trait]
impl Tool for HomeDo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn settled(&self) -> Vec<String> {
        self.home.settings.exposure.named().map(|id| id.to_string()).collect()
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let usual = Assessment::usual(Risk::Execute);
        // What is not in the lists is refused by the call itself, in words.
        let Ok(arguments) = parse::<Arguments>(&self.spec, invocation.arguments.clone()) else { return usual };
        match self.order(arguments) {
            Ok(order) if checked(&self.home, invocation).is_ok() => self.graded(&order.ids, invocation).await,
            Ok(_) | Err(_) => usual,
        }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.act(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}
