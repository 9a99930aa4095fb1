//! DuckDuckGo's page for browsers without scripts: HTML, no key.

use dom_query::{Document, NodeRef};
use url::Url;

use crate::web_search::{Hit, SearchOutcome, shown_url};
use hob_http::page;

/// What its page says.
pub(crate) fn read(status: u16, body: &str) -> SearchOutcome {
    let document = page::document(body);
    let asks = document.select(".anomaly-modal, #challenge-form, form[action*='anomaly.js']").exists();
    match status {
        200 | 202 if asks => SearchOutcome::Busy(
            "DuckDuckGo asks whether a person is searching, and shows no results. It may pass in a while; the owner can set \
             another service under [web.search]."
                .to_owned(),
        ),
        200 => hits(&document),
        202 | 403 | 429 | 500..=599 => SearchOutcome::Busy(format!("DuckDuckGo answers {status}: too many searches for now.")),
        status => SearchOutcome::Refused(format!("DuckDuckGo answers {status}.")),
    }
}

fn hits(document: &Document) -> SearchOutcome {
    let results = document.select(".result.results_links");
    let hits: Vec<Hit> = results.nodes().iter().filter(|node| !node.has_class("result--ad")).filter_map(hit).collect();
    let none = document.select(".no-results, .result--no-result").exists();
    if hits.is_empty() && !none {
        return SearchOutcome::Refused(
            "DuckDuckGo's page is not as it used to be: no results can be read from it.".to_owned(),
        );
    }
    SearchOutcome::Hits(hits)
}

fn hit(result: &NodeRef<'_>) -> Option<Hit> {
    let result = dom_query::Selection::from(*result);
    let link = result.select_single("a.result__a");
    let url = target(&link.attr("href")?)?;
    let text = |selector: &str| result.select_single(selector).text().to_string();
    Some(Hit { title: link.text().to_string(), url, snippet: text(".result__snippet") })
}

/// Where a result leads: what its redirect has as `uddg`.
fn target(href: &str) -> Option<String> {
    let base = Url::parse("https://duckduckgo.com/").ok()?;
    let url = base.join(href).ok()?;
    let own = url.host_str().is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"));
    if !own {
        return shown_url(url.as_str());
    }
    let (_, to) = url.query_pairs().find(|(key, _)| key == "uddg")?;
    shown_url(&to)
}
