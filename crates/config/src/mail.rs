//! `[mail.NAME]`: the mailboxes of people, which Hob can look into for them. Its own mailbox is `[email]`.

pub mod oauth;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::email::{TlsConfig, check_tls, imap_port, is_address, no_address, smtp_port, yes};
use crate::mail::oauth::OAuthConfig;
use crate::people::{self, PersonConfig};
use crate::problem::Finding;
use crate::{key_path, shape, values};
use hob_core::domain::secret::Secret;

/// The tools that there are where an account is set up.
pub const TOOLS: [&str; 5] = ["mail_draft", "mail_file", "mail_read", "mail_search", "mail_send"];

/// The module that personas choose them by.
pub const MODULE: &str = "mail";

/// Somebody's mailbox. docs/mail.md says how to set it up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = shape::in_order::<MailConfig>)]
pub struct MailConfig {
    /// Whose it is, by their names under `[people]`; without it whoever owns this Hob. Each of them may read it and write from it.
    #[serde(rename = "for", default)]
    #[schemars(length(max = 100), inner(length(min = 1, max = 64)), example = ["ada"])]
    pub people: Vec<String>,
    /// Its address.
    #[schemars(length(min = 3, max = 254), example = &"ada@example.org")]
    pub address: String,
    /// How its owner is called in letters.
    #[schemars(length(min = 1, max = 100), example = &"Ada Example")]
    pub name: Option<String>,
    /// The user's name on both servers. Without it: the address.
    #[schemars(length(min = 1, max = 254), example = &"ada")]
    pub user: Option<String>,
    /// The password on both; with many providers one made for this program alone. Without it: `oauth`.
    #[schemars(length(min = 1, max = 1000), example = &"example-password")]
    pub password: Option<Secret>,
    /// The server that letters lie on.
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
    /// A file with certificates (PEM) that are believed besides the usual ones.
    #[schemars(length(min = 1, max = 4096), example = &"/etc/ssl/certs/home.pem")]
    #[schemars(extend("x-goes" = true))]
    pub ca_file: Option<PathBuf>,
    /// The folder for drafts, where the server does not say which it is (`hob doctor` tells).
    #[schemars(length(min = 1, max = 200), example = &"Drafts")]
    pub drafts: Option<String>,
    /// The folder for copies of what is sent, likewise.
    #[schemars(length(min = 1, max = 200), example = &"Sent")]
    pub sent: Option<String>,
    /// The archive, likewise.
    #[schemars(length(min = 1, max = 200), example = &"Archive")]
    pub archive: Option<String>,
    /// The folder for what is thrown away, likewise.
    #[schemars(length(min = 1, max = 200), example = &"Trash")]
    pub trash: Option<String>,
    /// Whether Hob puts a copy of what it sends into that folder; not where the provider does so by itself.
    #[serde(default = "yes")]
    pub keep_sent: bool,
    /// A login instead of a password.
    pub oauth: Option<OAuthConfig>,
}

impl MailConfig {
    /// What cannot be; `known` are the people that there are.
    fn validate(&self, known: &BTreeMap<String, PersonConfig>) -> Vec<Finding> {
        let mut found = people::unknown("for", &self.people, known);
        if !is_address(&self.address) {
            found.push(no_address("address"));
        }
        found.extend(check_tls("imap_tls", self.imap_tls, &self.imap_host));
        found.extend(check_tls("smtp_tls", self.smtp_tls, &self.smtp_host));
        found.extend(self.ca_file.iter().filter_map(|path| values::absolute_path("ca_file", path)));
        if self.password.is_some() == self.oauth.is_some() {
            let why = "is one of two ways in, expected either it or oauth";
            found.push(Finding::new("password", why, "set one of them").with("oauth"));
        }
        found.extend(self.oauth.iter().flat_map(OAuthConfig::validate).map(|finding| finding.within("oauth")));
        // It goes into a line of SASL, where these end what it is.
        if self.user.iter().any(|user| user.chars().any(char::is_control)) {
            found.push(Finding::new("user", "has a line break or the like in it", "remove it"));
        }
        let folders =
            [("drafts", &self.drafts), ("sent", &self.sent), ("archive", &self.archive), ("trash", &self.trash)];
        for (key, folder) in folders {
            if folder.as_ref().is_some_and(|folder| folder.chars().any(char::is_control)) {
                let why = "has a character that no folder's name has";
                found.push(Finding::new(key, why, "copy it again from your mail program"));
            }
        }
        found
    }
}

/// What cannot be, in all of them.
pub(super) fn validate_accounts(
    accounts: &BTreeMap<String, MailConfig>,
    people: &BTreeMap<String, PersonConfig>,
) -> Vec<Finding> {
    let of = |(name, account): (&String, &MailConfig)| {
        let own = account.validate(people).into_iter().map(|finding| finding.within(&key_path::key(name)));
        people::account_name(name).into_iter().chain(own).collect::<Vec<_>>()
    };
    accounts.iter().flat_map(of).collect()
}
