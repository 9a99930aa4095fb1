//! The lines of a transfer: one JSON object each. This encoding is documented; change it only by adding. Pure.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use hob_core::domain::origin::Taint;

/// The most characters of what was said.
const TEXT_CHARS_MAX: usize = 100_000;
/// The most characters of a fact's category, key and value, and of a name.
const FIELD_CHARS_MAX: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TransferLine {
    /// Somebody of whom something is known.
    Person(PersonLine),
    /// Something that was said.
    Memory(MemoryLine),
    /// Something that is known, or was held for true.
    Fact(FactLine),
}

/// A person who talks with Hob, by names that hold in another house too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserRef {
    /// How they are called; for people who read the file.
    pub name: String,
    /// What platforms call them: `telegram:7`.
    pub identities: Vec<String>,
}

/// Whose something is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeRef {
    /// Everybody's in the house.
    House,
    /// Seen by those in the conversation with this published name.
    Conversation(String),
    Person(UserRef),
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLine {
    pub scope: ScopeRef,
    /// Its stretch of talk: the same number within a file.
    pub episode: u64,
    /// Who said it, as they are called.
    pub speaker: String,
    /// Who said it, if they talk with Hob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_by: Option<UserRef>,
    pub text: String,
    /// Hob's question that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The speaker's role; what is imported has `import`.
    pub origin: String,
    /// From 0 to 1.
    pub importance: f64,
    /// Whether it is pinned.
    #[serde(default)]
    pub pinned: bool,
    /// How often it was used.
    #[serde(default)]
    pub uses: i64,
    /// When, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// When it was said.
    pub at: Timestamp,
}

/// Something that is known, or was held for true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactLine {
    pub scope: ScopeRef,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Whom it is about: the name of a `person` of the same scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Who told it, as they are called.
    pub speaker: String,
    /// Who told it, if they talk with Hob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_by: Option<UserRef>,
    /// `told` or `extracted`; what is imported has `import`.
    pub source: String,
    /// From 0 to 1.
    pub confidence: f64,
    /// From 0 to 1.
    pub importance: f64,
    /// Whether it is pinned.
    #[serde(default)]
    pub pinned: bool,
    /// How often it was used.
    #[serde(default)]
    pub uses: i64,
    /// When, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// Since when it holds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Timestamp>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// Whether it contradicts the current one, and nobody has said which is true.
    #[serde(default)]
    pub disputed: bool,
    pub known_since: Timestamp,
    /// Until when it was held for true; none: it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_at: Option<Timestamp>,
    /// What nobody vouches for in what it rests on.
    #[serde(default, skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
}

/// Somebody of whom something is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonLine {
    pub scope: ScopeRef,
    pub name: String,
    /// Who this is, if they talk with Hob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserRef>,
    /// What they are to whoever told of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
    /// `YYYY-MM-DD`, or `--MM-DD` where the year is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birthday: Option<String>,
    /// Other names and addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
    pub known_since: Timestamp,
    /// When that was changed last.
    pub changed_at: Timestamp,
}

/// Another name or an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// `name`, `email`, `telegram`, `phone` …
    pub kind: String,
    pub value: String,
}

/// Lines as they are written in a file.
pub fn write(lines: &[TransferLine]) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    Ok(text)
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct LineError {
    /// From 1.
    pub line: usize,
    /// What, and what to do about it.
    pub what: String,
}

/// The lines of a file, each with its number; empty ones are left out.
///
/// # Errors
/// All that is wrong with them.
pub fn read(text: &str) -> Result<Vec<(usize, TransferLine)>, Vec<LineError>> {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        match serde_json::from_str::<TransferLine>(text) {
            Ok(read) => {
                problems.extend(line_problem(&read).map(|what| LineError { line, what }));
                lines.push((line, read));
            }
            Err(error) => problems.push(LineError { line, what: error.to_string() }),
        }
    }
    if problems.is_empty() { Ok(lines) } else { Err(problems) }
}

/// The first thing that is wrong with a line, beyond its form.
fn line_problem(line: &TransferLine) -> Option<String> {
    match line {
        TransferLine::Memory(said) => text("text", &said.text, TEXT_CHARS_MAX)
            .or_else(|| text("speaker", &said.speaker, FIELD_CHARS_MAX))
            .or_else(|| share("importance", said.importance)),
        TransferLine::Fact(known) => [("category", &known.category), ("key", &known.key), ("value", &known.value)]
            .into_iter()
            .find_map(|(name, value)| text(name, value, FIELD_CHARS_MAX))
            .or_else(|| share("importance", known.importance))
            .or_else(|| share("confidence", known.confidence)),
        TransferLine::Person(person) => text("name", &person.name, FIELD_CHARS_MAX)
            .or_else(|| person.birthday.as_deref().filter(|day| !is_birthday(day)).map(birthday)),
    }
}

fn text(name: &str, value: &str, chars_max: usize) -> Option<String> {
    match value.chars().count() {
        _ if value.trim().is_empty() => Some(format!("`{name}` is empty")),
        count if count > chars_max => Some(format!("`{name}` has {count} characters; {chars_max} are taken at most")),
        _ => None,
    }
}

fn share(name: &str, value: f64) -> Option<String> {
    (!(0.0..=1.0).contains(&value)).then(|| format!("`{name}` is {value}; it is a number from 0 to 1"))
}

fn birthday(day: &str) -> String {
    format!("`birthday` is {day:?}; it is written 1990-05-03, or --05-03 where the year is not known")
}

fn is_birthday(day: &str) -> bool {
    // 2000 was a leap year: 29 February is a birthday.
    let day = day.strip_prefix("--").map_or_else(|| day.to_owned(), |day| format!("2000-{day}"));
    day.len() == 10 && day.parse::<jiff::civil::Date>().is_ok()
}
