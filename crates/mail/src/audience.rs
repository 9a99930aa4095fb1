//! Whose an account is: a person of the household, and whom they name. Where it may be spoken of is where memories of that
//! person alone may: in private.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::principal::{Principal, Trust};
use hob_core::policy::access::Alias;
use hob_core::policy::memory::SpeakingPlace;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_store::users;
use hob_tools::audience::Audience;

/// Who may use which account.
pub struct MailAudience {
    /// Who is known by which names: the people of the config.
    people: BTreeMap<String, BTreeSet<Alias>>,
    /// The people of each account, by its name.
    accounts: BTreeMap<String, BTreeSet<String>>,
    store: Store,
}

impl MailAudience {
    /// With these people, and these of them for each account.
    #[must_use]
    pub fn new(
        people: BTreeMap<String, BTreeSet<Alias>>,
        accounts: BTreeMap<String, BTreeSet<String>>,
        store: Store,
    ) -> Self {
        Self { people, accounts, store }
    }

    /// The accounts that somebody may use at a place, by name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn accounts_of(&self, who: &Principal, place: SpeakingPlace) -> Result<Vec<&str>, StoreError> {
        if !place.private || who.trust == Trust::Untrusted {
            return Ok(Vec::new());
        }
        let user = who.user;
        let names = self.store.read(async move |tx| users::all_names(tx, user).await).await?;
        let aliases: Vec<(String, String)> = names.into_iter().map(|name| (name.channel, name.external_id)).collect();
        let Some(person) = self.person(&aliases) else { return Ok(Vec::new()) };
        let theirs = self.accounts.iter().filter(|(_, people)| people.contains(person));
        Ok(theirs.map(|(account, _)| account.as_str()).collect())
    }

    /// The person who has these names on the platforms. Who has names of several is none of them.
    fn person(&self, names: &[(String, String)]) -> Option<&str> {
        let is_theirs = |aliases: &BTreeSet<Alias>| {
            names.iter().any(|(channel, id)| {
                // Whoever opens the page as its owner is whoever sits at this machine.
                let seated = [ChannelKind::Web, ChannelKind::Terminal].iter().any(|kind| kind.as_str() == channel);
                let is = |alias: &Alias| alias.channel.as_str() == channel && alias.external_id.as_ref() == Some(id);
                seated && aliases.contains(&Alias::TERMINAL) || aliases.iter().any(is)
            })
        };
        let mut found = self.people.iter().filter(|(_, aliases)| is_theirs(aliases));
        found.next().filter(|_| found.next().is_none()).map(|(name, _)| name.as_str())
    }
}

#[async_trait]
impl Audience for MailAudience {
    async fn includes(&self, who: &Principal, place: SpeakingPlace) -> bool {
        match self.accounts_of(who, place).await {
            Ok(accounts) => !accounts.is_empty(),
            Err(error) => {
                tracing::warn!(%error, "it is not known whose mail this is; it is nobody's for now");
                false
            }
        }
    }
}
