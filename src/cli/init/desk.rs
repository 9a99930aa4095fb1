//! What every step of the setup has before it.

use crate::cli::init::arguments::Given;
use crate::cli::init::asker::{Asker, Halt};
use crate::cli::init::save::{Draft, Progress};
use crate::cli::init::world::World;
use hob_config::change::Edit;

/// The person, the world, the config, and how far it has come.
pub(super) struct Desk<'a> {
    pub(super) asker: &'a mut dyn Asker,
    pub(super) world: &'a mut dyn World,
    pub(super) draft: Draft,
    pub(super) progress: Progress,
    pub(super) given: Given,
}

impl Desk<'_> {
    pub(super) fn tell(&mut self, text: &str) {
        self.asker.tell(text);
    }

    pub(super) fn choose(&mut self, question: &str, options: &[&str], usual: usize) -> Result<usize, Halt> {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        crate::cli::init::asker::choose(self.asker, question, &options, usual)
    }

    /// Writes these changes into the config, at once.
    pub(super) fn save(&mut self, edits: &[Edit]) -> Result<(), Halt> {
        self.draft.save(edits)?;
        Ok(())
    }

    /// Keeps how far it has come, at once.
    pub(super) fn keep_progress(&mut self) -> Result<(), Halt> {
        self.progress.write(&self.draft.data_dir()?)?;
        Ok(())
    }
}
