//! That an effect can be taken back, and by which call (row N16).

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::domain::ids::{CallId, RunId};

/// So long it is offered.
pub const UNDO_OFFERED_FOR: SignedDuration = SignedDuration::from_hours(1);

/// The call that takes an effect back, as it was fixed when that took place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InverseCall {
    pub tool: String,
    /// All of its arguments: a JSON object.
    pub arguments: String,
}

/// That an effect can be taken back for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoOffer {
    pub inverse: InverseCall,
    /// Until when, and not at that moment any more.
    pub until: Timestamp,
}

/// That an effect is to be taken back, as a person has said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoOrder {
    pub run: RunId,
    pub call: CallId,
    pub tool: String,
    pub inverse: InverseCall,
}
