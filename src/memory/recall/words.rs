//! What the words of a question bring, and all else that needs no vector.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::civil::Time;
use jiff::tz::TimeZone;

use crate::memory::rank::dates::{self, Days};
use crate::memory::rank::features::{Wanted, wanted};
use crate::memory::rank::gist::{hash, is_of_time};
use crate::memory::rank::lexical::Term;
use crate::memory::recall::{Question, list};
use crate::store::error::StoreError;
use crate::store::recall as rows;
use crate::store::{Statement, Tx};

/// The most different words of a question that are looked for.
const WORDS_MAX: usize = 24;
/// The most rows that words may match in all: at a million memories, 2 % of them. Commoner words are left to the ranking.
const MATCHED_MAX: i64 = 20_000;
/// How many of the matches are looked at closely.
const HITS: usize = 400;
/// How many of what matters, and of what was said last, take part.
const SALIENT: i64 = 5;
const RECENT: i64 = 10;
/// How much of the days that are asked about takes part.
const OF_DAYS: i64 = 100;

/// Looks for what the words bring.
pub(super) struct ByWords {
    pub(super) question: Question,
    pub(super) zone: TimeZone,
}

/// What was found without a vector.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The question.
    pub(super) text: String,
    /// Its words.
    pub(super) terms: Vec<Term>,
    /// The days that it speaks of.
    pub(super) days: Vec<Days>,
    /// What has the most of its words, roughly the best first.
    pub(super) hits: Vec<i64>,
    /// What was said on those days, where it says nothing else.
    pub(super) of_days: Vec<i64>,
    /// What is pinned.
    pub(super) pinned: HashSet<i64>,
    /// What matters much.
    pub(super) important: HashSet<i64>,
    /// The last of the session.
    pub(super) recent: HashSet<i64>,
    /// What is in front of the model anyway.
    pub(super) window: HashSet<i64>,
}

#[async_trait]
impl Statement for ByWords {
    type Output = Found;

    async fn run(&self, tx: &mut Tx) -> Result<Found, StoreError> {
        let Question { text, scopes, window, now, .. } = &self.question;
        let scope_list = list(scopes);
        let mut found = Found {
            text: text.clone(),
            days: dates::spoken(text, now.to_zoned(self.zone.clone()).date()),
            pinned: rows::pinned(tx, &scope_list, SALIENT).await?.into_iter().collect(),
            ..Found::default()
        };
        let mut speakers = Vec::new();
        for scope in scopes {
            speakers.extend(rows::speakers(tx, &scope.to_string()).await?);
            found.important.extend(rows::important(tx, &scope.to_string(), SALIENT).await?);
        }
        if let Some(window) = window {
            found.window.extend(rows::within(tx, window.session, window.from, window.through).await?);
            found.recent.extend(rows::last_of(tx, window.session, &scope_list, RECENT).await?);
        }
        let names: Vec<&str> = speakers.iter().map(String::as_str).collect();
        let mut wanted = wanted(text, &names);
        wanted.truncate(WORDS_MAX);
        if !found.days.is_empty() && wanted.iter().all(|wanted| is_of_time(&wanted.word)) {
            self.said_on(tx, &mut found).await?;
        }
        self.matches(tx, wanted, &mut found).await?;
        Ok(found)
    }
}

impl ByWords {
    /// What was said on the days that are asked about.
    async fn said_on(&self, tx: &mut Tx, found: &mut Found) -> Result<(), StoreError> {
        for days in &found.days {
            let start = |day: jiff::civil::Date| day.to_datetime(Time::midnight()).to_zoned(self.zone.clone());
            let (Ok(from), Ok(until)) = (start(days.from), days.to.tomorrow().and_then(start)) else { continue };
            let span = (from.timestamp().as_millisecond(), until.timestamp().as_millisecond());
            for scope in &self.question.scopes {
                found.of_days.extend(rows::said_between(tx, &scope.to_string(), span, OF_DAYS).await?);
            }
        }
        Ok(())
    }

    async fn matches(&self, tx: &mut Tx, wanted: Vec<Wanted>, found: &mut Found) -> Result<(), StoreError> {
        let all = rows::about_all(tx).await?.cast_unsigned();
        let mut counted = Vec::new();
        for wanted in wanted {
            let having = rows::having(tx, &wanted.stem).await?;
            found.terms.push(Term::new(hash(&wanted.stem), having.cast_unsigned(), all));
            counted.push((having, wanted.word));
        }
        let words = rare_enough(counted);
        if words.is_empty() {
            return Ok(());
        }
        let either = |parts: &[String]| parts.iter().map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join(" OR ");
        let scopes: Vec<String> = self.question.scopes.iter().map(ToString::to_string).collect();
        let texts: Vec<String> = words.iter().map(|(_, word)| word.clone()).collect();
        // Once with the scopes, which is dear where they are large, and for each word without: a row that is not among the
        // first is not looked at.
        let query = format!("scope : ({}) AND text : ({})", either(&scopes), either(&texts));
        let within = rows::matching(tx, &query, MATCHED_MAX).await?;
        let mut worth = vec![0.0; within.len()];
        for (having, word) in &words {
            let having_it = rows::matching(tx, &format!("text : \"{word}\""), MATCHED_MAX).await?;
            let term = Term::new(0, having.cast_unsigned(), all);
            add_where_both(&within, &having_it, term.worth, &mut worth);
        }
        let scored = within.into_iter().zip(worth).filter(|(id, _)| !found.window.contains(id)).collect();
        found.hits = best(scored);
        Ok(())
    }
}

/// The rarest words, as long as they do not match too much in all, but at least one; none that nothing has.
fn rare_enough(mut counted: Vec<(i64, String)>) -> Vec<(i64, String)> {
    counted.retain(|(having, _)| *having > 0);
    counted.sort();
    let mut sum = 0;
    let mut is_first = true;
    counted.retain(|(having, _)| {
        sum += having;
        std::mem::take(&mut is_first) || sum <= MATCHED_MAX
    });
    counted
}

/// Adds `worth` to each of `ids` that is in `others`, too; both fall.
fn add_where_both(ids: &[i64], others: &[i64], worth: f64, sums: &mut [f64]) {
    let mut others = others.iter().peekable();
    for (id, sum) in ids.iter().zip(sums) {
        while others.next_if(|&other| other > id).is_some() {}
        if others.next_if_eq(&id).is_some() {
            *sum += worth;
        }
    }
}

/// The best, of equal ones the newer.
fn best(mut scored: Vec<(i64, f64)>) -> Vec<i64> {
    let order = |a: &(i64, f64), b: &(i64, f64)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    if scored.len() > HITS {
        scored.select_nth_unstable_by(HITS, order);
        scored.truncate(HITS);
    }
    scored.sort_unstable_by(order);
    scored.into_iter().map(|(id, _)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e5_only_words_that_are_rare_enough_are_matched_and_never_none() {
        let counted = |counts: &[i64]| counts.iter().map(|&count| (count, format!("w{count}"))).collect::<Vec<_>>();
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
    fn e5_the_more_of_the_words_the_better() {
        let mut sums = vec![0.0; 4];
        add_where_both(&[9, 7, 5, 1], &[8, 7, 1], 2.0, &mut sums);
        add_where_both(&[9, 7, 5, 1], &[9, 7, 6, 5], 1.0, &mut sums);
        assert_eq!(sums, [1.0, 3.0, 1.0, 2.0]);
        assert_eq!(best([9, 7, 5, 1].into_iter().zip(sums).collect()), [7, 1, 9, 5]);
        assert_eq!(best((0..1_000).map(|id| (id, 0.5)).collect()).first(), Some(&999));
        assert_eq!(best((0..1_000).map(|id| (id, 0.5)).collect()).len(), HITS);
    }
}
