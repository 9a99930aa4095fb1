//! From `[email]` to what the mailboxes and the outbox take.

use std::sync::Arc;
#[cfg(feature = "email")]
use std::{any::Any, time::Duration};

use crate::daemon::channels::SharedConnector;
#[cfg(not(feature = "email"))]
use crate::daemon::channels::not_built_in;
#[cfg(feature = "email")]
use crate::daemon::channels::{AccountConnector, BuildError};
use crate::daemon::config_mapping;
use crate::daemon::error::StartError;
use hob_config::Config;
use hob_config::accounts::Account;
#[cfg(feature = "email")]
use hob_config::email::EmailConfig;
use hob_router::mail::EmailPolicy;
#[cfg(feature = "email")]
use {
    crate::daemon::reload::plan::AccountAddress,
    hob_config::accounts::lower,
    hob_core::domain::{channel::Adapter, clock::Clock, inbound::ChannelKind, rng::Rng},
    hob_email::Email,
    hob_email::settings::{Authentication, Credential, Server, Settings, Timing},
};
#[cfg(any(feature = "email", feature = "mail"))]
use {hob_config::email::TlsConfig, hob_email::settings::Security};

/// To whom letters go unasked, and how often.
pub(super) fn rules(config: &Config) -> EmailPolicy {
    let per_hour_max = config
        .mailboxes()
        .map(|Account { name: account, section: email, .. }| (account.to_owned(), email.replies_per_hour_max))
        .collect();
    EmailPolicy { access: Arc::new(config_mapping::access(config)), per_hour_max }
}

/// How they are reached.
#[cfg(feature = "email")]
pub(super) fn wirings(config: &Config) -> Result<Vec<SharedConnector>, StartError> {
    Ok(config
        .mailboxes()
        .map(|Account { name: account, section: own, .. }| Arc::new(settings(account, own)) as SharedConnector)
        .collect())
}

#[cfg(not(feature = "email"))]
pub(super) fn wirings(config: &Config) -> Result<Vec<SharedConnector>, StartError> {
    not_built_in("email", config.mailboxes())
}

#[cfg(feature = "email")]
impl AccountConnector for Settings {
    fn address(&self) -> AccountAddress {
        (ChannelKind::Email, self.account.clone())
    }

    fn is_same_connection(&self, other: &dyn AccountConnector) -> bool {
        (other as &dyn Any).downcast_ref::<Self>() == Some(self)
    }

    fn build(&self, clock: Arc<dyn Clock>, rng: Arc<dyn Rng>) -> Result<Arc<dyn Adapter>, BuildError> {
        Ok(Arc::new(Email::new(self.clone(), clock, rng)?))
    }
}

#[cfg(feature = "email")]
fn settings(account: &str, config: &EmailConfig) -> Settings {
    let address = config.address.to_lowercase();
    let user = config.imap_user.clone().unwrap_or_else(|| config.address.clone());
    let imap = Server {
        host: config.imap_host.clone(),
        port: config.imap_port,
        user: user.clone(),
        credential: Credential::Password(config.imap_password.clone()),
    };
    let smtp = Server {
        host: config.smtp_host.clone(),
        port: config.smtp_port,
        user: config.smtp_user.clone().unwrap_or(user),
        credential: Credential::Password(config.smtp_password.clone().unwrap_or_else(|| config.imap_password.clone())),
    };
    Settings {
        account: account.to_owned(),
        address,
        name: config.name.clone(),
        aliases: lower(&config.aliases),
        imap,
        smtp,
        imap_security: security(config.imap_tls),
        smtp_security: security(config.smtp_tls),
        ca_file: config.ca_file.clone(),
        folder: config.folder.clone(),
        sent_folder: config.sent_folder.clone(),
        mark_seen: config.mark_seen,
        authentication: Authentication { authserv_ids: lower(&config.authserv_ids), verify: config.verify },
        answer_automatic_from: lower(&config.answer_automatic_from),
        reply_all: config.reply_all,
        poll: Duration::from_secs(config.poll_secs),
        letter_bytes_max: config.letter_mb_max.saturating_mul(1 << 20),
        pace: Timing::PRODUCTION,
    }
}

#[cfg(any(feature = "email", feature = "mail"))]
pub(super) fn security(tls: TlsConfig) -> Security {
    match tls {
        TlsConfig::Tls => Security::Tls,
        TlsConfig::StartTls => Security::StartTls,
        TlsConfig::None => Security::Plain,
    }
}
