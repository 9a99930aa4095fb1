//! MCP clients of whoever sits at this machine (`hob mcp serve`) talk with Hob as a window does, and other windows show it.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::daemon::terminal_windows::{ShownWhen, TerminalWindows, WindowFrame};
use hob_console::{LOCAL, place};
use hob_core::domain::channel::{Intake as _, Progress, UpdateOutcome};
use hob_core::domain::inbound::{Conversation, Inbound, InboundEvent, MessageMetadata, Sender};
use hob_core::domain::principal::Principal;
use hob_router::intake::Router;
use hob_store::error::StoreError;
use hob_web::mcp::asker::{AskError, Asker};
use hob_web::owner;
use tokio_util::sync::CancellationToken;

/// The program that `hob mcp serve` speaks for.
pub(in crate::daemon) struct WindowAsker {
    pub(in crate::daemon) windows: Arc<TerminalWindows>,
    pub(in crate::daemon) router: Arc<Router>,
    pub(in crate::daemon) stop: CancellationToken,
}

impl WindowAsker {
    /// Hands the words in.
    async fn say(&self, conversation: &Conversation, text: String) -> Result<(), AskError> {
        let number = self.router.config().services.rng.next_u64();
        self.windows.show(&conversation.chat, &WindowFrame::Asked { window: number, text: text.clone() });
        let inbound = Inbound {
            conversation: conversation.clone(),
            external_id: format!("mcp-{number:016x}"),
            sender: Sender { external_id: LOCAL.to_owned(), name: "you".to_owned() },
            happening: InboundEvent::Posted { text },
            sent_at: self.router.clock.now(),
            attachments: Vec::new(),
            metadata: MessageMetadata { by_program: true, ..MessageMetadata::default() },
        };
        match self.router.accept(inbound).await? {
            UpdateOutcome::Committed | UpdateOutcome::Duplicate => Ok(()),
            UpdateOutcome::Ignored => Err(AskError::NotTaken),
        }
    }
}

#[async_trait]
impl Asker for WindowAsker {
    async fn principal(&self) -> Result<Principal, StoreError> {
        owner::at_terminal(&self.router, place(LOCAL), LOCAL).await
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
        let (mut frames, waiting) = self.windows.open(&conversation.chat, ShownWhen::Queued);
        for id in waiting {
            if let Err(error) = self.router.retry_delivery(id).await {
                tracing::warn!(outbox = %id, %error, "what waited for a terminal waits on");
            }
        }
        self.say(conversation, text).await?;
        let mut heard = HeardWords { words: Vec::new(), told };
        let mut rested = Box::pin(self.windows.rest.at_rest(conversation));
        loop {
            let frame = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(AskError::Stopping),
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
