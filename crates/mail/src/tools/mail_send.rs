//! `mail_send`: a letter goes out in its owner's name. A person is asked each time, and sees to whom, and every word.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::account::Account;
use crate::compose::{Draft, compose, message_id};
use crate::folders::FolderRole;
use crate::read;
use crate::send::{SendOutcome, find, send};
use crate::tools::{Mailboxes, call_key, failed, of_mail};
use hob_core::domain::tools::{Approval, Assessment, GrantScope, Risk, ToolFacts};
use hob_email::reading::Letter;
use hob_tools::audience::Audience;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LetterArguments {
    /// Needed where there are several.
    account: Option<String>,
    /// Addresses.
    #[schemars(length(min = 1, max = 100))]
    to: Vec<String>,
    #[serde(default)]
    #[schemars(length(max = 100))]
    cc: Vec<String>,
    subject: String,
    /// All of it, with greeting and name; plain.
    text: String,
    /// The id of the letter that it answers.
    answers: Option<String>,
}

impl LetterArguments {
    pub(super) fn letter(&self) -> Draft {
        Draft { to: self.to.clone(), cc: self.cc.clone(), subject: self.subject.clone(), text: self.text.clone() }
    }
}

/// From which account a letter goes, and what it answers: a letter of the same account.
pub(super) async fn answered<'a>(
    mailboxes: &'a Mailboxes,
    invocation: &Invocation,
    written: &LetterArguments,
) -> Result<(&'a Account, Option<Letter>), Outcome> {
    let Some(id) = &written.answers else {
        return Ok((mailboxes.pick(invocation, written.account.as_deref()).await?, None));
    };
    let (account, id) = mailboxes.letter(invocation, id).await?;
    if written.account.as_ref().is_some_and(|named| *named != account.settings.name) {
        return Err(Outcome::Error("The letter that it answers is another account's. Nothing was done.".to_owned()));
    }
    let letter = Box::pin(read::read(account, &id)).await.map_err(|error| failed(&error))?;
    Ok((account, Some(letter)))
}

/// The tool.
pub(crate) struct MailSend {
    spec: ToolSpec,
    mailboxes: Arc<Mailboxes>,
}

impl MailSend {
    /// Sends from these.
    pub(crate) fn new(mailboxes: Arc<Mailboxes>) -> Self {
        let about = "Sends a letter in the person's name. They are asked each time and see it whole.";
        let spec = of_mail(spec_of::<LetterArguments>("mail_send", about, false), Risk::Send);
        let facts = ToolFacts { approval: Approval::Critical, exclusive: true, ..spec.facts };
        Self { spec: spec.with(facts), mailboxes }
    }

    async fn send(&self, invocation: &Invocation) -> Result<Outcome, Outcome> {
        let written: LetterArguments = parse(&self.spec, invocation.arguments.clone())?;
        let (account, letter) = answered(&self.mailboxes, invocation, &written).await?;
        let id = message_id(&call_key(invocation), &invocation.arguments.to_string(), &account.settings);
        let ready = compose(&written.letter(), letter.as_ref(), id, &account.settings, invocation.now);
        let ready = ready.map_err(|error| failed(&error))?;
        if invocation.attempt > 1
            && let Some(there) = self.has_gone_out(account, &ready.message_id).await?
        {
            return Ok(Outcome::Text(format!(
                "It had gone out before the interruption: the copy is {there}. It was not sent again."
            )));
        }
        let sent = Box::pin(send(account, &ready)).await;
        Ok(match sent {
            SendOutcome::Gone(Ok(copy)) => Outcome::Text(format!("Sent. The copy is {copy}.")),
            SendOutcome::Gone(Err(why)) => Outcome::Text(format!("Sent. No copy was kept here: {why}")),
            SendOutcome::Not { why } => Outcome::Error(format!("Nothing was sent: {why}.")),
            SendOutcome::Unknown { why } => match self.has_gone_out(account, &ready.message_id).await {
                Ok(Some(there)) => Outcome::Text(format!("Sent. The copy is {there}.")),
                Ok(None) | Err(_) => Outcome::Error(format!(
                    "Nobody knows whether it went out: {why}. Tell the person so, and do not send it again unasked: they can \
                     look into their Sent folder, or ask whom it was for."
                )),
            },
        })
    }

    /// Where its copy lies, if it went out before.
    async fn has_gone_out(&self, account: &Account, id: &str) -> Result<Option<String>, Outcome> {
        let found = Box::pin(find(account, FolderRole::Sent, id)).await.map_err(|error| failed(&error))?;
        Ok(found.flatten().map(|id| id.to_string()))
    }
}

#[async_trait]
impl Tool for MailSend {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_content(&self, argument: &str) -> bool {
        matches!(argument, "subject" | "text")
    }

    fn audience(&self) -> Option<&dyn Audience> {
        Some(&self.mailboxes.audience)
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let named =
            invocation.arguments["answers"].as_str().and_then(|id| id.split_once('/')).map(|(account, _)| account);
        let named = named.or(invocation.arguments["account"].as_str());
        let from = self.mailboxes.pick(invocation, named).await.ok().map(|account| account.settings.address.clone());
        let about = from.map(|from| format!("It sends a letter from {from}")).unwrap_or_default();
        Assessment { about, always: GrantScope::Never, ..Assessment::usual(Risk::Send) }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.send(&invocation).await
    }
}
