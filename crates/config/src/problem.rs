//! What is wrong with a config: a [`Finding`] as a section sees it, a [`Problem`] as the user sees it, with file and line.

use std::fmt;
use std::path::PathBuf;

use crate::key_path;

/// The most problems that are written out; the rest are counted.
const SHOWN_MAX: usize = 50;

/// A value that cannot be, as its section's `validate` reports it: keys are relative to the section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The key the problem is shown at.
    pub key: String,
    /// The other keys it depends on: if one of them has a problem of its own, this one may be an echo and is not shown.
    pub with: Vec<String>,
    /// What is wrong and what was expected.
    pub why: String,
    /// What to do about it.
    pub fix: String,
}

impl Finding {
    /// A finding about one key.
    pub fn new(key: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { key: key.into(), with: Vec::new(), why: why.into(), fix: fix.into() }
    }

    /// Names another key of the section that this finding depends on.
    #[must_use]
    pub fn with(mut self, key: &str) -> Self {
        self.with.push(key.to_owned());
        self
    }

    /// The same finding seen from the table around.
    #[must_use]
    pub(super) fn within(self, section: &str) -> Self {
        let outer = |key: String| if key.is_empty() { section.to_owned() } else { format!("{section}.{key}") };
        Self { key: outer(self.key), with: self.with.into_iter().map(outer).collect(), ..self }
    }

    /// Every place this finding speaks about.
    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.key.as_str()).chain(self.with.iter().map(String::as_str))
    }

    /// Whether a problem at `broken` makes this finding doubtful.
    pub(super) fn echoes(&self, broken: &str) -> bool {
        self.places().any(|mine| key_path::contains(mine, broken) || key_path::contains(broken, mine))
    }
}

/// One thing that is wrong with a config file. Its text never holds a value that could be a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1: only where the file is not TOML.
    pub column: Option<usize>,
    /// The dotted path of the key; empty where the file is not TOML.
    pub key: String,
    /// What is wrong and what was expected.
    pub why: String,
    /// What to do about it.
    pub fix: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file.display(), self.line)?;
        if let Some(column) = self.column {
            write!(f, "column {column}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.why, self.fix)
    }
}

/// All that is wrong with a config file, in the order of its lines; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `None` when there are none.
    pub(super) fn of(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by(|a, b| (a.line, a.column, &a.key).cmp(&(b.line, b.column, &b.key)));
        problems.dedup();
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// Just this one.
    pub(super) fn one(problem: Problem) -> Self {
        Self(vec![problem])
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(SHOWN_MAX).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        match self.0.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_are_counted_not_written() {
        let problem = |line| Problem {
            file: "config.toml".into(),
            line,
            column: None,
            key: "key".to_owned(),
            why: "why".to_owned(),
            fix: "fix".to_owned(),
        };
        let text = Problems::of((1..=53).rev().map(problem).collect()).unwrap().to_string();
        assert!(text.starts_with("config.toml:1: key: why; fix\nconfig.toml:2: "));
        assert!(text.ends_with("config.toml:50: key: why; fix\n… and 3 more"), "{text}");
    }

    #[test]
    fn a_finding_echoes_what_lies_around_it_and_in_it() {
        let finding = Finding::new("command[2]", "why", "fix").with("parameters").within("x").within("tools");
        for (broken, expected) in [
            ("tools.x.command", true),
            ("tools.x.command[2]", true),
            ("tools.x.parameters.room", true),
            ("tools.x", true),
            ("tools.x.command[1]", false),
            ("tools.xy", false),
        ] {
            assert_eq!(finding.echoes(broken), expected, "{broken}");
        }
    }
}
