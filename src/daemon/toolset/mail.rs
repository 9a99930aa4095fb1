//! People's mailboxes, as the config has them.

use crate::daemon::toolset::ToolDependencies;
use hob_tools::registry::Registry;
#[cfg(feature = "mail")]
use {
    crate::daemon::account_access,
    crate::daemon::email_policy::security,
    crate::daemon::toolset::web,
    hob_config::Config,
    hob_config::email::TlsConfig,
    hob_config::mail::MailConfig,
    hob_config::mail::oauth::{MailProvider, OAuthConfig},
    hob_mail::account::{Account, SignIn},
    hob_mail::audience::MailAudience,
    hob_mail::folders::FolderRole,
    hob_mail::login::MailLogin,
    hob_mail::login::issuer::Issuer,
    hob_mail::settings::{DEADLINE, ServerAddress, Settings},
    hob_mail::tools::{Mailboxes, all},
    std::path::Path,
    std::sync::Arc,
    url::Url,
};

/// Where a provider's codes and tokens are, and what opens its mail.
#[cfg(feature = "mail")]
struct KnownIssuer {
    device_url: &'static str,
    token_url: &'static str,
    scope: &'static str,
}

#[cfg(feature = "mail")]
const GOOGLE: KnownIssuer = KnownIssuer {
    device_url: "https://oauth2.googleapis.com/device/code",
    token_url: "https://oauth2.googleapis.com/token",
    scope: "https://mail.google.com/",
};

#[cfg(feature = "mail")]
const MICROSOFT: KnownIssuer = KnownIssuer {
    device_url: "https://login.microsoftonline.com/common/oauth2/v2.0/devicecode",
    token_url: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    scope: "https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send offline_access",
};

/// With their tools, where an account is set up. One that cannot be used is told of, and costs no other.
#[cfg(feature = "mail")]
pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    let made = accounts(dependencies.config, dependencies.data_dir).into_iter().filter_map(|(name, made)| match made {
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
    let audience = MailAudience::new(made, dependencies.memory.store.clone());
    let mailboxes = Arc::new(Mailboxes::new(audience, dependencies.memory.zone.clone()));
    all(&mailboxes).into_iter().fold(registry, Registry::with)
}

/// Without: this Hob was built so.
#[cfg(not(feature = "mail"))]
pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    if !dependencies.config.mail.is_empty() {
        tracing::error!("mail.not_built: this Hob was built without mail as a tool; [mail] has no effect");
    }
    registry
}

/// Each account of the config, or why it cannot be used.
#[cfg(feature = "mail")]
pub(crate) fn accounts<'a>(config: &'a Config, data_dir: &Path) -> Vec<(&'a str, Result<Account, String>)> {
    let account = |(name, own): (&String, &MailConfig)| {
        let sign_in = match login(name, own, config, data_dir)? {
            Some(login) => SignIn::Login(Box::new(login)),
            None => SignIn::Password(own.password.clone().ok_or("it has neither a password nor a login")?),
        };
        Account::new(settings(name, own, config), sign_in).map_err(|error| error.to_string())
    };
    config.mail.iter().map(|entry| (entry.0.as_str(), account(entry))).collect()
}

/// The login of an account; none: it has a password.
#[cfg(feature = "mail")]
pub(crate) fn login(
    name: &str,
    own: &MailConfig,
    config: &Config,
    data_dir: &Path,
) -> Result<Option<MailLogin>, String> {
    let Some(oauth) = &own.oauth else { return Ok(None) };
    let issuer = issuer(oauth)?;
    let servers = [(&own.imap_host, own.imap_port), (&own.smtp_host, own.smtp_port)];
    let shown_to = servers.into_iter().map(|(host, port)| format!("{host}:{port}")).chain([user(own)]).collect();
    Ok(Some(MailLogin::new(name, issuer, shown_to, data_dir, &web::guard(&config.web))))
}

#[cfg(feature = "mail")]
fn issuer(oauth: &OAuthConfig) -> Result<Issuer, String> {
    let known = oauth.provider.map(|provider| match provider {
        MailProvider::Google => &GOOGLE,
        MailProvider::Microsoft => &MICROSOFT,
    });
    let url = |key: &str, own: Option<&str>, known: Option<&str>| {
        let text = own.or(known).ok_or_else(|| format!("oauth.{key} is missing"))?;
        Url::parse(text).map_err(|error| error.to_string())
    };
    Ok(Issuer {
        device_url: url("device_url", oauth.device_url.as_deref(), known.map(|known| known.device_url))?,
        token_url: url("token_url", oauth.token_url.as_deref(), known.map(|known| known.token_url))?,
        scope: oauth.scope.as_deref().or(known.map(|known| known.scope)).unwrap_or_default().to_owned(),
        client_id: oauth.client_id.clone(),
        client_secret: oauth.client_secret.clone(),
    })
}

#[cfg(feature = "mail")]
fn user(own: &MailConfig) -> String {
    own.user.clone().unwrap_or_else(|| own.address.clone())
}

#[cfg(feature = "mail")]
fn settings(name: &str, own: &MailConfig, config: &Config) -> Settings {
    let place =
        |host: &str, port, tls: TlsConfig| ServerAddress { host: host.to_owned(), port, security: security(tls) };
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
        user: user(own),
        imap: place(&own.imap_host, own.imap_port, own.imap_tls),
        smtp: place(&own.smtp_host, own.smtp_port, own.smtp_tls),
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
        let made: Vec<Account> = accounts(&config, dir.path()).into_iter().map(|(_, made)| made.unwrap()).collect();
        let tools = all(&Arc::new(Mailboxes::new(MailAudience::new(made, store), TimeZone::UTC)));
        let registry = tools.into_iter().fold(Registry::default(), Registry::with);
        assert_eq!(registry.names(), TOOLS);
        assert!(registry.specs().all(|spec| spec.module == MODULE && !spec.core), "they are shown on need");
    }
}
