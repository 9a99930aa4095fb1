//! Hears when something happens to the config file: by the folder it lies in, since editors put another file in its place.
//!
//! Start at [`ConfigWatcher::of`]. Whoever misses something looks again from time to time: an ear can fail.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The file counts as settled when nothing has happened to it for so long.
const SETTLE: Duration = Duration::from_millis(150);
/// Whatever goes on is looked at after so long.
const SETTLE_MAX: Duration = Duration::from_secs(1);

/// Hears of a file.
pub(super) struct ConfigWatcher {
    happened: Arc<Notify>,
    /// Something has happened that nobody has been told of.
    is_pending: bool,
    _watcher: Option<RecommendedWatcher>,
}

impl ConfigWatcher {
    /// Of this one. Where the system lets nobody listen, that is told, and nothing is ever heard.
    pub(super) fn of(file: &Path) -> Self {
        let happened = Arc::new(Notify::new());
        let watcher = listen(file, &happened).inspect_err(|error| {
            tracing::warn!(file = %file.display(), %error, "config.unwatched: a change is seen within minutes, or by SIGHUP");
        });
        Self { happened, is_pending: false, _watcher: watcher.ok() }
    }

    /// Waits until something has happened, and nothing has happened since for a moment. A wait that is given up forgets
    /// nothing.
    pub(super) async fn settled(&mut self) {
        if !self.is_pending {
            self.happened.notified().await;
            self.is_pending = true;
        }
        let last = Instant::now() + SETTLE_MAX;
        while Instant::now() < last && tokio::time::timeout(SETTLE, self.happened.notified()).await.is_ok() {}
        self.is_pending = false;
    }
}

fn listen(file: &Path, happened: &Arc<Notify>) -> notify::Result<RecommendedWatcher> {
    let (folders, names) = places(file);
    let bell = Arc::clone(happened);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Whatever went wrong, a look costs little.
        if event.map_or(true, |event| concerns(&event, &names)) {
            bell.notify_one();
        }
    })?;
    for folder in folders {
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

/// The folders to listen in, and the names that count there: those of the file, and of what it points to.
fn places(file: &Path) -> (BTreeSet<PathBuf>, BTreeSet<OsString>) {
    let target = file.canonicalize().ok();
    let files = || std::iter::once(file).chain(target.as_deref());
    let folder = |file: &Path| file.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_owned);
    let names = files().filter_map(|file| file.file_name().map(OsString::from)).collect();
    (files().filter_map(folder).collect(), names)
}

/// Is it about the file? A folder that is mounted as a whole is exchanged by a link whose name begins with two dots.
fn concerns(event: &notify::Event, names: &BTreeSet<OsString>) -> bool {
    let is_read = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => false,
    };
    // A folder that is mounted is exchanged by its name: what is written to a file of such a name, a log perhaps, is no exchange.
    let is_written =
        matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any));
    let is_meant = |path: &PathBuf| {
        let Some(name) = path.file_name() else { return true };
        names.contains(name) || !is_written && name.as_encoded_bytes().starts_with(b"..")
    };
    // Without a path it is about the whole, e.g. that something was missed.
    !is_read && (event.paths.is_empty() || event.paths.iter().any(is_meant))
}

#[cfg(test)]
mod tests {
    use notify::Event;
    use notify::event::{CreateKind, DataChange, RemoveKind, RenameMode};

    use super::*;

    #[test]
    fn k5_what_counts_is_the_file_and_what_it_points_to() {
        let names = BTreeSet::from(["config.toml".into()]);
        let heard = |kind: EventKind, path: &str| concerns(&Event::new(kind).add_path(path.into()), &names);
        assert!(heard(EventKind::Modify(ModifyKind::Any), "/etc/hob/config.toml"));
        assert!(heard(EventKind::Create(CreateKind::File), "/etc/hob/config.toml"));
        assert!(heard(EventKind::Remove(RemoveKind::File), "/etc/hob/config.toml"));
        assert!(heard(EventKind::Create(CreateKind::Any), "/etc/hob/..data"));
        assert!(heard(EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/etc/hob/..data"));
        assert!(!heard(EventKind::Modify(ModifyKind::Data(DataChange::Any)), "/etc/hob/..hob.log"));
        assert!(!heard(EventKind::Access(AccessKind::Close(AccessMode::Write)), "/etc/hob/..hob.log"));
        assert!(heard(EventKind::Access(AccessKind::Close(AccessMode::Write)), "/etc/hob/config.toml"));
        assert!(!heard(EventKind::Access(AccessKind::Open(AccessMode::Read)), "/etc/hob/config.toml"));
        assert!(!heard(EventKind::Modify(ModifyKind::Any), "/etc/hob/hob.db-wal"));
        assert!(!heard(EventKind::Modify(ModifyKind::Any), "/etc/hob/.config.toml.swp"));
    }

    #[tokio::test]
    async fn k5_an_editor_that_puts_another_file_in_place_is_heard_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "a = 1").unwrap();
        let mut ear = ConfigWatcher::of(&file);
        for text in ["a = 2", "a = 3"] {
            std::fs::write(dir.path().join("new"), text).unwrap();
            std::fs::rename(dir.path().join("new"), &file).unwrap();
        }
        ear.settled().await;
        assert!(tokio::time::timeout(SETTLE, ear.settled()).await.is_err(), "twice in a moment is once");
        std::fs::read(&file).unwrap();
        assert!(tokio::time::timeout(SETTLE, ear.settled()).await.is_err(), "who reads changes nothing");
        std::fs::remove_file(&file).unwrap();
        let given_up = tokio::time::timeout(SETTLE / 2, ear.settled()).await;
        assert!(given_up.is_err(), "it has not settled yet");
        ear.settled().await;
    }
}
