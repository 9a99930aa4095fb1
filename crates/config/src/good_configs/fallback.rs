//! A start although the user's file cannot be used: from the last good config, in memory. The file is left as it is.
//!
//! Start at [`load_or_good`]; where a config that can be read turns out to be no good at the start, at [`use_good_config`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::environment::Environment;
use crate::good_configs::closed_sections::{close_sections, sections_to_close};
use crate::good_configs::{GoodConfigHistory, KeptConfig};
use crate::load::{self, LoadError, LoadedConfig};
use crate::problem::Problems;
use crate::writer::ExtraCheck;
use hob_core::domain::condition::Trouble;

/// How much of what is wrong with the file is told in one line.
const PROBLEMS_TOLD: usize = 3;

/// The user's file is not what runs.
#[derive(Debug)]
pub struct Fallback {
    /// What is wrong with it.
    pub rejected: LoadError,
    /// The good one that runs instead.
    pub from: PathBuf,
    /// When a model first answered with it.
    pub when: Timestamp,
    /// On which Hob that was.
    pub version: String,
    /// Whether it means here and now what it meant then.
    pub same: bool,
    /// Newer ones that cannot be used, and why.
    pub skipped: Vec<String>,
    /// The sections that stay closed, as the file says something about them that cannot be read.
    pub closed: BTreeSet<String>,
    /// Older ones.
    rest: Vec<KeptConfig>,
}

impl Fallback {
    /// The next older one, as Hob could not start with this one either.
    ///
    /// # Errors
    /// When none is left that can be used: with what is wrong with the file.
    pub fn next(
        self,
        why: &dyn fmt::Display,
        env: &Environment,
        extra_check: ExtraCheck,
    ) -> Result<(LoadedConfig, Self), LoadError> {
        let Self { rejected, from, mut skipped, rest, .. } = self;
        skipped.push(format!("{}: {why}", from.display()));
        FallbackQueue { rejected, skipped, rest }.next(env, extra_check)
    }

    /// The same in words for whoever runs Hob: file, line, key, what was expected, what runs instead, what to do.
    pub fn trouble(&self, since: Timestamp) -> Trouble {
        let rejected = match &self.rejected {
            LoadError::Invalid(problems) => some_of(problems),
            other => other.to_string(),
        };
        let closed = if self.closed.is_empty() {
            String::new()
        } else {
            let sections = Vec::from_iter(self.closed.iter().map(|section| format!("[{section}]"))).join(", ");
            format!("; closed until then, as it says who may do what there: {sections}")
        };
        let what = format!(
            "{rejected}; Hob runs on the last good config instead, of {} ({}){closed}",
            self.when.strftime("%Y-%m-%d %H:%M:%S UTC"),
            self.from.display(),
        );
        let fix = "correct the file, which Hob notices by itself, or `hob config rollback`".to_owned();
        Trouble { since, what, fix }
    }
}

fn some_of(problems: &Problems) -> String {
    let mut told: Vec<String> = problems.iter().take(PROBLEMS_TOLD).map(ToString::to_string).collect();
    match problems.iter().count().saturating_sub(PROBLEMS_TOLD) {
        0 => {}
        more => told.push(format!("{more} more problems: `hob config check`")),
    }
    told.join(" | ")
}

/// Loads the config as [`load::load`] does and looks at it with `extra_check`; where that fails, the newest good one that can be
/// used, without what must stay closed.
///
/// # Errors
/// When the file cannot be used, and nothing good is kept of it either: with what is wrong with the file.
pub fn load_or_good(
    named: Option<&Path>,
    env: &Environment,
    extra_check: ExtraCheck,
) -> Result<(LoadedConfig, Option<Fallback>), LoadError> {
    let rejected = match looked_at(load::load(named, env), extra_check) {
        Ok(loaded) => match loaded.path.is_none().then(|| missing_file(env)).flatten() {
            Some(rejected) => rejected,
            None => return Ok((loaded, None)),
        },
        Err(error) => error,
    };
    let (loaded, fallback) = FallbackQueue::of(rejected, env).next(env, extra_check)?;
    Ok((loaded, Some(fallback)))
}

/// The newest good one that can be used, in the place of `rejected`, which can be read, and with which Hob could not start.
///
/// # Errors
/// When nothing good is kept of it: with what is wrong with it.
pub fn use_good_config(
    rejected: &LoadedConfig,
    why: &dyn fmt::Display,
    env: &Environment,
    extra_check: ExtraCheck,
) -> Result<(LoadedConfig, Fallback), LoadError> {
    let path = rejected.path.clone().unwrap_or_default();
    let mut queue = FallbackQueue::of(LoadError::Refused { path, why: why.to_string() }, env);
    // It may have been good once, as when a server was there that is gone.
    queue.rest.retain(|kept| kept.good.text != rejected.source);
    queue.next(env, extra_check)
}

/// The good ones that are still to be tried, the newest first.
struct FallbackQueue {
    rejected: LoadError,
    skipped: Vec<String>,
    rest: Vec<KeptConfig>,
}

impl FallbackQueue {
    fn of(rejected: LoadError, env: &Environment) -> Self {
        let shelf = GoodConfigHistory::found(rejected.path(), env).shelf();
        let skipped = shelf.broken.iter().map(|(path, why)| format!("{} {why}", path.display())).collect();
        Self { rejected, skipped, rest: shelf.good }
    }

    fn next(self, env: &Environment, extra_check: ExtraCheck) -> Result<(LoadedConfig, Fallback), LoadError> {
        let Self { rejected, mut skipped, rest } = self;
        let file = rejected.path().to_owned();
        let mut rest = rest.into_iter();
        while let Some(KeptConfig { path, good }) = rest.next() {
            match looked_at(load::load_text(&file, good.text.expose(), env).map_err(LoadError::from), extra_check) {
                Ok(mut loaded) => {
                    let same = good.means_same(&loaded.config);
                    let closed = match &rejected {
                        LoadError::Invalid(problems) => {
                            sections_to_close(problems.iter().map(|problem| problem.key.as_str()))
                        }
                        _ => BTreeSet::new(),
                    };
                    close_sections(&mut loaded.config, &closed);
                    let (when, version, rest) = (good.when, good.version, rest.collect());
                    return Ok((loaded, Fallback { rejected, from: path, when, version, same, skipped, closed, rest }));
                }
                Err(error) => skipped.push(format!("{}: {error}", path.display())),
            }
        }
        Err(rejected)
    }
}

fn looked_at(loaded: Result<LoadedConfig, LoadError>, extra_check: ExtraCheck) -> Result<LoadedConfig, LoadError> {
    let loaded = loaded?;
    match loaded.problems(extra_check(&loaded.config)) {
        Some(problems) => Err(problems.into()),
        None => Ok(loaded),
    }
}

/// No file is there: was there one?
fn missing_file(env: &Environment) -> Option<LoadError> {
    load::usual_places(env).into_iter().find_map(|path| {
        let kept = GoodConfigHistory::found(&path, env).shelf().good.into_iter().next()?.path;
        Some(LoadError::Gone { path, kept })
    })
}
