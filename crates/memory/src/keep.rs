//! Remembers what was said, with what recall wants to know of it: so that no text is read again when a question comes.

use crate::rank::gist::TextDigest;
use hob_core::domain::ids::{EpisodeId, MemoryId};
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::memories::{self, NewMemory, StoredGist};

/// Remembers it, at the end of the scope's last episode in its conversation, or in a new one.
pub async fn add(tx: &mut Tx, new: &NewMemory<'_>) -> Result<MemoryId, StoreError> {
    memories::add(tx, new, Some(&gist_of(new.text))).await
}

/// Remembers it at the end of this episode.
pub async fn add_to(tx: &mut Tx, episode: EpisodeId, new: &NewMemory<'_>) -> Result<MemoryId, StoreError> {
    memories::add_to(tx, episode, new, Some(&gist_of(new.text))).await
}

fn gist_of(text: &str) -> StoredGist {
    let gist = TextDigest::of(text);
    StoredGist { stems: gist.stem_bytes(), manner: gist.manner.to_bits() }
}
