//! Over a conversation of the tests' own.

use std::sync::Arc;

use super::{BenchError, Ranking, recall};
use crate::embedding::Embedder;
use crate::embedding::local::LocalEmbedder;
use hob_store::{SchedulingMode, Store};

const DATA: &str = r#"[{
    "sample_id": "house",
    "conversation": {
        "speaker_a": "Anna", "speaker_b": "Ben",
        "session_10_date_time": "9:00 am on 3 June, 2024",
        "session_10": [
            {"speaker": "Anna", "dia_id": "D10:1", "text": "The boiler man comes at noon."},
            {"speaker": "Ben", "dia_id": "D10:2", "text": "Then I stay in.", "blip_caption": "a broken radiator"}
        ],
        "session_2_date_time": "1:56 pm on 8 May, 2024",
        "session_2": [
            {"speaker": "Anna", "dia_id": "D2:1", "text": "Where shall we eat?"},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "At the Greek place by the river."},
            {"speaker": "Anna", "dia_id": "D2:3", "text": "Good."}
        ]
    },
    "qa": [
        {"question": "When does the boiler man come?", "evidence": ["D10:1"], "category": 4},
        {"question": "Who wrote it?", "category": 5},
        {"question": "Where did Ben want to have dinner on 8 May?", "evidence": ["D2:2"], "category": 2},
        {"question": "Who has a picture of a radiator?", "evidence": ["D10:2"], "category": 4}
    ]
}]"#;

async fn ask(data: &str, embedder: Option<Arc<dyn Embedder>>) -> Result<Vec<Ranking>, BenchError> {
    let home = tempfile::tempdir().unwrap();
    let open = async |_number| Store::open(&home.path().join("house.db"), SchedulingMode::Threaded).await;
    let answers = recall(data, open, embedder, &|_, _, _| {}).await?;
    Ok(answers.into_iter().map(|answer| answer.ranking).collect())
}

#[tokio::test]
async fn n8_recall_goes_by_text_where_there_is_no_embedding() {
    let found = ask(DATA, None).await.unwrap();
    let lines: Vec<String> = found.iter().map(|ranking| serde_json::to_string(ranking).unwrap()).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"sample_id":"house","question_index":0,"ranked":["D10:1","D10:2"]}
    {"sample_id":"house","question_index":2,"ranked":[]}
    {"sample_id":"house","question_index":3,"ranked":["D10:2","D10:1"]}
    "#);
}

#[tokio::test]
async fn n8_recall_goes_by_meaning_too() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/embedding-model");
    let embedder = LocalEmbedder::open(folder.into()).await.unwrap();
    let found = ask(DATA, Some(Arc::new(embedder))).await.unwrap();
    let first: Vec<(usize, &str)> =
        found.iter().map(|ranking| (ranking.question_index, ranking.ranked[0].as_str())).collect();
    assert_eq!(first, [(0, "D10:1"), (2, "D2:2"), (3, "D10:2")]);
}

#[tokio::test]
async fn n8_what_is_not_the_format_is_said() {
    let error = ask("[{}]", None).await.unwrap_err();
    assert!(matches!(error, BenchError::Data(_)));
    let undated = DATA.replace("8 May, 2024", "some day");
    insta::assert_snapshot!(ask(&undated, None).await.unwrap_err(), @r#"the time of a session cannot be read: "1:56 pm on some day""#);
}
