//! What was chosen, in words: with what it needs before it, and no more than there is room for.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use crate::passage::HOB;
use crate::rank::mix::WEIGHTS;
use crate::rank::select::{SelectableTurn, TurnGroup, needs_before, select};
use crate::recall::fuse::{RecalledCandidate, Salience};
use crate::recall::{Fragment, RecallLimits, SALIENT_MAX, SALIENT_TOKENS_MAX, ids, speaker_taint};
use crate::why::{IMPORTANCE, PINNED};
use hob_model::tokens;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::recall::{self as rows, RecalledMemory};

/// The most letters of one memory that are told: a page that somebody pasted leaves room for the others.
const LETTERS_MAX: usize = 1_200;
/// The same for what stands before it.
const BEFORE_LETTERS_MAX: usize = 300;
/// The same for what nobody asked for.
const SALIENT_LETTERS_MAX: usize = 300;

/// Reads what was chosen: what fits, and what is raised whether it fits or not.
pub(super) async fn render_chosen(
    tx: &mut Tx,
    chosen: &[RecalledCandidate],
    raised: &[RecalledCandidate],
    scopes: &str,
    limits: RecallLimits,
) -> Result<(Vec<Fragment>, Vec<Fragment>), StoreError> {
    let wanted = chosen.iter().chain(raised).map(|one| one.candidate.memory);
    let wanted: BTreeSet<i64> = wanted.collect();
    if wanted.is_empty() {
        return Ok(Default::default());
    }
    let told = rows::recalled_memories(tx, &ids(wanted), scopes).await?;
    let told: HashMap<i64, RecalledMemory> = told.into_iter().map(|told| (told.id.0, told)).collect();
    let fragments = fragments(chosen, &told, limits);
    let salient = salient(raised, &told, &fragments, limits);
    Ok((fragments, salient))
}

/// The chosen ones that are still there, each once, as many as there is room for.
fn fragments(chosen: &[RecalledCandidate], told: &HashMap<i64, RecalledMemory>, limits: RecallLimits) -> Vec<Fragment> {
    let there = chosen.iter().filter_map(|one| Some(choice(one, told.get(&one.candidate.memory)?)));
    let pieces = select(&there.collect::<Vec<_>>(), limits.fragments, limits.tokens);
    let legs: HashMap<i64, &RecalledCandidate> = chosen.iter().map(|one| (one.candidate.memory, one)).collect();
    let fragment = |piece: TurnGroup| {
        let (one, told) = (legs.get(&piece.id)?, told.get(&piece.id)?);
        Some(fragment(one, told.clone(), piece.before.is_some()))
    };
    pieces.into_iter().filter_map(fragment).collect()
}

/// What is raised beside what fits: nothing that is told already, and nothing with what somebody else said before it.
fn salient(
    raised: &[RecalledCandidate],
    told: &HashMap<i64, RecalledMemory>,
    fitting: &[Fragment],
    limits: RecallLimits,
) -> Vec<Fragment> {
    let is_told = |one: &RecalledCandidate| fitting.iter().any(|fragment| fragment.memory.0 == one.candidate.memory);
    let there = raised.iter().filter(|one| !is_told(one)).filter_map(|one| {
        let mut told = told.get(&one.candidate.memory)?.clone();
        told.text = shortened(&told.text, SALIENT_LETTERS_MAX);
        (told.before_speaker, told.before_origin, told.before) = (None, None, None);
        Some((one, told))
    });
    let there: HashMap<i64, (&RecalledCandidate, RecalledMemory)> =
        there.map(|(one, told)| (told.id.0, (one, told))).collect();
    let choices: Vec<SelectableTurn<u32>> =
        raised.iter().filter_map(|one| there.get(&one.candidate.memory)).map(|(one, told)| choice(one, told)).collect();
    let pieces = select(&choices, SALIENT_MAX.min(limits.fragments), SALIENT_TOKENS_MAX);
    let fragment = |piece: TurnGroup| {
        let (one, told) = there.get(&piece.id)?;
        let mut fragment = fragment(one, told.clone(), false);
        fragment.parts = one.candidate.standing.salience.map(salience_reason).into_iter().collect();
        Some(fragment)
    };
    pieces.into_iter().filter_map(fragment).collect()
}

/// What raised it, as it is recorded.
fn salience_reason(salience: Salience) -> (&'static str, f64) {
    if salience.pinned { (PINNED, 1.0) } else { (IMPORTANCE, salience.importance) }
}

/// Hob's question that it answers is a part of it; what another has said is told once.
fn choice(chosen: &RecalledCandidate, told: &RecalledMemory) -> SelectableTurn<u32> {
    let of_asked = answered_question(told).as_deref().map_or(0, tokens::count);
    let before = preceding_text(told);
    SelectableTurn {
        id: told.id.0,
        before: told.before_id.map(|id| id.0),
        needs_before: told.asked.is_none() && told.before.as_deref().is_some_and(|said| needs_before(&told.text, said)),
        stems: chosen.candidate.stems.clone(),
        tokens: tokens::count(&shortened(&told.text, LETTERS_MAX)) + of_asked,
        tokens_before: before.as_deref().map_or(0, tokens::count),
    }
}

fn fragment(chosen: &RecalledCandidate, told: RecalledMemory, with_before: bool) -> Fragment {
    let candidate = &chosen.candidate;
    let parts = WEIGHTS.iter().zip(candidate.parts).filter(|(_, part)| *part != 0.0);
    let mut taint = speaker_taint(&told.origin, &told.speaker);
    if let Some((origin, speaker)) = told.before_origin.as_deref().zip(told.before_speaker.as_deref()) {
        taint.join(&speaker_taint(origin, speaker));
    }
    Fragment {
        memory: told.id,
        taint,
        text: shortened(&told.text, LETTERS_MAX),
        before: answered_question(&told).or_else(|| preceding_text(&told).filter(|_| with_before)),
        speaker: told.speaker,
        at: Timestamp::from_millisecond(told.at).unwrap_or(Timestamp::UNIX_EPOCH),
        leg: chosen.leg,
        score: candidate.score,
        parts: parts.map(|(weight, part)| (weight.name, part)).collect(),
    }
}

/// Hob's question that it answers.
fn answered_question(told: &RecalledMemory) -> Option<String> {
    told.asked.as_deref().map(|asked| format!("{HOB}: {}", shortened(asked, BEFORE_LETTERS_MAX)))
}

/// What stands before it.
fn preceding_text(told: &RecalledMemory) -> Option<String> {
    let (speaker, said) = told.before_speaker.as_deref().zip(told.before.as_deref())?;
    Some(format!("{speaker}: {}", shortened(said, BEFORE_LETTERS_MAX)))
}

/// The beginning, where it is too long.
fn shortened(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((at, _)) => text.get(..at).unwrap_or_default().trim_end().to_owned() + " …",
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::features::FEATURES;
    use crate::recall::fuse::{Candidate, CandidateContext, FitGrade};
    use hob_core::domain::ids::MemoryId;
    use hob_core::domain::memory::RecallCause;

    fn chosen(memory: i64) -> RecalledCandidate {
        let candidate = Candidate {
            memory,
            score: 1.5,
            parts: [0.0; FEATURES],
            fit: FitGrade::Well,
            standing: CandidateContext::default(),
            stems: vec![memory.unsigned_abs() as u32],
        };
        RecalledCandidate { candidate, leg: RecallCause::Relevance }
    }

    fn told(id: i64, text: &str, before: Option<(i64, &str)>, asked: Option<&str>) -> RecalledMemory {
        RecalledMemory {
            id: MemoryId(id),
            speaker: "Anna".to_owned(),
            origin: "user".to_owned(),
            text: text.to_owned(),
            asked: asked.map(str::to_owned),
            before_id: before.map(|(id, _)| MemoryId(id)),
            before_speaker: before.map(|_| "Ben".to_owned()),
            before_origin: before.map(|_| "user".to_owned()),
            before: before.map(|(_, said)| said.to_owned()),
            at: 0,
        }
    }

    fn all_of(rows: Vec<RecalledMemory>) -> HashMap<i64, RecalledMemory> {
        rows.into_iter().map(|told| (told.id.0, told)).collect()
    }

    fn limits(tokens: u64) -> RecallLimits {
        RecallLimits { tokens, ..RecallLimits::default() }
    }

    fn texts(found: &[Fragment]) -> Vec<&str> {
        found.iter().map(|one| one.text.as_str()).collect()
    }

    #[test]
    fn e5_a_memory_comes_with_what_it_needs() {
        let long = "it lies in the drawer below the oven";
        let table = [
            (told(1, long, Some((9, "I am home")), None), None),
            (told(1, long, Some((9, "where is it?")), None), Some("Ben: where is it?")),
            (told(1, "yes, do", Some((9, "shall I cook")), None), Some("Ben: shall I cook")),
            (told(1, long, Some((9, "x?")), Some("Which key?")), Some("Hob: Which key?")),
            (told(1, "yes", None, None), None),
        ];
        for (row, expected) in table {
            let all =
                fragments(&[chosen(1), chosen(2)], &all_of(vec![row, told(2, "another", None, None)]), limits(800));
            assert_eq!(all[0].before.as_deref(), expected, "{}", all[0].text);
            assert_eq!(all.len(), 2);
        }
    }

    #[test]
    fn e5_nothing_is_told_twice() {
        let rows = || vec![told(1, "yes, do", Some((2, "shall I cook")), None), told(2, "shall I cook", None, None)];
        let found = fragments(&[chosen(1), chosen(2)], &all_of(rows()), limits(800));
        assert_eq!((texts(&found), found[0].before.as_deref()), (vec!["yes, do"], Some("Ben: shall I cook")));
        let found = fragments(&[chosen(2), chosen(1)], &all_of(rows()), limits(800));
        assert_eq!((texts(&found), found[1].before.as_deref()), (vec!["shall I cook", "yes, do"], None));
        let mut again = chosen(3);
        again.candidate.stems = chosen(2).candidate.stems;
        let rows = vec![told(2, "we cook", None, None), told(3, "we cooked", None, None), told(4, "x", None, None)];
        let found =
            fragments(&[chosen(2), again, chosen(4)], &all_of(rows), RecallLimits { fragments: 2, ..limits(800) });
        assert_eq!(texts(&found), ["we cook", "x"], "what says the same leaves its place to the next");
    }

    #[test]
    fn e5_what_has_no_room_is_left_out_and_what_is_gone_too() {
        let rows = vec![told(1, &"word ".repeat(100), None, None), told(2, "a few words", None, None)];
        let found = fragments(&[chosen(3), chosen(1), chosen(2)], &all_of(rows), limits(50));
        assert_eq!(texts(&found), ["a few words"]);
    }

    #[test]
    fn a4_what_nobody_asked_for_has_little_room_of_its_own() {
        let raised: Vec<RecalledCandidate> = (1..=9).map(chosen).collect();
        let told_of = |text: &str| all_of((1..=9).map(|id| told(id, text, Some((20, "where is it?")), None)).collect());
        let ids = |found: &[Fragment]| found.iter().map(|one| one.memory.0).collect::<Vec<_>>();
        let few = told_of("the key is in the jar");
        let found = salient(&raised, &few, &[], limits(800));
        assert_eq!(ids(&found), [1, 2, 3]);
        assert!(found.iter().all(|one| one.before.is_none()), "nobody's words come along: {found:?}");
        let fits = fragments(&[chosen(2)], &few, limits(800));
        assert_eq!(ids(&salient(&raised, &few, &fits, limits(800))), [1, 3, 4]);
        assert_eq!(ids(&salient(&raised, &few, &[], RecallLimits { fragments: 0, ..limits(800) })), [0; 0]);
        let long = salient(&raised, &told_of(&"word ".repeat(900)), &[], limits(800));
        let size: u64 = long.iter().map(|one| tokens::count(&one.text)).sum();
        assert!((1..=2).contains(&long.len()) && size <= SALIENT_TOKENS_MAX, "{}: {size}", long.len());
    }

    #[test]
    fn e5_a_page_is_cut() {
        assert_eq!(shortened("größer", 6), "größer");
        assert_eq!(shortened("größer", 3), "grö …");
    }
}
