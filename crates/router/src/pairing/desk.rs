//! What the daemon and `hob pair` do about pairing: the first owner's code, and who waits.

use async_trait::async_trait;
use jiff::Timestamp;

use hob_core::domain::principal::Role;
use hob_core::policy::pairing::{Code, FIRST_GUESSES_MAX};
use hob_store::error::StoreError;
use hob_store::members::Member;
use hob_store::pairings::Pairing;
use hob_store::{Statement, Tx, members, pairings};

/// At a start: while no owner is known, `code` makes its sender the first one; else there is no such code. Gives whether it
/// holds.
pub struct Begin {
    /// A new code.
    pub code: Code,
    /// Somebody can be paired at all, and the config names no owner.
    pub is_wanted: bool,
}

#[async_trait]
impl Statement for Begin {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        let has_owner = members::list(tx).await?.iter().any(|member| member.role == Role::Owner);
        let holds = self.is_wanted && !has_owner;
        let code = holds.then(|| self.code.shown());
        pairings::set_first_owner(tx, code.as_deref()).await?;
        Ok(holds)
    }
}

/// While somebody is setting Hob up: `code` makes its sender an owner, beside those that there are. None: it holds no more.
pub struct Offer {
    /// A new code.
    pub code: Option<Code>,
}

#[async_trait]
impl Statement for Offer {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let code = self.code.as_ref().map(Code::shown);
        pairings::set_first_owner(tx, code.as_deref()).await
    }
}

/// What `hob pair` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The first owner's code; none: there is an owner, or it was guessed too often.
    pub first_owner: Option<String>,
    /// It was guessed too often.
    pub is_void: bool,
    /// Who was paired.
    pub members: Vec<Member>,
    /// Who waits.
    pub waiting: Vec<Pairing>,
}

/// Reads it.
#[derive(Debug, Clone, Copy)]
pub struct Show {
    /// The moment.
    pub now: Timestamp,
}

#[async_trait]
impl Statement for Show {
    type Output = Shown;

    async fn run(&self, tx: &mut Tx) -> Result<Shown, StoreError> {
        let first = pairings::first_owner(tx).await?;
        let is_void = first.as_ref().is_some_and(|(_, guesses)| *guesses >= FIRST_GUESSES_MAX);
        Ok(Shown {
            first_owner: first.filter(|_| !is_void).map(|(code, _)| code),
            is_void,
            members: members::list(tx).await?,
            waiting: pairings::list(tx, self.now).await?,
        })
    }
}
