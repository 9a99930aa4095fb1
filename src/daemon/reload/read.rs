//! What stands in the config file now, and whether that can be meant so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use toml::Table;

use crate::daemon::triggers;
use hob_config::environment::Environment;
use hob_config::load::{LoadError, LoadedConfig, load};
use hob_core::domain::secret::Secret;

/// What was seen at one look.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReadOutcome {
    Good(Box<LoadedConfig>),
    /// Nothing that could run: file, line, key, what was expected.
    Bad(String),
}

/// Looks for a config.
#[derive(Clone)]
pub(super) struct ConfigReader {
    pub(super) file: PathBuf,
    pub(super) environment: Environment,
    /// Hob has no channel but those of its config.
    pub(super) needs_channel: bool,
}

impl ConfigReader {
    /// When the file was last written; none: that cannot be seen.
    pub(super) fn written(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.file).and_then(|found| found.modified()).ok()
    }

    /// Reads and checks the file.
    pub(super) async fn read(&self, now: Timestamp) -> ReadOutcome {
        let look = self.clone();
        let read = tokio::task::spawn_blocking(move || look.read_here(now)).await;
        read.unwrap_or_else(|error| ReadOutcome::Bad(format!("{}: could not be read: {error}", self.file.display())))
    }

    fn read_here(&self, now: Timestamp) -> ReadOutcome {
        let file = &self.file;
        // A pipe or a device would never end.
        if std::fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return ReadOutcome::Bad(format!("{}: is not a file; put the config back in its place", file.display()));
        }
        let loaded = match load(Some(file), &self.environment) {
            Ok(loaded) => loaded,
            Err(error) => return ReadOutcome::Bad(words(file, &error)),
        };
        if let Some(problems) = loaded.problems(triggers::unreadable(&loaded.config, now)) {
            return ReadOutcome::Bad(problems.to_string());
        }
        if self.needs_channel && loaded.config.channels().is_empty() && !loaded.lacks_a_channel() {
            let fix = "expected [telegram], [slack], [discord], [matrix] or [email]; put one back, or stop Hob";
            return ReadOutcome::Bad(format!("{}: no channel is configured any more, {fix}", file.display()));
        }
        ReadOutcome::Good(Box::new(loaded))
    }
}

fn words(file: &Path, error: &LoadError) -> String {
    match error {
        LoadError::NotFound { .. } => format!("{}: is not there any more; put it back", file.display()),
        other => other.to_string(),
    }
}

/// May this be half of a file that is being written? What does not fit together, what is only the beginning of what runs,
/// what ends within a line, and what lacks whole sections that run.
pub(super) fn is_doubtful(seen: &ReadOutcome, running: &Secret) -> bool {
    match seen {
        ReadOutcome::Bad(_) => true,
        ReadOutcome::Good(loaded) => {
            let (text, running) = (loaded.source.expose(), running.expose());
            let is_beginning = text.len() < running.len() && running.starts_with(text.trim_end());
            text != running && (is_beginning || !text.ends_with('\n') || lacks_sections(text, running))
        }
    }
}

/// Whether a section, or a list of them, of what runs is not in the text at all.
fn lacks_sections(text: &str, running: &str) -> bool {
    let sections = |text: &str| -> BTreeSet<String> {
        let table = text.parse::<Table>().unwrap_or_default();
        table.into_iter().filter(|(_, value)| value.is_table() || value.is_array()).map(|(key, _)| key).collect()
    };
    !sections(running).is_subset(&sections(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_config::load::load_text;

    #[test]
    fn k5_half_a_file_is_doubted() {
        let hooks = "[[hooks]]\nwhen = 'before_tool'\ncommand = ['/bin/true']\n";
        let running = &format!("[agent]\niterations_max = 10\n[guards]\n{hooks}");
        let doubted = |text: &str| {
            let loaded = load_text(Path::new("config.toml"), text, &Environment::default()).unwrap();
            is_doubtful(&ReadOutcome::Good(Box::new(loaded)), &Secret::new(running.clone()))
        };
        for (text, expected) in [
            ("", true),
            ("[agent]\n", true),
            ("[agent]\niterations_max = 1", true),
            (running, false),
            // The beginning of another file, cut off behind a line.
            ("# new\n[agent]\niterations_max = 2\n", true),
            ("# new\n[agent]\niterations_max = 2\n[guards]\n", true),
            (&format!("# new\n[agent]\niterations_max = 2\n{hooks}"), true),
            // Cut off within one.
            (&format!("[guards]\n{hooks}[agent]\niterations_max = 2"), true),
            (&format!("[guards]\n{hooks}[agent]\niterations_max = 20\n"), false),
            (&format!("# x\n{running}[memory]\nextract = true\n"), false),
        ] {
            assert_eq!(doubted(text), expected, "{text}");
        }
        assert!(is_doubtful(&ReadOutcome::Bad("x".to_owned()), &Secret::new(running.clone())));
        let unended = Secret::new("[agent]\niterations_max = 1".to_owned());
        let loaded = load_text(Path::new("config.toml"), unended.expose(), &Environment::default()).unwrap();
        assert!(!is_doubtful(&ReadOutcome::Good(Box::new(loaded)), &unended), "it runs like this");
    }
}
