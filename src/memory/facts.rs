//! Remembering facts.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::domain::ids::{RunId, UserId};
use crate::domain::memory::Scope;
use crate::memory::recall::match_expression;
use crate::store::error::StoreError;
use crate::store::facts::FactRow;
use crate::store::{Statement, Tx, facts, millis};

/// Where the words of a fact stand in the full-text index.
pub const FACT_COLUMNS: &str = "{category key value}";

/// Remembers one fact of a person.
#[derive(Debug, Clone)]
pub struct Remember {
    /// Whose.
    pub scope: Scope,
    /// Who told it.
    pub user: UserId,
    /// What it is about, broadly.
    pub category: String,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// The run in which it was said.
    pub run: RunId,
    /// When.
    pub at: Timestamp,
}

#[async_trait]
impl Statement for Remember {
    /// The value that was superseded.
    type Output = Option<String>;

    async fn run(&self, tx: &mut Tx) -> Result<Option<String>, StoreError> {
        let new = facts::NewFact {
            scope: self.scope,
            user: self.user,
            category: &self.category,
            key: &self.key,
            value: &self.value,
            run: Some(self.run),
        };
        facts::remember(tx, &new, millis(self.at)).await
    }
}

/// Looks facts up.
#[derive(Debug, Clone)]
pub struct SearchFacts {
    /// Where may be looked.
    pub scopes: Vec<Scope>,
    /// In a person's words.
    pub query: String,
    /// The most.
    pub limit: usize,
}

#[async_trait]
impl Statement for SearchFacts {
    type Output = Vec<FactRow>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<FactRow>, StoreError> {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        if let Some(query) = match_expression(&self.query, &self.scopes, FACT_COLUMNS) {
            return facts::search(tx, &query, limit).await;
        }
        // "What do you know about me?" names nothing to look for: then what is newest counts.
        let mut newest = Vec::new();
        for scope in &self.scopes {
            newest.extend(facts::list(tx, *scope, limit).await?);
        }
        newest.truncate(self.limit);
        Ok(newest)
    }
}
