//! A SearXNG of one's own: JSON, if its owner lets it answer so.

use serde::Deserialize;

use crate::web_search::{Hit, SearchOutcome, shown_url};

#[derive(Deserialize)]
struct Reply {
    results: Vec<Entry>,
    #[serde(default)]
    unresponsive_engines: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    title: String,
    url: String,
    content: Option<String>,
}

/// What it answers.
pub(crate) fn read(status: u16, body: &str) -> SearchOutcome {
    match status {
        200 => match serde_json::from_str::<Reply>(body) {
            Ok(reply) => hits(reply),
            Err(error) => SearchOutcome::Refused(format!("SearXNG's answer cannot be read: {error}.")),
        },
        403 => SearchOutcome::Refused(
            "SearXNG does not answer in JSON: its owner has to name `json` under `search.formats` in its settings."
                .to_owned(),
        ),
        429 | 500..=599 => SearchOutcome::Busy(format!("SearXNG answers {status}.")),
        status => SearchOutcome::Refused(format!("SearXNG answers {status}.")),
    }
}

fn hits(reply: Reply) -> SearchOutcome {
    if reply.results.is_empty() && !reply.unresponsive_engines.is_empty() {
        let silent: Vec<String> =
            reply.unresponsive_engines.iter().take(5).map(|(engine, why)| format!("{engine}: {why}")).collect();
        return SearchOutcome::Busy(format!(
            "SearXNG found nothing, as engines do not answer it ({}).",
            silent.join(", ")
        ));
    }
    let hit = |entry: Entry| {
        let url = shown_url(&entry.url)?;
        Some(Hit { title: entry.title, url, snippet: entry.content.unwrap_or_default() })
    };
    SearchOutcome::Hits(reply.results.into_iter().filter_map(hit).collect())
}
