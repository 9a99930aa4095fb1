//! Against a server on loopback that answers as it is told.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::{OpenAiEmbedder, RemoteModel};
use crate::embedding::account::Account;
use crate::embedding::error::EmbedError;
use crate::embedding::{Bill, Embedder};
use hob_config::Config;
use hob_core::domain::clock::SystemClock;
use hob_core::domain::ids::UserId;
use hob_core::domain::money::Money;
use hob_core::domain::secret::Secret;
use hob_core::policy::budget::{Budget, CapsByPeriod, PeriodCaps};
use hob_model::budget_guard::BudgetGuard;
use hob_model::model_table::ModelTable;
use hob_store::{SchedulingMode, Store, spend};

/// What was asked, and what is answered, in order; then vectors that begin with the text's length.
#[derive(Default)]
struct Script {
    answers: Vec<(u16, &'static str)>,
    asked: Vec<Value>,
    keys: Vec<String>,
}

type Shared = Arc<Mutex<Script>>;

async fn answer(State(script): State<Shared>, headers: HeaderMap, body: String) -> (StatusCode, HeaderMap, String) {
    let mut script = script.lock().unwrap();
    let request: Value = serde_json::from_str(&body).unwrap();
    let key = headers.get("authorization").map_or("none", |key| key.to_str().unwrap());
    script.keys.push(key.to_owned());
    script.asked.push(request.clone());
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    headers.insert("retry-after", "7".parse().unwrap());
    if !script.answers.is_empty() {
        let (status, body) = script.answers.remove(0);
        return (StatusCode::from_u16(status).unwrap(), headers, body.to_owned());
    }
    // As the API allows, not in the order of the texts.
    let texts = request["input"].as_array().unwrap();
    let vectors = texts.iter().enumerate().rev().map(|(index, text)| {
        let length = text.as_str().unwrap().len();
        format!(r#"{{"object":"embedding","index":{index},"embedding":[{length},4,0]}}"#)
    });
    let data = vectors.collect::<Vec<_>>().join(",");
    (StatusCode::OK, headers, format!(r#"{{"object":"list","data":[{data}],"model":"m","usage":{{}}}}"#))
}

async fn server() -> (Shared, String) {
    let script = Shared::default();
    let app = Router::new().route("/v1/embeddings", post(answer)).with_state(Arc::clone(&script));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (script, base_url)
}

fn remote(base_url: &str) -> RemoteModel {
    let api_key = Some(Secret::new("sk-test".to_owned()));
    RemoteModel { vendor: "embedding", base_url: base_url.to_owned(), api_key, model: "m".to_owned(), dimensions: None }
}

#[tokio::test]
async fn e5_vectors_come_in_the_order_of_the_texts_and_in_batches() {
    let (script, base_url) = server().await;
    let embedder = OpenAiEmbedder::open(remote(&base_url), None).await.unwrap();
    assert_eq!((embedder.model().name.as_str(), embedder.model().dimensions), ("m", 3));
    let texts: Vec<String> = (1..=33).map(|length| "x".repeat(length)).collect();
    let vectors = embedder.embed(&texts).await.unwrap();
    for (index, vector) in vectors.iter().enumerate() {
        let length = (index + 1) as f32;
        let scale = (length * length + 16.0).sqrt();
        assert!((vector[0] - length / scale).abs() < 1e-6 && (vector[1] - 4.0 / scale).abs() < 1e-6, "{index}");
    }
    assert_eq!(vectors.len(), 33);
    assert_eq!(embedder.embed_tokens(&texts).await.unwrap(), None);
    let script = script.lock().unwrap();
    let sizes: Vec<usize> = script.asked.iter().map(|asked| asked["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [1, 32, 1]);
    assert!(script.keys.iter().all(|key| key == "Bearer sk-test"));
    assert!(script.asked[0].get("dimensions").is_none());
}

#[tokio::test]
async fn e5_a_text_is_cut_to_what_a_server_takes() {
    let (script, base_url) = server().await;
    let dimensions = Some(3);
    let embedder = OpenAiEmbedder::open(RemoteModel { dimensions, ..remote(&base_url) }, None).await.unwrap();
    embedder.embed(&["ä".repeat(10_000)]).await.unwrap();
    let script = script.lock().unwrap();
    assert_eq!(script.asked[1]["input"][0].as_str().unwrap().len(), 16 * 1024);
    assert_eq!(script.asked[1]["dimensions"], 3);
}

#[tokio::test]
async fn e5_a_model_is_told_by_address_name_and_length() {
    let (script, base_url) = server().await;
    let digest = async |remote| OpenAiEmbedder::open(remote, None).await.unwrap().model().digest.clone();
    let one = digest(remote(&base_url)).await;
    assert_eq!(one, digest(remote(&format!("{base_url}/"))).await);
    assert_ne!(one, digest(RemoteModel { model: "n".to_owned(), ..remote(&base_url) }).await);
    script.lock().unwrap().answers.push((200, r#"{"data":[{"index":0,"embedding":[1,2]}]}"#));
    assert_ne!(one, digest(remote(&base_url)).await);
}

#[tokio::test]
async fn e5_a_failure_is_a_decision() {
    let (script, base_url) = server().await;
    let embedder = OpenAiEmbedder::open(remote(&base_url), None).await.unwrap();
    let answers = [
        (429, r#"{"error":{"message":"slow down"}}"#),
        (503, "{}"),
        (401, r#"{"error":{"message":"bad key sk-test"}}"#),
        (404, r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#),
        (400, r#"{"error":{"message":"bad dimensions"}}"#),
        (200, "<html>"),
        (200, r#"{"data":[{"index":0,"embedding":[1,2,3]}]}"#),
        (200, r#"{"data":[{"index":0,"embedding":[1,2,3]},{"index":0,"embedding":[1,2,3]}]}"#),
        (200, r#"{"data":[{"index":0,"embedding":[1,2,3]},{"index":2,"embedding":[1,2,3]}]}"#),
        (200, r#"{"data":[{"index":0,"embedding":[1,2,3]},{"index":1,"embedding":[1,2]}]}"#),
        (200, r#"{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2]}]}"#),
        (200, r#"{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}"#),
        (200, r#"{"data":[{"index":0,"embedding":[0,0,0]},{"index":1,"embedding":[1,2,3]}]}"#),
        (200, r#"{"data":[{"index":0,"embedding":[1e39,0,0]},{"index":1,"embedding":[1,2,3]}]}"#),
    ];
    let mut said = Vec::new();
    for answer in answers {
        script.lock().unwrap().answers.push(answer);
        let error = embedder.embed(&["a".to_owned(), "b".to_owned()]).await.unwrap_err();
        said.push(match error {
            EmbedError::Transient { what, retry_after } => format!("transient {retry_after:?}: {what}"),
            EmbedError::Setup(what) => format!("setup: {what}"),
            EmbedError::Refused(what) => format!("refused: {what}"),
            EmbedError::Malformed(what) => format!("malformed: {what}"),
        });
    }
    let asked = script.lock().unwrap().asked.len();
    said.push(embedder.embed(&["a".to_owned(), " ".to_owned()]).await.unwrap_err().to_string());
    assert_eq!(script.lock().unwrap().asked.len(), asked);
    insta::assert_snapshot!(said.join("\n"), @"
    transient Some(7s): The embedding server does not answer (rate limit): it is tried again by itself.
    transient Some(7s): The embedding server does not answer (overloaded): it is tried again by itself.
    setup: The embedding server refuses (no access): check `api_key` and `model` under [memory.embedding] in config.toml.
    setup: The embedding server refuses (unknown model): check `api_key` and `model` under [memory.embedding] in config.toml.
    refused: The embedding server does not take this (bad request): if it never does, check `base_url` and `dimensions` under [memory.embedding] in config.toml.
    malformed: What answers is not an embedding server: check `base_url` under [memory.embedding] in config.toml.
    malformed: The embedding server gave 1 vectors for 2 texts.
    malformed: The embedding server gave a vector with the index 0 twice or beyond the texts.
    malformed: The embedding server gave a vector with the index 2 twice or beyond the texts.
    malformed: The embedding server gave a vector of 2 numbers where 3 are right.
    malformed: The embedding server gave vectors of 2 numbers where it gave 3 before.
    malformed: The embedding server gave a vector of 0 numbers where 0 are right.
    malformed: The embedding server gave a vector that points nowhere.
    malformed: What answers is not an embedding server: check `base_url` under [memory.embedding] in config.toml.
    A text without words has no vector.
    ");
}

#[tokio::test]
async fn e5_an_address_that_is_none_is_said() {
    let error = OpenAiEmbedder::open(remote("ftp://x"), None).await.err().unwrap();
    assert!(matches!(error, EmbedError::Setup(_)));
    insta::assert_snapshot!(error, @"The embedding server does not take this (bad request): if it never does, check `base_url` and `dimensions` under [memory.embedding] in config.toml.");
}

const PRICED: &str = "[models.'embedding/m']\ninput_usd = 1000\noutput_usd = 0";

/// A house with an owner, who pays within a cap for the hour.
async fn house(prices: &str, cap: f64) -> (tempfile::TempDir, Account) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
    let mut raw = Store::raw(&dir.path().join("hob.db")).await.unwrap();
    let owner = "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'owner', 0)";
    sqlx::query(owner).execute(&mut raw).await.unwrap();
    let config: Config = toml::from_str(prices).unwrap();
    let hour = PeriodCaps { usd: Some(Money::from_usd(cap)), tokens: None };
    let budget = Budget { house: CapsByPeriod { hour, ..CapsByPeriod::default() }, ..Budget::default() };
    let budget_guard = Arc::new(BudgetGuard { budget, zone: TimeZone::UTC });
    (
        dir,
        Account {
            store,
            table: Arc::new(ModelTable::new(&config.models).unwrap()),
            budget_guard,
            clock: Arc::new(SystemClock),
        },
    )
}

async fn rows(dir: &tempfile::TempDir) -> Vec<(String, i64, i64, Option<i64>)> {
    let mut raw = Store::raw(&dir.path().join("hob.db")).await.unwrap();
    let rows = "SELECT state, input_tokens, reserved, cost FROM memory_calls WHERE purpose = 'embedding' ORDER BY id";
    sqlx::query_as(rows).fetch_all(&mut raw).await.unwrap()
}

#[tokio::test]
async fn n10_vectors_from_a_server_are_set_aside_before_it_is_asked_and_billed_by_what_it_read() {
    let (script, base_url) = server().await;
    let (dir, account) = house(PRICED, 1.0).await;
    let embedder = OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
    let body = r#"{"data":[{"index":0,"embedding":[1,2,3]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
    script.lock().unwrap().answers.push((200, body));
    embedder.embed(&["Where is the spare key?".to_owned()]).await.unwrap();
    script.lock().unwrap().answers.push((500, "{}"));
    embedder.embed(&["And the other?".to_owned()]).await.unwrap_err();
    // It has read it, whatever it gave for an answer.
    script.lock().unwrap().answers.push((200, "<html>"));
    embedder.embed(&["And the other?".to_owned()]).await.unwrap_err();
    let rows = rows(&dir).await;
    let told: Vec<(&str, i64, Option<i64>)> = rows.iter().map(|row| (row.0.as_str(), row.1, row.3)).collect();
    // A token costs a tenth of a cent: 1,000,000 nano-dollars. The first call asks how long a vector is.
    assert_eq!(
        told,
        [
            ("answered", 1, Some(1_000_000)),
            ("answered", 7, Some(7_000_000)),
            ("failed", 0, None),
            ("lost", 5, Some(5_000_000))
        ]
    );
    assert!(rows.iter().all(|row| row.2 > 0), "each was set aside: {rows:?}");
}

#[tokio::test]
async fn n10_vectors_that_no_budget_allows_are_not_asked_for() {
    let (script, base_url) = server().await;
    let (dir, account) = house(PRICED, 0.01).await;
    let embedder = OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
    let error = embedder.embed(&["one two three four five six seven eight nine ten".to_owned()]).await.unwrap_err();
    assert!(error.is_transient(), "later there is money again");
    assert!(error.to_string().starts_with("The budget of $0.01 for an hour is used up until "), "{error}");
    let rows = rows(&dir).await.len();
    assert_eq!((script.lock().unwrap().asked.len(), rows), (1, 1));
}

#[tokio::test]
async fn n10_what_nobody_in_particular_wants_is_the_houses_own_and_within_its_caps() {
    let (_script, base_url) = server().await;
    let (dir, account) = house(PRICED, 0.01).await;
    let store = account.store.clone();
    // The try at the start, and a skill: 1 and 5 tokens.
    let embedder = OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
    let four = ["one two three four".to_owned()];
    embedder.embed(&four).await.unwrap();
    let told = embedder.embed(&four).await.unwrap_err().to_string();
    assert!(told.starts_with("The budget of $0.01 for an hour is used up"), "{told}");
    let (owner, all, people) = store
        .read(async |tx| {
            let owner = spend::since(tx, 0, Some(UserId(1))).await?;
            Ok((owner, spend::since(tx, 0, None).await?, spend::by_user(tx, 0).await?))
        })
        .await
        .unwrap();
    assert_eq!((owner.calls, owner.cost), (0, 0), "the owner did not ask for it");
    let people: Vec<(&str, i64, i64)> = people.iter().map(|line| (line.name.as_str(), line.calls, line.cost)).collect();
    assert_eq!(people, [("the house", 2, all.cost)]);
    assert_eq!((all.calls, all.cost), (2, 6_000_000));
    assert_eq!(rows(&dir).await.len(), 2);
}

#[tokio::test]
async fn c2_vectors_without_a_known_price_count_by_their_tokens() {
    let (script, base_url) = server().await;
    let (dir, mut account) = house("", 0.01).await;
    let hour = PeriodCaps { usd: None, tokens: Some(12) };
    let budget = Budget { house: CapsByPeriod { hour, ..CapsByPeriod::default() }, ..Budget::default() };
    account.budget_guard = Arc::new(BudgetGuard { budget, zone: TimeZone::UTC });
    let embedder = OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
    embedder.embed(&["Where is the spare key?".to_owned()]).await.unwrap();
    let rows_then = rows(&dir).await;
    assert!(rows_then.iter().all(|row| row.0 == "answered" && row.1 > 0 && row.3.is_none()), "{rows_then:?}");
    let error = embedder.embed(&["one two three four five six seven eight nine ten".to_owned()]).await.unwrap_err();
    assert!(error.to_string().starts_with("The budget of 12 tokens for an hour is used up until "), "{error}");
    let rows = rows(&dir).await.len();
    assert_eq!((script.lock().unwrap().asked.len(), rows), (2, 2));
}

#[tokio::test]
async fn c2_what_is_the_houses_own_waits_for_no_owner() {
    for (prices, cost) in [("", None), (PRICED, Some(1_000_000))] {
        let (_script, base_url) = server().await;
        let (dir, account) = house(prices, 0.01).await;
        let mut raw = Store::raw(&dir.path().join("hob.db")).await.unwrap();
        sqlx::query("UPDATE users SET role = 'user'").execute(&mut raw).await.unwrap();
        OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
        let told: Vec<(String, Option<i64>)> = rows(&dir).await.into_iter().map(|row| (row.0, row.3)).collect();
        assert_eq!(told, [("answered".to_owned(), cost)], "{prices}");
    }
}

#[tokio::test]
async fn c2_vectors_that_cost_nothing_leave_no_row() {
    let (_script, base_url) = server().await;
    let (dir, account) = house(&PRICED.replace("1000", "0"), 0.01).await;
    OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
    assert_eq!(rows(&dir).await, []);
}

#[tokio::test]
async fn n10_a_question_that_nobody_awaits_is_billed_all_the_same() {
    let (_script, base_url) = server().await;
    let (dir, account) = house(PRICED, 1.0).await;
    let embedder = OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
    let texts = ["Where is the spare key?".to_owned()];
    {
        let mut asked = std::pin::pin!(embedder.embed(&texts));
        assert!(futures::poll!(asked.as_mut()).is_pending());
    }
    loop {
        let rows = rows(&dir).await;
        if rows.len() == 2 && rows.iter().all(|row| row.0 == "answered") {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn c2_a_question_is_on_the_bill_of_who_asks_and_what_is_said_stops_at_no_persons_cap() {
    let (_script, base_url) = server().await;
    let (dir, mut account) = house(PRICED, 1.0).await;
    let mut raw = Store::raw(&dir.path().join("hob.db")).await.unwrap();
    let guest = "INSERT INTO users (id, name, role, created_at) VALUES (2, 'Bo', 'guest', 0)";
    sqlx::query(guest).execute(&mut raw).await.unwrap();
    let most = |usd| CapsByPeriod {
        hour: PeriodCaps { usd: Some(Money::from_usd(usd)), tokens: None },
        ..CapsByPeriod::default()
    };
    let budget = Budget { house: most(1.0), person: most(0.012), ..Budget::default() };
    let personas = [("cook".to_owned(), most(0.005))].into();
    account.budget_guard = Arc::new(BudgetGuard { budget: Budget { personas, ..budget }, zone: TimeZone::UTC });
    let embedder = OpenAiEmbedder::open(remote(&base_url), Some(account)).await.unwrap();
    let asked = |persona: Option<&str>| Bill::Asked { user: UserId(2), persona: persona.map(str::to_owned) };
    let (cook, nobody) = (asked(Some("cook")), asked(None));
    // Half a cent, with the margin.
    let four = ["one two three four".to_owned()];
    for (bill, cap) in [(&cook, "an hour as cook"), (&nobody, "one person's hour")] {
        embedder.embed_for(bill, &four).await.unwrap();
        let told = embedder.embed_for(bill, &four).await.unwrap_err().to_string();
        assert!(told.contains(&format!(" for {cap} is used up until ")), "{told}");
    }
    // What Bo said is to be found all the same, and so is what nobody in particular said.
    embedder.embed_for(&Bill::Said(UserId(2)), &four).await.unwrap();
    embedder.embed(&four).await.unwrap();
    let bills = "SELECT coalesce(user_id, 0), coalesce(persona, '') FROM memory_calls ORDER BY id";
    let bills: Vec<(i64, String)> = sqlx::query_as(bills).fetch_all(&mut raw).await.unwrap();
    let expected = [(0, ""), (2, "cook"), (2, ""), (2, ""), (0, "")];
    assert_eq!(bills, expected.map(|(user, persona)| (user, persona.to_owned())));
    let spent = "SELECT user_id, persona, cost FROM spend ORDER BY user_id, persona";
    let spent: Vec<(i64, String, i64)> = sqlx::query_as(spent).fetch_all(&mut raw).await.unwrap();
    let expected = [(0, "", 6_000_000), (2, "", 10_000_000), (2, "cook", 5_000_000)];
    assert_eq!(spent, expected.map(|(user, persona, cost)| (user, persona.to_owned(), cost)));
}
