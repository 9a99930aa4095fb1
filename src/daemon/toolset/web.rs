//! The tools that go out to the network, all through one guard.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName};
use url::Url;

use crate::config::Config;
use crate::config::http::HttpConfig;
use crate::config::web::{SearchConfig, SearchKind, WebConfig};
use crate::domain::network::NamedPlace;
use crate::domain::secret::Secret;
use crate::policy::net::Allowed;
use crate::tool::http_request::{HttpRequest, Profile};
use crate::tool::net::Guard;
use crate::tool::net::resolve::SystemResolver;
use crate::tool::registry::Registry;
use crate::tool::web_fetch::WebFetch;
use crate::tool::web_search::{Backend, Service, WebSearch};

/// The way out to the network, as configured.
pub(in crate::daemon) fn guard(config: &WebConfig) -> Guard {
    Guard::new(Allowed::new(places(&config.allow)), Arc::new(SystemResolver))
}

/// With the web's tools.
pub(super) fn add(registry: Registry, config: &Config) -> Registry {
    let (guard, chars_max) = (guard(&config.web), config.agent.tool_output_chars_max);
    let profiles: BTreeMap<String, Profile> =
        config.http.iter().filter_map(|(name, of)| Some((name.clone(), profile(of)?))).collect();
    let registry = match service(&config.web.search) {
        Some(service) => registry.with(Arc::new(WebSearch::new(&guard, service))),
        None => registry,
    };
    registry
        .with(Arc::new(WebFetch::new(guard.clone(), chars_max)))
        .with(Arc::new(HttpRequest::new(guard, profiles, chars_max)))
}

/// What was found valid names a place.
fn places(texts: &[String]) -> Vec<NamedPlace> {
    texts.iter().filter_map(|text| NamedPlace::parse(text).ok()).collect()
}

fn service(config: &SearchConfig) -> Option<Service> {
    let (backend, own) = match config.kind {
        SearchKind::Duckduckgo => (Backend::DuckDuckGo, Some("https://html.duckduckgo.com")),
        SearchKind::Brave => (Backend::Brave, Some("https://api.search.brave.com")),
        SearchKind::Searxng => (Backend::SearXng, None),
    };
    let base_url = Url::parse(config.base_url.as_deref().or(own)?).ok()?;
    Some(Service { backend, base_url, api_key: config.api_key.clone() })
}

/// Credentials, with every spelling of them that an answer could repeat.
fn profile(config: &HttpConfig) -> Option<Profile> {
    let places = places(&config.hosts);
    let of = |name, value: String, secrets: &[&str]| {
        let secrets = secrets.iter().map(|secret| Secret::new((*secret).to_owned())).collect();
        Some(Profile { places, name, value: Secret::new(value), secrets })
    };
    if let Some(token) = &config.bearer {
        let token = token.expose();
        return of(AUTHORIZATION, format!("Bearer {token}"), &[token]);
    }
    if let Some(basic) = &config.basic {
        let (plain, packed) = (basic.expose(), STANDARD.encode(basic.expose()));
        let password = plain.split_once(':').map_or("", |(_, password)| password);
        return of(AUTHORIZATION, format!("Basic {packed}"), &[plain, &packed, password]);
    }
    let (name, value) = config.header.as_ref().zip(config.value.as_ref())?;
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    of(name, value.expose().to_owned(), &[value.expose()])
}
