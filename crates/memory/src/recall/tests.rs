//! Recall over a real database; vectors come from an embedder that knows a handful of topics.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::civil::date;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::active_embedder::ActiveEmbedder;
use crate::embedding::error::EmbedError;
use crate::embedding::{Bill, EmbeddedText, Embedder, EmbeddingModel, TokenVector};
use crate::keep;
use crate::passage::passages;
use crate::vectors::binary_codes;
use crate::vectors::bytes::encode;
use crate::vectors::index::Index;
use hob_core::domain::ids::UserId;
use hob_store::memories::{self, NewMemory};
use hob_store::vectors::{self, NewModel, NewVector};
use hob_store::{SchedulingMode, Tx};

const OWN: Scope = Scope::Person(UserId(1));
const OTHER: Scope = Scope::Person(UserId(2));

/// Words of one topic have one vector.
const TOPICS: [&[&str]; 4] =
    [&["dog", "hound", "puppy"], &["car", "engine"], &["soup", "dinner"], &["garden", "roses"]];

struct TopicEmbedder(EmbeddingModel);

impl TopicEmbedder {
    fn new() -> Self {
        Self(EmbeddingModel { name: "topics".to_owned(), dimensions: 64, digest: "topics".to_owned() })
    }

    /// Each topic is sixteen numbers.
    fn vector(text: &str) -> Vec<f32> {
        let has = |at: usize| TOPICS[at].iter().any(|word| text.contains(word));
        let mut vector: Vec<f32> = (0..64).map(|at| if has(at / 16) { 1.0 } else { -0.1 }).collect();
        crate::embedding::normalise(&mut vector);
        vector
    }
}

#[async_trait]
impl Embedder for TopicEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.0
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| Self::vector(text)).collect())
    }

    async fn embed_tokens(&self, texts: &[String]) -> Result<Option<Vec<EmbeddedText>>, EmbedError> {
        let embedded = |text: &String| {
            let starts = text.char_indices().filter(|(at, letter)| {
                letter.is_alphanumeric() && !text[..*at].ends_with(|before: char| before.is_alphanumeric())
            });
            let token = |(at, _): (usize, char)| {
                let end = text[at..].find(|letter: char| !letter.is_alphanumeric()).map_or(text.len(), |end| at + end);
                TokenVector { range: at..end, vector: Self::vector(&text[at..end]) }
            };
            EmbeddedText { vector: Self::vector(text), tokens: starts.map(token).collect() }
        };
        Ok(Some(texts.iter().map(embedded).collect()))
    }
}

/// Something to be remembered: whose, and what.
type FixtureLine = (Scope, String);

async fn write(tx: &mut Tx, lines: &[FixtureLine]) -> Result<Vec<MemoryId>, StoreError> {
    let mut episodes = std::collections::HashMap::new();
    let mut all = Vec::new();
    for (at, (scope, text)) in (0..).zip(lines) {
        let episode = match episodes.get(scope) {
            Some(episode) => *episode,
            None => memories::begin_episode(tx, *scope, None, MAY).await?,
        };
        episodes.insert(*scope, episode);
        all.push(keep::add_to(tx, episode, &new(*scope, text, MAY + at)).await?);
    }
    Ok(all)
}

fn new(scope: Scope, text: &str, at: i64) -> NewMemory<'_> {
    NewMemory {
        scope,
        session: None,
        speaker: "Anna",
        user: None,
        message: None,
        text,
        asked: None,
        origin: "import",
        importance: 0.3,
        at,
    }
}

/// 8 May 2024, at noon.
const MAY: i64 = 1_715_169_600_000;

async fn embed(tx: &mut Tx) -> Result<(i64, Index), StoreError> {
    let topics = TopicEmbedder::new();
    let new = NewModel { name: "topics", dimensions: 64, digest: "topics" };
    let model = vectors::register(tx, new, Timestamp::UNIX_EPOCH).await?.id;
    let mut index = Index::new(64);
    for passage in passages(tx, MemoryId(0), 1_000).await? {
        let embedded = topics.embed_tokens(std::slice::from_ref(&passage.text)).await.unwrap().unwrap();
        index.insert(passage.scope, passage.memory.0, &binary_codes::sign_bits(&embedded[0].vector));
        let binary_codes = meaning::informative_codes(&embedded[0].tokens, &passage.text, passage.own_from).to_bytes();
        let vector = encode(&embedded[0].vector);
        vectors::put(tx, model, &NewVector { memory: passage.memory, vector, binary_codes: Some(binary_codes) })
            .await?;
    }
    Ok((model, index))
}

async fn sql(tx: &mut Tx, sql: &str) -> Result<(), StoreError> {
    sqlx::query(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut *tx).await?;
    Ok(())
}

/// A memory of these lines, with vectors or without.
async fn memory_of(lines: Vec<FixtureLine>, with_meaning: bool) -> (TempDir, Memory, Vec<MemoryId>) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
    let ids = store.write(async move |tx| write(tx, &lines).await).await.unwrap();
    let memory = Memory::by_words(store.clone(), TimeZone::UTC);
    if with_meaning {
        let (model, index) = store.write(embed).await.unwrap();
        let serving = ActiveEmbedder::of(Arc::new(TopicEmbedder::new()), model, index);
        memory.embedding_service.serve(Some(Arc::new(serving)));
    }
    (home, memory, ids)
}

fn asked(text: &str, scopes: &[Scope]) -> RecallQuestion {
    RecallQuestion {
        text: text.to_owned(),
        scopes: scopes.to_vec(),
        turn: None,
        window: None,
        limits: RecallLimits::default(),
        now: date(2024, 5, 20).at(9, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp(),
        bill: Bill::House,
    }
}

fn own(lines: &[&str]) -> Vec<FixtureLine> {
    lines.iter().map(|&line| (OWN, line.to_owned())).collect()
}

async fn texts(memory: &Memory, question: &RecallQuestion) -> Vec<String> {
    let found = memory.recall(question).await.unwrap();
    found.fragments.into_iter().map(|fragment| fragment.text).collect()
}

#[tokio::test]
async fn e5_words_and_meaning_bring_what_fits_and_nothing_else() {
    let lines =
        own(&["the hound needs a walk every morning", "soup was fine", "x", "y", "z", "the engine is loud again"]);
    let (_home, by_words, _) = memory_of(lines.clone(), false).await;
    let found = texts(&by_words, &asked("is the engine broken", &[OWN])).await;
    assert_eq!(found[0], "the engine is loud again");
    assert!(found[1..].iter().all(|text| ["y", "z"].contains(&text.as_str())), "but what stands beside it: {found:?}");
    assert!(texts(&by_words, &asked("what about my puppy", &[OWN])).await.is_empty());
    assert!(texts(&by_words, &asked("who are you", &[OWN])).await.is_empty());
    let (_home, memory, _) = memory_of(lines, true).await;
    assert_eq!(texts(&memory, &asked("what about my puppy", &[OWN])).await[0], "the hound needs a walk every morning");
    assert!(texts(&memory, &asked("roses", &[OWN])).await.is_empty(), "nothing is a good answer");
    let found = memory.recall(&asked("roses", &[OWN])).await.unwrap();
    assert_eq!(found.means, SearchMode::WordsAndMeaning);
    assert_eq!(by_words.recall(&asked("roses", &[OWN])).await.unwrap().means, SearchMode::Words);
}

#[tokio::test]
async fn e5_a_day_brings_what_was_said_on_it() {
    let (_home, memory, _) = memory_of(own(&["we painted the fence", "blue it is"]), false).await;
    for text in ["what did we do on 8 May?", "what happened on 8 May", "what was on the 8th of May 2024", "last week"] {
        let days = mentioned_dates(text, date(2024, 5, 20));
        let expected = usize::from(days.iter().any(|days| days.from <= date(2024, 5, 8))) * 2;
        let found = memory.recall(&asked(text, &[OWN])).await.unwrap().fragments;
        let told: usize = found.iter().map(|one| 1 + usize::from(one.before.is_some())).sum();
        assert_eq!(told, expected, "{text}: {found:?}");
    }
}

#[tokio::test]
async fn n8_a_search_finds_what_has_the_words_the_meaning_or_the_day_and_nothing_beside_it() {
    let lines = own(&[
        "the code of the safe is 4711",
        "when were the bins out?",
        "x",
        "the bins go out on Tuesday",
        "the puppy barks",
    ]);
    for (with_meaning, text, expected) in [
        (false, "when do the bins go", vec!["the bins go out on Tuesday", "when were the bins out?"]),
        (false, "hound", vec![]),
        (false, "what is it", vec![]),
        (true, "hound", vec!["the puppy barks"]),
        (true, "roses", vec![]),
    ] {
        let (_home, memory, ids) = memory_of(lines.clone(), with_meaning).await;
        let change = format!("UPDATE memories SET pinned = 1 WHERE id = {}", ids[0]);
        memory.store.write(async move |tx| sql(tx, &change).await).await.unwrap();
        let found = memory.search(&asked(text, &[OWN])).await.unwrap().fragments;
        assert_eq!(found.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), expected, "{text}");
    }
    let (_home, memory, _) = memory_of(lines, false).await;
    let of_day = asked("8 May 2024", &[OWN]);
    let found = memory.search(&of_day).await.unwrap().fragments.len();
    assert_eq!(found, memory.recall(&of_day).await.unwrap().fragments.len(), "a day is bearing enough");
    let names = [DAY, ASKS].map(|at| crate::rank::mix::WEIGHTS[at].name);
    assert_eq!(names, ["day", "is a question"]);
}

#[tokio::test]
async fn a4_what_is_pinned_is_raised_in_somebodys_turn_and_is_not_looked_for_elsewhere() {
    // What stands right beside something that fits comes along with it.
    let lines = own(&["the dog is called Rex", "x", "y", "z", "the code of the alarm is in the safe"]);
    let lines = [lines, vec![(OTHER, "no dog".to_owned())]];
    let (_home, memory, ids) = memory_of(lines.concat(), true).await;
    for pinned in &ids[4..] {
        let change = format!("UPDATE memories SET pinned = 1 WHERE id = {pinned}");
        memory.store.write(async move |tx| sql(tx, &change).await).await.unwrap();
    }
    let looked_up = asked("what is the dog called", &[OWN]);
    let in_turn =
        RecallQuestion { turn: Some(SpeakerTurn { session: SessionId(1), speaker: UserId(1) }), ..looked_up.clone() };
    for (question, expected) in [(looked_up, vec![]), (in_turn, vec!["the code of the alarm is in the safe"])] {
        let found = memory.recall(&question).await.unwrap();
        let fits: Vec<&str> = found.fragments.iter().map(|one| one.text.as_str()).collect();
        assert!(fits[0] == "the dog is called Rex" && fits.iter().all(|text| !text.contains("alarm")), "{fits:?}");
        let raised: Vec<&str> = found.salient.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(raised, expected);
        assert!(found.salient.iter().all(|one| one.leg == RecallCause::Salience && one.parts == [("pinned", 1.0)]));
    }
}

#[tokio::test]
async fn a4_where_nothing_is_asked_nothing_but_what_is_pinned_is_raised() {
    let (_home, memory, ids) = memory_of(own(&["hi there", "the code of the alarm is in the safe"]), true).await;
    let change = format!("UPDATE memories SET pinned = 1 WHERE id = {}", ids[1]);
    memory.store.write(async move |tx| sql(tx, &change).await).await.unwrap();
    let turn = Some(SpeakerTurn { session: SessionId(1), speaker: UserId(1) });
    let found = memory.recall(&RecallQuestion { turn, ..asked("hi", &[OWN]) }).await.unwrap();
    assert!(found.fragments.is_empty(), "{found:?}");
    let raised: Vec<&str> = found.salient.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(raised, ["the code of the alarm is in the safe"]);
    assert_eq!(found.means, SearchMode::Words, "nothing is embedded");
}

#[tokio::test]
async fn e5_what_has_no_gist_yet_is_found_all_the_same() {
    let (_home, memory, _) = memory_of(own(&["where is the key?", "in the blue jar, since last week"]), false).await;
    let question = asked("when was the jar used", &[OWN]);
    let before = memory.ranked(&question, None).await.unwrap();
    let change = "UPDATE memories SET stems = NULL, manner = NULL WHERE id = 2".to_owned();
    memory.store.write(async move |tx| sql(tx, &change).await).await.unwrap();
    assert_eq!(memory.ranked(&question, None).await.unwrap(), before);
    assert!(!before.is_empty());
}

#[tokio::test]
async fn e5_a_server_that_hangs_costs_the_meaning_only() {
    struct HangingEmbedder(EmbeddingModel);

    #[async_trait]
    impl Embedder for HangingEmbedder {
        fn model(&self) -> &EmbeddingModel {
            &self.0
        }

        async fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
            std::future::pending().await
        }

        async fn embed_tokens(&self, _: &[String]) -> Result<Option<Vec<EmbeddedText>>, EmbedError> {
            std::future::pending().await
        }
    }

    let (_home, memory, _) = memory_of(own(&["the engine is loud again"]), false).await;
    let embedder = Arc::new(HangingEmbedder(TopicEmbedder::new().0));
    memory.embedding_service.serve(Some(Arc::new(ActiveEmbedder::of(embedder, 1, Index::new(64)))));
    let found = memory.recall(&asked("the engine", &[OWN])).await.unwrap();
    assert_eq!((found.means, found.fragments.len()), (SearchMode::Words, 1));
}

#[test]
fn e5_keeps_the_words_that_matter_within_the_scopes() {
    let scopes = [Scope::Person(UserId(7)), Scope::House];
    let table = [
        ("What did Anna bake?", Some(r#"scope : ("p7" OR "house") AND text : ("anna" OR "bake")"#)),
        ("who are you?", None),
        ("", None),
        ("\" OR text:* NEAR(", Some(r#"scope : ("p7" OR "house") AND text : ("text" OR "near")"#)),
    ];
    for (text, expected) in table {
        assert_eq!(match_expression(text, &scopes, "text").as_deref(), expected, "{text}");
    }
    assert_eq!(match_expression("Anna", &[], "text"), None);
}

/// Scopes that a question may see, and what there is; words are few, so that much is alike.
fn world() -> impl Strategy<Value = (Vec<FixtureLine>, Vec<Scope>, String, Vec<usize>)> {
    let scope = prop::sample::select(vec![OWN, OTHER, Scope::Conversation(SessionId(1)), Scope::House]);
    let word = prop::sample::select(vec!["dog", "hound", "car", "soup", "garden", "Anna", "when", "May", "blue", "?"]);
    let text = prop::collection::vec(word, 1..7).prop_map(|words| words.join(" "));
    let lines = prop::collection::vec((scope.clone(), text.clone()), 1..40);
    let forgotten = prop::collection::vec(0..40_usize, 0..8);
    (lines, prop::collection::vec(scope, 0..3), text, forgotten)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn n8_nothing_crosses_a_scope_and_nothing_comes_back((lines, scopes, text, forgotten) in world()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for with_meaning in [false, true] {
                let (_home, memory, ids) = memory_of(lines.clone(), with_meaning).await;
                // The index is not told of it: what it still finds is not recalled.
                for &at in &forgotten {
                    if let Some(id) = ids.get(at) {
                        let change = format!("DELETE FROM memories WHERE id = {id}");
                        memory.store.write(async move |tx| sql(tx, &change).await).await.unwrap();
                    }
                }
                let may_see = |id: i64| {
                    let at = ids.iter().position(|known| known.0 == id).unwrap();
                    scopes.contains(&lines[at].0) && !forgotten.contains(&at)
                };
                let question = asked(&text, &scopes);
                let meant = memory.embed_question(&question).await;
                let ranked = memory.ranked(&question, meant.as_ref()).await.unwrap();
                for one in &ranked {
                    assert!(may_see(one.memory), "{} is ranked", one.memory);
                }
                for fragment in memory.recall(&question).await.unwrap().fragments {
                    assert!(may_see(fragment.memory.0), "{fragment:?} is recalled");
                    if let Some(before) = fragment.before {
                        let said = before.strip_prefix("Anna: ").unwrap();
                        let is_seen = |at: usize| scopes.contains(&lines[at].0) && !forgotten.contains(&at);
                        assert!((0..lines.len()).any(|at| is_seen(at) && lines[at].1 == said), "{before} comes along");
                    }
                }
            }
        });
    }
}
