//! How a run begins that no message of a person asked for: by the clock, by a schedule, by a call from outside.

use jiff::Timestamp;

use hob_agent::journal;
use hob_agent::machine::accepted_input::{AcceptedInput, RunKind};
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::domain::outgoing::Destination;
use hob_core::domain::principal::Principal;
use hob_core::domain::undo::UndoOrder;
use hob_core::render::clean::clean;
use hob_core::render::{TextFormat, pieces};
use hob_model::message::Pictures;
use hob_store::error::StoreError;
use hob_store::inbound::NewInbound;
use hob_store::{Tx, inbound, outbox, sessions};

/// What is to be done, and in whose name.
pub(super) struct TriggeredRun<'a> {
    pub(super) session: SessionId,
    /// Where what began it comes from, and its id there: each begins one run.
    pub(super) claim: (&'a Conversation, &'a str),
    /// When it was due, or came.
    pub(super) due: Timestamp,
    pub(super) principal: Principal,
    /// Where the answer goes.
    pub(super) conversation: &'a Conversation,
    /// What the model is told.
    pub(super) text: String,
    pub(super) order: RunKind,
    /// What nobody vouches for in it.
    pub(super) taint: Taint,
    /// The effect that it takes back, if that is what it is for.
    pub(super) undo: Option<Box<UndoOrder>>,
}

/// So much of what nobody vouches for is shown, in characters.
pub(super) const QUOTED_MAX: usize = 16_000;

/// Words that nobody vouches for, for the model. Each line of them is marked, so that none can pass for Hob's own.
pub(super) fn quote(words: &str) -> String {
    let cleaned = clean(words);
    let shown: String = cleaned.chars().take(QUOTED_MAX).collect();
    let cut = if shown.len() < cleaned.len() { "\n(The rest is left out.)" } else { "" };
    let quoted: Vec<String> = shown.lines().map(|line| format!("> {line}")).collect();
    format!("{}{cut}", quoted.join("\n"))
}

/// Claims it and queues its run; none: it was claimed before.
pub(super) async fn begin(tx: &mut Tx, what: TriggeredRun<'_>, now: Timestamp) -> Result<Option<RunId>, StoreError> {
    let TriggeredRun { session, claim: (conversation, external_id), due, principal, text, order, taint, undo, .. } =
        what;
    let user = principal.user;
    let new = NewInbound {
        session,
        user,
        conversation,
        external_id,
        text: &text,
        importance: 0.0,
        envelope: None,
        spoken: false,
        disposition: "run",
        sent_at: due,
        received_at: now,
    };
    let Some(inbound) = inbound::claim(tx, &new).await? else {
        return Ok(None);
    };
    let destination = Destination { conversation: what.conversation.clone(), reply_to: None };
    let accepted = AcceptedInput {
        inbound,
        principal,
        destination,
        text,
        order,
        agent: None,
        taint,
        pictures: Pictures::default(),
        around: None,
        undo,
    };
    Ok(Some(journal::open(tx, session, accepted, None, now).await?))
}

/// Says something that nobody has asked for.
pub(super) async fn say(
    tx: &mut Tx,
    conversation: &Conversation,
    key: &str,
    text: &str,
    now: Timestamp,
) -> Result<SessionId, StoreError> {
    let session = sessions::ensure(tx, &conversation.session_key().0, conversation.channel, now).await?;
    let destination = Destination { conversation: conversation.clone(), reply_to: None };
    for (index, piece) in pieces(text, TextFormat::Plain, conversation.channel).iter().enumerate() {
        let new = outbox::NewChunk {
            key: &format!("{key}:{index}"),
            session: session.id,
            run: None,
            destination: &destination,
            piece,
            choices: &[],
            file: None,
            part: outbox::ChunkRole::Words,
        };
        outbox::add(tx, &new, now).await?;
    }
    Ok(session.id)
}
