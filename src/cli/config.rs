//! `hob config …`: look at the configuration and change it, without starting anything.

mod history;

use std::io::{ErrorKind, IsTerminal as _, Read as _, Write};
use std::path::Path;

use anyhow::Context as _;
use clap::Subcommand;

use crate::cli::checked;
use crate::cli::next_step::{refusal, refuse};
use crate::daemon::{models, triggers};
use hob_config::change::{Edit, Secrets};
use hob_config::edit::{self, EditError};
use hob_config::environment::Environment;
use hob_config::good_configs::{self, GoodConfigHistory};
use hob_config::switched_off::SectionOff;
use hob_config::writer::{WriteError, Writer};
use hob_config::{command, example, schema, show};
use hob_core::domain::clock::{Clock as _, SystemClock};

/// What `hob config` can do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Check the config file, and say everything that is wrong with it
    Check,
    /// Print an example with every key, its meaning and its default
    Example,
    /// Print the config in effect, with where each value comes from, without secrets
    Show {
        /// Show defaults as well
        #[arg(long)]
        all: bool,
    },
    /// Print the JSON schema of a config file, for editors
    Schema,
    /// Set a key: `hob config set agent.iterations_max 12`
    Set {
        /// Such as `agent.iterations_max`
        key: String,
        /// As TOML (`7`, `true`, `["a"]`) or text; `-` reads it from standard input, which secrets require
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Show what a key is set to
    Get {
        /// Such as `agent.iterations_max`
        key: String,
    },
    /// Remove a key or a section, so that the default applies
    Unset {
        /// Such as `agent.iterations_max`
        key: String,
    },
    /// List the last configs with which a model answered
    History,
    /// Show how the config file differs from one of them
    Diff {
        /// Its number in the history; by default the newest
        number: Option<usize>,
    },
    /// Replace the config file with one of them; the file is kept
    Rollback {
        /// Its number in the history; by default the newest that differs from the file
        number: Option<usize>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// The config file, who writes it, and what is kept of it.
struct ConfigFiles {
    writer: Writer,
    history: GoodConfigHistory,
    /// Whether differences are shown in colours.
    colours: bool,
}

impl ConfigFiles {
    fn of(named: Option<&Path>, env: &Environment) -> anyhow::Result<Self> {
        let file = good_configs::place(named, env)
            .context(refusal!("no place for a config file is known"; "set $HOME, or name one with --config"))?;
        let history = GoodConfigHistory::found(&file, env);
        let colours = std::io::stdout().is_terminal() && env.text("NO_COLOR").is_none();
        Ok(Self { writer: Writer::new(file, env.clone(), triggers::check_beyond_schema), history, colours })
    }

    fn file(&self) -> &Path {
        self.writer.file()
    }
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
            let told = command::report_text(&loaded, &off, env);
            if !off.is_empty() {
                refuse!("{}", told.trim_end(); "\nset what is missing; `hob config check` says whether it is there");
            }
            told
        }
        ConfigCommand::Example => example::example(),
        ConfigCommand::Show { all } => show::show(named, env, all)?,
        ConfigCommand::Schema => schema::schema(),
        ConfigCommand::Set { key, value } => set(&ConfigFiles::of(named, env)?, &key, &value)?,
        ConfigCommand::Get { key } => get(&ConfigFiles::of(named, env)?, &key)?,
        ConfigCommand::Unset { key } => change(&ConfigFiles::of(named, env)?, Edit::unset(&key), Secrets::Refused)?,
        ConfigCommand::History => history::list(&ConfigFiles::of(named, env)?),
        ConfigCommand::Diff { number } => history::diff(&ConfigFiles::of(named, env)?, number)?,
        ConfigCommand::Rollback { number, yes } => {
            history::roll_back(&ConfigFiles::of(named, env)?, number, yes, out)?;
            String::new()
        }
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads no further (`| head`) is not an error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn set(files: &ConfigFiles, key: &str, value: &str) -> anyhow::Result<String> {
    if value != "-" {
        return change(files, Edit::set(key, value), Secrets::Refused);
    }
    let mut value = String::new();
    std::io::stdin().read_to_string(&mut value).context("standard input cannot be read")?;
    let value = value.trim_end_matches(['\n', '\r']);
    // A secret is a text, whatever it looks like.
    let edit = if edit::is_secret_key(key) { Edit::set_value(key, value) } else { Edit::set(key, value) };
    change(files, edit, Secrets::Taken)
}

fn change(files: &ConfigFiles, edit: Edit, secrets: Secrets) -> anyhow::Result<String> {
    match files.writer.change(&[edit], secrets, SystemClock.now()) {
        Ok(plan) => Ok(format!("{}: {}\n", files.file().display(), plan.told())),
        Err(WriteError::Edit(EditError::Secret { key })) => refuse!(
            "{key} is a secret, and the shell keeps what is typed";
            "`hob config set {key} -` reads it from standard input"
        ),
        Err(error) => Err(error.into()),
    }
}

fn get(files: &ConfigFiles, key: &str) -> anyhow::Result<String> {
    let text = files.writer.text()?.unwrap_or_default();
    Ok(match edit::get(&text, key)? {
        Some(value) => format!("{key} = {value}\n"),
        None => format!("{key} is not set: the default holds; `hob config example` has every key\n"),
    })
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
