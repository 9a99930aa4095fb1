//! `hob config …`: look at the configuration without starting anything.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use clap::Subcommand;

use crate::cli::checked;
use crate::config::environment::Environment;
use crate::config::off::SectionOff;
use crate::config::{command, example, schema, show};
use crate::daemon::models;

/// What `hob config` can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Say everything that is wrong with the config file
    Check,
    /// Print an example with every key, its meaning and its default
    Example,
    /// Print the config as Hob holds it, each value with where it comes from, without secrets
    Show {
        /// Defaults as well
        #[arg(long)]
        all: bool,
    },
    /// Print the JSON schema of a config file, for editors
    Schema,
}

/// Runs the command; `named` is the global `--config`, and what it says goes to `out`.
///
/// # Errors
/// If the config has problems, which are the error's text, or `out` cannot be written to.
pub fn run(what: ConfigCommand, named: Option<&Path>, env: &Environment, out: &mut dyn Write) -> anyhow::Result<()> {
    let text = match what {
        ConfigCommand::Check => {
            let loaded = checked(named, env)?;
            let keyless = models::keyless(&loaded.config, env);
            let off: Vec<SectionOff> = loaded.off.iter().cloned().chain(keyless).collect();
            let told = command::told(&loaded, &off, env);
            if !off.is_empty() {
                bail!("{}", told.trim_end());
            }
            told
        }
        ConfigCommand::Example => example::example(),
        ConfigCommand::Show { all } => show::show(named, env, all)?,
        ConfigCommand::Schema => schema::schema(),
    };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_is_printed() {
        let mut out = Vec::new();
        run(ConfigCommand::Example, None, &Environment::default(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), example::example());
    }

    #[test]
    fn n13_schedules_words_are_checked_as_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let schedule = |name: &str, when: &str| format!("[[schedule]]\nname = '{name}'\nwhen = '{when}'\ntask = 'x'\n");
        let telegram = "[telegram]\nbot_token = '1:a'\nallowed_user_ids = [7]\nowner_user_ids = [7]\n";
        let file = [
            telegram,
            &schedule("a", "weekdays at 8:30"),
            &schedule("b", "31 February at 9"),
            &schedule("c", "30 8 * *"),
        ];
        std::fs::write(dir.path().join("config.toml"), file.concat()).unwrap();
        let env = Environment::of(dir.path(), [("HOME", dir.path())]);
        let error = run(ConfigCommand::Check, None, &env, &mut Vec::new()).unwrap_err().to_string();
        let told: Vec<&str> = error.lines().map(|line| line.rsplit_once("config.toml").unwrap().1).collect();
        assert_eq!(
            told[0],
            ":11: schedule[2].when: that day does not exist; `hob schedule next \"WHEN\"` tries words out"
        );
        assert!(told[1].starts_with(":15: schedule[3].when: "), "{error}");
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn problems_are_the_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), "x = 1\ny = 1").unwrap();
        let env = Environment::of(dir.path(), [("HOME", dir.path())]);
        let mut out = Vec::new();
        let error = run(ConfigCommand::Check, None, &env, &mut out).unwrap_err();
        assert_eq!((error.to_string().lines().count(), out.len()), (2, 0));
    }
}
