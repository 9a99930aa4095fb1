//! What a model says it found, and what of it is believed. Pure.
//!
//! | dropped | because |
//! |---|---|
//! | cites no turn that was shown | it rests on nothing |
//! | its words are not in that turn, nor in a question to which that turn says yes | it is made up, or the assistant's own |
//! | health, money, politics, religion: by category, key, value or turn | it is not noted by itself |
//! | a secret stood there | it is not to be kept |
//! | empty or overlong | it is not a fact |

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::extraction::excerpt::{CATEGORIES, FACTS_MAX, ShownTurn, TOOL};
use crate::extraction::restricted;
use crate::facts::keep::FactDraft;
use crate::facts::stated_expiry;
use crate::rank::stem::stem;
use crate::rank::words::{folded_words, is_stop_word};
use crate::recall::speaker_taint;
use hob_core::domain::ids::MemoryId;
use hob_core::domain::memory::Scope;
use hob_core::domain::redactor::REDACTED;
use hob_core::policy::redact::redact;
use hob_model::message::Completion;
use hob_store::facts::Source;
use hob_store::millis;

/// The longest key, in characters.
const KEY_CHARS_MAX: usize = 80;
/// The longest value, in characters.
const VALUE_CHARS_MAX: usize = 300;
/// What the model itself is so unsure of is not noted.
const CONFIDENCE_MIN: f64 = 0.3;
/// What is drawn from talk is never as sure as what a person tells.
const CONFIDENCE_MAX: f64 = 0.9;
/// What is drawn from talk matters so much until it is used or pinned.
const IMPORTANCE: f64 = 0.4;

/// Words that say yes; sorted.
const YES: &[&str] = &[
    "absolutely",
    "correct",
    "doch",
    "exactly",
    "genau",
    "indeed",
    "ja",
    "jawohl",
    "jep",
    "jup",
    "klar",
    "korrekt",
    "richtig",
    "right",
    "sicher",
    "stimmt",
    "sure",
    "yeah",
    "yep",
    "yes",
    "yup",
];

/// Words that say that something was otherwise before; sorted, without accents.
const CHANGES: &[&str] = &[
    "anymore",
    "became",
    "changed",
    "ehemalige",
    "formerly",
    "fruher",
    "geandert",
    "gewechselt",
    "geworden",
    "instead",
    "inzwischen",
    "jetzt",
    "longer",
    "mehr",
    "mittlerweile",
    "moved",
    "neuer",
    "neuerdings",
    "neues",
    "new",
    "now",
    "nowadays",
    "quit",
    "seit",
    "since",
    "statt",
    "stattdessen",
    "stopped",
    "switched",
    "umgezogen",
    "used",
];

/// The reply of a model, as it is told to write it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    /// The facts; none is a good answer.
    facts: Vec<Draft>,
}

/// A fact as a model puts it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    /// The number of the turn that it rests on.
    turn: usize,
    /// What it is about, broadly.
    #[schemars(extend("enum" = CATEGORIES))]
    category: String,
    /// The attribute, in a few words.
    key: String,
    /// What was said of it, in the words of the turn.
    value: String,
    /// How sure it is, from 0 to 1.
    confidence: f64,
    /// Whether the turn says that it was otherwise before.
    changed: bool,
}

/// A reply that is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnreadableReply {
    /// There is neither a call nor JSON in it.
    #[error("the model noted nothing: it did not call {TOOL}")]
    NoCall,
    /// It is not what the schema says.
    #[error("the model's facts are not as they should be, at column {column}")]
    Malformed { column: usize },
}

/// The facts in a reply.
///
/// # Errors
/// When it is not what was asked for.
pub(crate) fn read(completion: &Completion) -> Result<Vec<Draft>, UnreadableReply> {
    let called = completion.calls().find(|call| call.name == TOOL).map(|call| call.arguments.clone());
    // Where a provider cannot be made to call a tool, some models write what they would have called it with.
    let written = || {
        let text = completion.text();
        let (from, to) = (text.find('{')?, text.rfind('}')?);
        text.get(from..=to).map(str::to_owned)
    };
    let json = called.or_else(written).ok_or(UnreadableReply::NoCall)?;
    let reply: Reply =
        serde_json::from_str(&json).map_err(|error| UnreadableReply::Malformed { column: error.column() })?;
    Ok(reply.facts)
}

/// How many drafts were dropped, by why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DroppedCounts {
    /// They cite no turn that was shown, or say what it does not.
    pub unsupported: usize,
    /// They are of health, money, politics or religion.
    pub restricted: usize,
    /// They are no facts: empty, overlong, unsure, secret, or too many.
    pub unfit: usize,
}

/// A fact that is believed, and the memory that it rests on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExtractedFact {
    /// What it rests on.
    pub memory: MemoryId,
    pub saying: FactDraft,
}

/// What is believed of the drafts.
pub(crate) fn checked(
    drafts: Vec<Draft>,
    scope: Scope,
    shown: &[ShownTurn],
    zone: &TimeZone,
) -> (Vec<ExtractedFact>, DroppedCounts) {
    let (mut found, mut dropped) = (Vec::new(), DroppedCounts::default());
    for draft in drafts {
        let cited = draft.turn.checked_sub(1).and_then(|at| shown.get(at));
        let Some(cited) = cited else {
            dropped.unsupported += 1;
            continue;
        };
        if is_restricted(&draft, cited) {
            dropped.restricted += 1;
        } else if !is_fit(&draft) || found.len() >= FACTS_MAX {
            dropped.unfit += 1;
        } else if !is_supported(draft.value.trim(), cited) {
            dropped.unsupported += 1;
        } else {
            found.push(ExtractedFact { memory: cited.turn.memory, saying: saying(&draft, scope, cited, zone) });
        }
    }
    (found, dropped)
}

fn is_restricted(draft: &Draft, cited: &ShownTurn) -> bool {
    let told = [draft.key.as_str(), &draft.value, &cited.turn.text];
    restricted::is_category(&draft.category) || told.iter().any(|text| restricted::is_restricted(text))
}

fn is_fit(draft: &Draft) -> bool {
    let (key, value) = (draft.key.trim(), draft.value.trim());
    let within = |text: &str, most: usize| !text.is_empty() && text.chars().count() <= most;
    let secret = [key, value].iter().any(|text| text.contains(REDACTED) || redact(text) != **text);
    within(key, KEY_CHARS_MAX)
        && within(value, VALUE_CHARS_MAX)
        && !secret
        && (CONFIDENCE_MIN..=1.0).contains(&draft.confidence)
}

/// Do the words of the value stand in the turn? A turn that says yes brings along what it says yes to.
fn is_supported(value: &str, cited: &ShownTurn) -> bool {
    let said: Vec<String> = tokens(&cited.text).collect();
    let yes = folded_words(&cited.text).next().is_some_and(|word| YES.binary_search(&word.as_str()).is_ok());
    let asked: Vec<String> = cited.asked.as_deref().filter(|_| yes).into_iter().flat_map(tokens).collect();
    let is_there = |word: &String| said.contains(word) || asked.contains(word);
    let wanted: Vec<String> = tokens(value).collect();
    let numbers = wanted.iter().filter(|word| word.chars().any(char::is_numeric)).all(is_there);
    let there = wanted.iter().filter(|word| is_there(word)).count();
    !wanted.is_empty() && numbers && there * 3 >= wanted.len() * 2 && denies(value) == is_negated(&cited.text, &wanted)
}

/// Whether a text says that something is not so.
fn denies(text: &str) -> bool {
    const DENIALS: &[&str] = &[
        "cannot", "kein", "keine", "keinem", "keinen", "keiner", "never", "nicht", "nie", "niemals", "no", "none",
        "not", "ohne", "without",
    ];
    let word = |word: String| DENIALS.binary_search(&word.as_str()).is_ok();
    folded_words(text).any(word) || text.contains("n't") || text.contains("n’t")
}

/// Whether the part of the turn that speaks of these words denies them.
fn is_negated(text: &str, wanted: &[String]) -> bool {
    let parts = text.split([',', '.', ';', '!', '?', '\n']);
    let speaks = |part: &&str| tokens(part).any(|word| wanted.contains(&word));
    parts.filter(speaks).any(denies)
}

/// The stems of the words that matter; a number as it is, without what makes it a place in an order.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    folded_words(text).filter(|word| !is_stop_word(word)).map(|word| {
        if word.starts_with(|c: char| c.is_numeric()) {
            let digits = word.trim_end_matches(|c: char| !c.is_numeric()).trim_start_matches('0');
            return if digits.is_empty() { "0".to_owned() } else { digits.to_owned() };
        }
        stem(&word)
    })
}

/// The evidence that something changed: the model's word, and a word of the turn.
fn has_changed(draft: &Draft, cited: &ShownTurn) -> bool {
    draft.changed && folded_words(&cited.text).any(|word| CHANGES.binary_search(&word.as_str()).is_ok())
}

fn saying(draft: &Draft, scope: Scope, cited: &ShownTurn, zone: &TimeZone) -> FactDraft {
    let (key, value) = (draft.key.trim(), draft.value.trim());
    let category = draft.category.trim().to_lowercase();
    let known = CATEGORIES.contains(&category.as_str());
    let said_at = Timestamp::from_millisecond(cited.turn.at).unwrap_or(Timestamp::UNIX_EPOCH);
    FactDraft {
        scope,
        category: if known { category } else { "general".to_owned() },
        key: key.to_owned(),
        value: value.to_owned(),
        person: None,
        user: cited.turn.user,
        speaker: cited.turn.speaker.clone(),
        message: cited.turn.message,
        run: None,
        source: Source::Extracted,
        confidence: draft.confidence.min(CONFIDENCE_MAX),
        importance: IMPORTANCE,
        changed: has_changed(draft, cited),
        said_at: cited.turn.at,
        valid_until: stated_expiry(value, said_at, zone).map(millis),
        taint: speaker_taint(&cited.turn.origin, &cited.turn.speaker),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extraction::excerpt::tests::turn;
    use hob_core::domain::ids::UserId;
    use hob_store::episodes::EpisodeTurn;

    fn shown(text: &str, asked: Option<&str>) -> ShownTurn {
        let turn = EpisodeTurn { asked: asked.map(str::to_owned), ..turn(1, "user", text) };
        ShownTurn { text: text.to_owned(), asked: turn.asked.clone(), turn }
    }

    fn draft(category: &str, key: &str, value: &str) -> Draft {
        let (category, key, value) = (category.to_owned(), key.to_owned(), value.to_owned());
        Draft { turn: 1, category, key, value, confidence: 0.8, changed: false }
    }

    #[test]
    fn n6_the_lists_are_sorted() {
        for list in [YES, CHANGES] {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, list);
        }
    }

    #[test]
    fn n6_only_what_the_turn_says_is_believed() {
        let table: [(&str, Option<&str>, &str, bool); 16] = [
            ("my sister is called Berta", None, "Berta", true),
            ("my sister is called Berta", None, "Clara", false),
            ("Berta", Some("What is your sister called?"), "Berta", true),
            ("my birthday is on the 3rd of May", None, "3 May", true),
            ("my birthday is on the 3rd of May", None, "4 May", false),
            ("my birthday is on the 3rd of May", None, "3 May 1990", false),
            ("yes", Some("Do you like green tea?"), "green tea", true),
            ("ja, genau", Some("Heißt deine Schwester Berta?"), "Berta", true),
            ("no", Some("Do you like green tea?"), "green tea", false),
            ("that is fine", Some("Your sister Berta lives in Rome, I think."), "Berta lives in Rome", false),
            ("thanks", Some("You like green tea."), "likes green tea", false),
            ("I like green tea and long walks", None, "green tea", true),
            ("I do not like green tea", None, "likes green tea", false),
            ("I do not like green tea", None, "does not like green tea", true),
            ("ich mag keinen Tee", None, "mag Tee", false),
            ("I don't like coffee, but I like green tea", None, "green tea", true),
        ];
        for (text, asked, value, believed) in table {
            let drafts = vec![draft("person", "something", value)];
            let (found, dropped) = checked(drafts, Scope::Person(UserId(1)), &[shown(text, asked)], &TimeZone::UTC);
            assert_eq!(found.len(), usize::from(believed), "{text} / {value}");
            assert_eq!(dropped.unsupported, usize::from(!believed), "{text} / {value}");
        }
    }

    #[test]
    fn n8_restricted_facts_are_dropped_wherever_it_shows() {
        let table = [
            ("health", "sister", "Berta", "my sister is Berta"),
            ("person", "sister's illness", "Berta", "my sister is Berta"),
            ("person", "sister", "Berta, pregnant", "my sister is Berta, pregnant"),
            ("person", "Samstags", "bei Berta", "samstags bin ich bei Berta in der Klinik"),
        ];
        for (category, key, value, text) in table {
            let drafts = vec![draft(category, key, value)];
            let (found, dropped) = checked(drafts, Scope::Person(UserId(1)), &[shown(text, None)], &TimeZone::UTC);
            assert_eq!((found.len(), dropped.restricted), (0, 1), "{category} {key} {value}");
        }
    }

    #[test]
    fn n6_what_is_no_fact_is_dropped() {
        let said = shown("my sister is Berta, the key is sk-abcdefghijklmnopqrstuv", None);
        let long = "Berta ".repeat(100);
        let fits = draft("person", "sister", "Berta");
        let table = [
            (draft("person", "", "Berta"), 1),
            (draft("person", "sister", " "), 1),
            (draft("person", "sister", &long), 1),
            (draft("person", "sister", "sk-abcdefghijklmnopqrstuv"), 1),
            (draft("person", "sister", "[redacted]"), 1),
            (Draft { confidence: 0.1, ..fits.clone() }, 1),
            (Draft { confidence: 7.0, ..fits.clone() }, 1),
            (Draft { confidence: f64::NAN, ..fits.clone() }, 1),
            (fits.clone(), 0),
        ];
        for (draft, unfit) in table {
            let (found, dropped) =
                checked(vec![draft.clone()], Scope::House, std::slice::from_ref(&said), &TimeZone::UTC);
            assert_eq!((dropped.unfit, found.len()), (unfit, 1 - unfit), "{draft:?}");
        }
        for turn in [0, 2, usize::MAX] {
            let cites = Draft { turn, ..fits.clone() };
            let (found, dropped) = checked(vec![cites], Scope::House, std::slice::from_ref(&said), &TimeZone::UTC);
            assert_eq!((found.len(), dropped.unsupported), (0, 1));
        }
    }

    #[test]
    fn n6_a_change_needs_a_word_of_the_turn() {
        let says = |text: &str, changed| {
            let drafts = vec![Draft { changed, ..draft("person", "home", "Hamburg") }];
            let (found, _) = checked(drafts, Scope::House, &[shown(text, None)], &TimeZone::UTC);
            found[0].saying.changed
        };
        assert!(says("I have moved to Hamburg", true) && says("ich wohne jetzt in Hamburg", true));
        assert!(!says("I live in Hamburg", true) && !says("I have moved to Hamburg", false));
    }

    #[test]
    fn n6_replies_are_read_strictly() {
        use hob_core::domain::ids::CallId;
        use hob_model::message::ToolCall;
        let call = |arguments: &str| {
            let call = ToolCall { id: CallId("1".to_owned()), name: TOOL.to_owned(), arguments: arguments.to_owned() };
            read(&Completion::from_text_and_calls("", vec![call])).map(|drafts| drafts.len())
        };
        let text = |text: &str| read(&Completion::from_text_and_calls(text, Vec::new())).map(|drafts| drafts.len());
        let fact = r#"{"turn":1,"category":"person","key":"k","value":"v","confidence":0.5,"changed":false}"#;
        assert_eq!(call(&format!("{{\"facts\":[{fact},{fact}]}}")), Ok(2));
        assert_eq!(text(&format!("Here:\n```json\n{{\"facts\":[{fact}]}}\n```")), Ok(1));
        assert_eq!(text("There is nothing."), Err(UnreadableReply::NoCall));
        assert!(matches!(call("{\"facts\":["), Err(UnreadableReply::Malformed { .. })));
        assert!(matches!(call("{\"facts\":[],\"run\":\"rm\"}"), Err(UnreadableReply::Malformed { .. })));
        assert!(matches!(call("{\"facts\":[{\"turn\":1}]}"), Err(UnreadableReply::Malformed { .. })));
    }
}
