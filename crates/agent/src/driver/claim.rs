//! Taking a run over: the claim, and loading what its requests are made of.

use jiff::Timestamp;

use crate::driver::speculation::ImmediateStart;
use crate::journal::{self, FoldedRun, RunKey};
use crate::machine::Replay;
use crate::machine::accepted_input::AcceptedInput;
use crate::machine::event::Event;
use crate::machine::run_start::{PastMessage, PastRole, RequestContext};
use crate::machine::state::State;
use crate::prompt::{HistorySlice, PromptInputs};
use crate::write_off::{fold, load_or_park, park};
use hob_core::domain::ids::{SessionId, UserId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::domain::text::inert;
use hob_core::policy::access::AccessList;
use hob_model::message::{Message, UserPart};
use hob_model::provider::ToolSchema;
use hob_model::tokens;
use hob_store::error::StoreError;
use hob_store::run_context::StoredRunContext;
use hob_store::runs::Lease;
use hob_store::sessions::Session;
use hob_store::{Store, Tx, blobs, members, messages, millis, run_context, runs, sessions};

pub struct ClaimedRun {
    /// Run and session.
    pub key: RunKey,
    /// Its journal.
    pub folded: FoldedRun,
    pub session: Session,
    /// What it begins with; none: it has begun before.
    pub begins: Option<RunBeginning>,
}

/// What a run begins with.
pub struct RunBeginning {
    /// What is stored of its conversation.
    pub(super) with: StoredRunContext,
    /// When it was taken in, in Unix milliseconds.
    pub(super) taken_in_at: i64,
    /// It was taken in a moment ago, and with it was looked whether its sender is let in.
    pub(super) is_new: bool,
    /// It began in the transaction that took it in.
    pub(super) begun: Option<ImmediateStart>,
}

/// Claims the session's next run, if there is one to be driven.
pub async fn claim(tx: &mut Tx, session: SessionId, lease: &Lease) -> Result<ClaimOutcome, StoreError> {
    let Some(claimed) = runs::claim(tx, session, lease).await? else {
        return Ok(ClaimOutcome::Nothing);
    };
    let key = RunKey { run: claimed.id, session };
    if claimed.begun {
        return Ok(ClaimOutcome::Begun(key));
    }
    Ok(match load_or_park(tx, &key, lease.now).await? {
        Some(folded) => ClaimOutcome::Run(Box::new(with_session(tx, key, folded, claimed.taken_in_at).await?)),
        None => ClaimOutcome::Parked,
    })
}

/// What a claim found.
pub enum ClaimOutcome {
    /// A run to be driven.
    Run(Box<ClaimedRun>),
    /// A run that has begun, whose journal is still to be loaded.
    Begun(RunKey),
    /// A run whose journal cannot be read: it is put aside, and its sender is told.
    Parked,
    /// Nothing to be done in this lane.
    Nothing,
}

/// A run that was claimed as it was taken in: what its journal holds is known.
pub struct OpenedRun {
    /// Run and session.
    pub key: RunKey,
    pub session: Session,
    pub with: StoredRunContext,
    /// With which its journal was opened.
    pub accepted: Box<AcceptedInput>,
    pub at: Timestamp,
    /// It has begun as well.
    pub begun: Option<ImmediateStart>,
}

impl From<OpenedRun> for ClaimedRun {
    fn from(opened: OpenedRun) -> Self {
        let OpenedRun { key, session, with, accepted, at, begun } = opened;
        let mut folded = FoldedRun { replay: Replay::default(), last_at: millis(at) };
        folded.replay.feed(&Event::Accepted(*accepted));
        let begins = Some(RunBeginning { with, taken_in_at: millis(at), is_new: true, begun });
        Self { key, folded, session, begins }
    }
}

/// Claims a run and loads it. The journal of one that has begun may be long: it is folded when nobody waits for the writer, and
/// whoever has claimed it is the only one to write it.
pub async fn take_over(store: &Store, session: SessionId, lease: Lease) -> Result<ClaimOutcome, StoreError> {
    let now = lease.now;
    let key = match store.write(async move |tx| claim(tx, session, &lease).await).await? {
        ClaimOutcome::Begun(key) => key,
        found => return Ok(found),
    };
    Ok(match store.read(async |tx| load(tx, &key).await).await? {
        Ok(claimed) => ClaimOutcome::Run(Box::new(claimed)),
        Err(why) => {
            store.write(async move |tx| park(tx, &key, &why, now).await).await?;
            ClaimOutcome::Parked
        }
    })
}

/// Loads a run that was claimed just now; or why it cannot be read.
async fn load(tx: &mut Tx, key: &RunKey) -> Result<Result<ClaimedRun, String>, StoreError> {
    match fold(tx, key.run).await? {
        Ok(folded) => with_session(tx, key.clone(), folded, 0).await.map(Ok),
        Err(why) => Ok(Err(why)),
    }
}

/// Loads a run that this process has claimed already.
pub async fn reload(tx: &mut Tx, key: &RunKey) -> Result<ClaimedRun, StoreError> {
    let folded = journal::load(tx, key.run).await?;
    let at = folded.last_at;
    with_session(tx, key.clone(), folded, at).await
}

async fn with_session(tx: &mut Tx, key: RunKey, folded: FoldedRun, taken_in_at: i64) -> Result<ClaimedRun, StoreError> {
    let missing = || StoreError::inconsistent("sessions", key.session, "a run refers to it, and it is missing");
    let State::Queued(accepted) = &folded.replay.state else {
        let session = sessions::lookup(tx, key.session).await?.ok_or_else(missing)?;
        return Ok(ClaimedRun { key, folded, session, begins: None });
    };
    let (user, home) = (accepted.principal.user, accepted.home(key.session));
    let (session, with) = run_context::find(tx, key.session, home, user).await?.ok_or_else(missing)?;
    let begins = Some(RunBeginning { with, taken_in_at, is_new: false, begun: None });
    Ok(ClaimedRun { key, folded, session, begins })
}

/// A stretch of a conversation's history, as one person may see it.
#[derive(Clone)]
pub(super) struct HistoryRange {
    pub(super) session: SessionId,
    /// Whose run it is for.
    pub(super) reader: UserId,
    pub(super) from: i64,
    pub(super) through: i64,
}

impl HistoryRange {
    pub(super) async fn load(&self, tx: &mut Tx) -> Result<HistorySlice, StoreError> {
        let mut past = HistorySlice::default();
        for row in messages::list(tx, self.session, self.from, self.through).await? {
            let counted = row.tokens.and_then(|tokens| u64::try_from(tokens).ok());
            let (ordinal, taint) = (row.ordinal, Taint::from_stored(row.taint.as_deref()));
            let is_own = row.user == Some(self.reader);
            if let Some(message) = self.visible_message(row) {
                past.taint.join(&taint);
                let tokens = counted.unwrap_or_else(|| tokens::message(&message));
                let role = match &message {
                    Message::User { .. } => PastRole::User,
                    Message::Assistant { .. } => PastRole::Assistant,
                    Message::Tool(_) => PastRole::Tool,
                };
                past.tokens += tokens;
                if is_own && role == PastRole::User {
                    past.said.push(past.messages.len());
                }
                past.sizes.push(PastMessage { role, tokens, ordinal });
                past.messages.push(message);
            }
        }
        Ok(past)
    }

    /// What others said carries their names; what tools found for them, perhaps in their memory, is theirs alone.
    fn visible_message(&self, row: messages::MessageRow) -> Option<Message> {
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
                    parts.insert(0, UserPart::text(format!("[{}] ", inert(&author))));
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
pub(crate) struct LoadPromptInputs {
    pub(crate) session: SessionId,
    pub(crate) reader: UserId,
    pub(crate) context: RequestContext,
}

impl LoadPromptInputs {
    pub(crate) async fn load(&self, tx: &mut Tx) -> Result<PromptInputs, StoreError> {
        let tools = blobs::get(tx, &self.context.tools.0).await?;
        let tools: Vec<ToolSchema> = serde_json::from_str(&tools)
            .map_err(|error| StoreError::inconsistent("blobs", &self.context.tools, error))?;
        let history = HistoryRange {
            session: self.session,
            reader: self.reader,
            from: self.context.history_from,
            through: self.context.history_through,
        };
        Ok(PromptInputs {
            system: blobs::get(tx, &self.context.system.0).await?,
            tools: tools.into(),
            tail: blobs::get(tx, &self.context.tail.0).await?,
            past: history.load(tx).await?,
        })
    }
}

/// Whether somebody is let in where they speak, under any of their names there.
pub(super) async fn is_let_in(
    tx: &mut Tx,
    user: UserId,
    place: &Conversation,
    access: &AccessList,
) -> Result<bool, StoreError> {
    let roles = members::roles_of_user(tx, access, place, user).await?;
    // Who has got another name since is known by that one.
    Ok(roles.is_empty() || roles.iter().any(Option::is_some))
}
