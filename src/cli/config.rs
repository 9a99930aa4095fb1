//! `hob config …`: look at the configuration without starting anything.

use std::io::Write;
use std::path::Path;

use clap::Subcommand;

use crate::config::environment::Environment;
use crate::config::{command, example};

/// What `hob config` can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum ConfigCommand {
    /// Say everything that is wrong with the config file
    Check,
    /// Print an example with every key, its meaning and its default
    Example,
}

/// Runs the command; `named` is the global `--config`, and what it says goes to `out`.
///
/// # Errors
/// If the config has problems, which are the error's text, or `out` cannot be written to.
pub fn run(what: ConfigCommand, named: Option<&Path>, env: &Environment, out: &mut dyn Write) -> anyhow::Result<()> {
    let text = match what {
        ConfigCommand::Check => command::check(named, env)?,
        ConfigCommand::Example => example::example(),
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
    fn problems_are_the_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), "x = 1\ny = 1").unwrap();
        let env = Environment::of(dir.path(), [("HOME", dir.path())]);
        let mut out = Vec::new();
        let error = run(ConfigCommand::Check, None, &env, &mut out).unwrap_err();
        assert_eq!((error.to_string().lines().count(), out.len()), (2, 0));
    }
}
