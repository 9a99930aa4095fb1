//! `hob help`: of a command, what it takes; of a topic, the page of the docs. Both are in the binary.

use std::io::IsTerminal as _;

use clap::{Args, CommandFactory as _};

use crate::cli::next_step::refuse;
use crate::cli::{Arguments, write_out};
use hob_config::environment::Environment;
use hob_core::domain::capabilities::Capabilities;
use hob_core::render::render;

/// The docs' pages.
const PAGES: &[(&str, &str)] = &[
    ("agents", include_str!("../../docs/agents.md")),
    ("architecture", include_str!("../../docs/architecture.md")),
    ("backup", include_str!("../../docs/backup.md")),
    ("calendar", include_str!("../../docs/calendar.md")),
    ("changing-config", include_str!("../../docs/changing-config.md")),
    ("commands", include_str!("../../docs/commands.md")),
    ("config", include_str!("../../docs/config.md")),
    ("delivery", include_str!("../../docs/delivery.md")),
    ("development", include_str!("../../docs/development.md")),
    ("discord", include_str!("../../docs/discord.md")),
    ("doctor", include_str!("../../docs/doctor.md")),
    ("email", include_str!("../../docs/email.md")),
    ("eval", include_str!("../../docs/eval.md")),
    ("files", include_str!("../../docs/files.md")),
    ("home-assistant", include_str!("../../docs/home-assistant.md")),
    ("import", include_str!("../../docs/import.md")),
    ("invariants", include_str!("../../docs/invariants.md")),
    ("limits", include_str!("../../docs/limits.md")),
    ("mail", include_str!("../../docs/mail.md")),
    ("matrix", include_str!("../../docs/matrix.md")),
    ("mcp", include_str!("../../docs/mcp.md")),
    ("memory", include_str!("../../docs/memory.md")),
    ("models", include_str!("../../docs/models.md")),
    ("off", include_str!("../../docs/off.md")),
    ("page", include_str!("../../docs/page.md")),
    ("people", include_str!("../../docs/people.md")),
    ("performance", include_str!("../../docs/performance.md")),
    ("personas", include_str!("../../docs/personas.md")),
    ("reload", include_str!("../../docs/reload.md")),
    ("replay", include_str!("../../docs/replay.md")),
    ("schedules", include_str!("../../docs/schedules.md")),
    ("secrets", include_str!("../../docs/secrets.md")),
    ("service", include_str!("../../docs/service.md")),
    ("setup", include_str!("../../docs/setup.md")),
    ("several", include_str!("../../docs/several.md")),
    ("skills", include_str!("../../docs/skills.md")),
    ("slack", include_str!("../../docs/slack.md")),
    ("state", include_str!("../../docs/state.md")),
    ("supervision", include_str!("../../docs/supervision.md")),
    ("telegram", include_str!("../../docs/telegram.md")),
    ("telemetry", include_str!("../../docs/telemetry.md")),
    ("terminal", include_str!("../../docs/terminal.md")),
    ("tools", include_str!("../../docs/tools.md")),
    ("undo", include_str!("../../docs/undo.md")),
    ("upgrade", include_str!("../../docs/upgrade.md")),
    ("upkeep", include_str!("../../docs/upkeep.md")),
    ("web", include_str!("../../docs/web.md")),
];

/// How wide a page is set.
const COLUMNS: usize = 100;

/// What `hob help` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct HelpArguments {
    /// A command or a topic; without one, all are listed
    pub topic: Vec<String>,
}

/// Helps.
///
/// # Errors
/// When there is no such topic and no such command.
pub(super) fn run(arguments: &HelpArguments, environment: &Environment) -> anyhow::Result<()> {
    let is_seen = std::io::stdout().is_terminal();
    let styles = is_seen && environment.text("NO_COLOR").is_none_or(str::is_empty);
    Ok(write_out(&topic_text(&arguments.topic, is_seen.then_some(styles))?)?)
}

/// A topic's page goes before the command of the same name, which says the rest itself: `hob COMMAND --help`. Without
/// `styles` the page stays Markdown; with them it is for a terminal that has styles, or none.
fn topic_text(topic: &[String], styles: Option<bool>) -> anyhow::Result<String> {
    let mut command = Arguments::command();
    let [name, deeper @ ..] = topic else {
        let topics: Vec<&str> = PAGES.iter().map(|(name, _)| *name).collect();
        let help = command.render_help();
        return Ok(format!(
            "{help}
Topics (`hob help TOPIC`): {}
",
            topics.join(", ")
        ));
    };
    if let Some((_, page)) = PAGES.iter().find(|(page, _)| page == name).filter(|_| deeper.is_empty()) {
        return Ok(styles.map_or_else(|| (*page).to_owned(), |styles| rendered(page, styles)));
    }
    command.build();
    let mut found = &mut command;
    for name in topic {
        let Some(inner) = found.find_subcommand_mut(name) else {
            refuse!("there is no topic and no command {:?}", topic.join(" "); "`hob help` lists them");
        };
        found = inner;
    }
    Ok(found.render_long_help().to_string())
}

fn rendered(page: &str, styles: bool) -> String {
    let shown = render(page, &Capabilities::terminal(styles, Some(COLUMNS)));
    shown
        .into_iter()
        .map(|chunk| {
            chunk.markup
                + "
"
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> anyhow::Result<String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        topic_text(&words, None)
    }

    #[test]
    fn help_knows_topics_and_commands() {
        assert!(of("memory").unwrap().starts_with("# "));
        assert!(of("web token add").unwrap().contains("--viewer"));
        assert!(of("").unwrap().contains("Topics (`hob help TOPIC`): agents, "));
        let error = of("nonsense").unwrap_err().to_string();
        assert_eq!(error, "there is no topic and no command \"nonsense\": `hob help` lists them");
    }

    #[test]
    fn every_page_of_the_docs_is_there() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let mut pages: Vec<String> = std::fs::read_dir(docs)
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().into_string().unwrap().strip_suffix(".md").map(str::to_owned)
            })
            // A list for those who develop Hob.
            .filter(|page| page != "rows")
            .collect();
        pages.sort();
        assert_eq!(pages, PAGES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
    }
}
