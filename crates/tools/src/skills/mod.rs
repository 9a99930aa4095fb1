//! The tools that read and keep skills. The skills themselves are behind a port.

pub mod manage_skills;
pub mod use_skill;

#[cfg(test)]
mod tests;

use crate::Outcome;
use hob_core::domain::skills::SkillError;

/// An error in words for the model.
fn failed(error: &SkillError) -> Outcome {
    Outcome::Error(format!("{error}."))
}
