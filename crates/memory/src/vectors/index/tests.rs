//! Against a plain model: a map from scope and id to signs, looked through in full.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::block::ROWS_MAX;
use super::{Candidate, Index};
use crate::vectors::{binary_codes, bytes};
use hob_core::domain::ids::{SessionId, UserId};
use hob_core::domain::memory::Scope;

const ANNA: Scope = Scope::Person(UserId(1));
const BEN: Scope = Scope::Person(UserId(2));
const FAMILY: Scope = Scope::Conversation(SessionId(1));
const SCOPES: [Scope; 4] = [ANNA, BEN, FAMILY, Scope::House];

type ReferenceIndex = BTreeMap<(Scope, i64), Vec<u64>>;

/// What the index should answer.
fn expected(model: &ReferenceIndex, query: &[u64], scopes: &[Scope], limit: usize) -> Vec<Candidate> {
    let seen = model.iter().filter(|((scope, _), _)| scopes.contains(scope));
    let mut all: Vec<Candidate> =
        seen.map(|(&(_, id), signs)| Candidate { distance: binary_codes::distance(signs, query), id }).collect();
    all.sort_by_key(|candidate| (candidate.distance, -candidate.id));
    all.truncate(limit);
    all
}

#[derive(Debug, Clone)]
enum Step {
    Insert(usize, i64, [u64; 2]),
    Remove(usize, i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4_usize, 0..60_i64, any::<[u64; 2]>()).prop_map(|(scope, id, signs)| Step::Insert(scope, id, signs)),
        4 => (0..4_usize, 0..60_i64).prop_map(|(scope, id)| Step::Remove(scope, id)),
    ]
}

/// Ids of one scope are not those of another here, so that an answer tells where it comes from.
fn id_in(scope: usize, id: i64) -> i64 {
    id * 4 + scope as i64
}

proptest! {
    #[test]
    fn e5_it_answers_as_a_full_scan_and_nothing_crosses(
        steps in prop::collection::vec(step(), 0..200),
        query in any::<[u64; 2]>(),
        seen in prop::collection::vec(0..4_usize, 0..5),
        limit in 0..20_usize,
    ) {
        let (mut index, mut model) = (Index::new(100), ReferenceIndex::new());
        for step in steps {
            match step {
                Step::Insert(scope, id, signs) => {
                    prop_assert!(index.insert(SCOPES[scope], id_in(scope, id), &signs));
                    model.insert((SCOPES[scope], id_in(scope, id)), signs.to_vec());
                }
                Step::Remove(scope, id) => {
                    let was_there = model.remove(&(SCOPES[scope], id_in(scope, id))).is_some();
                    prop_assert_eq!(index.remove(SCOPES[scope], id_in(scope, id)), was_there);
                }
            }
        }
        let scopes: Vec<Scope> = seen.iter().map(|&scope| SCOPES[scope]).collect();
        let found = index.nearest(&query, &scopes, limit);
        prop_assert!(found.iter().all(|candidate| scopes.contains(&SCOPES[(candidate.id % 4) as usize])));
        prop_assert_eq!(found, expected(&model, &query, &scopes, limit));
        prop_assert_eq!(index.is_empty(), model.is_empty());
        for scope in SCOPES {
            prop_assert_eq!(index.len(scope), model.keys().filter(|(found, _)| *found == scope).count());
        }
    }
}

/// A number that looks like chance, the same in every run.
fn scattered(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[test]
fn e5_many_blocks_answer_as_one() {
    let rows = ROWS_MAX as i64 * 3 + 7;
    // In order, as memories come; backwards; and across, so that blocks split in their middle.
    for order in [1, rows - 1, 1_000] {
        let (mut index, mut model) = (Index::new(64), ReferenceIndex::new());
        for at in 0..rows {
            let id = (at * order) % rows;
            let signs = [scattered(id as u64)];
            index.insert(ANNA, id, &signs);
            model.insert((ANNA, id), signs.to_vec());
        }
        let remaining = model.len();
        assert_eq!(index.len(ANNA), remaining);
        let query = [scattered(1_000_000)];
        for limit in [1, 10, 1_000, 5_000] {
            assert_eq!(index.nearest(&query, &[ANNA], limit), expected(&model, &query, &[ANNA], limit), "{order}");
        }
        for id in 0..rows {
            assert!(index.remove(ANNA, id), "{order} {id}");
            assert!(!index.remove(ANNA, id));
        }
        assert!(index.is_empty());
        assert!(index.nearest(&query, &[ANNA], 10).is_empty());
    }
}

#[test]
fn e5_of_equal_ones_the_newer_come_first() {
    let mut index = Index::new(64);
    for id in 0..ROWS_MAX as i64 * 2 {
        index.insert(ANNA, id, &[7]);
    }
    index.insert(BEN, 1_000_000, &[7]);
    let ids: Vec<i64> = index.nearest(&[7], &[ANNA], 3).iter().map(|candidate| candidate.id).collect();
    assert_eq!(ids, [2047, 2046, 2045]);
    let both = index.nearest(&[7], &[BEN, ANNA, ANNA], 2);
    assert_eq!(both.iter().map(|candidate| candidate.id).collect::<Vec<_>>(), [1_000_000, 2047]);
}

#[test]
fn e5_signs_of_another_length_are_not_taken() {
    let mut index = Index::new(384);
    assert!(!index.insert(ANNA, 1, &[1; 5]));
    assert!(index.is_empty());
    assert!(index.insert(ANNA, 1, &[1; 6]));
    assert!(index.nearest(&[1; 5], &[ANNA], 1).is_empty());
    assert!(index.insert(ANNA, 1, &[0; 6]), "replaced");
    assert_eq!(index.nearest(&[0; 6], &[ANNA], 9), [Candidate { distance: 0, id: 1 }]);
}

/// Vectors about a few subjects, as texts are, and not scattered evenly.
fn about(seed: u64) -> Vec<f32> {
    let number = |seed: u64| (scattered(seed) >> 40) as f32 / (1_u64 << 24) as f32 - 0.5;
    let subject = scattered(seed) % 20;
    let mut vector: Vec<f32> =
        (0..384).map(|at| number(subject * 1_000 + at) + number(seed * 1_000 + 500_000 + at)).collect();
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|value| *value /= length);
    vector
}

#[test]
fn e5_signs_and_a_closer_look_find_nearly_what_an_exact_scan_does() {
    let rows: Vec<(i64, Vec<f32>)> = (0..3_000).map(|id| (id, about(id as u64 + 1))).collect();
    let stored: Vec<Vec<u8>> = rows.iter().map(|(_, vector)| bytes::encode(vector)).collect();
    let mut index = Index::new(384);
    for ((id, _), stored) in rows.iter().zip(&stored) {
        index.insert(Scope::House, *id, &bytes::StoredVector::read(stored, 384).unwrap().bits());
    }
    let mut hits = 0;
    for question in 0..20 {
        let query = about(1_000_000 + question);
        let mut exact: Vec<(i64, f32)> =
            rows.iter().map(|(id, vector)| (*id, vector.iter().zip(&query).map(|(a, b)| a * b).sum())).collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1));
        let near = index.nearest(&binary_codes::sign_bits(&query), &[Scope::House], 300);
        let near = near.iter().map(|candidate| (candidate.id, stored[candidate.id as usize].as_slice()));
        let found = bytes::rescore(&query, near, 10);
        hits += exact[..10].iter().filter(|(id, _)| found.iter().any(|(other, _)| other == id)).count();
    }
    assert!(hits >= 190, "{hits} of 200");
}
