//! Accounts: whose they are, and what is in them. What a server has is found out when it is first asked.
//!
//! Never: an account shown to somebody whom its section does not name.

use std::sync::Arc;

use futures::future::{join_all, try_join_all};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use url::Url;

use crate::client::{Client, Kind, Resource};
use crate::discovery::{Collection, Found, discover};
use crate::entry::{self, Entry, Owner};
use crate::error::DavError;
use crate::series::Window;
use crate::words::Reader;
use hob_core::domain::principal::Principal;
use hob_core::domain::secret::Secret;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_tools::audience::{Asker, People};
use hob_tools::net::EgressGuard;

/// So long it is known which collections there are.
const KNOWN_FOR: SignedDuration = SignedDuration::from_mins(10);

/// An account, as its section has it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub url: Url,
    /// Its user.
    pub user: String,
    /// The password.
    pub password: Secret,
    /// Who may see and change what is in it.
    pub people: People,
    /// Who may see when they are busy, and no more.
    pub busy_for: People,
    /// The calendar that new entries go to.
    pub calendar: Option<String>,
    /// The addresses that its people are invited under.
    pub addresses: Vec<String>,
}

/// What is known of an account, and since when.
type Known = Mutex<Option<(Timestamp, Arc<Found>)>>;

/// An account.
pub struct Account {
    /// As its section has it.
    pub settings: Settings,
    client: Client,
    calendars: Known,
    books: Known,
}

/// An entry, with the resource that it is of.
#[derive(Debug, Clone)]
pub struct Held {
    /// The collection.
    pub collection: Collection,
    /// The resource.
    pub resource: Arc<Resource>,
    /// The entry.
    pub entry: Entry,
}

impl Account {
    /// An account; nobody is asked for it.
    ///
    /// # Errors
    /// When name and password cannot be sent.
    pub fn new(settings: Settings, guard: &EgressGuard) -> Result<Self, DavError> {
        let client = Client::new(guard, settings.url.clone(), &settings.user, &settings.password)?;
        Ok(Self { settings, client, calendars: Known::default(), books: Known::default() })
    }

    /// Its server.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What of this kind it has.
    ///
    /// # Errors
    /// When its server does not say.
    pub async fn found(&self, kind: Kind, now: Timestamp) -> Result<Arc<Found>, DavError> {
        let known = if kind == Kind::Calendar { &self.calendars } else { &self.books };
        let mut known = known.lock().await;
        if let Some((since, found)) = known.as_ref().filter(|(since, _)| now.duration_since(*since) < KNOWN_FOR) {
            tracing::trace!(%since, "what the server has is known");
            return Ok(Arc::clone(found));
        }
        let found = Arc::new(discover(&self.client, kind).await?);
        *known = Some((now, Arc::clone(&found)));
        Ok(found)
    }

    /// The addresses that its people are invited under.
    #[must_use]
    pub fn addresses(&self, found: &Found) -> Vec<String> {
        let own = self.settings.addresses.iter().map(|address| address.to_lowercase());
        own.chain(found.addresses.iter().cloned()).collect()
    }

    /// All entries of the window, with their resources.
    ///
    /// # Errors
    /// When its server does not give them.
    pub async fn entries(&self, window: Window, reader: Reader<'_>) -> Result<Vec<Held>, DavError> {
        let Reader { home, now } = reader;
        let found = self.found(Kind::Calendar, now).await?;
        let addresses = self.addresses(&found);
        let stamp = |at: Timestamp| at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let filter = format!(
            "<c:comp-filter name=\"VCALENDAR\"><c:comp-filter name=\"VEVENT\"><c:time-range start=\"{}\" end=\"{}\"/></c:comp-filter></c:comp-filter>",
            stamp(window.from),
            stamp(window.to)
        );
        let asked =
            found.collections.iter().map(|collection| self.client.query(Kind::Calendar, &collection.href, &filter));
        let all = try_join_all(asked).await?;
        let mut held = Vec::new();
        for (collection, resources) in found.collections.iter().zip(all) {
            let owner = self.owner(collection, &addresses, home);
            for resource in resources {
                let resource = Arc::new(resource);
                let entries = entry::entries(&resource, owner, window);
                held.extend(entries.into_iter().map(|entry| Held {
                    collection: collection.clone(),
                    resource: Arc::clone(&resource),
                    entry,
                }));
            }
        }
        held.sort_by_key(|held| held.entry.start.instant(home));
        Ok(held)
    }

    /// Whose entries those of a collection are.
    pub(crate) fn owner<'a>(
        &'a self,
        collection: &'a Collection,
        addresses: &'a [String],
        home: &'a TimeZone,
    ) -> Owner<'a> {
        Owner { account: &self.settings.name, calendar: collection.key(), addresses, home }
    }
}

/// All accounts of this Hob.
pub struct Accounts {
    all: Vec<Arc<Account>>,
    store: Store,
    /// The household's zone.
    pub home: TimeZone,
}

impl Accounts {
    /// These.
    #[must_use]
    pub fn new(all: Vec<Account>, store: Store, home: TimeZone) -> Self {
        Self { all: all.into_iter().map(Arc::new).collect(), store, home }
    }

    /// Those of them that somebody may see into; or also those of which they may know when people are busy. Words that come by
    /// a way which proves nobody's name see none.
    ///
    /// # Errors
    /// When the database does not say who somebody is.
    pub async fn of(&self, principal: &Principal, sight: Sight) -> Result<Vec<Arc<Account>>, StoreError> {
        let Some(asker) = Asker::of(&self.store, principal).await? else { return Ok(Vec::new()) };
        let may = |account: &&Arc<Account>| {
            let Settings { people, busy_for, .. } = &account.settings;
            people.include(&asker) || (sight == Sight::Busy && busy_for.include(&asker))
        };
        Ok(self.all.iter().filter(may).cloned().collect())
    }

    /// Their names.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|account| account.settings.name.clone()).collect()
    }
}

/// What of an account is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// All of it.
    Whole,
    /// When its people are busy.
    Busy,
}

/// The entries of several accounts, in their order in time, and what did not answer.
pub(crate) async fn entries_of(
    accounts: &[Arc<Account>],
    window: Window,
    reader: Reader<'_>,
) -> (Vec<(Arc<Account>, Held)>, Vec<(String, DavError)>) {
    let asked = accounts.iter().map(|account| account.entries(window, reader));
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    for (account, found) in accounts.iter().zip(join_all(asked).await) {
        match found {
            Ok(held) => all.extend(held.into_iter().map(|held| (Arc::clone(account), held))),
            Err(error) => failed.push((account.settings.name.clone(), error)),
        }
    }
    all.sort_by_key(|(_, held)| held.entry.start.instant(reader.home));
    (all, failed)
}
