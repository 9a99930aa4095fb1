//! Which letters belong together, by their Message-IDs.
//!
//! A thread is called by the id of its first letter. `References` begins with it; a letter that only says what it answers
//! belongs to the thread of one of Hob's own, whose ids carry their thread's, or else begins one under the id that it answers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::header::Headers;

/// The longest id that is taken for one.
const ID_BYTES_MAX: usize = 250;
/// A longer root is not carried in Hob's own ids: a header's line has its limit.
const ROOT_BYTES_MAX: usize = 150;
/// The most ids of a `References` that are kept: the first and the last ones.
const REFERENCES_MAX: usize = 20;
/// What Hob's own ids begin with.
const OWN: &str = "hob-";

/// Where a letter stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThreadPosition {
    pub(super) id: String,
    /// It came with it; else the id was made up here.
    pub(super) is_given: bool,
    /// That of the thread's first letter.
    pub(super) root: String,
    /// Those before it, oldest first.
    pub(super) references: Vec<String>,
}

impl ThreadPosition {
    /// Is it written after one of Hob's own letters, which Hob has?
    pub(super) fn follows_own(&self) -> bool {
        self.references.iter().any(|id| is_own(id))
    }
}

/// Where the letter with these headers stands; `raw` is what an id is made of where it has none.
pub(super) fn place(headers: &Headers, raw: &[u8]) -> ThreadPosition {
    let id = headers.value("Message-ID").and_then(|value| ids(value).into_iter().next());
    let is_given = id.is_some();
    let id = id.unwrap_or_else(|| format!("{:.32}@no-message-id.invalid", hexadecimal(&Sha256::digest(raw))));
    let mut references: Vec<String> = headers.value("References").map(ids).unwrap_or_default();
    let answered = headers.value("In-Reply-To").and_then(|value| ids(value).into_iter().next());
    if let Some(answered) = answered.filter(|answered| !references.contains(answered)) {
        references.push(answered);
    }
    references.retain(|known| *known != id);
    if references.len() > REFERENCES_MAX {
        references.drain(1..=references.len() - REFERENCES_MAX);
    }
    let first = references.first().unwrap_or(&id);
    let root = root_of_own(first).unwrap_or_else(|| first.clone());
    ThreadPosition { id, is_given, root, references }
}

/// The id of a letter of Hob's: the same for each attempt at the same row, and another for each row.
pub(super) fn own_id(row: i64, root: &str, text: &str, domain: &str) -> String {
    let sum = hexadecimal(&Sha256::digest(format!("{root}\n{text}")));
    let root = if root.len() <= ROOT_BYTES_MAX { URL_SAFE_NO_PAD.encode(root) } else { String::new() };
    format!("{OWN}{row}-{sum:.12}.{root}@{domain}")
}

/// Is it the id of one of Hob's letters?
fn is_own(id: &str) -> bool {
    let row = id.strip_prefix(OWN).and_then(|rest| rest.split_once('-')).map(|(row, _)| row);
    row.is_some_and(|row| !row.is_empty() && row.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The thread that one of Hob's own ids carries.
fn root_of_own(id: &str) -> Option<String> {
    let (local, _) = id.strip_prefix(OWN)?.rsplit_once('@')?;
    let (_, root) = local.split_once('.')?;
    let root = String::from_utf8(URL_SAFE_NO_PAD.decode(root).ok()?).ok()?;
    is_id(&root).then_some(root)
}

/// The ids in a header, without `<>`.
fn ids(value: &str) -> Vec<String> {
    let bracketed = value.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(id, _)| id);
    let mut all: Vec<String> = bracketed.map(bare).filter(|id| is_id(id)).collect();
    if all.is_empty() {
        // Some write them without brackets.
        all = value.split_whitespace().map(bare).filter(|id| is_id(id) && id.contains('@')).collect();
    }
    all
}

fn bare(id: &str) -> String {
    id.chars().filter(|c| !c.is_whitespace()).collect()
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_BYTES_MAX && id.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '<' | '>'))
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes everything.
        if write!(text, "{byte:02x}").is_err() {
            text.clear();
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(headers: &str) -> ThreadPosition {
        let raw = format!("{headers}\r\n\r\nbody");
        place(&Headers::of(raw.as_bytes()), raw.as_bytes())
    }

    #[test]
    fn c4_a_thread_is_called_by_its_first_letter() {
        for (headers, root) in [
            ("Message-ID: <a@x>", "a@x"),
            ("Message-ID: a@x", "a@x"),
            ("Message-ID: <c@x>\r\nReferences: <a@x>\r\n <b@x>\r\nIn-Reply-To: <b@x>", "a@x"),
            ("Message-ID: <c@x>\r\nReferences: <a@x><b@x>", "a@x"),
            ("Message-ID: <b@x>\r\nIn-Reply-To: <a@x>", "a@x"),
            ("Message-ID: <b@x>\r\nIn-Reply-To: Your letter of Monday <a@x> (mine)", "a@x"),
            // A letter that says it answers itself begins its thread.
            ("Message-ID: <a@x>\r\nReferences: <a@x>", "a@x"),
            ("Message-ID: <a@x>\r\nReferences: nonsense", "a@x"),
        ] {
            assert_eq!(at(headers).root, root, "{headers}");
        }
    }

    #[test]
    fn c4_an_answer_to_hob_is_found_by_what_it_answers_alone() {
        let own = own_id(7, "a@x", "Tea at four.", "home.example");
        assert_eq!(at(&format!("Message-ID: <c@x>\r\nIn-Reply-To: <{own}>")).root, "a@x");
        assert_eq!(own, own_id(7, "a@x", "Tea at four.", "home.example"), "each attempt has the same");
        assert_ne!(own, own_id(8, "a@x", "Tea at four.", "home.example"));
        assert_ne!(own, own_id(7, "a@x", "Tea at five.", "home.example"));
        let long = "a".repeat(200);
        let own = own_id(7, &long, "", "home.example");
        assert_eq!(at(&format!("Message-ID: <c@x>\r\nIn-Reply-To: <{own}>")).root, own);
    }

    #[test]
    fn n14_a_letter_after_one_of_hobs_is_known_by_its_references() {
        let own = own_id(7, "a@x", "Tea.", "home.example");
        for (headers, expected) in [
            (format!("Message-ID: <c@x>\r\nIn-Reply-To: <{own}>"), true),
            (format!("Message-ID: <c@x>\r\nReferences: <a@x> <{own}> <b@x>"), true),
            (format!("Message-ID: <{own}>"), false),
            ("Message-ID: <c@x>\r\nReferences: <a@x> <b@x>".to_owned(), false),
            ("Message-ID: <c@x>\r\nReferences: <hob-by-horse@x> <hob--1@x>".to_owned(), false),
        ] {
            assert_eq!(at(&headers).follows_own(), expected, "{headers}");
        }
    }

    #[test]
    fn n14_a_letter_without_an_id_has_the_same_one_each_time() {
        let (one, again, other) = (at("Subject: a"), at("Subject: a"), at("Subject: b"));
        assert_eq!(one, again);
        assert_ne!(one.id, other.id);
        assert_eq!(one.root, one.id);
    }

    #[test]
    fn long_threads_keep_their_first_and_last_ids() {
        let all: Vec<String> = (0..100).map(|n| format!("<{n}@x>")).collect();
        let place = at(&format!("Message-ID: <z@x>\r\nReferences: {}", all.join(" ")));
        assert_eq!(place.references.len(), REFERENCES_MAX);
        assert_eq!((place.references[0].as_str(), place.references[19].as_str()), ("0@x", "99@x"));
    }
}
