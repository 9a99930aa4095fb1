//! What the setup writes: the config, files with single secrets beside it, and how far it has come.
//!
//! Never: a file that is half written, or a secret that somebody else may read.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::daemon::triggers;
use hob_config::Config;
use hob_config::change::{Edit, Secrets, possible, tried};
use hob_config::data_dir::{create_data_dir, data_dir};
use hob_config::edit::{self, EditError};
use hob_config::environment::Environment;
use hob_config::load::{self, LoadedConfig};
use hob_config::problem::Problems;
use hob_config::writer::snapshot::FileSnapshot;
use hob_config::writer::{Writer, commit};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::secret::Secret;
use hob_store::place::StatePlace;

/// What a new file begins with.
const HEAD: &str = "# Hob's config, begun by `hob init`. `hob config example` shows every key.\n\n";
/// The folder of secrets, beside the config.
const SECRETS: &str = "secrets";
/// How far the setup has come, in the data directory.
const PROGRESS: &str = "setup.json";

/// The config as it is, with what is known of the environment.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ConfigDraft {
    /// The file, which need not exist yet.
    pub(in crate::cli) path: PathBuf,
    /// Its text; empty: there is none.
    text: Secret,
    /// What it says.
    pub(in crate::cli) config: Config,
    /// What `${…}` in it means. Variables that are to be set later are in it.
    pub(in crate::cli) env: Environment,
}

impl ConfigDraft {
    /// Of a file with this text.
    pub(in crate::cli) fn new(path: &Path, text: &str, env: &Environment) -> Result<Self, EditError> {
        let (text, config) = tried(path, text, &[], env)?;
        Ok(Self { path: path.to_owned(), text: Secret::new(text), config, env: env.clone() })
    }

    /// The same with these changes; nothing is written.
    ///
    /// # Errors
    /// When the check refuses what comes of it.
    pub(in crate::cli) fn with(&self, edits: &[Edit]) -> Result<Self, EditError> {
        let (text, config) = tried(&self.path, self.text.expose(), edits, &self.env)?;
        // toml_edit would keep it behind what is put in.
        let text = if self.text.expose().is_empty() { format!("{HEAD}{text}") } else { text };
        Ok(Self { text: Secret::new(text), config, ..self.clone() })
    }

    /// As the start would have it.
    ///
    /// # Errors
    /// When it is not a good config, which was seen before.
    pub(in crate::cli) fn loaded(&self) -> Result<LoadedConfig, Problems> {
        load::load_text(&self.path, self.text.expose(), &self.env)
    }

    /// Whether the file has this section, whatever it says.
    pub(in crate::cli) fn has(&self, section: &str) -> bool {
        matches!(edit::get(self.text.expose(), section), Ok(Some(_)))
    }

    /// Makes these changes in the file.
    pub(in crate::cli) fn save(&mut self, edits: &[Edit]) -> anyhow::Result<()> {
        let after = self.with(edits)?;
        let writer = Writer::new(self.path.clone(), self.env.clone(), triggers::check_beyond_schema);
        let (seen, now) = (writer.look()?, SystemClock.now());
        *self = if seen == FileSnapshot::Nothing {
            writer.replace(&seen, after.text.expose(), now)?;
            after
        } else {
            let edits = possible(seen.text().unwrap_or_default(), edits);
            let plan = writer.change(&edits, Secrets::Taken, now)?;
            Self::new(&self.path, plan.text(), &self.env)?
        };
        Ok(())
    }

    /// Writes a secret into a file of its own and gives the file's whole path.
    pub(in crate::cli) fn keep(&self, name: &str, secret: &Secret) -> anyhow::Result<PathBuf> {
        let beside = self.path.parent().unwrap_or(Path::new("/")).join(SECRETS);
        let told = || beside.display().to_string();
        DirBuilder::new().recursive(true).mode(0o700).create(&beside).with_context(told)?;
        let beside = fs::canonicalize(&beside).with_context(told)?;
        let path = beside.join(name);
        write(&path, &format!("{}\n", secret.expose())).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// Where Hob's data is; it exists.
    pub(in crate::cli) fn data_dir(&self) -> anyhow::Result<PathBuf> {
        let dir = data_dir(&self.config.state, &self.env)?;
        create_data_dir(&dir)?;
        Ok(dir)
    }

    /// Where its state is.
    pub(in crate::cli) fn state(&self) -> anyhow::Result<StatePlace> {
        Ok(StatePlace::of(self.config.state.url.as_ref(), &self.data_dir()?))
    }
}

/// Writes the whole file or nothing of it, for its owner's eyes only. A link stays a link.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    commit::sweep(&target)?;
    commit::put(&target, text.as_bytes(), &mut |_| {})
}

/// How far the setup has come, beyond what the config says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SetupProgress {
    /// The model that has answered, as the config named it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answered: Option<String>,
    /// Steps that the person wants none of.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) skipped: BTreeSet<String>,
    /// Channels by which an owner was heard.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) heard: BTreeSet<String>,
    /// How Hob is started, once that is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<String>,
}

impl SetupProgress {
    /// As it was left; one that cannot be read begins anew, and costs a few questions.
    pub(super) fn read(data_dir: &Path) -> Self {
        let text = match fs::read_to_string(data_dir.join(PROGRESS)) {
            Ok(text) => text,
            Err(error) => {
                tracing::debug!(%error, "there is no progress to read");
                return Self::default();
            }
        };
        serde_json::from_str(&text).unwrap_or_else(|error| {
            tracing::debug!(%error, "the progress cannot be read");
            Self::default()
        })
    }

    /// Keeps it.
    pub(super) fn write(&self, data_dir: &Path) -> anyhow::Result<()> {
        let path = data_dir.join(PROGRESS);
        write(&path, &(serde_json::to_string_pretty(self)? + "\n")).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/config.toml");
        let mut draft = ConfigDraft::new(&path, "", &Environment::default()).unwrap();
        draft.save(&[Edit::set_value("provider.kind", "offline")]).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{HEAD}[provider]\nkind = \"offline\"\n"));
        let kept = draft.keep("key", &Secret::new("sk-1".to_owned())).unwrap();
        assert_eq!((mode(&kept), mode(kept.parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_to_string(kept).unwrap(), "sk-1\n");
    }

    #[test]
    fn a_secret_that_a_killed_setup_was_writing_goes_with_the_next_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let draft = ConfigDraft::new(&dir.path().join("config.toml"), "", &Environment::default()).unwrap();
        let secrets = dir.path().join(SECRETS);
        // A process that is killed leaves what it has written so far.
        fs::create_dir(&secrets).unwrap();
        let mut names = Vec::new();
        commit::put(&secrets.join("key"), b"sk-1", &mut |_| {
            let entries = fs::read_dir(&secrets).unwrap().map(|entry| entry.unwrap().file_name());
            names.extend(entries.filter(|name| name != "key"));
        })
        .unwrap();
        fs::write(secrets.join(&names[0]), "sk-").unwrap();
        draft.keep("key", &Secret::new("sk-1".to_owned())).unwrap();
        let left: Vec<_> = fs::read_dir(&secrets).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["key"]);
    }

    #[test]
    fn what_the_check_refuses_changes_no_byte_and_a_link_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("real.toml"), dir.path().join("config.toml"));
        fs::write(&path, "# mine\n[provider]\nkind = \"offline\"\n").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let text = fs::read_to_string(&link).unwrap();
        let mut draft = ConfigDraft::new(&link, &text, &Environment::default()).unwrap();
        draft.save(&[Edit::set_value("provider.kind", "nobody")]).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        draft.save(&[Edit::set_value("provider.kind", "ollama")]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("offline", "ollama"));
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = names.filter(|name| !name.to_string_lossy().ends_with(".lock")).collect();
        left.sort();
        assert_eq!(left, ["config.toml", "real.toml"], "nothing half written stays");
    }

    #[test]
    fn progress_is_taken_up_and_a_broken_one_begins_anew() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(SetupProgress::read(dir.path()), SetupProgress::default());
        let progress = SetupProgress { answered: Some("x/y".to_owned()), ..SetupProgress::default() };
        progress.write(dir.path()).unwrap();
        assert_eq!(SetupProgress::read(dir.path()), progress);
        fs::write(dir.path().join(PROGRESS), "{").unwrap();
        assert_eq!(SetupProgress::read(dir.path()), SetupProgress::default());
    }
}
