//! Sees that skills changed on the disk, and has them read again.
//!
//! Editors replace files, and write in several steps: it waits for quiet. Where the system cannot watch (a network disk, no
//! watches left), the folders are looked at from time to time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::library::Library;

/// How long it must have been quiet.
const QUIET: Duration = Duration::from_millis(200);
/// How long one waits for that at most.
const QUIET_MAX: Duration = Duration::from_secs(2);
/// How often is looked where nothing can be watched.
const POLL: Duration = Duration::from_secs(15);
/// How often is looked whether vectors are to be made.
const PREPARE: Duration = Duration::from_secs(60);

/// Keeps the library as its folders are, until the stop. `loaded` counts how often it was read, from 1 when all is watched.
pub async fn keep_up(library: Arc<Library>, loaded: watch::Sender<u64>, stop: CancellationToken) {
    let (changed, mut changes) = mpsc::channel(1);
    let watcher = watcher(&library, &changed);
    // What was written before it was watched is seen by this.
    if !read_again(&library, &stop).await {
        return;
    }
    loaded.send_modify(|count| *count += 1);
    let every = if watcher.is_some() { PREPARE } else { POLL };
    loop {
        library.prepare().await;
        let seen = tokio::select! {
            () = stop.cancelled() => return,
            seen = changes.recv() => seen.is_some(),
            () = tokio::time::sleep(every) => false,
        };
        if !seen && watcher.is_some() {
            continue;
        }
        if seen {
            until_quiet(&mut changes).await;
        }
        if !read_again(&library, &stop).await {
            return;
        }
        loaded.send_modify(|count| *count += 1);
    }
}

/// Reads the folders where that holds nobody up; false at the stop.
async fn read_again(library: &Arc<Library>, stop: &CancellationToken) -> bool {
    let reading = Arc::clone(library);
    let read = tokio::task::spawn_blocking(move || reading.reload());
    tokio::select! {
        () = stop.cancelled() => false,
        read = read => {
            if let Err(error) = read {
                tracing::error!(%error, "skills could not be read again; they stay as they were");
            }
            true
        }
    }
}

async fn until_quiet(changes: &mut mpsc::Receiver<()>) {
    let last = Instant::now() + QUIET_MAX;
    while Instant::now() < last {
        // Its end means quiet as well: nobody is left to tell of changes.
        if !matches!(tokio::time::timeout(QUIET, changes.recv()).await, Ok(Some(()))) {
            return;
        }
    }
}

/// Watches all folders; none where one of them cannot be watched.
fn watcher(library: &Library, changed: &mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let places = library.places();
    if let Err(error) = std::fs::create_dir_all(&places.installed) {
        tracing::warn!(%error, "the folder of installed skills cannot be made");
    }
    let all = [&places.installed].into_iter().chain(&places.configured);
    match watching(all.map(PathBuf::as_path), changed) {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            let secs = POLL.as_secs();
            tracing::warn!(%error, secs, "skills.polled: their folders cannot be watched, so they are looked at from time to time");
            None
        }
    }
}

fn watching<'a>(
    folders: impl Iterator<Item = &'a Path>,
    changed: &mpsc::Sender<()>,
) -> notify::Result<RecommendedWatcher> {
    let (changed, folders) = (changed.clone(), folders.map(Path::to_owned).collect::<Vec<_>>());
    let places = folders.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Whatever went wrong, a look costs little.
        let is_change = event.map_or(true, |event| matters(&event, &places));
        // One that is told already is enough.
        if is_change && matches!(changed.try_send(()), Err(mpsc::error::TrySendError::Closed(()))) {
            tracing::debug!("nobody waits for changes of skills any more");
        }
    })?;
    for folder in &folders {
        watcher.watch(folder, RecursiveMode::Recursive)?;
    }
    Ok(watcher)
}

/// May it have changed a skill? To have read a file changes nothing, and reading is what follows. A skill is a folder: what is
/// written to a file beside those is none of them, be it the log, which tells of each reading.
fn matters(event: &notify::Event, places: &[PathBuf]) -> bool {
    let is_read =
        matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(notify::event::AccessMode::Write));
    let is_written = matches!(event.kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)));
    let is_beside =
        |path: &PathBuf| places.iter().any(|place| path.parent() == Some(place.as_path())) && path.is_file();
    let is_loose = is_written && !event.paths.is_empty() && event.paths.iter().all(is_beside);
    !is_read && !is_loose
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
mod tests {
    use super::*;
    use crate::loaded_skills::SkillFolders;
    use hob_core::domain::redactor::Redactor;
    use hob_core::domain::skills::SkillBook as _;
    use hob_memory::embedding_service::EmbeddingService;
    use hob_store::{SchedulingMode, Store};

    fn skill(name: &str, body: &str) -> String {
        format!("---\nname: {name}\ndescription: For tests.\n---\n{body}\n")
    }

    #[test]
    fn k4_what_is_written_beside_the_skills_changes_none() {
        use notify::event::{AccessMode, CreateKind, DataChange};
        let home = tempfile::tempdir().unwrap();
        let places = [home.path().to_owned()];
        std::fs::create_dir(home.path().join("tea")).unwrap();
        std::fs::write(home.path().join("tea/SKILL.md"), "x").unwrap();
        std::fs::write(home.path().join("hob.log"), "x").unwrap();
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        for (kind, path, is_change) in [
            (written, "hob.log", false),
            (closed, "hob.log", false),
            (written, "tea/SKILL.md", true),
            (closed, "tea/SKILL.md", true),
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), "tea/SKILL.md", false),
            (EventKind::Create(CreateKind::Any), "new", true),
            (EventKind::Any, "hob.log", true),
        ] {
            let event = notify::Event::new(kind).add_path(home.path().join(path));
            assert_eq!(matters(&event, &places), is_change, "{event:?}");
        }
    }

    #[tokio::test]
    async fn k4_what_changes_on_the_disk_is_read_again() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("own");
        std::fs::create_dir_all(own.join("first")).unwrap();
        let file = own.join("first/SKILL.md");
        std::fs::write(&file, skill("first", "One.")).unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let places = SkillFolders::of(home.path(), vec![own.clone()]);
        let library =
            Arc::new(Library::open(store, places, Redactor::default(), Arc::new(EmbeddingService::default())));
        let (loaded, mut seen) = watch::channel(0);
        let stop = CancellationToken::new();
        let task = tokio::spawn(keep_up(Arc::clone(&library), loaded, stop.clone()));
        seen.changed().await.unwrap();
        let before = library.open("first", None).await.unwrap();

        // As editors do it: a new file in the old one's place.
        std::fs::write(own.join("first/.SKILL.md.new"), skill("first", "Two.")).unwrap();
        std::fs::rename(own.join("first/.SKILL.md.new"), &file).unwrap();
        while library.open("first", None).await.unwrap().text != "Two." {
            seen.changed().await.unwrap();
        }
        assert_eq!(before.text, "One.", "who read it goes on with what it was");

        // A folder that was not there, and a skill that breaks.
        std::fs::create_dir(own.join("second")).unwrap();
        std::fs::write(own.join("second/SKILL.md"), skill("second", "New.")).unwrap();
        while library.open("second", None).await.is_err() {
            seen.changed().await.unwrap();
        }
        std::fs::write(&file, "---\nname: first\n").unwrap();
        while library.open("first", None).await.is_ok() {
            seen.changed().await.unwrap();
        }
        let list = library.list().await.unwrap();
        assert!(list.quarantined[0].place.ends_with("first/SKILL.md:2"), "{list:?}");
        std::fs::remove_dir_all(own.join("second")).unwrap();
        while library.open("second", None).await.is_ok() {
            seen.changed().await.unwrap();
        }
        stop.cancel();
        task.await.unwrap();
    }
}
