//! The household's Home Assistant, as the config has it.

use std::sync::Arc;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::daemon::toolset::ToolDependencies;
use hob_config::Config;
use hob_router::intake::Router;
use hob_tools::registry::Registry;
use hob_tools::schedule::look::Looker;
#[cfg(feature = "home")]
use {
    crate::daemon::toolset,
    crate::daemon::toolset::web,
    hob_config::home_assistant::HomeAssistantConfig,
    hob_core::domain::clock::SystemClock,
    hob_core::domain::rng::SystemRng,
    hob_home::client::Client,
    hob_home::exposure::Exposure,
    hob_home::home::{Home, Settings},
    hob_home::tools,
    hob_home::watch::follow::{FollowPorts, follow},
    url::Url,
};

/// The home, if one is set up.
#[derive(Clone, Default)]
pub(in crate::daemon) struct HomeHandle(#[cfg(feature = "home")] Option<Arc<Home>>);

#[cfg(feature = "home")]
impl HomeHandle {
    /// As this config has it; `former` goes on where nothing about it has changed.
    pub(in crate::daemon) fn of(config: &Config, former: Option<(&Config, &Self)>) -> Self {
        let (own, of_web) = (&config.home_assistant, &config.web);
        if let Some((_, home)) = former.filter(|(before, _)| (&before.home_assistant, &before.web) == (own, of_web)) {
            return home.clone();
        }
        let made = own.as_ref().and_then(|own| {
            let made = made(own, config);
            made.inspect_err(|why| tracing::error!("home.off: [home_assistant] cannot be used: {why}")).ok()
        });
        Self(made.map(Arc::new))
    }

    /// Whoever looks at it for schedules.
    pub(in crate::daemon) fn looker(&self) -> Option<Arc<dyn Looker>> {
        self.0.clone().map(|home| home as Arc<dyn Looker>)
    }

    /// How it stands, in words for people.
    pub(in crate::daemon) fn standing(&self) -> Option<Arc<dyn Fn(Timestamp) -> String + Send + Sync>> {
        let home = self.0.clone()?;
        Some(Arc::new(move |now| home.words(now)))
    }

    /// Is it the same?
    pub(in crate::daemon) fn is(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    /// Follows what schedules wait for, until `stop`.
    pub(in crate::daemon) async fn follow(self, router: Arc<Router>, stop: CancellationToken) {
        let Some(home) = self.0 else { return };
        let (store, alarm) = (router.store.clone(), Arc::clone(&router.alarm));
        follow(FollowPorts { home, store, alarm, rng: Arc::new(SystemRng) }, stop).await;
    }
}

/// Without: this Hob was built so.
#[cfg(not(feature = "home"))]
impl HomeHandle {
    pub(in crate::daemon) fn of(config: &Config, _former: Option<(&Config, &Self)>) -> Self {
        if config.home_assistant.is_some() {
            tracing::error!(
                "home.not_built: this Hob was built without Home Assistant; [home_assistant] has no effect"
            );
        }
        Self()
    }

    pub(in crate::daemon) fn looker(&self) -> Option<Arc<dyn Looker>> {
        None
    }

    pub(in crate::daemon) fn standing(&self) -> Option<Arc<dyn Fn(Timestamp) -> String + Send + Sync>> {
        None
    }

    pub(in crate::daemon) fn is(&self, _other: &Self) -> bool {
        true
    }

    pub(in crate::daemon) async fn follow(self, _router: Arc<Router>, _stop: CancellationToken) {}
}

/// With its tools, where it is set up.
#[cfg(feature = "home")]
pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    match &dependencies.home.0 {
        Some(home) => tools::all(home, toolset::schedules(dependencies)).into_iter().fold(registry, Registry::with),
        None => registry,
    }
}

#[cfg(not(feature = "home"))]
pub(super) fn add(registry: Registry, _dependencies: &ToolDependencies<'_>) -> Registry {
    registry
}

/// The home of this config, or why it cannot be used.
#[cfg(feature = "home")]
pub(crate) fn made(own: &HomeAssistantConfig, config: &Config) -> Result<Home, String> {
    let url = Url::parse(&own.url).map_err(|error| error.to_string())?;
    let client =
        Client::new(&web::guard(&config.web), url, own.access_token.clone()).map_err(|error| error.to_string())?;
    let settings = Settings {
        clock: Arc::new(SystemClock),
        exposure: Exposure::new(own.entities.clone(), own.critical.clone()),
        role: own.role,
    };
    Ok(Home::new(client, settings))
}

#[cfg(all(test, feature = "home"))]
#[expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use hob_config::home_assistant::{MODULE, TOOLS};
    use hob_core::domain::principal::Role;
    use hob_store::{SchedulingMode, Store};
    use hob_tools::schedule::ScheduleKeeper;

    fn config(more: &str) -> Config {
        let text = format!(
            "[home_assistant]\nurl = 'http://127.0.0.1:8123'\naccess_token = 'x'\nentities = ['light.kitchen', 'sensor.*']\n{more}"
        );
        toml::from_str(&text).unwrap()
    }

    async fn registry(config: &Config) -> Registry {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let keeper = ScheduleKeeper { store, zone: TimeZone::UTC, alarm: Arc::default() };
        let home = HomeHandle::of(config, None).0.unwrap();
        tools::all(&home, keeper).into_iter().fold(Registry::default(), Registry::with)
    }

    #[tokio::test]
    async fn f9_the_config_knows_the_tools_that_a_home_brings() {
        let registry = registry(&config("")).await;
        assert_eq!(registry.names(), TOOLS);
        assert!(registry.specs().all(|spec| spec.module == MODULE && !spec.core), "they are shown on need");
        let any = serde_json::json!({});
        let wrong = TOOLS.iter().filter_map(|name| registry.argument_errors(name, &any));
        assert_eq!(wrong.filter(|words| words.contains("cannot be called")).collect::<Vec<_>>(), [""; 0]);
        let about = &registry.get("home_do").unwrap().spec().schema.description.clone();
        assert!(
            about.contains("Known by their ids: light.kitchen.") && about.contains("light: turn_on(transition"),
            "{about}"
        );
        assert!(!about.contains("lock: "), "what is not exposed is not told of: {about}");
    }

    #[tokio::test]
    async fn f9_guests_look_at_most() {
        for (more, look, act) in [
            ("", Role::User, Role::User),
            ("role = 'guest'", Role::Guest, Role::User),
            ("role = 'owner'", Role::Owner, Role::Owner),
        ] {
            let registry = registry(&config(more)).await;
            let role = |name: &str| registry.get(name).unwrap().spec().role;
            assert_eq!((role("home_look"), role("home_do"), role("home_watch")), (look, act, act), "{more}");
        }
    }
}
