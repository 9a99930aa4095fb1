//! `hob undo`: takes back the last change of the workspace, by the Hob that runs, or else by itself.

use std::path::Path;
use std::time::Duration;

use crate::cli::next_step::refuse;
use crate::cli::{load_running_config, show};
use hob_config::data_dir::data_dir;
use hob_config::environment::Environment;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_store::lock::DataLock;
use hob_tools::changes::Drafts;
use hob_tools::workspace::Workspace;
use hob_web::local_client::{AskError, request_change};
use hob_web::undo::PATH;

/// How long a running Hob may take: many files may have to move.
const WITHIN: Duration = Duration::from_secs(120);

/// Takes it back.
///
/// # Errors
/// When there is nothing to take back, or it cannot be done.
pub(super) fn run(named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let directory = data_dir(&load_running_config(named, &environment)?.config.state, &environment)?;
    match request_change(&directory, PATH, WITHIN) {
        Ok(answer) if answer.status == 200 => Ok(show(&format!("{}\n", answer.body))?),
        Ok(answer) => refuse!("{}", answer.body; "`hob help undo` says what can be undone"),
        Err(AskError::NotRunning) => {
            // Nobody starts meanwhile and changes the workspace as well.
            let lock = DataLock::take(&directory)?;
            // A draft knows its own folders.
            let drafts = Drafts::new(&directory, &Workspace::of(&directory));
            let undone = drafts.undo_last(None, SystemClock.now())?;
            drop(lock);
            Ok(show(&format!("{undone}\n"))?)
        }
        Err(error) => Err(error.into()),
    }
}
