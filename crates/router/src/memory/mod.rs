//! What is remembered, seen and changed by its people: `/why`, `/memory`, `/facts`, `/forget`, `/pin` (row N8).
//!
//! Never: a look at what is not the caller's; `policy::memory` says what is.

mod desk;
mod forgetting;
mod look;
mod texts;
mod why;

pub(super) use desk::take_out;
pub(super) use forgetting::{forget, pin};
pub(super) use look::{Looked, is_asked_for, look};
pub(super) use why::why;

use crate::memory::texts::{Entry, Overview};
use crate::respond::{Caller, Desk};
use hob_core::domain::ids::{FactId, MemoryId};
use hob_core::domain::memory::Scope;
use hob_core::policy::memory::{Place, may_change, shown};
use hob_memory::facts;
use hob_memory::item::Item;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::remembered::{self, KnownRow, MemoryRow};

/// The most entries of one kind in an answer.
const ENTRIES_MAX: usize = 10;
/// The most that are looked at, to say how many more there are.
const LOOKED_AT_MAX: i64 = 500;

/// What somebody sees, and how it is told to them.
pub(super) struct View<'a> {
    desk: &'a Desk,
    caller: &'a Caller<'a>,
    place: Place,
    scopes: Vec<Scope>,
}

impl<'a> View<'a> {
    pub(super) fn of(desk: &'a Desk, caller: &'a Caller<'a>) -> Self {
        let place = Place::of(caller.session.id, caller.place);
        Self { desk, caller, place, scopes: shown(caller.principal, place) }
    }

    fn sees(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// A memory, if it is there and may be seen.
    async fn memory(&self, tx: &mut Tx, id: MemoryId) -> Result<Option<MemoryRow>, StoreError> {
        Ok(remembered::memory(tx, id).await?.filter(|row| self.sees(row.scope)))
    }

    /// A fact, if it is there and may be seen.
    pub(super) async fn fact(&self, tx: &mut Tx, id: FactId) -> Result<Option<KnownRow>, StoreError> {
        let Some(mut row) = remembered::fact(tx, id).await?.filter(|row| self.sees(row.scope)) else {
            return Ok(None);
        };
        // What all know may rest on what one of them said in private: its name tells others nothing.
        if let Some(memory) = row.memory
            && self.memory(tx, memory).await?.is_none()
        {
            row.memory = None;
        }
        Ok(Some(row))
    }

    /// An item, if it is there and may be seen; and whether the caller may change it.
    async fn item(&self, tx: &mut Tx, item: Item) -> Result<Option<(Entry, bool)>, StoreError> {
        let found = match item {
            Item::Memory(id) => {
                let row = self.memory(tx, id).await?;
                row.map(|row| (self.said(&row), row.scope, row.user))
            }
            Item::Fact(id) => {
                let row = self.fact(tx, id).await?;
                row.map(|row| (self.known(&row), row.scope, row.user))
            }
        };
        Ok(found.map(|(entry, scope, by)| (entry, may_change(self.caller.principal, self.place, scope, by))))
    }

    async fn entries(&self, tx: &mut Tx, items: impl IntoIterator<Item = Item>) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        for item in items {
            entries.extend(self.item(tx, item).await?.map(|(entry, _)| entry));
        }
        Ok(entries)
    }

    /// Facts that match.
    async fn facts_like(&self, tx: &mut Tx, words: &str) -> Result<Vec<Item>, StoreError> {
        let found = facts::search(tx, &self.scopes, words, ENTRIES_MAX).await?;
        Ok(found.into_iter().map(|row| Item::Fact(row.id)).collect())
    }
}

/// `/memory`.
pub(super) async fn memory(tx: &mut Tx, view: &View<'_>, words: Option<&str>) -> Result<String, StoreError> {
    match words {
        None => overview(tx, view).await,
        Some(words) => {
            let (said, known) = found(tx, view, words).await?;
            Ok(texts::found(words, &said, &known, view.how()))
        }
    }
}

/// What fits these words: things said, by production recall before this transaction, and facts.
async fn found(tx: &mut Tx, view: &View<'_>, words: &str) -> Result<(Vec<Entry>, Vec<Entry>), StoreError> {
    let said: Vec<Item> =
        view.desk.looked.iter().flat_map(|looked| &looked.memories).copied().map(Item::Memory).collect();
    let known = view.facts_like(tx, words).await?;
    Ok((view.entries(tx, said).await?, view.entries(tx, known).await?))
}

async fn overview(tx: &mut Tx, view: &View<'_>) -> Result<String, StoreError> {
    let (mut counts, mut newest, mut pinned) = (Vec::new(), Vec::new(), Vec::new());
    let limit = i64::try_from(ENTRIES_MAX).unwrap_or(i64::MAX);
    for scope in &view.scopes {
        counts.push((*scope, remembered::counts(tx, *scope).await?));
        newest.extend(remembered::newest(tx, *scope, false, limit / 2).await?);
        pinned.extend(remembered::newest(tx, *scope, true, limit).await?);
    }
    let newest = view.entries(tx, newest.into_iter().map(Item::Memory)).await?;
    let pinned = view.entries(tx, pinned.into_iter().map(Item::Memory)).await?;
    Ok(texts::overview(&Overview { counts, pinned, newest, how: view.how() }))
}

/// `/facts`.
pub(super) async fn facts(tx: &mut Tx, view: &View<'_>, words: Option<&str>) -> Result<String, StoreError> {
    let Some(words) = words else {
        let mut known = Vec::new();
        for scope in &view.scopes {
            for id in remembered::current(tx, *scope, LOOKED_AT_MAX).await? {
                known.extend(view.fact(tx, id).await?);
            }
        }
        let by_category = known.iter().map(|row| (row.category.clone(), view.known(row))).collect::<Vec<_>>();
        return Ok(texts::facts(&by_category));
    };
    let found = view.facts_like(tx, words).await?;
    Ok(texts::facts_like(words, &view.entries(tx, found).await?))
}

/// `/facts history`.
pub(super) async fn history(tx: &mut Tx, view: &View<'_>, key: &str) -> Result<String, StoreError> {
    let mut values = Vec::new();
    for scope in &view.scopes {
        for id in remembered::history(tx, *scope, key, LOOKED_AT_MAX).await? {
            values.extend(view.fact(tx, id).await?);
        }
    }
    let values: Vec<String> = values.iter().map(|row| view.once(row)).collect();
    Ok(texts::history(key, &values))
}
