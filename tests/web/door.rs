//! Who gets in.

use reqwest::{Method, StatusCode};

use crate::browser::{Browser, hob, printed_key, root};
use hob_testkit::crowd::stays_seated;
use hob_testkit::process::{hob_command, within};

#[tokio::test]
async fn n8_a_link_lets_one_browser_in_once() {
    let mut hob = hob("").await;
    let mut browser = Browser::new(&root(&mut hob).await);
    for path in ["/", "/chat/x"] {
        let turned = browser.bare(Method::GET, path).send().await.unwrap();
        assert_eq!(
            (turned.status(), &turned.headers()["location"]),
            (StatusCode::SEE_OTHER, &"/login".parse().unwrap())
        );
    }
    let nowhere = browser.bare(Method::GET, "/operation").send().await.unwrap();
    assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    assert!(nowhere.text().await.unwrap().contains("There is no such page."));
    for path in ["/api/visit", "/api/chats", "/api/chats/x/messages", "/api/chats/x/events", "/api/openapi.json"] {
        let refused = browser.bare(Method::GET, path).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    hob.process().until_log("`hob web` prints a link").await;
    assert!(!hob.process().log().contains("/login#"), "whoever reads the log is not let in by it");
    let key = printed_key(&mut hob).await;
    assert_eq!(browser.enter(&key).await, "/");
    assert_eq!(browser.get("/api/visit").await["role"], "owner");
    let mut second = Browser::new(&browser.root);
    assert_eq!(second.enter(&key).await, "/login?over", "it works once");
    assert!(second.cookie.is_none());
    // The visit outlives a crash, and ends when its browser says so.
    hob.restart().await;
    browser.root = root(&mut hob).await;
    let visit = browser.ask(Method::GET, "/api/visit").send().await.unwrap();
    let cookie = visit.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.starts_with(browser.cookie.as_deref().unwrap()), "{cookie}");
    assert!(cookie.contains("Max-Age=2592000"), "whoever comes again stays for longer: {cookie}");
    assert!(!hob.process().log().contains("/login#"), "whoever is in needs no link");
    let mut listening = browser.listen("x", None).await;
    let left = browser.ask(Method::POST, "/logout").send().await.unwrap();
    assert_eq!(left.status(), StatusCode::NO_CONTENT);
    assert_eq!(browser.ask(Method::GET, "/api/visit").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    within("end of what another tab hears", listening.ended()).await;
    hob.restart().await;
    root(&mut hob).await;
    assert!(!hob.process().log().contains("/login#"), "an owner was here, and knows how to get in");
}

#[tokio::test]
async fn n8_who_guesses_is_slowed_down_and_keeps_nobody_out() {
    let mut hob = hob("").await;
    let mut browser = Browser::new(&root(&mut hob).await);
    let key = printed_key(&mut hob).await;
    let attempt = |body: String| {
        let form = ("content-type", "application/x-www-form-urlencoded");
        browser.ask(Method::POST, "/login").header(form.0, form.1).body(body).send()
    };
    let mut refused = 0;
    // Whatever the minute: no 45 in a row fit into two of them.
    for number in 0..45 {
        let status = attempt(format!("key={number}")).await.unwrap().status();
        assert!([StatusCode::SEE_OTHER, StatusCode::TOO_MANY_REQUESTS].contains(&status), "{status}");
        refused += usize::from(status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(refused >= 5, "{refused}");
    let large = attempt(format!("key={}", "x".repeat(5_000))).await.unwrap();
    assert_eq!(large.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(browser.enter(&key).await, "/");
}

#[tokio::test]
async fn who_has_logged_in_keeps_their_seat() {
    let mut hob = hob("").await;
    let root = root(&mut hob).await;
    let (address, form) = (root.trim_start_matches("http://"), format!("key={}", printed_key(&mut hob).await));
    let head = format!("POST /login HTTP/1.1\r\nHost: {address}\r\nOrigin: {root}\r\nSec-Fetch-Site: same-origin");
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let request = format!("{head}\r\n{kind}\r\nContent-Length: {}\r\n\r\n{form}", form.len());
    stays_seated(address, &request, "303").await;
}

#[tokio::test]
async fn another_page_has_the_browser_do_nothing() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let cookie = browser.cookie.clone().unwrap();
    let body = || browser.form("x", "1", "Delete everything.", None);
    let own_host = browser.root.strip_prefix("http://").unwrap().to_owned();
    for (host, origin) in [
        (own_host.as_str(), Some("https://evil.example")),
        (own_host.as_str(), Some("null")),
        ("evil.example", Some("http://evil.example")),
    ] {
        let request =
            browser.bare(Method::POST, "/api/chats/x/messages").header("host", host).header("cookie", &cookie);
        let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
        let taken = body().build().unwrap();
        let request = request
            .header("content-type", taken.headers()["content-type"].clone())
            .body(taken.body().unwrap().as_bytes().unwrap().to_vec());
        assert_eq!(request.send().await.unwrap().status(), StatusCode::FORBIDDEN, "{host} {origin:?}");
    }
    let stream = browser.bare(Method::GET, "/api/chats/x/events").header("cookie", &cookie);
    let stream = stream.header("accept", "text/event-stream").header("sec-fetch-site", "cross-site");
    assert_eq!(stream.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert!(browser.get("/api/chats/x/messages").await["messages"].as_array().unwrap().is_empty());
    assert_eq!(body().send().await.unwrap().status(), StatusCode::OK, "the page itself may");
}

#[tokio::test]
async fn n8_viewers_look_and_programs_show_keys() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    let told = |arguments: &'static [&'static str]| {
        let home = hob.home.path().to_owned();
        async move {
            let output = hob_command(&home, arguments).output().await.unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        }
    };
    let link = told(&["web", "--viewer"]).await;
    let key = link.split('#').nth(1).unwrap().split_whitespace().next().unwrap();
    let mut viewer = Browser::new(&browser.root);
    viewer.enter(key).await;
    assert_eq!(viewer.get("/api/visit").await["role"], "viewer");
    assert_eq!(viewer.form("x", "1", "Hello", None).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    viewer.get("/api/chats/x/messages").await;

    let key = told(&["web", "token", "add", "kitchen"]).await.lines().next().unwrap().to_owned();
    let with_key = |key: &str| browser.bare(Method::GET, "/api/visit").header("authorization", format!("Bearer {key}"));
    assert_eq!(with_key(&key).send().await.unwrap().status(), StatusCode::OK, "no origin, but a key");
    assert_eq!(with_key("0123").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert!(told(&["web", "token", "list"]).await.starts_with("kitchen – owner, last used "));
    told(&["web", "token", "remove", "kitchen"]).await;
    assert_eq!(with_key(&key).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn n8_every_answer_forbids_what_the_page_does_not_need() {
    let mut hob = hob("").await;
    let browser = Browser::entered(&mut hob).await;
    for path in ["/", "/login", "/app/main.js", "/app/hob.css", "/api/visit", "/api/nothing", "/api/openapi.json"] {
        let response = browser.ask(Method::GET, path).send().await.unwrap();
        let headers = response.headers();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
    }
    assert_eq!(
        browser.ask(Method::DELETE, "/api/visit").send().await.unwrap().status(),
        StatusCode::METHOD_NOT_ALLOWED
    );
}
