//! `manage_skills`: shows all skills, enables and removes installed ones, and writes down what was offered as a draft.
//!
//! Never: a skill installed, or trusted. That is done at the command line.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::skills::failed;
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::skills::{SkillBook, SkillError, SkillLine, SkillList};
use hob_core::domain::tools::{Assessment, DangerGrade, Risk, ToolFacts};

const ABOUT: &str =
    "Lists, shows, enables, disables and removes skills; writes an offered draft. `hob skill add` installs.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Show,
    Enable,
    Disable,
    Remove,
    Draft,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    /// Which; not for list and draft.
    name: Option<String>,
}

/// The tool.
pub struct ManageSkills {
    spec: ToolSpec,
    book: Arc<dyn SkillBook>,
}

impl ManageSkills {
    /// Keeps these.
    pub fn new(book: Arc<dyn SkillBook>) -> Self {
        let spec = spec_of::<Arguments>("manage_skills", ABOUT, false).of("skills", Role::Admin).shown_on_need();
        let facts = ToolFacts { changes: true, by_state: true, risk: Risk::Write, ..spec.facts };
        Self { spec: spec.with(facts), book }
    }

    async fn act(&self, invocation: &Invocation, action: Action, name: Option<&str>) -> Result<Outcome, SkillError> {
        let now = invocation.now;
        let text = match (action, name) {
            (Action::List, _) => listed(&self.book.list().await?),
            (Action::Draft, _) => {
                let place = self.book.draft(invocation.principal.user, now).await?;
                format!(
                    "The draft is in {place}. Nobody uses it yet: it can be changed there, and installed by \
                     `hob skill add {place}`."
                )
            }
            (_, None) => return Ok(Outcome::Error("It needs the skill's name.".to_owned())),
            (Action::Show, Some(name)) => return self.show(name).await,
            (Action::Enable, Some(name)) => {
                self.book.enable(name, true, now).await?;
                format!("{name} is enabled as it is now. If its files change, it is inert again.")
            }
            (Action::Disable, Some(name)) => {
                self.book.enable(name, false, now).await?;
                format!("{name} is not used any more.")
            }
            (Action::Remove, Some(name)) => {
                self.book.remove(name).await?;
                format!("{name} is gone, with its files.")
            }
        };
        Ok(Outcome::Text(text))
    }

    /// What an installed skill says of itself is nobody's word here.
    async fn show(&self, name: &str) -> Result<Outcome, SkillError> {
        let shown = Outcome::Text(self.book.show(name).await?);
        let list = self.book.list().await?;
        let trusted = list.skills.iter().any(|skill| skill.name == name && skill.trusted);
        Ok(if trusted { shown } else { shown.from(OriginSource::new(Origin::Skill, name)) })
    }
}

fn listed(list: &SkillList) -> String {
    let quarantined = list.quarantined.len();
    let mut lines: Vec<String> = list.skills.iter().map(line).collect();
    if quarantined > 0 {
        lines.push(format!("{quarantined} more cannot be read: `hob skill list` says why."));
    }
    lines.join("\n")
}

fn line(skill: &SkillLine) -> String {
    let trust = if skill.trusted { "" } else { ", not trusted" };
    format!("- {} ({}{trust})", skill.name, skill.standing.as_str())
}

#[async_trait]
impl Tool for ManageSkills {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let Ok(Arguments { action, name }) = parse(&self.spec, invocation.arguments.clone()) else {
            return Assessment::usual(Risk::Read);
        };
        let name = name.unwrap_or_default();
        let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        let (grade, reason) = match action {
            Action::List | Action::Show => return Assessment::usual(Risk::Read),
            // Nobody uses a draft, and less is used where one is disabled.
            Action::Draft | Action::Disable => return Assessment::usual(Risk::Write),
            Action::Enable => {
                (DangerGrade::Critical, format!("it has Hob follow the instructions of the installed skill {name}"))
            }
            Action::Remove => (DangerGrade::Critical, format!("it deletes the skill {name} with its files")),
        };
        Assessment { grade, reasons: vec![reason], ..Assessment::usual(Risk::Write) }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { action, name } = parse(&self.spec, invocation.arguments.clone())?;
        let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        self.act(&invocation, action, name).await.map_err(|error| failed(&error))
    }
}
