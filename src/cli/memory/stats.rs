//! How much is remembered, and what it takes.

use jiff::Timestamp;
use serde::Serialize;

use hob_memory::amount::{self, Amounts, EmbeddingBacklog, ScopeAmounts};
use hob_store::bystander_reader::Reader;
use hob_store::footprint::Footprint;
use hob_store::place::StatePlace;

/// All of it in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct MemoryStats {
    pub(super) scopes: Vec<ScopeAmounts>,
    /// The newest embedding model; none: recall goes by words alone.
    pub(super) embedding: Option<EmbeddingBacklog>,
    /// The database, a file with its log.
    pub(super) bytes: u64,
    pub(super) oldest: Option<Timestamp>,
    pub(super) newest: Option<Timestamp>,
}

pub(super) async fn read(state: &StatePlace) -> anyhow::Result<MemoryStats> {
    let Amounts { scopes, embedding, oldest, newest } = Reader::open(state).await?.read(amount::amounts).await?;
    let Footprint { file_bytes, wal_bytes, .. } = Footprint::at(state).await?;
    Ok(MemoryStats { scopes, embedding, bytes: file_bytes + wal_bytes, oldest, newest })
}
