//! How much is remembered, scope by scope.

use jiff::Timestamp;
use serde::Serialize;

use hob_core::domain::memory::Scope;
use hob_store::error::StoreError;
use hob_store::{Tx, memory_views, sessions, users};

/// All that is remembered, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Amounts {
    /// Of each scope in which something is.
    pub scopes: Vec<ScopeAmounts>,
    /// The newest embedding model; none: recall goes by words alone.
    pub embedding: Option<EmbeddingBacklog>,
    /// When the first thing was said.
    pub oldest: Option<Timestamp>,
    /// When the last thing was said.
    pub newest: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScopeAmounts {
    pub scope: Scope,
    /// Whose that is, in words.
    pub whose: String,
    /// Things said.
    pub memories: i64,
    /// Facts that hold.
    pub facts: i64,
    /// People of whom something is known.
    pub people: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmbeddingBacklog {
    pub model: String,
    /// Memories that have no vector of it yet.
    pub backlog: i64,
}

/// Reads how much there is of each scope.
pub async fn amounts_by_scope(tx: &mut Tx) -> Result<Vec<ScopeAmounts>, StoreError> {
    let mut all = Vec::new();
    for scope in memory_views::scopes(tx).await? {
        let memory_views::MemoryCounts { memories, facts, people } = memory_views::counts(tx, scope).await?;
        all.push(ScopeAmounts { scope, whose: scope_owner_name(tx, scope).await?, memories, facts, people });
    }
    Ok(all)
}

/// When the first and the last thing was said that is remembered.
pub async fn span(tx: &mut Tx) -> Result<(Option<Timestamp>, Option<Timestamp>), StoreError> {
    let (oldest, newest) = memory_views::span(tx).await?;
    let at = |millis: i64| Timestamp::from_millisecond(millis).unwrap_or_default();
    Ok((oldest.map(at), newest.map(at)))
}

/// Reads them all.
pub async fn amounts(tx: &mut Tx) -> Result<Amounts, StoreError> {
    let scopes = amounts_by_scope(tx).await?;
    let all: i64 = scopes.iter().map(|of| of.memories).sum();
    let embedding = memory_views::embedding(tx).await?;
    let embedding = embedding.map(|(model, vectors)| EmbeddingBacklog { model, backlog: (all - vectors).max(0) });
    let (oldest, newest) = span(tx).await?;
    Ok(Amounts { scopes, embedding, oldest, newest })
}

/// Whose a scope is, in words.
pub async fn scope_owner_name(tx: &mut Tx, scope: Scope) -> Result<String, StoreError> {
    Ok(match scope {
        Scope::House => "the house".to_owned(),
        Scope::Person(user) => users::name(tx, user).await?.unwrap_or_else(|| "somebody unknown".to_owned()),
        Scope::Conversation(session) => {
            let key = sessions::key(tx, session).await?.unwrap_or_default();
            format!("conversation {key}")
        }
    })
}
