//! Remembers what was said, with what recall wants to know of it: so that no text is read again when a question comes.

use crate::domain::ids::{EpisodeId, MemoryId};
use crate::memory::rank::gist::Gist;
use crate::store::Tx;
use crate::store::error::StoreError;
use crate::store::memories::{self, NewMemory};
use crate::store::recall::keep_gist;

/// Remembers it, at the end of the scope's last episode in its conversation, or in a new one.
///
/// # Errors
/// When the database fails.
pub async fn add(tx: &mut Tx, new: &NewMemory<'_>) -> Result<MemoryId, StoreError> {
    let memory = memories::add(tx, new).await?;
    keep(tx, memory, new.text).await?;
    Ok(memory)
}

/// Remembers it at the end of this episode.
///
/// # Errors
/// When the database fails.
pub async fn add_to(tx: &mut Tx, episode: EpisodeId, new: &NewMemory<'_>) -> Result<MemoryId, StoreError> {
    let memory = memories::add_to(tx, episode, new).await?;
    keep(tx, memory, new.text).await?;
    Ok(memory)
}

async fn keep(tx: &mut Tx, memory: MemoryId, text: &str) -> Result<(), StoreError> {
    let gist = Gist::of(text);
    keep_gist(tx, memory, &gist.stem_bytes(), gist.manner.to_bits()).await
}
