//! `hob completions` and `hob man`: what a shell completes, and the man page, both made from the arguments.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::{Arguments, show};

/// What `hob completions` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct CompletionsArguments {
    /// For which shell
    pub shell: Shell,
}

/// Prints what a shell completes.
///
/// # Errors
/// When it cannot be written.
pub(super) fn completions(arguments: &CompletionsArguments) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "hob", &mut script);
    Ok(show(&String::from_utf8_lossy(&script))?)
}

/// Prints the man page, its commands among that.
///
/// # Errors
/// When it cannot be written.
pub(super) fn man() -> anyhow::Result<()> {
    Ok(show(&page()?)?)
}

fn page() -> anyhow::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
    Ok(String::from_utf8(page)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_man_page_names_each_command() {
        let page = page().unwrap();
        for command in Arguments::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(page.contains(&format!("hob\\-{}(1)", command.get_name())), "{}", command.get_name());
        }
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
