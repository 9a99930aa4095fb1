//! `mail_draft`: a letter for its owner to look at and send, in *Drafts*.

use std::sync::Arc;

use async_trait::async_trait;

use crate::compose::{compose, message_id};
use crate::folders::FolderRole;
use crate::send::{find, put};
use crate::tools::mail_send::{LetterArguments, answered};
use crate::tools::{Mailboxes, call_key, failed, of_mail};
use hob_core::domain::tools::Risk;
use hob_tools::audience::Audience;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

/// The tool.
pub(crate) struct MailDraft {
    spec: ToolSpec,
    mailboxes: Arc<Mailboxes>,
}

impl MailDraft {
    /// Writes into these.
    pub(crate) fn new(mailboxes: Arc<Mailboxes>) -> Self {
        let about = "Puts a letter into the person's Drafts, for them to look at and send.";
        Self { spec: of_mail(spec_of::<LetterArguments>("mail_draft", about, true), Risk::Write), mailboxes }
    }

    async fn draft(&self, invocation: &Invocation) -> Result<Outcome, Outcome> {
        let written: LetterArguments = parse(&self.spec, invocation.arguments.clone())?;
        let (account, letter) = answered(&self.mailboxes, invocation, &written).await?;
        let id = message_id(&call_key(invocation), &invocation.arguments.to_string(), &account.settings);
        let told = |place: String| Outcome::Text(format!("The draft is {place}. Nothing was sent."));
        // The first attempt may have put it there before it was cut off.
        if invocation.attempt > 1
            && let Some(Some(known)) =
                Box::pin(find(account, FolderRole::Drafts, &id)).await.map_err(|error| failed(&error))?
        {
            return Ok(told(known.to_string()));
        }
        let ready = compose(&written.letter(), letter.as_ref(), id, &account.settings, invocation.now);
        let ready = ready.map_err(|error| failed(&error))?;
        let put = Box::pin(put(account, FolderRole::Drafts, &ready, "\\Draft \\Seen")).await;
        Ok(told(put.map_err(|error| failed(&error))?.to_string()))
    }
}

#[async_trait]
impl Tool for MailDraft {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_content(&self, argument: &str) -> bool {
        matches!(argument, "subject" | "text")
    }

    fn audience(&self) -> Option<&dyn Audience> {
        Some(&self.mailboxes.audience)
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.draft(&invocation).await
    }
}
