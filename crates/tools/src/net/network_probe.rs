//! Where this machine is on the network: the port, and what the kernel says.

use std::fs;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use hob_core::policy::net::machine_networks::MachineNetworks;

/// Knows the machine's addresses and networks.
pub(crate) trait NetworkProbe: Send + Sync {
    fn now(&self) -> MachineNetworks;
}

/// As the kernel says: the addresses of all interfaces, and the routes that need no gateway. A network is also known by its
/// route, since an address given by DHCPv6 stands alone.
pub(crate) struct SystemNetworkProbe;

impl NetworkProbe for SystemNetworkProbe {
    fn now(&self) -> MachineNetworks {
        let mut near = MachineNetworks::default();
        match getifaddrs() {
            Ok(interfaces) => {
                for interface in interfaces {
                    let Some(address) = interface.address.as_ref().and_then(address) else { continue };
                    near.has(address, interface.netmask.as_ref().and_then(self::address).map_or(0, bits));
                }
            }
            Err(error) => tracing::warn!(%error, "the kernel does not tell this machine's own addresses"),
        }
        // A machine without IPv6, or without routes, has no such table.
        match fs::read_to_string("/proc/net/route") {
            Ok(table) => near.routes_v4(&table),
            Err(error) => tracing::debug!(%error, "there is no table of IPv4 routes"),
        }
        match fs::read_to_string("/proc/net/ipv6_route") {
            Ok(table) => near.routes_v6(&table),
            Err(error) => tracing::debug!(%error, "there is no table of IPv6 routes"),
        }
        near
    }
}

fn address(socket: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = socket.as_sockaddr_in().map(|socket| socket.ip().into());
    v4.or_else(|| socket.as_sockaddr_in6().map(|socket| socket.ip().into()))
}

fn bits(mask: IpAddr) -> u8 {
    let bits = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    u8::try_from(bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::policy::net::machine_networks::AddressProximity;

    #[test]
    fn the_kernel_tells_this_machines_own_addresses() {
        let near = SystemNetworkProbe.now();
        assert_eq!(near.of("127.0.0.1".parse().unwrap()), AddressProximity::Own);
        assert_eq!(near.of("127.9.9.9".parse().unwrap()), AddressProximity::OnLink);
        // A datagram socket that is connected sends nothing, but says which address it would come from.
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("192.88.99.1:9").is_ok() {
            assert_eq!(near.of(socket.local_addr().unwrap().ip()), AddressProximity::Own);
        }
    }
}
