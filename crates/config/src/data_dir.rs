//! The data directory: where it is, and that it is there, ours and writable.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::good_configs::{self, data_dir_notes};
use crate::load;
use crate::state::StateConfig;

/// Why there is no data directory.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Nothing says where it should be.
    #[error("no place for the data: set $HOB_HOME, or `dir` in [state] of config.toml, or $HOME")]
    Homeless,
    /// Something else stands there or on the way.
    #[error("{}: is not a directory, so {} cannot be the data directory; move it away or set $HOB_HOME", file.display(), dir.display())]
    NotADirectory {
        /// The data directory.
        dir: PathBuf,
        /// What stands there or on the way.
        file: PathBuf,
    },
    /// It is on a read-only file system.
    #[error("{}: is read-only, but Hob keeps its data there; make it writable or set $HOB_HOME", dir.display())]
    ReadOnly {
        /// The data directory.
        dir: PathBuf,
    },
    /// This user may not write there.
    #[error("{}: this user may not write there; give it to the user Hob runs as or set $HOB_HOME", dir.display())]
    Denied {
        /// The data directory.
        dir: PathBuf,
    },
    /// Anything else.
    #[error("{}: cannot be made the data directory: {why}", dir.display())]
    Failed {
        /// The data directory.
        dir: PathBuf,
        /// What the system says.
        why: io::Error,
    },
}

/// Where the data is: `$HOB_HOME`, else `[state] dir`, else `$XDG_DATA_HOME/hob`, else `~/.local/share/hob`.
pub fn data_dir(state: &StateConfig, env: &Environment) -> Result<PathBuf, DataDirError> {
    env.path("HOB_HOME")
        .or_else(|| state.dir.clone())
        .or_else(|| env.absolute_path("XDG_DATA_HOME").map(|data| data.join("hob")))
        .or_else(|| env.absolute_path("HOME").map(|home| home.join(".local/share/hob")))
        .ok_or(DataDirError::Homeless)
}

/// Where the data is of a config that may have problems, or cannot be read at all: whoever looks after a Hob in trouble must
/// find it.
pub fn data_dir_if_known(named: Option<&Path>, env: &Environment) -> Result<PathBuf, DataDirError> {
    match env.path("HOB_HOME") {
        Some(home) => Ok(home),
        None => data_dir(&state_if_known(named, env), env),
    }
}

/// What of `[state]` is known of such a config.
pub fn state_if_known(named: Option<&Path>, env: &Environment) -> StateConfig {
    match load::load(named, env) {
        Ok(loaded) => loaded.config.state,
        Err(_told_by_others) => {
            let noted = || data_dir_notes::noted_data_dir(&good_configs::place(named, env)?, env);
            let stated = load::stated(named, env);
            StateConfig { dir: stated.dir.or_else(noted), ..stated }
        }
    }
}

/// Makes sure that the directory is there and writable; what has to be made is made for this user only (0700).
///
/// # Errors
/// If it cannot be made, is not a directory, or cannot be written to.
pub fn create_data_dir(dir: &Path) -> Result<(), DataDirError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|why| refusal(dir, why))?;
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::READ_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(dir, access).map_err(|why| refusal(dir, why.into()))
}

fn refusal(dir: &Path, why: io::Error) -> DataDirError {
    let in_the_way = || dir.ancestors().find(|path| path.exists() && !path.is_dir());
    let dir = dir.to_owned();
    match why.kind() {
        io::ErrorKind::ReadOnlyFilesystem => DataDirError::ReadOnly { dir },
        io::ErrorKind::PermissionDenied => DataDirError::Denied { dir },
        _ => match in_the_way().map(Path::to_owned) {
            Some(file) => DataDirError::NotADirectory { dir, file },
            None => DataDirError::Failed { dir, why },
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_that_is_set_wins() {
        let all =
            [("HOB_HOME", "/hob"), ("XDG_DATA_HOME", "/xdg"), ("HOME", "/home/me"), ("HOB_HOME", "here"), ("HOME", "")];
        for (dir, env, expected) in [
            (Some("/state"), &all[..3], "/hob"),
            (Some("/state"), &all[3..4], "/w/here"),
            (Some("/state"), &all[1..3], "/state"),
            (None, &all[1..3], "/xdg/hob"),
            (None, &all[2..3], "/home/me/.local/share/hob"),
        ] {
            let state = StateConfig { dir: dir.map(PathBuf::from), ..StateConfig::default() };
            let env = Environment::of("/w", env.iter().copied());
            assert_eq!(data_dir(&state, &env).unwrap(), PathBuf::from(expected));
        }
        let homeless = data_dir(&StateConfig::default(), &Environment::of("/w", [("HOME", "")])).unwrap_err();
        insta::assert_snapshot!(homeless, @"no place for the data: set $HOB_HOME, or `dir` in [state] of config.toml, or $HOME");
    }

    #[test]
    fn it_is_made_for_this_user_only() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/hob");
        create_data_dir(&dir).unwrap();
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        create_data_dir(&dir).expect("it may be there already");
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("file"), "").unwrap();
        for dir in ["file", "file/hob"] {
            let error = create_data_dir(&home.path().join(dir)).unwrap_err();
            let DataDirError::NotADirectory { file, .. } = &error else { panic!("{error}") };
            assert_eq!(*file, home.path().join("file"));
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let say = |kind: io::ErrorKind| refusal(Path::new("/nowhere/hob"), kind.into()).to_string();
        insta::assert_snapshot!(say(io::ErrorKind::ReadOnlyFilesystem), @"/nowhere/hob: is read-only, but Hob keeps its data there; make it writable or set $HOB_HOME");
        insta::assert_snapshot!(say(io::ErrorKind::PermissionDenied), @"/nowhere/hob: this user may not write there; give it to the user Hob runs as or set $HOB_HOME");
        insta::assert_snapshot!(say(io::ErrorKind::StorageFull), @"/nowhere/hob: cannot be made the data directory: no storage space");
        let in_the_way = DataDirError::NotADirectory { dir: "/a/b".into(), file: "/a".into() };
        insta::assert_snapshot!(in_the_way, @"/a: is not a directory, so /a/b cannot be the data directory; move it away or set $HOB_HOME");
    }
}
