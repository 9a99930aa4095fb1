//! `hob completions` and `hob man`: what a shell completes, and the man page, both made from the arguments.

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::{Arguments, show};

/// What stands above options in the man page.
const OPTIONS: &str = ".SH OPTIONS\n";

/// What `hob completions` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct CompletionsArguments {
    /// For which shell
    pub shell: Shell,
}

/// Prints what a shell completes.
pub(super) fn completions(arguments: &CompletionsArguments) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "hob", &mut script);
    Ok(show(&String::from_utf8_lossy(&script))?)
}

/// Prints the man page, its commands among that.
pub(super) fn man() -> anyhow::Result<()> {
    Ok(show(&page()?)?)
}

/// All of it is one page: each command has a section there, and no page of its own.
fn page() -> anyhow::Result<String> {
    let command = Arguments::command();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    let mut page = String::from_utf8(page)?;
    for named in shown_commands(&command) {
        let name = named.get_name();
        page = page.replace(&format!("hob\\-{name}(1)"), &format!("hob {name}"));
    }
    sections(&command, "hob", &mut page)?;
    Ok(page)
}

fn shown_commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// What the commands below this one do, each with its options.
fn sections(command: &Command, path: &str, page: &mut String) -> anyhow::Result<()> {
    for command in shown_commands(command) {
        let path = format!("{path} {}", command.get_name());
        let mut options = Vec::new();
        Man::new(command.clone().disable_help_flag(true)).render_options_section(&mut options)?;
        let options = String::from_utf8(options)?;
        let options = options.split_once(OPTIONS).map_or("", |(_, options)| options);
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        page.extend([format!(".SH \"{path}\"\n{about}\n{options}")]);
        sections(command, &path, page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_man_page_names_each_command() {
        let page = page().unwrap();
        for command in shown_commands(&Arguments::command()) {
            let name = command.get_name();
            assert!(
                page.contains(&format!("\nhob {name}\n")) && page.contains(&format!(".SH \"hob {name}\"\n")),
                "{name}"
            );
        }
        assert!(!page.contains("(1)\n"), "there are no further pages");
        let set = page.split_once(".SH \"hob backup\"\n").unwrap().1.split_once(".SH").unwrap().0;
        assert!(set.contains("\\-\\-recipient"), "its options: {set}");
    }

    #[test]
    fn each_shell_completes_a_commands_words() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "hob", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("doctor") && script.contains("--json") || script.contains("json"), "{shell}");
        }
    }
}
