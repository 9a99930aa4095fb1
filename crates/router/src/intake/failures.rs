//! What somebody says or presses to decide about a run that failed.

use crate::failures::{self, DecisionContext, SettleOutcome};
use crate::intake::transaction::{IncomingMessage, IntakeOutcome, IntakeTransaction};
use crate::{command_handlers, texts};
use hob_agent::projection::failure::{AfterFailure, FailurePress};
use hob_core::domain::capabilities::{Capabilities, Feature};
use hob_core::domain::channel::UpdateOutcome;
use hob_store::Tx;
use hob_store::error::StoreError;

impl IntakeTransaction {
    /// Words that decide about the failure that this conversation ended with; none: they are a message of their own.
    pub(super) async fn settles_failure(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
    ) -> Result<Option<IntakeOutcome>, StoreError> {
        let choice = AfterFailure::named(text).filter(|_| self.files.is_empty() && arriving.lane.is_free());
        let Some(choice) = choice else { return Ok(None) };
        let Some(run) = failures::open_failure(tx, arriving.session.id).await? else { return Ok(None) };
        self.settle_failure(tx, arriving, text, FailurePress { run, choice }).await.map(Some)
    }

    /// Carries out what was decided about a failed run.
    pub(super) async fn settle_failure(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
        press: FailurePress,
    ) -> Result<IntakeOutcome, StoreError> {
        let session = arriving.session.id;
        let Some(inbound) = self.claim(tx, arriving, text, "command").await? else {
            return Ok(IntakeOutcome::duplicate(session));
        };
        let decider = DecisionContext { by: &arriving.principal, access: &self.context.access, now: self.now };
        let reply = command_handlers::DirectReply::to(session, &arriving.destination, inbound);
        let taken = IntakeOutcome { said: Some(session), ..IntakeOutcome::without_effects(UpdateOutcome::Committed) };
        match failures::settle(tx, &decider, press).await? {
            SettleOutcome::Refused(why) => {
                command_handlers::say(tx, &reply, why, self.now).await?;
                Ok(taken)
            }
            SettleOutcome::Done(concerned) => {
                let shows = Capabilities::of(self.inbound.conversation.channel).can(Feature::Edits);
                if press.choice == AfterFailure::LetBe && !shows {
                    command_handlers::say(tx, &reply, texts::LEFT_BE, self.now).await?;
                }
                Ok(IntakeOutcome { lane: Some(concerned), elsewhere: Some(concerned), ..taken })
            }
        }
    }
}
