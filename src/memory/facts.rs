//! Remembering facts.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::domain::ids::{RunId, UserId};
use crate::store::error::StoreError;
use crate::store::facts::FactRow;
use crate::store::{Statement, Tx, facts, millis};

/// Remembers one fact of a person.
#[derive(Debug, Clone)]
pub struct Remember {
    /// Whose.
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
            user: self.user,
            category: &self.category,
            key: &self.key,
            value: &self.value,
            run: Some(self.run),
        };
        facts::remember(tx, &new, millis(self.at)).await
    }
}

/// The newest facts of a person, for the prompt.
#[derive(Debug, Clone)]
pub struct KnownFacts {
    /// Whose.
    pub user: UserId,
    /// The most.
    pub limit: i64,
}

#[async_trait]
impl Statement for KnownFacts {
    type Output = Vec<FactRow>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<FactRow>, StoreError> {
        facts::list(tx, self.user, self.limit).await
    }
}
