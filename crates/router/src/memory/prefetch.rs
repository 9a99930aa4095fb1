//! Looking for memories before a command is taken in: recall reads by itself, and may ask an embedder.

use jiff::Timestamp;

use crate::command::{self, Command, ForgetTarget};
use hob_core::domain::ids::{MemoryId, SessionId, UserId};
use hob_core::domain::inbound::{Inbound, InboundEvent};
use hob_core::domain::memory::Scope;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::memory::{SpeakingPlace, command_scopes};
use hob_core::render::clean::clean;
use hob_memory::embedding::Bill;
use hob_memory::recall::{Memory, RecallLimits, RecallQuestion, SearchMode};
use hob_store::error::StoreError;
use hob_store::{Tx, sessions, users};
use hob_tools::mcp::prompts::PromptAnswer;

/// The most memories that a command lists.
const LIMITS: RecallLimits = RecallLimits { fragments: super::ENTRIES_MAX, tokens: 10_000, facts: 0 };

/// What was looked for before a command was taken in.
#[derive(Default)]
pub(crate) struct PrefetchedInputs {
    /// What of memory it asks for.
    pub(crate) memories: Option<PrefetchedMemories>,
    /// What came of asking for a prompt.
    pub(crate) prompt: Option<PromptAnswer>,
}

/// What was found for a command's words; whether it may be seen is asked again in the command's transaction.
pub(crate) struct PrefetchedMemories {
    /// The best first.
    pub(crate) memories: Vec<MemoryId>,
    /// How they were looked for.
    pub(crate) means: SearchMode,
}

/// The words that a message wants looked for.
fn search_words(inbound: &Inbound) -> Option<String> {
    let InboundEvent::Posted { text } = &inbound.happening else {
        return None;
    };
    match command::parse(clean(text).trim())? {
        Command::Memory(words) => words,
        Command::Forget(ForgetTarget::Words(words)) => Some(words),
        _ => None,
    }
}

/// Looks for what a command asks for; none: it asks for nothing, or of its sender nothing is known yet.
pub(crate) async fn prefetch(
    memory: &Memory,
    inbound: &Inbound,
    role: Role,
    now: Timestamp,
) -> Result<Option<PrefetchedMemories>, StoreError> {
    let Some(text) = search_words(inbound) else {
        return Ok(None);
    };
    let known = memory.store.read(async |tx| who_and_where(tx, inbound).await).await?;
    let Some((user, session)) = known else {
        return Ok(None);
    };
    let reader = Principal { user, name: inbound.sender.name.clone(), role, trust: Trust::Trusted };
    let scopes: Vec<Scope> = command_scopes(&reader, SpeakingPlace::of(session, &inbound.conversation));
    let bill = Bill::Asked { user, persona: None };
    let question = RecallQuestion { text, scopes, turn: None, window: None, limits: LIMITS, now, bill };
    let recollection = memory.search(&question).await?;
    let memories = recollection.fragments.iter().map(|fragment| fragment.memory).collect();
    Ok(Some(PrefetchedMemories { memories, means: recollection.means }))
}

/// Does the message ask for memories by a command?
pub(crate) fn is_asked_for(inbound: &Inbound) -> bool {
    search_words(inbound).is_some()
}

/// Who wrote, and in which conversation, if Hob knows both.
async fn who_and_where(tx: &mut Tx, inbound: &Inbound) -> Result<Option<(UserId, SessionId)>, StoreError> {
    let place = &inbound.conversation;
    let user = users::find(tx, place, &inbound.sender.external_id).await?;
    let session = sessions::find_by_key(tx, &place.session_key().0).await?;
    Ok(user.zip(session.map(|session| session.id)))
}
