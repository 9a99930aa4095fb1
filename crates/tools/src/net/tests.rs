//! The guard against real servers on this machine, which a setting opens.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use hob_core::policy::net::machine_networks::MachineNetworks;

/// What a test's server answers to the head of a request: bytes, and whether it then holds the connection open.
type ServerScript = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A server that speaks bytes, so that it can speak badly. It ends with the test.
pub(crate) struct TestServer {
    pub(crate) port: u16,
    /// The heads (and first bytes of bodies) of the requests that it got.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestServer {
    /// Answers by `script`, then closes.
    pub(crate) async fn start(script: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (script, seen): (Arc<ServerScript>, _) = (Arc::new(script), Arc::clone(&heard));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&seen)));
            }
        });
        Self { port, heard, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, script: Arc<ServerScript>, seen: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    let mut piece = [0; 4_096];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(len) => head.extend_from_slice(&piece[..len]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    seen.lock().unwrap().push(head.clone());
    let answer = script(&head);
    // Whoever has enough hangs up.
    if stream.write_all(&answer).await.is_err() {
        return;
    }
    if head.contains("/endless") {
        let piece = vec![b'x'; 64 * 1024];
        while stream.write_all(&piece).await.is_ok() {}
    }
    if head.contains("/slow") {
        std::future::pending::<()>().await;
    }
}

/// An answer.
pub(crate) fn reply(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    if !headers.is_empty() && !headers.ends_with("\r\n") {
        answer = answer.replacen(headers, &format!("{headers}\r\n"), 1);
    }
    [answer.into_bytes(), body.to_vec()].concat()
}

/// A script by path: status, headers, body.
pub(crate) fn pages(pages: &[(&str, u16, &str, &str)]) -> impl Fn(&str) -> Vec<u8> + Send + Sync + 'static {
    let pages: Vec<(String, Vec<u8>)> = pages
        .iter()
        .map(|(path, status, headers, body)| ((*path).to_owned(), reply(*status, headers, body.as_bytes())))
        .collect();
    move |head: &str| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let found = pages.iter().find(|(known, _)| known == path);
        found.map_or_else(|| reply(404, "", b"no such page"), |(_, answer)| answer.clone())
    }
}

/// Answers from a table, each time with the next of a name's answers; the last stays.
#[derive(Default)]
pub(crate) struct FakeResolver(Mutex<BTreeMap<String, Vec<&'static str>>>, Mutex<usize>);

impl FakeResolver {
    pub(crate) fn of(names: &[(&str, &[&'static str])]) -> Arc<Self> {
        let names = names.iter().map(|(name, addresses)| ((*name).to_owned(), addresses.to_vec())).collect();
        Arc::new(Self(Mutex::new(names), Mutex::new(0)))
    }
}

#[async_trait]
impl Resolver for FakeResolver {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        *self.1.lock().unwrap() += 1;
        let mut names = self.0.lock().unwrap();
        let answers = names.get_mut(host).ok_or_else(|| std::io::Error::other("no such name"))?;
        let now = if answers.len() > 1 { answers.remove(0) } else { answers[0] };
        Ok(now.split(' ').filter(|one| !one.is_empty()).map(|one| one.parse().unwrap()).collect())
    }
}

/// A guard that lets through to these places besides, with short limits.
pub(crate) fn guard(allow: &[String], names: Arc<FakeResolver>) -> EgressGuard {
    let places = allow.iter().map(|place| NamedPlace::parse(place).unwrap()).collect();
    let limits = Limits { total: Duration::from_secs(5), ..Limits::default() };
    EgressGuard::new(AllowedPlaces::new(places), names).within(limits)
}

fn opened(server: &TestServer) -> EgressGuard {
    guard(&[format!("127.0.0.1:{}", server.port)], FakeResolver::of(&[]))
}

async fn get(guard: &EgressGuard, url: &str) -> Result<FetchResponse, NetError> {
    guard.send(FetchRequest::get(address(url)?)).await
}

async fn refusal(guard: &EgressGuard, url: &str) -> String {
    get(guard, url).await.unwrap_err().to_string()
}

#[tokio::test]
async fn n6_nothing_of_the_house_is_asked() {
    let server = TestServer::start(|_| reply(200, "", b"secret")).await;
    let port = server.port;
    let names = FakeResolver::of(&[
        ("localhost", &["127.0.0.1"]),
        ("localhost.", &["127.0.0.1 ::1"]),
        ("evil.example", &["127.0.0.1"]),
        ("metadata.google.internal", &["169.254.169.254"]),
        ("void.example", &[""]),
    ]);
    let guard = guard(&[], names);
    let mut told = String::new();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://localhost.:{port}/"),
        format!("http://evil.example:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://metadata.google.internal/computeMetadata/v1/".to_owned(),
        "http://100.100.100.200/".to_owned(),
        "http://void.example/".to_owned(),
        "http://unknown.example/".to_owned(),
        "ftp://example.org/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "https://ada:hunter2@example.org/".to_owned(),
        "example.org".to_owned(),
        format!("https://example.org/{}", "x".repeat(9_000)),
    ] {
        let refused = refusal(&guard, &url).await;
        assert!(!refused.contains("hunter2"), "{refused}");
        told.push_str(&refused);
        told.push('\n');
    }
    assert_eq!(server.heard(), Vec::<String>::new());
    insta::assert_snapshot!(told, @r#"
    127.0.0.1 was not asked: it leads to this machine, which Hob is not allowed to reach.
    127.0.0.1 was not asked: it leads to this machine, which Hob is not allowed to reach.
    127.0.0.1 was not asked: it leads to this machine, which Hob is not allowed to reach.
    [::ffff:7f00:1] was not asked: it leads to this machine, which Hob is not allowed to reach.
    [::1] was not asked: it leads to this machine, which Hob is not allowed to reach.
    localhost was not asked: it leads to this machine, which Hob is not allowed to reach.
    localhost. was not asked: it leads to this machine, which Hob is not allowed to reach.
    evil.example was not asked: it leads to this machine, which Hob is not allowed to reach.
    169.254.169.254 was not asked: it leads to a cloud's metadata service.
    metadata.google.internal was not asked: it leads to a cloud's metadata service.
    100.100.100.200 was not asked: it leads to a cloud's metadata service.
    void.example was not found: it has no address.
    unknown.example was not found: no such name.
    This address cannot be asked: only https:// and http:// are fetched.
    This address cannot be asked: only https:// and http:// are fetched.
    This address cannot be asked: it has a user name or a password in it.
    This address cannot be asked: it must begin with https:// or http://.
    This address cannot be asked: it is too long.
    "#);
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_what_was_checked_is_connected_to() {
    let server = TestServer::start(|_| reply(200, "", b"inside")).await;
    let port = server.port;
    // The second answer would lead inside; it is never asked for. (The first is an address that nobody answers at.)
    let names = FakeResolver::of(&[
        ("rebind.example", &["240.0.0.1", "127.0.0.1"]),
        ("twofold.example", &["127.0.0.1 203.0.113.1"]),
    ]);
    let closed = guard(&[], Arc::clone(&names));
    assert!(matches!(get(&closed, &format!("http://rebind.example:{port}/")).await, Err(NetError::Barred { .. })));
    assert_eq!(*names.1.lock().unwrap(), 1);
    assert!(matches!(get(&closed, &format!("http://rebind.example:{port}/")).await, Err(NetError::Barred { .. })));
    assert!(matches!(get(&closed, &format!("http://twofold.example:{port}/")).await, Err(NetError::Barred { .. })));
    assert_eq!(server.heard().len(), 0);

    // What was checked is what is asked, whatever the name says a moment later.
    let names = FakeResolver::of(&[("nas.home", &["127.0.0.1", "203.0.113.1"])]);
    let guard = guard(&[format!("nas.home:{port}")], Arc::clone(&names));
    let answer = get(&guard, &format!("http://nas.home:{port}/")).await.unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"inside".as_slice()));
    assert_eq!(*names.1.lock().unwrap(), 1);
}

/// A machine on the public network.
struct PublicMachine;

impl NetworkProbe for PublicMachine {
    fn now(&self) -> MachineNetworks {
        let mut near = MachineNetworks::default();
        near.has("81.2.69.7".parse().unwrap(), 24);
        near.has("2001:470:0:1::aa".parse().unwrap(), 64);
        near
    }
}

#[tokio::test]
async fn a_public_address_of_this_machine_or_its_neighbour_is_not_asked() {
    let names = FakeResolver::of(&[("evil.example", &["2001:470:0:1::aa 81.2.69.7 2001:470:0:1::9 81.2.69.9"])]);
    let guard = guard(&[], names).with_local_networks(Arc::new(PublicMachine));
    let mut told = String::new();
    for url in [
        "http://81.2.69.7:8080/",
        "http://[2001:470:0:1::aa]/",
        "http://[2001:470:0:1::9]:631/",
        "http://[64:ff9b::81.2.69.7]/",
        "http://evil.example/",
    ] {
        writeln!(told, "{}", refusal(&guard, url).await).unwrap();
    }
    insta::assert_snapshot!(told, @r"
    81.2.69.7 was not asked: it leads to this machine, which Hob is not allowed to reach.
    [2001:470:0:1::aa] was not asked: it leads to this machine, which Hob is not allowed to reach.
    [2001:470:0:1::9] was not asked: it leads to a network that this machine is in, which Hob is not allowed to reach.
    [64:ff9b::5102:4507] was not asked: it leads to this machine.
    evil.example was not asked: it leads to a network that this machine is in, which Hob is not allowed to reach.
    ");
}

#[tokio::test]
async fn a_range_does_not_open_the_house_to_names() {
    let server = TestServer::start(|_| reply(200, "", b"inside")).await;
    let names = FakeResolver::of(&[("evil.example", &["127.0.0.1"])]);
    let guard = guard(&["127.0.0.0/8".to_owned()], names);
    assert_eq!(get(&guard, &server.url("/")).await.unwrap().body, b"inside");
    let refused = refusal(&guard, &format!("http://evil.example:{}/", server.port)).await;
    assert_eq!(refused, "evil.example was not asked: it leads to this machine, which Hob is not allowed to reach.");
}

#[tokio::test]
async fn n6_each_redirect_is_checked_again() {
    let inner = TestServer::start(|_| reply(200, "", b"inside")).await;
    let (to, port) = (inner.url("/"), inner.port);
    let server = TestServer::start(move |head| {
        let location = match head.split(' ').nth(1).unwrap_or_default() {
            "/in" => to.clone(),
            "/metadata" => "http://169.254.169.254/".to_owned(),
            "/file" => "file:///etc/passwd".to_owned(),
            "/user" => "http://ada:x@example.org/".to_owned(),
            "/loop" => "/loop".to_owned(),
            "/none" => "http://".to_owned(),
            "/1" | "/2" | "/3" | "/4" => "/end".to_owned(),
            _ => return reply(200, "", b"here"),
        };
        reply(302, &format!("Location: {location}\r\nSet-Cookie: a=b\r\n"), b"")
    })
    .await;
    let guard = opened(&server);
    let mut told = String::new();
    for path in ["/in", "/metadata", "/file", "/user", "/loop", "/none"] {
        told.push_str(&refusal(&guard, &server.url(path)).await.replace(&port.to_string(), "PORT"));
        told.push('\n');
    }
    insta::assert_snapshot!(told, @r#"
    127.0.0.1 was not asked: it leads to this machine, which Hob is not allowed to reach.
    169.254.169.254 was not asked: it leads to a cloud's metadata service.
    This address cannot be asked: only https:// and http:// are fetched.
    This address cannot be asked: it has a user name or a password in it.
    The page redirects more than 5 times.
    This address cannot be asked: a redirect leads to what is not an address.
    "#);
    assert_eq!(inner.heard().len(), 0);
    let answer = get(&guard, &server.url("/1")).await.unwrap();
    assert_eq!((answer.url.path(), answer.body.as_slice()), ("/end", b"here".as_slice()));
    let asked = server.heard();
    assert_eq!(asked.iter().filter(|head| head.starts_with("GET /loop")).count(), Limits::default().redirects_max + 1);
    assert!(asked.iter().all(|head| !head.to_lowercase().contains("cookie")), "no cookie goes back");
}

#[tokio::test]
async fn n6_credentials_and_headers_stay_with_their_origin() {
    let other = TestServer::start(|_| reply(200, "", b"other")).await;
    let to = other.url("/");
    let server = TestServer::start(move |head| match head.split(' ').nth(1) {
        Some("/away") => reply(307, &format!("Location: {to}\r\n"), b""),
        Some("/near") => reply(302, "Location: /here\r\n", b""),
        _ => reply(200, "", b"here"),
    })
    .await;
    let both = [format!("127.0.0.1:{}", server.port), format!("127.0.0.1:{}", other.port)];
    let guard = guard(&both, FakeResolver::of(&[]));
    let query = |path: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("x-own", HeaderValue::from_static("mine"));
        let credentials = Credentials {
            places: vec![NamedPlace::parse(&both[0]).unwrap()],
            name: reqwest::header::AUTHORIZATION,
            value: HeaderValue::from_static("Bearer hunter2"),
        };
        FetchRequest {
            headers,
            credentials: Some(credentials),
            ..FetchRequest::get(address(&server.url(path)).unwrap())
        }
    };
    assert_eq!(guard.send(query("/away")).await.unwrap().body, b"other");
    let there = other.heard().concat();
    assert!(
        !there.contains("hunter2") && !there.contains("x-own") && !there.to_lowercase().contains("referer"),
        "{there}"
    );
    assert_eq!(guard.send(query("/near")).await.unwrap().body, b"here");
    let here = server.heard();
    assert!(here.iter().all(|head| head.contains("Bearer hunter2") && head.contains("x-own: mine")), "{here:?}");

    // What changes something is not sent on.
    let post = FetchRequest { method: Method::POST, body: Some(b"x".to_vec()), ..query("/away") };
    assert_eq!(guard.send(post).await.unwrap().status, 307);
    assert_eq!(other.heard().len(), 1);
}

#[tokio::test]
async fn n6_a_public_page_does_not_lead_into_the_house() {
    // The first hop is public only by its name's standing: what is checked is the step from one to the other.
    let url = address("https://example.org/").unwrap();
    let query = FetchRequest::get(url.clone());
    let response = |status: u16, to: &str| {
        let response = http::Response::builder().status(status).header("location", to).body("").unwrap();
        Response::from(response)
    };
    let next = |status, to| redirected(&query, &url, &response(status, to));
    assert_eq!(next(301, "/a?b#c").unwrap().unwrap().as_str(), "https://example.org/a?b");
    assert_eq!(next(200, "/a").unwrap(), None);
    assert_eq!(next(304, "/a").unwrap(), None);
    assert_eq!(next(302, "http://example.org/a"), Err(NetError::Downgrade("example.org".to_owned())));
    assert!(matches!(next(302, "ftp://example.org/"), Err(NetError::Address(_))));
    assert_eq!(next(302, "//other.example/").unwrap().unwrap().as_str(), "https://other.example/");
}

#[tokio::test]
async fn n6_what_has_no_end_is_bounded() {
    let bomb = {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for _ in 0..100 {
            packer.write_all(&vec![0; 1_000_000]).unwrap();
        }
        packer.finish().unwrap()
    };
    assert!(bomb.len() < 200_000, "{}", bomb.len());
    let server = TestServer::start(move |head| match head.split(' ').nth(1).unwrap_or_default() {
        "/endless" => b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n".to_vec(),
        "/endless/head" => b"HTTP/1.1 200 OK\r\nX: ".to_vec(),
        "/bomb" => reply(200, "Content-Encoding: gzip\r\n", &bomb),
        "/half" => reply(200, "Content-Encoding: gzip\r\n", &bomb[..20]),
        "/brotli" => reply(200, "Content-Encoding: br\r\n", b"abc"),
        "/headers" => reply(200, &(0..500).map(|n| format!("x-{n}: y\r\n")).collect::<String>(), b""),
        "/slow" => b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec(),
        "/slow/head" => b"HTTP/1.1 200".to_vec(),
        "/garbage" => b"220 smtp.example ESMTP\r\n".to_vec(),
        "/short" => b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec(),
        _ => Vec::new(),
    })
    .await;
    let limits = Limits { total: Duration::from_millis(1_500), bytes_max: 1_000_000, ..Limits::default() };
    let guard = opened(&server).within(limits);
    for path in ["/endless", "/bomb"] {
        let answer = get(&guard, &server.url(path)).await.unwrap();
        assert_eq!((answer.body.len(), answer.cut), (1_000_000, true), "{path}");
    }
    let mut told = String::new();
    for path in
        ["/endless/head", "/half", "/brotli", "/headers", "/slow", "/slow/head", "/garbage", "/short", "/nothing"]
    {
        writeln!(told, "{path}: {}", refusal(&guard, &server.url(path)).await).unwrap();
    }
    insta::assert_snapshot!(told, @r"
    /endless/head: The answer of 127.0.0.1 is broken: message head is too large.
    /half: The answer of 127.0.0.1 is broken: its packing is damaged: incomplete deflate stream.
    /brotli: The answer of 127.0.0.1 is broken: it answers in a packing that was not asked for.
    /headers: The answer of 127.0.0.1 is broken: message head is too large.
    /slow: 127.0.0.1 did not answer in full within 1 s.
    /slow/head: 127.0.0.1 did not answer in full within 1 s.
    /garbage: The answer of 127.0.0.1 is broken: invalid HTTP version parsed.
    /short: The answer of 127.0.0.1 is broken: end of file before message length reached.
    /nothing: The answer of 127.0.0.1 is broken: connection closed before message completed.
    ");
}

#[tokio::test]
async fn a_closed_port_and_a_wrong_certificate_are_told_apart() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let closed = guard(&[format!("127.0.0.1:{port}")], FakeResolver::of(&[]));
    let error = get(&closed, &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(matches!(error, NetError::Unreachable { .. }) && error.is_passing(), "{error:?}");
    // Plain HTTP where TLS is expected.
    let server = TestServer::start(|_| reply(400, "", b"")).await;
    let error = get(&opened(&server), &server.url("/").replace("http:", "https:")).await.unwrap_err();
    assert!(!matches!(error, NetError::Broken { .. }), "{error:?}");
}
