//! Brave's search API: JSON, with a key.

use serde::Deserialize;

use crate::web_search::{Hit, SearchOutcome, shown_url};
use hob_http::page;

#[derive(Deserialize)]
struct Reply {
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    #[serde(default)]
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    title: String,
    url: String,
    #[serde(default)]
    description: String,
}

#[derive(Default, Deserialize)]
struct Refusal {
    error: Option<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    code: String,
}

/// What it answers.
pub(crate) fn read(status: u16, body: &str) -> SearchOutcome {
    let code = || serde_json::from_str::<Refusal>(body).ok().and_then(|refusal| refusal.error).map(|error| error.code);
    match status {
        200 => match serde_json::from_str::<Reply>(body) {
            Ok(reply) => SearchOutcome::Hits(
                reply.web.map(|web| web.results).unwrap_or_default().iter().filter_map(hit).collect(),
            ),
            Err(error) => SearchOutcome::Refused(format!("Brave's answer cannot be read: {error}.")),
        },
        429 => SearchOutcome::Busy("Brave says that the searches of its plan are used up for now.".to_owned()),
        500..=599 => SearchOutcome::Busy(format!("Brave answers {status}.")),
        401 | 403 | 422 if code().is_none_or(|code| code.contains("TOKEN")) => SearchOutcome::Refused(
            "Brave does not accept the key: the owner has to look at `api_key` under [web.search].".to_owned(),
        ),
        status => {
            let code = code().filter(|code| code.len() <= 60).map(|code| format!(" ({code})")).unwrap_or_default();
            SearchOutcome::Refused(format!("Brave answers {status}{code}."))
        }
    }
}

/// Titles and descriptions are HTML.
fn hit(entry: &Entry) -> Option<Hit> {
    Some(Hit {
        title: page::words(&entry.title),
        url: shown_url(&entry.url)?,
        snippet: page::words(&entry.description),
    })
}
