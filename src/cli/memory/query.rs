//! What is looked at at the command line: by whoever may read the file, so that nothing is hidden from them.

use jiff::tz::TimeZone;

use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::memory::Scope;
use hob_memory::embedding::Bill;
use hob_memory::facts;
use hob_memory::item::MemoryItem;
use hob_memory::recall::{Memory, RecallLimits, RecallQuestion};
use hob_store::error::StoreError;
use hob_store::place::StatePlace;
use hob_store::{Tx, memory_views};
use hob_web::memory::entry::{Entry, EntryReader};

pub(super) async fn newest(tx: &mut Tx, scopes: &[Scope], limit: i64) -> Result<Vec<Entry>, StoreError> {
    let mut items = Vec::new();
    for scope in scopes {
        items.extend(memory_views::newest(tx, *scope, false, limit).await?.into_iter().map(MemoryItem::Memory));
        items.extend(memory_views::current(tx, *scope, limit).await?.into_iter().map(MemoryItem::Fact));
    }
    let mut rows = EntryReader::default().entries(tx, items).await?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.at));
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(rows)
}

/// What has these words, as `/memory WORDS` finds it; by words alone, as no model is loaded for it.
pub(super) async fn search(
    state: &StatePlace,
    words: &str,
    scopes: Vec<Scope>,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    let store = state.open().await?;
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
    let rows = store.read(async |tx| EntryReader::default().entries(tx, items.clone()).await).await?;
    store.close().await;
    Ok(rows)
}
