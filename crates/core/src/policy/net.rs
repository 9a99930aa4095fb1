//! Which addresses on the network may be spoken to. Pure: addresses are data here, nothing is resolved or connected.
//!
//! Who can name an address to Hob must not reach the house by it, nor the machine itself, nor what a cloud tells its own
//! machines. A name says nothing of where it leads: what counts is the address that is connected to.
//! Start at [`AllowedPlaces::check`].

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

use crate::domain::network::{NamedHost, NamedPlace};
use crate::policy::net::machine_networks::{AddressProximity, MachineNetworks};

pub mod machine_networks;

/// What an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressZone {
    /// Everybody's network.
    Public,
    /// A place that its owner may open: what it is, in words.
    Private(&'static str),
    /// What nobody opens: what it is, in words.
    Closed(&'static str),
}

/// IPv4 ranges that are not everybody's; the first that fits counts.
const V4: [(Ipv4Addr, u8, AddressZone); 21] = {
    use AddressZone::{Closed, Private};
    const fn ip(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
        Ipv4Addr::new(a, b, c, d)
    }
    [
        (ip(169, 254, 169, 0), 24, Closed("a cloud's metadata service")),
        (ip(169, 254, 170, 0), 24, Closed("a cloud's metadata service")),
        (ip(100, 100, 100, 200), 32, Closed("a cloud's metadata service")),
        (ip(168, 63, 129, 16), 32, Closed("a cloud's metadata service")),
        (ip(192, 0, 0, 0), 24, Closed("reserved for protocols")),
        (ip(0, 0, 0, 0), 8, Closed("no address")),
        (ip(127, 0, 0, 0), 8, Private("this machine")),
        (ip(10, 0, 0, 0), 8, Private("a private network")),
        (ip(172, 16, 0, 0), 12, Private("a private network")),
        (ip(192, 168, 0, 0), 16, Private("a private network")),
        (ip(169, 254, 0, 0), 16, Private("a link-local address")),
        (ip(100, 64, 0, 0), 10, Private("a provider's inner network")),
        (ip(198, 18, 0, 0), 15, Private("a network for measurements")),
        (ip(192, 0, 2, 0), 24, Closed("an address for documentation")),
        (ip(198, 51, 100, 0), 24, Closed("an address for documentation")),
        (ip(203, 0, 113, 0), 24, Closed("an address for documentation")),
        (ip(192, 88, 99, 0), 24, Closed("a relay that is out of use")),
        (ip(192, 31, 196, 0), 24, Closed("reserved for protocols")),
        (ip(192, 52, 193, 0), 24, Closed("reserved for protocols")),
        (ip(224, 0, 0, 0), 4, Closed("a multicast address")),
        (ip(240, 0, 0, 0), 4, Closed("a reserved address")),
    ]
};

/// IPv6 ranges that are not everybody's; the first that fits counts. What is not under 2000::/3 is nobody's anyway.
const V6: [(Ipv6Addr, u8, AddressZone); 15] = {
    use AddressZone::{Closed, Private};
    const fn ip(a: u16, b: u16, c: u16) -> Ipv6Addr {
        Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
    }
    [
        (Ipv6Addr::LOCALHOST, 128, Private("this machine")),
        (Ipv6Addr::UNSPECIFIED, 128, Closed("no address")),
        (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128, Closed("a cloud's metadata service")),
        (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128, Closed("a cloud's metadata service")),
        (ip(0xfc00, 0, 0), 7, Private("a private network")),
        (ip(0xfec0, 0, 0), 10, Private("a private network")),
        (ip(0xfe80, 0, 0), 10, Private("a link-local address")),
        (ip(0xff00, 0, 0), 8, Closed("a multicast address")),
        (ip(0x100, 0, 0), 64, Closed("an address that leads nowhere")),
        (ip(0x64, 0xff9b, 1), 48, Closed("an inner translation of addresses")),
        (ip(0x2001, 0xdb8, 0), 32, Closed("an address for documentation")),
        (ip(0x3fff, 0, 0), 20, Closed("an address for documentation")),
        (ip(0x2001, 2, 0), 48, Private("a network for measurements")),
        (ip(0x2001, 0, 0), 23, Closed("reserved for protocols")),
        (ip(0x2620, 0x4f, 0x8000), 48, Closed("reserved for protocols")),
    ]
};

/// What this address belongs to where the machine is: its own, and those of its networks, are not everybody's.
fn zone_near(near: &MachineNetworks, address: IpAddr) -> AddressZone {
    let of = |address: IpAddr| match near.of(address) {
        AddressProximity::Own => Some("this machine"),
        AddressProximity::OnLink => Some("a network that this machine is in"),
        AddressProximity::Far => None,
    };
    let IpAddr::V6(outer) = address.to_canonical() else {
        return of(address)
            .filter(|_| zone(address) == AddressZone::Public)
            .map_or_else(|| zone(address), AddressZone::Private);
    };
    let inner = embedded(outer).into_iter().flatten().find_map(|inner| of(inner.into()));
    match (zone(address), of(address), inner) {
        (AddressZone::Public, Some(what), _) => AddressZone::Private(what),
        (AddressZone::Public, None, Some(what)) => AddressZone::Closed(what),
        (known, _, _) => known,
    }
}

/// What this address belongs to, wherever the machine is. One that has another in it is as that one is, but is never opened.
pub fn zone(address: IpAddr) -> AddressZone {
    match address.to_canonical() {
        IpAddr::V4(address) => zone_v4(address),
        IpAddr::V6(address) => zone_v6(address),
    }
}

fn zone_v4(address: Ipv4Addr) -> AddressZone {
    let within = |(base, bits, _): &&(Ipv4Addr, u8, AddressZone)| {
        address.to_bits().checked_shr(32 - u32::from(*bits)) == base.to_bits().checked_shr(32 - u32::from(*bits))
    };
    V4.iter().find(within).map_or(AddressZone::Public, |(_, _, zone)| *zone)
}

fn zone_v6(address: Ipv6Addr) -> AddressZone {
    let own = own_zone(address);
    let inner = embedded(address);
    let closed = inner.into_iter().flatten().map(zone_v4).find_map(|zone| match zone {
        AddressZone::Public => None,
        AddressZone::Private(what) | AddressZone::Closed(what) => Some(AddressZone::Closed(what)),
    });
    match (own, closed) {
        // The translations that everybody may use are not under 2000::/3.
        (AddressZone::Closed(_), None) if is_translated(address) => AddressZone::Public,
        (AddressZone::Private(_), _) => own,
        (_, Some(closed)) => closed,
        (own, None) => own,
    }
}

fn own_zone(address: Ipv6Addr) -> AddressZone {
    let within = |(base, bits, _): &&(Ipv6Addr, u8, AddressZone)| {
        address.to_bits().checked_shr(128 - u32::from(*bits)) == base.to_bits().checked_shr(128 - u32::from(*bits))
    };
    let nobodys =
        if address.segments()[0] >> 13 == 1 { AddressZone::Public } else { AddressZone::Closed("a reserved address") };
    V6.iter().find(within).map_or(nobodys, |(_, _, zone)| *zone)
}

/// Is it an IPv4 address as a network without IPv4 writes it (64:ff9b::/96)?
fn is_translated(address: Ipv6Addr) -> bool {
    address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0]
}

/// The IPv4 addresses that stand in an IPv6 one: translated, compatible, 6to4, Teredo (server and client), ISATAP.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let parts = address.segments();
    let at = |index: usize| Ipv4Addr::from_bits((u32::from(parts[index]) << 16) | u32::from(parts[index + 1]));
    match parts {
        [0x64, 0xff9b, 0 | 1, ..] | [0, 0, 0, 0, 0, 0, _, _] => [Some(at(6)), None],
        [0x2002, ..] => [Some(at(1)), None],
        [0x2001, 0, ..] => [Some(at(2)), Some(Ipv4Addr::from_bits(!at(6).to_bits()))],
        [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => [Some(at(6)), None],
        _ => [None, None],
    }
}

/// Why an address may not be spoken to, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefusal {
    /// Its owner could open it.
    #[error("it leads to {0}, which Hob is not allowed to reach")]
    Private(&'static str),
    /// Nobody can.
    #[error("it leads to {0}")]
    Closed(&'static str),
}

/// How an address may be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedAs {
    /// As everybody may.
    ToAll,
    /// Because its owner opened it.
    ByName,
}

/// The private places that were opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPlaces(Vec<NamedPlace>);

impl AllowedPlaces {
    pub fn new(places: Vec<NamedPlace>) -> Self {
        Self(places)
    }

    /// With one more.
    #[must_use]
    pub fn with(mut self, place: NamedPlace) -> Self {
        self.0.push(place);
        self
    }

    /// May `address`, which is where `host` leads, be spoken to at `port` from where `near` is? A range opens what is written as an address, a
    /// name that name alone: else whoever owns any name could point it into the house.
    pub fn check(
        &self,
        near: &MachineNetworks,
        host: &Host<&str>,
        address: IpAddr,
        port: u16,
    ) -> Result<AllowedAs, AddressRefusal> {
        match zone_near(near, address) {
            AddressZone::Public => Ok(AllowedAs::ToAll),
            AddressZone::Private(_) if self.names(host, port) => Ok(AllowedAs::ByName),
            AddressZone::Private(what) => Err(AddressRefusal::Private(what)),
            AddressZone::Closed(what) => Err(AddressRefusal::Closed(what)),
        }
    }

    /// Is this host opened at this port?
    pub fn names(&self, host: &Host<&str>, port: u16) -> bool {
        let address = match host {
            Host::Domain(name) => Err(name.trim_end_matches('.')),
            Host::Ipv4(address) => Ok(IpAddr::V4(*address)),
            Host::Ipv6(address) => Ok(IpAddr::V6(*address).to_canonical()),
        };
        self.0.iter().filter(|place| place.port.is_none_or(|only| only == port)).any(|place| {
            match (&place.host, address) {
                (NamedHost::Range(range), Ok(address)) => range.contains(&address),
                (NamedHost::Name(name), Err(host)) => name.eq_ignore_ascii_case(host),
                (NamedHost::Range(_), Err(_)) | (NamedHost::Name(_), Ok(_)) => false,
            }
        })
    }
}

#[cfg(test)]
mod tests;
