//! What a request's address tells whoever gets it, and whether that is more than they know already (row N6).
//!
//! An address that was heard whole is asked for by itself, but not without end: which of many it is, tells something too. The
//! machine counts by site (`agent::machine::reach`).

use url::{Host, Url};

use crate::MentionCheck;
use crate::mention::Mention;
use crate::net::address;
use hob_core::domain::tools::{Assessment, DangerGrade, Risk};
use hob_core::policy::net::{AddressZone, AllowedPlaces, zone};

/// A look at an address. One that stood whole in what the run has heard tells its host nothing; one that was put together
/// here may say anything that the run knows.
pub(crate) fn assess_address(text: &str, allowed: &AllowedPlaces, is_mentioned: &MentionCheck<'_>) -> Assessment {
    // What is not an address, or is not gone to, tells nobody anything.
    let Ok(url) = address(text) else { return Assessment::usual(Risk::Read) };
    let mut found = Assessment::usual(Risk::Read);
    if is_mentioned(&Mention::Address(&url)) {
        found.site = url.host().map(|host| registrable_site(&host));
    } else {
        found.risk = Risk::Send;
        found.reasons.push(format!("it tells {} what is in the address", url.host_str().unwrap_or_default()));
    }
    if let Some(why) = special(&url, allowed) {
        found.grade = DangerGrade::Medium;
        found.reasons.push(why);
    }
    found
}

/// Why this host is looked at twice.
fn special(url: &Url, allowed: &AllowedPlaces) -> Option<String> {
    let (host, port) = url.host().zip(url.port_or_known_default())?;
    let private = allowed.names(&host, port);
    let literal = match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(zone(address.into())),
        Host::Ipv6(address) => Some(zone(address.into())),
    };
    match literal {
        Some(AddressZone::Public) => Some(format!("{host} is a bare address, not a name")),
        // It will be refused; a person need not be asked about it.
        Some(AddressZone::Private(_) | AddressZone::Closed(_)) if !private => None,
        _ => private.then(|| format!("{host} is in a private network")),
    }
}

/// Whom a host belongs to, as far as its name tells: whoever has a name can put any other before it. Where several share
/// one (`co.uk`), they share what is counted of it.
fn registrable_site(host: &Host<&str>) -> String {
    match host {
        Host::Domain(name) => {
            let labels: Vec<&str> = name.trim_end_matches('.').rsplit('.').take(2).collect();
            labels.into_iter().rev().collect::<Vec<_>>().join(".")
        }
        Host::Ipv4(address) => address.to_string(),
        // Whoever has one of these has all of its network.
        Host::Ipv6(address) => format!("{:x}", address.to_bits() >> 64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::network::NamedPlace;

    #[test]
    fn an_address_that_was_made_up_tells_its_host_something() {
        let said = "Look at https://a.example/page?id=7 and at news.example, or http://192.168.1.9/state. Also \
                    https://b.example/#top and http://8.8.8.8/ and https://c.example/log";
        let is_mentioned = |what: &Mention<'_>| what.stands_in(said);
        let allowed = AllowedPlaces::new(vec![NamedPlace::parse("192.168.1.0/24").unwrap()]);
        for (text, risk, grade) in [
            ("https://a.example/page?id=7", Risk::Read, DangerGrade::Safe),
            ("https://a.example/page", Risk::Send, DangerGrade::Safe),
            ("https://a.example/page?id=8", Risk::Send, DangerGrade::Safe),
            ("https://a.example/page?id=7&secret=1", Risk::Send, DangerGrade::Safe),
            ("https://c.example/log?d=hunter2", Risk::Send, DangerGrade::Safe),
            ("https://hunter2.c.example/log", Risk::Send, DangerGrade::Safe),
            ("https://news.example/", Risk::Read, DangerGrade::Safe),
            ("https://news.example", Risk::Read, DangerGrade::Safe),
            ("https://news.example/today", Risk::Send, DangerGrade::Safe),
            ("https://b.example/#top", Risk::Read, DangerGrade::Safe),
            ("http://8.8.8.8/", Risk::Read, DangerGrade::Medium),
            ("http://9.9.9.9/", Risk::Send, DangerGrade::Medium),
            ("http://192.168.1.9/state", Risk::Read, DangerGrade::Medium),
            ("http://192.168.1.9/off", Risk::Send, DangerGrade::Medium),
            ("http://10.0.0.1/", Risk::Send, DangerGrade::Safe),
            ("no address", Risk::Read, DangerGrade::Safe),
        ] {
            let found = assess_address(text, &allowed, &is_mentioned);
            assert_eq!((found.risk, found.grade), (risk, grade), "{text}");
        }
        let site = |text: &str| assess_address(text, &allowed, &|_: &Mention<'_>| true).site.unwrap_or_default();
        assert_eq!(site("https://a.b.evil.example./x"), "evil.example");
        assert_eq!(site("http://8.8.8.8/"), "8.8.8.8");
        assert_eq!(site("http://[2001:4860::1]/"), site("http://[2001:4860::2:3]/"));
        assert_eq!(assess_address("https://new.example/", &allowed, &is_mentioned).site, None);
        insta::assert_snapshot!(assess_address("http://192.168.1.9/off", &allowed, &is_mentioned).reasons.join("\n"), @r"
        it tells 192.168.1.9 what is in the address
        192.168.1.9 is in a private network
        ");
    }
}
