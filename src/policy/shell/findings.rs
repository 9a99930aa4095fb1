//! What was found up to now.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Verdict;
use crate::domain::tools::{Grade, Risk};

/// The most reasons that people are told.
const REASONS_MAX: usize = 6;
/// The most that are kept to choose from.
const KEPT_MAX: usize = 200;
/// The most places that are handed on.
const PATHS_MAX: usize = 64;

/// The worst up to now, and why.
#[derive(Debug, Default)]
pub(super) struct Findings {
    risk: Risk,
    grade: Grade,
    reasons: Vec<(Grade, String)>,
    paths: BTreeSet<PathBuf>,
}

impl Findings {
    /// Something was found.
    pub(super) fn add(&mut self, grade: Grade, risk: Risk, reason: String) {
        self.grade = self.grade.max(grade);
        self.risk = self.risk.max(risk);
        let told = grade > Grade::Safe && !self.reasons.iter().any(|(_, known)| *known == reason);
        // A later reason is kept beyond the bound if it is what the grade rests on.
        if told && (self.reasons.len() < KEPT_MAX || self.reasons.iter().all(|(known, _)| *known < grade)) {
            self.reasons.push((grade, reason));
        }
    }

    /// A place was named.
    pub(super) fn names(&mut self, path: PathBuf) {
        if self.paths.len() < PATHS_MAX {
            self.paths.insert(path);
        } else if !self.paths.contains(&path) {
            self.add(Grade::High, Risk::Read, "It names more places than can be looked at".to_owned());
        }
    }

    /// All of it.
    pub(super) fn into_verdict(mut self) -> Verdict {
        self.reasons.sort_by_key(|(grade, _)| std::cmp::Reverse(*grade));
        let reasons = self.reasons.into_iter().take(REASONS_MAX).map(|(_, reason)| reason).collect();
        Verdict { risk: self.risk, grade: self.grade, reasons, paths: self.paths.into_iter().collect() }
    }
}
