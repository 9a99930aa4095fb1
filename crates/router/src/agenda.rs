//! `/today`: what is on, by the calendars of whoever asks, or has a schedule say so. No model is asked.
//!
//! Never: a look at a calendar before the command is taken in. Others write into calendars: what one of them did to Hob would be done
//! again with each delivery of the command, and a slow server would hold up the platform's other messages.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::command_follow_ups::{conclude, persist};
use crate::intake::Router;
use hob_core::domain::clock::Clock;
use hob_core::domain::ids::InboundId;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Principal;
use hob_core::policy::schedule::check::LookVerdict;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_telemetry::tasks;
use hob_tools::schedule::look::{LookOrder, LookResult, Looker};

/// So long whoever asks waits for calendars.
const WITHIN: Duration = Duration::from_secs(30);
/// What is said where nobody's calendar is known.
pub(super) const NONE: &str = "I know no calendar of yours. Whoever owns me can set one up: docs/calendar.md.";
const LATE: &str = "Your calendar's server does not answer. Try again later.";
/// The same of a schedule's look.
const NONE_LOOKED: &str = "I know no calendar of yours";
const LATE_LOOKED: &str = "your calendar's server does not answer";

/// Who knows what is on.
#[async_trait]
pub trait Agenda: Send + Sync {
    /// What is on today for somebody; none: no calendar of theirs is known.
    async fn today(&self, reader: &Principal, now: Timestamp) -> Result<Option<String>, StoreError>;
}

/// Who asks what is on.
#[derive(Debug, Clone)]
pub(super) struct TodayRequest {
    pub(super) inbound: InboundId,
    pub(super) principal: Principal,
}

/// Tells what is on for schedules.
pub struct AgendaLooker {
    pub agenda: Arc<dyn Agenda>,
    pub clock: Arc<dyn Clock>,
}

#[async_trait]
impl Looker for AgendaLooker {
    async fn look(&self, order: &LookOrder) -> LookResult {
        let source = OriginSource::new(Origin::Tool, "calendars");
        let failed = |why: &str| LookResult::failed(source.clone(), why.to_owned());
        match in_time(&*self.agenda, &order.reader, self.clock.now()).await {
            Ok(Some(text)) => {
                LookResult { verdict: LookVerdict::Tell { text }, source, seen: None, said: String::new() }
            }
            Ok(None) => failed(NONE_LOOKED),
            Err(LateError) => failed(LATE_LOOKED),
        }
    }
}

/// Nobody knows what is on, for now.
struct LateError;

/// What is on for somebody, if that is known soon enough; none: no calendar of theirs is known.
async fn in_time(agenda: &dyn Agenda, reader: &Principal, now: Timestamp) -> Result<Option<String>, LateError> {
    let looked = tasks::catch_panic("dav.today", agenda.today(reader, now));
    match tokio::time::timeout(WITHIN, looked).await {
        Ok(Some(Ok(found))) => Ok(found),
        Ok(Some(Err(error))) => {
            tracing::warn!(%error, "what is on today could not be looked up");
            Err(LateError)
        }
        Ok(None) | Err(_) => Err(LateError),
    }
}

impl Router {
    /// Looks what is on, and says it. Others are not kept waiting for it.
    pub(super) fn tell_today(&self, agenda: Arc<dyn Agenda>, order: TodayRequest, place: Conversation) {
        let (store, delivery, clock) = (self.store.clone(), self.delivery.clone(), Arc::clone(&self.clock));
        tasks::spawn("router.today", async move {
            let TodayRequest { inbound, principal } = order;
            let text = match in_time(&*agenda, &principal, clock.now()).await {
                Ok(found) => found.unwrap_or_else(|| NONE.to_owned()),
                Err(LateError) => LATE.to_owned(),
            };
            let now = clock.now();
            let said = async move |tx: &mut Tx| conclude(tx, inbound, &place, &text, now).await;
            persist(|| async {
                store.write(said.clone()).await?.into_iter().for_each(|session| delivery.wake(session));
                Ok(())
            })
            .await;
        });
    }
}
