//! The button under an answer whose effects can be taken back.

use crate::intake::transaction::{IncomingMessage, IntakeOutcome, IntakeTransaction};
use crate::undo::{TakeBackRequest, take_back};
use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::ids::RunId;
use hob_store::Tx;
use hob_store::error::StoreError;

impl IntakeTransaction {
    /// Somebody wants the last effect of this run taken back that still can be.
    pub(super) async fn press_undo(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        token: &str,
        run: RunId,
    ) -> Result<IntakeOutcome, StoreError> {
        let session = arriving.session.id;
        let claimed = self.claim(tx, arriving, token, "command").await?;
        if claimed.is_none() {
            return Ok(IntakeOutcome::duplicate(session));
        }
        let (by, place) = (&arriving.principal, &self.inbound.conversation);
        match take_back(tx, &TakeBackRequest { session, run: Some(run), by, place, now: self.now }).await? {
            Ok(_begun) => {
                Ok(IntakeOutcome { lane: Some(session), ..IntakeOutcome::without_effects(UpdateOutcome::Committed) })
            }
            Err(why) => self.tell(tx, arriving, claimed, why).await,
        }
    }
}
