//! The tools: what a model may see of the home, and have done in it.
//!
//! What was read from Home Assistant taints, but for the plain state of an entity that the operator named by its id. A call names
//! each entity; what it would do is graded by what each of them is, as it stands when the call starts.
//! Start at [`all`].

mod act;
mod look;
mod undo;
mod watch;

use std::sync::Arc;

use crate::error::HomeError;
use crate::exposure::EntityId;
use crate::home::Home;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_tools::schedule::ScheduleKeeper;
use hob_tools::{Invocation, Outcome, Tool};

const MODULE: &str = "home";
/// The most entities that a call names.
const NAMED_MAX: usize = 20;
/// The most characters of ids in a tool's description.
const KNOWN_CHARS_MAX: usize = 3_000;

pub fn all(home: &Arc<Home>, keeper: ScheduleKeeper) -> Vec<Arc<dyn Tool>> {
    let own = || Arc::clone(home);
    vec![
        Arc::new(look::HomeLook::new(own())),
        Arc::new(act::HomeDo::new(own())),
        Arc::new(watch::HomeWatch::new(own(), keeper)),
    ]
}

/// Whoever may do more than look: no guest.
fn acting_role(home: &Home) -> Role {
    home.settings.role.max(Role::User)
}

fn checked(home: &Home, invocation: &Invocation) -> Result<(), Outcome> {
    if home.may_look(&invocation.principal) {
        return Ok(());
    }
    Err(Outcome::Error("The home is not shown to whoever asks.".to_owned()))
}

/// Where words of Home Assistant's come from.
pub(crate) fn source() -> OriginSource {
    OriginSource::new(Origin::Tool, "Home Assistant")
}

/// What is told, with whose words it is.
fn told(text: String, is_foreign: bool) -> Outcome {
    let outcome = Outcome::Text(text);
    if is_foreign { outcome.from(source()) } else { outcome }
}

/// The entities that a call names: each an id, listed in the config.
fn named(home: &Home, texts: &[String]) -> Result<Vec<EntityId>, Outcome> {
    let mut ids = Vec::new();
    for text in texts {
        let id = EntityId::parse(text.trim());
        match id.filter(|id| home.settings.exposure.shows(id)) {
            Some(id) if ids.contains(&id) => {}
            Some(id) => ids.push(id),
            None => {
                let shown: String = text.chars().take(80).collect();
                return Err(Outcome::Error(format!(
                    "{shown:?} is no entity that Hob may see. Nothing was done. home_look tells which there are."
                )));
            }
        }
    }
    match ids.len() {
        1..=NAMED_MAX => Ok(ids),
        0 => Err(Outcome::Error("No entity was named.".to_owned())),
        _ => Err(Outcome::Error(format!("{NAMED_MAX} entities in one call are the most. Nothing was done."))),
    }
}

fn failed(id: &EntityId, error: &HomeError) -> Outcome {
    match error {
        HomeError::Gone => Outcome::Error(format!("Home Assistant has no {id}.")),
        error => error.outcome(),
    }
}

/// The ids that the operator has named, for a description.
fn known_ids(ids: impl Iterator<Item = EntityId>) -> String {
    let mut text = String::new();
    for id in ids {
        if text.len() + id.as_str().len() > KNOWN_CHARS_MAX {
            text.push_str(", …");
            break;
        }
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str(id.as_str());
    }
    text
}
