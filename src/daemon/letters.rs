//! From `[email]` to what the mailboxes and the outbox take.

use std::sync::Arc;
use std::time::Duration;

use crate::daemon::parts;
use crate::daemon::people::{Section, lower};
use hob_config::Config;
use hob_config::email::{EmailConfig, TlsConfig};
use hob_core::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use hob_core::domain::principal::Role;
use hob_email::settings::{Authentication, Pace, Security, Server, Settings};
use hob_router::mail::LetterRules;

/// The mailboxes, and what each is called.
pub(super) fn accounts(config: &Config) -> impl Iterator<Item = (&str, &EmailConfig)> {
    let first = config.email.iter().map(|email| (DEFAULT_ACCOUNT, email));
    first.chain(config.email_accounts.iter().map(|(name, email)| (name.as_str(), email)))
}

/// What each of them says of people.
pub(super) fn sections(config: &Config) -> impl Iterator<Item = Section<'_>> {
    accounts(config).map(|(account, email)| Section {
        channel: ChannelKind::Email,
        account,
        admitted: [
            (Role::Guest, lower(&email.guest_addresses)),
            (Role::User, lower(&email.allowed_addresses)),
            (Role::Admin, lower(&email.admin_addresses)),
            (Role::Owner, lower(&email.owner_addresses)),
        ],
        guests: email.allow_guests,
        persona: email.persona.as_ref(),
        personas: &email.personas,
    })
}

/// To whom letters go unasked, and how often.
pub(super) fn rules(config: &Config) -> LetterRules {
    let per_hour_max =
        accounts(config).map(|(account, email)| (account.to_owned(), email.replies_per_hour_max)).collect();
    LetterRules { access: Arc::new(parts::access(config)), per_hour_max }
}

/// How a mailbox is reached.
pub(super) fn settings(account: &str, config: &EmailConfig) -> Settings {
    let address = config.address.to_lowercase();
    let user = config.imap_user.clone().unwrap_or_else(|| config.address.clone());
    let imap = Server {
        host: config.imap_host.clone(),
        port: config.imap_port,
        user: user.clone(),
        password: config.imap_password.clone(),
    };
    let smtp = Server {
        host: config.smtp_host.clone(),
        port: config.smtp_port,
        user: config.smtp_user.clone().unwrap_or(user),
        password: config.smtp_password.clone().unwrap_or_else(|| config.imap_password.clone()),
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
        pace: Pace::PRODUCTION,
    }
}

fn security(tls: TlsConfig) -> Security {
    match tls {
        TlsConfig::Tls => Security::Tls,
        TlsConfig::StartTls => Security::StartTls,
        TlsConfig::None => Security::Plain,
    }
}
