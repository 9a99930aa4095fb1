//! Logins at MCP servers: an owner's link, and the browser that comes back to the page.

use std::process::Stdio;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode as Code, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::browser::{Browser, hob, root};
use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use hob_testkit::served::Served;
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

/// A server that issues its tokens itself.
async fn answer(State(own): State<Arc<str>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let answer = match uri.path() {
        "/.well-known/oauth-protected-resource/mcp" => {
            json!({ "resource": format!("{own}/mcp"), "authorization_servers": [&*own] })
        }
        "/.well-known/oauth-authorization-server" => json!({ "issuer": &*own,
            "authorization_endpoint": format!("{own}/authorize"), "token_endpoint": format!("{own}/token"),
            "registration_endpoint": format!("{own}/register"), "code_challenge_methods_supported": ["S256"] }),
        "/register" => json!({ "client_id": "hob", "redirect_uris": [] }),
        "/token" => json!({ "access_token": "the-very-token", "token_type": "Bearer" }),
        "/mcp" if headers.get("authorization").is_none_or(|shown| shown != "Bearer the-very-token") => {
            return (Code::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response();
        }
        "/mcp" => return called(&body),
        _ => return Code::NOT_FOUND.into_response(),
    };
    Json(answer).into_response()
}

fn called(body: &Bytes) -> Response {
    let Ok(message) = serde_json::from_slice::<Value>(body) else { return Code::METHOD_NOT_ALLOWED.into_response() };
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} }, "serverInfo": { "name": "afar", "version": "1" } }),
        "tools/list" => json!({ "tools": [{ "name": "dig", "inputSchema": { "type": "object" } }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "You showed the-very-token." }] }),
        _ => return Code::ACCEPTED.into_response(),
    };
    Json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).into_response()
}

/// Starts such a server.
async fn serve() -> Served {
    Served::knowing_its_root(|own| Router::new().fallback(answer).with_state(Arc::<str>::from(own))).await
}

/// The word by which a login is known again that this link begins.
fn state_of(link: &str) -> String {
    let link: url::Url = link.parse().unwrap();
    link.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
}

/// A household with such a server, which has asked for a login.
async fn asked() -> (TestHob, Browser, Served) {
    let served = serve().await;
    let server = format!("[mcp.s]\nurl = '{}/mcp'\ntrusted_output = true\napproval = 'never'\n", served.root());
    let mut hob = hob(&server).await;
    hob.process().until_log("mcp.needs_login").await;
    let browser = Browser::new(&root(&mut hob).await);
    (hob, browser, served)
}

/// What was said last, of so many messages.
async fn last(hob: &TestHob, person: i64, count: usize) -> String {
    hob.told(person, count).await.pop().unwrap()
}

#[tokio::test]
async fn an_owner_logs_in_in_private_and_the_browser_comes_back_to_the_page_once() {
    let (mut hob, browser, _served) = asked().await;
    hob.say(OWNER, "/status");
    assert!(last(&hob, OWNER, 1).await.contains("\nmcp s: needs a login: hob mcp login s\n"));
    hob.say(ADA, "/login s");
    assert_eq!(last(&hob, ADA, 1).await, "Only an owner can do that.");
    hob.say(OWNER, "/login t");
    assert_eq!(last(&hob, OWNER, 2).await, "I am not logged in at t: there is no [mcp.t] in the config.");
    hob.say(OWNER, "/login s");
    let told = last(&hob, OWNER, 3).await;
    let state = state_of(told.lines().find(|line| line.starts_with("http")).unwrap());
    let back = async |state: &str| {
        let answer = browser.bare(Method::GET, &format!("/mcp/callback?code=c&state={state}")).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    };
    assert_eq!(back("another").await.0, StatusCode::NOT_FOUND);
    assert_eq!(back(&state).await, (StatusCode::OK, "Hob is logged in at s. You can close this.\n".to_owned()));
    assert_eq!(back(&state).await.0, StatusCode::NOT_FOUND, "it counts once");
    hob.process().until_log("mcp.listed").await;
    hob.model.reply(Reply::call("use_tool", r#"{"name": "s__dig", "arguments": {}}"#));
    assert_eq!(hob.ask(ADA, "Dig.", Reply::text("Done.")).await, "Done.");
    let seen: Vec<String> = hob.model.requests().iter().map(|request| request.last_text().to_owned()).collect();
    assert!(seen.last().unwrap().contains("You showed [redacted]."), "{seen:?}");
    assert!(!hob.process().log().contains("the-very-token"));
    hob.nothing_refused();
}

#[tokio::test]
async fn an_owner_may_send_where_the_browser_ended_up() {
    let (mut hob, _browser, _served) = asked().await;
    hob.say(OWNER, "/login s http://127.0.0.1:8787/mcp/callback?code=c&state=x");
    let told = last(&hob, OWNER, 1).await;
    assert_eq!(told, "I am not logged in at s: nobody has begun a login at s, or it is over: begin again.");
    hob.say(OWNER, "/login s");
    let told = last(&hob, OWNER, 2).await;
    let state = state_of(told.lines().find(|line| line.starts_with("http")).unwrap());
    hob.say(OWNER, &format!("/login s http://127.0.0.1:8787/mcp/callback?code=c&state={state}"));
    assert_eq!(last(&hob, OWNER, 3).await, "I am logged in at s.");
    hob.process().until_log("mcp.listed").await;
}

/// What `hob` says to these arguments.
async fn said(hob: &TestHob, arguments: &[&str]) -> String {
    let output = within("hob", hob_command(hob.home.path(), arguments).output()).await.unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    told.replace(&format!("{}/", hob.home.path().display()), "")
}

/// Logs in at the command line: a browser is sent to a link, and ends at an address, which is pasted.
async fn log_in_at_command_line(hob: &TestHob) -> String {
    let mut command = hob_command(hob.home.path(), &["mcp", "login", "s"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let mut link = String::new();
    while !link.starts_with("http") {
        link.clear();
        assert_ne!(within("the link", told.read_line(&mut link)).await.unwrap(), 0, "it ended without a link");
    }
    let back = format!("http://127.0.0.1:8787/mcp/callback?code=c&state={}\n", state_of(link.trim()));
    child.stdin.take().unwrap().write_all(back.as_bytes()).await.unwrap();
    let mut rest = String::new();
    within("the login", told.read_to_string(&mut rest)).await.unwrap();
    assert!(within("the end", child.wait()).await.unwrap().success(), "{rest}");
    rest.lines().last().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn n16_a_server_that_wants_a_login_is_added_logged_in_at_and_classed() {
    let served = serve().await;
    let url = format!("{}/mcp", served.root());
    let mut hob = hob("").await;
    // Nobody has reached it yet, and it is in the config: it has answered, and said what it wants.
    let told = said(&hob, &["mcp", "add", "s", "--url", &url]).await;
    insta::assert_snapshot!(told.replace(&url, "URL"), @r#"
    It needs a login: hob mcp login s
    Then say what its tools do: hob mcp class s
    config.toml: mcp.s.url: not set → "URL"
    A running Hob uses it from now on. To take it out again: hob config unset mcp.s
    "#);
    hob.process().until_log("config.reloaded").await;
    let told = said(&hob, &["mcp", "class", "s", "dig=changes"]).await;
    assert!(told.contains("needs a login: hob mcp login s"), "{told}");
    let told = said(&hob, &["mcp", "list"]).await;
    assert_eq!(told.replace(&url, "URL"), "s: needs a login: hob mcp login s: URL\n");
    assert_eq!(log_in_at_command_line(&hob).await, "Logged in at s.");
    // At once: whether the Hob that runs has asked it since, nobody knows.
    let classed = said(&hob, &["mcp", "class", "s", "dig=changes"]).await;
    assert!(classed.starts_with("changes   dig:") && classed.lines().count() == 1, "{classed}");
    hob.process().until_log("mcp.listed").await;
    // What was said holds there: nobody is asked.
    hob.model.reply(Reply::call("use_tool", r#"{"name": "s__dig", "arguments": {}}"#));
    assert_eq!(hob.ask(ADA, "Dig.", Reply::text("Dug.")).await, "Dug.");
    assert!(!hob.process().log().contains("the-very-token"));
    let told = said(&hob, &["mcp", "add", "s", "--url", &url]).await;
    assert!(told.contains("there is [mcp.s] in the config already"), "{told}");
    hob.nothing_refused();
}
