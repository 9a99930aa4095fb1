//! What is told is held against the record (row E10).
//!
//! A final reply that may claim a deed, in a run whose record has none, is looked at once more by the same model: it
//! does the deed, writes the reply anew, or says [`KEEP`]. The record decides that the question arises, the model's
//! own answer what comes of it; the table of `languages` only keeps plain talk from costing a second call. A reply in
//! a language that the table does not know is looked at as well.

mod evidence;
mod languages;

use serde::Serialize;

use crate::machine::accepted_input::RunKind;
use crate::machine::claims::evidence::{ClaimMarkers, MARKS};
use crate::machine::claims::languages::UNSPACED;
use crate::machine::effect::ModelCallPurpose;
use crate::machine::run_start::RulesEdition;
use crate::machine::state::ActiveState;
use hob_model::message::{Completion, Message};

/// What the model says where its reply may stand.
pub(crate) const KEEP: &str = "KEEP";

/// For the model: its reply is looked at once more. The last words are what the offline model knows it by.
pub(crate) const LOOK_AGAIN: &str = "[Before your reply goes out: by the record, no tool has changed anything for this message. If \
     your reply says or implies that you have now done, saved, sent or changed something, do it now with a tool; or, if \
     that cannot be, write the reply anew so that it is true, in the same language, and without a word about this check. \
     If it claims nothing of the kind, or tells of something done earlier, answer exactly KEEP]";

/// For the person: under a reply that claims a deed all the same.
pub(crate) const NOTHING_CHANGED: &str = "(By my record, nothing was changed for this: no tool did it.)";

/// What denies a deed when it follows at once, as in *I sent nothing*. Other languages deny before it.
const NAUGHT: [&str; 3] = ["nothing", "nobody", "none"];
/// A clause that is hardly more than a word for "done".
const SHORT_WORDS_MAX: usize = 4;
/// From so many words on a reply in an unknown language is looked at.
const UNKNOWN_WORDS_MIN: usize = 3;

/// How far a run's last word has been held against the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(tag = "is", content = "of", rename_all = "snake_case")]
pub enum ClaimCheck {
    /// Not yet.
    #[default]
    Unasked,
    /// The model looks at this reply again; nobody has been told it.
    Open(Box<Completion>),
    /// It has been asked about; once is enough.
    Asked,
}

impl ClaimCheck {
    /// Is a reply being looked at?
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// What goes along with the request, after what was said: the reply, and the question about it. It comes into the
    /// history only if the run goes on from there.
    pub fn aside(&self) -> Vec<Message> {
        match self {
            Self::Open(first) => vec![Message::Assistant { parts: first.parts.clone() }, Message::user(LOOK_AGAIN)],
            Self::Unasked | Self::Asked => Vec::new(),
        }
    }

    /// Closes it, and gives back the reply that was looked at.
    pub fn settle(&mut self) -> Option<Completion> {
        match std::mem::take(self) {
            Self::Open(first) => {
                *self = Self::Asked;
                Some(*first)
            }
            other @ (Self::Unasked | Self::Asked) => {
                *self = other;
                None
            }
        }
    }
}

/// Whether the model is asked about `reply`, its last word.
pub(super) fn must_look(run: &ActiveState, reply: &str) -> bool {
    let may = run.policy.truth.ask_again && run.truth == ClaimCheck::Unasked;
    let paid = run.budget.is_none() && run.quota.is_none();
    let can = paid && run.input.order != RunKind::Compact && run.call_model().purpose == ModelCallPurpose::Work;
    may && can && is_undone(run) && is_suspicious(reply, run.rules)
}

/// Whether a reply that was asked about still claims what nobody did.
pub(super) fn still_claims(run: &ActiveState, reply: &str) -> bool {
    run.truth == ClaimCheck::Asked && is_undone(run) && claims(reply, run.rules)
}

/// What the record adds to `reply`. Where everything was denied, a reply that claims nothing agrees with it already:
/// who denied it knows, and who let it expire has been told.
pub(super) fn shortfall(run: &ActiveState, reply: &str) -> Option<String> {
    run.ledger.shortfall().filter(|_| !run.ledger.is_only_denied() || is_suspicious(reply, run.rules))
}

/// There are tools to change something with, and none has.
fn is_undone(run: &ActiveState) -> bool {
    run.tools.values().any(|facts| facts.changes) && !run.ledger.has_done()
}

/// Does the reply stand as it was?
pub(super) fn confirms_reply(answer: &str) -> bool {
    answer.trim_matches(|c: char| !c.is_alphanumeric()) == KEEP
}

/// Whether it may claim a deed.
pub(crate) fn is_suspicious(reply: &str, rules: RulesEdition) -> bool {
    claims(reply, rules) || is_in_unknown_language(reply)
}

/// Whether it has a mark of a finished deed: a sign, or words for it in a known language, outside of questions.
pub(crate) fn claims(reply: &str, rules: RulesEdition) -> bool {
    let statements = sentences(reply).into_iter().filter(|sentence| !sentence.asks);
    statements.into_iter().any(|sentence| {
        let text = sentence.text.to_lowercase().replace('’', "'");
        let signed = text.contains(['✓', '✔', '✅', '☑']);
        signed
            || UNSPACED.split('|').any(|mark| text.contains(mark))
            || clauses(&text).iter().any(|clause| claims_action(clause, rules))
    })
}

struct Sentence {
    text: String,
    asks: bool,
}

fn sentences(reply: &str) -> Vec<Sentence> {
    let mut all = Vec::new();
    let mut text = String::new();
    for c in reply.chars() {
        let asks = matches!(c, '?' | '？' | '؟');
        if asks || matches!(c, '.' | '!' | '\n' | '。' | '！' | '।' | '…') {
            all.push(Sentence { text: std::mem::take(&mut text), asks });
        } else {
            text.push(c);
        }
    }
    all.push(Sentence { text, asks: false });
    all
}

/// The clauses of a sentence, each as its words.
fn clauses(sentence: &str) -> Vec<Vec<&str>> {
    let clauses = sentence.split([',', ';', ':', '—', '–', '(', ')', '，', '、', '،']);
    clauses.map(|clause| words(clause).collect::<Vec<_>>()).filter(|words| !words.is_empty()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-')));
    words.map(|word| word.trim_matches(['\'', '-'])).filter(|word| !word.is_empty())
}

fn claims_action(clause: &[&str], rules: RulesEdition) -> bool {
    MARKS.iter().any(|language| claims_action_in(language, clause, rules))
}

fn claims_action_in(language: &ClaimMarkers, clause: &[&str], rules: RulesEdition) -> bool {
    let is_deed = |word: &&str| language.deeds.contains(word);
    let free_of_doubt = |until: usize| !clause[..until].iter().any(|word| language.unless.contains(word));
    let is_denied =
        |deed: usize| rules >= RulesEdition::NAUGHT && clause.get(deed + 1).is_some_and(|word| NAUGHT.contains(word));
    let short = clause.len() <= SHORT_WORDS_MAX && language.short.iter().any(|mark| mark.find(clause).is_some());
    if short && free_of_doubt(clause.len()) {
        return true;
    }
    if language.phrases.iter().filter_map(|mark| mark.find(clause)).any(free_of_doubt) {
        return true;
    }
    if clause.first().is_some_and(is_deed) && clause.len() > 1 && !is_denied(0) {
        return true;
    }
    language.openers.iter().any(|opener| {
        let Some(opened) = opener.words.find(clause) else { return false };
        let reach = if opener.at_once { 1 } else { clause.len() };
        let deed = clause.iter().skip(opened + 1).take(reach).position(is_deed).map(|after| opened + 1 + after);
        deed.is_some_and(|deed| free_of_doubt(deed) && !is_denied(deed))
    })
}

/// Whether the table knows nothing of the language, so that its marks say nothing.
fn is_in_unknown_language(reply: &str) -> bool {
    let statements: Vec<Sentence> = sentences(reply).into_iter().filter(|sentence| !sentence.asks).collect();
    let text = statements.iter().map(|sentence| sentence.text.to_lowercase()).collect::<Vec<_>>().join("\n");
    let text = text.replace('’', "'");
    if text.chars().any(is_of_known_script) {
        return false;
    }
    let written = || text.split_whitespace().filter(|chunk| is_plain(chunk)).flat_map(words);
    let foreign = |word: &str| word.chars().any(|c| c.is_alphabetic() && !is_latin(c));
    // Where words don't stand apart, letters are counted.
    let letters = written().filter(|word| foreign(word)).map(|word| word.chars().count()).sum::<usize>();
    let count = written().filter(|word| word.chars().any(char::is_alphabetic)).count();
    if count < UNKNOWN_WORDS_MIN && letters < 3 * UNKNOWN_WORDS_MIN {
        return false;
    }
    let known = |word: &str| MARKS.iter().any(|language| language.common.contains(word));
    !written().any(known)
}

/// No address, file name, number or the like.
fn is_plain(chunk: &str) -> bool {
    let inner = chunk.trim_matches(|c: char| !c.is_alphanumeric());
    !inner.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_' | '@' | '.' | '=' | '\\'))
}

fn is_latin(c: char) -> bool {
    matches!(c, 'a'..='z' | '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Scripts whose languages the table knows.
fn is_of_known_script(c: char) -> bool {
    matches!(c,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' // Greek
        | '\u{400}'..='\u{4ff}' // Cyrillic
        | '\u{590}'..='\u{5ff}' // Hebrew
        | '\u{600}'..='\u{6ff}' // Arabic
        | '\u{900}'..='\u{97f}' // Devanagari
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' // Hangul
        | '\u{3040}'..='\u{30ff}' // Kana
        | '\u{4e00}'..='\u{9fff}' // Han
    )
}

#[cfg(test)]
mod tests;
