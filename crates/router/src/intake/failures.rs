//! What somebody says or presses to decide about a run that failed.

use crate::failures::{self, Decider, Settled};
use crate::intake::take::{Arriving, Take, Taken};
use crate::{respond, texts};
use hob_agent::projection::failure::{AfterFailure, FailurePress};
use hob_core::domain::capabilities::{Capabilities, Feature};
use hob_core::domain::channel::Accepted;
use hob_store::Tx;
use hob_store::error::StoreError;

impl Take {
    /// Words that decide about the failure that this conversation ended with; none: they are a message of their own.
    pub(super) async fn settles_failure(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        text: &str,
    ) -> Result<Option<Taken>, StoreError> {
        let choice = AfterFailure::named(text).filter(|_| self.files.is_empty() && arriving.lane.is_free());
        let Some(choice) = choice else { return Ok(None) };
        let Some(run) = failures::open(tx, arriving.session.id).await? else { return Ok(None) };
        self.settle_failure(tx, arriving, text, FailurePress { run, choice }).await.map(Some)
    }

    /// Carries out what was decided about a failed run.
    pub(super) async fn settle_failure(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        text: &str,
        press: FailurePress,
    ) -> Result<Taken, StoreError> {
        let session = arriving.session.id;
        let Some(inbound) = self.claim(tx, arriving, text, "command").await? else {
            return Ok(Taken::again(session));
        };
        let decider = Decider { by: &arriving.principal, access: &self.desk.access, now: self.now };
        let reply = respond::Reply::to(session, &arriving.destination, inbound);
        let taken = Taken { said: Some(session), ..Taken::quietly(Accepted::Committed) };
        match failures::settle(tx, &decider, press).await? {
            Settled::Refused(why) => {
                respond::say(tx, &reply, why, self.now).await?;
                Ok(taken)
            }
            Settled::Done(concerned) => {
                let shows = Capabilities::of(self.inbound.conversation.channel).can(Feature::Edits);
                if press.choice == AfterFailure::LetBe && !shows {
                    respond::say(tx, &reply, texts::LEFT_BE, self.now).await?;
                }
                Ok(Taken { lane: Some(concerned), elsewhere: Some(concerned), ..taken })
            }
        }
    }
}
