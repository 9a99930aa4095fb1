//! What stands in the config file now, and whether that can be meant so.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::config::environment::Environment;
use crate::config::load::{LoadError, Loaded, load};
use crate::daemon::{begins, configured_channels};
use crate::domain::secret::Secret;

/// What was seen at one look.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    /// A config.
    Good(Box<Loaded>),
    /// Nothing that could run: file, line, key, what was expected.
    Bad(String),
}

/// Looks for a config.
#[derive(Clone)]
pub(super) struct Look {
    /// The file.
    pub(super) file: PathBuf,
    pub(super) environment: Environment,
    /// Hob has no channel but those of its config.
    pub(super) needs_channel: bool,
}

impl Look {
    /// Reads and checks the file.
    pub(super) async fn read(&self, now: Timestamp) -> Seen {
        let look = self.clone();
        let read = tokio::task::spawn_blocking(move || look.read_here(now)).await;
        read.unwrap_or_else(|error| Seen::Bad(format!("{}: could not be read: {error}", self.file.display())))
    }

    fn read_here(&self, now: Timestamp) -> Seen {
        let file = &self.file;
        // A pipe or a device would never end.
        if std::fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Seen::Bad(format!("{}: is no file; put the config back in its place", file.display()));
        }
        let loaded = match load(Some(file), &self.environment) {
            Ok(loaded) => loaded,
            Err(error) => return Seen::Bad(words(file, &error)),
        };
        if let Some(problems) = loaded.problems(begins::unreadable(&loaded.config, now)) {
            return Seen::Bad(problems.to_string());
        }
        if self.needs_channel && configured_channels(&loaded.config).is_empty() && !loaded.lacks_a_channel() {
            let fix = "expected [telegram], [slack], [discord] or [email]; put one back, or stop Hob";
            return Seen::Bad(format!("{}: no channel is configured any more, {fix}", file.display()));
        }
        Seen::Good(Box::new(loaded))
    }
}

fn words(file: &Path, error: &LoadError) -> String {
    match error {
        LoadError::NotFound { .. } => format!("{}: is not there any more; put it back", file.display()),
        other => other.to_string(),
    }
}

/// May this be half of a file that is being written? What does not fit together, and what is only the beginning of what runs.
pub(super) fn is_doubtful(seen: &Seen, running: &Secret) -> bool {
    match seen {
        Seen::Bad(_) => true,
        Seen::Good(loaded) => {
            let (text, running) = (loaded.source.expose(), running.expose());
            text.len() < running.len() && running.starts_with(text.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::of_text;

    #[test]
    fn k5_half_a_file_is_doubted() {
        let running = Secret::new("[agent]\niterations_max = 10\n[guards]\n".to_owned());
        let doubted = |text: &str| {
            let loaded = of_text(Path::new("config.toml"), text, &Environment::default()).unwrap();
            is_doubtful(&Seen::Good(Box::new(loaded)), &running)
        };
        assert!(doubted("") && doubted("[agent]\n") && doubted("[agent]\niterations_max = 1"));
        assert!(!doubted(running.expose()) && !doubted("[agent]\niterations_max = 2\n"));
        assert!(is_doubtful(&Seen::Bad("x".to_owned()), &running));
    }
}
