//! Something remembered, as the page shows it: with whose it is, and the message that it comes from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::api_error::ApiError;
use hob_core::domain::memory::Scope;
use hob_memory::amount::scope_owner_name;
use hob_memory::item::MemoryItem;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::memory_pages::{self, OriginMessage};
use hob_store::memory_views::{self, FactWithSource, MemoryRow};

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Entry {
    /// `m12` was said, `f7` is a fact.
    pub id: String,
    /// Whose it is: `p1` one person's, `c5` a conversation's, `house` everybody's.
    pub scope: String,
    /// Whose, in words.
    pub whose: String,
    /// Who said it.
    pub who: String,
    /// When it was said, or since when it is known, in milliseconds since 1970.
    pub at: i64,
    /// What a fact is about, broadly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// What a fact is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The words, or what is known.
    pub text: String,
    /// It is kept at hand, and never fades.
    pub pinned: bool,
    /// How it came to be known: a speaker's role or `import`; of a fact `told`, `extracted` or `import`.
    pub origin: String,
    /// From 0 to 1; of what was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<f64>,
    /// Another fact says otherwise, and nobody has said which is true.
    pub disputed: bool,
    /// Until when a fact was held for true, in milliseconds since 1970; none: it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// The message that it comes from, if it was said here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceMessage>,
}

/// A message that something rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct SourceMessage {
    /// What is remembered of it, `m12`; none: that was let go, and the history has it still.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    /// Who said it.
    who: String,
    /// Its words.
    text: String,
    /// When, in milliseconds since 1970.
    at: i64,
    /// The run that it began or joined.
    run: i64,
    /// The conversation's name.
    conversation: String,
}

impl From<OriginMessage> for SourceMessage {
    fn from(source: OriginMessage) -> Self {
        Self {
            memory: source.memory.map(|memory| MemoryItem::Memory(memory).to_string()),
            who: source.speaker,
            text: source.text,
            at: source.at,
            run: source.run.0,
            conversation: source.conversation,
        }
    }
}

/// What a path or a list calls something remembered.
pub(super) fn parse_item(id: &str) -> Result<MemoryItem, ApiError> {
    MemoryItem::parse(id).ok_or_else(|| ApiError::Bad("m12 is something said, f7 a fact: that is neither".to_owned()))
}

/// Reads entries, and looks up once whose they are.
#[derive(Default)]
pub struct EntryReader {
    whose: BTreeMap<Scope, String>,
}

impl EntryReader {
    /// Whose a scope is, in words.
    pub(super) async fn whose(&mut self, tx: &mut Tx, scope: Scope) -> Result<String, StoreError> {
        if let Some(name) = self.whose.get(&scope) {
            return Ok(name.clone());
        }
        let name = scope_owner_name(tx, scope).await?;
        self.whose.insert(scope, name.clone());
        Ok(name)
    }

    /// What is remembered under this name; none: nothing is.
    pub(super) async fn entry(&mut self, tx: &mut Tx, item: MemoryItem) -> Result<Option<Entry>, StoreError> {
        Ok(match item {
            MemoryItem::Memory(memory) => match memory_views::memory(tx, memory).await? {
                Some(row) => Some(self.message_entry(tx, row).await?),
                None => None,
            },
            MemoryItem::Fact(fact) => match memory_views::fact(tx, fact).await? {
                Some(row) => Some(self.fact_entry(tx, row).await?),
                None => None,
            },
        })
    }

    /// Those that are there, in this order.
    pub async fn entries(
        &mut self,
        tx: &mut Tx,
        items: impl IntoIterator<Item = MemoryItem, IntoIter: Send> + Send,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        for item in items {
            entries.extend(self.entry(tx, item).await?);
        }
        Ok(entries)
    }

    async fn message_entry(&mut self, tx: &mut Tx, row: MemoryRow) -> Result<Entry, StoreError> {
        let source = memory_pages::source_of_memory(tx, row.id).await?;
        Ok(Entry {
            id: MemoryItem::Memory(row.id).to_string(),
            scope: row.scope.to_string(),
            whose: self.whose(tx, row.scope).await?,
            who: row.speaker,
            at: row.at,
            category: None,
            key: None,
            text: row.text,
            pinned: row.pinned,
            origin: row.origin,
            importance: Some(row.importance),
            disputed: false,
            until: None,
            source: source.map(SourceMessage::from),
        })
    }

    async fn fact_entry(&mut self, tx: &mut Tx, row: FactWithSource) -> Result<Entry, StoreError> {
        let source = memory_pages::source_of_fact(tx, row.id).await?;
        Ok(Entry {
            id: MemoryItem::Fact(row.id).to_string(),
            scope: row.scope.to_string(),
            whose: self.whose(tx, row.scope).await?,
            who: row.speaker,
            at: row.created_at,
            category: Some(row.category),
            key: Some(row.key),
            text: row.value,
            pinned: row.pinned,
            origin: row.source,
            importance: None,
            disputed: row.disputed,
            until: row.superseded_at,
            source: source.map(SourceMessage::from),
        })
    }
}
