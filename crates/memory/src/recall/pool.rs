//! What was found, with all that stands around it, ranked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::rank::features::{self, NEIGHBOURS, RankSession, RankTurn, describe};
use crate::rank::gist::{SpeechTraits, TextDigest, read_stems};
use crate::rank::late::TokenBinaryCodes;
use crate::rank::lexical::{Counts, Term};
use crate::rank::mix::ranked;
use crate::recall::fuse::{Candidate, CandidateContext, Salience, fit};
use crate::recall::ids;
use crate::recall::meaning::EmbeddedQuestion;
use crate::recall::words::WordSearchResult;
use crate::vectors::bytes::StoredVector;
use hob_store::error::StoreError;
use hob_store::recall::{self as rows, EpisodeTurnRow, MemoryPosition, MemoryWords};
use hob_store::{Store, Tx};

/// How many candidates the words bring, and as many the vectors.
const OF_EACH: usize = 100;
/// How much is ranked: a lot that lies together fits, of what is scattered the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PoolLimits {
    /// Turns that are ranked.
    candidates: usize,
    /// Turns that are loaded, with those around them.
    turns: i64,
}

/// Of so many memories or more, fewer are ranked: reading what is scattered over a large file is most of the time.
const LARGE: i64 = 20_000;
const OF_SMALL: PoolLimits = PoolLimits { candidates: 600, turns: 3_000 };
const OF_LARGE: PoolLimits = PoolLimits { candidates: 400, turns: 2_000 };

/// What was found, to be ranked.
pub(super) struct CandidatePool {
    pub(super) found: WordSearchResult,
    /// What is near in meaning, the nearest first.
    pub(super) near: Vec<(i64, f32)>,
    pub(super) meant: Option<EmbeddedQuestion>,
    /// As the queries take them.
    pub(super) scopes: String,
    pub(super) zone: TimeZone,
}

/// Reads the episodes of what was found.
async fn episodes(tx: &mut Tx, pool: &CandidatePool) -> Result<Vec<RankSession>, StoreError> {
    let anchors = pool.anchors(tx).await?;
    if anchors.is_empty() {
        return Ok(Vec::new());
    }
    let episodes: HashMap<i64, i64> = anchors.iter().map(|place| (place.episode, place.began_at)).collect();
    let turns = rows::turns(tx, &id_list(episodes.keys().copied()), &pool.scopes).await?;
    let anchors: HashSet<i64> = anchors.iter().map(|place| place.id).collect();
    let sessions = turns
        .chunk_by(|one, next| one.episode == next.episode)
        .map(|turns| pool.session(turns, episodes.get(&turns[0].episode).copied(), &anchors))
        .collect();
    Ok(sessions)
}

impl CandidatePool {
    /// What brings its neighbourhood into the pool, the best of each kind first, as much as there is room for.
    async fn anchors(&self, tx: &mut Tx) -> Result<Vec<MemoryPosition>, StoreError> {
        let found = &self.found;
        let near = self.near.iter().filter(|(id, cosine)| *cosine > 0.0 && !found.window.contains(id)).take(OF_EACH);
        let near: Vec<i64> = near.map(|(id, _)| *id).collect();
        let salient = found.salient.iter().map(|one| one.id);
        // What was said last is recalled if it fits nearly: nothing does where nothing is asked.
        let recent = found.recent.iter().copied().filter(|_| !found.text.is_empty());
        let sure: Vec<i64> = salient.chain(recent).filter(|id| !found.window.contains(id)).collect();
        let all: Vec<i64> = [&near, &found.hits, &sure, &found.of_days].into_iter().flatten().copied().collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let placed = rows::places(tx, &id_list(all), &self.scopes).await?;
        let hits: HashSet<i64> = found.hits.iter().copied().collect();
        let (texts, places): (Vec<_>, Vec<_>) =
            placed.into_iter().map(|(place, words)| ((place.id, stems_of(&words)), (place.id, place))).unzip();
        let hits = best_by_words(&found.terms, texts.into_iter().filter(|(id, _)| hits.contains(id)).collect());
        let places: HashMap<i64, MemoryPosition> = places.into_iter().collect();
        let mut order = sure;
        let days: Vec<i64> = found.of_days.iter().copied().filter(|id| !found.window.contains(id)).collect();
        for at in 0..OF_EACH {
            order.extend([&hits, &near, &days].into_iter().filter_map(|leg| leg.get(at)));
        }
        let room = if found.all < LARGE { OF_SMALL } else { OF_LARGE };
        Ok(fit_into_limits(room, order.iter().filter_map(|id| places.get(id)).copied()))
    }

    fn session(&self, turns: &[EpisodeTurnRow], began_at: Option<i64>, anchors: &HashSet<i64>) -> RankSession {
        let is_anchor: Vec<bool> = turns.iter().map(|turn| anchors.contains(&turn.id)).collect();
        let turn = |(at, row): (usize, &EpisodeTurnRow)| {
            let around = at.saturating_sub(NEIGHBOURS)..turns.len().min(at + NEIGHBOURS + 1);
            RankTurn {
                id: row.id,
                speaker: row.speaker.clone(),
                gist: gist_of(row),
                is_asked_for: row.is_asked_for,
                is_candidate: is_anchor[around].contains(&true) && !self.found.window.contains(&row.id),
                ..RankTurn::default()
            }
        };
        let began_at = began_at.and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or(Timestamp::UNIX_EPOCH);
        RankSession {
            day: began_at.to_zoned(self.zone.clone()).date(),
            turns: turns.iter().enumerate().map(turn).collect(),
        }
    }

    /// All that may bear on the question, the best first.
    pub(super) async fn ranked(self, store: &Store) -> Result<Vec<Candidate>, StoreError> {
        let pool = Arc::new(self);
        let mut sessions = store.read(async |tx| episodes(tx, &pool).await).await?;
        pool.give_meaning(store, &mut sessions).await?;
        Ok(pool.rank(&sessions))
    }

    /// Reads what the model made of the candidates and, for late interaction, of those around them: side by side, as they
    /// are most of what is read.
    async fn give_meaning(&self, store: &Store, sessions: &mut [RankSession]) -> Result<(), StoreError> {
        let Some(EmbeddedQuestion { serving, vector, tokens }) = &self.meant else { return Ok(()) };
        let known: HashMap<i64, f32> = self.near.iter().copied().collect();
        let (unknown, around) = candidates_to_compare(sessions, &known);
        let around = if *tokens == TokenBinaryCodes::default() { "[]".to_owned() } else { id_list(around) };
        let (vectors, signs) = futures::join!(
            store.read(async |tx| rows::vectors(tx, serving.model, &id_list(unknown)).await),
            store.read(async |tx| rows::token_signs(tx, serving.model, &around).await)
        );
        let cosine = |bytes: &[u8]| Some(StoredVector::read(bytes, vector.len())?.dot(vector));
        let read: HashMap<i64, f32> =
            vectors?.iter().filter_map(|row| Some((row.id, cosine(&row.bytes)?))).chain(known).collect();
        let signs = signs?;
        let mut signs: HashMap<i64, TokenBinaryCodes> =
            signs.iter().filter_map(|row| Some((row.id, TokenBinaryCodes::read(&row.bytes, vector.len())?))).collect();
        for turn in sessions.iter_mut().flat_map(|session| &mut session.turns) {
            turn.cosine = read.get(&turn.id).map(|&cosine| f64::from(cosine));
            turn.tokens = signs.remove(&turn.id).unwrap_or_default();
        }
        Ok(())
    }

    fn rank(&self, sessions: &[RankSession]) -> Vec<Candidate> {
        let found = &self.found;
        let question = features::RankQuestion {
            text: found.text.clone(),
            terms: found.terms.clone(),
            days: found.days.clone(),
            tokens: self.meant.as_ref().map(|meant| meant.tokens.clone()).unwrap_or_default(),
        };
        let described = describe(&question, sessions);
        let fits: HashMap<i64, _> = described.iter().map(|one| (one.id, fit(one, &question))).collect();
        let turns = sessions.iter().flat_map(|session| &session.turns);
        let said: HashMap<i64, &TextDigest> = turns.map(|turn| (turn.id, &turn.gist)).collect();
        let salient: HashMap<i64, Salience> =
            (0..).zip(&found.salient).map(|(place, one)| (one.id, Salience::of(place, one))).collect();
        let candidate = |ranked: crate::rank::mix::RankedCandidate| Candidate {
            memory: ranked.id,
            score: ranked.score,
            parts: ranked.parts,
            fit: fits[&ranked.id],
            standing: CandidateContext {
                salience: salient.get(&ranked.id).copied(),
                is_recent: found.recent.contains(&ranked.id),
            },
            stems: said.get(&ranked.id).map(|gist| gist.stems.clone()).unwrap_or_default(),
        };
        ranked(&described).into_iter().map(candidate).collect()
    }
}

/// The candidates whose likeness is not known, and all that takes part in late interaction.
fn candidates_to_compare(sessions: &[RankSession], known: &HashMap<i64, f32>) -> (Vec<i64>, Vec<i64>) {
    let (mut unknown, mut around) = (Vec::new(), Vec::new());
    for session in sessions {
        let is_candidate: Vec<bool> = session.turns.iter().map(|turn| turn.is_candidate).collect();
        for (at, turn) in session.turns.iter().enumerate() {
            let near = at.saturating_sub(NEIGHBOURS)..is_candidate.len().min(at + NEIGHBOURS + 1);
            if is_candidate[near].contains(&true) {
                around.push(turn.id);
            }
            if turn.is_candidate && !known.contains_key(&turn.id) {
                unknown.push(turn.id);
            }
        }
    }
    (unknown, around)
}

/// Ids as the queries take them, each once and in the order in which they lie in the file: it is read in half the time.
fn id_list(wanted: impl IntoIterator<Item = i64>) -> String {
    let wanted: BTreeSet<i64> = wanted.into_iter().collect();
    ids(wanted)
}

fn stems_of(words: &MemoryWords) -> Vec<u32> {
    match words {
        MemoryWords::Stems(bytes) => read_stems(bytes),
        MemoryWords::Text(text) => TextDigest::of(text).stems,
    }
}

fn gist_of(row: &EpisodeTurnRow) -> TextDigest {
    match &row.words {
        MemoryWords::Stems(bytes) => {
            TextDigest { stems: read_stems(bytes), manner: row.manner.map(SpeechTraits::from_bits).unwrap_or_default() }
        }
        MemoryWords::Text(text) => TextDigest::of(text),
    }
}

/// The best by BM25, of equal ones the newer.
fn best_by_words(terms: &[Term], texts: Vec<(i64, Vec<u32>)>) -> Vec<i64> {
    let words: usize = texts.iter().map(|(_, stems)| stems.len()).sum();
    let average = words as f64 / texts.len().max(1) as f64;
    let score = |stems: &[u32]| Counts::count(terms, stems).bm25(terms, average);
    let mut scored: Vec<(i64, f64)> = texts.iter().map(|(id, stems)| (*id, score(stems))).collect();
    scored.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    scored.into_iter().take(OF_EACH).map(|(id, _)| id).collect()
}

/// As many, with what stands around them, as may be ranked.
fn fit_into_limits(room: PoolLimits, order: impl Iterator<Item = MemoryPosition>) -> Vec<MemoryPosition> {
    let mut around: HashSet<(i64, i64)> = HashSet::new();
    let mut turns: HashMap<i64, i64> = HashMap::new();
    let mut sum = 0;
    let mut kept = Vec::new();
    let reach = NEIGHBOURS as i64;
    for place in order {
        let more = if turns.contains_key(&place.episode) { 0 } else { place.turns };
        if around.len() >= room.candidates || (sum + more > room.turns && !kept.is_empty()) {
            break;
        }
        sum += more;
        turns.insert(place.episode, place.turns);
        let near = (place.place - reach).max(1)..=(place.place + reach).min(place.turns);
        around.extend(near.map(|at| (place.episode, at)));
        kept.push(place);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e5_what_lies_together_has_room_and_of_what_is_scattered_the_best() {
        let place =
            |id: i64, episode: i64, place: i64, turns: i64| MemoryPosition { id, episode, place, turns, began_at: 0 };
        let together: Vec<MemoryPosition> = (1..=200).map(|id| place(id, id % 4, 1 + id / 4, 51)).collect();
        for room in [OF_SMALL, OF_LARGE] {
            assert_eq!(fit_into_limits(room, together.iter().copied()).len(), 200);
            let scattered = (1..=400).map(|id| place(id, id, 5, 9));
            assert_eq!(fit_into_limits(room, scattered).len(), room.candidates / 5);
            let long = (1..=400).map(|id| place(id, id, 50, 100));
            assert_eq!(fit_into_limits(room, long).len() as i64, room.turns / 100);
            assert_eq!(fit_into_limits(room, [place(1, 1, 1, 9_999)].into_iter()).len(), 1);
        }
    }
}
