//! Where the daemon that leads serves the page, as those that stand by reach it. An address is a lease as well: one daemon at a time has it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use sqlx::Error;
use sqlx_postgres::PgConnection;

/// What of a lease's name says that it is an address.
pub(crate) const SERVES_AT: &str = "serves at ";

const SERVE: &str = "INSERT INTO leases (what, boot) SELECT $1, boot FROM leases WHERE what = 'house'
    ON CONFLICT (what) DO UPDATE SET boot = excluded.boot";
/// The address by which the server sees this machine is one of its own; over a socket it sees none.
const SEEN_FROM: &str = "SELECT host(inet_client_addr())";

/// Says where whoever leads listens, for the others; gives what it said.
pub(crate) async fn serve_at(connection: &mut PgConnection, listens: SocketAddr) -> Result<SocketAddr, Error> {
    let mut at = listens;
    if at.ip().is_unspecified() {
        let seen: Option<String> = sqlx::query_scalar(SEEN_FROM).fetch_one(&mut *connection).await?;
        let seen = seen.and_then(|seen| seen.parse::<IpAddr>().ok());
        at.set_ip(seen.unwrap_or(Ipv4Addr::LOCALHOST.into()));
    }
    sqlx::query(SERVE).bind(lease(at, this_network().as_deref())).execute(connection).await?;
    Ok(at)
}

/// What an address's lease is called. One that is only this machine's own says which machine's.
fn lease(at: SocketAddr, network: Option<&str>) -> String {
    if at.ip().is_loopback() {
        format!("{SERVES_AT}{at} in {}", network.unwrap_or_default())
    } else {
        format!("{SERVES_AT}{at}")
    }
}

/// The address of that lease, if it can be reached from this network.
pub(super) fn reached(lease: &str, network: Option<&str>) -> Option<SocketAddr> {
    let at = lease.strip_prefix(SERVES_AT)?;
    let (at, is_here) = at.split_once(" in ").map_or((at, true), |(at, of)| (at, network == Some(of)));
    at.parse().ok().filter(|_| is_here)
}

/// Which loopback this process sees: a container has one of its own. None: it cannot be told from another machine's.
pub(super) fn this_network() -> Option<String> {
    // The package's unit hides the first from Hob, a container's image has no second.
    let machine = ["/proc/sys/kernel/random/boot_id", "/etc/machine-id"]
        .into_iter()
        .find_map(|file| fs::read_to_string(file).ok().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()))?;
    let namespace = fs::read_link("/proc/self/ns/net").ok()?;
    Some(format!("{} of {machine}", namespace.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n15_an_address_of_one_machine_alone_is_no_other_machines() {
        let lan: SocketAddr = "[fd00::5]:8787".parse().unwrap();
        let own: SocketAddr = "127.0.0.1:8787".parse().unwrap();
        for (at, network, expected) in [
            (lan, Some("here"), Some(lan)),
            (lan, Some("there"), Some(lan)),
            (lan, None, Some(lan)),
            (own, Some("here"), Some(own)),
            (own, Some("there"), None),
            (own, None, None),
        ] {
            assert_eq!(reached(&lease(at, Some("here")), network), expected, "{at} from {network:?}");
        }
        assert_eq!(reached(&lease(own, None), None), None, "neither knows where it is");
        assert_eq!(reached("house", Some("here")), None);
    }
}
