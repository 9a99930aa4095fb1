//! From the command line and the environment to a [`Config`]: find the file, read it, check it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::check::Check;
use crate::config::environment::Environment;
use crate::config::problem::{Finding, Problem, Problems};
use crate::config::{Config, document, expand, secrets, shape};
use crate::domain::secret::Secret;

/// The biggest config file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A config and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The config: all defaults if there is no file.
    pub config: Config,
    /// The file it was read from.
    pub path: Option<PathBuf>,
    /// The file's text as it was when it was read; empty without a file. It may hold keys.
    pub source: Secret,
}

impl Loaded {
    /// What of it, and of `env`, must never be seen.
    #[must_use]
    pub fn secrets(&self, env: &Environment) -> Vec<Secret> {
        secrets::of(self.source.expose(), env)
    }

    /// What was found in the config beyond its own checks, as problems of its file; none: nothing was.
    #[must_use]
    pub fn problems(&self, findings: Vec<Finding>) -> Option<Problems> {
        let file = self.path.as_deref()?;
        let table = document::parse(file, self.source.expose()).ok()?;
        let root = shape::of::<Config>();
        Problems::of(Check::new(file, &root).alone(&table, findings))
    }
}

/// Who named a file that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// The command line.
    Argument,
    /// The environment.
    Variable,
}

impl NamedBy {
    fn words(self) -> &'static str {
        match self {
            Self::Argument => "--config",
            Self::Variable => "$HOB_CONFIG",
        }
    }
}

/// Why there is no config.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file that was named is not there.
    #[error("{}: there is no such file, but {} names it", path.display(), by.words())]
    NotFound {
        /// The file.
        path: PathBuf,
        /// Who named it.
        by: NamedBy,
    },
    /// The file is gone, and was there.
    #[error("{}: is not there any more, but what Hob kept of it is; put it back, or remove {}", path.display(), kept.display())]
    Gone {
        /// The file.
        path: PathBuf,
        /// What is kept of it.
        kept: PathBuf,
    },
    /// A directory stands in place of the file.
    #[error("{}: is a directory, expected a file such as {}", path.display(), path.join("config.toml").display())]
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// The file is bigger than any config.
    #[error("{}: is bigger than {FILE_BYTES_MAX} bytes, expected a config file", path.display())]
    TooBig {
        /// The file.
        path: PathBuf,
    },
    /// The file is not text.
    #[error("{}:{line}: is not UTF-8 text; save it as UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line of the first byte that does not belong.
        line: usize,
    },
    /// The file says something that cannot be.
    #[error(transparent)]
    Invalid(#[from] Problems),
}

impl LoadError {
    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::NotFound { path, .. }
            | Self::Gone { path, .. }
            | Self::IsDirectory { path }
            | Self::Unreadable { path, .. }
            | Self::TooBig { path }
            | Self::NotUtf8 { path, .. } => path,
            Self::Invalid(problems) => problems.iter().next().map_or(Path::new("config.toml"), |problem| &problem.file),
        }
    }
}

/// Finds and loads the config: `named` (the `--config` argument), `$HOB_CONFIG`, `./config.toml`,
/// `~/.config/hob/config.toml`, else the defaults.
///
/// # Errors
/// If a file that was named is not there, or the file that was found cannot be read or has problems.
pub fn load(named: Option<&Path>, env: &Environment) -> Result<Loaded, LoadError> {
    let Some((path, source)) = find(named, env)? else {
        return Ok(Loaded { config: Config::default(), path: None, source: Secret::new(String::new()) });
    };
    Ok(of_text(&path, &source, env)?)
}

/// Checks `text` as the content of `file` and makes it a config that was loaded from there.
///
/// # Errors
/// With every problem there is.
pub fn of_text(file: &Path, text: &str, env: &Environment) -> Result<Loaded, Problems> {
    let config = parse(file, text, env)?;
    Ok(Loaded { config, path: Some(file.to_owned()), source: Secret::new(text.to_owned()) })
}

/// Checks `text` as the content of `file` and makes it a [`Config`].
///
/// # Errors
/// With every problem there is.
pub fn parse(file: &Path, text: &str, env: &Environment) -> Result<Config, Problems> {
    let mut table = match document::parse(file, text) {
        Ok(table) => table,
        Err(problems) => return Problems::of(problems).map_or_else(|| Ok(Config::default()), Err),
    };
    let mut failures = Vec::new();
    expand::table("", &mut table, env, &mut failures);

    let root = shape::of::<Config>();
    let mut check = Check::new(file, &root);
    check.unexpanded(failures);
    let clean = check.document(&table);
    let config = match Config::deserialize(toml::Value::Table(clean)) {
        Ok(config) => config,
        Err(_may_quote_a_secret) => return Err(Problems::one(contradiction(file))),
    };
    check.findings(config.validate());
    Problems::of(check.into_problems()).map_or(Ok(config), Err)
}

/// What is left to say if the types refuse what their own schema lets pass; tests hold that this does not happen.
fn contradiction(file: &Path) -> Problem {
    Problem {
        file: file.to_owned(),
        line: 1,
        column: None,
        key: String::new(),
        why: "fits the schema but not the types, which is an error in Hob".to_owned(),
        fix: "please report it, without your keys".to_owned(),
    }
}

/// The first file there is, with its text.
fn find(named: Option<&Path>, env: &Environment) -> Result<Option<(PathBuf, String)>, LoadError> {
    let argument = named.map(|path| (env.seen_from_here(path), NamedBy::Argument));
    if let Some((path, by)) = argument.or_else(|| env.path("HOB_CONFIG").map(|path| (path, NamedBy::Variable))) {
        return match read(&path)? {
            Some(text) => Ok(Some((path, text))),
            None => Err(LoadError::NotFound { path, by }),
        };
    }
    for path in usual_places(env) {
        if let Some(text) = read(&path)? {
            return Ok(Some((path, text)));
        }
    }
    Ok(None)
}

/// Where a config is looked for if none is named.
pub(super) fn usual_places(env: &Environment) -> Vec<PathBuf> {
    std::iter::once(env.seen_from_here(Path::new("config.toml"))).chain(usual_place(env)).collect()
}

/// Where a config belongs that is to be made.
#[must_use]
pub fn usual_place(env: &Environment) -> Option<PathBuf> {
    env.absolute_path("HOME").map(|home| home.join(".config/hob/config.toml"))
}

/// The file's text; `None` if there is no file.
fn read(path: &Path) -> Result<Option<String>, LoadError> {
    let owned = || path.to_owned();
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        Err(why) if why.kind() == io::ErrorKind::IsADirectory => return Err(LoadError::IsDirectory { path: owned() }),
        Err(why) => return Err(LoadError::Unreadable { path: owned(), why }),
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(LoadError::TooBig { path: owned() });
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        LoadError::NotUtf8 { path: owned(), line: 1 + good.iter().filter(|byte| **byte == b'\n').count() }
    })?;
    Ok(Some(text))
}
