//! Notes in Markdown as single entries, without what only the form says. Pure.
//!
//! Never: a placeholder such as "(your name)", a heading, or an explanation that the other program wrote itself.

use jiff::civil::Date;

/// What the other programs write into an empty file themselves.
const OWN_WORDS: [&str; 5] = [
    "This file stores important information that should persist across sessions.",
    "Information about the user to help personalize interactions.",
    "Begin each directive with an imperative such as",
    "Record the observation date and either",
    "Replace the example below with a real directive",
];
/// Behind this heading openclaw keeps what it knows of its person; before it, only how that is written.
const DIRECTIVES: &str = "## Directives";
/// Longer entries are no notes.
const ENTRY_CHARS_MAX: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoteEntry {
    pub(super) text: String,
    /// When it was written down, where that is said.
    pub(super) day: Option<Date>,
}

/// The entries of a file: its list items and paragraphs.
pub(super) fn entries(markdown: &str) -> Vec<NoteEntry> {
    let behind = markdown.find(DIRECTIVES).and_then(|at| markdown.get(at..)).unwrap_or(markdown);
    let mut reading = NoteParser::default();
    for line in behind.lines() {
        reading.line(line);
    }
    reading.end();
    reading.entries
}

#[derive(Default)]
struct NoteParser {
    entries: Vec<NoteEntry>,
    open: Vec<String>,
    /// What the comment before an entry says of it.
    day: Option<Date>,
    is_superseded: bool,
    /// In a comment over several lines, or in a block of code, which only shows how something is written.
    is_aside: bool,
}

impl NoteParser {
    fn line(&mut self, line: &str) {
        let bare = line.trim();
        if bare.starts_with("```") {
            self.end();
            self.is_aside = !self.is_aside;
        } else if bare.starts_with("<!--") {
            self.end();
            self.is_aside = !bare.contains("-->");
            self.day = observed_day(bare);
            self.is_superseded = bare.contains("superseded");
        } else if self.is_aside {
            self.is_aside = !bare.contains("-->");
        } else if bare.is_empty() {
            self.close();
        } else if bare.starts_with('#') || bare.chars().all(|c| "-*_=".contains(c)) {
            self.end();
        } else if item(line).is_some() {
            self.close();
            self.open.push(item(line).unwrap_or_default().to_owned());
        } else {
            self.open.push(bare.to_owned());
        }
    }

    /// What is open is an entry, if it says something.
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let text = self.open.join("\n");
        self.open.clear();
        if says_something(&text) && !self.is_superseded {
            self.entries.push(NoteEntry { text, day: self.day });
        }
        self.day = None;
        self.is_superseded = false;
    }

    fn end(&mut self) {
        self.close();
        self.day = None;
        self.is_superseded = false;
    }
}

/// The text of an item of a list at the margin; deeper ones belong to it.
fn item(line: &str) -> Option<&str> {
    let text = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| (line == "-").then_some(""))?;
    Some(text.trim())
}

/// The day in `<!-- observed: 2026-05-01 | status: active -->`.
fn observed_day(comment: &str) -> Option<Date> {
    let (_, rest) = comment.split_once("observed:")?;
    rest.trim().get(..10)?.parse().ok()
}

/// Whether somebody has written it, rather than the form.
fn says_something(text: &str) -> bool {
    let own = OWN_WORDS.iter().any(|own| text.starts_with(own));
    let value = text.split_once(":**").or_else(|| text.split_once("**:")).map_or(text, |(_, value)| value).trim();
    let is_form = value.starts_with('(') && value.ends_with(')') || value.starts_with('_') && value.ends_with('_');
    let is_note = value.starts_with('*') && value.ends_with('*') && !value.starts_with("**");
    let is_empty = value.is_empty() || value.starts_with("[ ]");
    let is_link = value.starts_with('[') && value.contains("](/");
    let is_sample = value.ends_with("...") && value.len() < 16;
    !(own || is_form || is_note || is_empty || is_sample || is_link) && text.chars().count() <= ENTRY_CHARS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<String> {
        let told = |entry: &NoteEntry| match entry.day {
            Some(day) => format!("{day}: {}", entry.text),
            None => entry.text.clone(),
        };
        entries(markdown).iter().map(told).collect()
    }

    #[test]
    fn the_form_alone_has_no_entry() {
        let nanobot = include_str!("../../../tests/fixtures/import/nanobot/workspace/USER.md");
        assert_eq!(texts(nanobot), [] as [&str; 0]);
        let openclaw = include_str!("../../../tests/fixtures/import/openclaw/USER-as-onboarded.md");
        assert_eq!(texts(openclaw), [] as [&str; 0]);
    }

    #[test]
    fn items_and_paragraphs_are_entries_and_comments_date_them() {
        let text = "# Memory\n\nThe boiler is old.\nIt leaks.\n\n## Pets\n- Miso is a cat\n  - she is grey\n* Rex\n\n---\n\
                    <!-- observed: 2026-05-01 | status: active -->\n\n- Prefer tea.\n\
                    <!-- observed: 2026-04-01 | status: superseded -->\n- Prefer coffee.\n- **Name**: Ada\n\
                    ```\n- a sample\n```\n<!--\nnot said\n-->\nAt last.\n";
        assert_eq!(
            texts(text),
            [
                "The boiler is old.\nIt leaks.",
                "Miso is a cat\n- she is grey",
                "Rex",
                "2026-05-01: Prefer tea.",
                "**Name**: Ada",
                "At last."
            ]
        );
    }
}
