//! With the real weights of all-MiniLM-L6-v2, which `scripts/embedding-model` puts into `target/`.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::embedding::local::{FILES, LocalEmbedder};
use crate::embedding::{EmbeddedText, Embedder};

fn folder() -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/embedding-model"));
    assert!(folder.join("installed").exists(), "run scripts/embedding-model once");
    folder
}

async fn minilm() -> LocalEmbedder {
    LocalEmbedder::open(folder()).await.unwrap()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What a forward pass in 64 bits makes of these texts: six numbers, the last one, and the sum of all magnitudes.
const REFERENCE: [(&str, [f32; 6], f32, f32); 3] = [
    (
        "The cat sits on the mat.",
        [0.134_177_09, -0.032_900_33, -0.024_803_73, 0.041_439, -0.036_347_65, 0.041_814_21],
        0.060_121_84,
        15.923_935,
    ),
    (
        "Grüße aus München, 日本 naïve!",
        [0.020_409_42, 0.085_952_96, 0.033_825_98, -0.060_317_59, -0.041_659_97, 0.091_243_83],
        0.000_827_24,
        15.574_65,
    ),
    (
        "",
        [-0.118_838_4, 0.048_298_72, -0.002_548_11, -0.011_011_17, 0.051_950_77, 0.010_291_75],
        -0.015_717_28,
        13.942_969,
    ),
];

#[tokio::test]
async fn e5_the_vectors_are_the_references() {
    let embedder = minilm().await;
    let texts = owned(&REFERENCE.map(|(text, ..)| text));
    let vectors = embedder.embed(&texts).await.unwrap();
    for ((text, first, last, sum), vector) in REFERENCE.iter().zip(&vectors) {
        assert_eq!(vector.len(), embedder.model().dimensions);
        for (value, expected) in vector.iter().zip(first).chain([(&vector[383], last)]) {
            assert!((value - expected).abs() < 1e-5, "{text}: {value} where {expected} is right");
        }
        let found: f32 = vector.iter().map(|value| value.abs()).sum();
        assert!((found - sum).abs() < 1e-3, "{text}: {found} {sum}");
    }
}

#[tokio::test]
async fn e5_a_batch_changes_nothing_and_keeps_its_order() {
    let embedder = minilm().await;
    let long = "word ".repeat(400);
    let texts = owned(&["one", "a somewhat longer second text", &long, "two", "3", "4", "5", "6", "7", "8"]);
    let together = embedder.embed(&texts).await.unwrap();
    for (text, vector) in texts.iter().zip(&together) {
        let alone = &embedder.embed(std::slice::from_ref(text)).await.unwrap()[0];
        assert!(cosine(alone, vector) > 0.999_999, "{text}");
    }
    // The reference saw the first 256 pieces of it.
    assert!((together[2][0] + 0.008_123_66).abs() < 1e-5, "{}", together[2][0]);
    assert!(embedder.embed(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn e5_tokens_say_where_they_stand() {
    let embedder = minilm().await;
    let text = "Anna möchte unbelievably good coffee".to_owned();
    let [EmbeddedText { vector, tokens }] =
        embedder.embed_tokens(std::slice::from_ref(&text)).await.unwrap().unwrap().try_into().unwrap();
    assert_eq!(vector, embedder.embed(std::slice::from_ref(&text)).await.unwrap()[0]);
    let words: Vec<&str> = tokens.iter().map(|token| &text[token.range.clone()]).collect();
    insta::assert_debug_snapshot!(words, @r#"
    [
        "Anna",
        "mö",
        "cht",
        "e",
        "un",
        "bel",
        "ie",
        "va",
        "bly",
        "good",
        "coffee",
    ]
    "#);
    assert!(tokens.iter().all(|token| (cosine(&token.vector, &token.vector) - 1.0).abs() < 1e-5));
}

#[tokio::test]
async fn e5_one_model_is_told_from_another() {
    let again = minilm().await.model().clone();
    assert_eq!(minilm().await.model(), &again);
    let home = copy();
    let config = home.path().join("config.json");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("\"4.8.2\"", "\"4.8.3\"")).unwrap();
    let other = LocalEmbedder::open(home.path().to_owned()).await.unwrap();
    assert_ne!(other.model().digest, again.digest);
}

/// A folder with the model's files, the weights by a link.
fn copy() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    for name in FILES {
        let from = folder().join(name);
        if name == "model.safetensors" {
            std::os::unix::fs::symlink(from, home.path().join(name)).unwrap();
        } else {
            std::fs::copy(from, home.path().join(name)).unwrap();
        }
    }
    home
}

async fn complaint(change: impl FnOnce(&std::path::Path)) -> String {
    let home = copy();
    change(home.path());
    let error = LocalEmbedder::open(home.path().to_owned()).await.err().expect("it is broken");
    assert!(!error.is_transient());
    error.to_string().replace(&home.path().display().to_string(), "MODEL")
}

fn in_config(from: &'static str, to: &'static str) -> impl FnOnce(&std::path::Path) {
    move |home| {
        let config = home.join("config.json");
        let text = std::fs::read_to_string(&config).unwrap();
        assert!(text.contains(from));
        std::fs::write(config, text.replace(from, to)).unwrap();
    }
}

#[tokio::test]
async fn e5_what_cannot_be_used_is_said() {
    let mut said = vec![
        complaint(|home| std::fs::remove_file(home.join("tokenizer.json")).unwrap()).await,
        complaint(in_config("\"bert\"", "\"llama\"")).await,
        complaint(in_config("\"gelu\"", "\"relu\"")).await,
        complaint(in_config("\"num_attention_heads\": 12", "\"num_attention_heads\": 7")).await,
        complaint(in_config("\"num_attention_heads\": 12", "\"num_attention_heads\": 0")).await,
        complaint(in_config("\"vocab_size\": 30522", "\"vocab_size\": 30521")).await,
        complaint(in_config("\"num_hidden_layers\": 6", "\"num_hidden_layers\": 7")).await,
    ];
    for weights in [&b"short"[..], &u64::MAX.to_le_bytes(), b"\x02\0\0\0\0\0\0\0{}", b"\x02\0\0\0\0\0\0\0[]"] {
        let change = |home: &std::path::Path| {
            let path = home.join("model.safetensors");
            std::fs::remove_file(&path).unwrap();
            std::fs::write(path, weights).unwrap();
        };
        said.push(complaint(change).await);
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    The embedding model's file MODEL/tokenizer.json cannot be used: No such file or directory (os error 2). Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/config.json cannot be used: it is of the type "llama"; Hob runs models of the type "bert". Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/config.json cannot be used: its activation is "relu"; Hob knows "gelu". Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/config.json cannot be used: its hidden_size is not a multiple of num_attention_heads. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/config.json cannot be used: one of its sizes is 0 or more than 1048576. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/model.safetensors cannot be used: embeddings.word_embeddings.weight is F32 [30522, 384] where F32 [30521, 384] is needed. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/model.safetensors cannot be used: it has no encoder.layer.6.attention.self.query.weight. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/model.safetensors cannot be used: its end is missing. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/model.safetensors cannot be used: its header would have 18446744073709551615 bytes: it is not a file of safetensors. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/model.safetensors cannot be used: it has no embeddings.position_embeddings.weight. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    The embedding model's file MODEL/model.safetensors cannot be used: invalid type: sequence, expected a map at line 1 column 0. Put the model's files there, or leave `path` under [memory.embedding] out: then Hob fetches its own.
    "#);
}
