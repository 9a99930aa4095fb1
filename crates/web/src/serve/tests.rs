#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// A server on this machine; what it says of a body is its length, or that it did not come.
struct TestServer {
    at: SocketAddr,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    /// Bodies that were begun.
    begun: Arc<AtomicUsize>,
}

impl TestServer {
    async fn start(bounds: ConnectionLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, begun) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&begun);
        let read = move |body: Body| async move {
            seen.fetch_add(1, Ordering::SeqCst);
            match axum::body::to_bytes(body, 1_000).await {
                Ok(body) => body.len().to_string(),
                Err(_) => "it did not come".to_owned(),
            }
        };
        let reached =
            |request: Request| async move { request.extensions().get::<LocalAddress>().unwrap().0.to_string() };
        let routes = Routes::new().route("/hello", get(reached)).route("/body", post(read));
        let task = tokio::spawn(serve_within(bounds, listener, routes, stop.clone()));
        Self { at, stop, task, begun }
    }

    /// A connection on which this was said.
    async fn says(&self, words: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        stream
    }
}

/// All that comes until the server hangs up.
async fn to_its_end(mut stream: TcpStream) -> String {
    let mut all = Vec::new();
    // A server that hangs up on what it has not read resets the connection.
    match stream.read_to_end(&mut all).await {
        Ok(_) | Err(_) => String::from_utf8_lossy(&all).into_owned(),
    }
}

const ASKS: &str = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn n8_who_does_not_say_what_they_want_is_hung_up_on() {
    let app = TestServer::start(ConnectionLimits::default()).await;
    for words in ["", "GET /hel", "GET /hello HTTP/1.1\r\nHost: x\r\n"] {
        let answer = to_its_end(app.says(words).await).await;
        assert!(!answer.starts_with("HTTP/1.1 200"), "{words:?}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_coming_is_not_waited_for() {
    let app = TestServer::start(ConnectionLimits::default()).await;
    let head = "POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n";
    let answer = to_its_end(app.says(&format!("{head}abc")).await).await;
    assert!(answer.ends_with("it did not come"), "{answer}");
    assert_eq!(app.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn n8_a_whole_request_is_answered_and_knows_where_it_came_in() {
    let app = TestServer::start(ConnectionLimits::default()).await;
    assert!(to_its_end(app.says(ASKS).await).await.ends_with(&app.at.to_string()));
    let body = "POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc";
    assert!(to_its_end(app.says(body).await).await.ends_with("\r\n\r\n3"));
    let silent = app.says("").await;
    app.stop.cancel();
    assert_eq!(to_its_end(silent).await, "", "who says nothing holds up no stop");
    app.task.await.unwrap();
}

#[tokio::test]
async fn who_takes_all_seats_gives_them_up_to_others() {
    let app = TestServer::start(ConnectionLimits { local: 2, ..ConnectionLimits::default() }).await;
    let held = [app.says("GET /hel").await, app.says("GET /hel").await];
    assert!(to_its_end(app.says(ASKS).await).await.starts_with("HTTP/1.1 200"));
    let [first, _second] = held;
    assert_eq!(to_its_end(first).await, "", "who came first and said nothing is hung up on");
}

#[test]
fn seats_are_few_for_an_address_and_some_for_all() {
    let bounds = ConnectionLimits { per_address: 2, remote: 5, local: 1, ..ConnectionLimits::default() };
    let seats = Arc::new(ConnectionSlots::new(bounds));
    let take = |address: &str| seats.acquire(address.parse().unwrap());
    let mut held = Vec::new();
    for (number, (address, is_free)) in (0..).zip([
        ("9.9.9.9", true),
        ("::ffff:9.9.9.9", true),
        ("9.9.9.9", false),
        ("2606:4700::1", true),
        ("2606:4700::2:3", true),
        ("2606:4700::9", false),
        ("2606:4700:0:1::9", true),
        ("8.8.8.8", false),
        ("127.0.0.1", true),
        ("::1", false),
    ]) {
        let seat = take(address);
        assert_eq!(seat.is_some(), is_free, "{address}");
        // Whoever has shown who they are keeps their seat.
        held.extend(seat.inspect(|seat| seat.held.proven.is(ProvenIdentity::Visit(number))));
    }
    drop(held.remove(0));
    assert!(take("8.8.8.8").is_some());
    drop(held);
    assert!(seats.taken.lock().unwrap().is_empty());
}

#[test]
fn a_few_addresses_that_hold_all_seats_keep_nobody_out() {
    let seats = Arc::new(ConnectionSlots::new(ConnectionLimits::default()));
    let take = |address: &str| seats.acquire(address.parse().unwrap());
    let crowd: Vec<ConnectionSlot> =
        ["9.9.9.1", "9.9.9.2", "9.9.9.3"].iter().flat_map(|address| (0..64).map(|_| take(address).unwrap())).collect();
    let lives_here = take("8.8.8.8").unwrap();
    assert!(crowd[0].held.lost.is_cancelled() && !crowd[1].held.lost.is_cancelled());
    // Those who have most give up first, again and again: it can be shown in peace who one is.
    let more: Vec<ConnectionSlot> = (0..300).map(|number| take(&format!("9.9.9.{}", number % 3)).unwrap()).collect();
    assert!(!lives_here.held.lost.is_cancelled());
    lives_here.held.proven.is(ProvenIdentity::Visit(1));
    drop((crowd, more));
    assert_eq!(seats.taken.lock().unwrap().len(), 1);
}

#[test]
fn who_has_shown_who_they_are_keeps_nobody_out_either() {
    let bounds =
        ConnectionLimits { per_address: 6, remote: 12, local: 6, per_person: 2, ..ConnectionLimits::default() };
    for (crowded, newcomer) in [
        (vec!["127.0.0.1"; 6], "127.0.0.1"),
        (vec!["9.9.9.1"; 6], "9.9.9.1"),
        ([["9.9.9.1"; 6], ["9.9.9.2"; 6]].concat(), "8.8.8.8"),
    ] {
        let seats = Arc::new(ConnectionSlots::new(bounds));
        let take = |address: &str| seats.acquire(address.parse().unwrap());
        let viewer: Vec<ConnectionSlot> = crowded.iter().map(|address| take(address).unwrap()).collect();
        viewer.iter().for_each(|seat| seat.held.proven.is(ProvenIdentity::Key(1)));
        let owner = take(newcomer).unwrap();
        owner.held.proven.is(ProvenIdentity::Visit(1));
        // Whatever the key's holder opens after that, known or not, costs them their own.
        let more: Vec<ConnectionSlot> = (0..20)
            .map(|number| {
                let seat = take(newcomer).unwrap();
                seat.held.proven.is(if number % 2 == 0 {
                    ProvenIdentity::Key(1)
                } else {
                    ProvenIdentity::Webhook("x".to_owned())
                });
                seat
            })
            .collect();
        assert!(!owner.held.lost.is_cancelled(), "{crowded:?}");
        let kept = viewer.iter().filter(|seat| !seat.held.lost.is_cancelled()).count();
        assert!(kept >= 2, "a person keeps their share: {crowded:?}");
        drop(more);
    }
}
