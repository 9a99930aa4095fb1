//! What a sentence wants, by its first words, in English and German.
//!
//! Never: guessing. What fits no phrase is [`Intent::Unknown`].
//! Start at [`parse`].

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::offline::fact::{self, Fact};
use hob_core::policy::schedule::read::read;

/// The language to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
}

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Facts,
    Messages,
    All,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    Remember(Fact),
    Recall {
        query: String,
        scope: Scope,
    },
    /// A question that fits no phrase: the words that it is about.
    Ask(String),
    /// Something is to be said later.
    Remind {
        when: Option<String>,
        what: String,
    },
    /// These words are to be forgotten, which only a command does.
    Forget(String),
    Time,
    Help,
    Greeting,
    Thanks,
    Nothing,
    Unknown,
}

use Language::{English as En, German as De};

/// Said before the matter itself.
const COURTESIES: &[&str] = &[
    "hob",
    "please",
    "can you",
    "could you",
    "would you",
    "can you please",
    "could you please",
    "hey hob",
    "hi hob",
    "hello hob",
    "ok hob",
    "bitte",
    "kannst du",
    "kannst du bitte",
    "könntest du",
    "hallo hob",
];

const REMEMBER: &[(&str, Language)] = &[
    ("remember that", En),
    ("remember this", En),
    ("remember", En),
    ("note that", En),
    ("note down that", En),
    ("note down", En),
    ("note", En),
    ("make a note that", En),
    ("make a note", En),
    ("don't forget that", En),
    ("don't forget", En),
    ("do not forget that", En),
    ("do not forget", En),
    ("keep in mind that", En),
    ("keep in mind", En),
    ("merk dir, dass", De),
    ("merk dir dass", De),
    ("merke dir, dass", De),
    ("merke dir dass", De),
    ("merk dir", De),
    ("merke dir", De),
    ("notiere, dass", De),
    ("notiere", De),
    ("notier", De),
    ("vergiss nicht, dass", De),
    ("vergiss nicht dass", De),
    ("vergiss nicht", De),
];

const FORGET: &[(&str, Language)] = &[
    ("forget that", En),
    ("forget about", En),
    ("forget", En),
    ("vergiss, dass", De),
    ("vergiss dass", De),
    ("vergiss", De),
];

const RECALL: &[(&str, Scope, Language)] = &[
    ("what did i say about", Scope::Messages, En),
    ("what did i tell you about", Scope::Messages, En),
    ("what did i write about", Scope::Messages, En),
    ("what have i said about", Scope::Messages, En),
    ("what have i told you about", Scope::Messages, En),
    ("what did we say about", Scope::Messages, En),
    ("did i say anything about", Scope::Messages, En),
    ("did i mention", Scope::Messages, En),
    ("have i mentioned", Scope::Messages, En),
    ("was habe ich über", Scope::Messages, De),
    ("was habe ich dir über", Scope::Messages, De),
    ("was habe ich zu", Scope::Messages, De),
    ("was habe ich von", Scope::Messages, De),
    ("was hab ich über", Scope::Messages, De),
    ("what do you know about", Scope::Facts, En),
    ("what do you remember about", Scope::Facts, En),
    ("tell me what you know about", Scope::Facts, En),
    ("do you know anything about", Scope::Facts, En),
    ("do you know something about", Scope::Facts, En),
    ("do you remember", Scope::Facts, En),
    ("do you know", Scope::Facts, En),
    ("tell me about", Scope::Facts, En),
    ("who is", Scope::Facts, En),
    ("who's", Scope::Facts, En),
    ("when is", Scope::Facts, En),
    ("when's", Scope::Facts, En),
    ("where is", Scope::Facts, En),
    ("where's", Scope::Facts, En),
    ("was weißt du über", Scope::Facts, De),
    ("was weisst du über", Scope::Facts, De),
    ("was weißt du von", Scope::Facts, De),
    ("weißt du etwas über", Scope::Facts, De),
    ("weißt du was über", Scope::Facts, De),
    ("erzähl mir von", Scope::Facts, De),
    ("erinnerst du dich an", Scope::Facts, De),
    ("wer ist", Scope::Facts, De),
    ("wann ist", Scope::Facts, De),
    ("wo ist", Scope::Facts, De),
    ("search for", Scope::All, En),
    ("search", Scope::All, En),
    ("look up", Scope::All, En),
    ("find", Scope::All, En),
    ("suche nach", Scope::All, De),
    ("such nach", Scope::All, De),
    ("suche", Scope::All, De),
    ("finde", Scope::All, De),
];

/// Asks for a reminder.
const REMIND: &[&str] = &["remind me", "set a reminder", "give me a reminder"];
/// What stands between a reminder's time and what it says.
const TO: &[&str] = &["to", "that", "about", "of", "for"];
/// What the task of a reminder begins with.
pub(super) const REMIND_TASK: &str = "Remind me:";

/// What a question begins with.
const QUESTIONS: &[(&str, Language)] = &[
    ("what", En),
    ("who", En),
    ("whose", En),
    ("when", En),
    ("where", En),
    ("which", En),
    ("why", En),
    ("how", En),
    ("is", En),
    ("are", En),
    ("was", De),
    ("wer", De),
    ("wann", De),
    ("wo", De),
    ("welche", De),
    ("welcher", De),
    ("welches", De),
    ("warum", De),
    ("wie", De),
    ("wessen", De),
];
/// Words that a question is not about.
const FILLERS: &[&str] = &[
    "what", "whats", "who", "whos", "whose", "when", "where", "which", "why", "how", "is", "are", "was", "were", "do",
    "does", "did", "can", "could", "will", "would", "should", "have", "has", "had", "the", "a", "an", "my", "our",
    "your", "you", "i", "me", "we", "it", "its", "to", "of", "in", "on", "at", "for", "and", "or", "again", "please",
    "tell", "s", "wer", "wann", "wo", "wie", "warum", "welche", "welcher", "welches", "wessen", "ist", "sind", "war",
    "hat", "habe", "der", "die", "das", "den", "dem", "ein", "eine", "mein", "meine", "meiner", "unser", "unsere",
    "ich", "du", "wir", "es", "noch", "mal",
];

const TIME: &[(&str, Language)] = &[
    ("what time is it", En),
    ("what is the time", En),
    ("what's the time", En),
    ("whats the time", En),
    ("tell me the time", En),
    ("what day is it", En),
    ("what day is today", En),
    ("what is the date", En),
    ("what's the date", En),
    ("what is today's date", En),
    ("what's today's date", En),
    ("what date is it", En),
    ("wie spät ist es", De),
    ("wie viel uhr ist es", De),
    ("wieviel uhr ist es", De),
    ("welcher tag ist heute", De),
    ("welches datum ist heute", De),
    ("welches datum haben wir", De),
];

/// These must be the whole message.
const ALONE: &[(&[&str], Intent, Language)] = &[
    (&["time", "the time", "date", "current time"], Intent::Time, En),
    (&["uhrzeit", "die uhrzeit", "datum"], Intent::Time, De),
    (&["help", "/help", "help me", "what can you do", "what can i do", "how do you work"], Intent::Help, En),
    (&["hilfe", "hilf mir", "was kannst du", "was kannst du alles"], Intent::Help, De),
    (&["hi", "hello", "hey", "hi there", "hello there", "good morning", "good evening"], Intent::Greeting, En),
    (&["good afternoon", "good day", "hob", "hey hob", "hi hob", "hello hob"], Intent::Greeting, En),
    (&["hallo", "hallo hob", "guten morgen", "guten tag", "guten abend", "moin", "servus"], Intent::Greeting, De),
    (&["thanks", "thank you", "thx", "many thanks", "thanks a lot", "thank you very much"], Intent::Thanks, En),
    (&["danke", "vielen dank", "danke schön", "dankeschön", "danke dir"], Intent::Thanks, De),
];

/// What a message wants, and in which language it was said.
pub(super) fn parse(message: &str) -> (Intent, Language) {
    let message = message.replace('’', "'");
    let said = trimmed(&message);
    if said.is_empty() {
        return (if message.contains('?') { Intent::Help } else { Intent::Nothing }, En);
    }
    alone(said)
        .or_else(|| without_courtesies(said).and_then(|matter| alone(matter).or_else(|| parse_command(matter))))
        .or_else(|| parse_question(&message))
        .unwrap_or((Intent::Unknown, En))
}

/// A question, by its mark or its first word.
fn parse_question(message: &str) -> Option<(Intent, Language)> {
    let lower = message.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let begins = QUESTIONS.iter().find(|(word, _)| words.first() == Some(word)).map(|(_, language)| *language);
    if begins.is_none() && !message.trim_end().ends_with('?') {
        return None;
    }
    let about: Vec<&str> = words.into_iter().filter(|word| !FILLERS.contains(word)).collect();
    (!about.is_empty()).then(|| (Intent::Ask(about.join(" ")), begins.unwrap_or(En)))
}

/// What the task of a reminder says.
pub(super) fn reminded(task: &str) -> Option<&str> {
    task.strip_prefix(REMIND_TASK).map(str::trim).filter(|what| !what.is_empty())
}

/// A reminder: its time stands before what it says, or behind it. What a time is, schedules know.
fn remind(said: &str) -> Option<Intent> {
    let rest = REMIND.iter().find_map(|phrase| after(said, phrase))?;
    // Some moment: only whether it can be read is asked.
    let is_time = |text: &str| read(text, &TimeZone::UTC, Timestamp::UNIX_EPOCH).is_ok();
    let starts = rest.match_indices(' ').map(|(space, _)| space);
    let ahead = starts.clone().find_map(|space| {
        let (when, behind) = (rest.get(..space)?, trimmed(rest.get(space..)?));
        let what = TO.iter().find_map(|to| after(behind, to)).filter(|what| !what.is_empty())?;
        is_time(when).then(|| (when.to_owned(), what.to_owned()))
    });
    let matter = TO.iter().find_map(|to| after(rest, to)).unwrap_or(rest);
    let behind = || {
        matter.match_indices(' ').find_map(|(space, _)| {
            let (what, when) = (matter.get(..space)?, trimmed(matter.get(space..)?));
            is_time(when).then(|| (when.to_owned(), what.to_owned()))
        })
    };
    Some(match ahead.or_else(behind) {
        Some((when, what)) => Intent::Remind { when: Some(when), what },
        None => Intent::Remind { when: None, what: matter.to_owned() },
    })
}

/// The sentence that somebody wanted to be remembered, without that.
pub(super) fn without_remember(said: &str) -> &str {
    let matter = without_courtesies(said).unwrap_or(said);
    REMEMBER.iter().find_map(|(phrase, _)| after(matter, phrase)).filter(|rest| !rest.is_empty()).unwrap_or(said)
}

fn alone(said: &str) -> Option<(Intent, Language)> {
    let said = said.to_lowercase();
    let found = ALONE.iter().find(|(phrases, ..)| phrases.contains(&said.as_str()));
    found.map(|(_, intent, language)| (intent.clone(), *language))
}

/// The matter after any number of courtesies.
fn without_courtesies(said: &str) -> Option<&str> {
    let mut matter = said;
    while let Some(rest) = COURTESIES.iter().filter_map(|words| after(matter, words)).min_by_key(|rest| rest.len()) {
        matter = rest;
    }
    (!matter.is_empty()).then_some(matter)
}

fn parse_command(said: &str) -> Option<(Intent, Language)> {
    if let Some(remind) = remind(said) {
        return Some((remind, En));
    }
    if let Some((_, language)) = TIME.iter().find(|(phrase, _)| after(said, phrase).is_some()) {
        return Some((Intent::Time, *language));
    }
    let recall = RECALL.iter().find_map(|(phrase, scope, language)| {
        let query = query(after(said, phrase)?, *language);
        (!query.is_empty()).then_some((Intent::Recall { query, scope: *scope }, *language))
    });
    let remember = || {
        let found = REMEMBER.iter().find_map(|(phrase, language)| Some((after(said, phrase)?, *language)));
        let (sentence, language) = found?;
        Some((Intent::Remember(fact::read(sentence)?), language))
    };
    recall.or_else(remember).or_else(|| {
        let keeps = REMEMBER.iter().any(|(phrase, _)| after(said, phrase).is_some());
        let found = FORGET.iter().find_map(|(phrase, language)| Some((after(said, phrase)?, *language)));
        let (what, language) = found.filter(|(what, _)| !what.is_empty() && !keeps)?;
        Some((Intent::Forget(what.to_owned()), language))
    })
}

/// What is asked about, without its article; a person's own facts are in words of their own (`my …`).
fn query(rest: &str, language: Language) -> String {
    let rest = match language {
        En => rest,
        De => ["gesagt", "erzählt", "geschrieben"].iter().find_map(|verb| rest.strip_suffix(verb)).unwrap_or(rest),
    };
    let matter = trimmed(rest);
    let articles = ["the", "a", "an", "der", "die", "das", "den", "dem"];
    let matter = articles.iter().find_map(|article| after(matter, article)).filter(|rest| !rest.is_empty());
    let matter = matter.unwrap_or_else(|| trimmed(rest));
    match matter.to_lowercase().as_str() {
        "me" | "myself" => "my".to_owned(),
        "mich" | "mir" => "mein".to_owned(),
        _ => matter.to_owned(),
    }
}

/// The rest after `phrase`, if the text starts with it as whole words, in upper or lower case.
fn after<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    let mut rest = text.chars();
    let same = phrase.chars().all(|c| rest.next().is_some_and(|other| other.to_lowercase().eq(c.to_lowercase())));
    let rest = rest.as_str();
    let whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\'' || c == '-');
    (same && whole).then(|| rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';')))
}

/// Without white space and the punctuation around a sentence.
fn trimmed(text: &str) -> &str {
    let text =
        text.trim_matches(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '!' | '?' | '¿' | '¡' | ','));
    let text = text.trim_start_matches(['.', '"', '“', '„']).trim_end_matches(['"', '”', '“', ';', ':']);
    // The full stop of a sentence, not the one of `p.m.`.
    match text.strip_suffix('.') {
        Some(sentence) if !sentence.rsplit(' ').next().unwrap_or_default().contains('.') => sentence.trim_end(),
        Some(_) | None => text,
    }
}
