//! What speaks for a turn, in numbers. Nothing here is about one household, one data set or one way of talking.

use jiff::civil::Date;

use crate::rank::dates::{self, DateRange};
use crate::rank::gist::TextDigest;
use crate::rank::late::{TokenBinaryCodes, max_sim};
use crate::rank::lexical::{Counts, Term};
use crate::rank::stem::stem;
use crate::rank::words::{folded_words, is_stop_word};

#[cfg(test)]
mod tests;

/// How many turns to either side belong to a turn's neighbourhood.
pub(crate) const NEIGHBOURS: usize = 2;

/// A question to memory.
#[derive(Debug, Clone, Default)]
pub struct RankQuestion {
    pub text: String,
    /// What the words of it are worth that are looked for.
    pub(crate) terms: Vec<Term>,
    /// The days that it speaks of.
    pub days: Vec<DateRange>,
    /// The signs of its tokens; empty where there is no embedding.
    pub tokens: TokenBinaryCodes,
}

/// Something that was said.
#[derive(Debug, Clone, Default)]
pub(crate) struct RankTurn {
    /// Its memory.
    pub id: i64,
    /// Who said it, as they are called.
    pub speaker: String,
    /// What, in short.
    pub gist: TextDigest,
    /// Whether it answers a question of Hob's, which is no turn.
    pub is_asked_for: bool,
    /// The product of its vector and the question's. It is made of [`embedded`]; none if it waits for its vector.
    pub cosine: Option<f64>,
    /// The signs of its own tokens, from the same pass.
    pub tokens: TokenBinaryCodes,
    /// Whether it may be answered with; the others are there for their neighbours.
    pub(crate) is_candidate: bool,
}

/// A stretch of a conversation, with all that was said in it.
#[derive(Debug, Clone)]
pub(crate) struct RankSession {
    pub day: Date,
    /// In order.
    pub turns: Vec<RankTurn>,
}

/// What is embedded of a turn, and where its own words begin: with the turn before it, as many make sense only then, and
/// with the names of those who speak. One pass gives the vector and the tokens.
pub(crate) fn embedded(before: Option<(&str, &str)>, turn: (&str, &str)) -> (String, usize) {
    let mut text = before.map(|(speaker, said)| format!("{speaker}: {said}\n")).unwrap_or_default();
    let own = text.len();
    text.push_str(turn.0);
    text.push_str(": ");
    text.push_str(turn.1);
    (text, own)
}

/// Whether a token tells something, so that it takes part in late interaction.
pub(crate) fn is_informative(token: &str) -> bool {
    folded_words(token).next().is_some_and(|word| !is_stop_word(&word))
}

pub(crate) const FEATURES: usize = 14;

/// The features that an embedding makes.
pub(super) const OF_MEANING: std::ops::Range<usize> = 2..6;

/// A candidate and its features, in the order of `mix::WEIGHTS`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CandidateFeatures {
    /// Its memory.
    pub id: i64,
    /// Which of the sessions it was said in.
    pub session: usize,
    pub features: [f64; FEATURES],
    /// Whether there is an embedding of it; else those features say nothing, neither for it nor against it.
    pub(crate) has_meaning: bool,
    /// What the words of the question are worth that are found in it or nearby.
    pub worth: f64,
}

/// A word that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchWord {
    /// As it stands in the question: a stem need not be its own stem.
    pub word: String,
    pub stem: String,
}

/// The words of a question that are looked for: no stop words and none of `names`, as those who are named speak in
/// nearly all of it. The names alone, if there is nothing else.
pub(crate) fn search_words(question: &str, names: &[&str]) -> Vec<SearchWord> {
    let names: Vec<String> = names.iter().flat_map(|name| folded_words(name)).collect();
    let telling = distinct(folded_words(question).filter(|word| !is_stop_word(word) && !names.contains(word)));
    if telling.is_empty() { distinct(folded_words(question).filter(|word| names.contains(word))) } else { telling }
}

/// The stems of what is [`search_words`].
pub(crate) fn search_stems(question: &str, names: &[&str]) -> Vec<String> {
    search_words(question, names).into_iter().map(|wanted| wanted.stem).collect()
}

fn distinct(words: impl Iterator<Item = String>) -> Vec<SearchWord> {
    let mut distinct: Vec<SearchWord> = Vec::new();
    for word in words {
        let stem = stem(&word);
        if distinct.iter().all(|known| known.stem != stem) {
            distinct.push(SearchWord { word, stem });
        }
    }
    distinct
}

pub(crate) fn describe(question: &RankQuestion, sessions: &[RankSession]) -> Vec<CandidateFeatures> {
    let asked = QuestionTraits::of(question);
    let counted: Vec<Vec<Counts>> = sessions.iter().map(|session| counts(question, session)).collect();
    let windows: Vec<Vec<Counts>> = counted.iter().map(|turns| windowed(turns)).collect();
    let wholes: Vec<Counts> = counted.iter().map(Counts::sum).collect();
    let turn_words = average(counted.iter().flatten());
    let window_words = average(windows.iter().flatten());
    let session_words = average(&wholes);
    let mut described = Vec::new();
    let each = sessions.iter().zip(&counted).zip(&windows).zip(&wholes).enumerate();
    for (place, (((session, counted), windows), whole)) in each {
        let of_session = whole.bm25(&question.terms, session_words);
        let closeness = dates::closeness(session.day, &question.days);
        let best: Vec<Vec<f64>> = session.turns.iter().map(|turn| turn.tokens.best_for(&question.tokens)).collect();
        for (at, turn) in session.turns.iter().enumerate().filter(|(_, turn)| turn.is_candidate) {
            let before = at.checked_sub(1).map(|before| &session.turns[before]);
            let alike = |from: usize, through: usize| max_sim(&best[from..=through]);
            let last = session.turns.len() - 1;
            let said = turn.gist.manner;
            let mut features = [
                windows[at].bm25(&question.terms, window_words),
                of_session,
                turn.cosine.unwrap_or(0.0),
                alike(at, at),
                alike(at.saturating_sub(1), at),
                alike(at.saturating_sub(NEIGHBOURS), last.min(at + NEIGHBOURS)),
                closeness,
                f64::from(asked.names(&turn.speaker)),
                f64::from(turn.is_asked_for || before.is_some_and(|before| before.gist.manner.asks)),
                f64::from(said.asks),
                f64::from(asked.when && said.tells_time),
                f64::from(asked.how_many && said.tells_number),
                counted[at].bm25(&question.terms, turn_words),
                // How good the others of its session are, only the mix can tell.
                0.0,
            ];
            let has_meaning = turn.cosine.is_some();
            if !has_meaning {
                features[OF_MEANING].fill(0.0);
            }
            let worth = windows[at].worth(&question.terms);
            described.push(CandidateFeatures { id: turn.id, session: place, features, has_meaning, worth });
        }
    }
    described
}

fn counts(question: &RankQuestion, session: &RankSession) -> Vec<Counts> {
    session.turns.iter().map(|turn| Counts::count(&question.terms, &turn.gist.stems)).collect()
}

/// Each turn with its neighbours.
fn windowed(turns: &[Counts]) -> Vec<Counts> {
    let around = |at: usize| &turns[at.saturating_sub(NEIGHBOURS)..turns.len().min(at + NEIGHBOURS + 1)];
    (0..turns.len()).map(|at| Counts::sum(around(at))).collect()
}

fn average<'a>(texts: impl IntoIterator<Item = &'a Counts>) -> f64 {
    let (mut all, mut count) = (0.0, 0.0);
    for text in texts {
        all += f64::from(text.words);
        count += 1.0;
    }
    if count > 0.0 { all / count } else { 0.0 }
}

/// What a question wants to know.
struct QuestionTraits {
    words: Vec<String>,
    when: bool,
    how_many: bool,
}

impl QuestionTraits {
    fn of(question: &RankQuestion) -> Self {
        let words: Vec<String> = folded_words(&question.text).collect();
        let follows =
            |one: &str, next: &[&str]| words.windows(2).any(|pair| pair[0] == one && next.contains(&pair[1].as_str()));
        let when = words.iter().any(|word| word == "when" || word == "wann")
            || follows("what", &["date", "day", "month", "year", "time"])
            || follows("how", &["long"])
            || follows("wie", &["lange"]);
        let how_many =
            follows("how", &["many", "much", "often", "old"]) || follows("wie", &["viele", "viel", "oft", "alt"]);
        Self { words, when, how_many }
    }

    fn names(&self, speaker: &str) -> bool {
        folded_words(speaker).any(|name| self.words.contains(&name))
    }
}
