//! The skills.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use hob_store::skills;

/// A skill.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct SkillEntry {
    /// Its name.
    name: String,
    /// When to use it.
    description: String,
    /// How it stands.
    standing: &'static str,
    /// It may be used.
    usable: bool,
    /// Its words may instruct.
    trusted: bool,
}

/// A folder that holds no usable skill.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct BrokenSkill {
    /// Where.
    place: String,
    /// What is wrong, and what to do.
    why: String,
}

/// The skills.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Skills {
    /// Those that can be read.
    skills: Vec<SkillEntry>,
    /// Those that cannot.
    broken: Vec<BrokenSkill>,
}

/// The skills, usable or not.
#[utoipa::path(get, path = "/api/operations/skills", tag = "operations", responses((status = 200, body = Skills), (status = 401, body = Problem)))]
pub(crate) async fn skills(State(app): State<Arc<AppState>>, _visitor: Visitor) -> Result<Json<Skills>, ApiError> {
    let records = app.router.store.read(skills::list).await?;
    let list = app.router.config().services.skills.list_by(&records);
    let entry = |line: hob_core::domain::skills::SkillLine| SkillEntry {
        standing: line.standing.as_str(),
        usable: line.standing.is_usable(),
        trusted: line.trusted,
        name: line.name,
        description: line.description,
    };
    let broken = list.quarantined.into_iter().map(|broken| BrokenSkill { place: broken.place, why: broken.why });
    Ok(Json(Skills { skills: list.skills.into_iter().map(entry).collect(), broken: broken.collect() }))
}
