//! `hob backup` and `hob restore`.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::cli::next_step::refuse;
use crate::cli::progress::Progress;
use crate::cli::replay::phrases::{count_of, utc_text};
use crate::cli::{load_running_config, runtime, show};
use crate::daemon::backups::folder;
use hob_config::Config;
use hob_config::data_dir::{create_data_dir, data_dir};
use hob_config::edit;
use hob_config::environment::Environment;
use hob_config::load::LoadedConfig;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::rng::{Rng as _, SystemRng};
use hob_core::domain::text::size;
use hob_store::backup::archives;
use hob_store::backup::make::{self, BackupRequest, CreatedBackup};
use hob_store::backup::restore::{self, Archive};
use hob_store::backup::seal::{Identities, Recipients, is_sealed};
use hob_store::backup::{BackupError, ByteCount};
use hob_store::place::{DATABASE, StatePlace};

/// What `hob backup` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct BackupArguments {
    /// The folder for the archive; by default the one in `[backup]`
    #[arg(value_name = "FOLDER")]
    to: Option<PathBuf>,
    /// Keep this many of this Hob's newest archives there, and delete the others
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
    /// Encrypt it to this age public key (`age1…`) as well as those that `[backup]` names; can be given more than once
    #[arg(long, value_name = "KEY")]
    recipient: Vec<String>,
}

/// What `hob restore` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RestoreArguments {
    /// The archive
    #[arg(value_name = "FILE")]
    archive: PathBuf,
    /// Only check it, down to the last byte; nothing is changed
    #[arg(long)]
    verify: bool,
    /// For an encrypted archive: the file with the secret key (from `age-keygen`)
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

/// The config's text without its secrets.
fn config(loaded: &LoadedConfig) -> anyhow::Result<Option<String>> {
    if loaded.path.is_none() {
        return Ok(None);
    }
    Ok(Some(edit::shown(loaded.source.expose())?))
}

/// Makes a backup.
pub(super) fn make(arguments: BackupArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let loaded = load_running_config(named, &environment)?;
    let data_dir = data_dir(&loaded.config.state, &environment)?;
    let to = arguments.to.unwrap_or_else(|| folder(&data_dir, loaded.config.backup.dir.as_ref()));
    let backup = &loaded.config.backup;
    let named: Vec<String> = arguments.recipient.iter().chain(&backup.recipient).cloned().collect();
    let recipients = Recipients::read(&named, backup.recipients_file.as_deref())?;
    let is_sealed = !recipients.is_empty();
    let (now, random) = (SystemClock.now(), SystemRng.id());
    let order = BackupRequest {
        data_dir: data_dir.clone(),
        state: StatePlace::of(loaded.config.state.url.as_ref(), &data_dir),
        config: config(&loaded)?,
        to: to.clone(),
        recipients,
        now,
        random,
        packed: Arc::default(),
    };
    let packed = Arc::clone(&order.packed);
    let made = runtime()?.block_on(with_progress("Packing", &packed, until_interrupted(order)))?;
    let mut told = result_lines(&made, is_sealed);
    if let Some(workspace) = extra_check(&loaded.config, &data_dir) {
        told.push(format!("{} is not in it: keep a copy of that folder yourself", workspace.display()));
    }
    if let Some(keep) = arguments.keep {
        let gone = archives::thin_out(&data_dir, &made, usize::from(keep), now);
        let gone = gone.with_context(|| to.display().to_string())?;
        told.push(format!("{gone} older archives deleted"));
    }
    Ok(show(&(told.join("\n") + "\n"))?)
}

/// So many of the names of what is not in an archive are said.
const NAMED_MAX: usize = 5;

/// What was made, and what is not in it.
fn result_lines(made: &CreatedBackup, is_sealed: bool) -> Vec<String> {
    let mut told = vec![format!(
        "{}: {}, {}, checked{}",
        made.path.display(),
        count_of(made.files as u64, "file"),
        size(made.bytes),
        if is_sealed { ", encrypted" } else { "" }
    )];
    if made.gone > 0 {
        told.push(format!("not in it, as forgotten or let go as old: {}", count_of(made.gone as u64, "file")));
    }
    if !made.skipped.is_empty() {
        let names: Vec<String> = made.skipped.iter().take(NAMED_MAX).map(|path| path.display().to_string()).collect();
        let more = if made.skipped.len() > names.len() { ", …" } else { "" };
        let count = made.skipped.len();
        told.push(format!(
            "{count} not in it, as they are links, no files, or have names that are not UTF-8: {}{more}",
            names.join(", ")
        ));
    }
    told
}

/// The folder that tools work in, where that is not in the data directory.
fn extra_check<'a>(config: &'a Config, data_dir: &Path) -> Option<&'a Path> {
    config.workspace.dir.as_deref().filter(|dir| !dir.starts_with(data_dir.join("workspace")))
}

/// Ctrl-C ends it, and it takes away what it has begun.
async fn until_interrupted(order: BackupRequest) -> Result<CreatedBackup, BackupError> {
    let stop = CancellationToken::new();
    let mut making = pin!(make::make(order, &stop));
    tokio::select! {
        made = &mut making => return made,
        _ = tokio::signal::ctrl_c() => stop.cancel(),
    }
    making.await
}

/// How often it is looked how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Does it, and shows meanwhile how far it is.
async fn with_progress<T>(what: &'static str, count: &ByteCount, work: impl Future<Output = T>) -> T {
    let progress = Progress::begin(what);
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(LOOK_EVERY) => {
                let (done, all) = count.now();
                progress.at(done, all);
            }
        }
    }
}

/// Where an archive is unpacked to be checked: beside it, as there is room for such things; but what is encrypted is never in the
/// clear on that disk, if there is a data directory. On a medium that is only read, in the data directory, or where there is none,
/// in the folder for what is temporary.
fn scratch(archive: &Path, named: Option<&Path>) -> PathBuf {
    let beside = archive.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let environment = Environment::of_process();
    let own = || {
        data_dir(&load_running_config(named, &environment).ok()?.config.state, &environment)
            .ok()
            .filter(|dir| dir.is_dir())
    };
    let beside = || Some(beside.to_path_buf());
    let writable = |place: &PathBuf| rustix::fs::access(place, rustix::fs::Access::WRITE_OK).is_ok();
    let found = if is_sealed(archive) {
        own().filter(writable).or_else(|| beside().filter(writable))
    } else {
        beside().filter(writable).or_else(|| own().filter(writable))
    };
    found.unwrap_or_else(std::env::temp_dir)
}

/// Checks a backup, and restores it.
///
/// # Errors
/// When it is not whole, or a Hob is at work.
pub(super) fn restore(arguments: &RestoreArguments, named: Option<&Path>) -> anyhow::Result<()> {
    if matches!(arguments.archive.try_exists(), Ok(false)) {
        let path = arguments.archive.display();
        refuse!("there is no {path}"; "backups lie in `backups` in the data directory, or where `[backup]` says");
    }
    let identities = arguments.identity.as_deref().map(Identities::read).transpose()?.unwrap_or_default();
    let archive = &Archive { path: arguments.archive.clone(), identities, read: Arc::default() };
    if arguments.verify {
        let scratch = scratch(&archive.path, named);
        let manifest =
            runtime()?.block_on(with_progress("Checking", &archive.read, restore::verify(archive, &scratch)))?;
        let archive = &archive.path;
        let (made_at, schema) = (utc_text(manifest.made_at), manifest.schema);
        let files = count_of(manifest.entries.len() as u64, "file");
        let told = format!("{}: whole. {files}, made at {made_at} UTC, schema {schema}\n", archive.display());
        return Ok(show(&told)?);
    }
    let environment = Environment::of_process();
    let state = load_running_config(named, &environment)?.config.state;
    let data_dir = data_dir(&state, &environment)?;
    create_data_dir(&data_dir)?;
    let restoring = restore::restore(archive, &data_dir, SystemClock.now());
    let restored = runtime()?.block_on(with_progress("Unpacking", &archive.read, restoring))?;
    let (made_at, before) = (utc_text(restored.manifest.made_at), restored.before.display());
    let mut told =
        vec![format!("Restored to {made_at} UTC. The data of before is in {before}; delete it when all is well.")];
    if state.url.is_some() {
        let file = data_dir.join(DATABASE);
        told.push(format!(
            "The database is the file {0}. To put it on the server: empty its database, then `hob state copy --from {0}`.",
            file.display()
        ));
    }
    told.extend(restored.config.map(|config| {
        format!("The config of then, without its secrets, is {}; the one in use is as it was.", config.display())
    }));
    Ok(show(&(told.join("\n") + "\n"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_what_is_not_in_an_archive_is_said() {
        let made = |gone, skipped: &[&str]| {
            let skipped = skipped.iter().map(PathBuf::from).collect();
            result_lines(&CreatedBackup { path: "/b/a.tar.gz".into(), bytes: 7, files: 3, gone, skipped }, false)
                .join("\n")
        };
        insta::assert_snapshot!(made(0, &[]), @"/b/a.tar.gz: 3 files, 1 kB, checked");
        insta::assert_snapshot!(made(2, &["workspace/link", "workspace/pipe"]), @r"
        /b/a.tar.gz: 3 files, 1 kB, checked
        not in it, as forgotten or let go as old: 2 files
        2 not in it, as they are links, no files, or have names that are not UTF-8: workspace/link, workspace/pipe
        ");
        insta::assert_snapshot!(made(0, &["1", "2", "3", "4", "5", "6"]), @r"
        /b/a.tar.gz: 3 files, 1 kB, checked
        6 not in it, as they are links, no files, or have names that are not UTF-8: 1, 2, 3, 4, 5, …
        ");
        let mut config = Config::default();
        assert_eq!(extra_check(&config, Path::new("/data")), None);
        for (dir, expected) in
            [("/data/workspace/in", None), ("/srv/work", Some("/srv/work")), ("/data/other", Some("/data/other"))]
        {
            config.workspace.dir = Some(dir.into());
            assert_eq!(extra_check(&config, Path::new("/data")), expected.map(Path::new), "{dir}");
        }
    }
}
