//! `mail_file`: a letter is put elsewhere, flagged, or marked as read; and filed back (row N16).

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file::{FiledLetter, FilingRequest, file};
use crate::folders::FolderRole;
use crate::tools::{Mailboxes, failed, of_mail};
use hob_core::domain::tools::Risk;
use hob_core::domain::undo::InverseCall;
use hob_tools::audience::Audience;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

/// The tool's name.
const NAME: &str = "mail_file";

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As mail_search gives it.
    id: String,
    /// The folder that it goes to: its name, or a role such as \Archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flagged: Option<bool>,
}

/// The tool.
pub(crate) struct MailFile {
    spec: ToolSpec,
    mailboxes: Arc<Mailboxes>,
}

impl MailFile {
    /// Files in these.
    pub(crate) fn new(mailboxes: Arc<Mailboxes>) -> Self {
        let about = "Moves a letter to a folder, flags it, or marks it as read or unread.";
        Self { spec: of_mail(spec_of::<Arguments>(NAME, about, true), Risk::Write), mailboxes }
    }

    async fn file(&self, invocation: &Invocation) -> Result<Outcome, Outcome> {
        let Arguments { id, to, read, flagged } = parse(&self.spec, invocation.arguments.clone())?;
        let (account, id) = self.mailboxes.letter(invocation, &id).await?;
        if to.is_none() && read.is_none() && flagged.is_none() {
            return Err(Outcome::Error("Say what is to be done: to, read or flagged. Nothing was done.".to_owned()));
        }
        let filing = FilingRequest { to, read, flagged };
        let done = Box::pin(file(account, &id, &filing)).await;
        let done = done.map_err(|error| match failed(&error) {
            Outcome::Error(why) if invocation.attempt > 1 => {
                Outcome::Error(format!("{why} The first attempt was cut off, and may have done it."))
            }
            outcome => outcome,
        })?;
        Ok(filed_back(&done, &filing).into_iter().fold(Outcome::Text(told(&done)), Outcome::undone_by))
    }
}

/// The call that files a letter back; none where its old place cannot be given back to it: the server does not tell its new id, or has
/// left the old one behind.
fn filed_back(done: &FiledLetter, filing: &FilingRequest) -> Option<InverseCall> {
    let id = match &done.moved {
        None => &done.was,
        Some(moved) if moved.is_left_behind => return None,
        Some(moved) => moved.now.as_ref()?,
    };
    let had = |flag: &str| done.flags_before.iter().any(|known| known.eq_ignore_ascii_case(flag));
    let back = Arguments {
        id: id.to_string(),
        to: done.moved.is_some().then(|| done.was.folder.clone()),
        read: filing.read.map(|_| had("\\Seen")),
        flagged: filing.flagged.map(|_| had("\\Flagged")),
    };
    let arguments = serde_json::to_string(&back).ok()?;
    Some(InverseCall { tool: NAME.to_owned(), arguments })
}

fn told(done: &FiledLetter) -> String {
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

    /// What is thrown away is not asked about less, although it can be fetched back.
    fn undoable(&self, arguments: &Value) -> bool {
        let goes_to = arguments["to"].as_str().unwrap_or_default().trim();
        ![FolderRole::Trash, FolderRole::Junk].iter().any(|role| role.as_str().eq_ignore_ascii_case(goes_to))
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.file(&invocation).await
    }
}
