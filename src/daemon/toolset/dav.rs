//! People's calendars and address books, as the config has them.

use std::sync::Arc;

#[cfg(feature = "dav")]
use jiff::Timestamp;
#[cfg(feature = "dav")]
use tokio::sync::Mutex;
#[cfg(feature = "dav")]
use url::Url;

#[cfg(feature = "dav")]
use crate::daemon::account_access;
use crate::daemon::toolset::ToolDependencies;
#[cfg(feature = "dav")]
use crate::daemon::toolset::web;
use hob_config::Config;
#[cfg(feature = "dav")]
use hob_config::{accounts::lower, dav::DavConfig};
#[cfg(feature = "dav")]
use hob_core::domain::principal::Principal;
use hob_core::domain::rng::Rng;
#[cfg(feature = "dav")]
use hob_dav::account::{Account, Accounts, Settings};
#[cfg(feature = "dav")]
use hob_dav::tools;
use hob_memory::recall::Memory;
use hob_router::agenda::Agenda;
#[cfg(feature = "dav")]
use hob_store::error::StoreError;
#[cfg(feature = "dav")]
use hob_tools::audience::People;
use hob_tools::registry::Registry;

/// With their tools, where an account is set up.
#[cfg(feature = "dav")]
pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    match usable(dependencies.config, dependencies.memory, dependencies.rng) {
        Some(accounts) => tools::all(&Arc::new(accounts)).into_iter().fold(registry, Registry::with),
        None => registry,
    }
}

/// Who knows what is on today; none: no account is set up.
#[cfg(feature = "dav")]
pub(in crate::daemon) fn agenda(config: &Config, memory: &Memory, rng: &Arc<dyn Rng>) -> Option<Arc<dyn Agenda>> {
    usable(config, memory, rng).map(|accounts| Arc::new(DayPlan { accounts, turn: Mutex::default() }) as _)
}

#[cfg(not(feature = "dav"))]
pub(in crate::daemon) fn agenda(_config: &Config, _memory: &Memory, _rng: &Arc<dyn Rng>) -> Option<Arc<dyn Agenda>> {
    None
}

#[cfg(feature = "dav")]
struct DayPlan {
    accounts: Accounts,
    /// One is told after another: each may hold a whole address book.
    turn: Mutex<()>,
}

#[cfg(feature = "dav")]
#[async_trait::async_trait]
impl Agenda for DayPlan {
    async fn today(&self, reader: &Principal, now: Timestamp) -> Result<Option<String>, StoreError> {
        let _turn = self.turn.lock().await;
        hob_dav::today::today(&self.accounts, reader, now).await
    }
}

/// The accounts that can be used; none: there is none.
#[cfg(feature = "dav")]
fn usable(config: &Config, memory: &Memory, rng: &Arc<dyn Rng>) -> Option<Accounts> {
    let made = accounts(config).into_iter().filter_map(|(name, made)| match made {
        Ok(account) => Some(account),
        Err(why) => {
            tracing::error!(account = name, "dav.account_off: [dav.{name}] cannot be used: {why}");
            None
        }
    });
    let made: Vec<Account> = made.collect();
    (!made.is_empty()).then(|| Accounts::new(made, memory.store.clone(), memory.zone.clone(), Arc::clone(rng)))
}

/// Without: this Hob was built so.
#[cfg(not(feature = "dav"))]
pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    if !dependencies.config.dav.is_empty() {
        tracing::error!("dav.not_built: this Hob was built without calendars; [dav] has no effect");
    }
    registry
}

/// Each account of the config, or why it cannot be used.
#[cfg(feature = "dav")]
pub(crate) fn accounts(config: &Config) -> Vec<(&str, Result<Account, String>)> {
    let guard = web::guard(&config.web);
    let account = |(name, own): (&String, &DavConfig)| {
        let settings = settings(name, own, config)?;
        Account::new(settings, &guard).map_err(|error| error.to_string())
    };
    config.dav.iter().map(|entry| (entry.0.as_str(), account(entry))).collect()
}

#[cfg(feature = "dav")]
fn settings(name: &str, own: &DavConfig, config: &Config) -> Result<Settings, String> {
    Ok(Settings {
        name: name.to_owned(),
        url: Url::parse(&own.url).map_err(|error| error.to_string())?,
        user: own.user.clone(),
        password: own.password.clone(),
        people: account_access::people(config, &own.people),
        busy_for: People { owners: false, ..account_access::people(config, &own.busy_for) },
        calendar: own.calendar.clone(),
        addresses: lower(&own.addresses),
    })
}

#[cfg(all(test, feature = "dav"))]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use hob_config::dav::{MODULE, TOOLS};
    use hob_core::domain::rng::SystemRng;
    use hob_store::{SchedulingMode, Store};

    #[tokio::test]
    async fn f3_the_config_knows_the_tools_that_an_account_brings() {
        let text = "[people.ada]\nterminal = true\nrole = 'owner'\n\
                    [dav.ada]\nurl = 'https://cloud.example'\nuser = 'ada'\npassword = 'x'\nfor = ['ada']\nbusy_for = []\n";
        let config: Config = toml::from_str(text).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let made: Vec<Account> = accounts(&config).into_iter().map(|(_, made)| made.unwrap()).collect();
        let tools = tools::all(&Arc::new(Accounts::new(made, store, TimeZone::UTC, Arc::new(SystemRng))));
        let registry = tools.into_iter().fold(Registry::default(), Registry::with);
        assert_eq!(registry.names(), TOOLS);
        assert!(registry.specs().all(|spec| spec.module == MODULE && !spec.core), "they are shown on need");
        let any = serde_json::json!({});
        let wrong = TOOLS.iter().filter_map(|name| registry.argument_errors(name, &any));
        assert_eq!(wrong.filter(|words| words.contains("cannot be called")).collect::<Vec<_>>(), [""; 0]);
    }
}
