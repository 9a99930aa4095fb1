//! What streaming asks of the database: which message is whose draft.

use async_trait::async_trait;

use hob_core::domain::ids::RunId;
use hob_store::drafts::{self, StandingDraft};
use hob_store::error::StoreError;
use hob_store::{Statement, Tx};

pub(super) struct Put {
    pub(super) draft: StandingDraft,
}

#[async_trait]
impl Statement for Put {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        drafts::put(tx, &self.draft).await
    }
}

pub(super) struct Remove {
    pub(super) run: RunId,
}

#[async_trait]
impl Statement for Remove {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        drafts::remove(tx, self.run).await
    }
}

pub(super) struct List;

#[async_trait]
impl Statement for List {
    type Output = Vec<StandingDraft>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<StandingDraft>, StoreError> {
        drafts::list(tx).await
    }
}

pub(super) struct IsThere {
    pub(super) run: RunId,
}

#[async_trait]
impl Statement for IsThere {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        drafts::is_there(tx, self.run).await
    }
}

/// How a run's draft stands.
pub(super) enum Left {
    /// It is none any more.
    Gone,
    /// The run goes on, or something is to take its place.
    InUse,
    /// Nobody will.
    Behind,
}

pub(super) struct LookAfter {
    pub(super) run: RunId,
}

#[async_trait]
impl Statement for LookAfter {
    type Output = Left;

    async fn run(&self, tx: &mut Tx) -> Result<Left, StoreError> {
        if !drafts::is_there(tx, self.run).await? {
            return Ok(Left::Gone);
        }
        Ok(if drafts::is_left(tx, self.run).await? { Left::Behind } else { Left::InUse })
    }
}
