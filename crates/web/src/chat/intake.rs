//! What the page hands to the router.

use crate::app_state::AppState;
use crate::chat::channel::conversation;
use hob_core::domain::channel::{Intake as _, IntakeError, UpdateOutcome};
use hob_core::domain::inbound::{Attachment, Inbound, InboundEvent, MessageMetadata, Sender, VOICE};

/// Who writes on the page.
pub(crate) const OWNER: &str = "owner";
/// How they are called.
pub(crate) const NAME: &str = "you";
/// How whoever speaks through a voice assistant is called.
const SPEAKER: &str = "somebody at the voice assistant";
/// The most files of a message.
pub(crate) const FILES_MAX: usize = 10;

impl AppState {
    /// A message with its files, each with its name.
    pub(crate) async fn post(
        &self,
        chat: &str,
        id: String,
        text: String,
        files: Vec<(String, Vec<u8>)>,
    ) -> Result<UpdateOutcome, IntakeError> {
        let uploads: Vec<String> = (0..files.len()).map(|index| format!("{chat}/{id}/{index}")).collect();
        let attachments = uploads.iter().zip(files).map(|(handle, (name, bytes))| {
            let size = bytes.len() as u64;
            self.page.keep(handle, bytes);
            Attachment { handle: handle.clone(), name, bytes: Some(size) }
        });
        let attachments = attachments.collect();
        let taken = self.hand_in(chat, id, InboundEvent::Posted { text }, attachments).await;
        uploads.iter().for_each(|handle| self.page.drop_upload(handle));
        taken
    }

    /// Whatever happens in a conversation of the page.
    pub(crate) async fn hand_in(
        &self,
        chat: &str,
        external_id: String,
        happening: InboundEvent,
        attachments: Vec<Attachment>,
    ) -> Result<UpdateOutcome, IntakeError> {
        let conversation = conversation(chat);
        // Nobody is known by their voice. Buttons are the page's own, and its owner's.
        let is_spoken = conversation.is_aloud() && matches!(happening, InboundEvent::Posted { .. });
        let (sender, name) = if is_spoken { (VOICE, SPEAKER) } else { (OWNER, NAME) };
        let inbound = Inbound {
            conversation,
            external_id,
            sender: Sender { external_id: sender.to_owned(), name: name.to_owned() },
            happening,
            sent_at: self.router.clock.now(),
            attachments,
            metadata: MessageMetadata::default(),
        };
        let accepted = self.router.accept(inbound).await?;
        self.page.note_input();
        self.page.changed(chat);
        Ok(accepted)
    }
}
