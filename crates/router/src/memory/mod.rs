//! What is remembered, seen and changed by its people: `/why`, `/memory`, `/facts`, `/forget`, `/pin` (row N8).
//!
//! Never: a look at what is not the caller's; `policy::memory` says what is.

mod editing;
mod forgetting;
mod prefetch;
mod texts;
pub(crate) mod why;

pub(super) use editing::remove_from_index;
pub(super) use forgetting::{forget, pin};
pub(super) use prefetch::{PrefetchedInputs, is_asked_for, prefetch};
pub(super) use why::why;

use crate::command_handlers::{Caller, CommandContext};
use crate::memory::texts::{ListEntry, MemoryOverview};
use hob_core::domain::ids::{FactId, MemoryId};
use hob_core::domain::memory::Scope;
use hob_core::policy::memory::{SpeakingPlace, command_scopes, may_change};
use hob_memory::facts;
use hob_memory::item::MemoryItem;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::memory_views::{self, FactWithSource, MemoryRow};

/// The most entries of one kind in an answer.
const ENTRIES_MAX: usize = 10;
/// The most that are looked at, to say how many more there are.
const LOOKED_AT_MAX: i64 = 500;

/// What somebody sees, and how it is told to them.
pub(super) struct MemoryView<'a> {
    context: &'a CommandContext,
    caller: &'a Caller<'a>,
    place: SpeakingPlace,
    scopes: Vec<Scope>,
}

impl<'a> MemoryView<'a> {
    pub(super) fn of(context: &'a CommandContext, caller: &'a Caller<'a>) -> Self {
        let place = SpeakingPlace::of(caller.session.id, caller.place);
        Self { context, caller, place, scopes: command_scopes(caller.principal, place) }
    }

    fn sees(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// A memory, if it is there and may be seen.
    async fn memory(&self, tx: &mut Tx, id: MemoryId) -> Result<Option<MemoryRow>, StoreError> {
        Ok(memory_views::memory(tx, id).await?.filter(|row| self.sees(row.scope)))
    }

    /// A fact, if it is there and may be seen.
    pub(super) async fn fact(&self, tx: &mut Tx, id: FactId) -> Result<Option<FactWithSource>, StoreError> {
        let Some(mut row) = memory_views::fact(tx, id).await?.filter(|row| self.sees(row.scope)) else {
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
    async fn item(&self, tx: &mut Tx, item: MemoryItem) -> Result<Option<(ListEntry, bool)>, StoreError> {
        let found = match item {
            MemoryItem::Memory(id) => {
                let row = self.memory(tx, id).await?;
                row.map(|row| (self.memory_entry(&row), row.scope, row.user))
            }
            MemoryItem::Fact(id) => {
                let row = self.fact(tx, id).await?;
                row.map(|row| (self.fact_entry(&row), row.scope, row.user))
            }
        };
        Ok(found.map(|(entry, scope, by)| (entry, may_change(self.caller.principal, self.place, scope, by))))
    }

    async fn entries(
        &self,
        tx: &mut Tx,
        items: impl IntoIterator<Item = MemoryItem>,
    ) -> Result<Vec<ListEntry>, StoreError> {
        let mut entries = Vec::new();
        for item in items {
            entries.extend(self.item(tx, item).await?.map(|(entry, _)| entry));
        }
        Ok(entries)
    }

    /// Facts that match.
    async fn facts_like(&self, tx: &mut Tx, words: &str) -> Result<Vec<MemoryItem>, StoreError> {
        let found = facts::search(tx, &self.scopes, words, ENTRIES_MAX).await?;
        Ok(found.into_iter().map(|row| MemoryItem::Fact(row.id)).collect())
    }
}

/// `/memory`.
pub(super) async fn memory(tx: &mut Tx, view: &MemoryView<'_>, words: Option<&str>) -> Result<String, StoreError> {
    match words {
        None => overview(tx, view).await,
        Some(words) => {
            let (said, known) = found(tx, view, words).await?;
            Ok(texts::found(words, &said, &known, view.how()))
        }
    }
}

/// What fits these words: things said, by production recall before this transaction, and facts.
async fn found(
    tx: &mut Tx,
    view: &MemoryView<'_>,
    words: &str,
) -> Result<(Vec<ListEntry>, Vec<ListEntry>), StoreError> {
    let said: Vec<MemoryItem> = view
        .context
        .looked
        .memories
        .iter()
        .flat_map(|looked| &looked.memories)
        .copied()
        .map(MemoryItem::Memory)
        .collect();
    let known = view.facts_like(tx, words).await?;
    Ok((view.entries(tx, said).await?, view.entries(tx, known).await?))
}

async fn overview(tx: &mut Tx, view: &MemoryView<'_>) -> Result<String, StoreError> {
    let (mut counts, mut newest, mut pinned) = (Vec::new(), Vec::new(), Vec::new());
    let limit = i64::try_from(ENTRIES_MAX).unwrap_or(i64::MAX);
    for scope in &view.scopes {
        counts.push((*scope, memory_views::counts(tx, *scope).await?));
        newest.extend(memory_views::newest(tx, *scope, false, limit / 2).await?);
        pinned.extend(memory_views::newest(tx, *scope, true, limit).await?);
    }
    let newest = view.entries(tx, newest.into_iter().map(MemoryItem::Memory)).await?;
    let pinned = view.entries(tx, pinned.into_iter().map(MemoryItem::Memory)).await?;
    Ok(texts::overview(&MemoryOverview { counts, pinned, newest, how: view.how() }))
}

/// `/facts`.
pub(super) async fn facts(tx: &mut Tx, view: &MemoryView<'_>, words: Option<&str>) -> Result<String, StoreError> {
    let Some(words) = words else {
        let mut known = Vec::new();
        for scope in &view.scopes {
            for id in memory_views::current(tx, *scope, LOOKED_AT_MAX).await? {
                known.extend(view.fact(tx, id).await?);
            }
        }
        let by_category = known.iter().map(|row| (row.category.clone(), view.fact_entry(row))).collect::<Vec<_>>();
        return Ok(texts::facts(&by_category));
    };
    let found = view.facts_like(tx, words).await?;
    Ok(texts::facts_like(words, &view.entries(tx, found).await?))
}

/// `/facts history`.
pub(super) async fn history(tx: &mut Tx, view: &MemoryView<'_>, key: &str) -> Result<String, StoreError> {
    let mut values = Vec::new();
    for scope in &view.scopes {
        for id in memory_views::history(tx, *scope, key, LOOKED_AT_MAX).await? {
            values.extend(view.fact(tx, id).await?);
        }
    }
    let values: Vec<String> = values.iter().map(|row| view.past_value_line(row)).collect();
    Ok(texts::history(key, &values))
}
