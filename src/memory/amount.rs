//! How much is remembered, scope by scope.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use crate::domain::memory::Scope;
use crate::store::error::StoreError;
use crate::store::{Statement, Tx, remembered, sessions, users};

/// All that is remembered, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Amounts {
    /// Of each scope in which something is.
    pub scopes: Vec<OfScope>,
    /// The newest embedding model; none: recall goes by words alone.
    pub embedding: Option<Embedding>,
    /// When the first thing was said.
    pub oldest: Option<Timestamp>,
    /// When the last thing was said.
    pub newest: Option<Timestamp>,
}

/// Of one scope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfScope {
    /// Which.
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

/// Of the embedding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Embedding {
    /// The model.
    pub model: String,
    /// Memories that have no vector of it yet.
    pub backlog: i64,
}

/// Reads them.
#[derive(Debug, Clone, Copy)]
pub struct Amount;

#[async_trait]
impl Statement for Amount {
    type Output = Amounts;

    async fn run(&self, tx: &mut Tx) -> Result<Amounts, StoreError> {
        let mut scopes = Vec::new();
        for scope in remembered::scopes(tx).await? {
            let remembered::Counts { memories, facts, people } = remembered::counts(tx, scope).await?;
            scopes.push(OfScope { scope, whose: whose(tx, scope).await?, memories, facts, people });
        }
        let all: i64 = scopes.iter().map(|of| of.memories).sum();
        let embedding = remembered::embedding(tx).await?;
        let embedding = embedding.map(|(model, vectors)| Embedding { model, backlog: (all - vectors).max(0) });
        let (oldest, newest) = remembered::span(tx).await?;
        let at = |millis: i64| Timestamp::from_millisecond(millis).unwrap_or_default();
        Ok(Amounts { scopes, embedding, oldest: oldest.map(at), newest: newest.map(at) })
    }
}

/// Whose a scope is, in words.
///
/// # Errors
/// When the database fails.
pub async fn whose(tx: &mut Tx, scope: Scope) -> Result<String, StoreError> {
    Ok(match scope {
        Scope::House => "the house".to_owned(),
        Scope::Person(user) => users::name(tx, user).await?.unwrap_or_else(|| "somebody unknown".to_owned()),
        Scope::Conversation(session) => {
            let key = sessions::key(tx, session).await?.unwrap_or_default();
            format!("conversation {key}")
        }
    })
}
