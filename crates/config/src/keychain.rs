//! The system's keychain (row N6): the Secret Service over D-Bus, in builds with the feature `keyring`.
//!
//! Never: a wait without an end, or D-Bus where no key asks for it.

#[cfg(feature = "keyring")]
use std::collections::HashMap;
#[cfg(feature = "keyring")]
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
#[cfg(feature = "keyring")]
use std::time::Duration;

#[cfg(feature = "keyring")]
use secret_service::EncryptionType;
#[cfg(feature = "keyring")]
use secret_service::blocking::SecretService;

/// How long the keychain is waited for; it may be locked, and ask somebody who is not there.
#[cfg(feature = "keyring")]
const WAIT: Duration = Duration::from_secs(5);
/// What Hob's entries are stored under.
pub const SERVICE: &str = "hob";

/// The keychain does not give a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeychainError {
    /// This build has no way to it.
    #[error("this Hob was built without the keychain")]
    NotBuilt,
    /// It has no such entry.
    #[error("the keychain has no entry of this name")]
    NoEntry,
    /// It cannot be asked.
    #[error("the keychain cannot be reached")]
    Unreachable,
    /// It did not answer in time.
    #[error("the keychain did not answer within 5 s; perhaps it is locked")]
    Silent,
}

impl KeychainError {
    /// What to do about it.
    pub(crate) fn fix(&self, name: &str) -> String {
        match self {
            Self::NotBuilt => {
                "use `file:/path` or `cred:NAME`, or build with `cargo build --release --features keyring`".to_owned()
            }
            Self::NoEntry => {
                format!("store it: `secret-tool store --label=Hob service {SERVICE} username {name}`")
            }
            Self::Unreachable => {
                "start a Secret Service such as gnome-keyring in the session in which Hob runs, or use \
                                  `file:/path` or `cred:NAME`"
                    .to_owned()
            }
            Self::Silent => "unlock the keychain, or use `file:/path` or `cred:NAME`".to_owned(),
        }
    }
}

/// The secret of this name.
///
/// # Errors
/// When this build has no keychain.
#[cfg(not(feature = "keyring"))]
pub(super) fn get(_name: &str) -> Result<String, KeychainError> {
    Err(KeychainError::NotBuilt)
}

/// The secret of this name.
///
/// # Errors
/// When the keychain does not have it, or does not give it in time.
#[cfg(feature = "keyring")]
pub(super) fn get(name: &str) -> Result<String, KeychainError> {
    let name = name.to_owned();
    let (tell, told) = sync_channel(1);
    // A thread of its own: it may wait for somebody to unlock the keychain, and is left alone then.
    let asking = move || {
        if tell.send(ask(&name)).is_err() {
            tracing::debug!("the keychain answered too late");
        }
    };
    let begun = std::thread::Builder::new().name("keychain".to_owned()).spawn(asking);
    begun.map_err(|_no_thread| KeychainError::Unreachable)?;
    match told.recv_timeout(WAIT) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => Err(KeychainError::Silent),
        Err(RecvTimeoutError::Disconnected) => Err(KeychainError::Unreachable),
    }
}

#[cfg(feature = "keyring")]
fn ask(name: &str) -> Result<String, KeychainError> {
    let unreachable = |error: secret_service::Error| {
        tracing::debug!(%error, "the keychain cannot be asked");
        KeychainError::Unreachable
    };
    let service = SecretService::connect(EncryptionType::Dh).map_err(unreachable)?;
    let wanted = HashMap::from([("service", SERVICE), ("username", name)]);
    let found = service.search_items(wanted).map_err(unreachable)?;
    let item = found.unlocked.first().or(found.locked.first()).ok_or(KeychainError::NoEntry)?;
    item.ensure_unlocked().or_else(|_locked| item.unlock()).map_err(unreachable)?;
    let secret = item.get_secret().map_err(unreachable)?;
    String::from_utf8(secret).map_err(|_not_text| KeychainError::NoEntry)
}
