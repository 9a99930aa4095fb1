//! What every step of the setup has before it.

use crate::cli::init::arguments::InitOptions;
use crate::cli::init::asker::{Asker, SetupError};
use crate::cli::init::save::{ConfigDraft, SetupProgress};
use crate::cli::init::setup_environment::SetupEnvironment;
use hob_config::change::Edit;

/// The person, the world, the config, and how far it has come.
pub(super) struct SetupContext<'a> {
    pub(super) asker: &'a mut dyn Asker,
    pub(super) environment: &'a mut dyn SetupEnvironment,
    pub(super) draft: ConfigDraft,
    pub(super) progress: SetupProgress,
    pub(super) given: InitOptions,
}

impl SetupContext<'_> {
    pub(super) fn tell(&mut self, text: &str) {
        self.asker.tell(text);
    }

    pub(super) fn choose(&mut self, question: &str, options: &[&str], usual: usize) -> Result<usize, SetupError> {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        crate::cli::init::asker::choose(self.asker, question, &options, usual)
    }

    /// Writes these changes into the config, at once.
    pub(super) fn save(&mut self, edits: &[Edit]) -> Result<(), SetupError> {
        self.draft.save(edits)?;
        Ok(())
    }

    /// Keeps how far it has come, at once.
    pub(super) fn keep_progress(&mut self) -> Result<(), SetupError> {
        self.progress.write(&self.draft.data_dir()?)?;
        Ok(())
    }
}
