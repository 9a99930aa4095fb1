//! What the daemon and `hob pair` do about pairing: the first owner's code, and who waits.

use jiff::Timestamp;

use hob_core::domain::principal::Role;
use hob_core::policy::pairing::{Code, FIRST_GUESSES_MAX};
use hob_store::error::StoreError;
use hob_store::members::Member;
use hob_store::pairings::PendingPairing;
use hob_store::{Tx, members, pairings};

/// At a start: while no owner is known, `code` makes its sender the first one; else there is no such code. Gives whether it
/// holds.
pub async fn set_first_owner_code(tx: &mut Tx, code: &Code, is_wanted: bool) -> Result<bool, StoreError> {
    let has_owner = members::list(tx).await?.iter().any(|member| member.role == Role::Owner);
    let holds = is_wanted && !has_owner;
    let code = holds.then(|| code.shown());
    pairings::set_first_owner(tx, code.as_deref()).await?;
    Ok(holds)
}

/// While somebody is setting Hob up: `code` makes its sender an owner, beside those that there are. None: it holds no more.
pub async fn set_owner_code(tx: &mut Tx, code: Option<&Code>) -> Result<(), StoreError> {
    let code = code.map(Code::shown);
    pairings::set_first_owner(tx, code.as_deref()).await
}

/// What `hob pair` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingOverview {
    /// The first owner's code; none: there is an owner, or it was guessed too often.
    pub first_owner: Option<String>,
    /// It was guessed too often.
    pub is_void: bool,
    /// Who was paired.
    pub members: Vec<Member>,
    pub waiting: Vec<PendingPairing>,
}

/// Reads it.
pub async fn pairing_overview(tx: &mut Tx, now: Timestamp) -> Result<PairingOverview, StoreError> {
    let first = pairings::first_owner(tx).await?;
    let is_void = first.as_ref().is_some_and(|(_, guesses)| *guesses >= FIRST_GUESSES_MAX);
    Ok(PairingOverview {
        first_owner: first.filter(|_| !is_void).map(|(code, _)| code),
        is_void,
        members: members::list(tx).await?,
        waiting: pairings::list(tx, now).await?,
    })
}
