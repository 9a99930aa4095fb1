//! How much something matters: by rule when it is stored (row A1), and by use and age when it is read.
//!
//! Rules look at a message's form and at a few words of English and German, so that the same words always score the same, and
//! anybody can tell why. What holds is added up, between 0 and 1:
//!
//! | what | score |
//! |---|---|
//! | to begin with | 0.3 |
//! | it asks to be remembered, or says never, always, important | + 0.4 |
//! | it tells of the speaker or their people: I, my, we, our | + 0.15 |
//! | it has a date: a day's name, a month, 3.5., 2026-05-03, at 7 pm | + 0.1 |
//! | it has a number with a unit, a code or an address: 40 €, 3 km, PIN 4711, a@b.de, Main Street 5 | + 0.1 |
//! | it names somebody or something, in the middle of a sentence | + 0.05 |
//! | it decides or plans: we decided, I will, wir haben beschlossen, ich werde | + 0.15 |
//! | it only asks | − 0.15 |
//! | it tells Hob to do something, and nothing about anybody: turn, open, set, show … | − 0.1 |
//! | it is a mere greeting, thanks, yes or no, or one word | 0.1 |
//!
//! Afterwards it grows by use and shrinks with time:
//!
//! `current = min(1, score + min(0.3, 0.05 · uses)) · 2^(−age / half-life)`
//!
//! where age counts from the last use, or from when it was said. What is pinned stays at 1.

use hob_core::domain::lexicon;

/// What each use adds.
const PER_USE: f64 = 0.05;
/// What all uses together add at most.
const USES_MAX: f64 = 0.3;
/// What the words of a mere greeting matter.
const SMALL_TALK: f64 = 0.1;
/// What any other message matters to begin with.
const BASE: f64 = 0.3;
/// The most words of small talk.
const SMALL_TALK_WORDS_MAX: usize = 4;
/// The least length of what is a name: "I" and "OK" are none.
const NAME_CHARS_MIN: usize = 3;

const KEEP: &[&str] = &[
    "remember",
    "reminder",
    "important",
    "never",
    "always",
    "forget",
    "note",
    "merke",
    "merk",
    "merken",
    "denk",
    "wichtig",
    "nie",
    "niemals",
    "immer",
    "vergiss",
    "vergessen",
    "notiere",
    "notier",
];
const OWN: &[&str] = &[
    "i", "i'm", "i've", "i'll", "i'd", "my", "mine", "we", "we're", "we've", "we'll", "our", "ours", "ich", "mein",
    "meine", "meinen", "meinem", "meiner", "meines", "wir", "unser", "unsere", "unseren", "unserem", "unserer",
];
const PLANS: &[&str] = &[
    "decided",
    "decide",
    "agreed",
    "plan",
    "planning",
    "planned",
    "going to",
    "i will",
    "i'll",
    "we will",
    "we'll",
    "booked",
    "appointment",
    "deadline",
    "beschlossen",
    "entschieden",
    "abgemacht",
    "vereinbart",
    "vorhaben",
    "geplant",
    "planen",
    "ich werde",
    "wir werden",
    "gebucht",
    "termin",
    "frist",
];
const DAYS: &[&str] = &["birthday", "geburtstag", "tomorrow", "morgen"];
const UNITS: &[&str] = &[
    "km", "m", "cm", "mm", "kg", "g", "l", "ml", "kwh", "euro", "euros", "eur", "dollars", "usd", "percent", "prozent",
    "degrees", "grad", "years", "jahre", "months", "monate", "weeks", "wochen", "minutes", "minuten", "hours",
    "stunden", "°c", "°f", "days", "tage", "pounds", "miles", "people", "personen",
];
const SECRETS: &[&str] = &[
    "pin", "code", "password", "passwort", "kennwort", "number", "nummer", "iban", "phone", "telefon", "address",
    "adresse",
];
const STREETS: &[&str] = &["street", "road", "avenue", "lane", "straße", "strasse", "weg", "platz", "allee", "gasse"];
/// Small beside a courtesy: "thank you", "guten Tag".
const SMALL: &[&str] = &["you", "dir", "morgen", "abend", "tag", "nacht"];
const ORDERS: &[&str] = &[
    "turn",
    "switch",
    "open",
    "close",
    "set",
    "show",
    "play",
    "stop",
    "start",
    "list",
    "search",
    "read",
    "send",
    "run",
    "check",
    "find",
    "look",
    "schalte",
    "mach",
    "mache",
    "öffne",
    "schließe",
    "stell",
    "stelle",
    "zeig",
    "zeige",
    "spiel",
    "spiele",
    "suche",
    "such",
    "lies",
    "schick",
    "starte",
    "stoppe",
];
const QUESTIONS: &[&str] = &[
    "who", "what", "when", "where", "why", "how", "which", "can", "could", "do", "does", "did", "is", "are", "was",
    "will", "wer", "was", "wann", "wo", "warum", "wie", "welche", "welcher", "welches", "kannst", "ist", "sind",
    "hast", "gibt",
];

/// What it matters when it is said, from 0 to 1.
pub fn score(text: &str) -> f64 {
    let lower = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect();
    if is_small_talk(&words) {
        return SMALL_TALK;
    }
    let says = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let (keeps, own) = (says(KEEP), says(OWN));
    let plans = says(PLANS) || words.windows(2).any(|pair| PLANS.contains(&pair.join(" ").as_str()));
    let tells = [
        (keeps, 0.4),
        (own, 0.15),
        (has_date(&words), 0.1),
        (has_figure(&words), 0.1),
        (names_something(text), 0.05),
        (plans, 0.15),
        (only_asks(text, &words), -0.15),
        (!keeps && !own && words.first().is_some_and(|word| ORDERS.contains(word)), -0.1),
    ];
    let score: f64 = tells.iter().filter(|(holds, _)| *holds).map(|(_, brings)| brings).sum();
    (BASE + score).clamp(SMALL_TALK, 1.0)
}

/// What it matters now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ImportanceInputs {
    /// What it mattered when it was said.
    pub(crate) score: f64,
    /// How often it was looked for and shown since.
    pub(crate) uses: i64,
    /// When it was said.
    pub(crate) at: i64,
    /// When it was used last.
    pub(crate) used_at: Option<i64>,
    /// Somebody wants it kept.
    pub(crate) pinned: bool,
}

impl ImportanceInputs {
    /// What it matters at `now`, if after `half_life_ms` of silence everything matters half as much.
    pub(crate) fn current(&self, now: i64, half_life_ms: i64) -> f64 {
        if self.pinned {
            return 1.0;
        }
        let used = (PER_USE * float(self.uses.max(0))).min(USES_MAX);
        let age = now.saturating_sub(self.used_at.unwrap_or(self.at).max(self.at)).max(0);
        (self.score + used).min(1.0) * (-float(age) / float(half_life_ms.max(1))).exp2()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and milliseconds are far below 2^53")]
fn float(number: i64) -> f64 {
    number as f64
}

/// A word without what stands around it.
fn trimmed(word: &str) -> &str {
    word.trim_matches(|sign: char| !sign.is_alphanumeric() && !['€', '$', '£', '%', '°', '@'].contains(&sign))
}

fn is_small_talk(words: &[&str]) -> bool {
    let one = words.len() <= 1 && !words.iter().any(|word| word.contains(['@', ':']) || has_digit(word));
    let is_small = |word: &&str| SMALL.contains(word) || lexicon::is_courtesy(word);
    one || (words.len() <= SMALL_TALK_WORDS_MAX && words.iter().all(is_small))
}

fn has_digit(word: &str) -> bool {
    word.chars().any(|sign| sign.is_ascii_digit())
}

/// A day's or month's name, 3.5., 3.5.2026, 2026-05-03, 3/5, 7:30, 7pm; "March" and "May" only beside a number.
fn has_date(words: &[&str]) -> bool {
    let dated = |word: &&str| {
        let parts: Vec<&str> = word.split(['.', '-', '/', ':']).filter(|part| !part.is_empty()).collect();
        let digits = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        (2..=3).contains(&parts.len()) && parts.iter().all(digits)
    };
    let clock = |word: &&str| {
        let hour = word.strip_suffix("pm").or_else(|| word.strip_suffix("am")).or_else(|| word.strip_suffix('h'));
        hour.is_some_and(|hour| !hour.is_empty() && hour.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let day = |word: &&str| DAYS.contains(word) || lexicon::weekday(word).is_some() || lexicon::is_only_month(word);
    let beside = |pair: &[&str]| {
        let month = |word: &str| ["march", "may", "uhr", "pm", "am", "o'clock"].contains(&word);
        (has_digit(pair[0]) && month(pair[1])) || (month(pair[0]) && has_digit(pair[1]))
    };
    words.iter().any(|word| day(word) || dated(word) || clock(word)) || words.windows(2).any(beside)
}

/// A number with its unit, a code, an address.
fn has_figure(words: &[&str]) -> bool {
    let figure = |word: &&str| {
        let number = word.trim_start_matches(|sign: char| sign.is_ascii_digit() || [',', '.'].contains(&sign));
        let unit = number.len() < word.len() && UNITS.contains(&number);
        unit || (has_digit(word) && word.contains(['€', '$', '£', '%', '°'])) || is_address(word)
    };
    let beside = |pair: &[&str]| {
        let units = has_digit(pair[0]) && (UNITS.contains(&pair[1]) || ["€", "$", "£", "%"].contains(&pair[1]));
        let street = STREETS.iter().any(|street| pair[0].ends_with(street)) && has_digit(pair[1]);
        units || street
    };
    let code = words.iter().any(|word| SECRETS.contains(word)) && words.iter().any(|word| has_digit(word));
    code || words.iter().any(figure) || words.windows(2).any(beside)
}

/// Somebody's address on the net.
fn is_address(word: &str) -> bool {
    let mail = word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    mail || word.starts_with("http://") || word.starts_with("https://")
}

/// A word with a capital that begins no sentence. German writes nouns so: that is little, but something.
fn names_something(text: &str) -> bool {
    let mut begins = true;
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|sign: char| !sign.is_alphanumeric());
        let capital = bare.chars().next().is_some_and(char::is_uppercase);
        let name = capital && !begins && bare.chars().count() >= NAME_CHARS_MIN && bare.chars().any(char::is_lowercase);
        if name {
            return true;
        }
        begins = word.ends_with(['.', '!', '?', ':', '…']);
    }
    false
}

/// One question and nothing else.
fn only_asks(text: &str, words: &[&str]) -> bool {
    let text = text.trim();
    let whole = text.strip_suffix('?').is_some_and(|rest| !rest.contains(['.', '!', '?', '\n']));
    whole || (!text.contains(['.', '!', '\n', '?']) && words.first().is_some_and(|word| QUESTIONS.contains(word)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 24 * 3600 * 1_000;

    #[test]
    fn a1_scores_by_the_table() {
        for (text, expected) in [
            ("", 0.1),
            ("blue", 0.1),
            ("ok thanks", 0.1),
            ("Guten Morgen!", 0.1),
            ("ja bitte", 0.1),
            ("the plumber was here", 0.3),
            ("what is the weather like", 0.15),
            ("Wie wird das Wetter?", 0.2),
            ("turn the light on in the hall", 0.2),
            ("Schalte das licht ein", 0.2),
            ("my sister is called Anna", 0.5),
            ("meine Schwester heißt Anna", 0.5),
            ("it costs 40 € a month", 0.4),
            ("it costs €40", 0.4),
            ("we live at Hauptstraße 5", 0.6),
            ("the bins go out on tuesday", 0.4),
            ("die tonne kommt am 3.5. raus", 0.4),
            ("we decided to sell the car", 0.6),
            ("wir haben beschlossen zu bleiben", 0.6),
            ("I will call the plumber at 7 pm", 0.7),
            ("the code for the door is 4711", 0.4),
            ("a@example.org", 0.4),
            ("remember the milk please", 0.7),
            ("merke dir, dass ich keine nüsse esse", 0.85),
            ("remember that my birthday is on 3 May", 1.0),
            ("never call me before 9 am", 0.8),
        ] {
            assert!((score(text) - expected).abs() < 1e-9, "{text}: {}", score(text));
        }
    }

    #[test]
    fn a1_use_raises_and_time_lowers() {
        let said = ImportanceInputs { score: 0.4, uses: 0, at: 0, used_at: None, pinned: false };
        let table = [
            ("new", said, 0, 0.4),
            ("after a half-life", said, 90 * DAY, 0.2),
            ("after two", said, 180 * DAY, 0.1),
            ("before it was said", said, -DAY, 0.4),
            ("used twice, today", ImportanceInputs { uses: 2, used_at: Some(180 * DAY), ..said }, 180 * DAY, 0.5),
            ("used often", ImportanceInputs { uses: 100, used_at: Some(0), ..said }, 0, 0.7),
            ("never more than all", ImportanceInputs { score: 0.9, uses: 9, ..said }, 0, 1.0),
            ("pinned", ImportanceInputs { pinned: true, ..said }, 9_000 * DAY, 1.0),
        ];
        for (what, standing, now, expected) in table {
            let current = standing.current(now, 90 * DAY);
            assert!((current - expected).abs() < 1e-9, "{what}: {current}");
        }
    }

    proptest! {
        #[test]
        fn a1_is_never_out_of_bounds(text in ".{0,200}", uses in 0..1_000_i64, at in 0..i64::MAX, now in any::<i64>()) {
            let score = score(&text);
            prop_assert!((0.0..=1.0).contains(&score));
            let standing = ImportanceInputs { score, uses, at, used_at: None, pinned: false };
            let later = standing.current(now.saturating_add(DAY), 90 * DAY);
            let now = standing.current(now, 90 * DAY);
            prop_assert!((0.0..=1.0).contains(&now) && later <= now, "{} {}", now, later);
        }
    }
}
