//! A server of vectors.

use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

/// OpenAI's `/embeddings`, on loopback: every text means the same, and is four tokens. Gives its address.
#[expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
pub async fn embeddings() -> String {
    let answer = async |Json(asked): Json<Value>| {
        let count = asked["input"].as_array().map_or(1, Vec::len);
        let vectors = (0..count).map(|index| json!({ "object": "embedding", "index": index, "embedding": [1, 2, 3] }));
        let usage = json!({ "prompt_tokens": 4 * count, "total_tokens": 4 * count });
        Json(json!({ "object": "list", "model": "m", "data": vectors.collect::<Vec<_>>(), "usage": usage }))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/embeddings", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}/v1")
}
