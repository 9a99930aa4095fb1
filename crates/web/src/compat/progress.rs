//! What has come of a message by now: from the rows that its run has left.

use std::collections::BTreeSet;

use crate::compat::answer_stream::OutgoingText;
use crate::compat::target::RequestTarget;
use hob_agent::journal;
use hob_core::domain::ids::RunId;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::web_compat::{self, ApiInboundRow, ApiReplyRow, ApiTokenUsage};

/// What has come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageProgress {
    /// When it came, in milliseconds.
    pub(super) at: i64,
    /// The run that answers it.
    pub(super) run: Option<RunId>,
    /// What was said, in order.
    pub(super) words: Vec<OutgoingText>,
    /// That is all, unless somebody says something.
    pub(super) is_over: bool,
    /// What it took.
    pub(super) used: ApiTokenUsage,
}

/// Looks what has come of a message.
pub(super) async fn load_progress(tx: &mut Tx, place: &RequestTarget) -> Result<Option<MessageProgress>, StoreError> {
    let Some(came) = web_compat::find_inbound(tx, &place.chat, &place.external_id).await? else { return Ok(None) };
    let seen = match answered_by(tx, &came).await? {
        Some(run) => progress_of_run(tx, &came, run).await?,
        None => answered_immediately(tx, &came).await?,
    };
    Ok(Some(seen))
}

/// The run that answers a message: its own, the one that it joined, or the one whose question it answered.
async fn answered_by(tx: &mut Tx, came: &ApiInboundRow) -> Result<Option<RunId>, StoreError> {
    match (came.run, came.state.as_deref()) {
        (Some(run), Some("joined")) => journal::joined_run(tx, run).await,
        (Some(run), _) => Ok(Some(run)),
        (None, _) if came.disposition == "answer" => web_compat::at_work(tx, came.session, came.at).await,
        (None, _) => Ok(None),
    }
}

/// A command, or a message that was not taken, was answered as it was taken in.
async fn answered_immediately(tx: &mut Tx, came: &ApiInboundRow) -> Result<MessageProgress, StoreError> {
    let told = web_compat::direct_reply(tx, came.id).await?;
    let words =
        told.into_iter().map(|(id, text)| OutgoingText { id, text, is_reply: false, is_question: false }).collect();
    Ok(MessageProgress { at: came.at, run: None, words, is_over: true, used: ApiTokenUsage::default() })
}

async fn progress_of_run(tx: &mut Tx, came: &ApiInboundRow, run: RunId) -> Result<MessageProgress, StoreError> {
    let state = web_compat::state_of(tx, run).await?;
    let spoken = web_compat::replies_of_run(tx, came.session, run, came.at).await?;
    let settled: BTreeSet<&str> = spoken.iter().filter_map(|one| one.replaces.as_deref()).collect();
    let is_asked = spoken.iter().any(|one| one.question.is_some() && !settled.contains(one.key.as_str()));
    let is_over = match state.as_deref() {
        Some("queued" | "running") => false,
        Some("waiting") => is_asked,
        Some(_) | None => true,
    };
    let mut words = Vec::with_capacity(spoken.len());
    for one in spoken.iter().filter(|one| one.replaces.is_none()) {
        let text = text_of(tx, one).await?;
        let (is_reply, is_question) = (one.is_reply && one.run == Some(run), one.question.is_some());
        words.push(OutgoingText { id: one.id, text, is_reply, is_question });
    }
    let used = web_compat::used(tx, run, came.at).await?;
    Ok(MessageProgress { at: came.at, run: Some(run), words, is_over, used })
}

/// The words as a client shows them: as the model wrote them, since clients render Markdown.
async fn text_of(tx: &mut Tx, one: &ApiReplyRow) -> Result<String, StoreError> {
    let place = one.key.strip_prefix("run:").and_then(|rest| rest.split(':').nth(1)).and_then(|seq| seq.parse().ok());
    let written = match one.run.zip(place).filter(|_| one.is_reply) {
        Some((run, seq)) => journal::answer_at(tx, run, seq).await?,
        None => None,
    };
    let text = written.unwrap_or_else(|| one.text.clone());
    let file = one.file.zip(one.file_name.as_deref());
    Ok(match file {
        Some((id, name)) => format!("{text}\n[File {name:?}: GET /api/files/{id}]").trim_start().to_owned(),
        None => text,
    })
}
