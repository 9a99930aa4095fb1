//! `[web]`: what of the network Hob's tools may reach, and who searches it for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::network::NamedPlace;
use hob_core::domain::secret::Secret;

/// What of the network Hob's tools may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<WebConfig>)]
pub struct WebConfig {
    /// Private places that may be asked, such as `192.168.1.0/24` or `nas.local:5000`: addresses, ranges of them or names,
    /// each with a port or for every one. A range opens what is written as an address, a name itself alone. Calls there
    /// ask for approval.
    #[schemars(length(max = 100), inner(length(min = 1, max = 300)))]
    pub allow: Vec<String>,
    /// Who searches the web.
    pub search: SearchConfig,
}

/// Who searches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// DuckDuckGo, without a key
    #[default]
    Duckduckgo,
    /// Brave's API, with a key
    Brave,
    /// a SearXNG at base_url, which must answer in JSON
    Searxng,
    /// nobody: the web is not searched
    None,
}

/// Who searches the web.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<SearchConfig>)]
pub struct SearchConfig {
    /// Which service.
    #[schemars(extend("x-goes" = true))]
    pub kind: SearchKind,
    /// Its key; brave needs one.
    #[schemars(length(min = 1, max = 1000), example = &"BSA-example")]
    pub api_key: Option<Secret>,
    /// The server, if it is not the service's own; searxng needs it.
    #[schemars(length(min = 1, max = 1000), example = &"http://127.0.0.1:8888")]
    #[schemars(extend("x-goes" = true))]
    pub base_url: Option<String>,
}

impl WebConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (index, text) in self.allow.iter().enumerate() {
            found.extend(no_place(&key_path::item("allow", index), text));
        }
        found.extend(self.search.validate().into_iter().map(|finding| finding.within("search")));
        found
    }
}

impl SearchConfig {
    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        found.extend(self.base_url.as_deref().and_then(|url| values::check_http_url("base_url", url)));
        found.extend(self.api_key.as_ref().and_then(|key| values::header_secret("api_key", key.expose())));
        if self.kind == SearchKind::Brave && self.api_key.is_none() {
            let why = "is missing, expected Brave's key, because kind is brave";
            found.push(Finding::new("api_key", why, "get one at https://brave.com/search/api/").with("kind"));
        }
        if self.kind == SearchKind::Searxng && self.base_url.is_none() {
            let why = "is missing, expected the server's URL, because kind is searxng";
            let fix = "for example `base_url = \"http://127.0.0.1:8888\"`";
            found.push(Finding::new("base_url", why, fix).with("kind"));
        }
        found
    }
}

/// Finds what keeps `text` from naming a place on the network.
pub(super) fn no_place(key: &str, text: &str) -> Option<Finding> {
    let why = "names no host and no range of addresses";
    let fix = "for example `192.168.1.0/24`, `nas.local` or `nas.local:5000`";
    NamedPlace::parse(text).is_err().then(|| Finding::new(key, why, fix))
}
