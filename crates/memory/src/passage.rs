//! What is embedded of a memory: its words, and those before it that they make sense with.

use crate::rank::features::embedded;
use hob_core::domain::ids::{MemoryId, UserId};
use hob_core::domain::memory::Scope;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::memories::{self, MemoryWithContext};

/// Who asked what a short answer answers.
pub(crate) const HOB: &str = "Hob";

/// A memory as the embedder sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passage {
    pub memory: MemoryId,
    pub scope: Scope,
    /// Who said it, if that is known.
    pub user: Option<UserId>,
    pub text: String,
    /// Where the memory's own part begins: only its tokens are kept.
    pub(crate) own_from: usize,
}

/// The passages of the next memories after `after`, in the order of their rows.
pub(crate) async fn passages(tx: &mut Tx, after: MemoryId, limit: i64) -> Result<Vec<Passage>, StoreError> {
    Ok(memories::said_after(tx, after, limit).await?.into_iter().map(of).collect())
}

/// Hob's question goes before what was said before it: it was asked just then.
fn of(said: MemoryWithContext) -> Passage {
    let asked = said.asked.as_deref().map(|asked| (HOB, asked));
    let before = asked.or_else(|| said.before_speaker.as_deref().zip(said.before.as_deref()));
    let (text, own_from) = embedded(before, (&said.speaker, &said.text));
    Passage { memory: said.id, scope: said.scope, user: said.user, text, own_from }
}
