//! The tools: what the model calls, for whom, and at what risk.

pub(crate) mod mail_draft;
pub(crate) mod mail_file;
pub(crate) mod mail_read;
pub(crate) mod mail_search;
pub(crate) mod mail_send;

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::account::{Account, MailError};
use crate::audience::MailAudience;
use crate::letter_id::LetterId;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Risk, ToolFacts};
use hob_email::reading::Letter;
use hob_tools::{Invocation, Outcome, Tool, ToolSpec};

/// The module that personas choose them by.
pub const MODULE: &str = "mail";

/// The accounts of a household, and whose they are.
pub struct Mailboxes {
    audience: MailAudience,
    zone: TimeZone,
}

impl Mailboxes {
    /// These; times are told in `zone`.
    pub fn new(audience: MailAudience, zone: TimeZone) -> Self {
        Self { audience, zone }
    }

    /// The account that a call is about: the one that is named, or the only one. Whose it is not, it is not there for.
    async fn pick(&self, invocation: &Invocation, named: Option<&str>) -> Result<&Account, Outcome> {
        let known = self.audience.accounts_of(&invocation.principal, invocation.place).await;
        let known = known
            .map_err(|error| Outcome::of_store(&error, format!("Whose mail it is cannot be looked up: {error}.")))?;
        let wanted = match (named, known.as_slice()) {
            (Some(named), all) => all.iter().copied().find(|one| one.settings.name == named),
            (None, [only]) => Some(*only),
            (None, _) => None,
        };
        let names = || known.iter().map(|one| one.settings.name.as_str()).collect::<Vec<_>>().join(", ");
        wanted.ok_or_else(|| match known.as_slice() {
            [] => Outcome::Error("There is no mailbox here that is theirs.".to_owned()),
            _ => Outcome::Error(format!("Say which account: {}.", names())),
        })
    }

    /// The letter that a call is about, and its account.
    async fn letter(&self, invocation: &Invocation, id: &str) -> Result<(&Account, LetterId), Outcome> {
        let id: LetterId =
            id.parse().map_err(|error: crate::letter_id::NoLetterId| Outcome::Error(format!("{error}.")))?;
        Ok((self.pick(invocation, Some(&id.account)).await?, id))
    }
}

pub fn all(mailboxes: &Arc<Mailboxes>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(mail_search::MailSearch::new(Arc::clone(mailboxes))),
        Arc::new(mail_read::MailRead::new(Arc::clone(mailboxes))),
        Arc::new(mail_draft::MailDraft::new(Arc::clone(mailboxes))),
        Arc::new(mail_send::MailSend::new(Arc::clone(mailboxes))),
        Arc::new(mail_file::MailFile::new(Arc::clone(mailboxes))),
    ]
}

/// One of them, with what a call of it may do at most.
fn of_mail(spec: ToolSpec, risk: Risk) -> ToolSpec {
    let facts = ToolFacts { changes: risk > Risk::Read, risk, ..ToolFacts::default() };
    spec.of(MODULE, Role::User).with(facts).shown_on_need()
}

fn failed(error: &MailError) -> Outcome {
    let told = match error {
        MailError::Mailbox(error) => format!("{error}."),
        MailError::Login(_) | MailError::Unfit(_) => error.to_string(),
    };
    if error.is_passing() { Outcome::Transient(told) } else { Outcome::Error(told) }
}

/// The letter as the source of what it says.
fn source(letter: &Letter, id: &LetterId) -> OriginSource {
    let from = letter.from.first().map_or("somebody", |from| from.address.as_str());
    OriginSource::new(Origin::Email, &format!("{from}: {}, in {}'s mail", letter.subject, id.account))
}

/// What identifies a call at each of its attempts.
fn call_key(invocation: &Invocation) -> String {
    format!("{}\n{}\n{}", invocation.session, invocation.run.0, invocation.call)
}
