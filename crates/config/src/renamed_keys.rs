//! Keys that were called otherwise once: they are read under their new name, and the file stays as it is (row N7).

use crate::document::{DocumentNode, DocumentTable, DocumentValue};
use crate::key_path;
use crate::load::LoadNote;

/// A key under a new name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenamedKey {
    /// Its old path; `*` is any name.
    pub(crate) from: &'static [&'static str],
    /// What it is called now, at the same place but for its last steps; as many `*` as in `from`.
    pub(crate) to: &'static [&'static str],
    /// Since which version.
    pub(crate) since: &'static str,
}

/// All of them, since the first release.
pub(crate) const RENAMED: [RenamedKey; 0] = [];

/// An old and a new name that both stand in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DuplicateKey {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) now: String,
}

/// Moves what stands under an old name to the new one.
pub(super) fn apply(table: &mut DocumentTable, all: &[RenamedKey]) -> (Vec<LoadNote>, Vec<DuplicateKey>) {
    let (mut notes, mut both) = (Vec::new(), Vec::new());
    for renamed in all {
        for from in matches(table, renamed.from) {
            let to = filled(renamed, &from);
            let (key, now) = (path(&from), path(&to));
            let Some((line, node)) = take(table, &from) else { continue };
            match put(table, &to, (line, node)) {
                true => notes.push(LoadNote {
                    key: key.clone(),
                    line: Some(line),
                    what: format!("is called {now} since Hob {}, and is read as that", renamed.since),
                    fix: format!("rename it to {now}"),
                }),
                false => both.push(DuplicateKey { key, line, now }),
            }
        }
    }
    (notes, both)
}

fn path(steps: &[String]) -> String {
    steps.iter().fold(String::new(), |at, step| key_path::child(&at, step))
}

/// The paths in the table that fit.
fn matches(table: &DocumentTable, pattern: &[&str]) -> Vec<Vec<String>> {
    let [first, rest @ ..] = pattern else { return Vec::new() };
    let fitting = table.iter().filter(|(key, _)| *first == "*" || first == key);
    let paths = fitting.flat_map(|(key, (_, node))| match (&node.value, rest) {
        (_, []) => vec![vec![key.clone()]],
        (DocumentValue::Table(inner), _) => {
            let inner = matches(inner, rest).into_iter();
            inner.map(|path| std::iter::once(key.clone()).chain(path).collect()).collect()
        }
        _ => Vec::new(),
    });
    paths.collect()
}

/// The new path, with the names that the user gave.
fn filled(renamed: &RenamedKey, from: &[String]) -> Vec<String> {
    let mut names = renamed.from.iter().zip(from).filter(|(word, _)| **word == "*").map(|(_, name)| name.clone());
    let step = |word: &&str| if *word == "*" { names.next().unwrap_or_default() } else { (*word).to_owned() };
    renamed.to.iter().map(step).collect()
}

fn take(table: &mut DocumentTable, path: &[String]) -> Option<(usize, DocumentNode)> {
    match path {
        [] => None,
        [last] => table.remove(last),
        [first, rest @ ..] => {
            let DocumentValue::Table(inner) = &mut table.get_mut(first)?.1.value else { return None };
            let taken = take(inner, rest);
            // A section that is left without a key was there for this one only.
            if inner.is_empty() {
                table.remove(first);
            }
            taken
        }
    }
}

/// Whether there was room for it.
fn put(table: &mut DocumentTable, path: &[String], what: (usize, DocumentNode)) -> bool {
    match path {
        [] => false,
        [last] if table.contains_key(last) => false,
        [last] => {
            table.insert(last.clone(), what);
            true
        }
        [first, rest @ ..] => {
            let line = what.0;
            let section = || (line, DocumentNode { line, value: DocumentValue::Table(DocumentTable::new()) });
            match &mut table.entry(first.clone()).or_insert_with(section).1.value {
                DocumentValue::Table(inner) => put(inner, rest, what),
                _ => false,
            }
        }
    }
}
