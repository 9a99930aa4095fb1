//! `mail_search`: which letters there are.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::search::{PAGE, Query, SearchPage, search};
use crate::tools::{Mailboxes, failed, of_mail};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::tools::Risk;
use hob_tools::audience::Audience;
use hob_tools::registry::{parse, spec_of};
use hob_tools::{Invocation, Outcome, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Needed where there are several.
    account: Option<String>,
    /// Its name, or a role such as \Sent; without it INBOX. A wrong one is answered with a list.
    folder: Option<String>,
    /// Part of the writer's name or address.
    from: Option<String>,
    subject: Option<String>,
    /// Anywhere in the letter.
    words: Option<String>,
    /// YYYY-MM-DD, this day or later.
    since: Option<String>,
    /// YYYY-MM-DD, before this day.
    before: Option<String>,
    #[serde(default)]
    unread: bool,
    /// From 1.
    page: Option<usize>,
}

/// The tool.
pub(crate) struct MailSearch {
    spec: ToolSpec,
    mailboxes: Arc<Mailboxes>,
}

impl MailSearch {
    /// Looks into these.
    pub(crate) fn new(mailboxes: Arc<Mailboxes>) -> Self {
        let about = "Looks for letters in the person's own mailbox, newest first. All that is given must fit.";
        Self { spec: of_mail(spec_of::<Arguments>("mail_search", about, true), Risk::Read), mailboxes }
    }
}

fn day(text: Option<String>) -> Result<Option<Date>, Outcome> {
    let read = |text: String| {
        text.trim().parse().map_err(|_error| Outcome::Error(format!("{text:?} is no day, expected YYYY-MM-DD.")))
    };
    text.map(read).transpose()
}

#[async_trait]
impl Tool for MailSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn audience(&self) -> Option<&dyn Audience> {
        Some(&self.mailboxes.audience)
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        self.found(&invocation).await
    }
}

impl MailSearch {
    async fn found(&self, invocation: &Invocation) -> Result<Outcome, Outcome> {
        let asked: Arguments = parse(&self.spec, invocation.arguments.clone())?;
        let account = self.mailboxes.pick(invocation, asked.account.as_deref()).await?;
        let (folder, page) = (asked.folder.unwrap_or_else(|| "INBOX".to_owned()), asked.page.unwrap_or(1).max(1));
        let query = Query {
            from: asked.from,
            subject: asked.subject,
            words: asked.words,
            since: day(asked.since)?,
            before: day(asked.before)?,
            unread: asked.unread,
        };
        let found = Box::pin(search(account, &folder, &query, page)).await.map_err(|error| failed(&error))?;
        let outcome = Outcome::Text(told(&found, page));
        if found.letters.is_empty() {
            return Ok(outcome);
        }
        let source = format!("letters in {} of {}'s mail", found.folder, account.settings.name);
        Ok(outcome.from(OriginSource::new(Origin::Email, &source)))
    }
}

fn told(found: &SearchPage, page: usize) -> String {
    if found.total == 0 {
        return format!("No such letter is in {}.", found.folder);
    }
    let first = (page - 1) * PAGE + 1;
    if found.letters.is_empty() {
        return format!("{} letters in {}: there is no page {page}.", found.total, found.folder);
    }
    let last = first + found.letters.len() - 1;
    let mut lines =
        vec![format!("{} in {}, newest first (times in UTC); {first} to {last}:", found.total, found.folder)];
    for letter in &found.letters {
        let marks = if letter.marks.is_empty() { String::new() } else { format!(" ({})", letter.marks.join(", ")) };
        lines.push(format!("{} | {} | {} | {}{marks}", letter.id, letter.came, letter.from, letter.subject));
    }
    if last < found.total {
        lines.push(format!("More on page {}.", page + 1));
    }
    lines.join("\n")
}
