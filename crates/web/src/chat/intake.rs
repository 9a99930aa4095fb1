//! What the page hands to the router.

use crate::app_state::AppState;
use crate::chat::channel::conversation;
use hob_core::domain::channel::{Intake as _, IntakeError, UpdateOutcome};
use hob_core::domain::inbound::{Attachment, Inbound, InboundEvent, MessageMetadata, Sender, VOICE};

/// Who writes on the page.
pub(crate) const OWNER: &str = "owner";
/// How they are called.
pub(crate) const NAME: &str = "you";
/// The most files of a message.
pub(crate) const FILES_MAX: usize = 10;

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// Whoever is logged in.
    Owner,
    /// Whoever speaks to a voice assistant.
    Voice,
}

impl Writer {
    fn sender(self) -> Sender {
        let (id, name) = match self {
            Self::Owner => (OWNER, NAME),
            Self::Voice => (VOICE, "somebody at the voice assistant"),
        };
        Sender { external_id: id.to_owned(), name: name.to_owned() }
    }
}

/// A message.
pub(crate) struct PostedMessage {
    /// What its sender calls it.
    pub(crate) id: String,
    /// Its words.
    pub(crate) text: String,
    /// Its files, each with its name.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Whose it is.
    pub(crate) writer: Writer,
}

/// What happens, with what comes along.
struct Happening {
    event: InboundEvent,
    attachments: Vec<Attachment>,
}

impl AppState {
    /// A message with its files.
    pub(crate) async fn post(&self, chat: &str, message: PostedMessage) -> Result<UpdateOutcome, IntakeError> {
        let PostedMessage { id, text, files, writer } = message;
        let uploads: Vec<String> = (0..files.len()).map(|index| format!("{chat}/{id}/{index}")).collect();
        let attachments = uploads.iter().zip(files).map(|(handle, (name, bytes))| {
            let size = bytes.len() as u64;
            self.page.keep(handle, bytes);
            Attachment { handle: handle.clone(), name, bytes: Some(size) }
        });
        let attachments = attachments.collect();
        let taken = self
            .accept(writer.sender(), chat, id, Happening { event: InboundEvent::Posted { text }, attachments })
            .await;
        uploads.iter().for_each(|handle| self.page.drop_upload(handle));
        taken
    }

    /// Whatever else the owner does in a conversation of the page.
    pub(crate) async fn hand_in(
        &self,
        chat: &str,
        external_id: String,
        event: InboundEvent,
    ) -> Result<UpdateOutcome, IntakeError> {
        self.accept(Writer::Owner.sender(), chat, external_id, Happening { event, attachments: Vec::new() }).await
    }

    async fn accept(
        &self,
        sender: Sender,
        chat: &str,
        external_id: String,
        happening: Happening,
    ) -> Result<UpdateOutcome, IntakeError> {
        let inbound = Inbound {
            conversation: conversation(chat),
            external_id,
            sender,
            happening: happening.event,
            sent_at: self.router.clock.now(),
            attachments: happening.attachments,
            circumstances: MessageMetadata::default(),
        };
        let accepted = self.router.accept(inbound).await?;
        self.page.note_input();
        self.page.changed(chat);
        Ok(accepted)
    }
}
