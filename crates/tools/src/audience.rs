//! For whom a tool or what it shows is, where role and module do not say it: whoever else asks is not told that it is there.

use async_trait::async_trait;

use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::access::Alias;
use hob_core::policy::memory::SpeakingPlace;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_store::users::{self, PlatformName};

/// Certain people, in certain places.
#[async_trait]
pub trait Audience: Send + Sync {
    /// Is somebody one of them, there? Asked when a run begins, and once more by the tool when it is called.
    async fn includes(&self, who: &Principal, place: SpeakingPlace) -> bool;
}

/// People whom a section of the config means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People {
    /// Whoever owns this Hob.
    pub owners: bool,
    /// Each by the names that they have on the platforms.
    pub named: Vec<Vec<Alias>>,
}

impl People {
    /// Is this one of them?
    pub fn include(&self, asker: &Asker) -> bool {
        let is_known = |alias: &Alias| {
            asker.names.iter().any(|name| {
                name.channel == alias.channel.as_str()
                    && alias.external_id.as_ref().is_none_or(|id| *id == name.external_id)
            })
        };
        (self.owners && asker.role == Role::Owner) || self.named.iter().flatten().any(is_known)
    }
}

/// Whoever asks, with all names that they have on the platforms.
#[derive(Debug)]
pub struct Asker {
    role: Role,
    names: Vec<PlatformName>,
}

impl Asker {
    /// Looks up who asks. None: their words come by a way which proves nobody's name, so that they are none of any people.
    ///
    /// # Errors
    /// When the database does not say who somebody is.
    pub async fn of(store: &Store, principal: &Principal) -> Result<Option<Self>, StoreError> {
        if principal.trust == Trust::Untrusted {
            return Ok(None);
        }
        let user = principal.user;
        let names = store.read(async move |tx| users::all_names(tx, user).await).await?;
        Ok(Some(Self { role: principal.role, names }))
    }
}
