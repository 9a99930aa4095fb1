//! In which data directories the good configs of a file may lie, whatever has become of the file.
//!
//! `[state] dir` can say where the data is, and stands in the very file that cannot be used. So it is noted in the usual data
//! directory, which is known without any file.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::data_dir::data_dir;
use crate::environment::Environment;
use crate::good_configs::SPARE;
use crate::load;
use crate::state::StateConfig;
use crate::writer::commit;

/// The notes: a config file's path, and the data directory of the Hob that ran on it.
const NOTES: &str = "places.toml";

/// The data directories that count for this file, the likeliest first.
pub(super) fn all(file: &Path, env: &Environment) -> Vec<PathBuf> {
    if let Some(home) = env.path("HOB_HOME") {
        return vec![home];
    }
    let mut found: Vec<PathBuf> = Vec::new();
    let stated = load::stated(Some(file), env).dir.map(|dir| env.seen_from_here(&dir));
    for dir in [stated, noted_data_dir(file, env), usual(env)].into_iter().flatten() {
        if !found.contains(&dir) {
            found.push(dir);
        }
    }
    found
}

/// The data directory that was noted for this file; none: it is the usual one, or nothing was kept there.
pub(crate) fn noted_data_dir(file: &Path, env: &Environment) -> Option<PathBuf> {
    let dir = read(&notes(env)?).remove(&name(file)?)?;
    dir.as_str().map(PathBuf::from)
}

/// Notes the data directory of this file, unless it is found without a note.
///
/// # Errors
/// When the usual data directory takes no note.
pub(super) fn note_data_dir(file: &Path, dir: &Path, env: &Environment) -> io::Result<()> {
    let dir = env.seen_from_here(dir);
    let is_known = env.path("HOB_HOME").is_some() || usual(env).is_none_or(|usual| usual == dir);
    let (false, Some(notes), Some(name), Some(dir)) = (is_known, notes(env), name(file), dir.to_str()) else {
        return Ok(());
    };
    let mut table = read(&notes);
    if table.get(&name).and_then(Value::as_str) == Some(dir) {
        return Ok(());
    }
    table.insert(name, Value::String(dir.to_owned()));
    DirBuilder::new().recursive(true).mode(0o700).create(commit::folder(&notes))?;
    commit::put(&notes, table.to_string().as_bytes(), &mut |_| {})
}

fn usual(env: &Environment) -> Option<PathBuf> {
    data_dir(&StateConfig::default(), env).ok()
}

fn notes(env: &Environment) -> Option<PathBuf> {
    Some(usual(env)?.join(SPARE).join(NOTES))
}

fn name(file: &Path) -> Option<String> {
    std::path::absolute(file).ok()?.to_str().map(str::to_owned)
}

/// Notes that cannot be read say nothing.
fn read(notes: &Path) -> Table {
    fs::read_to_string(notes).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}
