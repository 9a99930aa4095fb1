use super::*;

fn zone_of(address: &str) -> AddressZone {
    zone(address.parse().unwrap())
}

const PUBLIC: [&str; 22] = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80e::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
];

const PRIVATE: [&str; 26] = [
    "127.0.0.1",
    "127.1.2.3",
    "127.255.255.255",
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.255.255",
    "169.254.0.1",
    "169.254.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:192.168.1.1",
    "::ffff:a00:1",
    "fc00::1",
    "fd12:3456::1",
    "fdff:ffff::",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "2001:2::1",
];

const CLOSED: [&str; 48] = [
    "0.0.0.0",
    "0.1.2.3",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.169.253",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "198.51.100.7",
    "203.0.113.9",
    "192.88.99.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.254",
    "255.255.255.255",
    "::",
    "::ffff:0.0.0.0",
    "::ffff:169.254.169.254",
    "::ffff:100.100.100.200",
    "::ffff:224.0.0.1",
    "::127.0.0.1",
    "::10.0.0.1",
    "::169.254.169.254",
    "::8.8.8.8",
    "fd00:ec2::254",
    "fd20:ce::254",
    "ff02::1",
    "ff0e::1",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "2001:10::1",
    "2001:20::1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b:1::192.168.0.1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2002:c0a8:101::1",
    "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::",
    "2001:0:808:808:0:0:80ff:fffe",
    "2606:4700::5efe:10.0.0.1",
    "4000::1",
];

#[test]
fn addresses_are_known_by_where_they_lead() {
    for address in PUBLIC {
        assert_eq!(zone_of(address), AddressZone::Public, "{address}");
    }
    for address in PRIVATE {
        assert!(matches!(zone_of(address), AddressZone::Private(_)), "{address}: {:?}", zone_of(address));
    }
    for address in CLOSED {
        assert!(matches!(zone_of(address), AddressZone::Closed(_)), "{address}: {:?}", zone_of(address));
    }
}

fn allowed(places: &[&str]) -> AllowedPlaces {
    AllowedPlaces::new(places.iter().map(|place| NamedPlace::parse(place).unwrap()).collect())
}

/// What is said of a URL whose host, where it is a name, leads to `leads_to`.
fn verdict(allowed: &AllowedPlaces, url: &str, leads_to: &str) -> Result<AllowedAs, AddressRefusal> {
    let url = url::Url::parse(url).unwrap();
    let host = url.host().unwrap();
    let address = match host {
        Host::Domain(_) => leads_to.parse().unwrap(),
        Host::Ipv4(address) => IpAddr::V4(address),
        Host::Ipv6(address) => IpAddr::V6(address),
    };
    allowed.check(&MachineNetworks::default(), &host, address, url.port_or_known_default().unwrap())
}

#[test]
fn odd_spellings_of_this_machine_lead_nowhere() {
    for url in [
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "http://%31%32%37.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://0/",
        "http://localhost./",
        "http://LOCALHOST/",
        "http://ⓛocalhost/",
        "http://localtest.example/",
        "http://metadata.google.internal/",
        "https:127.0.0.1",
        "http:\\\\127.0.0.1\\",
    ] {
        let leads_to = if url.contains("metadata") { "169.254.169.254" } else { "127.0.0.1" };
        assert!(verdict(&AllowedPlaces::default(), url, leads_to).is_err(), "{url}");
    }
}

#[test]
fn a_range_opens_addresses_and_a_name_itself() {
    let opened = allowed(&["192.168.1.0/24", "nas.local:5000", "127.0.0.1:8080", "[fd00::7]:80", "169.254.169.254"]);
    for (url, leads_to, expected) in [
        ("https://example.org/", "93.184.215.14", Ok(AllowedAs::ToAll)),
        ("http://192.168.1.9/", "", Ok(AllowedAs::ByName)),
        ("http://[::ffff:192.168.1.9]/", "", Ok(AllowedAs::ByName)),
        ("http://192.168.2.9/", "", Err(AddressRefusal::Private("a private network"))),
        ("http://evil.example/", "192.168.1.9", Err(AddressRefusal::Private("a private network"))),
        ("http://nas.local:5000/", "192.168.7.7", Ok(AllowedAs::ByName)),
        ("http://NAS.local.:5000/", "127.0.0.1", Ok(AllowedAs::ByName)),
        ("http://nas.local/", "192.168.7.7", Err(AddressRefusal::Private("a private network"))),
        ("http://not-nas.local:5000/", "192.168.7.7", Err(AddressRefusal::Private("a private network"))),
        ("http://nas.local:5000/", "169.254.169.254", Err(AddressRefusal::Closed("a cloud's metadata service"))),
        ("http://127.0.0.1:8080/", "", Ok(AllowedAs::ByName)),
        ("http://127.0.0.1:8081/", "", Err(AddressRefusal::Private("this machine"))),
        ("http://[fd00::7]/", "", Ok(AllowedAs::ByName)),
        ("http://169.254.169.254/", "", Err(AddressRefusal::Closed("a cloud's metadata service"))),
        ("http://[64:ff9b::192.168.1.9]/", "", Err(AddressRefusal::Closed("a private network"))),
    ] {
        assert_eq!(verdict(&opened, url, leads_to), expected, "{url} {leads_to}");
    }
}

#[test]
fn this_machines_own_addresses_and_networks_are_not_everybodys() {
    let mut near = MachineNetworks::default();
    near.has("81.2.69.7".parse().unwrap(), 24);
    near.has("2001:470:0:1::aa".parse().unwrap(), 64);
    near.reaches("10.0.0.0".parse().unwrap(), 8);
    let (own, link) = ("this machine", "a network that this machine is in");
    for (address, expected) in [
        ("81.2.69.7", Err(AddressRefusal::Private(own))),
        ("::ffff:81.2.69.7", Err(AddressRefusal::Private(own))),
        ("81.2.69.8", Err(AddressRefusal::Private(link))),
        ("81.2.70.8", Ok(AllowedAs::ToAll)),
        ("64:ff9b::81.2.69.7", Err(AddressRefusal::Closed(own))),
        ("2002:5102:4507::1", Err(AddressRefusal::Closed(own))),
        ("2001:470:0:1::aa", Err(AddressRefusal::Private(own))),
        ("2001:470:0:1::9", Err(AddressRefusal::Private(link))),
        ("2001:470:0:2::9", Ok(AllowedAs::ToAll)),
        ("10.1.2.3", Err(AddressRefusal::Private("a private network"))),
        ("169.254.169.254", Err(AddressRefusal::Closed("a cloud's metadata service"))),
    ] {
        let address: IpAddr = address.parse().unwrap();
        let host = Host::Domain("home.example");
        assert_eq!(AllowedPlaces::default().check(&near, &host, address, 80), expected, "{address}");
        let opened = allowed(&["home.example:80"]).check(&near, &host, address, 80);
        let is_opened = match expected {
            Ok(open) => Ok(open),
            Err(AddressRefusal::Private(_)) => Ok(AllowedAs::ByName),
            Err(closed @ AddressRefusal::Closed(_)) => Err(closed),
        };
        assert_eq!(opened, is_opened, "{address}");
    }
}

proptest::proptest! {
    #[test]
    fn an_address_is_as_private_however_it_is_wrapped(bits: u32) {
        let plain = Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = plain.octets();
        let two = |high, low| u16::from_be_bytes([high, low]);
        let public = zone(IpAddr::V4(plain)) == AddressZone::Public;
        proptest::prop_assert_eq!(zone(IpAddr::V6(plain.to_ipv6_mapped())), zone(IpAddr::V4(plain)));
        for wrapped in [
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, two(a, b), two(c, d)),
            Ipv6Addr::new(0x2002, two(a, b), two(c, d), 0, 0, 0, 0, 1),
        ] {
            proptest::prop_assert_eq!(zone(IpAddr::V6(wrapped)) == AddressZone::Public, public, "{}", wrapped);
        }
    }
}
