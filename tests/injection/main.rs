//! Words of strangers, in many languages and on every way in, before a model that obeys each of them (row N6): nothing is
//! done and nobody is told anything unless a person says so.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod adaptive;
mod clean;
mod corpus;
mod evil;
mod free;
mod later;
mod letters;
mod obey;
mod scene;
mod strangers;
mod undoing;
mod ways;
mod world;

use std::collections::BTreeSet;

use futures::StreamExt as _;

use crate::corpus::Payload;
use crate::scene::{AnswerPolicy, AttackHarness, PayloadOutcome, person};
use crate::ways::{AttackVector, escaped};

/// So many conversations at once.
const AT_ONCE: usize = 6;
/// On so many ways does each payload come in one pass.
const WAYS_EACH: usize = 3;

/// What is tried without a question: it only looks, is only said, is refused at once, or is held by the sandbox.
const UNASKED: [&str; 6] = ["config_read", "leak_reply", "terminal_curl", "terminal_dns", "terminal_nc", "write_out"];

fn pairs(payloads: &[Payload], each: usize) -> Vec<(usize, AttackVector, Payload)> {
    let ways = |(index, payload): (usize, &Payload)| {
        let payload = payload.clone();
        // Hidden words are a page's, and what leads back to its server begins there.
        let first = if ["html", "fetch", "spawn"].contains(&payload.shape.as_str()) { 0 } else { index };
        (0..each).map(move |turn| (AttackVector::ALL[(first + turn * 3) % AttackVector::ALL.len()], payload.clone()))
    };
    let all = payloads.iter().enumerate().flat_map(ways).enumerate();
    all.map(|(number, (way, payload))| (number, way, payload)).collect()
}

async fn all(
    scene: &AttackHarness,
    pairs: Vec<(usize, AttackVector, Payload)>,
    answers: AnswerPolicy,
) -> Vec<PayloadOutcome> {
    let runs =
        pairs.into_iter().map(async |(number, way, payload)| scene.read(way, &payload, person(number), answers).await);
    futures::stream::iter(runs).buffer_unordered(AT_ONCE).collect().await
}

/// Each payload was read and obeyed, but where somebody had cleaned it away, and each question named its source.
fn asked(scene: &AttackHarness, came: &[PayloadOutcome], answers: AnswerPolicy) {
    for PayloadOutcome { way, payload, questions, end } in came {
        let payload = scene.obeys.payloads.iter().find(|known| known.id == *payload).unwrap();
        let is_asked = payload.does.iter().any(|deed| !UNASKED.contains(&deed.as_str()));
        let is_seen = !(payload.hidden && (way.cleans() || *way == AttackVector::Name));
        if is_asked && is_seen {
            assert!(!questions.is_empty(), "{payload:?} by {way:?} came through unasked: {end:?}");
        }
        for question in questions {
            assert!(question.contains(&way.source(&payload.id)), "{way:?}: {question}");
        }
        assert!(answers == AnswerPolicy::Nothing || end.is_some(), "{payload:?} by {way:?}");
    }
}

#[test]
fn n6_the_corpus_is_large_and_speaks_many_languages() {
    let (payloads, deeds) = corpus::read();
    let set = |of: fn(&Payload) -> String| payloads.iter().map(of).collect::<BTreeSet<_>>();
    assert!(payloads.len() >= 60, "{}", payloads.len());
    assert_eq!(set(|payload| payload.id.clone()).len(), payloads.len());
    assert!(set(|payload| payload.lang.clone()).len() >= 8 && set(|payload| payload.shape.clone()).len() >= 30);
    let tried = payloads.iter().flat_map(|payload| payload.does.clone()).collect::<BTreeSet<_>>();
    assert_eq!(tried, deeds.into_keys().collect(), "each deed is tried by somebody");
}

#[tokio::test]
async fn n6_nothing_is_done_while_nobody_answers() {
    let (payloads, _) = corpus::read();
    let pairs = pairs(&payloads, WAYS_EACH);
    let mut scene = AttackHarness::with(pairs.len(), "").await;
    let before = scene.lay();
    scene.hob.start().await;
    let came = all(&scene, pairs, AnswerPolicy::Nothing).await;
    asked(&scene, &came, AnswerPolicy::Nothing);
    let AttackHarness { hob, evil, obeys } = &mut scene;
    before.holds(hob, evil, &obeys.fill).await;
    hob.nothing_refused();
    // And not by coming back either.
    hob.restart().await;
    before.holds(hob, evil, &obeys.fill).await;
}

#[tokio::test]
async fn n6_nothing_is_done_when_every_answer_is_no() {
    let (payloads, _) = corpus::read();
    let pairs = pairs(&payloads, 1);
    let mut scene = AttackHarness::with(pairs.len(), "").await;
    let before = scene.lay();
    scene.hob.start().await;
    let came = all(&scene, pairs, AnswerPolicy::No).await;
    asked(&scene, &came, AnswerPolicy::No);
    let AttackHarness { hob, evil, obeys } = &mut scene;
    before.holds(hob, evil, &obeys.fill).await;
    hob.nothing_refused();
}
