//! Results that are too long for the model (row C9): cut to head and tail, the whole in a file of its own.
//!
//! Where daemons share a database, it has them as well (`store::chunks`), and the files are copies.
//!
//! The files lie in the data directory, `results/RUN/CALL.txt`, readable for Hob's own user only. They are written and
//! synced before the event that refers to them is committed.
//!
//! Never: a name from outside as a part of a path; see [`ResultId::parse`].
//! Start at [`ResultStore::shorten`]; [`crate::read_result`] reads them.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

use hob_core::domain::ids::{CallId, RunId};
use hob_store::error::StoreError;
use hob_store::{Store, Tx, chunks};

/// The most that is kept of one result, in bytes; of more, head and tail.
pub const BYTES_MAX: usize = 16 << 20;

/// How long a result is kept after its run last had one.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);

/// What a result is called among the database's chunks, before its id.
const SHARED: &str = "result:";

/// What a kept result is called: its run and its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultId {
    pub run: RunId,
    /// The call within it.
    pub call: CallId,
}

impl fmt::Display for ResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.run, self.call)
    }
}

impl ResultId {
    /// The result that `text` names, if it names one: `RUN/CYCLE.INDEX`, digits only.
    pub fn parse(text: &str) -> Option<Self> {
        let (run, call) = text.trim().split_once('/')?;
        let (cycle, index) = call.split_once('.')?;
        let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u32>().ok())?;
        let (cycle, index) = (number(cycle)?, usize::try_from(number(index)?).ok()?);
        let run = run.bytes().all(|byte| byte.is_ascii_digit()).then(|| run.parse::<i64>().ok())??;
        Some(Self { run: RunId(run), call: CallId::new(cycle, index) })
    }
}

/// The results that are kept in one data directory.
#[derive(Debug, Clone)]
pub struct ResultStore {
    dir: PathBuf,
    /// The database that may have them as well.
    shared: Option<Store>,
}

impl ResultStore {
    /// Those of this data directory.
    pub fn of(data_dir: &Path) -> Self {
        Self { dir: data_dir.join("results"), shared: None }
    }

    /// The same, for all daemons that share this database.
    pub fn shared_in(self, store: &Store) -> Self {
        Self { shared: Some(store.clone()), ..self }
    }

    /// What the model is shown of a result: all of it, or head and tail and where the whole is.
    pub async fn shorten(&self, id: ResultId, text: String, chars_max: usize) -> String {
        let Some(ends) = HeadAndTail::of(&text, chars_max) else {
            return text;
        };
        let (head, tail, left_out) = (ends.head.to_owned(), ends.tail.to_owned(), ends.left_out);
        let (path, name) = (self.path(&id), id.to_string());
        let kept = tokio::task::spawn_blocking(move || {
            let whole = bounded(&text, BYTES_MAX);
            keep(&path, &whole).map(|()| whole)
        });
        // At the end, where it survives should the text be cut once more.
        let told = match self.share(&id, kept.await.map_err(io::Error::other).flatten()).await {
            Ok(total) => format!("[All {total} characters: read_result {{\"id\": \"{name}\"}}]"),
            Err(error) => {
                tracing::error!(%error, result = name, "tool.result_lost: a long result could not be kept");
                "[What was left out could not be kept.]".to_owned()
            }
        };
        format!("{head}\n… {left_out} characters left out …\n{tail}\n{told}")
    }

    /// A kept result, whole.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub async fn read(&self, id: &ResultId) -> io::Result<String> {
        let read = tokio::fs::read_to_string(self.path(id)).await;
        let Some(store) = self.shared.as_ref().filter(|_| read.is_err()) else { return read };
        let name = shared_name(id);
        match store.read(async |tx| chunks::get(tx, &name).await).await.map_err(io::Error::other)? {
            Some(bytes) => String::from_utf8(bytes).map_err(io::Error::other),
            None => read,
        }
    }

    /// Has others find what was kept here; gives how long it is.
    async fn share(&self, id: &ResultId, kept: io::Result<String>) -> io::Result<usize> {
        let whole = kept?;
        let total = whole.chars().count();
        if let Some(store) = &self.shared {
            chunks::put(store, &shared_name(id), whole.into_bytes()).await.map_err(io::Error::other)?;
        }
        Ok(total)
    }

    /// Has others find what was kept here of these runs while they could not, as before the state moved to a server.
    ///
    /// # Errors
    /// When something cannot be read or kept; the rest is kept all the same.
    pub async fn share_runs(&self, runs: &[RunId]) -> io::Result<()> {
        let Some(store) = self.shared.as_ref().filter(|store| !store.is_file()) else { return Ok(()) };
        let known = store.read(async |tx| chunks::names(tx, SHARED).await).await.map_err(io::Error::other)?;
        let mut done = Ok(());
        for run in runs {
            let (dir, run) = (self.dir.join(run.to_string()), *run);
            let here = tokio::task::spawn_blocking(move || list_results(&dir, run)).await.map_err(io::Error::other);
            let unshared = match here.flatten() {
                Ok(here) => here.into_iter().filter(|id| known.binary_search(&shared_name(id)).is_err()),
                Err(error) => {
                    done = Err(error);
                    continue;
                }
            };
            for id in unshared {
                if let Err(error) = self.share_whole(store, &id).await {
                    done = Err(error);
                }
            }
        }
        done
    }

    /// In one transaction: where it is, it is whole.
    async fn share_whole(&self, store: &Store, id: &ResultId) -> io::Result<()> {
        let (name, whole): (_, Arc<[u8]>) = (shared_name(id), tokio::fs::read(self.path(id)).await?.into());
        let put = async move |tx: &mut Tx| chunks::put_within(tx, &name, &whole).await;
        store.write(put).await.map_err(io::Error::other)
    }

    /// Deletes the results of runs that ended long before `now`; no conversation shows them any more.
    pub async fn sweep(&self, now: Timestamp) {
        let dir = self.dir.clone();
        let Some(before) = SystemTime::from(now).checked_sub(KEPT) else {
            return;
        };
        match tokio::task::spawn_blocking(move || delete(&dir, before)).await.map_err(io::Error::other).flatten() {
            Ok(0) => {}
            Ok(runs) => tracing::info!(runs, "tool.results_swept"),
            Err(error) => tracing::warn!(%error, "old results cannot be deleted"),
        }
        let kept = SignedDuration::try_from(KEPT).ok().and_then(|kept| now.checked_sub(kept).ok());
        if let (Some(store), Some(before)) = (&self.shared, kept)
            && let Err(error) = drop_shared(store, before.as_millisecond()).await
        {
            tracing::warn!(%error, "old results cannot be deleted in the database");
        }
    }

    /// The runs of which results are kept.
    pub async fn runs(&self) -> io::Result<Vec<RunId>> {
        let dir = self.dir.clone();
        let mut runs = tokio::task::spawn_blocking(move || list(&dir)).await.map_err(io::Error::other).flatten()?;
        if let Some(store) = &self.shared {
            let names = store.read(async |tx| chunks::names(tx, SHARED).await).await.map_err(io::Error::other)?;
            let of = |name: &String| ResultId::parse(name.strip_prefix(SHARED)?).map(|id| id.run);
            runs.extend(names.iter().filter_map(of));
            runs.sort_unstable();
            runs.dedup();
        }
        Ok(runs)
    }

    /// Deletes the results of a run.
    pub async fn drop_run(&self, run: RunId) -> io::Result<()> {
        if let Some(store) = &self.shared {
            let beginning = format!("{SHARED}{run}/");
            let dropping = store.write(async move |tx| chunks::drop_old(tx, &beginning, i64::MAX).await);
            dropping.await.map_err(io::Error::other)?;
        }
        match tokio::fs::remove_dir_all(self.dir.join(run.to_string())).await {
            // Another daemon kept it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.shared.is_some() => Ok(()),
            done => done,
        }
    }

    fn path(&self, id: &ResultId) -> PathBuf {
        self.dir.join(id.run.to_string()).join(format!("{}.txt", id.call))
    }
}

/// Drops the results that the database has had since before then, in Unix milliseconds.
async fn drop_shared(store: &Store, before: i64) -> Result<(), StoreError> {
    if store.read(async |tx| chunks::names(tx, SHARED).await).await?.is_empty() {
        return Ok(());
    }
    store.write(async move |tx| chunks::drop_old(tx, SHARED, before).await).await
}

fn shared_name(id: &ResultId) -> String {
    format!("{SHARED}{id}")
}

/// The results of a run; nothing: it has none here.
fn list_results(dir: &Path, run: RunId) -> io::Result<Vec<ResultId>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut results = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string().unwrap_or_default();
        results.extend(name.strip_suffix(".txt").and_then(|call| ResultId::parse(&format!("{run}/{call}"))));
    }
    Ok(results)
}

/// The runs that have a directory.
fn list(dir: &Path) -> io::Result<Vec<RunId>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        runs.extend(entry?.file_name().to_str().and_then(|name| name.parse().ok()).map(RunId));
    }
    Ok(runs)
}

/// Deletes the directories in which nothing was written since then; returns how many.
fn delete(dir: &Path, before: SystemTime) -> io::Result<usize> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut deleted = 0;
    for entry in entries {
        let entry = entry?;
        if entry.metadata()?.modified()? < before {
            fs::remove_dir_all(entry.path())?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// Writes a file so that it is there, whole, whatever happens after.
fn keep(path: &Path, text: &str) -> io::Result<()> {
    let (Some(dir), Some(all)) = (path.parent(), path.parent().and_then(Path::parent)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let being_written = path.with_extension("part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&being_written)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&being_written, path)?;
    for dir in [Some(dir), Some(all), all.parent()].into_iter().flatten() {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

/// The head and the tail of a text that is too long.
#[derive(Debug, PartialEq, Eq)]
struct HeadAndTail<'a> {
    head: &'a str,
    tail: &'a str,
    left_out: usize,
}

impl<'a> HeadAndTail<'a> {
    /// None if it is short enough.
    fn of(text: &'a str, chars_max: usize) -> Option<Self> {
        // Most are short: a text has at most as many characters as bytes.
        if text.len() <= chars_max {
            return None;
        }
        let count = text.chars().count();
        if count <= chars_max {
            return None;
        }
        let half = chars_max / 2;
        let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
        let (head, tail) = (&text[..at(half)], &text[at(count - half)..]);
        Some(Self { head, tail, left_out: count - 2 * half })
    }
}

/// The text, or its head and tail if it has more bytes than that.
fn bounded(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(bytes_max / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - bytes_max / 2)..];
    format!("{head}\n… {} bytes left out …\n{tail}", text.len() - head.len() - tail.len())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn id() -> ResultId {
        ResultId { run: RunId(12), call: CallId::new(3, 0) }
    }

    #[test]
    fn c9_ids_are_numbers_and_nothing_else() {
        assert_eq!(ResultId::parse("12/3.0"), Some(id()));
        assert_eq!(ResultId::parse(" 12/3.0\n"), Some(id()));
        assert_eq!(id().to_string(), "12/3.0");
        for wrong in [
            "",
            "12",
            "12/3",
            "/3.0",
            "12/",
            "12/.0",
            "12/3.",
            "../3.0",
            "12/../3.0",
            "+12/3.0",
            "-1/3.0",
            "12/3.0/x",
            "12/+3.0",
            "12/3.0.txt",
            "12\\3.0",
            "99999999999999999999/1.0",
            "12/4294967296.0",
        ] {
            assert_eq!(ResultId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn c9_the_middle_goes_at_the_first_character_too_many() {
        assert_eq!(HeadAndTail::of("äöüß", 4), None);
        assert_eq!(HeadAndTail::of("äöüßa", 4), Some(HeadAndTail { head: "äö", tail: "ßa", left_out: 1 }));
        assert_eq!(HeadAndTail::of("abcdef", 5), Some(HeadAndTail { head: "ab", tail: "ef", left_out: 2 }));
        assert_eq!(HeadAndTail::of("", 0), None);
        assert_eq!(HeadAndTail::of("a", 0), Some(HeadAndTail { head: "", tail: "", left_out: 1 }));
    }

    #[test]
    fn c9_a_file_has_a_bound_and_whole_characters() {
        assert_eq!(bounded("12345678", 8), "12345678");
        assert_eq!(bounded("123456789", 8), "1234\n… 1 bytes left out …\n6789");
        assert_eq!(bounded("ääääää", 6), "ä\n… 8 bytes left out …\nä");
    }

    #[tokio::test]
    async fn c9_what_is_cut_can_be_read_whole_by_its_id() {
        let dir = tempfile::tempdir().unwrap();
        let results = ResultStore::of(dir.path());
        assert_eq!(results.shorten(id(), "short".to_owned(), 10).await, "short");
        assert!(results.read(&id()).await.is_err(), "what is short needs no file");
        let long = "0123456789abcdefghij".to_owned();
        let shown = results.shorten(id(), long.clone(), 10).await;
        insta::assert_snapshot!(shown, @r#"
        01234
        … 10 characters left out …
        fghij
        [All 20 characters: read_result {"id": "12/3.0"}]
        "#);
        assert_eq!(results.read(&id()).await.unwrap(), long);
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(results.path(&id())), 0o600);
        assert_eq!(mode(dir.path().join("results")), 0o700);
        // A second attempt has the last word.
        results.shorten(id(), "x".repeat(11), 10).await;
        assert_eq!(results.read(&id()).await.unwrap(), "x".repeat(11));
    }

    #[tokio::test]
    async fn c9_a_result_that_cannot_be_kept_is_cut_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("results"), "in the way").unwrap();
        let shown = ResultStore::of(dir.path()).shorten(id(), "0123456789ab".to_owned(), 10).await;
        insta::assert_snapshot!(shown, @r"
        01234
        … 2 characters left out …
        789ab
        [What was left out could not be kept.]
        ");
    }

    #[tokio::test]
    async fn c9_results_are_deleted_after_a_month() {
        let dir = tempfile::tempdir().unwrap();
        let results = ResultStore::of(dir.path());
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        results.sweep(now).await;
        let age = |id: &ResultId, age: Duration| {
            let made = File::open(results.path(id).parent().unwrap()).unwrap();
            made.set_modified(SystemTime::from(now) - age).unwrap();
        };
        let old = ResultId { run: RunId(11), call: CallId::new(1, 0) };
        for id in [&old, &id()] {
            results.shorten(id.clone(), "x".repeat(11), 10).await;
        }
        age(&old, KEPT + Duration::from_secs(1));
        age(&id(), KEPT);
        assert_eq!(results.runs().await.unwrap().len(), 2);
        results.sweep(now).await;
        assert_eq!(results.read(&old).await.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(results.read(&id()).await.is_ok());
        results.drop_run(id().run).await.unwrap();
        assert_eq!(results.runs().await.unwrap(), Vec::new());
    }
}
