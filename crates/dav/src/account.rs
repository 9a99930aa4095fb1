//! Accounts: whose they are, and what is in them. What a server has is found out when it is first asked.
//!
//! Never: an account shown to somebody whom its section does not name.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use url::Url;

use crate::client::{BYTES_MAX, Client, Kind, Resource};
use crate::discovery::{AccountCollections, Collection, discover};
use crate::entry::{self, Entry, Owner};
use crate::error::DavError;
use crate::reading;
use crate::rule::Effort;
use crate::series::Window;
use crate::words::Reader;
use hob_core::domain::principal::Principal;
use hob_core::domain::rng::Rng;
use hob_core::domain::secret::Secret;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_tools::audience::{Asker, People};
use hob_tools::net::EgressGuard;

/// So long it is known which collections there are.
const KNOWN_FOR: SignedDuration = SignedDuration::from_mins(10);
/// So many accounts are asked at once: what each answers is held until it is read.
const ACCOUNTS_AT_ONCE: usize = 2;
/// The most entries of one account that are told of a window.
const ENTRIES_MAX: usize = 20_000;

/// An account, as its section has it.
#[derive(Debug, Clone)]
pub struct Settings {
    pub name: String,
    pub url: Url,
    pub user: String,
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
type CollectionsCache = Mutex<Option<(Timestamp, Arc<AccountCollections>)>>;

pub struct Account {
    /// As its section has it.
    pub settings: Settings,
    client: Client,
    calendars: CollectionsCache,
    books: CollectionsCache,
}

impl Account {
    /// An account; nobody is asked for it.
    ///
    /// # Errors
    /// When name and password cannot be sent.
    pub fn new(settings: Settings, guard: &EgressGuard) -> Result<Self, DavError> {
        let client = Client::new(guard, settings.url.clone(), &settings.user, &settings.password)?;
        Ok(Self { settings, client, calendars: CollectionsCache::default(), books: CollectionsCache::default() })
    }

    /// Its server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub async fn found(&self, kind: Kind, now: Timestamp) -> Result<Arc<AccountCollections>, DavError> {
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

    /// What its people are invited under: their addresses, and what the server itself calls them.
    pub fn addresses(&self, found: &AccountCollections) -> Vec<String> {
        let own = self.settings.addresses.iter().map(|address| address.to_lowercase());
        own.chain(found.addresses.iter().cloned()).collect()
    }

    /// What all of these collections have that fits the query; they are asked one after another, and share what may be read.
    ///
    /// # Errors
    /// When its server does not give it, or gives too much.
    pub(crate) async fn query<'a>(
        &self,
        kind: Kind,
        found: &'a AccountCollections,
        filter: &str,
    ) -> Result<Vec<(&'a Collection, Vec<Resource>)>, DavError> {
        let (mut answered, mut left) = (Vec::new(), BYTES_MAX);
        for collection in &found.collections {
            let resources = self.client.clone().within(left).query(kind, &collection.href, filter).await?;
            left = resources.iter().fold(left, |left, resource| left.saturating_sub(resource.text.len()));
            answered.push((collection, resources));
        }
        Ok(answered)
    }

    /// All entries of the window.
    ///
    /// # Errors
    /// When its server does not give them, or there are more than can be read.
    pub async fn entries(&self, window: Window, reader: Reader<'_>) -> Result<Vec<Entry>, DavError> {
        let found = self.found(Kind::Calendar, reader.now).await?;
        let addresses = self.addresses(&found);
        let stamp = |at: Timestamp| at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let filter = format!(
            "<c:comp-filter name=\"VCALENDAR\"><c:comp-filter name=\"VEVENT\"><c:time-range start=\"{}\" end=\"{}\"/></c:comp-filter></c:comp-filter>",
            stamp(window.from),
            stamp(window.to)
        );
        let answered = self.query(Kind::Calendar, &found, &filter).await?.into_iter();
        let owned = |(collection, resources)| (self.owner(collection, &addresses, reader.home), resources);
        let answered: Vec<(Owner, Vec<Resource>)> = answered.map(owned).collect();
        reading::read(move || {
            let (mut all, mut effort) = (Vec::new(), Effort::default());
            for (owner, resource) in answered.iter().flat_map(|(owner, all)| all.iter().map(move |one| (owner, one))) {
                all.extend(entries_or_none(resource, owner, window, &mut effort));
                if effort.is_spent() || all.len() > ENTRIES_MAX {
                    return Err(DavError::Unreadable("its entries repeat too often".to_owned()));
                }
            }
            Ok(all)
        })
        .await
    }

    /// Whose entries those of a collection are.
    pub(crate) fn owner(&self, collection: &Collection, addresses: &[String], home: &TimeZone) -> Owner {
        Owner {
            account: self.settings.name.clone(),
            calendar: collection.key().to_owned(),
            addresses: addresses.to_vec(),
            home: home.clone(),
        }
    }
}

/// The entries of a resource; one that breaks its reader has none, and the others are told.
fn entries_or_none(resource: &Resource, owner: &Owner, window: Window, effort: &mut Effort) -> Vec<Entry> {
    let read = catch_unwind(AssertUnwindSafe(|| entry::entries(resource, owner, window, effort)));
    read.unwrap_or_else(|_panic| {
        tracing::error!(account = owner.account, "dav.entry_broke: an entry broke its reader, and is left out");
        Vec::new()
    })
}

/// All accounts of this Hob.
pub struct Accounts {
    all: Vec<Arc<Account>>,
    pub(crate) store: Store,
    /// The household's zone.
    pub home: TimeZone,
    pub(crate) rng: Arc<dyn Rng>,
}

impl Accounts {
    pub fn new(all: Vec<Account>, store: Store, home: TimeZone, rng: Arc<dyn Rng>) -> Self {
        Self { all: all.into_iter().map(Arc::new).collect(), store, home, rng }
    }

    /// Those of them that somebody may see into; or also those of which they may know when people are busy. Words that come by
    /// a way which proves nobody's name see none.
    ///
    /// # Errors
    /// When the database does not say who somebody is.
    pub async fn of(
        &self,
        principal: &Principal,
        schema_at: AccountVisibility,
    ) -> Result<Vec<Arc<Account>>, StoreError> {
        let Some(asker) = Asker::of(&self.store, principal).await? else { return Ok(Vec::new()) };
        let may = |account: &&Arc<Account>| {
            let Settings { people, busy_for, .. } = &account.settings;
            people.include(&asker) || (schema_at == AccountVisibility::Busy && busy_for.include(&asker))
        };
        Ok(self.all.iter().filter(may).cloned().collect())
    }

    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|account| account.settings.name.clone()).collect()
    }
}

/// What of an account is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountVisibility {
    Whole,
    /// When its people are busy.
    Busy,
}

pub(crate) type AccountEntry = (Arc<Account>, Entry);
/// What became of accounts that do not answer, with their names.
pub(crate) type Failed = Vec<(String, DavError)>;

/// What the accounts come to, each asked so, and which do not answer.
pub(crate) async fn of_each<T: Send>(
    accounts: &[Arc<Account>],
    asked: Vec<BoxFuture<'_, Result<Vec<T>, DavError>>>,
) -> (Vec<(Arc<Account>, T)>, Failed) {
    let answers: Vec<_> = stream::iter(asked).buffered(ACCOUNTS_AT_ONCE).collect().await;
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    for (account, answer) in accounts.iter().zip(answers) {
        match answer {
            Ok(found) => all.extend(found.into_iter().map(|one| (Arc::clone(account), one))),
            Err(error) => failed.push((account.settings.name.clone(), error)),
        }
    }
    (all, failed)
}

/// The entries of several accounts, in their order in time, and what did not answer.
pub(crate) async fn entries_of(
    accounts: &[Arc<Account>],
    window: Window,
    reader: Reader<'_>,
) -> (Vec<AccountEntry>, Failed) {
    let asked = accounts.iter().map(|account| account.entries(window, reader).boxed()).collect();
    let (mut all, failed) = of_each(accounts, asked).await;
    all.sort_by_key(|(_, entry): &AccountEntry| entry.start.instant(reader.home));
    (all, failed)
}
