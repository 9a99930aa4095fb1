//! How much is remembered, and what it takes.

use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use serde::Serialize;

use hob_memory::amount::{self, Amounts, EmbeddingBacklog, ScopeAmounts};
use hob_store::bystander_reader::Reader;

/// All of it in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MemoryStats {
    pub(super) scopes: Vec<ScopeAmounts>,
    /// The newest embedding model; none: recall goes by words alone.
    pub(super) embedding: Option<EmbeddingBacklog>,
    /// The database file with its log.
    pub(super) bytes: u64,
    pub(super) oldest: Option<Timestamp>,
    pub(super) newest: Option<Timestamp>,
}

pub(super) async fn read(database: &Path) -> anyhow::Result<MemoryStats> {
    let Amounts { scopes, embedding, oldest, newest } = Reader::open(database).await?.read(amount::amounts).await?;
    let bytes = size(database).with_context(|| format!("{} cannot be read", database.display()))?;
    Ok(MemoryStats { scopes, embedding, bytes, oldest, newest })
}

fn size(database: &Path) -> std::io::Result<u64> {
    let mut bytes = std::fs::metadata(database)?.len();
    let log = database.with_extension("db-wal");
    if log.exists() {
        bytes += std::fs::metadata(log)?.len();
    }
    Ok(bytes)
}
