//! `mail_file`: a letter is put elsewhere, flagged, or marked as read.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::{Filed, Filing, file};
use crate::tools::{Mailboxes, failed, of_mail};
use hob_core::domain::tools::Risk;
use hob_tools::audience::Audience;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As mail_search gives it.
    id: String,
    /// The folder that it goes to: its name, or a role such as \Archive.
    to: Option<String>,
    read: Option<bool>,
    flagged: Option<bool>,
}

/// The tool.
pub struct MailFile {
    spec: ToolSpec,
    mailboxes: Arc<Mailboxes>,
}

impl MailFile {
    /// Files in these.
    #[must_use]
    pub fn new(mailboxes: Arc<Mailboxes>) -> Self {
        let about = "Moves a letter to a folder, flags it, or marks it as read or unread.";
        Self { spec: of_mail(spec_of::<Arguments>("mail_file", about, true), Risk::Write), mailboxes }
    }

    async fn file(&self, invocation: &Invocation) -> Result<Outcome, Outcome> {
        let Arguments { id, to, read, flagged } = parse(&self.spec, invocation.arguments.clone())?;
        let (account, id) = self.mailboxes.letter(invocation, &id).await?;
        if to.is_none() && read.is_none() && flagged.is_none() {
            return Err(Outcome::Error("Say what is to be done: to, read or flagged. Nothing was done.".to_owned()));
        }
        let done = Box::pin(file(account, &id, &Filing { to, read, flagged })).await;
        let done = done.map_err(|error| match failed(&error) {
            Outcome::Error(why) if invocation.attempt > 1 => {
                Outcome::Error(format!("{why} The first attempt was cut off, and may have done it."))
            }
            outcome => outcome,
        })?;
        Ok(Outcome::Text(told(&done)))
    }
}

fn told(done: &Filed) -> String {
    let mut lines = Vec::new();
    match &done.moved {
        Some(moved) => {
            lines.push(format!("Moved from {} to {}.", done.was.folder, moved.folder));
            lines.push(match &moved.now {
                Some(now) => format!("Its id is now {now}; it was {}.", done.was),
                None => format!("It was {}; look for its new id there.", done.was),
            });
            if moved.is_left_behind {
                let why = "This server takes no single letter out of a folder: the old one is marked as deleted and goes when \
                           a mail program empties the folder.";
                lines.push(why.to_owned());
            }
        }
        None => lines.push(format!("Done with {}.", done.was)),
    }
    let before = if done.flags_before.is_empty() { "none".to_owned() } else { done.flags_before.join(" ") };
    lines.push(format!("Its marks before: {before}."));
    lines.join("\n")
}

#[async_trait]
impl Tool for MailFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn audience(&self) -> Option<&dyn Audience> {
        Some(&self.mailboxes.audience)
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        match self.file(&invocation).await {
            Ok(outcome) | Err(outcome) => outcome,
        }
    }
}
