//! What an account is made of.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::folders::FolderRole;
use hob_email::settings::Security;
use hob_tools::audience::People;

/// How long a server may take over what is asked of it.
pub const DEADLINE: Duration = Duration::from_secs(45);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Its name; its certificate must be for it.
    pub host: String,
    pub port: u16,
    /// How the way there is secured.
    pub security: Security,
}

/// Somebody's mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub name: String,
    pub people: People,
    /// Its address, in lower case.
    pub address: String,
    /// How its owner is called in letters.
    pub display_name: Option<String>,
    /// The user's name on both servers.
    pub user: String,
    /// Where letters lie.
    pub imap: ServerAddress,
    /// Where letters go out.
    pub smtp: ServerAddress,
    /// Certificates that are believed besides the usual ones (PEM).
    pub ca_file: Option<PathBuf>,
    /// The folders that have a role by the owner's word, whatever the server says.
    pub folders: BTreeMap<FolderRole, String>,
    /// Whether a copy of what is sent is put into *Sent*; some providers do that by themselves.
    pub keep_sent: bool,
    /// How long a server may take.
    pub deadline: Duration,
}

impl Settings {
    /// The domain that its Message-IDs are of.
    pub fn domain(&self) -> &str {
        self.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain)
    }
}
