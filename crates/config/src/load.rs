//! From the command line and the environment to a [`Config`]: find the file, read it, check it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Value as Toml;

use crate::check::DocumentCheck;
use crate::document::DocumentValue;
use crate::environment::Environment;
use crate::expand::Expansion;
use crate::problem::{Finding, Problem, Problems};
use crate::renamed_keys::{RENAMED, RenamedKey};
use crate::secret_reference::SecretSources;
use crate::state::StateConfig;
use crate::switched_off::{SectionOff, SectionsToSwitchOff};
use crate::{Config, document, expand, renamed_keys, secrets, shape};
use hob_core::domain::secret::Secret;

/// The biggest config file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A config and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedConfig {
    /// The config: all defaults if there is no file. What is off is not in it, or says so itself.
    pub config: Config,
    /// The file it was read from.
    pub path: Option<PathBuf>,
    /// The file's text as it was when it was read; empty without a file. It may hold keys.
    pub source: Secret,
    /// The sections that are off, as a secret of theirs cannot be had.
    pub off: Vec<SectionOff>,
    /// What is to be told although it is no problem.
    pub notes: Vec<LoadNote>,
    /// Every secret of the config, from wherever it came.
    hidden: Vec<Secret>,
}

/// Something that whoever runs Hob should know about the file, though it can be used. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadNote {
    /// The key's dotted path; empty: the file as a whole.
    pub key: String,
    /// The key's line.
    pub line: Option<usize>,
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl fmt::Display for LoadNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{} ", self.key)?;
        }
        write!(f, "{}; {}", self.what, self.fix)
    }
}

impl LoadedConfig {
    /// What there is without a file.
    fn none() -> Self {
        let (config, source) = (Config::default(), Secret::new(String::new()));
        Self { config, path: None, source, off: Vec::new(), notes: Vec::new(), hidden: Vec::new() }
    }

    /// What of it, and of `env`, must never be seen.
    pub fn secrets(&self, env: &Environment) -> Vec<Secret> {
        secrets::of_environment(env).into_iter().chain(self.hidden.iter().cloned()).collect()
    }

    /// What was found in the config beyond its own checks, as problems of its file; none: nothing was.
    pub fn problems(&self, findings: Vec<Finding>) -> Option<Problems> {
        let file = self.path.as_deref().filter(|_| !findings.is_empty())?;
        let mut table = document::parse(file, self.source.expose()).ok()?;
        renamed_keys::apply(&mut table, &RENAMED);
        let root = shape::of::<Config>();
        Problems::of(DocumentCheck::new(file, &root).contradictions(&table, findings))
    }

    /// Whether a channel is off that the file has.
    pub fn lacks_a_channel(&self) -> bool {
        self.off.iter().any(SectionOff::is_channel)
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
    #[error("{} is missing, but Hob has a copy of it: restore the file, or delete {}", path.display(), kept.display())]
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
    /// The file is right as far as it can be checked, and Hob cannot start with it.
    #[error("{}: {why}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What the start says.
        why: String,
    },
    /// The file says something that cannot be.
    #[error(transparent)]
    Invalid(#[from] Problems),
}

impl LoadError {
    /// The file that it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::NotFound { path, .. }
            | Self::Gone { path, .. }
            | Self::IsDirectory { path }
            | Self::Unreadable { path, .. }
            | Self::TooBig { path }
            | Self::NotUtf8 { path, .. }
            | Self::Refused { path, .. } => path,
            Self::Invalid(problems) => problems.iter().next().map_or(Path::new("config.toml"), |problem| &problem.file),
        }
    }
}

/// Finds and loads the config: `named` (the `--config` argument), `$HOB_CONFIG`, `./config.toml`,
/// `~/.config/hob/config.toml`, else the defaults.
///
/// # Errors
/// If a file that was named is not there, or the file that was found cannot be read or has problems.
pub fn load(named: Option<&Path>, env: &Environment) -> Result<LoadedConfig, LoadError> {
    let Some((path, source)) = find(named, env)? else {
        return Ok(LoadedConfig::none());
    };
    let (mut loaded, has_plain_secret) = parse_config(&path, &source, env, &RENAMED)?;
    if has_plain_secret {
        loaded.notes.extend(open_to_others(&path));
    }
    Ok(loaded)
}

/// Checks `text` as the content of `file`, fetches its secrets and makes it a config.
///
/// # Errors
/// With every problem there is. A secret that cannot be had is none: its section is off.
pub fn load_text(file: &Path, text: &str, env: &Environment) -> Result<LoadedConfig, Problems> {
    parse_config(file, text, env, &RENAMED).map(|(loaded, _)| loaded)
}

/// Checks `text` as the content of `file` and makes it a [`Config`].
///
/// # Errors
/// With every problem there is.
pub fn parse(file: &Path, text: &str, env: &Environment) -> Result<Config, Problems> {
    load_text(file, text, env).map(|loaded| loaded.config)
}

/// The document of a text that is right, with its keys under today's names and its secrets fetched.
pub(super) fn resolved(file: &Path, text: &str, env: &Environment) -> (document::DocumentTable, Expansion) {
    let mut table = document::parse(file, text).unwrap_or_default();
    renamed_keys::apply(&mut table, &RENAMED);
    let expansion = expand::document(&mut table, &secrets::schema(), &SecretSources::of(file, env));
    (table, expansion)
}

/// The config of a text, and whether a secret stands in the text itself.
pub(super) fn parse_config(
    file: &Path,
    text: &str,
    env: &Environment,
    all_renamed: &[RenamedKey],
) -> Result<(LoadedConfig, bool), Problems> {
    let mut table = match document::parse(file, text) {
        Ok(table) => table,
        Err(problems) => return Problems::of(problems).map_or_else(|| Ok((LoadedConfig::none(), false)), Err),
    };
    let (notes, both) = renamed_keys::apply(&mut table, all_renamed);
    let schema = secrets::schema();
    let root = shape::fields(&schema);
    let expansion = expand::document(&mut table, &schema, &SecretSources::of(file, env));
    let mut switched = SectionsToSwitchOff::default();
    let (failures, places) = switched.sort(expansion.failures);

    let mut check = DocumentCheck::new(file, &root);
    check.renamed(both);
    check.unexpanded(failures);
    check.off(places);
    let mut clean = check.document(&table);
    let refused = |_may_quote_a_secret| Problems::one(schema_contradiction(file));
    // Looked at as a whole, stand-ins for what is missing included: what is off can still be wrong otherwise.
    check.findings(Config::deserialize(Toml::Table(clean.clone())).map_err(refused)?.validate());
    if let Some(problems) = Problems::of(check.into_problems()) {
        return Err(problems);
    }
    switched.cut(&mut clean);
    let mut config = Config::deserialize(Toml::Table(clean)).map_err(refused)?;
    switched.mark(&mut config);
    let (path, source, off) = (Some(file.to_owned()), Secret::new(text.to_owned()), switched.told);
    let notes = notes.into_iter().chain(config.remarks()).collect();
    let loaded = LoadedConfig { config, path, source, off, notes, hidden: secrets::in_document(&table, &schema) };
    Ok((loaded, expansion.has_plain_secret))
}

/// A note if others than its owner can read or change the file, which has secrets in it.
fn open_to_others(path: &Path) -> Option<LoadNote> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| LoadNote {
        key: String::new(),
        line: None,
        what: format!("the file has secrets in it, and others than its owner may read or change it ({mode:04o})"),
        fix: format!("`chmod 600 {}`, or move the secrets out: `file:/path`", path.display()),
    })
}

/// `[state]` of a config with problems elsewhere; nothing where it says nothing of that, or is no TOML.
pub(super) fn stated(named: Option<&Path>, env: &Environment) -> StateConfig {
    let Ok(Some((path, text))) = find(named, env) else { return StateConfig::default() };
    let (table, _) = resolved(&path, &text, env);
    let state = table.get("state").map(|(_, node)| &node.value);
    let stated = |key: &str| match state {
        Some(DocumentValue::Table(state)) => match &state.get(key)?.1.value {
            DocumentValue::Text(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    StateConfig { dir: stated("dir").map(PathBuf::from), url: stated("url").map(Secret::new) }
}

/// What is left to say if the types refuse what their own schema lets pass; tests hold that this does not happen.
fn schema_contradiction(file: &Path) -> Problem {
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
