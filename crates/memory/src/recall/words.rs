//! What the words of a question bring, and all else that needs no vector.

use std::collections::HashSet;

use jiff::civil::Time;
use jiff::tz::TimeZone;

use crate::rank::dates::{self, DateRange};
use crate::rank::features::{SearchWord, search_words};
use crate::rank::gist::{hash, is_of_time};
use crate::rank::lexical::Term;
use crate::recall::{ContextWindow, RecallQuestion, ids, list};
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::recall::{self as rows, SalientMemory};

/// The most different words of a question that are looked for.
const WORDS_MAX: usize = 24;
/// The most rows that words may match in all: at a million memories, 2 % of them. Commoner words are left to the ranking.
const MATCHED_MAX: i64 = 20_000;
/// So many rows of each word are counted. If there are more, these, the newest, tell how many there are in all.
const COUNTED: i64 = 4_000;
/// How many of the matches are looked at closely.
const HITS: usize = 400;
/// So many memories are many: that half of the hits may be seen is enough then.
const MANY: i64 = 20_000;
/// How many of what is pinned, of what matters, and of what was said last, take part.
const SALIENT: i64 = 5;
const RECENT: i64 = 10;
/// How much of the days that are asked about takes part.
const OF_DAYS: i64 = 100;

/// Looks for what the words bring.
#[derive(Clone)]
pub(super) struct WordSearch {
    pub(super) question: RecallQuestion,
    pub(super) zone: TimeZone,
}

/// What was found without a vector.
#[derive(Debug, Default)]
pub(super) struct WordSearchResult {
    /// The question.
    pub(super) text: String,
    /// About how many memories there are, whoever's.
    pub(super) all: i64,
    /// Its words.
    pub(super) terms: Vec<Term>,
    /// The days that it speaks of.
    pub(super) days: Vec<DateRange>,
    /// What has the most of its words, roughly the best first.
    pub(super) hits: Vec<i64>,
    /// What was said on those days, where it says nothing else.
    pub(super) of_days: Vec<i64>,
    /// What is pinned, or the speaker's own and matters much: what comes first is raised first.
    pub(super) salient: Vec<SalientMemory>,
    /// The last of the session.
    pub(super) recent: HashSet<i64>,
    /// What is in front of the model anyway.
    pub(super) window: HashSet<i64>,
}

impl WordSearch {
    pub(super) async fn find(&self, tx: &mut Tx) -> Result<WordSearchResult, StoreError> {
        let RecallQuestion { text, scopes, turn, window, now, .. } = &self.question;
        let stretch =
            window.map(|ContextWindow { session, from, through }| rows::OrdinalRange { session, from, through });
        let moment = rows::QueryMoment { turn: *turn, stretch };
        let standing = rows::recall_candidates(tx, &list(scopes), moment, SALIENT, RECENT).await?;
        let mut found = WordSearchResult {
            text: text.clone(),
            all: standing.all,
            days: dates::mentioned_dates(text, now.to_zoned(self.zone.clone()).date()),
            salient: standing.salient,
            recent: standing.recent.into_iter().collect(),
            window: standing.window.into_iter().collect(),
            ..WordSearchResult::default()
        };
        let speakers = standing.speakers;
        let names: Vec<&str> = speakers.iter().map(String::as_str).collect();
        let mut wanted = search_words(text, &names);
        wanted.truncate(WORDS_MAX);
        if !found.days.is_empty() && wanted.iter().all(|wanted| is_of_time(&wanted.word)) {
            found.of_days = memories_of_days(tx, &self.question, &found.days, &self.zone).await?;
        }
        self.matches(tx, wanted, &mut found).await?;
        Ok(found)
    }

    async fn matches(
        &self,
        tx: &mut Tx,
        wanted: Vec<SearchWord>,
        found: &mut WordSearchResult,
    ) -> Result<(), StoreError> {
        // What has no telling word matches nothing.
        if wanted.is_empty() {
            return Ok(());
        }
        let all = found.all.cast_unsigned();
        let texts: Vec<String> = wanted.iter().map(|wanted| full_text_query(&wanted.word)).collect();
        let newest = rows::matching(tx, &strings(&texts), COUNTED).await?;
        let mut words = Vec::new();
        for (wanted, rows) in wanted.into_iter().zip(newest) {
            let having = estimated_count(&rows, found.all);
            let term = Term::new(hash(&wanted.stem), having.cast_unsigned(), all);
            words.push(QueryWord { having, text: wanted.word, worth: term.worth, rows });
            found.terms.push(term);
        }
        let mut words = rare_enough(words);
        let is_cut = |word: &&mut QueryWord| word.rows.len() as i64 >= COUNTED;
        for word in words.iter_mut().filter(is_cut) {
            let whole = rows::matching(tx, &strings(&[full_text_query(&word.text)]), MATCHED_MAX).await?;
            word.rows = whole.into_iter().flatten().collect();
        }
        let sums = summed(&words);
        found.hits = self.in_scopes(tx, &words, sums, found).await?;
        Ok(())
    }

    /// The best that may be seen.
    ///
    /// To search within a scope is dear where it is large, and where it is large, enough of the best are in it.
    async fn in_scopes(
        &self,
        tx: &mut Tx,
        words: &[QueryWord],
        sums: Vec<(i64, f64)>,
        found: &WordSearchResult,
    ) -> Result<Vec<i64>, StoreError> {
        let is_outside = |(id, _): &(i64, f64)| !found.window.contains(id);
        let first = best(sums.iter().copied().filter(is_outside).collect(), HITS);
        if first.is_empty() {
            return Ok(first);
        }
        let mut wanted = first.clone();
        wanted.sort_unstable();
        let seen: HashSet<i64> =
            rows::of_scopes(tx, &ids(wanted), &list(&self.question.scopes)).await?.into_iter().collect();
        let enough = if found.all < MANY { HITS } else { HITS / 2 };
        if seen.len() >= enough || first.len() < HITS {
            return Ok(first.into_iter().filter(|id| seen.contains(id)).collect());
        }
        let scopes: Vec<String> = self.question.scopes.iter().map(|scope| format!("\"{scope}\"")).collect();
        let texts: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.text)).collect();
        let query = format!("scope : ({}) AND text : ({})", scopes.join(" OR "), texts.join(" OR "));
        let within = rows::matching(tx, &strings(&[query]), MATCHED_MAX).await?;
        let worth = |id: i64| sums.binary_search_by(|(other, _)| id.cmp(other)).map_or(0.0, |at| sums[at].1);
        let within = within.into_iter().flatten().map(|id| (id, worth(id)));
        Ok(best(within.filter(is_outside).collect(), HITS))
    }
}

/// What was said on these days, scope by scope.
pub(super) async fn memories_of_days(
    tx: &mut Tx,
    question: &RecallQuestion,
    days: &[DateRange],
    zone: &TimeZone,
) -> Result<Vec<i64>, StoreError> {
    let mut said = Vec::new();
    for days in days {
        let start = |day: jiff::civil::Date| day.to_datetime(Time::midnight()).to_zoned(zone.clone());
        let (Ok(from), Ok(until)) = (start(days.from), days.to.tomorrow().and_then(start)) else { continue };
        let (from, until) = (from.timestamp().as_millisecond(), until.timestamp().as_millisecond());
        for scope in &question.scopes {
            said.extend(rows::said_between(tx, &scope.to_string(), from, until, OF_DAYS).await?);
        }
    }
    Ok(said)
}

/// A word of the question.
#[derive(Debug, Clone, PartialEq)]
struct QueryWord {
    /// About how many memories have it.
    having: i64,
    text: String,
    /// What finding it is worth.
    worth: f64,
    /// The newest of them, the newest first.
    rows: Vec<i64>,
}

/// FTS5's query for a word.
pub(super) fn full_text_query(word: &str) -> String {
    format!("text : \"{word}\"")
}

/// Texts as the queries take them.
pub(super) fn strings(texts: &[String]) -> String {
    serde_json::Value::from(texts.to_vec()).to_string()
}

/// How many of `all` rows have a word that the newest `rows` have.
fn estimated_count(rows: &[i64], all: i64) -> i64 {
    let count = rows.len() as i64;
    match rows.last() {
        Some(oldest) if count >= COUNTED => (count * all / (all - oldest + 1).max(1)).clamp(count, all.max(count)),
        _ => count,
    }
}

/// The rarest words, as long as they do not match too much in all, but at least one; none that nothing has.
fn rare_enough(mut words: Vec<QueryWord>) -> Vec<QueryWord> {
    words.retain(|word| word.having > 0);
    words.sort_by(|a, b| (a.having, &a.text).cmp(&(b.having, &b.text)));
    let mut sum = 0;
    let mut is_first = true;
    words.retain(|word| {
        sum += word.having;
        std::mem::take(&mut is_first) || sum <= MATCHED_MAX
    });
    words
}

/// What the words of each row are worth together, the newest row first.
fn summed(words: &[QueryWord]) -> Vec<(i64, f64)> {
    let of_word = |word: &QueryWord| word.rows.iter().map(|&id| (id, word.worth)).collect::<Vec<_>>();
    let mut sums: Vec<(i64, f64)> = words.iter().flat_map(of_word).collect();
    // Each word's rows are in order already: this merges them.
    sums.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    sums.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    sums
}

/// The best, of equal ones the newer.
fn best(mut scored: Vec<(i64, f64)>, limit: usize) -> Vec<i64> {
    let order = |a: &(i64, f64), b: &(i64, f64)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    if scored.len() > limit {
        scored.select_nth_unstable_by(limit, order);
        scored.truncate(limit);
    }
    scored.sort_unstable_by(order);
    scored.into_iter().map(|(id, _)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(having: i64, worth: f64, rows: &[i64]) -> QueryWord {
        QueryWord { having, text: format!("w{having}"), worth, rows: rows.to_vec() }
    }

    #[test]
    fn e5_only_words_that_are_rare_enough_are_matched_and_never_none() {
        let counted = |counts: &[i64]| counts.iter().map(|&count| word(count, 1.0, &[])).collect::<Vec<_>>();
        let table: [(&[i64], &[i64]); 5] = [
            (&[], &[]),
            (&[0], &[]),
            (&[900_000, 700_000], &[700_000]),
            (&[500_000, 12, 0, 19_988], &[12, 19_988]),
            (&[15_000, 15_001], &[15_000]),
        ];
        for (counts, expected) in table {
            assert_eq!(rare_enough(counted(counts)), counted(expected), "{counts:?}");
        }
    }

    #[test]
    fn e5_a_frequent_word_is_counted_by_its_newest_rows() {
        let every = |step: i64| (1..=COUNTED).map(|at| 1_000_000 - at * step).collect::<Vec<i64>>();
        assert_eq!(estimated_count(&[], 9), 0);
        assert_eq!(estimated_count(&[8, 3], 9), 2);
        assert_eq!(estimated_count(&every(10)[1..], 1_000_000), COUNTED - 1);
        assert!((99_900..=100_100).contains(&estimated_count(&every(10), 1_000_000)));
        assert_eq!(estimated_count(&every(1), 1_000_000 - 1), 1_000_000 - 1);
        // A number that is older than the rows.
        assert_eq!(estimated_count(&every(1), 5), COUNTED);
    }

    #[test]
    fn e5_the_more_of_the_words_the_better() {
        let sums = summed(&[word(3, 2.0, &[8, 7, 1]), word(4, 1.0, &[9, 7, 6, 5])]);
        assert_eq!(sums, [(9, 1.0), (8, 2.0), (7, 3.0), (6, 1.0), (5, 1.0), (1, 2.0)]);
        assert_eq!(best(sums.clone(), 9), [7, 8, 1, 9, 6, 5]);
        assert_eq!(best(sums, 2), [7, 8]);
    }
}
