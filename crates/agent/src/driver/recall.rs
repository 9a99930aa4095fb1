//! What a run knows when it begins: facts, and what was said before that bears on its message (row A4).

use std::time::Duration;

use tokio::time::Instant;
use tracing::Instrument;

use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::ports::Ports;
use crate::recalled_context::{ContextReader, RecalledContext, RenderedContext};
use hob_core::policy::memory::{SpeakingPlace, visible_scopes};
use hob_memory::embedding::Bill;
use hob_memory::facts::{self, RelevantFacts};
use hob_memory::recall::{ContextWindow, RecallQuestion, Recollection};
use hob_store::error::StoreError;
use hob_store::recall::SpeakerTurn;

/// A run does not wait any longer for its memories.
const RECALL_MAX: Duration = Duration::from_secs(2);
/// So many contradictions at once the model is told to ask about.
const RIVALS_MAX: usize = 1;

/// What the context of a run that begins tells of earlier days; the history that goes along is not told twice.
///
/// A memory that cannot be read costs itself, not the run.
pub(super) async fn recall_context(
    ports: &Ports,
    accepted: &AcceptedInput,
    bill: &Bill,
    context: ContextWindow,
) -> RenderedContext {
    let session = context.session;
    let place = SpeakingPlace::of(accepted.home(session), &accepted.destination.conversation);
    let limits = ports.memory.limits;
    let question = RecallQuestion {
        text: accepted.text.clone(),
        scopes: visible_scopes(&accepted.principal, place),
        turn: (accepted.order == RunKind::Answer).then_some(SpeakerTurn { session, speaker: accepted.principal.user }),
        window: Some(context).filter(|context| context.from <= context.through),
        limits,
        now: ports.clock.now(),
        bill: bill.clone(),
    };
    let begun = Instant::now();
    let looking = search_memory(ports, accepted, question).instrument(tracing::info_span!("memory.recall"));
    let looked = tokio::time::timeout(RECALL_MAX, looking).await;
    ports.meters.recall.observe(begun.elapsed());
    let known = match looked {
        Ok(Ok(known)) => known,
        Ok(Err(error)) => {
            tracing::warn!(%error, "nothing could be recalled; the run goes on without");
            RecalledContext::default()
        }
        Err(_) => {
            tracing::warn!("recalling took too long; the run goes on without");
            RecalledContext::default()
        }
    };
    let reader = ContextReader { name: &accepted.principal.name, zone: &ports.prompt.zone };
    let shown = known.shown(reader, limits);
    if accepted.order == RunKind::Answer && accepted.agent.is_none() {
        return shown;
    }
    // What begins by itself and an agent know what is known, but nobody's words of today brought it up.
    RenderedContext { recalled: Vec::new(), ..shown }
}

async fn search_memory(
    ports: &Ports,
    accepted: &AcceptedInput,
    question: RecallQuestion,
) -> Result<RecalledContext, StoreError> {
    let RecallQuestion { scopes, text, now, limits, .. } = question.clone();
    let store = &ports.memory.store;
    let relevant = async |question: &str| {
        store.read(async |tx| facts::relevant(tx, &scopes, question, limits.facts, now).await).await
    };
    if accepted.agent.is_some() {
        return Ok(RecalledContext { facts: relevant(&text).await?.facts, ..RecalledContext::default() });
    }
    match accepted.order {
        // What a stranger writes brings up nobody's memories.
        RunKind::Compact | RunKind::Event | RunKind::Undo => Ok(RecalledContext::default()),
        RunKind::Heartbeat => Ok(RecalledContext { facts: relevant("").await?.facts, ..RecalledContext::default() }),
        RunKind::Answer | RunKind::Scheduled => {
            let RelevantFacts { facts, mut rivals } = relevant(&text).await?;
            rivals.truncate(RIVALS_MAX);
            let Recollection { fragments, salient, answers, .. } = ports.memory.recall(&question).await?;
            Ok(RecalledContext { question: text, facts, rivals, salient, fragments, answers })
        }
    }
}

/// The skills that fit what was said, as lines for the context. What nobody vouches for brings none up.
pub(super) async fn fitting_skills(ports: &Ports, accepted: &AcceptedInput, bill: &Bill) -> Vec<String> {
    match accepted.order {
        RunKind::Answer | RunKind::Scheduled => ports.skills.matching_lines(&accepted.text, bill).await,
        RunKind::Heartbeat | RunKind::Compact | RunKind::Event | RunKind::Undo => Vec::new(),
    }
}
