//! What is looked at at the command line: by whoever may read the file, so that nothing is hidden from them.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::ids::{FactId, MemoryId};
use hob_core::domain::memory::Scope;
use hob_memory::embedding::Bill;
use hob_memory::facts;
use hob_memory::item::MemoryItem;
use hob_memory::recall::{Memory, RecallLimits, RecallQuestion};
use hob_store::error::StoreError;
use hob_store::{SchedulingMode, Store, Tx, memory_views};

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MemoryRow {
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

/// The newest.
pub(super) async fn newest(tx: &mut Tx, scopes: &[Scope], limit: i64) -> Result<Vec<MemoryRow>, StoreError> {
    let mut items = Vec::new();
    for scope in scopes {
        items.extend(memory_views::newest(tx, *scope, false, limit).await?.into_iter().map(MemoryItem::Memory));
        items.extend(memory_views::current(tx, *scope, limit).await?.into_iter().map(MemoryItem::Fact));
    }
    let mut rows = rows(tx, &items).await?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.at));
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(rows)
}

/// What there is under these names, in this order.
async fn rows(tx: &mut Tx, items: &[MemoryItem]) -> Result<Vec<MemoryRow>, StoreError> {
    let mut rows = Vec::new();
    for item in items {
        rows.extend(match item {
            MemoryItem::Memory(id) => memory(tx, *id).await?,
            MemoryItem::Fact(id) => fact(tx, *id).await?,
        });
    }
    Ok(rows)
}

async fn memory(tx: &mut Tx, id: MemoryId) -> Result<Option<MemoryRow>, StoreError> {
    Ok(memory_views::memory(tx, id).await?.map(|row| MemoryRow {
        id: MemoryItem::Memory(row.id).to_string(),
        scope: row.scope,
        at: Timestamp::from_millisecond(row.at).unwrap_or_default(),
        who: row.speaker,
        key: None,
        text: row.text,
        pinned: row.pinned,
    }))
}

async fn fact(tx: &mut Tx, id: FactId) -> Result<Option<MemoryRow>, StoreError> {
    Ok(memory_views::fact(tx, id).await?.map(|row| MemoryRow {
        id: MemoryItem::Fact(row.id).to_string(),
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
) -> Result<Vec<MemoryRow>, StoreError> {
    let store = Store::open(database, SchedulingMode::Threaded).await?;
    let memory = Memory::by_words(store.clone(), TimeZone::system());
    let limits = RecallLimits { fragments: limit, tokens: u64::MAX, facts: 0 };
    let question = RecallQuestion {
        text: words.to_owned(),
        scopes: scopes.clone(),
        turn: None,
        window: None,
        limits,
        now: SystemClock.now(),
        bill: Bill::House,
    };
    let said =
        memory.search(&question).await?.fragments.into_iter().map(|fragment| MemoryItem::Memory(fragment.memory));
    let known = store.read(async |tx| facts::search(tx, &scopes, words, limit).await).await?;
    let items: Vec<MemoryItem> = said.chain(known.into_iter().map(|row| MemoryItem::Fact(row.id))).collect();
    let rows = store.read(async |tx| rows(tx, &items).await).await?;
    store.close().await;
    Ok(rows)
}
