//! How much is remembered, and what it takes.

use std::path::Path;

use anyhow::Context as _;
use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use crate::domain::memory::Scope;
use crate::store::error::StoreError;
use crate::store::reader::Reader;
use crate::store::{Statement, Tx, remembered, sessions, users};

/// All of it in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Stats {
    pub(super) scopes: Vec<OfScope>,
    /// The newest embedding model; none: recall goes by words alone.
    pub(super) embedding: Option<Embedding>,
    /// The database file with its log.
    pub(super) bytes: u64,
    pub(super) oldest: Option<Timestamp>,
    pub(super) newest: Option<Timestamp>,
}

/// Of one scope.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct OfScope {
    pub(super) scope: Scope,
    /// Whose that is, in words.
    pub(super) whose: String,
    pub(super) memories: i64,
    pub(super) facts: i64,
    pub(super) people: i64,
}

/// Of the embedding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Embedding {
    pub(super) model: String,
    /// Memories that have no vector of it yet.
    pub(super) backlog: i64,
}

/// Reads them.
pub(super) async fn read(database: &Path) -> anyhow::Result<Stats> {
    let mut stats = Reader::open(database).await?.read(Read).await?;
    stats.bytes = size(database).with_context(|| format!("{} cannot be read", database.display()))?;
    Ok(stats)
}

fn size(database: &Path) -> std::io::Result<u64> {
    let mut bytes = std::fs::metadata(database)?.len();
    let log = database.with_extension("db-wal");
    if log.exists() {
        bytes += std::fs::metadata(log)?.len();
    }
    Ok(bytes)
}

struct Read;

#[async_trait]
impl Statement for Read {
    type Output = Stats;

    async fn run(&self, tx: &mut Tx) -> Result<Stats, StoreError> {
        let mut scopes = Vec::new();
        for scope in remembered::scopes(tx).await? {
            let counts = remembered::counts(tx, scope).await?;
            let whose = match scope {
                Scope::House => "the house".to_owned(),
                Scope::Person(user) => users::name(tx, user).await?.unwrap_or_else(|| "somebody unknown".to_owned()),
                Scope::Conversation(session) => {
                    let key = sessions::key(tx, session).await?.unwrap_or_default();
                    format!("conversation {key}")
                }
            };
            let remembered::Counts { memories, facts, people } = counts;
            scopes.push(OfScope { scope, whose, memories, facts, people });
        }
        let all: i64 = scopes.iter().map(|of| of.memories).sum();
        let embedding = remembered::embedding(tx).await?;
        let embedding = embedding.map(|(model, vectors)| Embedding { model, backlog: (all - vectors).max(0) });
        let (oldest, newest) = remembered::span(tx).await?;
        let at = |millis: i64| Timestamp::from_millisecond(millis).unwrap_or_default();
        Ok(Stats { scopes, embedding, bytes: 0, oldest: oldest.map(at), newest: newest.map(at) })
    }
}
