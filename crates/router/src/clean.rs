//! `/clean`: a conversation goes on with what people of the house said themselves, and without what was read (row N16).
//!
//! Left out is each message that words are behind which nobody vouches for: results of tools, Hob's own answers after them, what
//! people handed on; also such summaries and notes. What was called there, by agents too, and what of it failed, is told to the model by
//! the tools' names alone, so that it does nothing twice. Never: in the middle of a run, which has read it all.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::texts;
use hob_agent::handover;
use hob_core::domain::ids::{RunId, SessionId};
use hob_model::message::Message;
use hob_model::tokens;
use hob_store::error::StoreError;
use hob_store::messages::{self, NewMessage};
use hob_store::tool_calls::CallTally;
use hob_store::{Tx, millis, overheard, runs, sessions, summaries, tool_calls};

/// So many tools are named.
const TOOLS_MAX: usize = 40;

/// Goes on without what was read, and says what was left out.
pub(super) async fn answer(tx: &mut Tx, session: SessionId, now: Timestamp) -> Result<String, StoreError> {
    if runs::find_active(tx, session).await?.is_some() {
        return Ok(texts::CLEAN_LATER.to_owned());
    }
    let left = messages::leave_out_tainted(tx, session).await?;
    let has_notes = handover::load_handover(tx, session).await?.is_some_and(|kept| !kept.taint.is_clean());
    if has_notes {
        sessions::clear_run_journal(tx, session).await?;
    }
    overheard::drop_open(tx, session).await?;
    let has_summary = summaries::forget_tainted(tx, session).await? > 0;
    let runs: BTreeSet<RunId> = left.iter().map(|message| message.run).collect();
    tell(tx, session, &runs, now).await?;
    let of = |role: &str| left.iter().filter(|message| message.role == role).count();
    let counts = [of("assistant"), of("tool"), of("user"), usize::from(has_summary), usize::from(has_notes)];
    Ok(texts::cleaned(counts))
}

/// For the model: what it did where it sees nothing any more.
async fn tell(tx: &mut Tx, session: SessionId, runs: &BTreeSet<RunId>, now: Timestamp) -> Result<(), StoreError> {
    let Some(last) = runs.last() else { return Ok(()) };
    let mut made: BTreeMap<String, CallTally> = BTreeMap::new();
    for run in runs {
        for (tool, tally) in tool_calls::tally(tx, *run).await? {
            made.entry(tool).or_default().add(tally);
        }
    }
    let done: Vec<String> = made.iter().take(TOOLS_MAX).map(|(tool, tally)| texts::calls_made(tool, *tally)).collect();
    let message = Message::user(texts::left_out(&done.join(", ")));
    let body = serde_json::to_string(&message).map_err(|error| StoreError::Database(error.to_string()))?;
    let new = NewMessage {
        session,
        run: *last,
        role: "user",
        user: None,
        body: &body,
        text: &message.text(),
        tokens: i64::try_from(tokens::message(&message)).unwrap_or(i64::MAX),
        taint: None,
        own: false,
        scope: None,
        at: millis(now),
    };
    messages::append(tx, &new).await?;
    Ok(())
}
