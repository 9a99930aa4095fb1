//! What a message becomes if nothing moves until it is taken in: then its run begins in the same transaction.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;

use crate::command;
use crate::intake::Router;
use crate::intake::answers::WaitingRunsQuery;
use crate::intake::sender_access::{self, SenderAccess};
use crate::intake::transaction::{IntakeOutcome, IntakeTransaction};
use hob_agent::driver::SpeculativeRun;
use hob_agent::machine::accepted_input::{AcceptedInput as AcceptedEvent, RunKind};
use hob_agent::ports::Ports;
use hob_core::domain::ids::InboundId;
use hob_core::domain::inbound::InboundEvent;
use hob_core::domain::origin::Taint;
use hob_core::policy::groups::MessageDisposition;
use hob_core::render::clean::clean;
use hob_model::message::Pictures;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::run_context::StoredRunContext;
use hob_store::sessions::Session;

/// What a message becomes, seen from outside its transaction.
async fn foresee(
    tx: &mut Tx,
    take: &IntakeTransaction,
) -> Result<Option<(AcceptedEvent, Session, StoredRunContext)>, StoreError> {
    let Some(text) = take.plain_words() else { return Ok(None) };
    let arrival = take.look(tx).await?;
    let lane = arrival.lane;
    let is_alone = lane.is_free() && !lane.may_ask() && !lane.has_overheard;
    if !is_alone || WaitingRunsQuery::for_message(&take.inbound, &arrival).is_some() {
        return Ok(None);
    }
    let known = SenderAccess::of(tx, &take.context.access, &take.inbound, arrival.member).await?;
    let role = known.role.filter(|_| sender_access::fate_of(&take.inbound, &known) == MessageDisposition::Heard);
    let who = role.zip(arrival.user).map(|(role, user)| take.principal(user.id, role, arrival.member));
    Ok(who.zip(arrival.session).map(|(principal, session)| {
        let accepted = AcceptedEvent {
            // Which row it becomes is not known yet.
            inbound: InboundId(0),
            principal,
            destination: take.destination(),
            text,
            order: RunKind::Answer,
            agent: None,
            taint: Taint::default(),
            pictures: Pictures::default(),
            around: None,
            undo: None,
        };
        (accepted, session, arrival.begins)
    }))
}

impl IntakeTransaction {
    /// The words of a message that is nothing else.
    fn plain_words(&self) -> Option<String> {
        let InboundEvent::Posted { text } = &self.inbound.happening else { return None };
        let around = &self.inbound.metadata;
        let is_plain = self.files.is_empty() && around.forwarded_from.is_none() && around.quoted.is_none();
        let text = clean(text).trim().to_owned();
        // What is said to a whole group is seldom for Hob.
        let is_said =
            !self.is_unaddressed() && !text.is_empty() && text.chars().count() <= self.limits.message_chars_max;
        (is_plain && is_said && command::parse(&text).is_none()).then_some(text)
    }
}

impl Router {
    /// Looks ahead where nothing is at work. What cannot be foreseen is not: the transaction finds out.
    pub(super) async fn foresee(&self, take: &Arc<IntakeTransaction>) {
        let is_quick = |ports: &Arc<Ports>| take.lease.is_some() && SpeculativeRun::is_quick(ports);
        let Some(ports) = self.lanes.ports_if_idle().filter(is_quick) else { return };
        let foreseen = async {
            match self.store.read(async |tx| foresee(tx, take).await).await? {
                Some((accepted, session, with)) => SpeculativeRun::of(ports, accepted, session, with).await.map(Some),
                None => Ok(None),
            }
        };
        // Whatever is wrong with it is the run's trouble: it is told of it once it is there.
        match AssertUnwindSafe(foreseen).catch_unwind().await {
            Ok(Ok(foreseen)) => take.foreseen.store(foreseen.map(Arc::new)),
            Ok(Err(error)) => tracing::debug!(%error, "what the message becomes cannot be foreseen"),
            Err(_panic) => tracing::warn!("what the message becomes cannot be foreseen: its run would panic"),
        }
    }

    /// Takes it in. What only the run's beginning makes impossible is the run's trouble, and not the message's.
    pub(super) async fn write(&self, take: &Arc<IntakeTransaction>) -> Result<IntakeOutcome, StoreError> {
        let unit = || {
            let take = Arc::clone(take);
            async move |tx: &mut Tx| take.run(tx).await
        };
        match self.store.write(unit()).await {
            Err(error) if !error.is_passing() && take.foreseen.swap(None).is_some() => {
                tracing::error!(%error, "the message's run cannot begin with it: it is taken in alone");
                self.store.write(unit()).await
            }
            taken => taken,
        }
    }
}
