//! What was said was edited or deleted on its platform.

use crate::attachments;
use crate::intake::sender_access::SenderAccess;
use crate::intake::transaction::{IntakeOutcome, IntakeTransaction};
use hob_agent::journal::{QueueChange, RunKey};
use hob_agent::write_off::change_queued;
use hob_core::domain::channel::UpdateOutcome;
use hob_store::error::StoreError;
use hob_store::{Tx, inbound, overheard, users};

impl IntakeTransaction {
    /// An edit or deletion on the platform reaches what still waits; what runs already is not touched.
    pub(super) async fn changed(
        &self,
        tx: &mut Tx,
        known: &SenderAccess,
        text: Option<&str>,
    ) -> Result<IntakeOutcome, StoreError> {
        let place = &self.inbound.conversation;
        // What was only overheard is whoever's: it changes with its message.
        let overheard = text.map(|text| (self.inbound.sender.external_id.as_str(), text));
        if overheard::edit(tx, place, &self.inbound.external_id, overheard).await? {
            return Ok(IntakeOutcome::without_effects(UpdateOutcome::Committed));
        }
        if known.role.is_none() {
            return Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored));
        }
        let Some(waiting) = inbound::find_queued(tx, place, &self.inbound.external_id).await? else {
            return Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored));
        };
        let change = match text {
            // What was spoken stays as it was heard: an edit tells only what stands beside it.
            Some(_) if self.inbound.metadata.spoken.is_some() => {
                return Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored));
            }
            // Who may edit is the sender alone; who may delete, the platform has decided.
            Some(text) => {
                let editor = users::find(tx, place, &self.inbound.sender.external_id).await?;
                let fits = !text.is_empty() && text.chars().count() <= self.limits.message_chars_max;
                if editor != Some(waiting.user) || !fits {
                    tracing::info!(run = %waiting.run, "an edit that cannot be taken was ignored");
                    return Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored));
                }
                let text = attachments::append_file_lines(tx, waiting.inbound, text).await?;
                inbound::set_text(tx, waiting.inbound, &text).await?;
                QueueChange::Edited { text }
            }
            None => QueueChange::Withdrawn,
        };
        let key = RunKey { run: waiting.run, session: waiting.session };
        change_queued(tx, &key, change, self.now).await?;
        let (lane, said) = (Some(waiting.session), Some(waiting.session));
        Ok(IntakeOutcome { lane, said, ..IntakeOutcome::without_effects(UpdateOutcome::Committed) })
    }
}
