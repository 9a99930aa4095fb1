//! What the page hands to the router.

use crate::chat::channel::conversation;
use crate::served::Served;
use hob_core::domain::channel::{Accepted, Intake as _, IntakeError};
use hob_core::domain::inbound::{Attachment, Circumstances, Happening, Inbound, Sender};

/// Who writes on the page.
pub(crate) const OWNER: &str = "owner";
/// How they are called.
pub(crate) const NAME: &str = "you";
/// The most files of a message.
pub(crate) const FILES_MAX: usize = 10;

impl Served {
    /// A message with its files, each with its name.
    pub(crate) async fn post(
        &self,
        chat: &str,
        id: String,
        text: String,
        files: Vec<(String, Vec<u8>)>,
    ) -> Result<Accepted, IntakeError> {
        let uploads: Vec<String> = (0..files.len()).map(|index| format!("{chat}/{id}/{index}")).collect();
        let attachments = uploads.iter().zip(files).map(|(handle, (name, bytes))| {
            let size = bytes.len() as u64;
            self.page.keep(handle, bytes);
            Attachment { handle: handle.clone(), name, bytes: Some(size) }
        });
        let attachments = attachments.collect();
        let taken = self.hand_in(chat, id, Happening::Posted { text }, attachments).await;
        uploads.iter().for_each(|handle| self.page.drop_upload(handle));
        taken
    }

    /// Whatever happens in a conversation of the page.
    pub(crate) async fn hand_in(
        &self,
        chat: &str,
        external_id: String,
        happening: Happening,
        attachments: Vec<Attachment>,
    ) -> Result<Accepted, IntakeError> {
        let inbound = Inbound {
            conversation: conversation(chat),
            external_id,
            sender: Sender { external_id: OWNER.to_owned(), name: NAME.to_owned() },
            happening,
            sent_at: self.router.clock.now(),
            attachments,
            circumstances: Circumstances::default(),
        };
        let accepted = self.router.accept(inbound).await?;
        self.page.heard();
        self.page.changed(chat);
        Ok(accepted)
    }
}
