//! What models were found to refuse, across restarts: a small file beside the database.
//!
//! Never: anything that is needed. Without the file each model is asked anew; whoever deletes it makes Hob forget.
//! Start at `LearnedFile::open`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hob_core::domain::lock::lock;
use hob_model::refused_parameters::{RefusedParameterStore, RefusedParameters};

/// The file's name in the data directory.
const NAME: &str = "learned.json";

pub(super) struct LearnedFile {
    path: PathBuf,
    known: Mutex<BTreeMap<String, RefusedParameters>>,
}

impl LearnedFile {
    /// Reads the file, if there is one that can be read.
    pub(super) fn open(data_dir: &Path) -> Self {
        let path = data_dir.join(NAME);
        let known = read(&path).unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "what models refuse is learned anew");
            }
            BTreeMap::new()
        });
        Self { path, known: Mutex::new(known) }
    }
}

impl RefusedParameterStore for LearnedFile {
    fn load(&self, place: &str) -> RefusedParameters {
        let known = lock(&self.known);
        known.get(place).cloned().unwrap_or_default()
    }

    fn learned(&self, place: &str, learned: &RefusedParameters) {
        let mut known = lock(&self.known);
        known.insert(place.to_owned(), learned.clone());
        if let Err(error) = write(&self.path, &known) {
            tracing::warn!(path = %self.path.display(), %error, "what the model refuses is forgotten with the process");
        }
    }
}

fn read(path: &Path) -> io::Result<BTreeMap<String, RefusedParameters>> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

/// Writes beside the file and takes its place: whatever happens, one of the two is whole.
fn write(path: &Path, known: &BTreeMap<String, RefusedParameters>) -> io::Result<()> {
    let beside = path.with_extension("json.new");
    let mut file = fs::File::create(&beside)?;
    serde_json::to_writer_pretty(&mut file, known)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_outlives_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let learned: RefusedParameters = serde_json::from_str(r#"["temperature"]"#).unwrap();
        let file = LearnedFile::open(dir.path());
        assert_eq!(file.load("a/b at http://h"), RefusedParameters::default());
        file.learned("a/b at http://h", &learned);
        let again = LearnedFile::open(dir.path());
        assert_eq!(again.load("a/b at http://h"), learned);
        assert_eq!(again.load("a/c at http://h"), RefusedParameters::default());
        fs::write(dir.path().join(NAME), "{broken").unwrap();
        let broken = LearnedFile::open(dir.path());
        assert_eq!(broken.load("a/b at http://h"), RefusedParameters::default());
        broken.learned("a/b at http://h", &learned);
        assert_eq!(LearnedFile::open(dir.path()).load("a/b at http://h"), learned);
    }
}
