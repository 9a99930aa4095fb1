//! The step for the page on a phone: under which address it is reached there.

use std::net::IpAddr;

use crate::cli::init::asker::{SetupError, text};
use crate::cli::init::context::SetupContext;
use hob_config::Config;
use hob_config::change::Edit;

/// The page's port.
const PORT: u16 = 8787;
/// The step's name where it is noted that nobody wants it.
pub(super) const STEP: &str = "phone";

/// Under which address others than this machine reach the page; none: under none.
pub(super) fn address(config: &Config) -> Option<&str> {
    let listens_out = |listen: &&str| listen.parse().is_ok_and(|at: std::net::SocketAddr| !at.ip().is_loopback());
    config.server.public_url.as_deref().or_else(|| config.server.listen.as_deref().filter(listens_out))
}

/// Opens the page to the household's phones, or notes that nobody wants it.
pub(super) fn set_up(setup: &mut SetupContext<'_>) -> Result<(), SetupError> {
    let here = setup.environment.home_address().map(|ip| std::net::SocketAddr::new(ip, PORT));
    let network =
        here.map(|at| format!("in this network, at http://{at} (not encrypted: only where you trust who is in it)"));
    let proxy = "at an address of its own with TLS: a proxy in front of it, a tailnet (docs/page.md)";
    let mut options: Vec<&str> = network.iter().map(String::as_str).collect();
    options.extend([proxy, "not now: from this machine alone"]);
    let chosen = setup.choose("The page, on your phone:", &options, options.len() - 1)?;
    let edit = match (chosen, here) {
        (0, Some(at)) => Edit::set_value("server.listen", at.to_string()),
        (chosen, _) if chosen + 2 == options.len() => match public(setup)? {
            Some(edit) => edit,
            None => return Ok(()),
        },
        _ => {
            setup.progress.skipped.insert(STEP.to_owned());
            return setup.keep_progress();
        }
    };
    setup.save(&[edit])?;
    setup.progress.skipped.remove(STEP);
    setup.keep_progress()
}

/// The address of the server in front; none: back, or it is not an address; the step stays open.
fn public(setup: &mut SetupContext<'_>) -> Result<Option<Edit>, SetupError> {
    let said = text(setup.asker, "Its address, such as https://hob.example.org", None)?;
    let Some(said) = said else { return Ok(None) };
    let edit = Edit::set_value("server.public_url", said);
    match setup.draft.with(std::slice::from_ref(&edit)) {
        Ok(_) => Ok(Some(edit)),
        Err(error) => {
            setup.tell(&format!("{error}"));
            Ok(None)
        }
    }
}

/// An address of a home's network; any other may be the whole internet's.
pub(super) fn is_of_a_home(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => ip.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_opened_to_a_home_and_to_nothing_else() {
        let table = [
            ("192.168.1.5", true),
            ("10.0.0.2", true),
            ("172.17.0.1", true),
            ("fd00::1", true),
            ("127.0.0.1", false),
            ("8.8.8.8", false),
            ("100.64.0.1", false),
            ("2001:db8::1", false),
            ("fe80::1", false),
        ];
        for (ip, expected) in table {
            assert_eq!(is_of_a_home(ip.parse().unwrap()), expected, "{ip}");
        }
    }
}
