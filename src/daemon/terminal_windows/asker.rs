//! MCP clients of whoever sits at this machine (`hob mcp serve`) talk with Hob as a window does, and other windows show it.

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::daemon::terminal_windows::{NotTaken, ShownWhen, WindowFrame, WindowMessage, WindowService};
use hob_console::{LOCAL, place};
use hob_core::domain::channel::{Progress, UpdateOutcome};
use hob_core::domain::inbound::{Conversation, MessageMetadata};
use hob_core::domain::principal::Principal;
use hob_store::error::StoreError;
use hob_web::mcp::asker::{AskError, Asker};
use hob_web::owner;

/// The program that `hob mcp serve` speaks for.
pub(super) struct WindowAsker(pub(super) WindowService);

impl WindowAsker {
    /// Hands the words in.
    async fn say(&self, conversation: &Conversation, text: String) -> Result<(), AskError> {
        let window = self.0.router.config().services.rng.next_u64();
        let said = WindowMessage { id: format!("mcp-{window:016x}"), window, text, name: "you".to_owned(), file: None };
        let metadata = MessageMetadata { by_program: true, ..MessageMetadata::default() };
        match self.0.take_in(&conversation.chat, said, metadata).await {
            Ok(UpdateOutcome::Committed | UpdateOutcome::Duplicate) => Ok(()),
            Ok(UpdateOutcome::Ignored) | Err(NotTaken::File(_)) => Err(AskError::NotTaken),
            Err(NotTaken::Intake(error)) => Err(error.into()),
            Err(NotTaken::Stopping) => Err(AskError::Closing),
        }
    }
}

#[async_trait]
impl Asker for WindowAsker {
    async fn principal(&self) -> Result<Principal, StoreError> {
        owner::at_terminal(&self.0.router, place(LOCAL), LOCAL).await
    }

    fn conversation(&self, name: Option<&str>) -> Conversation {
        place(&name.map_or_else(|| LOCAL.to_owned(), |name| format!("{LOCAL}-{name}")))
    }

    fn place_text(&self, conversation: &Conversation) -> String {
        match conversation.chat.as_str() {
            LOCAL => "in `hob chat`".to_owned(),
            chat => format!("in the terminal's conversation {chat}"),
        }
    }

    async fn ask(
        &self,
        conversation: &Conversation,
        text: String,
        told: Option<mpsc::Sender<String>>,
    ) -> Result<String, AskError> {
        let mut frames = self.0.opened(&conversation.chat, ShownWhen::Queued).await;
        self.say(conversation, text).await?;
        let mut heard = HeardWords { words: Vec::new(), told };
        let mut rested = Box::pin(self.0.windows.rest.at_rest(conversation));
        loop {
            let frame = tokio::select! {
                biased;
                () = self.0.stop.cancelled() => return Err(AskError::Stopping),
                frame = frames.recv() => frame,
                () = &mut rested => break,
            };
            match frame {
                Some(frame) => heard.hear(frame),
                // It did not keep up, and was given up.
                None => break,
            }
        }
        // What was said before it came to rest is there by now.
        while let Ok(frame) = frames.try_recv() {
            heard.hear(frame);
        }
        Ok(heard.words.join("\n\n"))
    }
}

/// What a client hears.
struct HeardWords {
    words: Vec<String>,
    told: Option<mpsc::Sender<String>>,
}

impl HeardWords {
    fn hear(&mut self, frame: WindowFrame) {
        match frame {
            WindowFrame::Said { text, markup, .. } => self.words.push(markup.unwrap_or(text)),
            WindowFrame::Progress { progress: Progress::Delta(more), .. } => {
                if let Some(Err(error)) = self.told.as_ref().map(|told| told.try_send(more)) {
                    tracing::trace!(%error, "a client was not told");
                }
            }
            WindowFrame::Progress { .. }
            | WindowFrame::Open
            | WindowFrame::Alive
            | WindowFrame::Asked { .. }
            | WindowFrame::Rested { .. } => {}
        }
    }
}
