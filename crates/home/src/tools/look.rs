//! `home_look`: how the home stands, in few words.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::entity::{EntityState, RenderedState};
use crate::exposure::is_switchable;
use crate::home::Home;
use crate::registry::Areas;
use crate::tools::{MODULE, checked, failed, known_ids, named, source, told};
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

/// The most entities that are told at once.
const LINES_MAX: usize = 60;
/// The most that are told of with all that is known.
const DETAILED_MAX: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// These, by their ids.
    entities: Option<Vec<String>>,
    /// `light`, `lock`, `sensor`, …
    domain: Option<String>,
    /// What is in this area.
    area: Option<String>,
    /// What has this in its name or id.
    words: Option<String>,
    /// With names, areas and attributes.
    details: Option<bool>,
}

/// The tool.
pub(super) struct HomeLook {
    spec: ToolSpec,
    home: Arc<Home>,
}

impl HomeLook {
    pub(super) fn new(home: Arc<Home>) -> Self {
        let known = known_ids(home.settings.exposure.named().filter(|id| !is_switchable(id)));
        let known = if known.is_empty() { known } else { format!(" Known by their ids: {known}.") };
        let about = format!("Tells how things at home stand: lights, doors, sensors.{known}");
        let spec = spec_of::<Arguments>("home_look", &about, true).of(MODULE, home.settings.role).shown_on_need();
        Self { spec, home }
    }

    async fn look(&self, invocation: &Invocation, arguments: Arguments) -> Result<Outcome, Outcome> {
        checked(&self.home, invocation)?;
        let details = arguments.details.unwrap_or(false);
        if let Some(ids) = &arguments.entities {
            return self.these(ids, details, invocation.now).await;
        }
        let all = self.home.states(invocation.now).await.map_err(|error| error.outcome())?;
        let areas = match &arguments.area {
            None if !details => None,
            None => self.home.areas(invocation.now).await.ok(),
            Some(_) => Some(self.home.areas(invocation.now).await.map_err(|error| error.outcome())?),
        };
        let found: Vec<&EntityState> = all.iter().filter(|entity| arguments.means(entity, areas.as_deref())).collect();
        if arguments.is_open() && found.len() > LINES_MAX {
            return Ok(Outcome::Text(summary(&found)));
        }
        // What a name answers to is a word of it.
        let by_name = found.iter().any(|entity| !arguments.means_by_id(entity));
        let listed = self.listed(&found, areas.as_deref(), details);
        Ok(if by_name { listed.from(source()) } else { listed })
    }

    /// Those that are named. What one of them lacks keeps nobody from the others.
    async fn these(&self, ids: &[String], details: bool, now: Timestamp) -> Result<Outcome, Outcome> {
        let ids = named(&self.home, ids)?;
        let areas = if details { self.home.areas(now).await.ok() } else { None };
        let (mut states, mut missing) = (Vec::new(), Vec::new());
        for (id, found) in ids.iter().zip(join_all(ids.iter().map(|id| self.home.state(id, now))).await) {
            match found {
                Ok(state) => states.push(state),
                Err(error) => missing.push((id, error)),
            }
        }
        if states.is_empty()
            && let Some((id, error)) = missing.first()
        {
            return Err(failed(id, error));
        }
        let listed = self.listed(&states.iter().collect::<Vec<_>>(), areas.as_deref(), details);
        Ok(missing.iter().fold(listed, |listed, (id, error)| listed.with(&format!("{id}: {error}."))))
    }

    fn listed(&self, found: &[&EntityState], areas: Option<&Areas>, details: bool) -> Outcome {
        let mut lines = Vec::new();
        let mut is_foreign = false;
        let most = if details { DETAILED_MAX } else { LINES_MAX };
        for entity in found.iter().take(most) {
            let RenderedState { text, is_foreign: of_line } =
                entity.line(self.home.settings.exposure.names(&entity.id));
            is_foreign |= of_line || details;
            lines.push(text);
            if details {
                lines
                    .extend(areas.and_then(|areas| areas.of(entity.id.as_str())).map(|area| format!("  area: {area}")));
                lines.extend(entity.details());
            }
        }
        if lines.is_empty() {
            lines.push("Nothing of that kind is exposed to Hob.".to_owned());
        }
        if found.len() > most {
            lines.push(format!("And {} more: ask for a domain, an area or words.", found.len() - most));
        }
        told(lines.join("\n"), is_foreign)
    }
}

impl Arguments {
    /// Is everything meant?
    fn is_open(&self) -> bool {
        self.domain.is_none() && self.area.is_none() && self.words.is_none()
    }

    fn means(&self, entity: &EntityState, areas: Option<&Areas>) -> bool {
        let has = |text: &str, words: &str| text.to_lowercase().contains(&words.trim().to_lowercase());
        let in_area = |wanted: &String| {
            let area = areas.and_then(|areas| areas.of(entity.id.as_str()));
            area.is_some_and(|area| has(area, wanted))
        };
        let is_called =
            |words: &String| self.means_by_id(entity) || entity.name().is_some_and(|name| has(&name, words));
        self.domain.as_ref().is_none_or(|domain| entity.id.domain() == domain.trim())
            && self.area.as_ref().is_none_or(in_area)
            && self.words.as_ref().is_none_or(is_called)
    }

    /// Does the id alone answer to the words, if there are any?
    fn means_by_id(&self, entity: &EntityState) -> bool {
        let has = |words: &String| entity.id.as_str().contains(&words.trim().to_lowercase().replace(' ', "_"));
        self.words.as_ref().is_none_or(has)
    }
}

/// How many there are of each kind: no word of anybody's.
fn summary(found: &[&EntityState]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entity in found {
        *counts.entry(entity.id.domain()).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(domain, count)| format!("{count} {domain}")).collect();
    format!("{} entities: {}. Ask for a domain, an area or words.", found.len(), counts.join(", "))
}

#[async_trait]
impl Tool for HomeLook {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.look(&invocation, parse(&self.spec, invocation.arguments.clone())?).await
    }
}
