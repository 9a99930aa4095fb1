//! What is forgotten is gone from the file, and nothing else is.

use jiff::Timestamp;

use super::cascade::without_words;
use super::harness::Harness;
use super::{ForgetItem, ForgetOutcome, everything, finish_deferred, slice};
use crate::facts::ToldFact;
use crate::item::MemoryItem;
use hob_core::domain::ids::{FactId, MemoryId, PersonId, RunId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::Taint;
use hob_model::message::{Message, ReplyPart, Sealed, ToolCall};

#[tokio::test]
async fn n8_what_is_forgotten_is_in_no_byte_of_the_file() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I fly to Zanzibar in May", "completed").await;
    harness.says(2, 1, "What shall I pack?", "completed").await;
    harness.says(3, 2, "Water the plants", "completed").await;
    harness.fact(1, None, "maybe Zanzibar", true).await;
    harness.fact(2, Some(10), "Zanzibar", false).await;
    harness
        .sql(&["INSERT INTO recalled (run_id, place, memory_id, leg, score, parts) VALUES (2, 1, 1, 'relevance', 900, '{}');
                UPDATE blobs SET text = 'zanzibar was recalled' WHERE hash = 'blob:2';
                UPDATE memories SET asked = 'To Zanzibar?' WHERE id = 2;
                UPDATE sessions SET run_journal = '{\"run\":1,\"notebook\":\"zanzibar\"}' WHERE id = 1;
                INSERT INTO summaries (session_id, user_id, through, text, run_id, made_at) VALUES (1, 1, 21, 'Ada flies to Zanzibar', 2, 0);
                INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition, sent_at, received_at)
                  VALUES (9, 1, 1, 'telegram', 'default', '7', '9', '/memory zanzibar', 0, 'command', 0, 0);
                INSERT INTO outbox (key, session_id, channel, account, chat, text, choices, state, next_attempt_at, created_at, ended_at)
                  VALUES ('inbound:9:0', 1, 'telegram', 'default', '7', 'm1 I fly to Zanzibar', '[]', 'delivered', 0, 0, 1);"
            .to_owned()])
        .await;
    let forgotten = harness.forget(MemoryItem::parse("m1").unwrap().into()).await;
    assert_eq!(forgotten.memories, [(Scope::Person(UserId(1)), MemoryId(1))]);
    assert_eq!(forgotten.facts.into_iter().collect::<Vec<_>>(), [FactId(1), FactId(2)]);
    assert!(!forgotten.put_off);
    let history = harness.texts("SELECT ordinal || ' ' || role || ' ' || text FROM messages ORDER BY id").await;
    insta::assert_snapshot!(history.join("\n"), @"
    10 user [forgotten]
    11 assistant [forgotten]
    20 user What shall I pack?
    21 assistant So: What shall I pack?
    30 user Water the plants
    31 assistant So: Water the plants
    ");
    // The record of the run in which it was said is gone; of the run for which it was recalled, what was recalled.
    assert_eq!(harness.texts("SELECT DISTINCT run_id || '' FROM run_events").await, ["2", "3"]);
    assert_eq!(harness.texts("SELECT hash FROM blobs").await, ["blob:3"]);
    assert_eq!(harness.texts("SELECT memory_id || '' FROM recalled").await, [""], "the row stays, and is empty");
    // What followed is made anew: the words before it were in its vector, and so was Hob's question.
    assert_eq!(harness.texts("SELECT memory_id || '' FROM vectors").await, ["3"]);
    assert_eq!(harness.texts("SELECT memory_id || '' FROM token_signs").await, ["3"]);
    assert_eq!(harness.texts("SELECT text FROM memories_fts WHERE memories_fts MATCH 'fly OR pack'").await.len(), 1);
    assert_eq!(harness.texts("SELECT text FROM inbound WHERE id = 9").await, ["/memory [forgotten]"]);
    assert!(!harness.keeps_the_word().await);
}

/// A schedule that run 1 made and that came once, as run 2, with what both had delivered besides their replies.
async fn scheduled(state: &str) -> Harness {
    let harness = Harness::new().await;
    harness.says(1, 1, "Remind me of Zanzibar", "completed").await;
    harness.says(2, 1, "Zanzibar, now", "completed").await;
    harness
        .sql(&[
            "DELETE FROM memories WHERE id = 2".to_owned(),
            format!(
                "INSERT INTO schedules (id, source, user_id, channel, account, chat, task, rule, zone, asked, taint, run_id,
                   call_id, state, why, grace_secs, coalesces, created_at)
                   VALUES (1, 'chat', 1, 'telegram', 'default', '7', 'Zanzibar', '{{}}', 'UTC', 'zanzibar at 9', '[]', 1, '1.0',
                     '{state}', CASE WHEN '{state}' = 'paused' THEN 'asked' END, 0, 1, 0)"
            ),
            "INSERT INTO occurrences (schedule_id, due_at, state, run_id, claimed_at) VALUES (1, 1, 'done', 2, 1)"
                .to_owned(),
        ])
        .await;
    harness
}

#[tokio::test]
async fn n8_what_was_scheduled_goes_when_it_is_done() {
    let harness = scheduled("done").await;
    assert!(!harness.forget(MemoryItem::parse("m1").unwrap().into()).await.put_off);
    assert_eq!(harness.texts("SELECT task || asked FROM schedules").await, ["[forgotten]"]);
    assert_eq!(harness.texts("SELECT run_id || '' FROM run_events").await, [""; 0]);
    assert!(!harness.keeps_the_word().await);
    let harness = scheduled("paused").await;
    harness.forget(MemoryItem::parse("m1").unwrap().into()).await;
    assert_eq!(harness.texts("SELECT task FROM schedules").await, ["Zanzibar"], "it is still to be done");
}

#[tokio::test]
async fn n8_what_tools_and_agents_delivered_goes_once_it_is_out() {
    let harness = Harness::new().await;
    harness.says(1, 1, "Write of Zanzibar", "completed").await;
    let sent = |key: &str, (state, ended): (&str, &str)| {
        format!(
            "INSERT INTO outbox (key, session_id, run_id, channel, account, chat, text, choices, state, next_attempt_at, created_at, ended_at)
               VALUES ('{key}', 1, 1, 'telegram', 'default', '7', 'zanzibar', '[]', '{state}', 0, 0, {ended})"
        )
    };
    harness
        .sql(&[
            sent("call:1:1.0:0", ("pending", "NULL")),
            sent("agent:1:0", ("delivered", "1")),
            sent("call:11:1.0:0", ("delivered", "1")),
        ])
        .await;
    assert!(harness.forget(MemoryItem::parse("m1").unwrap().into()).await.put_off, "it is still on its way");
    let texts = "SELECT text FROM outbox WHERE key NOT LIKE 'run:%' ORDER BY key";
    assert_eq!(harness.texts(texts).await, ["[forgotten]", "zanzibar", "zanzibar"]);
    harness.sql(&["UPDATE outbox SET state = 'delivered', ended_at = 2 WHERE key = 'call:1:1.0:0'".to_owned()]).await;
    harness.store.write(finish_deferred).await.unwrap();
    assert_eq!(harness.texts(texts).await, ["[forgotten]", "zanzibar", "[forgotten]"], "another run's is its own");
}

#[tokio::test]
async fn n8_a_vector_in_which_forgotten_words_were_is_made_anew() {
    let harness = Harness::new().await;
    for run in 1..=4 {
        harness.says(run, 1, "I fly to Zanzibar", "completed").await;
    }
    harness.sql(&["UPDATE embedding_models SET through = 4".to_owned()]).await;
    harness.forget(ForgetItem::Memory(MemoryId(2))).await;
    assert_eq!(harness.texts("SELECT memory_id || '' FROM vectors").await, ["1", "4"]);
    assert_eq!(
        harness.texts("SELECT through || '' FROM embedding_models").await,
        ["2"],
        "the upkeep goes on from there"
    );
    // A hole between them: what stands before the fourth is the first from now on.
    harness.forget(ForgetItem::Memory(MemoryId(3))).await;
    assert_eq!(harness.texts("SELECT memory_id || '' FROM vectors").await, ["1"]);
}

#[tokio::test]
async fn n8_an_answer_that_came_after_others_had_joined_keeps_no_question() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I travel to Zanzibar", "completed").await;
    harness.says(2, 1, "In May", "completed").await;
    harness.says(3, 1, "Anna", "completed").await;
    harness.says(4, 1, "And now", "completed").await;
    harness
        .sql(&["UPDATE messages SET run_id = 1 WHERE run_id = 2;
                UPDATE memories SET asked = 'Who comes along to Zanzibar?' WHERE id = 3;
                UPDATE memories SET asked = 'Which plants?' WHERE id = 4;
                UPDATE embedding_models SET through = 4;"
            .to_owned()])
        .await;
    harness.forget(ForgetItem::Memory(MemoryId(1))).await;
    assert_eq!(harness.texts("SELECT id || coalesce(asked, '') FROM memories").await, ["2", "3", "4Which plants?"]);
    assert_eq!(harness.texts("SELECT memory_id || '' FROM vectors").await, ["4"], "the question was in its vector");
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_what_was_said_to_a_runs_questions_goes_with_its_record() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I travel", "completed").await;
    let answer = |id: i64, chat: i64, at: i64| {
        format!(
            "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition, sent_at, received_at)
               VALUES ({id}, 1, 1, 'telegram', 'default', '{chat}', '{id}', 'answer {id}', 0, 'answer', 0, {at});"
        )
    };
    harness
        .sql(&[
            answer(20, 7, 1),
            answer(21, 7, 50),
            "UPDATE inbound SET text = 'zanzibar' WHERE id = 20;
             INSERT INTO model_calls (run_id, asked_seq, model, user_id, state, input_tokens, asked_at, error)
               VALUES (1, 3, 'm', 1, 'failed', 0, 0, 'zanzibar is no city');
             INSERT INTO memory_calls (model, purpose, state, asked_at, error) VALUES ('m', 'extraction', 'failed', 0, 'zanzibar?');"
                .to_owned(),
        ])
        .await;
    harness.forget(ForgetItem::Memory(MemoryId(1))).await;
    assert_eq!(
        harness.texts("SELECT text FROM inbound WHERE disposition = 'answer'").await,
        ["[forgotten]", "answer 21"]
    );
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_what_was_told_goes_with_the_words_in_which_it_was_told() {
    let harness = Harness::new().await;
    harness.says(1, 1, "Remember that I fly to Zanzibar", "running").await;
    let remember = ToldFact {
        scope: Scope::Person(UserId(1)),
        user: UserId(1),
        category: "travel".to_owned(),
        key: "next trip".to_owned(),
        value: "Zanzibar".to_owned(),
        person: None,
        valid_until: None,
        run: Some(RunId(1)),
        taint: Taint::default(),
        at: Timestamp::UNIX_EPOCH,
    };
    harness.store.write(async move |tx| remember.run(tx).await).await.unwrap();
    assert_eq!(harness.texts("SELECT message_id || '' FROM facts").await, ["10"], "it says where it is from");
    harness
        .sql(&[
            "UPDATE runs SET state = 'completed', ended_at = 1; UPDATE outbox SET state = 'delivered', ended_at = 1"
                .to_owned(),
        ])
        .await;
    let forgotten = harness.forget(ForgetItem::Memory(MemoryId(1))).await;
    assert_eq!(forgotten.facts.len(), 1);
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_a_fact_is_in_no_context_that_told_a_contradiction_or_was_a_heartbeats() {
    let harness = Harness::new().await;
    for run in 1..=4 {
        harness.says(run, 1, "What is new?", "completed").await;
    }
    harness.fact(1, None, "Zanzibar", false).await;
    harness
        .sql(&["INSERT INTO facts (id, scope, category, key, value, speaker, source, confidence, importance, created_at, rival_of)
                  VALUES (2, 'p1', 'travel', 'next trip', 'Oslo', 'Ada', 'extracted', 1, 0.5, 2, 1);
                INSERT INTO recalled (run_id, place, fact_id, leg, score, parts) VALUES (2, 1, 2, 'fact', 0, '{}');
                UPDATE inbound SET external_id = 'heartbeat:' || id, received_at = 5 WHERE id IN (3, 4);
                UPDATE blobs SET text = 'Zanzibar or Oslo' WHERE hash IN ('blob:2', 'blob:3', 'blob:4');"
            .to_owned()])
        .await;
    harness.forget(ForgetItem::Fact(FactId(1))).await;
    assert_eq!(harness.texts("SELECT hash FROM blobs").await, ["blob:1"]);
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_a_birthday_that_is_forgotten_is_not_known_of_its_person_either() {
    let harness = Harness::new().await;
    harness
        .sql(&["INSERT INTO people (id, scope, name, birthday, created_at, updated_at) VALUES (1, 'p1', 'Anna', '1990-05-03', 0, 0);"
            .to_owned()])
        .await;
    harness.fact(1, None, "3 May 1990", false).await;
    harness.fact(2, None, "tea", true).await;
    harness.sql(&["UPDATE facts SET key = 'Anna''s birthday', person_id = 1".to_owned()]).await;
    harness.forget(ForgetItem::Fact(FactId(2))).await;
    assert_eq!(harness.texts("SELECT birthday FROM people").await, ["1990-05-03"], "that one was history");
    harness.forget(ForgetItem::Fact(FactId(1))).await;
    assert_eq!(harness.texts("SELECT name || coalesce(birthday, '') FROM people").await, ["Anna"]);
}

#[tokio::test]
async fn n8_where_nothing_is_left_there_is_no_episode_and_nothing_to_look_through() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I fly to Zanzibar", "completed").await;
    harness.forget(ForgetItem::Memory(MemoryId(1))).await;
    assert_eq!(harness.texts("SELECT scope FROM episodes").await, ["p2"]);
    harness.fact(1, None, "Zanzibar", false).await;
    harness.sql(&["INSERT INTO facts_changed (scope, since) VALUES ('p1', 0), ('p2', 0)".to_owned()]).await;
    let scope = Scope::Person(UserId(1));
    harness.store.write(async move |tx| everything(tx, scope).await).await.unwrap();
    while harness.store.write(async move |tx| slice(tx, scope).await).await.unwrap().is_some() {}
    assert_eq!(harness.texts("SELECT scope FROM facts_changed").await, ["p2"]);
}

#[tokio::test]
async fn n8_a_file_that_remembers_has_the_word() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I fly to Zanzibar in May", "completed").await;
    assert!(harness.keeps_the_word().await, "so the test above can fail");
}

#[tokio::test]
async fn n8_a_fact_goes_with_the_values_before_it_and_nothing_else() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I fly to Oslo", "completed").await;
    harness.fact(1, None, "Zanzibar", true).await;
    harness.fact(2, Some(10), "Oslo", true).await;
    harness.fact(3, None, "Rome", false).await;
    // The newest alone is current: what superseded a forgotten value stays.
    let forgotten = harness.forget(ForgetItem::Fact(FactId(2))).await;
    assert_eq!(forgotten.facts.into_iter().collect::<Vec<_>>(), [FactId(1), FactId(2)]);
    assert_eq!(harness.texts("SELECT value FROM facts").await, ["Rome"]);
    assert_eq!(harness.texts("SELECT text FROM memories").await, ["I fly to Oslo"], "what was said is still known");
    assert_eq!(harness.texts("SELECT value FROM facts_fts WHERE facts_fts MATCH 'rome'").await, ["Rome"]);
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_what_contradicted_a_forgotten_fact_takes_its_place() {
    let harness = Harness::new().await;
    harness.fact(1, None, "Zanzibar", false).await;
    harness
        .sql(&["INSERT INTO facts (id, scope, category, key, value, speaker, source, confidence, importance, created_at, rival_of)
                VALUES (2, 'p1', 'travel', 'next trip', 'Oslo', 'Ada', 'told', 1, 0.5, 2, 1),
                       (3, 'p1', 'travel', 'next trip', 'Rome', 'Ada', 'told', 1, 0.5, 3, 1)"
            .to_owned()])
        .await;
    harness.forget(ForgetItem::Fact(FactId(1))).await;
    let left = harness.texts("SELECT value || coalesce(' against ' || rival_of, '') FROM facts ORDER BY id").await;
    assert_eq!(left, ["Oslo", "Rome against 2"]);
}

#[tokio::test]
async fn n8_a_person_goes_with_what_is_known_of_them() {
    let harness = Harness::new().await;
    harness.fact(1, None, "Zanzibar", false).await;
    harness
        .sql(&["INSERT INTO people (id, scope, name, created_at, updated_at) VALUES (1, 'p1', 'Zanzibar Joe', 0, 0);
                INSERT INTO person_identities (person_id, kind, value) VALUES (1, 'name', 'Zanzibar');
                UPDATE facts SET person_id = 1;"
            .to_owned()])
        .await;
    let forgotten = harness.forget(ForgetItem::Person(PersonId(1))).await;
    assert_eq!((forgotten.people, forgotten.facts.len()), (vec![PersonId(1)], 1));
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_the_record_of_a_run_that_goes_on_is_kept_until_its_end() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I fly to Zanzibar in May", "waiting").await;
    harness.says(2, 2, "Where does Ada fly?", "waiting").await;
    harness
        .sql(&["INSERT INTO recalled (run_id, place, memory_id, leg, score, parts) VALUES (2, 1, 1, 'relevance', 900, '{}');
                UPDATE blobs SET text = 'zanzibar was recalled' WHERE hash = 'blob:2';"
            .to_owned()])
        .await;
    let forgotten = harness.forget(ForgetItem::Memory(MemoryId(1))).await;
    assert!(forgotten.put_off);
    assert_eq!(harness.texts("SELECT DISTINCT run_id || '' FROM run_events").await, ["1", "2"], "no run is hurt");
    assert_eq!(harness.texts("SELECT hash FROM blobs").await, ["blob:1", "blob:2"]);
    assert_eq!(
        harness.texts("SELECT text FROM messages WHERE id = 10").await,
        ["[forgotten]"],
        "nobody reads it from now on"
    );
    harness.sql(&["UPDATE runs SET state = 'completed', ended_at = 1".to_owned()]).await;
    harness.store.write(finish_deferred).await.unwrap();
    assert_eq!(harness.texts("SELECT DISTINCT run_id || '' FROM run_events").await, ["2"]);
    assert_eq!(
        harness.texts("SELECT run_id || part FROM forgettings").await,
        ["1words"],
        "its answer is not delivered yet"
    );
    harness.sql(&["UPDATE outbox SET state = 'delivered', ended_at = 1".to_owned()]).await;
    harness.store.write(finish_deferred).await.unwrap();
    assert_eq!(harness.texts("SELECT run_id || part FROM forgettings").await, Vec::<String>::new());
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_what_joined_a_run_goes_with_its_record() {
    let harness = Harness::new().await;
    harness.says(1, 1, "I travel in May", "completed").await;
    harness.says(2, 1, "To Zanzibar", "completed").await;
    harness
        .sql(&["UPDATE runs SET state = 'joined' WHERE id = 2;
                UPDATE messages SET run_id = 1;
                UPDATE outbox SET text = '';
                INSERT INTO run_events (run_id, seq, kind, version, body, at)
                  VALUES (1, 3, 'input.steered', 1, '{\"kind\":\"input.steered\",\"body\":{\"run\":2,\"text\":\"To Zanzibar\"}}', 0);"
            .to_owned()])
        .await;
    harness.sql(&["DELETE FROM tool_calls WHERE run_id = 2".to_owned()]).await;
    harness.forget(ForgetItem::Memory(MemoryId(2))).await;
    let history = harness.texts("SELECT text FROM messages ORDER BY id").await;
    assert_eq!(history, ["I travel in May", "So: I travel in May", "[forgotten]", "[forgotten]"]);
    assert_eq!(harness.texts("SELECT run_id || '' FROM run_events").await, Vec::<String>::new());
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_everything_of_one_person_goes_in_slices_and_nothing_of_another() {
    let harness = Harness::new().await;
    for run in 1..=60 {
        harness.says(run, 1, "I fly to Zanzibar", "completed").await;
    }
    harness.says(61, 2, "Water the plants", "completed").await;
    harness.fact(1, None, "Zanzibar", false).await;
    let scope = Scope::Person(UserId(1));
    let counts = harness.store.write(async move |tx| everything(tx, scope).await).await.unwrap();
    assert_eq!((counts.memories, counts.facts), (60, 1));
    // What is said after it was asked for is not meant.
    harness.says(62, 1, "I am back", "completed").await;
    let mut slices = 0;
    while let Some(forgotten) = harness.store.write(async move |tx| slice(tx, scope).await).await.unwrap() {
        assert!(forgotten.memories.len() <= 50);
        slices += 1;
    }
    assert_eq!(slices, 2);
    assert_eq!(harness.texts("SELECT text FROM memories ORDER BY id").await, ["Water the plants", "I am back"]);
    assert_eq!(harness.texts("SELECT text FROM messages WHERE user_id = 2").await, ["Water the plants"]);
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_what_is_known_after_everything_was_to_go_is_not_meant() {
    let harness = Harness::new().await;
    for run in 1..=60 {
        harness.says(run, 1, "I fly to Zanzibar", "completed").await;
    }
    harness.fact(1, None, "Zanzibar", false).await;
    harness
        .sql(&["INSERT INTO people (id, scope, name, created_at, updated_at) VALUES (1, 'p1', 'Joe', 0, 0)".to_owned()])
        .await;
    let scope = Scope::Person(UserId(1));
    harness.store.write(async move |tx| everything(tx, scope).await).await.unwrap();
    assert!(harness.store.write(async move |tx| slice(tx, scope).await).await.unwrap().is_some());
    harness
        .sql(&["INSERT INTO people (scope, name, created_at, updated_at) VALUES ('p1', 'Anna', 0, 0);
                INSERT INTO facts (scope, category, key, value, speaker, source, confidence, importance, created_at)
                  VALUES ('p1', 'travel', 'next trip', 'Oslo', 'Ada', 'told', 1, 0.5, 2);"
            .to_owned()])
        .await;
    while harness.store.write(async move |tx| slice(tx, scope).await).await.unwrap().is_some() {}
    assert_eq!(harness.texts("SELECT value FROM facts UNION ALL SELECT name FROM people").await, ["Oslo", "Anna"]);
    assert!(!harness.keeps_the_word().await);
}

#[tokio::test]
async fn n8_what_is_not_there_cannot_be_forgotten() {
    let harness = Harness::new().await;
    assert_eq!(harness.forget(ForgetItem::Memory(MemoryId(9))).await, ForgetOutcome::default());
    assert_eq!(harness.forget(ForgetItem::Fact(FactId(9))).await, ForgetOutcome::default());
}

#[test]
fn n8_messages_keep_their_shape() {
    let call =
        ToolCall { id: hob_core::domain::ids::CallId::new(1, 0), name: "pay".into(), arguments: "{\"to\":1}".into() };
    let thought = ReplyPart::Sealed(Sealed { model: "m".into(), kind: "thinking".into(), data: "secret".into() });
    let table = [
        (Message::user("a"), Message::user("[forgotten]")),
        (
            Message::assistant("", vec![call.clone()]),
            Message::assistant("", vec![ToolCall { arguments: "{}".into(), ..call.clone() }]),
        ),
        (
            Message::Assistant { parts: vec![thought, ReplyPart::text("a"), ReplyPart::Call(call.clone())] },
            Message::assistant("[forgotten]", vec![ToolCall { arguments: "{}".into(), ..call }]),
        ),
    ];
    for (message, expected) in table {
        assert_eq!(without_words(message), expected);
    }
}
