//! People's mailboxes, as the config has them.

use crate::daemon::toolset::ToolDependencies;
use hob_tools::registry::Registry;
#[cfg(feature = "mail")]
use {
    crate::daemon::account_access,
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

/// With their tools, where an account is set up. One that cannot be used is told of, and costs no other.
#[cfg(feature = "mail")]
pub(super) fn add(registry: Registry, grounds: &ToolDependencies<'_>) -> Registry {
    let made = accounts(grounds.config).into_iter().filter_map(|(name, made)| match made {
        Ok(account) => Some(account),
        Err(why) => {
            tracing::error!(account = name, "mail.account_off: [mail.{name}] cannot be used: {why}");
            None
        }
    });
    let made: Vec<Account> = made.collect();
    if made.is_empty() {
        return registry;
    }
    let audience = MailAudience::new(made, grounds.memory.store.clone());
    let mailboxes = Arc::new(Mailboxes::new(audience, grounds.memory.zone.clone()));
    all(&mailboxes).into_iter().fold(registry, Registry::with)
}

/// Without: this Hob was built so.
#[cfg(not(feature = "mail"))]
pub(super) fn add(registry: Registry, grounds: &ToolDependencies<'_>) -> Registry {
    if !grounds.config.mail.is_empty() {
        tracing::error!("mail.not_built: this Hob was built without mail as a tool; [mail] has no effect");
    }
    registry
}

/// Each account of the config, or why it cannot be used.
#[cfg(feature = "mail")]
pub(crate) fn accounts(config: &Config) -> Vec<(&str, Result<Account, SetupError>)> {
    config.mail.iter().map(|(name, own)| (name.as_str(), Account::new(settings(name, own, config)))).collect()
}

#[cfg(feature = "mail")]
fn settings(name: &str, own: &MailConfig, config: &Config) -> Settings {
    let server = |host: &str, port| Server {
        host: host.to_owned(),
        port,
        user: own.user.clone().unwrap_or_else(|| own.address.clone()),
        password: own.password.clone(),
    };
    let folders = [
        (FolderRole::Drafts, &own.drafts),
        (FolderRole::Sent, &own.sent),
        (FolderRole::Archive, &own.archive),
        (FolderRole::Trash, &own.trash),
    ];
    Settings {
        name: name.to_owned(),
        people: account_access::people(config, &own.people),
        address: own.address.to_lowercase(),
        display_name: own.name.clone(),
        imap: server(&own.imap_host, own.imap_port),
        imap_security: security(own.imap_tls),
        smtp: server(&own.smtp_host, own.smtp_port),
        smtp_security: security(own.smtp_tls),
        ca_file: own.ca_file.clone(),
        folders: folders.into_iter().filter_map(|(role, folder)| Some((role, folder.clone()?))).collect(),
        keep_sent: own.keep_sent,
        deadline: DEADLINE,
    }
}

#[cfg(all(test, feature = "mail"))]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use hob_config::mail::{MODULE, TOOLS};
    use hob_store::{SchedulingMode, Store};

    #[tokio::test]
    async fn f3_the_config_knows_the_tools_that_a_mailbox_brings() {
        let text = "[people.ada]\nterminal = true\nrole = 'owner'\n[mail.ada]\naddress = 'ada@x.example'\n\
                    password = 'x'\nimap_host = 'x.example'\nsmtp_host = 'x.example'\nfor = ['ada']\n";
        let config: Config = toml::from_str(text).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let made: Vec<Account> = accounts(&config).into_iter().map(|(_, made)| made.unwrap()).collect();
        let tools = all(&Arc::new(Mailboxes::new(MailAudience::new(made, store), TimeZone::UTC)));
        let registry = tools.into_iter().fold(Registry::default(), Registry::with);
        assert_eq!(registry.names(), TOOLS);
        assert!(registry.specs().all(|spec| spec.module == MODULE && !spec.core), "they are shown on need");
    }
}
