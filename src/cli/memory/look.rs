//! What is looked at at the command line: by whoever may read the file, so that nothing is hidden from them.

use std::path::Path;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::ids::{FactId, MemoryId, UserId};
use hob_core::domain::memory::Scope;
use hob_memory::facts::SearchFacts;
use hob_memory::item::Item;
use hob_memory::recall::{Memory, Question, RecallLimits};
use hob_store::error::StoreError;
use hob_store::{Pace, Statement, Store, Tx, remembered, transfer};

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    /// `m12` or `f7`.
    pub(super) id: String,
    pub(super) scope: Scope,
    pub(super) at: Timestamp,
    pub(super) who: String,
    /// The key, for a fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    pub(super) text: String,
    pub(super) pinned: bool,
}

/// Everywhere that something is remembered.
pub(super) struct Scopes;

#[async_trait]
impl Statement for Scopes {
    type Output = Vec<Scope>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Scope>, StoreError> {
        remembered::scopes(tx).await
    }
}

/// The users of this name.
pub(super) struct Named {
    pub(super) name: String,
}

#[async_trait]
impl Statement for Named {
    type Output = Vec<UserId>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<UserId>, StoreError> {
        transfer::users_by_name(tx, &self.name).await
    }
}

/// The newest.
pub(super) struct Newest {
    pub(super) scopes: Vec<Scope>,
    pub(super) limit: i64,
}

#[async_trait]
impl Statement for Newest {
    type Output = Vec<Row>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Row>, StoreError> {
        let mut items = Vec::new();
        for scope in &self.scopes {
            items.extend(remembered::newest(tx, *scope, false, self.limit).await?.into_iter().map(Item::Memory));
            items.extend(remembered::current(tx, *scope, self.limit).await?.into_iter().map(Item::Fact));
        }
        let mut rows = Rows { items }.run(tx).await?;
        rows.sort_by_key(|row| std::cmp::Reverse(row.at));
        rows.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        Ok(rows)
    }
}

/// Of facts those that match.
struct Facts {
    search: SearchFacts,
}

#[async_trait]
impl Statement for Facts {
    type Output = Vec<Item>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Item>, StoreError> {
        Ok(self.search.run(tx).await?.into_iter().map(|row| Item::Fact(row.id)).collect())
    }
}

/// What there is under these names, in this order.
struct Rows {
    items: Vec<Item>,
}

#[async_trait]
impl Statement for Rows {
    type Output = Vec<Row>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        for item in &self.items {
            rows.extend(match item {
                Item::Memory(id) => memory(tx, *id).await?,
                Item::Fact(id) => fact(tx, *id).await?,
            });
        }
        Ok(rows)
    }
}

async fn memory(tx: &mut Tx, id: MemoryId) -> Result<Option<Row>, StoreError> {
    Ok(remembered::memory(tx, id).await?.map(|row| Row {
        id: Item::Memory(row.id).to_string(),
        scope: row.scope,
        at: Timestamp::from_millisecond(row.at).unwrap_or_default(),
        who: row.speaker,
        key: None,
        text: row.text,
        pinned: row.pinned,
    }))
}

async fn fact(tx: &mut Tx, id: FactId) -> Result<Option<Row>, StoreError> {
    Ok(remembered::fact(tx, id).await?.map(|row| Row {
        id: Item::Fact(row.id).to_string(),
        scope: row.scope,
        at: Timestamp::from_millisecond(row.created_at).unwrap_or_default(),
        who: row.speaker,
        key: Some(row.key),
        text: row.value,
        pinned: row.pinned,
    }))
}

/// What has these words, as `/memory WORDS` finds it; by words alone, as no model is loaded for it.
pub(super) async fn search(
    database: &Path,
    words: &str,
    scopes: Vec<Scope>,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let store = Store::open(database, Pace::Threaded).await?;
    let memory = Memory::by_words(store.clone(), TimeZone::system());
    let limits = RecallLimits { fragments: limit, tokens: u64::MAX, facts: 0 };
    let question = Question {
        text: words.to_owned(),
        scopes: scopes.clone(),
        turn: None,
        window: None,
        limits,
        now: SystemClock.now(),
    };
    let said = memory.search(&question).await?.fragments.into_iter().map(|fragment| Item::Memory(fragment.memory));
    let search = SearchFacts { scopes, query: words.to_owned(), limit };
    let known = store.read(Facts { search }).await?;
    let rows = store.read(Rows { items: said.chain(known).collect() }).await?;
    store.close().await;
    Ok(rows)
}
