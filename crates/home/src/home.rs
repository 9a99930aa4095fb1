//! The home as Hob has it: the server, what of it is exposed, who may look, and how the connection stands.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex as AsyncMutex;

use crate::client::Client;
use crate::entity::EntityState;
use crate::error::HomeError;
use crate::exposure::{EntityId, Exposure};
use crate::registry::Areas;
use crate::watch::observed::Observed;
use hob_core::domain::clock::Clock;
use hob_core::domain::principal::{Principal, Role, Trust};

/// So long it is known what is in which area.
const AREAS_KNOWN_FOR: SignedDuration = SignedDuration::from_mins(10);
/// The most entities that are looked through.
const ENTITIES_MAX: usize = 5_000;

/// As the config has it.
pub struct Settings {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// What may be seen and switched.
    pub exposure: Exposure,
    /// Who may look.
    pub role: Role,
}

/// How the connection stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum ConnectionState {
    /// Nobody has asked yet.
    #[default]
    Unasked,
    Answers(Timestamp),
    /// It did not.
    Fails(Timestamp, HomeError),
}

pub struct Home {
    /// The server.
    pub client: Client,
    /// As the config has it.
    pub settings: Settings,
    /// What is watched.
    pub observed: Observed,
    areas: AsyncMutex<Option<(Timestamp, Arc<Areas>)>>,
    standing: Mutex<ConnectionState>,
}

impl Home {
    /// One that nobody has asked yet.
    pub fn new(client: Client, settings: Settings) -> Self {
        let (areas, standing) = (AsyncMutex::default(), Mutex::default());
        Self { client, settings, observed: Observed::default(), areas, standing }
    }

    /// May they look? Words that come by a way which proves nobody's name see nothing.
    pub fn may_look(&self, principal: &Principal) -> bool {
        principal.trust == Trust::Trusted && principal.role >= self.settings.role
    }

    /// Is this exposed?
    pub(crate) fn shows(&self, entity: &str) -> bool {
        EntityId::parse(entity).is_some_and(|id| self.settings.exposure.shows(&id))
    }

    /// All that is exposed, in the order of the ids.
    ///
    /// # Errors
    /// When it does not say.
    pub async fn states(&self, now: Timestamp) -> Result<Vec<EntityState>, HomeError> {
        let mut all = self.noted(self.client.states().await, now)?;
        all.retain(|entity| self.settings.exposure.shows(&entity.id));
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all.truncate(ENTITIES_MAX);
        Ok(all)
    }

    /// One entity. One that is not exposed is not asked for.
    ///
    /// # Errors
    /// When it does not say, or there is none.
    pub async fn state(&self, id: &EntityId, now: Timestamp) -> Result<EntityState, HomeError> {
        if !self.settings.exposure.shows(id) {
            return Err(HomeError::Gone);
        }
        let found = self.client.state(id).await;
        self.noted(found, now)
    }

    pub(crate) async fn areas(&self, now: Timestamp) -> Result<Arc<Areas>, HomeError> {
        let mut known = self.areas.lock().await;
        if let Some((since, areas)) = &*known
            && now.duration_since(*since) < AREAS_KNOWN_FOR
        {
            return Ok(Arc::clone(areas));
        }
        let areas = Arc::new(self.noted(Areas::load(&self.client).await, now)?);
        *known = Some((now, Arc::clone(&areas)));
        Ok(areas)
    }

    /// Notes how it answered.
    ///
    /// # Errors
    /// What it answered.
    pub fn noted<T>(&self, answer: Result<T, HomeError>, now: Timestamp) -> Result<T, HomeError> {
        *self.standing() = match &answer {
            // Whoever says so has answered.
            Ok(_) | Err(HomeError::Gone | HomeError::Refused(_)) => ConnectionState::Answers(now),
            Err(error) => ConnectionState::Fails(now, error.clone()),
        };
        answer
    }

    fn standing(&self) -> MutexGuard<'_, ConnectionState> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it stands, in words for people.
    pub fn words(&self, now: Timestamp) -> String {
        let ago = |at: Timestamp| match now.duration_since(at).as_mins() {
            ..1 => "just now".to_owned(),
            mins @ 1..120 => format!("{mins} min ago"),
            mins => format!("{} h ago", mins / 60),
        };
        let stands = match &*self.standing() {
            ConnectionState::Unasked => "not asked yet".to_owned(),
            ConnectionState::Answers(at) => format!("answered {}", ago(*at)),
            ConnectionState::Fails(at, error) => format!("failed {}: {error}", ago(*at)),
        };
        match self.observed.words() {
            None => stands,
            Some(watched) => format!("{stands}; {watched}"),
        }
    }
}
