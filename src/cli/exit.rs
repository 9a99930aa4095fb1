//! The exit codes (docs/upgrade.md, "Exit codes"): what a script or systemd does differently.

use std::fmt;

use crate::cli::next_step::missing_step;
use crate::daemon::error::StartError;
use hob_config::data_dir::DataDirError;
use hob_config::load::LoadError;
use hob_config::problem::Problems;
use hob_store::backup::BackupError;
#[cfg(feature = "postgres")]
use hob_store::copy::CopyError;
use hob_store::error::StoreError;
use hob_store::lock::LockError;

/// Something failed.
pub const FAILED: u8 = 1;
/// `hob health`: no Hob runs. (Arguments that cannot be are 2 as well, as everywhere.)
pub const NOT_RUNNING: u8 = 2;
/// The database cannot be used by this Hob: made by a newer one, or damaged. Sysexits' EX_DATAERR.
pub const DATABASE: u8 = 65;
/// Another Hob has the data directory, or leads on the database. Sysexits' EX_TEMPFAIL.
pub const TAKEN: u8 = 75;
/// The config cannot be used, or there is no place for the data. Sysexits' EX_CONFIG.
pub const CONFIG: u8 = 78;

/// A command that has said all there is to say: only its exit code is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilentExit(pub u8);

impl fmt::Display for SilentExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl std::error::Error for SilentExit {}

/// The config leaves nothing to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unconfigured(pub String);

/// An error with its causes, each said once, as many errors name their cause themselves; and what to do about it.
pub fn told(error: &anyhow::Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    let told = causes.reduce(|told, cause| if told.contains(&cause) { told } else { format!("{told}: {cause}") });
    let next = missing_step(error).map(|next| format!("\nnext: {next}"));
    told.unwrap_or_default() + &next.unwrap_or_default()
}

/// The exit code that an error is worth: by the first type in its chain that says more than that something failed.
pub fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(exit_code_of).unwrap_or(FAILED)
}

fn exit_code_of(error: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if let Some(SilentExit(code)) = error.downcast_ref() {
        return Some(*code);
    }
    if let Some(error) = error.downcast_ref::<StartError>() {
        return of_start(error);
    }
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return of_store(error);
    }
    if let Some(error) = error.downcast_ref::<BackupError>() {
        return of_backup(error);
    }
    #[cfg(feature = "postgres")]
    if let Some(error) = error.downcast_ref::<CopyError>() {
        return match error {
            CopyError::Taken(error) => of_lock(error),
            CopyError::Store(error) => of_store(error),
            _ => None,
        };
    }
    if let Some(error) = error.downcast_ref::<LockError>() {
        return of_lock(error);
    }
    let is_config = error.is::<LoadError>() || error.is::<Problems>() || error.is::<Unconfigured>();
    (is_config || error.is::<DataDirError>()).then_some(CONFIG)
}

fn of_start(error: &StartError) -> Option<u8> {
    match error {
        StartError::Lock(error) => of_lock(error),
        StartError::Store(error) => of_store(error),
        StartError::Restore(error) => of_backup(error),
        error => error.is_of_config().then_some(CONFIG),
    }
}

fn of_backup(error: &BackupError) -> Option<u8> {
    match error {
        BackupError::Taken(error) => of_lock(error),
        BackupError::Store(error) => of_store(error),
        _ => None,
    }
}

fn of_store(error: &StoreError) -> Option<u8> {
    match error {
        StoreError::Newer { .. } | StoreError::Damaged(_) => Some(DATABASE),
        StoreError::Led(_) => Some(TAKEN),
        _ => None,
    }
}

fn of_lock(error: &LockError) -> Option<u8> {
    matches!(error, LockError::Taken { .. }).then_some(TAKEN)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use hob_model::discover::DiscoverError;

    #[test]
    fn an_error_says_each_of_its_causes_once() {
        let named = BackupError::Taken(LockError::Taken { pid: "7".to_owned(), directory: "/d".to_owned() });
        let shown = named.to_string();
        let error = Err::<(), _>(named).context("while starting").unwrap_err();
        assert_eq!(told(&error), format!("while starting: {shown}"));
    }

    #[test]
    fn n12_each_kind_of_failure_has_its_code() {
        let newer = || StoreError::Newer { found: 9, known: 8 };
        let taken = || LockError::Taken { pid: "7".to_owned(), directory: "/d".to_owned() };
        let listen = StartError::Listen { address: "x".to_owned(), source: std::io::ErrorKind::AddrInUse.into() };
        let table: Vec<(anyhow::Error, u8)> = vec![
            (anyhow::Error::msg("whatever"), FAILED),
            (DataDirError::Homeless.into(), CONFIG),
            (Unconfigured("no channel".to_owned()).into(), CONFIG),
            (StartError::Config("agent.time_zone".to_owned()).into(), CONFIG),
            (listen.into(), FAILED),
            (StartError::Provider(DiscoverError::NoModel).into(), CONFIG),
            // It may be up a moment later.
            (StartError::Provider(DiscoverError::NoOllama).into(), FAILED),
            (StartError::Store(newer()).into(), DATABASE),
            (newer().into(), DATABASE),
            (StoreError::Damaged("page 3".to_owned()).into(), DATABASE),
            (StoreError::Full.into(), FAILED),
            // systemd starts it again, and it stands by.
            (StartError::Store(StoreError::Fenced).into(), FAILED),
            (StartError::Store(StoreError::Led("elsewhere:/data".to_owned())).into(), TAKEN),
            (StartError::Lock(taken()).into(), TAKEN),
            (taken().into(), TAKEN),
            (BackupError::Taken(taken()).into(), TAKEN),
            (StartError::Restore(BackupError::Store(newer())).into(), DATABASE),
            (SilentExit(NOT_RUNNING).into(), NOT_RUNNING),
        ];
        for (error, expected) in table {
            assert_eq!(code(&error), expected, "{error}");
            let shown = error.to_string();
            assert_eq!(code(&Err::<(), _>(error).context("while starting").unwrap_err()), expected, "{shown}");
        }
    }
}
