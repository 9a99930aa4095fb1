//! Which requests are a visitor's own, as far as their headers tell: a table without I/O.
//!
//! A browser sends cookies with whatever any page has it ask. So whoever shows a cookie must come from the page itself, and
//! the page must be asked under a name of its own, lest a stranger's name be pointed at this machine.

use std::net::{IpAddr, SocketAddr};

/// Under which names the page is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageHosts {
    /// Hosts, with the port if it is not the usual one, in small letters.
    hosts: Vec<String>,
    /// The public address is reached over TLS.
    pub secure: bool,
}

impl PageHosts {
    /// Those of a page that listens there, and of its public address.
    pub fn new(listens: SocketAddr, public: Option<&url::Url>) -> Self {
        let port = listens.port();
        let mut hosts: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].iter().map(|host| with_port(host, port)).collect();
        if !listens.ip().is_unspecified() {
            let host = match listens.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            };
            hosts.push(with_port(&host, port));
        }
        if let Some(host) = public.and_then(url::Url::host_str) {
            hosts
                .push(public.and_then(url::Url::port).map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")));
        }
        Self { hosts, secure: public.is_some_and(|url| url.scheme() == "https") }
    }

    /// Is it one of them, or the very address at which a request came in? Nobody else's name can be an address.
    pub(crate) fn accepts_host(&self, host: &str, reached: Option<SocketAddr>) -> bool {
        self.know(host) || reached.is_some_and(|at| is_address(host, at))
    }

    pub(crate) fn know(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host)
    }
}

/// Whether the host is that address.
pub(crate) fn is_address(host: &str, at: SocketAddr) -> bool {
    let host = host.parse::<SocketAddr>().or_else(|_no_port| host.parse().map(|ip: IpAddr| (ip, 80).into()));
    host.is_ok_and(|host| (host.ip(), host.port()) == (at.ip().to_canonical(), at.port()))
}

/// How a server is called that listens at this port.
pub(crate) fn with_port(host: &str, port: u16) -> String {
    if port == 80 { host.to_owned() } else { format!("{host}:{port}") }
}

/// How somebody shows who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// Not at all.
    Nothing,
    /// By a cookie, which a browser adds by itself.
    Cookie,
    /// By a key in a header, which only the program itself can have added.
    Key,
}

/// A request, as far as it is judged.
#[derive(Debug, Clone, Copy)]
pub struct RequestFacts<'a> {
    /// `Host`.
    pub host: Option<&'a str>,
    /// `Origin`.
    pub origin: Option<&'a str>,
    /// `Sec-Fetch-Site`.
    pub site: Option<&'a str>,
    /// It changes something, or its answer goes on and on.
    pub matters: bool,
    /// How they show who they are.
    pub shown: CredentialKind,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OriginRefusal {
    /// The page is asked under a name that is not its own.
    #[error("Hob's page does not answer to this host name; set [server] public_url to the name you use")]
    Host,
    /// Another page has the browser ask.
    #[error("the request does not come from Hob's own page")]
    Origin,
}

/// Whether a request is its visitor's own.
///
/// # Errors
/// Why it is not answered.
pub fn judge(places: &PageHosts, asked: &RequestFacts<'_>) -> Result<(), OriginRefusal> {
    let host = asked.host.ok_or(OriginRefusal::Host)?;
    if !places.know(host) {
        return Err(OriginRefusal::Host);
    }
    if asked.shown == CredentialKind::Key || !asked.matters {
        return Ok(());
    }
    let own = match (asked.origin, asked.site) {
        (Some(origin), _) => is_own_origin(origin, host),
        // Browsers leave `Origin` out of a page's own GET, and tell the site instead.
        (None, Some(site)) => site == "same-origin" || site == "none",
        (None, None) => false,
    };
    if own { Ok(()) } else { Err(OriginRefusal::Origin) }
}

/// Whether pages of that origin are those of the host.
pub(crate) fn is_own_origin(origin: &str, host: &str) -> bool {
    let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> PageHosts {
        PageHosts::new("127.0.0.1:8787".parse().unwrap(), Some(&"https://hob.example.org/".parse().unwrap()))
    }

    #[test]
    fn n8_only_the_pages_own_requests_count() {
        let own = "http://127.0.0.1:8787";
        type Given = Option<&'static str>;
        type Row = (&'static str, Given, Given, bool, CredentialKind, Result<(), OriginRefusal>);
        let table: [Row; 17] = [
            ("127.0.0.1:8787", None, None, false, CredentialKind::Nothing, Ok(())),
            ("LOCALHOST:8787", None, None, false, CredentialKind::Cookie, Ok(())),
            ("[::1]:8787", None, Some("cross-site"), false, CredentialKind::Cookie, Ok(())),
            ("hob.example.org", Some("https://hob.example.org"), None, true, CredentialKind::Cookie, Ok(())),
            ("127.0.0.1:8787", Some(own), None, true, CredentialKind::Cookie, Ok(())),
            (
                "127.0.0.1:8787",
                Some("http://127.0.0.1:9999"),
                None,
                true,
                CredentialKind::Cookie,
                Err(OriginRefusal::Origin),
            ),
            (
                "127.0.0.1:8787",
                Some("null"),
                Some("same-origin"),
                true,
                CredentialKind::Cookie,
                Err(OriginRefusal::Origin),
            ),
            (
                "127.0.0.1:8787",
                Some("https://evil.example"),
                None,
                true,
                CredentialKind::Nothing,
                Err(OriginRefusal::Origin),
            ),
            ("127.0.0.1:8787", None, Some("same-origin"), true, CredentialKind::Cookie, Ok(())),
            ("127.0.0.1:8787", None, Some("same-site"), true, CredentialKind::Cookie, Err(OriginRefusal::Origin)),
            ("127.0.0.1:8787", None, Some("cross-site"), true, CredentialKind::Cookie, Err(OriginRefusal::Origin)),
            ("127.0.0.1:8787", None, None, true, CredentialKind::Cookie, Err(OriginRefusal::Origin)),
            ("127.0.0.1:8787", None, None, true, CredentialKind::Key, Ok(())),
            ("evil.example", None, None, false, CredentialKind::Nothing, Err(OriginRefusal::Host)),
            (
                "evil.example:8787",
                Some("http://evil.example:8787"),
                None,
                true,
                CredentialKind::Cookie,
                Err(OriginRefusal::Host),
            ),
            ("evil.example", None, None, true, CredentialKind::Key, Err(OriginRefusal::Host)),
            ("127.0.0.1", None, None, false, CredentialKind::Nothing, Err(OriginRefusal::Host)),
        ];
        for (host, origin, site, matters, shown, expected) in table {
            let asked = RequestFacts { host: Some(host), origin, site, matters, shown };
            assert_eq!(judge(&places(), &asked), expected, "{asked:?}");
        }
        let nowhere = RequestFacts { host: None, origin: None, site: None, matters: false, shown: CredentialKind::Key };
        assert_eq!(judge(&places(), &nowhere), Err(OriginRefusal::Host));
    }

    #[test]
    fn n8_a_look_is_asked_for_under_hobs_names_or_where_it_came_in() {
        let reached = Some("192.168.1.5:8787".parse().unwrap());
        for (host, is_own) in [
            ("127.0.0.1:8787", true),
            ("hob.example.org", true),
            ("192.168.1.5:8787", true),
            ("192.168.1.5", false),
            ("192.168.1.6:8787", false),
            ("evil.example:8787", false),
            ("evil", false),
            ("", false),
        ] {
            assert_eq!(places().accepts_host(host, reached), is_own, "{host}");
        }
        assert!(!places().accepts_host("192.168.1.5:8787", None));
    }

    #[test]
    fn n8_a_page_is_reached_where_it_listens() {
        let hosts = |listens: &str, public: Option<&str>| {
            let public = public.map(|url| url.parse().unwrap());
            PageHosts::new(listens.parse().unwrap(), public.as_ref())
        };
        assert!(hosts("192.168.1.5:80", None).know("192.168.1.5"));
        assert!(hosts("192.168.1.5:80", None).know("localhost"));
        assert!(hosts("[fd00::1]:8787", None).know("[fd00::1]:8787"));
        assert!(!hosts("0.0.0.0:8787", None).know("0.0.0.0:8787"));
        assert!(hosts("0.0.0.0:8787", Some("http://house:8080")).know("house:8080"));
        assert!(!hosts("0.0.0.0:8787", Some("http://house:8080")).secure);
    }
}
