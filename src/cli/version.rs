//! `hob version`: which Hob this is, and whether it fits the database and the config that are there.

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use clap::Args;
use serde::Serialize;

use crate::cli::{exit, runtime, show, show_json, state_if_known};
use hob_config::environment::Environment;
use hob_config::load::{LoadError, load};
use hob_store::error::StoreError;
use hob_store::inspect::{known, known_at, schema};
use hob_store::place::StatePlace;

/// The platforms and parts that it was built with.
const FEATURES: [(&str, bool); 10] = [
    ("telegram", cfg!(feature = "telegram")),
    ("slack", cfg!(feature = "slack")),
    ("discord", cfg!(feature = "discord")),
    ("matrix", cfg!(feature = "matrix")),
    ("email", cfg!(feature = "email")),
    ("dav", cfg!(feature = "dav")),
    ("mail", cfg!(feature = "mail")),
    ("home", cfg!(feature = "home")),
    ("keyring", cfg!(feature = "keyring")),
    ("postgres", cfg!(feature = "postgres")),
];

/// Whether it was built with this platform or part.
pub(super) fn is_built(feature: &str) -> bool {
    FEATURES.contains(&(feature, true))
}

/// What `hob --version` says: the version, the commit that it was built from, and with what.
static LONG: LazyLock<String> = LazyLock::new(|| {
    let features: Vec<&str> = FEATURES.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
    let commit = option_env!("HOB_COMMIT").unwrap_or("unknown");
    format!("{}\ncommit: {commit}\nfeatures: {}", env!("CARGO_PKG_VERSION"), features.join(", "))
});

/// The same, as it is there from the start.
pub(super) fn long() -> &'static str {
    LONG.as_str()
}

/// What `hob version` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct VersionArguments {
    /// Check that this Hob fits the database and the config, before or after an upgrade
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Which Hob this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Version {
    version: &'static str,
    /// The database's schema that it brings.
    schema: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Compatibility>,
}

/// Whether it fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Compatibility {
    database: String,
    /// The schema that the database has; none: there is none, or it cannot be read.
    schema: Option<i64>,
    /// What is to be said of it.
    told: String,
    /// What the config says that this Hob does not understand.
    config: Vec<String>,
}

/// Tells.
///
/// # Errors
/// With `--check`: what does not fit, as an exit code.
pub(super) fn run(arguments: &VersionArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let mut version = Version { version: env!("CARGO_PKG_VERSION"), schema: known(), check: None };
    let mut code = 0;
    if arguments.check {
        let environment = Environment::of_process();
        let (_, state) = state_if_known(named, &environment)?;
        let found = runtime()?.block_on(schema(&state));
        let config = match load(named, &environment) {
            Ok(_fits) => Vec::new(),
            Err(LoadError::Invalid(problems)) => problems.iter().map(ToString::to_string).collect(),
            Err(error) => vec![error.to_string()],
        };
        let (told, database_code) = judge(found.as_ref().copied(), known_at(&state), &state);
        code = if config.is_empty() { database_code } else { database_code.max(exit::CONFIG) };
        version.check = Some(Compatibility { database: state.to_string(), schema: found.ok(), told, config });
    }
    if arguments.json {
        show_json(&version)?
    } else {
        show(&version.to_string())?
    }
    if code == 0 { Ok(()) } else { Err(exit::SilentExit(code).into()) }
}

/// What is to be said of a database, and the exit code.
fn judge(found: Result<i64, &StoreError>, known: i64, place: &StatePlace) -> (String, u8) {
    let copy = match place {
        StatePlace::File(_) => "and before that keeps a copy in snapshots/",
        StatePlace::Server(_) => "and keeps no copy: make a backup before (`hob backup`)",
    };
    match found {
        Ok(found) if found > known => (
            format!(
                "made by a newer Hob (schema {found}, this one knows {known}). This Hob does not start with it, and changes nothing. \
                 Start the newer one again; or go back to a copy from before: docs/upgrade.md, \"Back to an older Hob\""
            ),
            exit::DATABASE,
        ),
        Ok(found) if found < known => (
            format!("of schema {found}: the next start brings it to {known}, {copy}. An older Hob cannot use it then"),
            0,
        ),
        Ok(found) => (format!("of schema {found}, as this Hob has it"), 0),
        Err(StoreError::Missing(_)) => ("none yet: the first start makes it".to_owned(), 0),
        Err(error @ StoreError::Damaged(_)) => (error.to_string(), exit::DATABASE),
        Err(error) => (error.to_string(), exit::FAILED),
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "hob {}, schema {}", self.version, self.schema)?;
        let Some(Compatibility { database, told, config, .. }) = &self.check else { return Ok(()) };
        writeln!(f, "database: {database}: {told}")?;
        if config.is_empty() {
            return writeln!(f, "config: all of it is understood");
        }
        config.iter().try_for_each(|problem| writeln!(f, "config: {problem}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_and_the_features_are_told() {
        let told = long();
        assert!(told.starts_with(concat!(env!("CARGO_PKG_VERSION"), "\ncommit: ")), "{told}");
        assert_eq!(told.contains("telegram"), cfg!(feature = "telegram"), "{told}");
    }

    #[test]
    fn n12_what_is_said_of_a_database() {
        let said = |found: Result<i64, StoreError>| {
            let (told, code) = judge(found.as_ref().copied(), 14, &StatePlace::of(None, Path::new("/d")));
            format!("{code}: {told}")
        };
        let all = [
            said(Ok(14)),
            said(Ok(9)),
            said(Ok(99)),
            said(Err(StoreError::Missing("/d/hob.db".to_owned()))),
            said(Err(StoreError::Damaged("file is not a database".to_owned()))),
            said(Err(StoreError::Busy("locked".to_owned()))),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        0: of schema 14, as this Hob has it
        0: of schema 9: the next start brings it to 14, and before that keeps a copy in snapshots/. An older Hob cannot use it then
        65: made by a newer Hob (schema 99, this one knows 14). This Hob does not start with it, and changes nothing. Start the newer one again; or go back to a copy from before: docs/upgrade.md, "Back to an older Hob"
        0: none yet: the first start makes it
        65: the database cannot be read: file is not a database; restore a backup, or move the file away to begin afresh
        1: another program holds a lock on the database: locked
        "#);
    }
}
