//! What is this machine's own, and what is in its own networks, though its addresses are everybody's: an IPv6 home's printer
//! has a public address. Pure: what the system says is data here.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// A shorter prefix is a way out into the world and no network that one is in.
const V4_BITS_MIN: u8 = 8;
const V6_BITS_MIN: u8 = 16;
/// Flags of a route: over a gateway, refused, this machine's own.
const GATEWAY: u32 = 0x0002;
const REJECT: u32 = 0x0200;
const LOCAL: u32 = 0x8000_0000;

/// How near an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressProximity {
    /// This machine has it.
    Own,
    /// It is in a network that this machine is in.
    OnLink,
    /// Neither.
    Far,
}

/// The machine's addresses and networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineNetworks {
    own: Vec<IpAddr>,
    nets: Vec<IpNet>,
}

impl MachineNetworks {
    /// It has this address, in a network of so many bits.
    pub fn has(&mut self, address: IpAddr, bits: u8) {
        self.own.push(address.to_canonical());
        self.reaches(address, bits);
    }

    /// It reaches this network without a gateway.
    pub fn reaches(&mut self, address: IpAddr, bits: u8) {
        let least = if address.is_ipv4() { V4_BITS_MIN } else { V6_BITS_MIN };
        if bits >= least {
            self.nets.extend(IpNet::new(address, bits));
        }
    }

    /// How near is it?
    pub fn of(&self, address: IpAddr) -> AddressProximity {
        let address = address.to_canonical();
        if self.own.contains(&address) {
            AddressProximity::Own
        } else if self.nets.iter().any(|net| net.contains(&address)) {
            AddressProximity::OnLink
        } else {
            AddressProximity::Far
        }
    }

    /// The networks of `/proc/net/route`: name, network, gateway, flags, and four numbers before the mask, in hex.
    pub fn routes_v4(&mut self, table: &str) {
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, net, gateway, flags, _, _, _, mask, ..] = fields.as_slice() else { continue };
            let hex = |text: &str| u32::from_str_radix(text, 16).ok();
            let Some(((net, gateway), (flags, mask))) = hex(net).zip(hex(gateway)).zip(hex(flags).zip(hex(mask)))
            else {
                continue;
            };
            if gateway == 0 && flags & (GATEWAY | REJECT) == 0 {
                // The table is in the machine's order of bytes, which holds the network's.
                let net = Ipv4Addr::from(net.to_ne_bytes());
                let bits = u32::from_be_bytes(mask.to_ne_bytes()).leading_ones();
                self.reaches(net.into(), u8::try_from(bits).unwrap_or(u8::MAX));
            }
        }
    }

    /// The networks of `/proc/net/ipv6_route`: network, its bits, source, its bits, gateway, three numbers, flags, name, in hex.
    pub fn routes_v6(&mut self, table: &str) {
        for line in table.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [net, bits, _, _, gateway, _, _, _, flags, ..] = fields.as_slice() else { continue };
            let address = |text: &str| u128::from_str_radix(text, 16).ok().map(Ipv6Addr::from_bits);
            let (Some(net), Ok(bits)) = (address(net), u8::from_str_radix(bits, 16)) else { continue };
            let (Some(gateway), Ok(flags)) = (address(gateway), u32::from_str_radix(flags, 16)) else { continue };
            if flags & LOCAL != 0 && bits == 128 {
                self.has(net.into(), bits);
            } else if gateway.is_unspecified() && flags & (GATEWAY | REJECT) == 0 {
                self.reaches(net.into(), bits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearness(near: &MachineNetworks, address: &str) -> AddressProximity {
        near.of(address.parse().unwrap())
    }

    #[test]
    fn n6_what_the_routes_reach_without_a_gateway_is_near() {
        let mut near = MachineNetworks::default();
        let hex = |address: &str| format!("{:08X}", u32::from_ne_bytes(address.parse::<Ipv4Addr>().unwrap().octets()));
        let route = |net: &str, gateway: &str, flags: &str, mask: &str| {
            format!("eth0\t{}\t{}\t{flags}\t0\t0\t0\t{}\t0\t0\t0\n", hex(net), hex(gateway), hex(mask))
        };
        near.routes_v4(&format!(
            "Iface\tDestination\tGateway\n{}{}{}{}broken\n",
            route("0.0.0.0", "81.2.69.1", "0003", "0.0.0.0"),
            route("81.2.69.0", "0.0.0.0", "0001", "255.255.255.0"),
            route("0.0.0.0", "0.0.0.0", "0001", "128.0.0.0"),
            route("9.9.9.0", "81.2.69.9", "0003", "255.255.255.0"),
        ));
        near.routes_v6(
            "20010470000000010000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n\
             00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000002 00000000 00000003     eth0\n\
             20000000000000000000000000000000 03 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000002 00000000 00000001     tun0\n\
             200104700000000100000000000000aa 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000003 00000000 80200001     eth0\n\
             20010470000000090000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000002 00000000 00200200       lo\n\
             broken\n",
        );
        for (address, expected) in [
            ("81.2.69.7", AddressProximity::OnLink),
            ("::ffff:81.2.69.7", AddressProximity::OnLink),
            ("81.2.70.7", AddressProximity::Far),
            ("9.9.9.9", AddressProximity::Far),
            ("2001:470:0:1::aa", AddressProximity::Own),
            ("2001:470:0:1::7", AddressProximity::OnLink),
            ("2001:470:0:2::7", AddressProximity::Far),
            ("2001:470:0:9::7", AddressProximity::Far),
            ("2606:4700::1", AddressProximity::Far),
        ] {
            assert_eq!(nearness(&near, address), expected, "{address}");
        }
        near.has("9.9.9.9".parse().unwrap(), 32);
        assert_eq!(nearness(&near, "9.9.9.9"), AddressProximity::Own);
    }
}
