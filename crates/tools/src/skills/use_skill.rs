//! `use_skill`: reads a skill, or a file beside it. Without a name it tells which there are.
//!
//! Never: a wider reach. The tools that a skill names are a hint.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::skills::failed;
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::skills::{SkillBook, SkillContent, SkillLine, SkillList};
use hob_core::domain::tools::USE_SKILL;

const ABOUT: &str = "Reads a skill: instructions for a kind of task. Without `name` it lists them.";
/// The most characters about a skill in a list.
const LINE_CHARS_MAX: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: Option<String>,
    /// A file of it.
    file: Option<String>,
}

/// The tool.
pub struct UseSkill {
    spec: ToolSpec,
    book: Arc<dyn SkillBook>,
}

impl UseSkill {
    /// Reads these.
    pub fn new(book: Arc<dyn SkillBook>) -> Self {
        Self { spec: spec_of::<Arguments>(USE_SKILL, ABOUT, true).of("skills", Role::Guest), book }
    }

    async fn read(&self, name: &str, file: Option<&str>) -> Outcome {
        let opened = match self.book.open(name, file).await {
            Ok(opened) => opened,
            Err(error) => return failed(&error),
        };
        let trusted = opened.trusted;
        let text = if file.is_some() { opened.text } else { skill_text(name, opened) };
        let outcome = Outcome::Text(text);
        if trusted { outcome } else { outcome.from(OriginSource::new(Origin::Skill, name)) }
    }
}

/// A skill with what is beside it.
fn skill_text(name: &str, opened: SkillContent) -> String {
    let SkillContent { text, files, allowed_tools, .. } = opened;
    let mut parts = vec![format!("Skill {name}:"), text];
    if !files.is_empty() {
        parts.push(format!("Its files, read by use_skill with `file`: {}", files.join(", ")));
    }
    if !allowed_tools.is_empty() {
        parts
            .push(format!("It works with: {}. That gives you no tool that you do not have.", allowed_tools.join(", ")));
    }
    parts.join("\n\n")
}

fn listed(list: &SkillList) -> String {
    let usable: Vec<String> = list.skills.iter().filter(|skill| skill.standing.is_usable()).map(line).collect();
    if usable.is_empty() { "There is no skill.".to_owned() } else { usable.join("\n") }
}

/// The words of a skill that nobody vouches for are not told in passing.
fn line(skill: &SkillLine) -> String {
    if !skill.trusted {
        return format!("- {} (installed)", skill.name);
    }
    format!("- {}: {}", skill.name, skill.description.chars().take(LINE_CHARS_MAX).collect::<String>())
}

#[async_trait]
impl Tool for UseSkill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { name, file } = parse(&self.spec, invocation.arguments)?;
        let given = |text: &String| !text.trim().is_empty();
        match name.filter(given) {
            Some(name) => Ok(self.read(name.trim(), file.filter(given).as_deref().map(str::trim)).await),
            None => match self.book.list().await {
                Ok(list) => Ok(Outcome::Text(listed(&list))),
                Err(error) => Err(failed(&error)),
            },
        }
    }
}
