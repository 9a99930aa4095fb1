use std::fmt::Write;

use serde_json::json;

use super::*;
use crate::net::tests::{FakeResolver, TestServer, guard, reply};

/// DuckDuckGo's page, in the shape that it has: redirects through itself, an advertisement, marks around what was sought.
const DUCKDUCKGO: &str = r#"<!DOCTYPE html><html><body class="body--html"><form id="search_form" action="/html/" method="post"></form>
<div class="serp__results"><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy leeks</a></h2></div></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fsoup.example%2Fleek%3Fid%3D7&amp;rut=abc">Leek &amp; potato soup</a></h2>
<div class="result__extras"><a class="result__url" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fsoup.example%2Fleek">soup.example/leek</a></div>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">A <b>leek</b> and
  potato <b>soup</b> in twenty minutes.</a></div></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="https://plain.example/">Plain</a></h2></div></div>
<div class="result results_links results_links_deep web-result "><h2 class="result__title"><a class="result__a" href="javascript:x()">Bad</a></h2></div>
</div></div></body></html>"#;
const ANOMALY: &str = r#"<html><body><div class="anomaly-modal__mask"><div class="anomaly-modal__modal" data-testid="anomaly-modal">
<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></div></div>
<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&amp;cc=botnet" method="POST"></form></body></html>"#;
const EMPTY: &str = r#"<html><body><div id="links" class="results"><div class="result results_links result--no-result">
<div class="no-results">No results.</div></div></div></body></html>"#;
const BRAVE: &str = r#"{"type":"search","query":{"original":"leek soup","more_results_available":true},"mixed":{"type":"mixed","main":[]},
"web":{"type":"search","results":[{"title":"Leek &amp; potato soup","url":"https://soup.example/leek","is_source_local":false,
"description":"A <strong>leek</strong> and potato soup.","age":"2 days ago","language":"en","family_friendly":true},
{"title":"Other","url":"https://other.example/"}],"family_friendly":true}}"#;
const SEARXNG: &str = r#"{"query":"leek soup","number_of_results":0,"results":[{"url":"https://soup.example/leek","title":"Leek soup",
"content":"A soup.","engine":"duckduckgo","parsed_url":["https","soup.example","/leek","","",""],"template":"default.html","engines":["duckduckgo"],
"positions":[1],"score":1.0,"category":"general"},{"url":"https://b.example/","title":"B","content":null,"engine":"bing"}],
"answers":[],"corrections":[],"infoboxes":[],"suggestions":["leek"],"unresponsive_engines":[]}"#;
const SILENT: &str = r#"{"query":"x","number_of_results":0,"results":[],"answers":[],"corrections":[],"infoboxes":[],"suggestions":[],
"unresponsive_engines":[["google","Suspended: CAPTCHA"],["brave","too many requests"]]}"#;

/// A service that answers so, and is asked strictly as the real one wants it.
async fn service(backend: Backend, status: u16, body: &'static str) -> (TestServer, WebSearch) {
    let server = TestServer::start(move |head| {
        let line = head.lines().next().unwrap_or_default();
        let has = |header: &str| head.lines().any(|line| line.to_lowercase() == header);
        let right = match backend {
            Backend::DuckDuckGo => line.starts_with("GET /html/?q=leek+soup "),
            Backend::Brave => {
                line.starts_with("GET /res/v1/web/search?q=leek+soup&count=") && has("x-subscription-token: key")
            }
            Backend::SearXng => line.starts_with("GET /search?q=leek+soup&format=json "),
        };
        if right { reply(status, "", body.as_bytes()) } else { reply(400, "", b"{}") }
    })
    .await;
    let base_url = Url::parse(&server.url("/")).unwrap();
    let api_key = (backend == Backend::Brave).then(|| Secret::new("key".to_owned()));
    // Its owner named the server: nothing else has to open it.
    let tool = WebSearch::new(&guard(&[], FakeResolver::of(&[])), SearchService { backend, base_url, api_key });
    (server, tool)
}

async fn search(tool: &WebSearch, arguments: serde_json::Value) -> String {
    match Outcome::of(tool.call(Invocation::for_trial(arguments)).await) {
        Outcome::From(source, inner) => format!("[{source}] {inner:?}"),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn three_services_are_read_alike() {
    let mut told = String::new();
    for (backend, body) in [(Backend::DuckDuckGo, DUCKDUCKGO), (Backend::Brave, BRAVE), (Backend::SearXng, SEARXNG)] {
        let (_server, tool) = service(backend, 200, body).await;
        told.push_str(&search(&tool, json!({ "query": " leek  soup " })).await.replace("\\n", "\n"));
        told.push('\n');
        let one = search(&tool, json!({ "query": "leek soup", "count": 1 })).await;
        assert!(one.contains("1. Leek") && !one.contains("2. "), "{one}");
    }
    insta::assert_snapshot!(told, @r#"
    [the web (a search for leek soup)] Text("1. Leek & potato soup
       https://soup.example/leek?id=7
       A leek and potato soup in twenty minutes.
    2. Plain
       https://plain.example/")
    [the web (a search for leek soup)] Text("1. Leek & potato soup
       https://soup.example/leek
       A leek and potato soup.
    2. Other
       https://other.example/")
    [the web (a search for leek soup)] Text("1. Leek soup
       https://soup.example/leek
       A soup.
    2. B
       https://b.example/")
    "#);
}

#[tokio::test]
async fn d6_a_service_that_does_not_answer_is_told_of() {
    use Backend::{Brave, DuckDuckGo, SearXng};
    let mut told = String::new();
    for (backend, status, body) in [
        (DuckDuckGo, 202, ANOMALY),
        (DuckDuckGo, 200, ANOMALY),
        (DuckDuckGo, 200, EMPTY),
        (DuckDuckGo, 200, "<html><body>something new"),
        (DuckDuckGo, 429, ""),
        (Brave, 429, r#"{"type":"ErrorResponse","error":{"code":"RATE_LIMITED","status":429}}"#),
        (Brave, 422, r#"{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID","status":422}}"#),
        (Brave, 422, r#"{"type":"ErrorResponse","error":{"code":"VALIDATION","status":422}}"#),
        (Brave, 200, r#"{"type":"search"}"#),
        (Brave, 200, "<html>"),
        (SearXng, 403, ""),
        (SearXng, 200, SILENT),
        (SearXng, 502, ""),
    ] {
        let (_server, tool) = service(backend, status, body).await;
        writeln!(told, "{backend:?} {status}: {}", search(&tool, json!({ "query": "leek soup" })).await).unwrap();
    }
    insta::assert_snapshot!(told, @r#"
    DuckDuckGo 202: [the web (a search for leek soup)] Transient("DuckDuckGo asks whether a person is searching, and shows no results. It may pass in a while; the owner can set another service under [web.search].")
    DuckDuckGo 200: [the web (a search for leek soup)] Transient("DuckDuckGo asks whether a person is searching, and shows no results. It may pass in a while; the owner can set another service under [web.search].")
    DuckDuckGo 200: [the web (a search for leek soup)] Text("Nothing was found for \"leek soup\".")
    DuckDuckGo 200: [the web (a search for leek soup)] Error("DuckDuckGo's page is not as it used to be: no results can be read from it.")
    DuckDuckGo 429: [the web (a search for leek soup)] Transient("DuckDuckGo answers 429: too many searches for now.")
    Brave 429: [the web (a search for leek soup)] Transient("Brave says that the searches of its plan are used up for now.")
    Brave 422: [the web (a search for leek soup)] Error("Brave does not accept the key: the owner has to look at `api_key` under [web.search].")
    Brave 422: [the web (a search for leek soup)] Error("Brave answers 422 (VALIDATION).")
    Brave 200: [the web (a search for leek soup)] Text("Nothing was found for \"leek soup\".")
    Brave 200: [the web (a search for leek soup)] Error("Brave's answer cannot be read: expected value at line 1 column 1.")
    SearXng 403: [the web (a search for leek soup)] Error("SearXNG does not answer in JSON: its owner has to name `json` under `search.formats` in its settings.")
    SearXng 200: [the web (a search for leek soup)] Transient("SearXNG found nothing, as engines do not answer it (google: Suspended: CAPTCHA, brave: too many requests).")
    SearXng 502: [the web (a search for leek soup)] Transient("SearXNG answers 502.")
    "#);
}

#[tokio::test]
async fn words_that_were_heard_may_be_sought_and_others_are_told_to_somebody() {
    let (server, tool) = service(Backend::DuckDuckGo, 200, EMPTY).await;
    let said =
        "What is a good leek soup for 4 people? My PIN is 4711-0815 and my key k3y9x, Ada says. Call me on 0171555333.";
    let heard = |what: &Mention<'_>| what.stands_in(said);
    for (query, risk) in [
        ("good leek soup", Risk::Read),
        ("Soup, leek: for 4", Risk::Read),
        ("leek soup recipe", Risk::Send),
        ("47", Risk::Send),
        ("PI", Risk::Send),
        ("so up", Risk::Send),
        ("k3y9x", Risk::Send),
        ("0171555333", Risk::Send),
        ("leek 2026", Risk::Send),
        ("aGVsbG8gd29ybGQ", Risk::Send),
        ("", Risk::Read),
    ] {
        let found = tool.assess(&Invocation::for_trial(json!({ "query": query })), &heard).await;
        assert_eq!(found.risk, risk, "{query}");
    }
    assert!(server.heard().is_empty());
}

#[tokio::test]
async fn a_query_has_words_and_an_end() {
    let (server, tool) = service(Backend::DuckDuckGo, 200, EMPTY).await;
    for query in [" ".to_owned(), "x".repeat(401)] {
        assert_eq!(search(&tool, json!({ "query": query })).await, r#"Error("A query has 1 to 400 characters.")"#);
    }
    assert!(server.heard().is_empty());
}
