//! `[email]`: the mailbox, and who may write to it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::{PlatformSection, SectionAccess, lower};
use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;

/// How a connection is secured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TlsConfig {
    /// TLS from the first byte
    #[default]
    Tls,
    /// TLS as soon as the server was asked for it
    StartTls,
    /// nothing; only for a server on this machine
    None,
}

/// A mailbox of Hob's own. docs/email.md says how to set it up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<EmailConfig>)]
#[expect(clippy::struct_excessive_bools, reason = "each is a line of the file of its own")]
pub struct EmailConfig {
    /// Hob's address.
    #[schemars(length(min = 3, max = 254), example = &"hob@example.org")]
    pub address: String,
    /// How Hob is called in its letters.
    #[serde(default = "name")]
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    /// Other addresses of the same mailbox.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(min = 3, max = 254)))]
    pub aliases: Vec<String>,
    /// The server that letters are read from.
    #[schemars(length(min = 1, max = 253), example = &"imap.example.org")]
    #[schemars(extend("x-goes" = true))]
    pub imap_host: String,
    /// Its port.
    #[serde(default = "imap_port")]
    #[schemars(range(min = 1, max = 65_535))]
    #[schemars(extend("x-goes" = true))]
    pub imap_port: u16,
    /// How the connection to it is secured.
    #[serde(default)]
    #[schemars(extend("x-goes" = true))]
    pub imap_tls: TlsConfig,
    /// The user's name there. Without it: the address.
    #[schemars(length(min = 1, max = 254), example = &"hob")]
    pub imap_user: Option<String>,
    /// The password there; with many providers one made for this program alone.
    #[schemars(length(min = 1, max = 1000), example = &"example-password")]
    pub imap_password: Secret,
    /// The server that letters are sent by.
    #[schemars(length(min = 1, max = 253), example = &"smtp.example.org")]
    #[schemars(extend("x-goes" = true))]
    pub smtp_host: String,
    /// Its port.
    #[serde(default = "smtp_port")]
    #[schemars(range(min = 1, max = 65_535))]
    #[schemars(extend("x-goes" = true))]
    pub smtp_port: u16,
    /// How the connection to it is secured; port 587 wants `starttls`.
    #[serde(default)]
    #[schemars(extend("x-goes" = true))]
    pub smtp_tls: TlsConfig,
    /// The user's name there. Without it: as for `imap_user`.
    #[schemars(length(min = 1, max = 254), example = &"hob")]
    pub smtp_user: Option<String>,
    /// The password there. Without it: as for `imap_password`.
    #[schemars(length(min = 1, max = 1000), example = &"example-password")]
    pub smtp_password: Option<Secret>,
    /// A file with certificates (PEM) that are believed besides the usual ones.
    #[schemars(length(min = 1, max = 4096), example = &"/etc/ssl/certs/home.pem")]
    #[schemars(extend("x-goes" = true))]
    pub ca_file: Option<PathBuf>,
    /// The folder that is read.
    #[serde(default = "folder")]
    #[schemars(length(min = 1, max = 200))]
    pub folder: String,
    /// The folder that takes a copy of what is sent. Without it no copy is kept; many providers keep one by themselves.
    #[schemars(length(min = 1, max = 200), example = &"Sent")]
    pub sent_folder: Option<String>,
    /// Whether letters are marked as read once Hob has them.
    #[serde(default = "yes")]
    pub mark_seen: bool,
    /// Addresses that may write to Hob. An empty list lets nobody in.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 3, max = 254)))]
    pub allowed_addresses: Vec<String>,
    /// Addresses that are let in as owners.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 3, max = 254)), example = ["ada@example.org"])]
    pub owner_addresses: Vec<String>,
    /// Addresses that are let in as admins: they may see, stop and edit what users and guests do.
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 3, max = 254)))]
    pub admin_addresses: Vec<String>,
    /// Addresses that are let in as guests: without memory and commands, and with few tokens (`[quotas]`).
    #[serde(default)]
    #[schemars(length(max = 10_000), inner(length(min = 3, max = 254)))]
    pub guest_addresses: Vec<String>,
    /// Whether everybody else who writes is let in as a guest. Before the first answer to each, an owner is asked.
    #[serde(default)]
    pub allow_guests: bool,
    /// Who Hob is in letters: one of the personas. Without it: as under `[agent]`.
    #[schemars(length(min = 1, max = 64), example = &"cook")]
    pub persona: Option<String>,
    /// Who Hob is in single threads: the Message-ID of the thread's first letter = one of the personas.
    #[serde(default)]
    #[schemars(example = &persona_example())]
    pub personas: BTreeMap<String, String>,
    /// The mail servers whose `Authentication-Results` are believed: the name that your own provider's server writes there.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(min = 1, max = 253)), example = ["mx.example.org"])]
    pub authserv_ids: Vec<String>,
    /// Whether signatures (DKIM, DMARC) are checked by Hob itself where no such server says anything.
    #[serde(default)]
    pub verify: bool,
    /// Addresses whose automatic letters are taken like others; those of everybody else are passed over.
    #[serde(default)]
    #[schemars(length(max = 1_000), inner(length(min = 3, max = 254)))]
    pub answer_automatic_from: Vec<String>,
    /// The most letters that one address gets within an hour; more wait.
    #[serde(default = "replies_per_hour_max")]
    #[schemars(range(min = 1, max = 1_000))]
    pub replies_per_hour_max: u32,
    /// Whether an answer goes to all who were addressed.
    #[serde(default = "yes")]
    pub reply_all: bool,
    /// Seconds between two looks into the mailbox, where its server cannot tell by itself that something came.
    #[serde(default = "poll_secs")]
    #[schemars(range(min = 5, max = 3_600))]
    pub poll_secs: u64,
    /// A larger letter is read in part; in megabytes.
    #[serde(default = "letter_mb_max")]
    #[schemars(range(min = 1, max = 64))]
    pub letter_mb_max: u32,
}

fn persona_example() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([("plans-2026@example.org", "cook")])
}

fn name() -> String {
    "Hob".to_owned()
}

pub(super) fn imap_port() -> u16 {
    993
}

pub(super) fn smtp_port() -> u16 {
    465
}

fn folder() -> String {
    "INBOX".to_owned()
}

pub(super) fn yes() -> bool {
    true
}

fn replies_per_hour_max() -> u32 {
    10
}

fn poll_secs() -> u64 {
    60
}

fn letter_mb_max() -> u32 {
    16
}

impl EmailConfig {
    /// Can nobody who writes be recognised? Then owners and members are strangers, whatever their addresses.
    pub(crate) fn recognises_nobody(&self) -> bool {
        self.authserv_ids.is_empty() && !self.verify
    }
}

impl PlatformSection for EmailConfig {
    fn access(&self) -> SectionAccess<'_> {
        SectionAccess {
            admitted: [
                (Role::Guest, lower(&self.guest_addresses)),
                (Role::User, lower(&self.allowed_addresses)),
                (Role::Admin, lower(&self.admin_addresses)),
                (Role::Owner, lower(&self.owner_addresses)),
            ],
            guests: self.allow_guests,
            persona: self.persona.as_ref(),
            personas: &self.personas,
            servers: None,
        }
    }

    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        if !is_address(&self.address) {
            found.push(no_address("address"));
        }
        for (key, addresses) in [
            ("aliases", &self.aliases),
            ("allowed_addresses", &self.allowed_addresses),
            ("owner_addresses", &self.owner_addresses),
            ("admin_addresses", &self.admin_addresses),
            ("guest_addresses", &self.guest_addresses),
            ("answer_automatic_from", &self.answer_automatic_from),
        ] {
            found.extend(validate_addresses(key, addresses));
        }
        found.extend(check_tls("imap_tls", self.imap_tls, &self.imap_host));
        found.extend(check_tls("smtp_tls", self.smtp_tls, &self.smtp_host));
        found.extend(self.ca_file.iter().filter_map(|path| values::absolute_path("ca_file", path)));
        for (key, folder) in [("folder", Some(&self.folder)), ("sent_folder", self.sent_folder.as_ref())] {
            if folder.is_some_and(|folder| folder.chars().any(|c| c.is_control() || matches!(c, '"' | '\\'))) {
                let why = "has a character that no folder's name has here";
                found.push(Finding::new(key, why, "copy it again from your mail program"));
            }
        }
        found
    }
}

/// Finds what is not an address.
pub(super) fn validate_addresses(key: &str, addresses: &[String]) -> Vec<Finding> {
    let bad = addresses.iter().enumerate().filter(|(_, address)| !is_address(address));
    bad.map(|(index, _)| no_address(&key_path::item(key, index))).collect()
}

pub(super) fn no_address(at: &str) -> Finding {
    Finding::new(at, "is not an e-mail address, expected one without a name", "for example `ada@example.org`")
}

pub(super) fn is_address(text: &str) -> bool {
    let plain =
        text.chars().all(|c| !c.is_whitespace() && !c.is_control() && !matches!(c, '<' | '>' | ',' | ';' | '"'));
    plain && text.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
}

/// A connection without TLS leads no further than this machine.
pub(super) fn check_tls(key: &str, tls: TlsConfig, host: &str) -> Option<Finding> {
    let why = "would send the password and all letters readable over the network";
    let fix = "set it to \"tls\" or \"starttls\", or name a server on this machine";
    (tls == TlsConfig::None && !is_loopback(host)).then(|| Finding::new(key, why, fix))
}

pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
