//! The protocol: one account's server, asked through Hob's own way out to the network.
//!
//! Never: a password to another host than the account's own (and those that its service is known to spread accounts over).
//! Start at [`Client`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use url::Url;

use crate::error::DavError;
use crate::reading;
use crate::xml::{self, Answer};
use hob_core::domain::network::NamedPlace;
use hob_core::domain::secret::Secret;
use hob_tools::net::{Credentials, EgressGuard, FetchRequest, FetchResponse, Limits};

/// The most bytes of an answer, and of all answers that one account gives to one question: an address book with its pictures.
pub(crate) const BYTES_MAX: usize = 20_000_000;
/// The longest path of a thing, in bytes.
const HREF_BYTES_MAX: usize = 1_000;
/// The most times that a request is sent on.
const HOPS_MAX: usize = 5;
/// The most things that are asked for by name at once.
const NAMED_MAX: usize = 100;
/// Services that keep accounts on hosts of their own beside the one that everybody is told: their names end alike.
const SPREAD: [&str; 1] = [".icloud.com"];

/// How a thing may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WritePrecondition<'a> {
    /// It must not be there.
    New,
    /// It must be as it was with this tag.
    As(&'a str),
}

/// A calendar's entry or a card, as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its path.
    pub href: String,
    /// What tells this state of it from others.
    pub etag: String,
    pub text: String,
}

/// An account's server.
#[derive(Clone)]
pub struct Client {
    guard: EgressGuard,
    /// Where the account begins.
    pub base: Url,
    authorization: HeaderValue,
}

impl Client {
    /// For this account. Its server may be in a private network: its owner named it.
    ///
    /// # Errors
    /// When name and password cannot be sent.
    pub fn new(guard: &EgressGuard, base: Url, user: &str, password: &Secret) -> Result<Self, DavError> {
        let packed = STANDARD.encode(format!("{user}:{}", password.expose()));
        let value = HeaderValue::from_str(&format!("Basic {packed}"));
        let mut authorization = value.map_err(|_unfit| DavError::Unauthorized(401))?;
        authorization.set_sensitive(true);
        Ok(Self { guard: guard.allowing_host(&base), base, authorization }.within(BYTES_MAX))
    }

    /// The same, that takes no more bytes of an answer.
    pub(crate) fn within(self, bytes_max: usize) -> Self {
        let limits = Limits { bytes_max, ..Limits::default() };
        Self { guard: self.guard.within(limits), ..self }
    }

    /// Where a path of the server's leads.
    pub(crate) fn url(&self, href: &str) -> Result<Url, DavError> {
        let url = self.base.join(href).map_err(|error| DavError::Unreadable(error.to_string()))?;
        if self.is_own(&url) {
            Ok(url)
        } else {
            Err(DavError::Elsewhere(url.host_str().unwrap_or("nowhere").to_owned()))
        }
    }

    /// May the password go there?
    fn is_own(&self, url: &Url) -> bool {
        let host = |url: &Url| url.host_str().unwrap_or_default().to_ascii_lowercase();
        let (own, other) = (host(&self.base), host(url));
        let spread = SPREAD.iter().any(|end| own.ends_with(end) && other.ends_with(end));
        let same = own == other && self.base.port_or_known_default() == url.port_or_known_default();
        (same || (spread && url.port().is_none())) && (url.scheme() == "https" || self.base.scheme() == url.scheme())
    }

    async fn send(
        &self,
        method: &str,
        url: Url,
        headers: HeaderMap,
        body: Option<String>,
    ) -> Result<FetchResponse, DavError> {
        let method = Method::from_bytes(method.as_bytes()).map_err(|error| DavError::Unreadable(error.to_string()))?;
        let mut url = url;
        for _hop in 0..HOPS_MAX {
            let place = url.host_str().zip(url.port_or_known_default());
            let place = place.and_then(|(host, port)| NamedPlace::parse(&format!("{host}:{port}")).ok());
            let value = self.authorization.clone();
            let credentials = Credentials { places: place.into_iter().collect(), name: AUTHORIZATION, value };
            let request = FetchRequest {
                method: method.clone(),
                url: url.clone(),
                headers: headers.clone(),
                body: body.clone().map(String::into_bytes),
                credentials: Some(credentials),
            };
            let answer = self.guard.send(request).await?;
            if answer.cut {
                return Err(DavError::Unreadable(format!("what the account has is longer than {BYTES_MAX} bytes")));
            }
            let to = answer.headers.get(reqwest::header::LOCATION).and_then(|to| to.to_str().ok());
            match (answer.status, to) {
                (301 | 302 | 307 | 308, Some(to)) => {
                    url = self.url(url.join(to).map_err(|error| DavError::Unreadable(error.to_string()))?.as_str())?;
                }
                _ => return Ok(answer),
            }
        }
        Err(DavError::Unreadable("it sends on and on".to_owned()))
    }

    async fn ask(&self, method: &str, url: Url, depth: &'static str, body: String) -> Result<Vec<Answer>, DavError> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("depth"), HeaderValue::from_static(depth));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml; charset=utf-8"));
        let answer = self.send(method, url, headers, Some(body)).await?;
        match DavError::of_status(answer.status) {
            Some(error) => Err(error),
            None => {
                let FetchResponse { body, url, .. } = answer;
                let mut answers = reading::read(move || xml::answers(&body)).await?;
                // A path of another host is one there.
                if url.origin() != self.base.origin() {
                    for one in &mut answers {
                        one.href = url.join(&one.href).map_or_else(|_| one.href.clone(), String::from);
                    }
                }
                Ok(answers)
            }
        }
    }

    /// What is there, and what the things below it are, where `depth` says so.
    pub(crate) async fn propfind(&self, url: Url, depth: &'static str, props: &str) -> Result<Vec<Answer>, DavError> {
        let body = format!("<?xml version=\"1.0\"?><d:propfind {SPACES}><d:prop>{props}</d:prop></d:propfind>");
        self.ask("PROPFIND", url, depth, body).await
    }

    /// What a collection has that fits the query, whole.
    pub(crate) async fn query(&self, kind: Kind, href: &str, filter: &str) -> Result<Vec<Resource>, DavError> {
        let (report, data, prefix) = (kind.query(), kind.data(), kind.prefix());
        let body = format!(
            "<?xml version=\"1.0\"?><{prefix}:{report} {SPACES}><d:prop><d:getetag/><{prefix}:{data}/></d:prop>\
             <{prefix}:filter>{filter}</{prefix}:filter></{prefix}:{report}>"
        );
        Ok(resources(self.ask("REPORT", self.url(href)?, "1", body).await?, data))
    }

    /// These things of a collection, whole; those that are not there are left out.
    pub(crate) async fn fetch(&self, kind: Kind, href: &str, hrefs: &[String]) -> Result<Vec<Resource>, DavError> {
        let (report, data, prefix) = (kind.multiget(), kind.data(), kind.prefix());
        let mut found = Vec::new();
        for some in hrefs.chunks(NAMED_MAX) {
            let named: String = some.iter().map(|href| format!("<d:href>{}</d:href>", xml::escaped(href))).collect();
            let body = format!(
                "<?xml version=\"1.0\"?><{prefix}:{report} {SPACES}><d:prop><d:getetag/><{prefix}:{data}/></d:prop>{named}</{prefix}:{report}>"
            );
            found.extend(resources(self.ask("REPORT", self.url(href)?, "1", body).await?, data));
        }
        Ok(found)
    }

    /// Writes an entry.
    pub(crate) async fn put(&self, href: &str, text: String, guard: WritePrecondition<'_>) -> Result<(), DavError> {
        let mut headers = guarded(guard)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/calendar; charset=utf-8"));
        self.change("PUT", href, headers, Some(text)).await
    }

    /// Takes an entry away.
    pub(crate) async fn delete(&self, href: &str, etag: &str) -> Result<(), DavError> {
        self.change("DELETE", href, guarded(WritePrecondition::As(etag))?, None).await
    }

    async fn change(&self, method: &str, href: &str, headers: HeaderMap, body: Option<String>) -> Result<(), DavError> {
        let answer = self.send(method, self.url(href)?, headers, body).await.map_err(DavError::of_change)?;
        DavError::of_status(answer.status).map_or(Ok(()), |error| Err(error.of_change()))
    }

    /// Does the server itself write to those who take part (RFC 6638)?
    pub(crate) async fn writes_letters(&self, href: &str) -> Result<bool, DavError> {
        let answer = self.send("OPTIONS", self.url(href)?, HeaderMap::new(), None).await?;
        let said = answer.headers.get_all("dav").iter().filter_map(|value| value.to_str().ok());
        Ok(said.flat_map(|value| value.split(',')).any(|word| word.trim() == "calendar-auto-schedule"))
    }
}

fn guarded(guard: WritePrecondition<'_>) -> Result<HeaderMap, DavError> {
    let mut headers = HeaderMap::new();
    let (name, value) = match guard {
        WritePrecondition::New => (IF_NONE_MATCH, "*"),
        WritePrecondition::As(etag) => (IF_MATCH, etag),
    };
    headers.insert(name, HeaderValue::from_str(value).map_err(|error| DavError::Unreadable(error.to_string()))?);
    Ok(headers)
}

fn resources(answers: Vec<Answer>, data: &str) -> Vec<Resource> {
    let resource = |answer: Answer| {
        let etag = answer.props.words(&["getetag"])?.to_owned();
        let text = answer.props.inner.into_iter().find(|inner| inner.name == data)?.text;
        Some(Resource { href: answer.href, etag, text })
    };
    answers.into_iter().filter(|answer| answer.href.len() <= HREF_BYTES_MAX).filter_map(resource).collect()
}

/// The namespaces of everything that is asked.
const SPACES: &str =
    "xmlns:d=\"DAV:\" xmlns:c=\"urn:ietf:params:xml:ns:caldav\" xmlns:a=\"urn:ietf:params:xml:ns:carddav\"";

/// Which of both is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Calendar,
    /// Address books.
    Cards,
}

impl Kind {
    /// Where a server is asked first where it begins.
    pub(crate) fn well_known(self) -> &'static str {
        match self {
            Self::Calendar => "/.well-known/caldav",
            Self::Cards => "/.well-known/carddav",
        }
    }

    /// The element that names where somebody's collections are.
    pub(crate) fn home_set(self) -> &'static str {
        match self {
            Self::Calendar => "calendar-home-set",
            Self::Cards => "addressbook-home-set",
        }
    }

    /// The element that says that it is such a collection.
    pub(crate) fn collection(self) -> &'static str {
        match self {
            Self::Calendar => "calendar",
            Self::Cards => "addressbook",
        }
    }

    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Calendar => "c",
            Self::Cards => "a",
        }
    }

    fn data(self) -> &'static str {
        match self {
            Self::Calendar => "calendar-data",
            Self::Cards => "address-data",
        }
    }

    fn query(self) -> &'static str {
        match self {
            Self::Calendar => "calendar-query",
            Self::Cards => "addressbook-query",
        }
    }

    fn multiget(self) -> &'static str {
        match self {
            Self::Calendar => "calendar-multiget",
            Self::Cards => "addressbook-multiget",
        }
    }
}
