//! What the adapter is told at its start.

use std::path::PathBuf;
use std::time::Duration;

use hob_core::domain::secret::Secret;

/// A mail server, and as whom Hob signs in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name; its certificate must be for it.
    pub host: String,
    pub port: u16,
    /// The user's name there.
    pub user: String,
    /// By what the server knows that it may.
    pub credential: Credential,
}

/// What proves to a mail server who signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    Password(Secret),
    /// An access token of OAuth 2.0 (XOAUTH2).
    Token(Secret),
}

/// How a connection is kept from being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// TLS from the first byte.
    Tls,
    /// TLS once the server was asked for it; without it nothing is said.
    StartTls,
    /// Nothing; only on this machine.
    Plain,
}

/// How it is found out whether a letter is from whom it says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authentication {
    /// The mail servers whose `Authentication-Results` are believed, in lower case.
    pub authserv_ids: Vec<String>,
    /// Whether signatures are checked here, by DNS.
    pub verify: bool,
}

/// Where the mailbox is, and how it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The account's name.
    pub account: String,
    /// Hob's own address, in lower case.
    pub address: String,
    /// How Hob is called in its letters.
    pub name: String,
    /// Its other addresses, in lower case.
    pub aliases: Vec<String>,
    /// Where letters come from.
    pub imap: Server,
    /// Where letters go out.
    pub smtp: Server,
    /// How the way to the mailbox is secured.
    pub imap_security: Security,
    /// How the way out is secured.
    pub smtp_security: Security,
    /// Certificates that are believed besides the usual ones (PEM).
    pub ca_file: Option<PathBuf>,
    /// The folder that is read.
    pub folder: String,
    /// The folder that takes a copy of what is sent.
    pub sent_folder: Option<String>,
    /// Whether what was handed in is marked as read.
    pub mark_seen: bool,
    /// How it is found out who wrote.
    pub authentication: Authentication,
    /// Those whose automatic letters are taken like others, in lower case.
    pub answer_automatic_from: Vec<String>,
    /// Whether an answer goes to all who were addressed.
    pub reply_all: bool,
    /// How often the mailbox is looked into where the server cannot tell by itself.
    pub poll: Duration,
    /// A larger letter is read in part.
    pub letter_bytes_max: u32,
    /// How fast the adapter retries and gives up.
    pub pace: Timing,
}

impl Settings {
    /// Is this one of Hob's own addresses? What stands behind a `+` leads to the same mailbox.
    pub fn is_own(&self, address: &str) -> bool {
        let plain = without_tag(address);
        let is = |own: &String| own.eq_ignore_ascii_case(address) || own.eq_ignore_ascii_case(&plain);
        is(&self.address) || self.aliases.iter().any(is)
    }

    /// The domain that Hob's Message-IDs are of.
    pub fn domain(&self) -> &str {
        self.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain)
    }
}

/// `hob+lists@home.example` without `+lists`. An own address that has such a tag itself makes none of the one without it.
fn without_tag(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((local, domain)) => format!("{}@{domain}", local.split_once('+').map_or(local, |(plain, _)| plain)),
        None => address.to_owned(),
    }
}

/// The adapter's deadlines and delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The first delay after a failed connection; it doubles up to `retry_max`, with jitter.
    pub retry_min: Duration,
    /// The longest such delay.
    pub retry_max: Duration,
    /// The delay after the password was refused: only an operator can mend that.
    pub retry_refused: Duration,
    /// How long the server may take over one command.
    pub command_deadline: Duration,
    /// How long a connection waits for news before it is tried whether it is still one.
    pub idle_max: Duration,
    /// How long a letter is tried that the server does not show, before those after it are read.
    pub pass_over_after: Duration,
}

impl Timing {
    /// What is used outside of tests. Servers end an IDLE after half an hour, and routers forget quiet connections sooner.
    pub const PRODUCTION: Self = Self {
        retry_min: Duration::from_secs(1),
        retry_max: Duration::from_secs(120),
        retry_refused: Duration::from_secs(300),
        command_deadline: Duration::from_secs(60),
        idle_max: Duration::from_secs(9 * 60),
        pass_over_after: Duration::from_secs(10 * 60),
    };
}

#[cfg(test)]
mod tests {
    use crate::fuzzing::settings;
    use crate::settings::Settings;

    #[test]
    fn n14_an_address_with_a_tag_is_hobs_own() {
        let plain = settings();
        let tagged = Settings { address: "ada+hob@mail.example".to_owned(), ..settings() };
        for (settings, address, expected) in [
            (&plain, "hob@home.example", true),
            (&plain, "HOB+lists@Home.example", true),
            (&plain, "butler+a+b@home.example", true),
            (&plain, "hobby@home.example", false),
            (&plain, "hob+lists@other.example", false),
            (&plain, "+@home.example", false),
            (&plain, "hob", false),
            // Whoever lends Hob a tag of their own address is not Hob.
            (&tagged, "ada+hob@mail.example", true),
            (&tagged, "ada@mail.example", false),
            (&tagged, "ada+shop@mail.example", false),
        ] {
            assert_eq!(settings.is_own(address), expected, "{address}");
        }
    }
}
