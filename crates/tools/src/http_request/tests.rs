use serde_json::json;

use super::*;
use crate::mention::Mention;
use crate::net::tests::{FakeResolver, TestServer, guard, reply};

fn profile(place: &str) -> CredentialProfile {
    let secret = || Secret::new("hunter2-token".to_owned());
    CredentialProfile {
        places: vec![NamedPlace::parse(place).unwrap()],
        name: reqwest::header::AUTHORIZATION,
        value: Secret::new("Bearer hunter2-token".to_owned()),
        secrets: vec![secret()],
    }
}

/// A tool whose house is `server`, with credentials for it and for an API outside.
fn tool(server: &TestServer) -> HttpRequest {
    let own = format!("127.0.0.1:{}", server.port);
    let profiles = [("home".to_owned(), profile(&own)), ("api".to_owned(), profile("api.example.com"))].into();
    let names = FakeResolver::of(&[("api.example.com", &["127.0.0.1"])]);
    HttpRequest::new(guard(&[own], names), profiles, 3_000)
}

async fn ask(tool: &HttpRequest, server: &TestServer, arguments: serde_json::Value) -> String {
    let told = match Outcome::of(tool.call(Invocation::for_trial(arguments)).await) {
        Outcome::From(source, inner) => format!("[{source}] {inner:?}"),
        other => format!("{other:?}"),
    };
    told.replace(&server.port.to_string(), "PORT")
}

/// Repeats what it got, which is what a secret must survive.
async fn echo() -> TestServer {
    TestServer::start(|head| reply(200, "Content-Type: text/plain\r\nETag: hunter2-token\r\n", head.as_bytes())).await
}

#[tokio::test]
async fn the_model_names_credentials_and_never_sees_them() {
    let server = echo().await;
    let tool = tool(&server);
    let told = ask(
        &tool,
        &server,
        json!({ "method": "POST", "url": server.url("/x?a=1"), "auth": "home",
        "headers": { "Content-Type": "application/json", "X-A": "b" }, "body": "{\"on\":true}" }),
    )
    .await;
    assert!(!told.contains("hunter2"), "{told}");
    assert!(told.contains("authorization: Bearer [redacted]") && told.contains("etag: [redacted]"), "{told}");
    let heard = server.heard().concat();
    assert!(
        heard.starts_with("POST /x?a=1 HTTP/1.1\r\n") && heard.contains("authorization: Bearer hunter2-token"),
        "{heard}"
    );
    assert!(heard.contains("content-type: application/json") && heard.contains("x-a: b"), "{heard}");
    assert!(!format!("{:?}", tool.spec().schema).contains("hunter2"));
    assert!(tool.spec().schema.description.ends_with("api, home."), "{}", tool.spec().schema.description);
}

#[tokio::test]
async fn d6_credentials_go_to_their_own_places_alone() {
    let server = echo().await;
    let tool = tool(&server);
    let mut told = String::new();
    for arguments in [
        json!({ "method": "GET", "url": server.url("/"), "auth": "api" }),
        json!({ "method": "GET", "url": "http://api.example.com/", "auth": "api" }),
        json!({ "method": "GET", "url": "https://api.example.com.evil.example/", "auth": "api" }),
        json!({ "method": "GET", "url": "https://api.example.com/", "auth": "api" }),
        json!({ "method": "GET", "url": server.url("/"), "auth": "none" }),
        json!({ "method": "GET", "url": server.url("/"), "auth": "home", "headers": { "authorization": "x" } }),
    ] {
        told.push_str(&ask(&tool, &server, arguments).await);
        told.push('\n');
    }
    assert!(server.heard().is_empty());
    insta::assert_snapshot!(told, @r#"
    Error("api is only for api.example.com. Nothing was sent.")
    Error("Credentials are only sent over https. Nothing was sent.")
    Error("api is only for api.example.com. Nothing was sent.")
    Error("api.example.com was not asked: it leads to this machine, which Hob is not allowed to reach.")
    Error("There are no credentials with this name. There are: api, home.")
    Error("authorization is set by home; leave it out of the headers.")
    "#);
}

#[tokio::test]
async fn headers_cannot_be_smuggled() {
    let server = echo().await;
    let tool = tool(&server);
    for (name, value) in [
        ("X-A", "b\r\nX-Evil: 1"),
        ("X-A\r\nX-Evil", "1"),
        ("X A", "1"),
        ("", "1"),
        ("Host", "evil.example"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Cookie", "a=b"),
        ("Proxy-Authorization", "x"),
    ] {
        let told =
            ask(&tool, &server, json!({ "method": "GET", "url": server.url("/"), "headers": { name: value } })).await;
        assert!(told.starts_with("Error("), "{name:?}: {told}");
    }
    assert!(server.heard().is_empty());
}

#[tokio::test]
async fn an_answer_is_shown_within_bounds() {
    let server = TestServer::start(|head| match head.split(' ').nth(1).unwrap_or_default() {
        "/long" => {
            reply(200, "", format!("begin{}hunter2-token{}end", "x".repeat(1_120), "y".repeat(9_000)).as_bytes())
        }
        "/binary" => reply(200, "", b"\0\x01\x02"),
        "/moved" => reply(302, "Location: https://elsewhere.example/\r\n", b""),
        "/busy" => reply(503, "Retry-After: 7\r\n", b"later"),
        _ => reply(404, "", b"no"),
    })
    .await;
    let tool = tool(&server);
    let long = ask(&tool, &server, json!({ "method": "GET", "url": server.url("/long"), "auth": "home" })).await;
    assert!(long.chars().count() < 3_000 && long.contains("characters left out") && long.contains("end\")"), "{long}");
    assert!(!long.contains("hunter") && !long.contains("token"), "half a secret is one: {long}");
    let mut told = String::new();
    for (method, path) in
        [("GET", "/binary"), ("POST", "/moved"), ("DELETE", "/busy"), ("PUT", "/none"), ("HEAD", "/none")]
    {
        told.push_str(&ask(&tool, &server, json!({ "method": method, "url": server.url(path) })).await);
        told.push('\n');
    }
    insta::assert_snapshot!(told, @r#"
    [the web (http://127.0.0.1:PORT/binary)] Text("200 OK\ncontent-length: 3\n\n[3 bytes that are not text]")
    [the web (http://127.0.0.1:PORT/moved)] Text("302 Found\ncontent-length: 0\nlocation: https://elsewhere.example/\n\n")
    [the web (http://127.0.0.1:PORT/busy)] Transient("503 Service Unavailable\ncontent-length: 5\nretry-after: 7\n\nlater")
    [the web (http://127.0.0.1:PORT/none)] Error("404 Not Found\ncontent-length: 2\n\nno")
    [the web (http://127.0.0.1:PORT/none)] Error("404 Not Found\ncontent-length: 2\n\n")
    "#);
}

#[tokio::test]
async fn what_a_request_may_do_is_in_its_arguments() {
    let server = echo().await;
    let tool = tool(&server);
    let heard = |said: &Mention<'_>| said.stands_in("https://api.example.com/state");
    let url = "https://api.example.com/state";
    for (arguments, risk, grade) in [
        (json!({ "method": "GET", "url": url }), Risk::Read, DangerGrade::Safe),
        (json!({ "method": "HEAD", "url": url, "headers": {} }), Risk::Read, DangerGrade::Safe),
        (json!({ "method": "GET", "url": url, "auth": "api" }), Risk::Read, DangerGrade::Medium),
        (json!({ "method": "GET", "url": url, "headers": { "X-A": "secret" } }), Risk::Send, DangerGrade::Safe),
        (json!({ "method": "GET", "url": url, "body": "secret" }), Risk::Send, DangerGrade::Safe),
        (json!({ "method": "GET", "url": format!("{url}?q=secret") }), Risk::Send, DangerGrade::Safe),
        (json!({ "method": "POST", "url": url }), Risk::Send, DangerGrade::Safe),
        (json!({ "method": "DELETE", "url": url, "auth": "api" }), Risk::Send, DangerGrade::Medium),
        (json!({ "method": "GET", "url": server.url("/") }), Risk::Send, DangerGrade::Medium),
    ] {
        let found = tool.assess(&Invocation::for_trial(arguments.clone()), &heard).await;
        assert_eq!((found.risk, found.grade), (risk, grade), "{arguments}");
    }
    let facts = tool.spec().facts;
    assert!(facts.changes && !tool.spec().idempotent && !tool.spec().core && tool.spec().role == Role::Admin);
}
