//! `web_search`: what a search service finds (row N6: nobody here vouches for what it answers).
//!
//! A search tells the service its words, and nobody else: who wrote a page does not learn of it. So ordinary words may go out by
//! themselves even if the run has read such a page, if a person said them or the web did. What was put together here, or stands
//! in the house's own files, facts and letters (a number, a key, a name), may not.

pub(crate) mod brave;
pub(crate) mod duckduckgo;
pub(crate) mod searxng;

use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::mention::Mention;
use crate::net::{EgressGuard, FetchRequest, FetchResponse};
use crate::registry::{parse, spec_of};
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;
use hob_core::domain::text::{cut, one_line};
use hob_core::domain::tools::{Assessment, Risk, ToolFacts};

/// How many results there are where nobody says.
const COUNT: usize = 6;
/// The most results.
const COUNT_MAX: usize = 15;
/// The most characters of a query, of a title, of a snippet.
const QUERY_CHARS_MAX: usize = 400;
const TITLE_CHARS_MAX: usize = 150;
const SNIPPET_CHARS_MAX: usize = 300;
/// A word that is longer is not an ordinary one.
const WORD_CHARS_MAX: usize = 24;
/// A number that is longer may be somebody's.
const DIGITS_MAX: usize = 4;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    query: String,
    /// How many results, at most 15.
    count: Option<usize>,
}

/// Who searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// DuckDuckGo's page for browsers without scripts.
    DuckDuckGo,
    /// Brave's API.
    Brave,
    SearXng,
}

/// The service, and how it is asked.
#[derive(Debug, Clone)]
pub struct SearchService {
    pub backend: Backend,
    pub base_url: Url,
    /// The key, where it needs one.
    pub api_key: Option<Secret>,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub title: String,
    pub url: String,
    /// Some words of it.
    pub(crate) snippet: String,
}

/// What a service answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchOutcome {
    /// Results, perhaps none.
    Hits(Vec<Hit>),
    /// It wants to know whether a person asks, or asks too often; it may answer later.
    Busy(String),
    /// It does not answer; why, and what can be done.
    Refused(String),
}

/// The tool.
pub struct WebSearch {
    spec: ToolSpec,
    guard: EgressGuard,
    service: SearchService,
}

impl WebSearch {
    /// Asks this service through `guard`, which lets through to it wherever it is: its owner named it.
    pub fn new(guard: &EgressGuard, service: SearchService) -> Self {
        let spec = spec_of::<Arguments>("web_search", "Searches the web.", true).of("web", Role::User);
        let facts = ToolFacts { risk: Risk::Send, ..ToolFacts::default() };
        Self { spec: spec.with(facts), guard: guard.allowing_host(&service.base_url), service }
    }

    async fn search(&self, query: &str, count: usize) -> Outcome {
        let Some(request) = self.service.request(query, count) else {
            return Outcome::Error("The search service is not set up rightly: its owner has to look.".to_owned());
        };
        let answer = match self.guard.send(request).await {
            Ok(answer) => answer,
            Err(error) => return error.outcome(),
        };
        let source = OriginSource::new(Origin::Web, &format!("a search for {query}"));
        let outcome = match self.service.read(&answer) {
            SearchOutcome::Hits(hits) => Outcome::Text(list(query, hits, count)),
            SearchOutcome::Busy(why) => Outcome::Transient(why),
            SearchOutcome::Refused(why) => Outcome::Error(why),
        };
        outcome.from(source)
    }
}

impl SearchService {
    fn request(&self, query: &str, count: usize) -> Option<FetchRequest> {
        let (path, parameters) = match self.backend {
            Backend::DuckDuckGo => ("html/", vec![("q", query.to_owned())]),
            Backend::Brave => ("res/v1/web/search", vec![("q", query.to_owned()), ("count", count.to_string())]),
            Backend::SearXng => ("search", vec![("q", query.to_owned()), ("format", "json".to_owned())]),
        };
        let base = self.base_url.as_str().trim_end_matches('/');
        let mut url = Url::parse(&format!("{base}/{path}")).ok()?;
        url.query_pairs_mut().extend_pairs(parameters);
        let mut headers = HeaderMap::new();
        if let (Backend::Brave, Some(key)) = (self.backend, &self.api_key) {
            let mut value = HeaderValue::from_str(key.expose()).ok()?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static("x-subscription-token"), value);
            headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static("application/json"));
        }
        Some(FetchRequest { headers, ..FetchRequest::get(url) })
    }

    fn read(&self, answer: &FetchResponse) -> SearchOutcome {
        let body = String::from_utf8_lossy(&answer.body);
        match self.backend {
            Backend::DuckDuckGo => duckduckgo::read(answer.status, &body),
            Backend::Brave => brave::read(answer.status, &body),
            Backend::SearXng => searxng::read(answer.status, &body),
        }
    }
}

#[async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, is_mentioned: &MentionCheck<'_>) -> Assessment {
        let query = invocation.arguments["query"].as_str().unwrap_or_default();
        if query.split(|c: char| !c.is_alphanumeric()).all(|word| is_ordinary(word, is_mentioned)) {
            return Assessment::usual(Risk::Read);
        }
        let reasons = vec!["it tells the search service words that nobody said".to_owned()];
        Assessment { risk: Risk::Send, reasons, ..Assessment::default() }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { query, count } = parse(&self.spec, invocation.arguments)?;
        let query = one_line(&query);
        if query.is_empty() || query.chars().count() > QUERY_CHARS_MAX {
            return Err(Outcome::Error(format!("A query has 1 to {QUERY_CHARS_MAX} characters.")));
        }
        Ok(self.search(&query, count.unwrap_or(COUNT).clamp(1, COUNT_MAX)).await)
    }
}

/// A word of letters or a short number (a year, a size) that was heard. Little words count like others: a long one can be
/// spelt in them.
fn is_ordinary(word: &str, is_mentioned: &MentionCheck<'_>) -> bool {
    let chars = word.chars().count();
    let digits = word.chars().all(|c| c.is_ascii_digit()) && chars <= DIGITS_MAX;
    let letters = word.chars().all(char::is_alphabetic) && chars <= WORD_CHARS_MAX;
    chars == 0 || ((digits || letters) && is_mentioned(&Mention::Word(word)))
}

/// The results, numbered.
fn list(query: &str, hits: Vec<Hit>, count: usize) -> String {
    if hits.is_empty() {
        return format!("Nothing was found for {query:?}.");
    }
    let short = |text: &str, chars_max: usize| {
        let (text, _) = hob_http::page::characters::strip_invisible(text);
        cut(&one_line(&text), chars_max)
    };
    let one = |(index, hit): (usize, Hit)| {
        let lines = [short(&hit.title, TITLE_CHARS_MAX), hit.url, short(&hit.snippet, SNIPPET_CHARS_MAX)];
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        format!("{}. {}", index + 1, lines.join("\n   "))
    };
    hits.into_iter().take(count).enumerate().map(one).collect::<Vec<_>>().join("\n")
}

/// An address that can be shown as a result.
fn shown_url(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

#[cfg(test)]
mod tests;
