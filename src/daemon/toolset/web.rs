//! The tools that go out to the network, all through one guard.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName};
use url::Url;

use crate::daemon::toolset::{self, ToolDependencies};
use hob_config::http::{HttpConfig, HttpKind};
use hob_config::web::{SearchConfig, SearchKind, WebConfig};
use hob_core::domain::network::NamedPlace;
use hob_core::domain::secret::Secret;
use hob_core::policy::net::AllowedPlaces;
use hob_tools::http_request::{CredentialProfile, HttpRequest};
use hob_tools::net::EgressGuard;
use hob_tools::net::resolve::SystemResolver;
use hob_tools::registry::Registry;
use hob_tools::schedule::watch::WatchPage;
use hob_tools::web_fetch::WebFetch;
use hob_tools::web_search::{Backend, SearchService, WebSearch};

/// The way out to the network, as configured.
pub(in crate::daemon) fn guard(config: &WebConfig) -> EgressGuard {
    EgressGuard::new(AllowedPlaces::new(places(&config.allow)), Arc::new(SystemResolver))
}

/// With the web's tools.
pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    let config = dependencies.config;
    let (guard, chars_max) = (guard(&config.web), config.agent.tool_output_chars_max);
    let profiles: BTreeMap<String, CredentialProfile> =
        config.http.iter().filter_map(|(name, of)| Some((name.clone(), profile(of)?))).collect();
    let registry = match service(&config.web.search) {
        Some(service) => registry.with(Arc::new(WebSearch::new(&guard, service))),
        None => registry,
    };
    registry
        .with(Arc::new(WatchPage::new(toolset::schedules(dependencies), guard.clone())))
        .with(Arc::new(WebFetch::new(guard.clone(), chars_max)))
        .with(Arc::new(HttpRequest::new(guard, profiles, chars_max)))
}

/// What was found valid names a place.
pub(super) fn places(texts: &[String]) -> Vec<NamedPlace> {
    texts.iter().filter_map(|text| NamedPlace::parse(text).ok()).collect()
}

fn service(config: &SearchConfig) -> Option<SearchService> {
    let (backend, own) = match config.kind {
        SearchKind::Duckduckgo => (Backend::DuckDuckGo, Some("https://html.duckduckgo.com")),
        SearchKind::Brave => (Backend::Brave, Some("https://api.search.brave.com")),
        SearchKind::Searxng => (Backend::SearXng, None),
        SearchKind::None => return None,
    };
    let base_url = Url::parse(config.base_url.as_deref().or(own)?).ok()?;
    Some(SearchService { backend, base_url, api_key: config.api_key.clone() })
}

/// Credentials, with every spelling of them that an answer could repeat.
fn profile(config: &HttpConfig) -> Option<CredentialProfile> {
    let secret = config.secret.expose();
    let packed = STANDARD.encode(secret);
    let (name, value, spellings) = match config.kind {
        HttpKind::Bearer => (AUTHORIZATION, format!("Bearer {secret}"), vec![secret]),
        HttpKind::Header => (HeaderName::from_bytes(config.header.as_bytes()).ok()?, secret.to_owned(), vec![secret]),
        HttpKind::Basic => {
            let password = secret.split_once(':').map_or("", |(_, password)| password);
            (AUTHORIZATION, format!("Basic {packed}"), vec![secret, &packed, password])
        }
    };
    let secrets = spellings.into_iter().map(|spelling| Secret::new(spelling.to_owned())).collect();
    Some(CredentialProfile { places: places(&config.hosts), name, value: Secret::new(value), secrets })
}
