//! Places on the network, as a person names them: a host or a range of addresses, and perhaps a port.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

/// A place on the network that somebody named: `192.168.1.0/24`, `nas.local:5000`, `[fd00::1]:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPlace {
    pub host: NamedHost,
    /// At this port alone; none: at each.
    pub port: Option<u16>,
}

/// The host of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedHost {
    /// Addresses; a single one is a range of one.
    Range(IpNet),
    /// A name, as a URL would have it: lower case, without a dot behind.
    Name(String),
}

/// It names no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is neither a host nor a range of addresses")]
pub struct PlaceParseError;

impl NamedPlace {
    /// The place that this text names.
    pub fn parse(text: &str) -> Result<Self, PlaceParseError> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(range) = bare.parse::<IpNet>() {
            return Ok(Self { host: NamedHost::Range(range.trunc()), port: None });
        }
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self { host: NamedHost::Range(address.into()), port: None });
        }
        if let Some((range, port)) = text.rsplit_once(':')
            && let Ok(range) = range.parse::<IpNet>()
        {
            let port = Some(port.parse().map_err(|_no_number| PlaceParseError)?);
            return Ok(Self { host: NamedHost::Range(range.trunc()), port });
        }
        Self::of_authority(text)
    }

    /// As a URL's authority is read: its rules for names and for odd spellings of addresses hold here too.
    fn of_authority(text: &str) -> Result<Self, PlaceParseError> {
        if text.contains(['/', '?', '#', '@', '\\', '%']) || text.chars().any(char::is_whitespace) {
            return Err(PlaceParseError);
        }
        // A scheme whose usual port nobody names, so that every port that is named is seen.
        let url = url::Url::parse(&format!("wss://{text}/")).map_err(|_no_host| PlaceParseError)?;
        let named = text.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let port = url.port().or(named);
        let host = match url.host().ok_or(PlaceParseError)? {
            url::Host::Domain(name) => NamedHost::Name(name.trim_end_matches('.').to_owned()),
            url::Host::Ipv4(address) => NamedHost::Range(IpAddr::V4(address).into()),
            url::Host::Ipv6(address) => {
                let inside = text.split_once(']').and_then(|(_, port)| port.strip_prefix(':'));
                let port = inside.map(str::parse).transpose().map_err(|_no_number| PlaceParseError)?;
                return Ok(Self { host: NamedHost::Range(IpAddr::V6(address).into()), port });
            }
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for NamedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            NamedHost::Range(range) if range.prefix_len() == range.max_prefix_len() => match range.addr() {
                IpAddr::V6(address) if self.port.is_some() => write!(f, "[{address}]")?,
                address => write!(f, "{address}")?,
            },
            NamedHost::Range(range) => write!(f, "{range}")?,
            NamedHost::Name(name) => f.write_str(name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_people_write_them() {
        for (text, expected) in [
            ("192.168.1.0/24", "192.168.1.0/24"),
            ("192.168.1.77/24", "192.168.1.0/24"),
            ("192.168.1.0/24:443", "192.168.1.0/24:443"),
            ("192.168.1.5", "192.168.1.5"),
            ("192.168.1.5:8080", "192.168.1.5:8080"),
            ("127.1:80", "127.0.0.1:80"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("[::1]:8080", "[::1]:8080"),
            ("[fd00::2]:443", "[fd00::2]:443"),
            ("fd00::/8", "fd00::/8"),
            ("nas.local", "nas.local"),
            ("NAS.local.:5000", "nas.local:5000"),
            ("nas.local:443", "nas.local:443"),
            ("bücher.home", "xn--bcher-kva.home"),
        ] {
            assert_eq!(NamedPlace::parse(text).map(|place| place.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for text in ["", "http://nas.local", "nas.local/x", "a b", "user@nas.local", "nas:70000", "10.0.0.0/33", "[::1"]
        {
            assert_eq!(NamedPlace::parse(text), Err(PlaceParseError), "{text}");
        }
    }
}
