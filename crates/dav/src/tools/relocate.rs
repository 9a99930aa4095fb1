//! An entry goes to another calendar: it is written there as a new one, then taken away where it was, if it still is as it was read.
//!
//! Cut off in between, it stands in both; the same call goes on when it is made again, and knows what it has written by its mark. `MOVE`
//! is not used: not every server has it, and not every one that has it looks at the state of what it moves.
//!
//! Never: somebody else's entry overwritten, or an entry taken away that is not as it was read.
//! Start at [`NewCalendar::receive`].

use std::sync::Arc;

use crate::account::Account;
use crate::client::{Kind, Resource, WritePrecondition};
use crate::discovery::Collection;
use crate::edit;
use crate::entry::EntryId;
use crate::error::DavError;
use crate::lines::Component;
use crate::reading;
use crate::tools::target::Target;

/// The calendar that an entry goes to.
pub(super) struct NewCalendar {
    pub(super) account: Arc<Account>,
    pub(super) collection: Collection,
}

impl NewCalendar {
    /// Does the entry stand there already?
    pub(super) fn is_of(&self, target: &Target) -> bool {
        Arc::ptr_eq(&self.account, &target.account) && self.collection.href == target.collection.href
    }

    /// The name of an entry that went there.
    pub(super) fn name_of(&self, id: &EntryId) -> EntryId {
        let (account, calendar) = (self.account.settings.name.clone(), self.collection.key().to_owned());
        EntryId { account, calendar, ..id.clone() }
    }

    /// The entry goes there; `mark` is the call's.
    pub(super) async fn receive(&self, target: &Target, mark: &str) -> Result<(), DavError> {
        let (resource, client) = (&target.entry.id.resource, self.account.client());
        let (href, text) = (self.href(resource), target.calendar.text());
        match client.put(&href, text.clone(), WritePrecondition::New).await {
            Ok(()) => {}
            Err(DavError::Changed) => {
                let Some(own) = self.written(resource, mark).await? else { return Err(DavError::Taken) };
                client.put(&href, text, WritePrecondition::As(&own.etag)).await?;
            }
            Err(error) => return Err(error),
        }
        let taken = target.take_away().await;
        // Nobody knows what became of it: whoever makes the call again sees.
        if let Err(error) = &taken
            && !matches!(error, DavError::Unknown(_))
            && let Some(own) = self.written(resource, mark).await.map_err(DavError::of_change)?
        {
            client.delete(&href, &own.etag).await?;
        }
        taken
    }

    /// What the call of this mark has written there.
    pub(super) async fn written(&self, resource: &str, mark: &str) -> Result<Option<Resource>, DavError> {
        let hrefs = [self.href(resource)];
        let found = self.account.client().fetch(Kind::Calendar, &self.collection.href, &hrefs).await?;
        let Some(found) = found.into_iter().next() else { return Ok(None) };
        let (text, mark) = (found.text.clone(), mark.to_owned());
        let read = reading::read(move || {
            let calendar = Component::parse(&text, "VCALENDAR");
            Ok(calendar.is_some_and(|calendar| edit::is_signed(&calendar, &mark)))
        });
        Ok(read.await?.then_some(found))
    }

    fn href(&self, resource: &str) -> String {
        format!("{}/{resource}", self.collection.href.trim_end_matches('/'))
    }
}
