//! `hob bench recall` as a process, over a conversation of the tests' own.

use std::process::Output;

use hob_testkit::process::{hob_command, within};
use serde_json::{Value, json};

const DATA: &str = r#"[{
    "sample_id": "house",
    "conversation": {
        "speaker_a": "Anna", "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2024",
        "session_1": [
            {"speaker": "Anna", "dia_id": "D1:1", "text": "Where shall we eat?"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "At the Greek place by the river."},
            {"speaker": "Anna", "dia_id": "D1:3", "text": "Good."}
        ],
        "session_2_date_time": "9:00 am on 3 June, 2024",
        "session_2": [{"speaker": "Anna", "dia_id": "D2:1", "text": "The boiler man comes at noon."}]
    },
    "qa": [
        {"question": "Which restaurant did Ben want?", "evidence": ["D1:2"], "category": 4},
        {"question": "Who wrote it?", "category": 5},
        {"question": "When does the boiler man come?", "evidence": ["D2:1"], "category": 2}
    ]
}]"#;

/// Runs the command with this under `[memory.embedding]`.
async fn bench(embedding: &str) -> (Output, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.toml"), format!("[memory.embedding]\n{embedding}\n")).unwrap();
    std::fs::write(home.path().join("data.json"), DATA).unwrap();
    let mut command = hob_command(home.path(), &["bench", "recall", "data.json"]);
    command.env("TMPDIR", home.path());
    (within("end of the benchmark", command.output()).await.unwrap(), home)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn n8_the_benchmark_goes_by_the_configs_embedding() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/embedding-model");
    let (output, home) = bench(&format!("path = '{folder}'")).await;
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first: Vec<(&Value, &Value)> = lines.iter().map(|line| (&line["question_index"], &line["ranked"][0])).collect();
    assert_eq!(first, [(&json!(0), &json!("D1:2")), (&json!(2), &json!("D2:1"))]);
    assert!(lines.iter().all(|line| line["sample_id"] == "house"), "{lines:?}");
    let told = text(&output.stderr);
    for part in
        ["by words and meaning", "house: ", "2 questions", "embedding a question: p50", "all else of recall: p50"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let left = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<String> = left.map(|name| name.into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["config.toml", "data.json"], "the databases are gone");
}

#[tokio::test]
async fn n8_the_benchmark_says_where_it_goes_by_words_alone() {
    for (embedding, word) in [("kind = 'none'", "no embedding is configured"), ("", "keeps it from being fetched")] {
        let (output, _home) = bench(embedding).await;
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output.stderr).contains(&"by words alone: ".to_owned()), "{output:?}");
        assert!(text(&output.stderr).contains(word), "{output:?}");
        assert!(text(&output.stdout).ends_with("\"ranked\":[\"D2:1\"]}\n"), "{output:?}");
    }
}
