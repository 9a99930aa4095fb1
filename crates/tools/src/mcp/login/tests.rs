//! Logins at a server and at whoever issues tokens for it, both honest and not.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::os::unix::fs::PermissionsExt as _;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::mcp::tests::{Harness, at, program};
use hob_core::domain::clock::{Clock as _, SystemClock};

/// A server at one port, and whoever issues its tokens at another; a third is an attacker's.
#[derive(Default)]
struct World {
    server: String,
    issuer: String,
    attacker: String,
    /// What its documents say otherwise, by path: they are laid over the honest ones.
    lies: BTreeMap<&'static str, Value>,
    /// The refresh token that holds.
    refresh: String,
    /// How many access tokens were issued. All of them hold …
    issued: usize,
    /// … but for this one, and those before it.
    taken_back: usize,
    /// Seconds that they hold.
    expires_in: u64,
    /// The tool wants this scope.
    wants: Option<&'static str>,
    /// What was heard: who, where, the header, and the body.
    heard: Vec<String>,
    /// The next tokens are issued, and come when this is told: it says when they are.
    holds: Option<(Arc<Notify>, Arc<Notify>)>,
}

type Shared = Arc<Mutex<World>>;

fn document(world: &World, path: &'static str, honest: Value) -> Response {
    let mut document = honest;
    if let Some(lies) = world.lies.get(path) {
        document.as_object_mut().unwrap().extend(lies.as_object().unwrap().clone());
    }
    Json(document).into_response()
}

fn unauthorized(world: &World) -> Response {
    let header = format!(
        "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\", scope=\"read\"",
        world.server
    );
    (StatusCode::UNAUTHORIZED, [("www-authenticate", header)]).into_response()
}

fn tokens(world: &mut World, form: &BTreeMap<String, String>) -> Response {
    let is_new =
        form["grant_type"] == "authorization_code" && form["code"] == "c0de" && form.contains_key("code_verifier");
    let is_renewal = form["grant_type"] == "refresh_token" && form["refresh_token"] == world.refresh;
    if !(is_new || is_renewal) || form["resource"] != format!("{}/mcp", world.server) {
        world.refresh.clear();
        let no = json!({ "error": "invalid_grant", "error_description": form.get("refresh_token") });
        return (StatusCode::BAD_REQUEST, Json(no)).into_response();
    }
    world.issued += 1;
    world.refresh = format!("refresh-token-{}", world.issued);
    let access = format!("access-token-{}", world.issued);
    Json(json!({ "access_token": access, "refresh_token": world.refresh, "token_type": "Bearer",
        "expires_in": world.expires_in }))
    .into_response()
}

fn mcp(world: &World, headers: &HeaderMap, body: &Bytes) -> Response {
    let shown = headers.get("authorization").map(|shown| shown.to_str().unwrap().to_owned());
    let token = shown.as_deref().and_then(|shown| shown.strip_prefix("Bearer access-token-"));
    let holds = world.taken_back + 1..=world.issued;
    if token.is_none_or(|number| !holds.contains(&number.parse::<usize>().unwrap())) {
        return unauthorized(world);
    }
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} }, "serverInfo": { "name": "afar", "version": "1" } }),
        "tools/list" => {
            json!({ "tools": [{ "name": "dig", "description": shown, "inputSchema": { "type": "object" } }] })
        }
        "tools/call" => match world.wants {
            Some(scope) => {
                let header = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
                return (StatusCode::FORBIDDEN, [("www-authenticate", header)]).into_response();
            }
            None => json!({ "content": [{ "type": "text", "text": format!("You showed {}.", shown.unwrap()) }] }),
        },
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).into_response()
}

async fn answer(
    State((who, world)): State<(&'static str, Shared)>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (answer, holds) = answered(who, &mut world.lock().unwrap(), &uri, &headers, &body);
    if let Some((issued, tell)) = holds {
        issued.notify_one();
        tell.notified().await;
    }
    answer
}

type Holds = Option<(Arc<Notify>, Arc<Notify>)>;

fn answered(who: &str, world: &mut World, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> (Response, Holds) {
    let holds = if uri.path() == "/token" { world.holds.take() } else { None };
    (response(who, world, uri, headers, body), holds)
}

fn response(who: &str, world: &mut World, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Response {
    let shown = headers.get("authorization").map_or("", |shown| shown.to_str().unwrap());
    let heard = format!("{who} {uri} {shown} {}", String::from_utf8_lossy(body));
    world.heard.push(heard);
    let (server, issuer) = (world.server.clone(), world.issuer.clone());
    if let Some(to) = world.lies.get("redirect").filter(|_| uri.path() == "/token" || uri.path() == "/moved") {
        return (StatusCode::TEMPORARY_REDIRECT, [("location", to.as_str().unwrap().to_owned())]).into_response();
    }
    match (who, uri.path()) {
        ("server", "/mcp") => mcp(world, headers, body),
        ("server", "/.well-known/oauth-protected-resource/mcp") => document(
            world,
            "resource",
            json!({ "resource": format!("{server}/mcp"), "authorization_servers": [issuer] }),
        ),
        ("issuer", "/.well-known/oauth-authorization-server") => document(
            world,
            "issuer",
            json!({ "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"), "registration_endpoint": format!("{issuer}/register"),
                "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"] }),
        ),
        ("issuer", "/register") => {
            Json(json!({ "client_id": "hob-1", "client_secret": "client-secret-1", "redirect_uris": [NOWHERE] }))
                .into_response()
        }
        ("issuer", "/token") => tokens(world, &url::form_urlencoded::parse(body).into_owned().collect()),
        ("attacker", "/.well-known/oauth-authorization-server") => {
            let own = &world.attacker;
            Json(json!({ "issuer": own, "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"), "registration_endpoint": format!("{own}/register") }))
            .into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn world() -> Shared {
    let world = Shared::default();
    let mut at = BTreeMap::new();
    for who in ["server", "issuer", "attacker"] {
        let app = Router::new().fallback(answer).with_state((who, Arc::clone(&world)));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        at.insert(who, format!("http://{}", listener.local_addr().unwrap()));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    }
    let mut made = world.lock().unwrap();
    let mut take = |who| at.remove(who).unwrap();
    (made.server, made.issuer, made.attacker, made.expires_in) =
        (take("server"), take("issuer"), take("attacker"), 3_600);
    drop(made);
    world
}

fn settings(world: &Shared) -> Settings {
    Settings { way: at(&format!("{}/mcp", world.lock().unwrap().server)), ..program(&["x"]) }
}

fn harness(world: &Shared) -> Harness {
    Harness::with(|_| settings(world))
}

fn now() -> Timestamp {
    SystemClock.now()
}

async fn begun(harness: &Harness, world: &Shared) -> Result<PendingLogin, LoginError> {
    begin(&settings(world), harness.dir.path(), now()).await
}

/// Where the browser ends up that has followed the link.
fn back(pending: &PendingLogin, further: &str) -> String {
    let link = Url::parse(pending.link()).unwrap();
    format!("{}?code=c0de&state={}{further}", NOWHERE, parameter(&link, "state").unwrap())
}

async fn logged_in(world: &Shared) -> Harness {
    let harness = harness(world);
    let pending = begun(&harness, world).await.unwrap();
    let address = back(&pending, "");
    pending.finish(&address, now()).await.unwrap();
    harness.asked().await
}

fn heard(world: &Shared, words: &str) -> Vec<String> {
    world.lock().unwrap().heard.iter().filter(|heard| heard.contains(words)).cloned().collect()
}

#[tokio::test]
async fn a_server_that_asks_for_a_login_is_called_after_it_and_hears_nothing_before() {
    let world = world().await;
    let harness = harness(&world);
    assert!(matches!(harness.server().link().await, Err(McpError::NeedsLogin(_))));
    let asked = heard(&world, "server /mcp").len();
    assert!(matches!(harness.server().link().await, Err(McpError::NeedsLogin(_))));
    assert_eq!(heard(&world, "server /mcp").len(), asked, "it is left alone until there was a login");
    assert_eq!(harness.line(), "mcp s: needs a login: hob mcp login s");
    let pending = begun(&harness, &world).await.unwrap();
    let link = Url::parse(pending.link()).unwrap();
    let of = |name: &str| parameter(&link, name).unwrap_or_default();
    let server = world.lock().unwrap().server.clone();
    assert_eq!((of("code_challenge_method"), of("resource")), ("S256".to_owned(), format!("{server}/mcp")));
    assert_eq!(
        (of("client_id"), of("scope"), of("redirect_uri")),
        ("hob-1".to_owned(), "read".to_owned(), NOWHERE.to_owned())
    );
    let address = back(&pending, "");
    assert!(pending.is_answered_by(&address) && !pending.is_answered_by("http://h/?code=c0de&state=x"));
    assert_eq!(pending.finish(&address, now()).await.unwrap(), ["read"]);
    let file = harness.dir.path().join("logins/mcp-s.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let harness = harness.asked().await;
    assert_eq!(harness.line(), "mcp s: idle, 1 tool");
    assert_eq!(harness.says("s__dig", json!({})).await, "<MCP server s> You showed Bearer [redacted].");
    let known = std::fs::read_to_string(harness.dir.path().join("mcp/s.json")).unwrap();
    assert!(known.contains("Bearer [redacted]") && !known.contains("access-token"), "{known}");
    // Whatever else the name is given to is another server.
    let other = Settings { way: at("http://127.0.0.1:1/mcp"), ..settings(&world) };
    let plain = reqwest_client();
    assert!(client_with_token(&other, harness.dir.path(), &TaskTracker::new(), &plain).await.unwrap().is_none());
    assert!(forget(&settings(&world), harness.dir.path()).unwrap());
    harness.stopped().await;
}

fn reqwest_client() -> reqwest::Client {
    hob_http::client(std::time::Duration::from_secs(1)).unwrap()
}

#[tokio::test]
async fn tokens_are_renewed_by_one_party_at_a_time_and_kept_before_they_are_used() {
    let world = world().await;
    world.lock().unwrap().expires_in = 1;
    let harness = logged_in(&world).await;
    // A second Hob beside the first, as `hob mcp test` is: a refresh token that is shown twice is worth nothing.
    let beside = Harness::at(Arc::clone(&harness.dir), settings(&world)).asked().await;
    let [one, two, three, four] = [0, 1, 2, 3].map(|number| if number % 2 == 0 { &harness } else { &beside });
    let dig = async |harness: &Harness| harness.says("s__dig", json!({})).await;
    let answers = tokio::join!(dig(one), dig(two), dig(three), dig(four));
    let answers = [answers.0, answers.1, answers.2, answers.3];
    assert!(answers.iter().all(|said| said.contains("You showed Bearer")), "{answers:?}");
    let renewals = heard(&world, "grant_type=refresh_token");
    assert!(renewals.len() > 1 && renewals.iter().collect::<BTreeSet<_>>().len() == renewals.len(), "{renewals:?}");
    let kept = std::fs::read_to_string(harness.dir.path().join("logins/mcp-s.json")).unwrap();
    assert!(kept.contains(&format!("\"{}\"", world.lock().unwrap().refresh)));
    // One that was taken back elsewhere is of no use to anybody: a person is asked again, and no word of it is shown.
    world.lock().unwrap().refresh = "another".to_owned();
    let said = harness.says("s__dig", json!({})).await;
    assert_eq!(
        said,
        "<MCP server s> error: The MCP server s did not answer this call: it needs a login: hob mcp login s."
    );
    assert_eq!(harness.line(), "mcp s: needs a login: hob mcp login s, 1 tool");
    harness.stopped().await;
    beside.stopped().await;
}

/// Whoever waits may leave at any moment, and the issuer has taken the former refresh token back by then.
#[tokio::test]
async fn tokens_whose_call_was_given_up_are_kept_all_the_same() {
    let world = world().await;
    world.lock().unwrap().expires_in = 1;
    let harness = logged_in(&world).await;
    let (issued, tell) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.lock().unwrap().holds = Some((Arc::clone(&issued), Arc::clone(&tell)));
    tokio::select! {
        said = harness.says("s__dig", json!({})) => panic!("it waits: {said}"),
        () = issued.notified() => {}
    }
    tell.notify_one();
    assert!(harness.says("s__dig", json!({})).await.contains("You showed Bearer"));
    // Nor does it matter whether the token has run out, or the server takes it no more.
    world.lock().unwrap().expires_in = 3_600;
    harness.says("s__dig", json!({})).await;
    let (issued, tell) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    {
        let mut world = world.lock().unwrap();
        (world.holds, world.taken_back) = (Some((Arc::clone(&issued), Arc::clone(&tell))), world.issued);
    }
    tokio::select! {
        said = harness.says("s__dig", json!({})) => panic!("it waits: {said}"),
        () = issued.notified() => {}
    }
    tell.notify_one();
    assert!(harness.says("s__dig", json!({})).await.contains("You showed Bearer"));
    let kept = std::fs::read_to_string(harness.dir.path().join("logins/mcp-s.json")).unwrap();
    assert!(kept.contains(&format!("\"{}\"", world.lock().unwrap().refresh)));
    harness.stopped().await;
}

#[tokio::test]
async fn who_wants_more_rights_is_asked_for_with_those_that_are_there() {
    let world = world().await;
    let harness = logged_in(&world).await;
    world.lock().unwrap().wants = Some("write");
    let said = harness.says("s__dig", json!({})).await;
    assert!(said.contains("it needs a login: hob mcp login s"), "{said}");
    let pending = begun(&harness, &world).await.unwrap();
    assert_eq!(parameter(&Url::parse(pending.link()).unwrap(), "scope").unwrap(), "read write");
    let address = back(&pending, "");
    pending.finish(&address, now()).await.unwrap();
    world.lock().unwrap().wants = None;
    assert!(harness.says("s__dig", json!({})).await.contains("You showed"));
    harness.stopped().await;
}

/// What a login at a server that tells these lies ends with.
async fn lied(path: &'static str, lie: impl FnOnce(&World) -> Value) -> (Shared, String) {
    let world = world().await;
    let lie = lie(&world.lock().unwrap());
    world.lock().unwrap().lies.insert(path, lie);
    let harness = harness(&world);
    let told = match begun(&harness, &world).await {
        Ok(_) => "a link".to_owned(),
        Err(error) => error.to_string(),
    };
    (world, told)
}

#[tokio::test]
async fn a_server_that_lies_about_who_issues_its_tokens_gets_no_link() {
    let (_, told) = lied("resource", |_| json!({ "resource": "https://bank.example/mcp" })).await;
    assert!(told.contains("resource mismatch"), "{told}");
    let (_, told) = lied("issuer", |world| json!({ "issuer": world.attacker })).await;
    assert!(told.contains("issuer mismatch"), "{told}");
    let (_, told) = lied("issuer", |_| json!({ "code_challenge_methods_supported": ["plain"] })).await;
    assert!(told.contains("S256"), "{told}");
    let (_, told) = lied("issuer", |_| json!({ "authorization_endpoint": "javascript:alert(1)" })).await;
    assert!(told.contains("only https:// and http://"), "{told}");
    // What is in the house is asked only where the operator has allowed it.
    for inside in ["http://10.1.2.3", "http://169.254.169.254", "http://192.168.0.1:8080/as"] {
        let (_, told) = lied("resource", |_| json!({ "authorization_servers": [inside] })).await;
        assert!(told.starts_with("it offers no login: "), "{told}");
    }
}

#[tokio::test]
async fn who_issues_tokens_elsewhere_in_the_house_is_not_asked() {
    let world = world().await;
    let ServerTransport::Address { url, bearer, headers, login } = settings(&world).way else { unreachable!() };
    let login = LoginSettings { private: Vec::new(), ..login };
    let settings = Settings { way: ServerTransport::Address { url, bearer, headers, login }, ..program(&["x"]) };
    let dir = tempfile::tempdir().unwrap();
    let told = begin(&settings, dir.path(), now()).await.err().unwrap().to_string();
    assert!(told.contains("was not asked"), "{told}");
    assert_eq!(heard(&world, "issuer "), Vec::<String>::new());
    let open = Settings { way: at("http://mcp.example/mcp"), ..settings };
    let told = begin(&open, dir.path(), now()).await.err().unwrap().to_string();
    assert!(told.contains("tokens go over https"), "{told}");
    let tls = Url::parse("https://mcp.example/mcp").unwrap();
    let client = client(tls.as_str(), &LoginSettings::default()).unwrap();
    assert!(client.address("https://as.example/token").is_ok() && client.address("http://as.example/token").is_err());
}

#[tokio::test]
async fn what_comes_back_counts_once_for_its_own_login_and_for_a_while() {
    let world = world().await;
    let harness = harness(&world);
    let refused = async |further: &str, later: SignedDuration, foreign: Option<&str>| {
        let pending = begun(&harness, &world).await.unwrap();
        let address = foreign.map_or_else(|| back(&pending, further), str::to_owned);
        pending.finish(&address, now() + later).await.err().map_or_else(String::new, |error| error.to_string())
    };
    let soon = SignedDuration::ZERO;
    let attacker = world.lock().unwrap().attacker.clone();
    let mixed = refused(&format!("&iss={attacker}"), soon, None).await;
    assert!(mixed.contains("issuer mismatch"), "{mixed}");
    assert_eq!(refused("", SignedDuration::from_mins(16), None).await, "the link has expired: begin again");
    let foreign = refused("", soon, Some("http://h/?code=c0de&state=mine")).await;
    assert!(foreign.contains("it belongs to another login"), "{foreign}");
    let denied = refused("", soon, Some("http://h/?error=access_denied&error_description=No.")).await;
    assert_eq!(denied, "it was refused: access_denied No.");
    assert!(refused("", soon, Some("two words")).await.contains("neither an address nor a code"));
    assert_eq!(heard(&world, "issuer /token"), Vec::<String>::new(), "no code was sent anywhere");
    let wrong = refused("", soon, Some("wr0ng")).await;
    assert!(wrong.starts_with("it was refused: "), "{wrong}");
    assert_eq!(refused("", soon, Some("c0de")).await, "", "the code alone is enough");
}

#[tokio::test]
async fn tokens_go_nowhere_else_whatever_is_said_later() {
    let world = world().await;
    world.lock().unwrap().expires_in = 1;
    let harness = logged_in(&world).await;
    let attacker = world.lock().unwrap().attacker.clone();
    // The server names another who issues its tokens, and denies that there is any.
    world.lock().unwrap().lies.insert("resource", json!({ "authorization_servers": [attacker] }));
    assert!(harness.says("s__dig", json!({})).await.contains("You showed"));
    // Who issues them sends on to another.
    world.lock().unwrap().lies.insert("redirect", json!(format!("{attacker}/token")));
    let said = harness.says("s__dig", json!({})).await;
    assert!(said.contains("error") || said.contains("for now"), "{said}");
    assert_eq!(heard(&world, "attacker "), Vec::<String>::new());
    // So does the server itself.
    let moved = format!("{}/moved", world.lock().unwrap().server);
    let plain = reqwest_client();
    let sent = plain.post(moved).bearer_auth("t").send().await.unwrap();
    assert_eq!(sent.status(), 307);
    assert_eq!(heard(&world, "attacker "), Vec::<String>::new());
    harness.stopped().await;
}
