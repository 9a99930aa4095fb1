//! Against a server on loopback: whole files, parts, and what servers do wrong.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use super::{ModelFile, Progress, fetch, is_there};
use crate::embedding::error::EmbedError;
use hob_core::domain::text::hex;

const SMALL: &[u8] = b"{}";

fn large() -> Vec<u8> {
    (0..300_000_u32).map(|at| (at * 7 % 251) as u8).collect()
}

/// How the server treats the large file.
#[derive(Clone, Copy, PartialEq)]
enum ServerBehaviour {
    /// As it should.
    Well,
    /// Sends half of it, the first time.
    Breaks,
    /// Knows nothing of parts.
    Whole,
    /// Sends on to another address.
    Elsewhere,
    /// Sends on for ever.
    Circle,
    /// Has another file of this length.
    Other,
    /// Has a longer file.
    Longer,
    /// Has none.
    Missing,
    /// Is unwell, the first time.
    Unwell,
}

struct FakeServer {
    manner: ServerBehaviour,
    /// The file and the range of each request.
    asked: Vec<String>,
}

type Shared = Arc<Mutex<FakeServer>>;

async fn serve(State(server): State<Shared>, UrlPath(name): UrlPath<String>, headers: HeaderMap) -> Response<Body> {
    let mut server = server.lock().unwrap();
    let range = headers.get("range").map_or("", |range| range.to_str().unwrap());
    server.asked.push(format!("{name} {range}").trim().to_owned());
    let first = server.asked.iter().filter(|asked| asked.starts_with("large")).count() == 1;
    let plain = |status: u16| Response::builder().status(status).body(Body::empty()).unwrap();
    let to = |place: &str| Response::builder().status(302).header("location", place).body(Body::empty()).unwrap();
    if name == "small" {
        return Response::new(Body::from(SMALL));
    }
    let mut bytes = large();
    match server.manner {
        ServerBehaviour::Breaks if first => {
            let half = Ok::<_, std::io::Error>(bytes[..150_000].to_vec());
            return Response::new(Body::from_stream(futures::stream::iter([half])));
        }
        ServerBehaviour::Whole => return Response::new(Body::from(bytes)),
        ServerBehaviour::Elsewhere if name == "large" => return to("/files/large-elsewhere"),
        ServerBehaviour::Circle => return to("/files/large"),
        ServerBehaviour::Other => bytes[299_999] ^= 1,
        ServerBehaviour::Longer => bytes.push(1),
        ServerBehaviour::Missing => return plain(404),
        ServerBehaviour::Unwell if first => return plain(503),
        ServerBehaviour::Well | ServerBehaviour::Breaks | ServerBehaviour::Elsewhere | ServerBehaviour::Unwell => {}
    }
    let Some(from) = range.strip_prefix("bytes=").and_then(|range| range.strip_suffix('-')) else {
        return Response::new(Body::from(bytes));
    };
    let from: usize = from.parse().unwrap();
    let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
    Response::builder().status(206).header("content-range", range).body(Body::from(bytes.split_off(from))).unwrap()
}

async fn server(manner: ServerBehaviour) -> (Shared, String) {
    let server = Arc::new(Mutex::new(FakeServer { manner, asked: Vec::new() }));
    let app = Router::new().route("/files/{name}", get(serve)).with_state(Arc::clone(&server));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/files/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (server, base_url)
}

fn sum(bytes: &[u8]) -> &'static str {
    let sum = hex(&Sha256::digest(bytes));
    sum.leak()
}

fn wanted() -> [ModelFile; 2] {
    let small = ModelFile { name: "small", bytes: 2, sha256: sum(SMALL) };
    [small, ModelFile { name: "large", bytes: 300_000, sha256: sum(&large()) }]
}

/// Fetches both files; gives the progress told.
async fn fetched(base_url: &str, folder: &Path) -> Result<Vec<Progress>, EmbedError> {
    let told = Mutex::new(Vec::new());
    fetch(base_url, &wanted(), folder, &|progress| told.lock().unwrap().push(progress)).await?;
    Ok(told.into_inner().unwrap())
}

fn files(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.collect();
    files.sort();
    files
}

#[tokio::test]
async fn e5_the_files_are_fetched_once() {
    let (server, base_url) = server(ServerBehaviour::Well).await;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("models/minilm");
    assert!(!is_there(&folder, &wanted()).await);
    let told = fetched(&base_url, &folder).await.unwrap();
    assert!(told.is_sorted_by(|one, next| one.name != next.name || one.done < next.done));
    assert_eq!(told[0], Progress { name: "small", done: 2, bytes: 2 });
    assert_eq!(told.last(), Some(&Progress { name: "large", done: 300_000, bytes: 300_000 }));
    assert_eq!(files(&folder), ["large", "small"]);
    assert_eq!(std::fs::read(folder.join("large")).unwrap(), large());
    assert!(is_there(&folder, &wanted()).await);
    fetched(&base_url, &folder).await.unwrap();
    assert_eq!(server.lock().unwrap().asked, ["small", "large"]);
}

#[tokio::test]
async fn e5_a_download_goes_on_where_it_broke_off() {
    let (server, base_url) = server(ServerBehaviour::Breaks).await;
    let home = tempfile::tempdir().unwrap();
    fetched(&base_url, home.path()).await.unwrap();
    assert_eq!(std::fs::read(home.path().join("large")).unwrap(), large());
    let asked = server.lock().unwrap().asked.clone();
    assert_eq!(asked.len(), 3);
    assert!(asked[2].starts_with("large bytes="), "{asked:?}");
}

#[tokio::test]
async fn e5_what_an_earlier_process_left_is_taken_up() {
    for manner in [ServerBehaviour::Well, ServerBehaviour::Whole] {
        let (server, base_url) = server(manner).await;
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("large.part"), &large()[..100_000]).unwrap();
        let progress = fetched(&base_url, home.path()).await.unwrap();
        assert_eq!(std::fs::read(home.path().join("large")).unwrap(), large());
        assert_eq!(server.lock().unwrap().asked, ["small", "large bytes=100000-"]);
        let first = progress.iter().find(|progress| progress.name == "large").unwrap();
        assert!(manner == ServerBehaviour::Whole || first.done > 100_000, "{first:?}");
    }
}

#[tokio::test]
async fn e5_a_part_that_is_whole_is_only_checked() {
    let (server, base_url) = server(ServerBehaviour::Well).await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("large.part"), large()).unwrap();
    fetched(&base_url, home.path()).await.unwrap();
    assert_eq!(server.lock().unwrap().asked, ["small"]);
    assert_eq!(files(home.path()), ["large", "small"]);
}

#[tokio::test]
async fn e5_a_server_may_be_unwell_or_send_on() {
    for manner in [ServerBehaviour::Unwell, ServerBehaviour::Elsewhere] {
        let (_server, base_url) = server(manner).await;
        let home = tempfile::tempdir().unwrap();
        fetched(&base_url, home.path()).await.unwrap();
        assert_eq!(std::fs::read(home.path().join("large")).unwrap(), large());
    }
}

#[tokio::test]
async fn e5_what_is_not_the_file_is_thrown_away() {
    let mut said = Vec::new();
    for manner in [ServerBehaviour::Other, ServerBehaviour::Longer, ServerBehaviour::Missing, ServerBehaviour::Circle] {
        let (_server, base_url) = server(manner).await;
        let home = tempfile::tempdir().unwrap();
        let error = fetched(&base_url, home.path()).await.unwrap_err();
        assert!(!error.is_transient());
        said.push(error.to_string().replace(&base_url, "BASE/"));
        let left = files(home.path());
        assert!(left == ["small"] || left == ["large.part", "small"], "{left:?}");
        assert!(!is_there(home.path(), &wanted()).await);
    }
    let home = tempfile::tempdir().unwrap();
    said.push(fetched("nowhere", home.path()).await.unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @r#"
    What BASE/large gives is not the embedding model's file: its checksum is another.
    What BASE/large gives is not the embedding model's file: it is longer than it should be.
    There is no embedding model at BASE/large (404 Not Found).
    BASE/large sends on and on.
    "nowhere" is not an address that an embedding model can be fetched from.
    "#);
}
