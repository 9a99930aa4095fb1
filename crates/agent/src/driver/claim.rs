//! Taking a run over: the claim, and loading what its requests are made of.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::handover::{self, Handover};
use crate::journal::{self, Folded, RunKey};
use crate::machine::Replay;
use crate::machine::accepted::Accepted;
use crate::machine::begun::{Context, PastMessage, PastRole};
use crate::machine::event::Event;
use crate::machine::state::State;
use crate::prompt::{Material, Past, one_line};
use crate::write_off::{Park, fold, load_or_park};
use hob_core::domain::ids::{InboundId, RunId, SessionId, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::policy::access::AccessList;
use hob_model::message::{Message, UserPart};
use hob_model::provider::ToolSchema;
use hob_model::tokens;
use hob_store::beginnings::{Beginning, BegunWith};
use hob_store::error::StoreError;
use hob_store::runs::Lease;
use hob_store::sessions::Session;
use hob_store::{
    Statement, Store, Tx, beginnings, blobs, files, members, messages, millis, model_calls, occurrences, runs,
    sessions, summaries,
};

/// Claims the session's next run, if there is one to be driven.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Whose lane.
    pub session: SessionId,
    /// By whom and for how long.
    pub lease: Lease,
}

/// A claimed run.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// Run and session.
    pub key: RunKey,
    /// Its journal.
    pub folded: Folded,
    /// Its conversation.
    pub session: Session,
    /// The tools that its sender has allowed for good here; only for a run that has not begun.
    pub granted: Vec<String>,
    /// What stands for the older part of its conversation, as its sender may see it; only for such a run as well.
    pub summary: Option<summaries::Summary>,
    /// What they had noted on a task that did not come to its end; only for a run that has not begun.
    pub notebook: Option<Handover>,
    /// When it was taken in, in Unix milliseconds; only for such a run too.
    pub taken_in_at: Option<i64>,
    /// How many messages of its conversation, behind the summary, are no longer read; only for such a run.
    pub pruned: i64,
    /// It was taken in a moment ago, and with it was looked whether its sender is let in.
    pub is_new: bool,
}

#[async_trait]
impl Statement for Claim {
    type Output = Found;

    async fn run(&self, tx: &mut Tx) -> Result<Found, StoreError> {
        let Some(claimed) = runs::claim(tx, self.session, &self.lease).await? else {
            return Ok(Found::Nothing);
        };
        let key = RunKey { run: claimed.id, session: self.session };
        if claimed.begun {
            return Ok(Found::Begun(key));
        }
        Ok(match load_or_park(tx, &key, self.lease.now).await? {
            Some(folded) => Found::Run(Box::new(with_session(tx, key, folded).await?)),
            None => Found::Parked,
        })
    }
}

/// What a claim found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A run to be driven.
    Run(Box<Claimed>),
    /// A run that has begun, whose journal is still to be loaded.
    Begun(RunKey),
    /// A run whose journal cannot be read: it is put aside, and its sender is told.
    Parked,
    /// Nothing to be done in this lane.
    Nothing,
}

/// A run that was claimed as it was taken in: what its journal holds is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// Run and session.
    pub key: RunKey,
    /// With which its journal was opened.
    pub accepted: Box<Accepted>,
    /// When.
    pub at: Timestamp,
}

#[async_trait]
impl Statement for Opened {
    type Output = Claimed;

    async fn run(&self, tx: &mut Tx) -> Result<Claimed, StoreError> {
        let mut folded = Folded { replay: Replay::default(), last_at: millis(self.at) };
        folded.replay.feed(&Event::Accepted(Accepted::clone(&self.accepted)));
        Ok(Claimed { is_new: true, ..with_session(tx, self.key.clone(), folded).await? })
    }
}

/// Claims a run and loads it. The journal of one that has begun may be long: it is folded when nobody waits for the writer, and
/// whoever has claimed it is the only one to write it.
///
/// # Errors
/// When the database fails.
pub async fn take_over(store: &Store, claim: Claim) -> Result<Found, StoreError> {
    let now = claim.lease.now;
    let key = match store.write(claim).await? {
        Found::Begun(key) => key,
        found => return Ok(found),
    };
    Ok(match store.read(Load { key: key.clone() }).await? {
        Ok(claimed) => Found::Run(Box::new(claimed)),
        Err(why) => {
            store.write(Park { key, why, now }).await?;
            Found::Parked
        }
    })
}

/// Loads a run that was claimed just now; or why it cannot be read.
struct Load {
    key: RunKey,
}

#[async_trait]
impl Statement for Load {
    type Output = Result<Claimed, String>;

    async fn run(&self, tx: &mut Tx) -> Result<Result<Claimed, String>, StoreError> {
        match fold(tx, self.key.run).await? {
            Ok(folded) => with_session(tx, self.key.clone(), folded).await.map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }
}

/// Loads a run that this process has claimed already.
#[derive(Debug, Clone)]
pub struct Reload {
    /// Run and session.
    pub key: RunKey,
}

#[async_trait]
impl Statement for Reload {
    type Output = Claimed;

    async fn run(&self, tx: &mut Tx) -> Result<Claimed, StoreError> {
        let folded = journal::load(tx, self.key.run).await?;
        with_session(tx, self.key.clone(), folded).await
    }
}

/// How many files came with a message.
#[derive(Debug, Clone)]
pub(super) struct Attachments {
    pub(super) inbound: InboundId,
}

#[async_trait]
impl Statement for Attachments {
    type Output = usize;

    async fn run(&self, tx: &mut Tx) -> Result<usize, StoreError> {
        Ok(files::of_message(tx, self.inbound).await?.len())
    }
}

async fn with_session(tx: &mut Tx, key: RunKey, folded: Folded) -> Result<Claimed, StoreError> {
    let missing = || StoreError::Inconsistent {
        table: "sessions",
        id: key.session.to_string(),
        what: "a run refers to it, and it is missing".to_owned(),
    };
    let State::Queued(accepted) = &folded.replay.state else {
        let session = sessions::lookup(tx, key.session).await?.ok_or_else(missing)?;
        let (granted, summary, notebook) = (Vec::new(), None, None);
        return Ok(Claimed {
            key,
            folded,
            session,
            granted,
            summary,
            notebook,
            taken_in_at: None,
            pruned: 0,
            is_new: false,
        });
    };
    let (user, home) = (accepted.principal.user, accepted.home(key.session));
    let found = beginnings::find(tx, &Beginning { run: key.run, session: key.session, home, user }).await?;
    let BegunWith { session, run_journal, granted, summary, taken_in_at, pruned } = found.ok_or_else(missing)?;
    let notebook = handover::for_run(key.session, run_journal.as_deref(), accepted);
    Ok(Claimed {
        key,
        folded,
        session,
        granted,
        summary,
        notebook,
        taken_in_at: Some(taken_in_at),
        pruned,
        is_new: false,
    })
}

/// A stretch of a conversation's history, as one person may see it.
#[derive(Clone)]
pub(super) struct History {
    pub(super) session: SessionId,
    /// Whose run it is for.
    pub(super) reader: UserId,
    pub(super) from: i64,
    pub(super) through: i64,
}

#[async_trait]
impl Statement for History {
    type Output = Past;

    async fn run(&self, tx: &mut Tx) -> Result<Past, StoreError> {
        let mut past = Past::default();
        for row in messages::list(tx, self.session, self.from, self.through).await? {
            let counted = row.tokens.and_then(|tokens| u64::try_from(tokens).ok());
            let (ordinal, taint) = (row.ordinal, Taint::of_stored(row.taint.as_deref()));
            if let Some(message) = self.seen(row) {
                past.taint.join(&taint);
                let tokens = counted.unwrap_or_else(|| tokens::message(&message));
                let role = match &message {
                    Message::User { .. } => PastRole::User,
                    Message::Assistant { .. } => PastRole::Assistant,
                    Message::Tool(_) => PastRole::Tool,
                };
                past.tokens += tokens;
                past.sizes.push(PastMessage { role, tokens, ordinal });
                past.messages.push(message);
            }
        }
        Ok(past)
    }
}

impl History {
    /// What others said carries their names; what tools found for them, perhaps in their memory, is theirs alone.
    fn seen(&self, row: messages::MessageRow) -> Option<Message> {
        let message = match serde_json::from_str(&row.body) {
            Ok(message) => message,
            Err(error) => {
                // A damaged message costs itself, not the conversation.
                tracing::error!(message = %row.id, line = error.line(), "a message of the history cannot be read; left out");
                return None;
            }
        };
        let others_run = row.run_user != self.reader;
        match message {
            Message::User { mut parts } => {
                if let Some(author) = row.author.filter(|_| row.user != Some(self.reader)) {
                    parts.insert(0, UserPart::text(format!("[{}] ", one_line(&author))));
                }
                Some(Message::User { parts })
            }
            Message::Assistant { .. } if others_run => {
                let text = message.text();
                (!text.trim().is_empty()).then(|| Message::assistant(text, Vec::new()))
            }
            Message::Tool(_) if others_run => None,
            Message::Assistant { .. } | Message::Tool(_) => Some(message),
        }
    }
}

/// The recorded parts of a run's requests: exactly what it began with.
#[derive(Clone)]
pub(crate) struct LoadMaterial {
    pub(crate) session: SessionId,
    pub(crate) reader: UserId,
    pub(crate) context: Context,
}

#[async_trait]
impl Statement for LoadMaterial {
    type Output = Material;

    async fn run(&self, tx: &mut Tx) -> Result<Material, StoreError> {
        let tools = blobs::get(tx, &self.context.tools.0).await?;
        let tools: Vec<ToolSchema> = serde_json::from_str(&tools).map_err(|error| StoreError::Inconsistent {
            table: "blobs",
            id: self.context.tools.to_string(),
            what: error.to_string(),
        })?;
        let history = History {
            session: self.session,
            reader: self.reader,
            from: self.context.history_from,
            through: self.context.history_through,
        };
        Ok(Material {
            system: blobs::get(tx, &self.context.system.0).await?,
            tools,
            tail: blobs::get(tx, &self.context.tail.0).await?,
            past: history.run(tx).await?,
        })
    }
}

/// Where the newest messages of a conversation that are still read begin.
#[derive(Clone)]
pub(super) struct Window {
    pub(super) session: SessionId,
    /// Since this ordinal.
    pub(super) after: i64,
    /// So many.
    pub(super) newest: i64,
}

#[async_trait]
impl Statement for Window {
    type Output = Option<i64>;

    async fn run(&self, tx: &mut Tx) -> Result<Option<i64>, StoreError> {
        messages::nth_newest(tx, self.session, self.after, self.newest).await
    }
}

/// The latest calls of a model, to learn how it counts.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) model: String,
    pub(super) limit: i64,
}

#[async_trait]
impl Statement for Counts {
    type Output = Vec<model_calls::Counted>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<model_calls::Counted>, StoreError> {
        model_calls::latest_counts(tx, &self.model, self.limit).await
    }
}

/// How a conversation went lately.
#[derive(Clone)]
pub(super) struct Recent {
    pub(super) session: SessionId,
}

#[async_trait]
impl Statement for Recent {
    type Output = runs::look::Recent;

    async fn run(&self, tx: &mut Tx) -> Result<runs::look::Recent, StoreError> {
        runs::look::recent(tx, self.session).await
    }
}

/// Whether the schedule of a run that waited was deleted meanwhile.
#[derive(Clone)]
pub(super) struct CalledOff {
    pub(super) run: RunId,
}

#[async_trait]
impl Statement for CalledOff {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        occurrences::is_called_off(tx, self.run).await
    }
}

/// Whether somebody is let in where they speak, under any of their names there.
#[derive(Clone)]
pub(super) struct IsLetIn {
    pub(super) user: UserId,
    pub(super) place: Conversation,
    pub(super) access: Arc<AccessList>,
}

#[async_trait]
impl Statement for IsLetIn {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        let roles = members::roles_of_user(tx, &self.access, (&self.place, self.user)).await?;
        // Who has got another name since is known by that one.
        Ok(roles.is_empty() || roles.iter().any(Option::is_some))
    }
}
