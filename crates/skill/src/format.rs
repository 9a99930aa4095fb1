//! A `SKILL.md`: YAML between two lines of `---`, then Markdown. Everything that is wrong is told with its line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::{DuplicateKeyPolicy, Options};

use hob_core::domain::text::one_line;

/// The most bytes of a `SKILL.md`.
pub(crate) const BYTES_MAX: usize = 256 * 1024;
/// The longest name, in characters.
pub(crate) const NAME_CHARS_MAX: usize = 64;
/// The longest description, in characters.
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 1_024;
/// The most bytes of the front matter.
const FRONT_BYTES_MAX: usize = 16 * 1024;
/// The most trigger phrases, and the longest one in characters.
const TRIGGERS_MAX: usize = 50;
const TRIGGER_CHARS_MAX: usize = 100;
/// The most tools that are named.
const TOOLS_MAX: usize = 100;
/// How deep YAML may be nested.
const DEPTH_MAX: usize = 8;
/// The most characters of what the YAML parser says.
const WHY_CHARS_MAX: usize = 200;
/// The line around the front matter.
const FENCE: &str = "---";
/// Names that mean something else among the installed skills.
const RESERVED: [&str; 1] = ["drafts"];

/// A skill as its file tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name: its folder's.
    pub name: String,
    /// What it does, and when to use it.
    pub description: String,
    /// Words by which it is found.
    pub triggers: Vec<String>,
    /// The tools that it says it needs.
    pub allowed_tools: Vec<String>,
    /// Under what terms it may be used.
    pub license: Option<String>,
    /// The instructions.
    pub body: String,
}

/// What is wrong with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct FormatError {
    /// The line, from 1.
    pub line: usize,
    /// What, and what to do.
    pub why: String,
}

/// Some words, as a list or with commas (or spaces, where no word has one).
#[derive(Debug, Default, PartialEq, Eq)]
struct WordList(Vec<String>);

impl<'de> Deserialize<'de> for WordList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = WordList;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of words, or words with commas between them")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<WordList, E> {
                Ok(WordList(text.split(',').map(str::to_owned).collect()))
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<WordList, E> {
                Ok(WordList::default())
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<WordList, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element::<String>()? {
                    words.push(word);
                }
                Ok(WordList(words))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// What may stand in the front matter. What other programs put there besides is their own.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct FrontMatter {
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    triggers: WordList,
    #[serde(default)]
    allowed_tools: WordList,
    license: Option<String>,
    #[serde(default, rename = "metadata")]
    _metadata: Option<BTreeMap<String, IgnoredAny>>,
}

/// Is this a name that a skill may have?
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() {
        return Err("the name is empty".to_owned());
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(format!("the name has more than {NAME_CHARS_MAX} characters"));
    }
    if !name.chars().all(allowed) {
        return Err(format!("the name {name:?} may have small letters a-z, digits and hyphens only"));
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Err(format!("the name {name:?} may neither begin nor end with a hyphen, nor have two in a row"));
    }
    if RESERVED.contains(&name) {
        return Err(format!("the name {name:?} is taken by Hob; choose another"));
    }
    Ok(())
}

/// Reads a `SKILL.md`. `folder` is its folder's name; none: where it comes without one.
///
/// # Errors
/// When it is none, with the line at fault.
pub(crate) fn parse(bytes: &[u8], folder: Option<&str>) -> Result<Skill, FormatError> {
    if bytes.len() > BYTES_MAX {
        let why = format!("SKILL.md has more than {} KiB: put what is long into files beside it", BYTES_MAX / 1024);
        return Err(FormatError { line: 1, why });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| FormatError {
        line: 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count(),
        why: "this is not UTF-8: save the file as UTF-8".to_owned(),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(at) = text.find('\0') {
        let why = "there is a zero byte in it: SKILL.md is a text file".to_owned();
        return Err(FormatError { line: line_at(text, at), why });
    }
    let (front, body) = cut(text)?;
    let front_lines = front.lines().count();
    let skill = read(front, folder)?;
    let body = body.trim();
    if body.is_empty() {
        let why = "there are no instructions below the front matter: write what is to be done".to_owned();
        return Err(FormatError { line: front_lines + 2, why });
    }
    Ok(Skill { body: body.replace("\r\n", "\n"), ..skill })
}

fn line_at(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
}

/// The front matter and what is below it.
fn cut(text: &str) -> Result<(&str, &str), FormatError> {
    let mut at = 0;
    let mut begin = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == FENCE;
        at += line.len();
        match begin {
            None if is_fence => begin = Some(at),
            None => {
                let why = format!("it must begin with a line of {FENCE}, then `name:` and `description:`");
                return Err(FormatError { line: index + 1, why });
            }
            Some(begin) if is_fence => return Ok((&text[begin..at - line.len()], &text[at..])),
            Some(begin) if at - begin > FRONT_BYTES_MAX => {
                let why = format!(
                    "the front matter has more than {} KiB, or no line of {FENCE} ends it",
                    FRONT_BYTES_MAX / 1024
                );
                return Err(FormatError { line: index + 1, why });
            }
            Some(_) => {}
        }
    }
    let why = match begin {
        None => format!("it is empty: it must begin with a line of {FENCE}, then `name:` and `description:`"),
        Some(_) => format!("no second line of {FENCE} ends the front matter: add one below it"),
    };
    Err(FormatError { line: text.lines().count().max(1), why })
}

/// Bounds on what YAML can be: no aliases, little depth, one document.
fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_aliases: 0,
        max_anchors: 0,
        max_depth: DEPTH_MAX,
        flow_nesting_limit: DEPTH_MAX,
        max_documents: 1,
        max_events: 4_000,
        max_nodes: 2_000,
        max_total_scalar_bytes: FRONT_BYTES_MAX,
        max_merge_keys: 0,
    };
    serde_saphyr::options! {
        budget: budget,
        duplicate_keys: DuplicateKeyPolicy::Error,
        with_snippet: false,
    }
}

fn read(front: &str, folder: Option<&str>) -> Result<Skill, FormatError> {
    // A line of the front matter is one further down in its file.
    let below = |line: usize| line + 1;
    let fields: FrontMatter = serde_saphyr::from_str_with_options(front, options()).map_err(|error| {
        let line = error.location().and_then(|at| usize::try_from(at.line()).ok()).unwrap_or(1).max(1);
        let why: String = error.without_snippet().to_string().chars().take(WHY_CHARS_MAX).collect();
        FormatError { line: below(line), why: format!("the front matter cannot be read: {}", why.replace('\n', " ")) }
    })?;
    let at = |key: &str| {
        let begins = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        below(1 + front.lines().position(begins).unwrap_or(0))
    };
    let wrong = |key: &str, why: String| FormatError { line: at(key), why };
    let missing = |key: &str| wrong(key, format!("the front matter has no `{key}:`; add one"));
    let name = fields.name.ok_or_else(|| missing("name"))?.trim().to_owned();
    check_name(&name).map_err(|why| wrong("name", why))?;
    if let Some(folder) = folder.filter(|folder| *folder != name) {
        let why = format!("the name {name:?} is not that of its folder, {folder:?}; rename one of them");
        return Err(wrong("name", why));
    }
    let description = fields.description.ok_or_else(|| missing("description"))?;
    let description = one_line(&description);
    if description.is_empty() {
        return Err(wrong(
            "description",
            "the description is empty: say what the skill does, and when to use it".to_owned(),
        ));
    }
    if description.chars().count() > DESCRIPTION_CHARS_MAX {
        let why = format!("the description has more than {DESCRIPTION_CHARS_MAX} characters; shorten it");
        return Err(wrong("description", why));
    }
    let triggers = tidy(fields.triggers);
    if triggers.len() > TRIGGERS_MAX || triggers.iter().any(|trigger| trigger.chars().count() > TRIGGER_CHARS_MAX) {
        let why =
            format!("there may be {TRIGGERS_MAX} triggers of {TRIGGER_CHARS_MAX} characters each; take some away");
        return Err(wrong("triggers", why));
    }
    let allowed_tools = tools(fields.allowed_tools);
    if allowed_tools.len() > TOOLS_MAX {
        return Err(wrong("allowed-tools", format!("there may be {TOOLS_MAX} tools; take some away")));
    }
    let license = fields.license.map(|license| license.trim().to_owned());
    Ok(Skill { name, description, triggers, allowed_tools, license, body: String::new() })
}

fn tidy(words: WordList) -> Vec<String> {
    let words = words.0.into_iter().map(|word| one_line(&word));
    words.filter(|word| !word.is_empty()).collect()
}

/// Names of tools may also have spaces between them, as the published format has it: `Read Bash(git:*)`.
fn tools(words: WordList) -> Vec<String> {
    tidy(words).iter().flat_map(|word| word.split(' ')).map(str::to_owned).collect()
}
#[cfg(test)]
mod tests;
