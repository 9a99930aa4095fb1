//! What a model looks up by itself, with the tool `recall`.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::domain::ids::FactId;
use crate::domain::memory::Scope;
use crate::memory::recall::match_expression;
use crate::store::error::StoreError;
use crate::store::facts::Fact;
use crate::store::{Statement, Tx, facts, millis};

/// Where the words of a fact stand in the full-text index.
const COLUMNS: &str = "{category key value}";

/// Facts that hold now and match, with what contradicts them; where the words name nothing, the newest.
#[derive(Debug, Clone)]
pub struct MatchingFacts {
    /// Where may be looked.
    pub scopes: Vec<Scope>,
    /// In a person's words.
    pub query: String,
    /// The most.
    pub limit: usize,
    /// Now.
    pub now: Timestamp,
}

#[async_trait]
impl Statement for MatchingFacts {
    type Output = Vec<Fact>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Fact>, StoreError> {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        if let Some(query) = match_expression(&self.query, &self.scopes, COLUMNS) {
            found = facts::matching(tx, &query, limit).await?;
        } else {
            // "What do you know about me?" names nothing to look for: then what is newest counts.
            for scope in &self.scopes {
                found.extend(facts::newest(tx, *scope, None, limit).await?);
            }
        }
        found.retain(|fact| !fact.is_over(millis(self.now)));
        found.truncate(self.limit);
        Ok(found)
    }
}

/// Notes that facts were of use to a model: they matter more from then on.
#[derive(Debug, Clone)]
pub struct MarkUsed {
    /// Which.
    pub facts: Vec<FactId>,
    /// When.
    pub at: Timestamp,
}

#[async_trait]
impl Statement for MarkUsed {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        for fact in &self.facts {
            facts::used(tx, *fact, millis(self.at)).await?;
        }
        Ok(())
    }
}
