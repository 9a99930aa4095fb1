//! The way out to the network, for addresses that a model or a page chose.
//!
//! Never: a connection to an address that was not checked, a second look-up of a name, a proxy from the environment, a
//! cookie, or a redirect that is followed unseen. What the model itself is asked by goes another way (`model::http`).
//! Start at [`EgressGuard::send`].

mod body;
pub(crate) mod disclosure;
pub mod error;
pub(crate) mod network_probe;
pub mod resolve;
#[cfg(test)]
pub(crate) mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response};
use url::{Host, Url};

use crate::net::error::NetError;
use crate::net::network_probe::{NetworkProbe, SystemNetworkProbe};
use crate::net::resolve::{PinnedResolver, Resolver};
use hob_core::domain::network::NamedPlace;
use hob_core::policy::net::{AllowedAs, AllowedPlaces};

/// The most bytes of an address.
const ADDRESS_BYTES_MAX: usize = 8_000;
/// The most headers of an answer, and the most bytes of them.
const HEADERS_MAX: usize = 128;
const HEADER_BYTES_MAX: u32 = 64 * 1024;
/// Who asks, to the servers.
const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; Hob/", env!("CARGO_PKG_VERSION"), ")");

/// How long a request may take and how much of its answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands.
    pub connect: Duration,
    /// For everything, redirects included.
    pub total: Duration,
    /// The bytes that are read, and that they may become when they are unpacked.
    pub bytes_max: usize,
    /// The redirects that are followed; none are: a redirect is an answer like another.
    pub redirects_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(30),
            bytes_max: 5_000_000,
            redirects_max: 5,
        }
    }
}

/// Credentials, and the only places they go to.
#[derive(Clone)]
pub struct Credentials {
    pub places: Vec<NamedPlace>,
    pub name: HeaderName,
    /// Its value, which is secret.
    pub value: HeaderValue,
}

#[derive(Clone)]
pub struct FetchRequest {
    pub method: Method,
    /// Where to: made by [`address`].
    pub url: Url,
    /// More headers. They go to this URL's origin alone.
    pub headers: HeaderMap,
    /// What is sent.
    pub body: Option<Vec<u8>>,
    /// Credentials, for the places that they are for.
    pub credentials: Option<Credentials>,
}

impl FetchRequest {
    /// To look at something.
    pub fn get(url: Url) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: None, credentials: None }
    }
}

/// What came back.
#[derive(Debug)]
pub struct FetchResponse {
    /// Where from, after redirects.
    pub url: Url,
    pub status: u16,
    pub headers: HeaderMap,
    /// The body, unpacked.
    pub body: Vec<u8>,
    /// There was more of it than is read.
    pub cut: bool,
}

impl FetchResponse {
    /// What the server says that it is: type and subtype in lower case, and the whole header.
    pub fn content_type(&self) -> (String, &str) {
        let whole = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        (essence, whole)
    }
}

/// The address that this text names, if it is one that may be asked at all.
pub fn address(text: &str) -> Result<Url, NetError> {
    let no = |why: &str| Err(NetError::Address(why.to_owned()));
    if text.len() > ADDRESS_BYTES_MAX {
        return no("it is too long");
    }
    let mut url = match Url::parse(text.trim()) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) => return no("it must begin with https:// or http://"),
        Err(error) => return no(&error.to_string()),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return no("only https:// and http:// are fetched");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return no("it has a user name or a password in it");
    }
    url.set_fragment(None);
    Ok(url)
}

/// Lets requests out, each to addresses that were checked.
#[derive(Clone)]
pub struct EgressGuard {
    allowed: Arc<AllowedPlaces>,
    resolver: Arc<dyn Resolver>,
    surroundings: Arc<dyn NetworkProbe>,
    limits: Limits,
}

/// Where a URL leads: what may be connected to.
struct Target {
    addresses: Vec<SocketAddr>,
    open: AllowedAs,
}

impl EgressGuard {
    /// A guard that lets through to the public network and to what is allowed besides.
    pub fn new(allowed: AllowedPlaces, resolver: Arc<dyn Resolver>) -> Self {
        let surroundings = Arc::new(SystemNetworkProbe);
        Self { allowed: Arc::new(allowed), resolver, surroundings, limits: Limits::default() }
    }

    /// The same, somewhere else.
    #[cfg(test)]
    fn with_local_networks(self, surroundings: Arc<dyn NetworkProbe>) -> Self {
        Self { surroundings, ..self }
    }

    /// The same, with other limits.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same, that lets through to the host of `url` as well: one that the operator named.
    pub fn allowing_host(&self, url: &Url) -> Self {
        let place = url.host_str().zip(url.port_or_known_default());
        let place = place.and_then(|(host, port)| NamedPlace::parse(&format!("{host}:{port}")).ok());
        let Some(place) = place else { return self.clone() };
        Self { allowed: Arc::new(AllowedPlaces::clone(&self.allowed).with(place)), ..self.clone() }
    }

    /// What may be allowed besides the public network.
    pub fn allowed(&self) -> &AllowedPlaces {
        &self.allowed
    }

    /// Asks, and follows the redirects of what only looks (GET and HEAD). Each hop is resolved once and checked.
    ///
    /// # Errors
    /// When it may not be asked, or does not answer.
    pub async fn send(&self, query: FetchRequest) -> Result<FetchResponse, NetError> {
        let total = self.limits.total;
        let late = |_elapsed| NetError::TimedOut { host: host_name(&query.url), secs: total.as_secs() };
        tokio::time::timeout(total, self.follow(&query)).await.map_err(late)?
    }

    /// Where whoever opens a connection of their own to `url` may show these credentials: addresses that were checked, none if
    /// they may not.
    ///
    /// # Errors
    /// When it may not be asked at all.
    pub async fn addresses_for(&self, credentials: &Credentials, url: &Url) -> Result<Vec<SocketAddr>, NetError> {
        let target = self.target(url).await?;
        Ok(if credentials.may_be_sent_to(url, &target) { target.addresses } else { Vec::new() })
    }

    async fn follow(&self, query: &FetchRequest) -> Result<FetchResponse, NetError> {
        let mut url = query.url.clone();
        let mut before: Option<AllowedAs> = None;
        let most = self.limits.redirects_max;
        for _hop in 0..=most {
            let target = self.target(&url).await?;
            if before == Some(AllowedAs::ToAll) && target.open == AllowedAs::ByName {
                return Err(NetError::Inward(host_name(&url)));
            }
            let response = self.send_once(query, &url, &target).await?;
            let next = if most == 0 { None } else { redirected(query, &url, &response)? };
            match next {
                Some(next) => url = next,
                None => return self.answer(url, response).await,
            }
            before = Some(target.open);
        }
        Err(NetError::Redirects(most))
    }

    /// Resolves a URL's host, once, and checks every address.
    async fn target(&self, url: &Url) -> Result<Target, NetError> {
        let named = || host_name(url);
        let nowhere = || NetError::Address("it names no host".to_owned());
        let (host, port) = url.host().zip(url.port_or_known_default()).ok_or_else(nowhere)?;
        let found = match host {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(name) => {
                let unknown = |error: std::io::Error| NetError::Unresolved { host: named(), why: error.to_string() };
                self.resolver.resolve(name).await.map_err(unknown)?
            }
        };
        // Networks come and go: what is near is looked up for each connection.
        let near = self.surroundings.now();
        let mut addresses = Vec::new();
        let (mut open, mut barred) = (AllowedAs::ToAll, None);
        for address in found {
            match self.allowed.check(&near, &host, address, port) {
                Ok(how) => {
                    addresses.push(SocketAddr::new(address, port));
                    open = if how == AllowedAs::ByName { how } else { open };
                }
                Err(why) => barred = Some(why),
            }
        }
        match (addresses.is_empty(), barred) {
            (false, _) => Ok(Target { addresses, open }),
            (true, Some(why)) => Err(NetError::Barred { host: named(), why }),
            (true, None) => Err(NetError::Unresolved { host: named(), why: "it has no address".to_owned() }),
        }
    }

    /// One request, to what was checked and nothing else.
    async fn send_once(&self, query: &FetchRequest, url: &Url, target: &Target) -> Result<Response, NetError> {
        let client = hob_http::builder(self.limits.connect)
            .no_proxy()
            .referer(false)
            .user_agent(USER_AGENT)
            .pool_max_idle_per_host(0)
            .http1_max_headers(HEADERS_MAX)
            .http2_max_header_list_size(HEADER_BYTES_MAX)
            .dns_resolver(PinnedResolver::new(url, &target.addresses))
            .build();
        let broken = |error: &reqwest::Error| NetError::of(host_name(url), error);
        let client = client.map_err(|error| broken(&error))?;
        let mut request = client.request(query.method.clone(), url.clone()).header(ACCEPT_ENCODING, "gzip");
        if url.origin() == query.url.origin() {
            request = request.headers(query.headers.clone());
            if let Some(body) = &query.body {
                request = request.body(body.clone());
            }
        }
        if let Some(Credentials { name, value, .. }) =
            query.credentials.as_ref().filter(|c| c.may_be_sent_to(url, target))
        {
            request = request.header(name, value);
        }
        request.send().await.map_err(|error| broken(&error))
    }

    async fn answer(&self, url: Url, mut response: Response) -> Result<FetchResponse, NetError> {
        let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
        let read = hob_http::body_start(response, self.limits.bytes_max).await;
        let (body, cut) = read.map_err(|error| NetError::of(host_name(&url), &error))?;
        let coding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (body, cut) = body::unpack(coding, body, cut, self.limits.bytes_max)
            .map_err(|why| NetError::Broken { host: host_name(&url), why: why.to_string() })?;
        Ok(FetchResponse { url, status, headers, body, cut })
    }
}

impl Credentials {
    /// May they go there? Only to their own places, and in the open only within the house.
    fn may_be_sent_to(&self, url: &Url, target: &Target) -> bool {
        let own = AllowedPlaces::new(self.places.clone());
        let place = url.host().zip(url.port_or_known_default());
        let sealed = url.scheme() == "https" || target.open == AllowedAs::ByName;
        sealed && place.is_some_and(|(host, port)| own.names(&host, port))
    }
}

/// Where the answer sends on to; none: it is the answer.
fn redirected(query: &FetchRequest, url: &Url, response: &Response) -> Result<Option<Url>, NetError> {
    let only_looks = matches!(query.method, Method::GET | Method::HEAD);
    let sends_on = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(to) = response.headers().get(LOCATION).filter(|_| only_looks && sends_on) else { return Ok(None) };
    let to = to.to_str().ok().and_then(|to| url.join(to).ok());
    let no_address = || NetError::Address("a redirect leads to what is not an address".to_owned());
    let next = address(to.ok_or_else(no_address)?.as_str())?;
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(NetError::Downgrade(host_name(&next)));
    }
    Ok(Some(next))
}

/// The host of a URL, in words.
fn host_name(url: &Url) -> String {
    url.host_str().unwrap_or("nowhere").to_owned()
}
