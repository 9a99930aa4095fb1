//! `mail_read`: what a letter says, and the files that came with it.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::read;
use crate::tools::{Mailboxes, failed, of_mail, source};
use hob_core::domain::tools::Risk;
use hob_tools::audience::Audience;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, OutputFile, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As mail_search gives it.
    id: String,
    /// The number of a file that came with it: fetches that instead.
    file: Option<usize>,
}

/// The tool.
pub(crate) struct MailRead {
    spec: ToolSpec,
    mailboxes: Arc<Mailboxes>,
}

impl MailRead {
    /// Reads in these.
    pub(crate) fn new(mailboxes: Arc<Mailboxes>) -> Self {
        let about = "Reads a letter, which stays unread, or fetches one of its files.";
        Self { spec: of_mail(spec_of::<Arguments>("mail_read", about, true), Risk::Read), mailboxes }
    }

    async fn read(&self, invocation: &Invocation) -> Result<Outcome, Outcome> {
        let Arguments { id, file } = parse(&self.spec, invocation.arguments.clone())?;
        let (account, id) = self.mailboxes.letter(invocation, &id).await?;
        let Some(number) = file else {
            let letter = Box::pin(read::read(account, &id)).await.map_err(|error| failed(&error))?;
            let told = read::told(&letter, &id, &self.mailboxes.zone);
            return Ok(Outcome::Text(told).from(source(&letter, &id)));
        };
        let fetched = Box::pin(read::file(account, &id, number)).await;
        let (letter, file, bytes) = fetched.map_err(|error| failed(&error))?;
        let told = format!("{} came with the letter: {} bytes.", file.name, bytes.len());
        let file = OutputFile { name: file.name, bytes };
        Ok(Outcome::Text(told).with_files(vec![file]).from(source(&letter, &id)))
    }
}

#[async_trait]
impl Tool for MailRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn audience(&self) -> Option<&dyn Audience> {
        Some(&self.mailboxes.audience)
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.read(&invocation).await
    }
}
