//! The mailboxes of people, as tools for them.

use crate::daemon::toolset::ToolDependencies;
use hob_tools::registry::Registry;
#[cfg(feature = "mail")]
use {
    crate::daemon::account_access::aliases,
    crate::daemon::email_policy::security,
    hob_config::Config,
    hob_config::mail::MailConfig,
    hob_email::SetupError,
    hob_email::settings::Server,
    hob_mail::account::Account,
    hob_mail::audience::MailAudience,
    hob_mail::folders::FolderRole,
    hob_mail::settings::{DEADLINE, Settings},
    hob_mail::tools::{Mailboxes, all},
    std::sync::Arc,
};

/// With them, if there are any. An account that cannot be made is told of, and costs no other.
#[cfg(feature = "mail")]
pub(super) fn add(registry: Registry, grounds: &ToolDependencies<'_>) -> Registry {
    let config = grounds.config;
    if config.mail.is_empty() {
        return registry;
    }
    let made = accounts(config).into_iter().filter_map(|(name, account)| {
        account
            .inspect_err(|error| tracing::error!(account = name, "{name}'s mail cannot be looked into: {error}"))
            .ok()
    });
    let people = config.people.iter().map(|(name, person)| (name.clone(), aliases(person))).collect();
    let whose = config.mail.iter().map(|(name, mail)| (name.clone(), mail.people(name).map(str::to_owned).collect()));
    let audience = MailAudience::new(people, whose.collect(), grounds.memory.store.clone());
    let mailboxes = Arc::new(Mailboxes::new(made.collect(), audience, grounds.memory.zone.clone()));
    all(&mailboxes).into_iter().fold(registry, Registry::with)
}

#[cfg(not(feature = "mail"))]
pub(super) fn add(registry: Registry, grounds: &ToolDependencies<'_>) -> Registry {
    if !grounds.config.mail.is_empty() {
        tracing::error!("[mail] does nothing: this Hob was built without the feature `mail`");
    }
    registry
}

/// The accounts of the config, by name.
#[cfg(feature = "mail")]
#[must_use]
pub fn accounts(config: &Config) -> Vec<(&str, Result<Account, SetupError>)> {
    config.mail.iter().map(|(name, mail)| (name.as_str(), Account::new(settings(name, mail)))).collect()
}

#[cfg(feature = "mail")]
fn settings(name: &str, config: &MailConfig) -> Settings {
    let server = |host: &str, port| Server {
        host: host.to_owned(),
        port,
        user: config.user.clone().unwrap_or_else(|| config.address.clone()),
        password: config.password.clone(),
    };
    let folders = [
        (FolderRole::Drafts, &config.drafts),
        (FolderRole::Sent, &config.sent),
        (FolderRole::Archive, &config.archive),
        (FolderRole::Trash, &config.trash),
    ];
    Settings {
        name: name.to_owned(),
        address: config.address.to_lowercase(),
        display_name: config.name.clone(),
        imap: server(&config.imap_host, config.imap_port),
        imap_security: security(config.imap_tls),
        smtp: server(&config.smtp_host, config.smtp_port),
        smtp_security: security(config.smtp_tls),
        ca_file: config.ca_file.clone(),
        folders: folders.into_iter().filter_map(|(role, folder)| Some((role, folder.clone()?))).collect(),
        keep_sent: config.keep_sent,
        deadline: DEADLINE,
    }
}
