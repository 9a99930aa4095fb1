//! Whose an account is: the people whom its section names. Where it may be spoken of is where memories of one person alone may:
//! in private.

use async_trait::async_trait;

use crate::account::Account;
use hob_core::domain::principal::Principal;
use hob_core::policy::memory::SpeakingPlace;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_tools::audience::{Asker, Audience};

/// The accounts of a household, and whose they are.
pub struct MailAudience {
    accounts: Vec<Account>,
    store: Store,
}

impl MailAudience {
    pub fn new(accounts: Vec<Account>, store: Store) -> Self {
        Self { accounts, store }
    }

    /// The accounts that somebody may use at a place.
    pub(crate) async fn accounts_of(&self, who: &Principal, place: SpeakingPlace) -> Result<Vec<&Account>, StoreError> {
        if !place.private {
            return Ok(Vec::new());
        }
        let Some(asker) = Asker::of(&self.store, who).await? else { return Ok(Vec::new()) };
        Ok(self.accounts.iter().filter(|account| account.settings.people.include(&asker)).collect())
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
