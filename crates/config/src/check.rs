//! A document against the shape of its types: everything that is wrong, and what is left without the wrong parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::Value as Toml;

use crate::document::{DocumentNode, DocumentTable, DocumentValue};
use crate::example;
use crate::expand::ExpansionFailure;
use crate::key_path;
use crate::problem::{Finding, Problem};
use crate::renamed_keys::DuplicateKey;
use crate::shape::{KeyShape, ValueShape};

/// What a value is to be; without its field where it is one of a list or table.
#[derive(Clone, Copy)]
struct ExpectedValue<'s> {
    shape: &'s ValueShape,
    field: Option<&'s KeyShape>,
}

/// What is known about one document while it is checked.
pub(super) struct DocumentCheck<'a> {
    file: &'a Path,
    root: &'a [KeyShape],
    problems: Vec<Problem>,
    /// Where each key of the document stands.
    lines: BTreeMap<String, usize>,
    /// The places with a problem: what follows from them only is not reported as well.
    broken: BTreeSet<String>,
}

impl<'a> DocumentCheck<'a> {
    pub(super) fn new(file: &'a Path, root: &'a [KeyShape]) -> Self {
        Self { file, root, problems: Vec::new(), lines: BTreeMap::new(), broken: BTreeSet::new() }
    }

    /// Takes over what could not be expanded.
    pub(super) fn unexpanded(&mut self, failures: Vec<ExpansionFailure>) {
        for ExpansionFailure { steps, line, trouble } in failures {
            let (why, fix) = trouble.words();
            self.report(&key_path::of(&steps), line, why, fix);
        }
    }

    /// Takes over where something is missing that switches its section off: that is no problem of the file.
    pub(super) fn off(&mut self, places: Vec<String>) {
        self.broken.extend(places);
    }

    /// Takes over what stands in the document under an old name and a new one.
    pub(super) fn renamed(&mut self, both: Vec<DuplicateKey>) {
        for DuplicateKey { key, line, now } in both {
            self.report(&key, line, format!("is the old name of {now}, which is there as well"), "remove it");
        }
    }

    /// The document without its wrong parts, which are reported.
    pub(super) fn document(&mut self, table: &DocumentTable) -> toml::Table {
        self.section("", 1, table, self.root)
    }

    /// Takes over what the sections found, unless it only echoes a problem that is known already.
    pub(super) fn findings(&mut self, findings: Vec<Finding>) {
        let known = self.broken.clone();
        for finding in findings {
            if !known.iter().any(|broken| finding.echoes(broken)) {
                let line = self.line(&finding);
                self.report(&finding.key, line, finding.why, finding.fix);
            }
        }
    }

    /// What only `findings` say of a document that has nothing else wrong.
    pub(super) fn contradictions(mut self, table: &DocumentTable, findings: Vec<Finding>) -> Vec<Problem> {
        self.document(table);
        self.broken.clear();
        self.problems.clear();
        self.findings(findings);
        self.problems
    }

    /// Every problem so far.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// The line of the first of the finding's places that stands in the document, else of the section around.
    fn line(&self, finding: &Finding) -> usize {
        let around = std::iter::successors(Some(finding.key.as_str()), |inner| key_path::parent(inner));
        finding.places().chain(around).find_map(|at| self.lines.get(at)).copied().unwrap_or(1)
    }

    fn report(&mut self, at: &str, line: usize, why: impl Into<String>, fix: impl Into<String>) {
        self.broken.insert(at.to_owned());
        let (why, fix) = (why.into(), fix.into());
        self.problems.push(Problem { file: self.file.to_owned(), line, column: None, key: at.to_owned(), why, fix });
    }

    fn section(&mut self, at: &str, line: usize, table: &DocumentTable, fields: &[KeyShape]) -> toml::Table {
        let mut clean = toml::Table::new();
        for (key, (line, node)) in table {
            let here = key_path::child(at, key);
            self.lines.insert(here.clone(), *line);
            match fields.iter().find(|field| field.name == *key) {
                Some(field) => {
                    let value =
                        self.value(&here, *line, node, ExpectedValue { shape: &field.shape, field: Some(field) });
                    clean.extend(value.map(|value| (key.clone(), value)));
                }
                None => self.unknown(at, key, *line, fields),
            }
        }
        for field in fields.iter().filter(|field| field.required) {
            if clean.contains_key(&field.name) {
                continue;
            }
            let here = key_path::child(at, &field.name);
            if !table.contains_key(&field.name) && !self.broken.contains(&here) {
                let why = format!("is missing, expected {}", expected(&field.shape));
                self.report(&here, line, why, format!("for example {}", example::setting(field)));
            }
            // A stand-in, so that the rest of the section can be looked at.
            clean.extend(field.sample().and_then(example::toml).map(|value| (field.name.clone(), value)));
        }
        clean
    }

    fn unknown(&mut self, at: &str, key: &str, line: usize, fields: &[KeyShape]) {
        let here = key_path::child(at, key);
        let near = near_names(key, fields.iter().map(|field| field.name.as_str()));
        let fix = if !near.is_empty() {
            self.broken.extend(near.iter().map(|near| key_path::child(at, near)));
            format!("did you mean `{}`?", near.join("` or `"))
        } else if let Some(elsewhere) = find(self.root, "", key).filter(|elsewhere| *elsewhere != here) {
            format!("did you mean `{elsewhere}`?")
        } else {
            let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            format!("known here: {}", known.join(", "))
        };
        self.report(&here, line, "is not a known key", fix);
    }

    fn number(&mut self, at: &str, line: usize, number: f64, what: ExpectedValue<'_>) -> Option<Toml> {
        match what.shape {
            ValueShape::Number { min, max } if (*min..=*max).contains(&number) => Some(Toml::Float(number)),
            _ => self.wrong(at, line, format!("is {number}"), what),
        }
    }

    /// The value in the form that serde reads; `None` if it is wrong.
    fn value(&mut self, at: &str, line: usize, node: &DocumentNode, what: ExpectedValue<'_>) -> Option<Toml> {
        let ExpectedValue { shape, field } = what;
        match (shape, &node.value) {
            (_, DocumentValue::Broken) => None,
            (ValueShape::Bool, DocumentValue::Bool(flag)) => Some(Toml::Boolean(*flag)),
            (ValueShape::Integer { min, max }, DocumentValue::Integer(number)) => {
                match number.filter(|n| (min..=max).contains(&n)) {
                    Some(number) => Some(Toml::Integer(number)),
                    None => {
                        let number = number.map_or("too big".to_owned(), |number| number.to_string());
                        self.wrong(at, line, format!("is {number}"), what)
                    }
                }
            }
            (ValueShape::Number { .. }, DocumentValue::Integer(Some(number))) => {
                self.number(at, line, *number as f64, what)
            }
            (ValueShape::Number { .. }, DocumentValue::Float(number)) => self.number(at, line, *number, what),
            (ValueShape::Text { min, max }, DocumentValue::Text(text)) => match text.chars().count() {
                0 if *min > 0 => self.wrong(at, line, "is empty".to_owned(), what),
                chars if !(*min..=*max).contains(&chars) => {
                    self.wrong(at, line, format!("has {chars} characters"), what)
                }
                _ => Some(Toml::String(text.clone())),
            },
            (ValueShape::Choice(words), DocumentValue::Text(text)) => {
                if words.iter().any(|(word, _)| word == text) {
                    return Some(Toml::String(text.clone()));
                }
                let why = format!("is not a known word, expected {}", expected(shape));
                let near = nearest(text, words.iter().map(|(word, _)| word.as_str()));
                let fix = near.map_or_else(|| for_example(field), |near| format!("did you mean `{near}`?"));
                self.report(at, line, why, fix);
                None
            }
            (ValueShape::List { item, min, max }, DocumentValue::List(items)) => {
                if items.len() < *min || items.len() > *max {
                    return self.wrong(at, line, format!("has {} items", items.len()), what);
                }
                let mut one = |(index, node): (usize, &DocumentNode)| {
                    let here = key_path::item(at, index);
                    self.lines.insert(here.clone(), node.line);
                    self.value(&here, node.line, node, ExpectedValue { shape: item, field: None })
                };
                // Every item is looked at; a list that lost one would give the others the wrong number.
                let clean: Vec<Option<Toml>> = items.iter().enumerate().map(&mut one).collect();
                if clean.iter().any(Option::is_none) {
                    self.broken.insert(at.to_owned());
                }
                clean.into_iter().collect::<Option<_>>().map(Toml::Array)
            }
            (ValueShape::Map { item, .. }, DocumentValue::Table(table)) => {
                let mut clean = toml::Table::new();
                for (key, (line, node)) in table {
                    let here = key_path::child(at, key);
                    self.lines.insert(here.clone(), *line);
                    clean.extend(
                        self.value(&here, *line, node, ExpectedValue { shape: item, field: None })
                            .map(|value| (key.clone(), value)),
                    );
                }
                Some(Toml::Table(clean))
            }
            (ValueShape::Section(fields), DocumentValue::Table(table)) => {
                Some(Toml::Table(self.section(at, line, table, fields)))
            }
            (_, other) => self.wrong(at, line, format!("is {}", other.kind()), what),
        }
    }

    /// Reports a value that is not of its shape.
    fn wrong(
        &mut self,
        at: &str,
        line: usize,
        is: String,
        ExpectedValue { shape, field }: ExpectedValue<'_>,
    ) -> Option<Toml> {
        let fix = match shape {
            ValueShape::Section(_) if at.ends_with(']') => {
                format!("write each as `[[{}]]`", key_path::parent(at).unwrap_or(at))
            }
            ValueShape::Section(_) => format!("write it as `[{at}]`"),
            ValueShape::List { item, .. } if matches!(**item, ValueShape::Section(_)) => {
                format!("write each as `[[{at}]]`")
            }
            ValueShape::Map { name, .. } if field.is_none_or(|field| field.example.is_none()) => {
                format!("write each as `[{at}.{}]`", key_path::key(name))
            }
            ValueShape::Text { .. } if field.is_none() => "put it in quotes".to_owned(),
            _ => for_example(field),
        };
        self.report(at, line, format!("{is}, expected {}", expected(shape)), fix);
        None
    }
}

fn for_example(field: Option<&KeyShape>) -> String {
    field.map_or_else(
        || "correct it or remove it".to_owned(),
        |field| format!("for example {}", example::setting(field)),
    )
}

/// What a shape takes, in words.
pub(super) fn expected(shape: &ValueShape) -> String {
    match shape {
        ValueShape::Text { min: 0, max } => format!("text of at most {max} characters"),
        ValueShape::Text { min, max } => format!("text of {min} to {max} characters"),
        ValueShape::Choice(words) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            format!("one of: {}", words.join(", "))
        }
        ValueShape::Integer { min, max } => format!("a whole number from {min} to {max}"),
        ValueShape::Number { min, max } => format!("a number from {min} to {max}"),
        ValueShape::Bool => "true or false".to_owned(),
        ValueShape::List { item, min, max } => {
            let items = match **item {
                ValueShape::Text { .. } => "texts",
                ValueShape::Integer { .. } => "whole numbers",
                ValueShape::Number { .. } => "numbers",
                ValueShape::Section(_) => "sections",
                ValueShape::Choice(_) | ValueShape::Bool | ValueShape::List { .. } | ValueShape::Map { .. } => "items",
            };
            let limits = if *min == 0 { format!("at most {max}") } else { format!("{min} to {max}") };
            format!("a list of {limits} {items}")
        }
        ValueShape::Map { item, .. } if matches!(**item, ValueShape::Section(_)) => {
            "sections, each with a name".to_owned()
        }
        ValueShape::Map { .. } => "a table of texts".to_owned(),
        ValueShape::Section(_) => "a section".to_owned(),
    }
}

/// The known name that `typed` is most likely to mean, if one is near.
pub(super) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = near_names(typed, known);
    near.first().copied().filter(|_| near.len() == 1)
}

/// More names than this that end alike say nothing.
const ENDS_MAX: usize = 3;

/// The known names that `typed` may mean: the nearest, or those that end so.
fn near_names<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if typed.len() > 64 {
        return Vec::new();
    }
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let typed = plain(typed);
    let allowed = |name: &str| (name.len().max(typed.len()) / 3).clamp(1, 4);
    let known: Vec<&str> = known.collect();
    let written = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&typed, &plain(name)), *name))
        .filter(|(distance, name)| *distance <= allowed(name))
        .min_by_key(|(distance, _)| *distance);
    if let Some((_, name)) = written {
        return vec![name];
    }
    // `password` is the end of `imap_password`, and of `smtp_password`.
    let ends = known.into_iter().filter(|name| name.strip_suffix(&*typed).is_some_and(|rest| rest.ends_with('_')));
    let ends: Vec<&str> = ends.collect();
    if ends.len() > ENDS_MAX { Vec::new() } else { ends }
}

/// The place of the first key of this name in the sections below.
fn find(fields: &[KeyShape], at: &str, name: &str) -> Option<String> {
    fields.iter().find_map(|field| {
        let here = key_path::child(at, &field.name);
        if field.name == name {
            return Some(here);
        }
        let (here, shape) = match &field.shape {
            ValueShape::List { item, .. } => (here, &**item),
            ValueShape::Map { item, name } => (key_path::child(&here, name), &**item),
            other => (here, other),
        };
        match shape {
            ValueShape::Section(inner) => find(inner, &here, name),
            _ => None,
        }
    })
}
