#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use axum::routing::{get, post};
use hob_http::direct_client;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::serve::serve;

/// A server on this machine, until it is dropped.
async fn served(routes: impl FnOnce(SocketAddr) -> Routes) -> (SocketAddr, tokio_util::sync::DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    tokio::spawn(serve(listener, routes(at), stop.clone()));
    (at, stop.drop_guard())
}

/// What stands by, for whoever is said to lead.
async fn stands_by(leader: LeaderAddress) -> (SocketAddr, tokio_util::sync::DropGuard) {
    served(|at| routes(PageHosts::new(at, None), leader)).await
}

fn client() -> reqwest::Client {
    direct_client(Duration::from_secs(20)).unwrap()
}

/// A name is one thing, the address at which somebody came in another: the one that leads may judge them differently.
#[test]
fn n15_the_address_of_one_daemon_becomes_the_other_ones() {
    let (reached, at): (SocketAddr, SocketAddr) =
        ("[::ffff:10.0.0.6]:8787".parse().unwrap(), "10.0.0.5:80".parse().unwrap());
    let hosts = PageHosts::new("0.0.0.0:8787".parse().unwrap(), None);
    for (host, expected) in [
        ("10.0.0.6:8787", "10.0.0.5:80"),
        ("LocalHost:8787", "localhost"),
        ("10.0.0.7:8787", "10.0.0.7:8787"),
        ("", ""),
    ] {
        let mut request = Request::new(Body::empty());
        request.headers_mut().insert(header::HOST, host.parse().unwrap());
        request.extensions_mut().insert(LocalAddress(reached));
        let asked = as_asked_there(request, &hosts, at);
        assert_eq!(asked.headers()[header::HOST], expected);
        assert!(is_handed_on(asked.headers()));
    }
}

/// What the one that leads is asked: its line, and what of its head matters here.
async fn told(request: Request) -> String {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1_000_000).await.unwrap();
    let header = |name: &str| head.headers.get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
    let said = ["host", "origin", "cookie", "te", "x-hop"].map(header).join(" ");
    format!("{} {} {said} {}", head.method, head.uri, body.len())
}

#[tokio::test]
async fn n15_a_daemon_that_stands_by_hands_on_what_it_is_asked() {
    let (leader, _ends) = served(|_at| Routes::new().fallback(told)).await;
    let (_leads, leads) = watch::channel(Some(leader));
    let (here, _ends) = stands_by(leads).await;
    let port = leader.port();
    let own = here.to_string();
    let url = format!("http://{here}/api/a%20b?c=d");
    let asked = client().put(&url).header("origin", format!("http://{here}")).header("cookie", "visit=1");
    let asked =
        asked.header("te", "trailers").header("connection", "x-hop").header("x-hop", "1").body("x".repeat(70_000));
    let answer = asked.send().await.unwrap().text().await.unwrap();
    assert_eq!(answer, format!("PUT /api/a%20b?c=d localhost:{port} http://localhost:{port} visit=1 - - 70000"));
    // Another's name stays, for the one that leads to judge; so does another's page.
    for (host, origin, expected) in [
        ("evil.example", "http://evil.example".to_owned(), "evil.example http://evil.example".to_owned()),
        (own.as_str(), "https://evil.example".to_owned(), format!("localhost:{port} null")),
        (own.as_str(), format!("http://localhost:{port}"), format!("localhost:{port} null")),
        ("hob.example", format!("http://{here}"), format!("hob.example http://{here}")),
    ] {
        let asked = client().get(format!("http://{here}/")).header("host", host).header("origin", origin);
        let answer = asked.send().await.unwrap().text().await.unwrap();
        assert_eq!(answer, format!("GET / {expected} - - - 0"));
    }
}

#[tokio::test]
async fn n15_an_answer_of_another_daemon_is_handed_on_as_it_grows_and_breaks_off_when_it_leads_no_more() {
    let (say, said) = mpsc::channel::<Result<Bytes, io::Error>>(4);
    let said = Arc::new(Mutex::new(Some(said)));
    let grows = move || async move {
        let mut said = lock(&said).take().unwrap();
        Body::from_stream(stream::poll_fn(move |context| said.poll_recv(context)))
    };
    let (leader, _ends) = served(|_at| Routes::new().route("/events", get(grows))).await;
    let (leads, leader_address) = watch::channel(Some(leader));
    let (here, _ends) = stands_by(leader_address).await;
    let mut answer = client().get(format!("http://{here}/events")).send().await.unwrap();
    for word in ["one", "two"] {
        say.send(Ok(word.into())).await.unwrap();
        assert_eq!(answer.chunk().await.unwrap().unwrap(), word);
    }
    leads.send_replace(None);
    answer.chunk().await.expect_err("half an answer does not look like a whole one");
    let answer = client().get(format!("http://{here}/events")).send().await.unwrap();
    assert_eq!(
        (answer.status(), answer.headers()["retry-after"].as_bytes()),
        (StatusCode::SERVICE_UNAVAILABLE, &b"2"[..])
    );
    // Nobody listens to what grows any more.
    say.closed().await;
}

#[tokio::test]
async fn n15_whoever_cannot_be_asked_is_not_waited_for() {
    let (gone, ends) = served(|_at| Routes::new()).await;
    drop(ends);
    let (silent, _held) = {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        (silent.local_addr().unwrap(), silent)
    };
    let (leads, leader) = watch::channel(Some(silent));
    let (here, _ends) = stands_by(leader).await;
    let asked = tokio::spawn(client().post(format!("http://{here}/")).body("What?").send());
    // It takes the connection and says nothing; then another takes over.
    let (_taken, _from) = _held.accept().await.unwrap();
    leads.send_replace(Some(gone));
    assert_eq!(asked.await.unwrap().unwrap().status(), StatusCode::BAD_GATEWAY, "it may have been done");
    let answer = client().post(format!("http://{here}/")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    // Its address has come to be this one's.
    leads.send_replace(Some(here));
    let answer = client().get(format!("http://{here}/")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn n15_answers_without_a_body_stay_so() {
    let head = || async { ([(header::CONTENT_LENGTH, "5")], "hello") };
    let unchanged = || async { (StatusCode::NOT_MODIFIED, [(header::ETAG, "\"1\"")]) };
    let routes = Routes::new()
        .route("/head", get(head))
        .route("/unchanged", get(unchanged))
        .route("/nothing", post(|| async { StatusCode::NO_CONTENT }));
    let (leader, _ends) = served(|_at| routes).await;
    let (_leads, leads) = watch::channel(Some(leader));
    let (here, _ends) = stands_by(leads).await;
    let answer = client().head(format!("http://{here}/head")).send().await.unwrap();
    assert_eq!(answer.headers()["content-length"], "5");
    for (path, method, expected) in [("unchanged", "GET", 304), ("nothing", "POST", 204), ("nowhere", "GET", 404)] {
        let answer = client().request(method.parse().unwrap(), format!("http://{here}/{path}")).send().await.unwrap();
        assert_eq!(answer.status(), expected, "{path}");
        assert_eq!(answer.text().await.unwrap(), "");
    }
}
