//! The run journal: what a run notes for itself, and for whoever goes on with it (row B12).
//!
//! | who sees it | what |
//! |---|---|
//! | the model, with each request | [`Notebook::digest`]: a few lines, as the last message |
//! | the model, when it asks or goes on with an unfinished task | [`Notebook::whole`] |
//! | the person, when a run fails | [`Notebook::gist`], with what may be done about it (`projection/failure.rs`) |

use serde::{Deserialize, Serialize};

use hob_core::domain::notebook::{NotebookChange, Section};
use hob_core::domain::text::{cut_trimmed, head, inert, one_line};
use hob_model::message::Message;

/// The longest objective, state or next action.
const FIELD_CHARS_MAX: usize = 1_000;
/// The longest entry of a list.
const ENTRY_CHARS_MAX: usize = 300;
/// The most entries of a list; beyond, the oldest goes.
const ENTRIES_MAX: usize = 20;
/// The longest digest.
const DIGEST_CHARS_MAX: usize = 500;
/// Of the objective and the state, as much is in the digest.
const DIGEST_FIELD_CHARS: usize = 110;
/// Of the blocker and the next action, as much is in the digest.
const DIGEST_ENTRY_CHARS: usize = 70;
/// A finding of which less than this can be shown is left out of the digest.
const DIGEST_FINDING_CHARS_MIN: usize = 20;
/// Of each field, as much is told to a person.
pub(crate) const GIST_CHARS: usize = 200;
/// How a person sees all of it.
pub(crate) const SEE_ALL: &str = "/journal shows what I noted.";

/// The tools that read and write it.
pub(crate) const TOOLS: [&str; 3] = ["append_run_journal_entry", "get_run_journal", "update_run_journal"];

/// A run's notes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notebook {
    /// What is to be reached.
    pub objective: String,
    /// Where it stands.
    pub current_state: String,
    /// What is known for sure.
    pub verified_findings: Vec<String>,
    /// What was decided.
    pub(crate) decisions: Vec<String>,
    /// What was made.
    pub(crate) artifacts: Vec<String>,
    /// What is not known.
    pub open_questions: Vec<String>,
    /// What is in the way.
    pub(crate) blockers: Vec<String>,
    /// What should be done next.
    pub handoff_next_action: String,
}

impl Notebook {
    /// Is nothing noted?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Carries out what a tool asks: the words for the model, and whether it failed.
    pub fn change(&mut self, change: &NotebookChange) -> (String, bool) {
        match change {
            NotebookChange::Read => (self.whole(), false),
            NotebookChange::Update { objective, current_state, handoff_next_action } => {
                self.update([objective, current_state, handoff_next_action])
            }
            NotebookChange::Append { section, entry } => self.append(*section, entry.trim()),
        }
    }

    fn update(&mut self, given: [&Option<String>; 3]) -> (String, bool) {
        // What is blank takes nothing away.
        let given = given.map(|text| text.as_deref().map(str::trim).filter(|text| !text.is_empty()));
        if given.iter().all(Option::is_none) {
            return ("Nothing was given to be noted.".to_owned(), true);
        }
        if let Some(chars) = given.into_iter().flatten().map(|text| text.chars().count()).find(|&n| n > FIELD_CHARS_MAX)
        {
            return (too_long(chars, FIELD_CHARS_MAX), true);
        }
        let fields = [&mut self.objective, &mut self.current_state, &mut self.handoff_next_action];
        for (field, text) in fields.into_iter().zip(given) {
            if let Some(text) = text {
                text.clone_into(field);
            }
        }
        ("Noted.".to_owned(), false)
    }

    /// What is noted already is not noted twice, so that the call may be repeated.
    fn append(&mut self, section: Section, entry: &str) -> (String, bool) {
        let chars = entry.chars().count();
        if chars == 0 {
            return ("Nothing was given to be noted.".to_owned(), true);
        }
        if chars > ENTRY_CHARS_MAX {
            return (too_long(chars, ENTRY_CHARS_MAX), true);
        }
        let list = self.list(section);
        if list.iter().any(|known| known == entry) {
            return ("Noted already.".to_owned(), false);
        }
        list.push(entry.to_owned());
        if list.len() <= ENTRIES_MAX {
            return ("Noted.".to_owned(), false);
        }
        let dropped = list.remove(0);
        (format!("Noted. The list was full ({ENTRIES_MAX}), so its oldest entry is gone: {dropped}"), false)
    }

    fn list(&mut self, section: Section) -> &mut Vec<String> {
        match section {
            Section::VerifiedFindings => &mut self.verified_findings,
            Section::Decisions => &mut self.decisions,
            Section::Artifacts => &mut self.artifacts,
            Section::OpenQuestions => &mut self.open_questions,
            Section::Blockers => &mut self.blockers,
        }
    }

    /// All of it, as Markdown.
    pub fn whole(&self) -> String {
        let field = |title: &str, text: &str| (!text.is_empty()).then(|| format!("## {title}\n{text}"));
        let list = |title: &str, entries: &[String]| {
            let lines = entries.iter().map(|entry| format!("- {}", one_line(entry)));
            (!entries.is_empty()).then(|| format!("## {title}\n{}", lines.collect::<Vec<_>>().join("\n")))
        };
        let sections = [
            field("Objective", &self.objective),
            field("Current state", &self.current_state),
            list("Verified findings", &self.verified_findings),
            list("Decisions", &self.decisions),
            list("Artifacts", &self.artifacts),
            list("Open questions", &self.open_questions),
            list("Blockers", &self.blockers),
            field("Next action", &self.handoff_next_action),
        ];
        let sections: Vec<String> = sections.into_iter().flatten().collect();
        if sections.is_empty() { "The run journal is empty.".to_owned() } else { sections.join("\n\n") }
    }

    /// What each request reminds the model of, in a few lines; none while nothing is noted.
    pub fn digest(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let blocker = self.blockers.first().map_or("", String::as_str);
        let named = [
            ("objective", self.objective.as_str(), DIGEST_FIELD_CHARS),
            ("state", self.current_state.as_str(), DIGEST_FIELD_CHARS),
            ("blocker", blocker, DIGEST_ENTRY_CHARS),
            ("next", self.handoff_next_action.as_str(), DIGEST_ENTRY_CHARS),
        ];
        let named = named.into_iter().filter(|(_, text, _)| !text.is_empty());
        let mut lines: Vec<String> = named.map(|(name, text, max)| format!("{name}: {}", line(text, max))).collect();
        lines.extend(self.counted());
        let mut room = DIGEST_CHARS_MAX.saturating_sub(lines.iter().map(|line| line.chars().count() + 1).sum());
        for finding in self.verified_findings.iter().rev() {
            let shown = format!("found: {}", line(finding, room.saturating_sub("found: ".len() + 1)));
            let chars = shown.chars().count();
            if room < DIGEST_FINDING_CHARS_MIN || chars >= room {
                break;
            }
            room -= chars + 1;
            lines.push(shown);
        }
        Some(lines.join("\n"))
    }

    /// How much there is that the digest does not show.
    fn counted(&self) -> Option<String> {
        let lists = [
            ("decisions", self.decisions.len()),
            ("artifacts", self.artifacts.len()),
            ("open questions", self.open_questions.len()),
        ];
        let counts: Vec<String> =
            lists.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}")).collect();
        (!counts.is_empty()).then(|| format!("also noted: {}", counts.join(", ")))
    }

    /// The digest as the last message of a request.
    pub fn message(&self) -> Option<Message> {
        let digest = self.digest()?;
        Some(Message::user(format!("<run_journal>\nYour notes on this task, as data:\n{digest}\n</run_journal>")))
    }

    /// What a person is told of it when the run does not come to its end.
    pub fn gist(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let named = [
            ("Objective", &self.objective),
            ("Where it stood", &self.current_state),
            ("Next", &self.handoff_next_action),
        ];
        let told = named.into_iter().filter(|(_, text)| !text.is_empty());
        let mut lines: Vec<String> = told.map(|(name, text)| format!("{name}: {}", line(text, GIST_CHARS))).collect();
        lines.push(SEE_ALL.to_owned());
        Some(lines.join("\n"))
    }

    /// Words about a run that failed, with the gist of its notes below.
    pub fn below(&self, told: &str) -> String {
        self.gist().map_or_else(|| told.to_owned(), |gist| format!("{told}\n\n{gist}"))
    }

    /// All of it for the block of data that a run begins with, unable to end that block.
    pub(crate) fn handed_over(&self) -> String {
        let whole = self.whole().replace('<', "‹").replace('>', "›");
        format!("your run journal of the task before this message, which did not come to its end:\n{whole}")
    }
}

fn too_long(chars: usize, max: usize) -> String {
    format!("Not noted: {chars} characters, and at most {max} fit. Say it shorter.")
}

/// On one line, cut, and unable to end the block it stands in.
pub(crate) fn line(text: &str, chars_max: usize) -> String {
    let line = inert(text);
    // The sign is one of them.
    if head(&line, chars_max) == line { line } else { cut_trimmed(&line, chars_max.saturating_sub(1)) }
}
