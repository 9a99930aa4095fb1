//! Takes known secrets out of texts, by their value, however they are written: plain, in Base64, in hex, in a URL, in JSON.
//!
//! Never: a refusal. What is left of a text goes its way.
//! Start at [`Redactor`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use arc_swap::ArcSwapOption;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::domain::secret::Secret;
use crate::domain::text::hex;

/// What stands for a secret.
pub const REDACTED: &str = "[redacted]";
/// From so many characters on a value is found within words, too; shorter ones only where they stand alone.
const WITHIN_WORDS_CHARS_MIN: usize = 8;
/// What is shorter hides nothing, and stands in every second sentence.
const CHARS_MIN: usize = 4;
/// What people write where a key must stand and none is needed.
const PLACEHOLDERS: [&str; 14] = [
    "ollama",
    "local",
    "localhost",
    "none",
    "null",
    "test",
    "dummy",
    "token",
    "secret",
    "password",
    "lmstudio",
    "lm-studio",
    "not-needed",
    "no-key",
];

/// The secrets cannot be looked for.
#[derive(Debug, thiserror::Error)]
#[error("the config's secrets cannot be searched for: {0}; are they too long?")]
pub struct RedactorError(#[from] aho_corasick::BuildError);

/// Finds the secrets of this Hob. Cheap to clone; the default one knows none. What one of the clones learns, all know.
#[derive(Clone, Default)]
pub struct Redactor(Arc<ArcSwapOption<SecretMatcher>>);

struct SecretMatcher {
    find: AhoCorasick,
    patterns: Vec<SecretPattern>,
}

/// One way to write a secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SecretPattern {
    text: String,
    /// It counts only where it stands alone.
    alone: bool,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} patterns)", self.0.load().as_ref().map_or(0, |known| known.patterns.len()))
    }
}

impl Redactor {
    /// One that finds these.
    ///
    /// # Errors
    /// When they are too many or too long to be looked for.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Result<Self, RedactorError> {
        let redactor = Self::default();
        redactor.add_secrets(secrets)?;
        Ok(redactor)
    }

    /// From now on it finds these as well, wherever it is used. What it knew it goes on finding: a key that was exchanged
    /// may be good still, and stands in what was said before.
    ///
    /// # Errors
    /// When they are too many or too long to be looked for; then it finds what it found.
    pub fn add_secrets<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) -> Result<(), RedactorError> {
        let known = self.0.load_full();
        let mut all: BTreeSet<SecretPattern> = known.iter().flat_map(|known| known.patterns.iter().cloned()).collect();
        let before = all.len();
        all.extend(secrets.into_iter().flat_map(|secret| patterns(secret.expose())));
        if all.len() == before {
            return Ok(());
        }
        let patterns: Vec<SecretPattern> = all.into_iter().collect();
        let texts = patterns.iter().map(|pattern| &pattern.text);
        let find = AhoCorasick::builder().match_kind(MatchKind::Standard).build(texts)?;
        self.0.store(Some(Arc::new(SecretMatcher { find, patterns })));
        Ok(())
    }

    /// Does no secret stand in it?
    pub fn is_clean(&self, text: &str) -> bool {
        self.0.load().as_ref().is_none_or(|known| known.places(text, None).is_empty())
    }

    /// The text without secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let places = self.0.load().as_ref().map(|known| known.places(text, None)).unwrap_or_default();
        if places.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(without(text, &places)) }
    }

    /// Takes the secrets out of it.
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redact(text) {
            *text = clean;
        }
    }

    /// For a text that comes piece by piece.
    pub fn stream(&self) -> RedactedStream {
        RedactedStream { redactor: self.clone(), held: String::new(), before: None }
    }
}

impl SecretMatcher {
    /// Where secrets stand, in order and apart from each other; `before` is what stands before the text.
    fn places(&self, text: &str, before: Option<char>) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for hit in self.find.find_overlapping_iter(text) {
            let alone = self.patterns.get(hit.pattern().as_usize()).is_some_and(|pattern| pattern.alone);
            if !alone || stands_alone(text, hit.range(), before) {
                found.push(hit.range());
            }
        }
        found.sort_by_key(|place| place.start);
        let mut apart: Vec<Range<usize>> = Vec::new();
        for place in found {
            match apart.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                Some(_) | None => apart.push(place),
            }
        }
        apart
    }

    /// Where a secret might begin whose rest is still to come.
    fn partial_secret_start(&self, text: &str) -> usize {
        let may_go_on = |start: usize| {
            text.get(start..).is_some_and(|tail| self.patterns.iter().any(|pattern| pattern.text.starts_with(tail)))
        };
        let longest = self.patterns.iter().map(|pattern| pattern.text.len()).max().unwrap_or(0);
        (text.len().saturating_sub(longest)..text.len()).find(|start| may_go_on(*start)).unwrap_or(text.len())
    }
}

/// A text that comes piece by piece: what may be the beginning of a secret is held back until it is known.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Redactor,
    held: String,
    before: Option<char>,
}

impl RedactedStream {
    /// What can be shown now that this has come, too.
    pub fn push(&mut self, more: &str) -> String {
        let Some(known) = self.redactor.0.load_full() else {
            return more.to_owned();
        };
        self.held.push_str(more);
        let places = known.places(&self.held, self.before);
        let mut end = known.partial_secret_start(&self.held);
        // A secret is never cut in two.
        while let Some(place) = places.iter().find(|place| place.start < end && end < place.end) {
            end = place.start;
        }
        self.release(&places, end)
    }

    /// What is left to be shown at the end.
    pub fn finish(&mut self) -> String {
        let places = self.redactor.0.load_full().map(|known| known.places(&self.held, self.before)).unwrap_or_default();
        self.release(&places, self.held.len())
    }

    fn release(&mut self, places: &[Range<usize>], end: usize) -> String {
        let rest = self.held.split_off(end);
        let ready = std::mem::replace(&mut self.held, rest);
        self.before = ready.chars().next_back().or(self.before);
        let within: Vec<Range<usize>> = places.iter().filter(|place| place.end <= end).cloned().collect();
        without(&ready, &within)
    }
}

fn without(text: &str, places: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for place in places {
        out.push_str(text.get(from..place.start).unwrap_or_default());
        out.push_str(REDACTED);
        from = place.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

fn stands_alone(text: &str, place: Range<usize>, before: Option<char>) -> bool {
    let (head, tail) = (text.get(..place.start).unwrap_or_default(), text.get(place.end..).unwrap_or_default());
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    !head.chars().next_back().or(before).is_some_and(joins) && !tail.starts_with(joins)
}

/// Every way in which a value is looked for.
fn patterns(value: &str) -> Vec<SecretPattern> {
    let value = value.trim();
    let chars = value.chars().count();
    if chars < CHARS_MIN || PLACEHOLDERS.contains(&value.to_lowercase().as_str()) {
        return Vec::new();
    }
    let short = chars < WITHIN_WORDS_CHARS_MIN;
    let mut all = vec![SecretPattern { text: value.to_owned(), alone: short }];
    if short {
        return all;
    }
    let json = serde_json::Value::from(value).to_string();
    let json = json.trim_matches('"').to_owned();
    let url: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let hex = hex(value.as_bytes());
    let written =
        [json.replace('/', "\\/"), json, url.replace('+', "%20"), lower_escapes(&url), url, hex.to_uppercase(), hex];
    let written = written.into_iter().chain(base64(value.as_bytes()));
    all.extend(
        written.filter(|text| text.len() >= WITHIN_WORDS_CHARS_MIN).map(|text| SecretPattern { text, alone: false }),
    );
    all
}

/// The same URL-encoded text, with `%3a` for `%3A`.
fn lower_escapes(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut left = 0;
    for c in url.chars() {
        left = if c == '%' { 2 } else { left };
        out.push(if left > 0 { c.to_ascii_lowercase() } else { c });
        left = if c == '%' { 2 } else { usize::saturating_sub(left, 1) };
    }
    out
}

/// What of the value's Base64 is the same whatever stands around it: one text for each of three places in a group.
fn base64(value: &[u8]) -> Vec<String> {
    let shifted = |shift: usize| {
        let bytes: Vec<u8> = std::iter::repeat_n(0, shift).chain(value.iter().copied()).collect();
        // A character holds six bits: those that share one with what is around are left out.
        let (from, to) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
        let cut = |text: String| text.get(from..to).unwrap_or_default().to_owned();
        [cut(STANDARD_NO_PAD.encode(&bytes)), cut(URL_SAFE_NO_PAD.encode(&bytes))]
    };
    (0..3).flat_map(shifted).collect()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const KEY: &str = "123:AAx/y-z\"q é+1";

    fn of(values: &[&str]) -> Redactor {
        let secrets: Vec<Secret> = values.iter().map(|value| Secret::new((*value).to_owned())).collect();
        Redactor::new(&secrets).unwrap()
    }

    #[test]
    fn n6_a_secret_is_found_however_it_is_written() {
        let redactor = of(&[KEY]);
        let around = |text: &str| redactor.redact(&format!("<{text}>")).into_owned();
        let json = serde_json::Value::from(KEY).to_string();
        let url: String = url::form_urlencoded::byte_serialize(KEY.as_bytes()).collect();
        let written = [
            KEY.to_owned(),
            json.trim_matches('"').to_owned(),
            url.clone(),
            url.replace('+', "%20"),
            url.replace("%3A", "%3a").replace("%2F", "%2f").replace("%2B", "%2b").replace("%C3%A9", "%c3%a9"),
            KEY.bytes().map(|byte| format!("{byte:02X}")).collect(),
        ];
        for text in written {
            assert_eq!(around(&text), "<[redacted]>", "{text}");
        }
        for before in ["", "a", "ab", "user:", "bearer "] {
            let encoded = STANDARD.encode(format!("{before}{KEY} and more"));
            let shown = redactor.redact(&encoded).into_owned();
            let clear = STANDARD.encode(KEY);
            assert!(shown.contains(REDACTED) && !shown.contains(&clear[4..12]), "{before}: {shown}");
        }
    }

    #[test]
    fn short_values_count_where_they_stand_alone_and_placeholders_nowhere() {
        let redactor = of(&["s3cr7", "abc", "ollama", "hunter2hunter2"]);
        let table = [
            ("s3cr7", "[redacted]"),
            ("(s3cr7)", "([redacted])"),
            ("xs3cr7 s3cr7y s3cr7_", "xs3cr7 s3cr7y s3cr7_"),
            ("abc ollama", "abc ollama"),
            ("xhunter2hunter2y", "x[redacted]y"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(redactor.redact(text), expected);
        }
        assert!(matches!(redactor.redact("plain"), Cow::Borrowed("plain")));
        assert_eq!(Redactor::default().redact("s3cr7"), "s3cr7");
    }

    #[test]
    fn secrets_that_overlap_leave_no_rest() {
        assert_eq!(of(&["abcdefgh", "efghijkl", "cdefghij"]).redact("-abcdefghijkl-"), "-[redacted]-");
    }

    proptest::proptest! {
        #[test]
        fn n6_a_stream_shows_what_the_whole_shows(
            pieces in proptest::collection::vec("(hunter2hunter2|hunter2|h|un|ter2|s3cr7|[a-z ä]{0,3})", 0..12),
        ) {
            let redactor = of(&["hunter2hunter2", "s3cr7"]);
            let mut stream = redactor.stream();
            let mut shown: String = pieces.iter().map(|piece| stream.push(piece)).collect();
            shown += &stream.finish();
            let whole = pieces.concat();
            proptest::prop_assert_eq!(&shown, &redactor.redact(&whole).into_owned());
            proptest::prop_assert!(!shown.contains("hunter2hunter2"));
        }
    }
}
