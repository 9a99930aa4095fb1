//! Where updates are handed in, however they came: by a poll or by a call.

use std::sync::Arc;

use serde_json::Value;
use teloxide::payloads::AnswerCallbackQuery;
use teloxide::types::{CallbackQueryId, Update, UpdateKind};
use tracing::{debug, warn};

use crate::Telegram;
use crate::album::merge_parts;
use crate::call::call;
use crate::convert::{BotIdentity, chat_migration, convert};
use crate::salvage::{is_understood, read, salvage};
use hob_core::domain::channel::{Intake, IntakeError, UpdateOutcome};
use hob_telemetry::tasks;

/// Shown to whoever presses a button that does nothing for them. If there is more to say, the router says it in the chat.
const NOTHING_HERE: &str = "This is not for you, or it is too late.";

/// Hands in; it lives as long as the adapter runs.
#[derive(Clone)]
pub(super) struct UpdateReceiver {
    pub(super) telegram: Arc<Telegram>,
    pub(super) intake: Arc<dyn Intake>,
    pub(super) me: BotIdentity,
}

impl UpdateReceiver {
    /// What can be read of an update.
    pub(super) fn read(id: i64, raw: &Value) -> Option<Update> {
        let update = read(raw).filter(is_understood).or_else(|| salvage(raw));
        if update.is_none() {
            warn!(channel = "telegram", update.id = id, "update {id} is of an unknown kind or shape; passed over");
        }
        update
    }

    /// Hands in one message: an update's, or that of an album's parts.
    pub(super) async fn submit(&self, updates: &[&Update]) -> Result<(), IntakeError> {
        let now = self.telegram.clock.now();
        for update in updates {
            if let Some((from, to)) = chat_migration(update) {
                self.intake.chat_moved(self.telegram.place(from), &to.to_string()).await?;
            }
        }
        let inbound = merge_parts(updates.iter().map(|update| convert(update, &self.me, now)).collect());
        let ids: Vec<u32> = updates.iter().map(|update| update.id.0).collect();
        let accepted = match inbound {
            Some(inbound) => {
                let accepted = self.intake.accept(inbound).await?;
                self.telegram.health.message(now);
                debug!(channel = "telegram", ?ids, ?accepted, "updates handed in");
                accepted
            }
            None => {
                debug!(channel = "telegram", ?ids, "updates that are not for Hob");
                UpdateOutcome::Ignored
            }
        };
        for update in updates {
            if let UpdateKind::CallbackQuery(query) = &update.kind {
                self.answer_press(query.id.clone(), accepted);
            }
        }
        Ok(())
    }

    /// Ends the button's spinner; best effort, and nothing waits for it.
    fn answer_press(&self, query: CallbackQueryId, accepted: UpdateOutcome) {
        let (bot, life) = (self.telegram.sender.clone(), self.telegram.life.clone());
        let deadline = self.telegram.settings.pace.send_deadline;
        let mut answer = AnswerCallbackQuery::new(query);
        answer.text = (accepted == UpdateOutcome::Ignored).then(|| NOTHING_HERE.to_owned());
        let answered = life.run_until_cancelled_owned(async move {
            if let Err(error) = call(&bot, &answer, deadline).await {
                debug!(channel = "telegram", %error, "a press was not answered: {error}");
            }
        });
        tasks::spawn_among(&self.telegram.tracker, "telegram.press", answered);
    }
}
