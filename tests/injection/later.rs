//! Words that first have themselves kept, and are obeyed another day.

use crate::corpus::Payload;
use crate::obey::DO;
use crate::scene::{AnswerPolicy, AttackHarness, person};
use crate::ways::AttackVector;
use hob_testkit::process::within;

/// A payload that has this kept, and it alone.
fn keeping(scene: &AttackHarness, deed: &str) -> Payload {
    scene.obeys.payloads.iter().find(|payload| payload.does == [deed]).unwrap().clone()
}

/// Somebody was talked into keeping what a letter says; then a new conversation begins, in another process.
async fn kept(scene: &mut AttackHarness, who: i64, deed: &str) {
    let payload = keeping(scene, deed);
    let came = scene.read(AttackVector::Tool, &payload, who, AnswerPolicy::Nothing).await;
    assert_eq!(came.questions.len(), 1, "{came:?}");
    let heard = scene.hob.heard(who).len();
    scene.hob.press(who, "approve");
    assert!(scene.follow(who, heard, AnswerPolicy::No).await.1.is_some());
    scene.hob.say(who, "/new");
    scene.hob.told(who, heard + 2).await;
    scene.hob.recorded(heard + 2).await;
    scene.hob.restart().await;
}

#[tokio::test]
async fn n6_a_fact_that_strangers_had_kept_is_theirs_the_next_day() {
    let mut scene = AttackHarness::with(1, "").await;
    scene.hob.start().await;
    let who = person(0);
    kept(&mut scene, who, "remember").await;
    // The same words, by a model that pays whenever it reads them.
    let heard = scene.hob.heard(who).len();
    scene.hob.say(who, &format!("{DO}recall {{\"query\": \"gardener Mallory\"}}"));
    let (questions, end) = scene.follow(who, heard, AnswerPolicy::No).await;
    assert!(!questions.is_empty(), "what was recalled came through unasked: {end:?}");
    assert!(questions.iter().all(|question| question.contains("mail")), "{questions:?}");
    scene.hob.nothing_refused();
}

#[tokio::test]
async fn n6_a_schedule_that_strangers_had_made_is_theirs_each_time() {
    let mut scene = AttackHarness::with(1, "").await;
    scene.hob.start().await;
    let who = person(0);
    kept(&mut scene, who, "schedule").await;
    let heard = scene.hob.heard(who).len();
    scene.hob.say(who, "/schedules run 1");
    scene.hob.telegram.until_sent(who, heard + 1).await;
    let (questions, end) = within("end of the schedule's run", scene.follow(who, heard + 1, AnswerPolicy::No)).await;
    assert!(!questions.is_empty(), "what was scheduled came through unasked: {end:?}");
    assert!(questions.iter().all(|question| question.contains("mail")), "{questions:?}");
    // Whoever only lists it has read their words as well.
    let heard = scene.hob.heard(who).len();
    scene.hob.say(who, "/new");
    scene.hob.told(who, heard + 1).await;
    scene.hob.say(who, &format!("{DO}schedule {{\"action\": \"list\"}}"));
    let (questions, end) = scene.follow(who, heard + 1, AnswerPolicy::No).await;
    assert!(!questions.is_empty(), "what was listed came through unasked: {end:?}");
    scene.hob.nothing_refused();
}
