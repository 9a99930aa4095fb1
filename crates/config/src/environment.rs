//! The process's environment as a value, so that everything that depends on it can be tested as a table.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The environment variables and the working directory. Values may be secrets: `Debug` shows the names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    working_dir: PathBuf,
}

impl Environment {
    /// This process's environment: the one place that reads it.
    #[expect(clippy::disallowed_methods, reason = "this is the environment that everything else is given")]
    pub fn of_process() -> Self {
        Self { variables: std::env::vars_os().collect(), working_dir: PathBuf::new() }
    }

    /// An environment of exactly these variables, with `working_dir` as the working directory.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(
        working_dir: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Self { variables, working_dir: working_dir.into() }
    }

    /// The same with these variables set besides.
    pub fn with(&self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut environment = self.clone();
        environment.variables.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        environment
    }

    /// The variable as it is, which may be empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The variable as text, if it is set, not empty, and UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str).filter(|value| !value.is_empty())
    }

    /// All variables that are text, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }

    /// The variable as a path seen from the working directory, if it is set and not empty.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).filter(|value| !value.is_empty()).map(|value| self.seen_from_here(Path::new(value)))
    }

    /// The variable as a path if it is absolute: what the XDG specification asks for.
    pub fn absolute_path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// `path` joined to the working directory unless it is absolute.
    pub fn seen_from_here(&self, path: &Path) -> PathBuf {
        self.working_dir.join(path)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .field("working_dir", &self.working_dir)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_values() {
        let env = Environment::of("/w", [("TOKEN", "hunter2")]);
        assert_eq!(format!("{env:?}"), r#"Environment { variables: ["TOKEN"], working_dir: "/w" }"#);
    }

    #[test]
    fn an_empty_variable_is_no_path() {
        let env = Environment::of("/w", [("EMPTY", ""), ("RELATIVE", "a"), ("ABSOLUTE", "/a")]);
        assert_eq!(env.path("EMPTY"), None);
        assert_eq!(env.path("RELATIVE"), Some("/w/a".into()));
        assert_eq!(env.absolute_path("RELATIVE"), None);
        assert_eq!(env.absolute_path("ABSOLUTE"), Some("/a".into()));
        assert_eq!(env.text("EMPTY"), None);
    }
}
