//! Tells owners in chat what does not work as it should, and when it works again (row N9); finds out what nobody else does.
//!
//! Never: a trouble told through the platform that has it, or told again while it comes and goes.
//! Start at [`keep_up`]; [`ledger`] decides what is said when, [`signs`] what counts as trouble.

mod detection;
mod ledger;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::daemon::Blueprint;
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::troubles::detection::{ChannelOutages, SemanticSearchState, model};
use crate::daemon::troubles::ledger::NoticeLedger;
use hob_core::domain::clock::Clock;
use hob_core::domain::condition::{Conditions, SystemPart, Trouble};
use hob_router::intake::Router;
use hob_router::owner_notices::OwnerNotice;

/// How often it is looked how channels, models and memory are.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Looks and tells until the stop.
pub(super) fn keep_up(shutdown: &ShutdownStages, router: &Arc<Router>, blueprint: &Blueprint) {
    let conditions = blueprint.conditions.clone();
    let look =
        detect_troubles(Arc::clone(router), conditions.clone(), Arc::clone(&blueprint.clock), shutdown.drain.clone());
    shutdown.keep("troubles", look);
    if blueprint.serves.is_configured() {
        let tell = OwnerNotifier { router: Arc::clone(router), conditions, clock: Arc::clone(&blueprint.clock) };
        shutdown.keep("telling of troubles", tell.run(shutdown.drain.clone()));
    }
}

/// Puts on the board what is found.
async fn detect_troubles(router: Arc<Router>, conditions: Conditions, clock: Arc<dyn Clock>, stop: CancellationToken) {
    let (mut outages, mut meaning) = (ChannelOutages::default(), SemanticSearchState::default());
    loop {
        let (now, services) = (clock.now(), Arc::clone(&router.config().services));
        let chain = services.models.chain(None);
        set(&conditions, SystemPart::Model, model(&chain, &services.models.states()), now);
        set(&conditions, SystemPart::Embeddings, meaning.look(&services.memory.embedding_service.status()), now);
        for (part, found) in outages.look(&router.delivery.health(), now) {
            set(&conditions, part, found, now);
        }
        if tokio::time::timeout(LOOK_EVERY, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

fn set(conditions: &Conditions, part: SystemPart, found: Option<(String, String)>, now: Timestamp) {
    match found {
        Some((what, fix)) => {
            let told = part.to_string();
            if conditions.report(part, Trouble { since: now, what: what.clone(), fix }) {
                tracing::warn!(part = told, what, "condition.begun");
            }
        }
        None => {
            if conditions.clear(&part).is_some() {
                tracing::info!(%part, "condition.ended");
            }
        }
    }
}

struct OwnerNotifier {
    router: Arc<Router>,
    conditions: Conditions,
    clock: Arc<dyn Clock>,
}

impl OwnerNotifier {
    async fn run(self, stop: CancellationToken) {
        let mut heard = self.conditions.subscribe();
        // What a reload does is told by itself; what Hob was started with is not.
        let mut ledger = NoticeLedger::at_start(&self.conditions.all());
        loop {
            let all = heard.borrow_and_update().clone();
            let now = self.clock.now();
            for said in ledger.look(&all, now) {
                let key = format!("trouble:{}:{}", said.part, now.as_millisecond());
                match self.router.tell_owners(OwnerNotice { key, text: said.text, except: Vec::new() }).await {
                    Ok(0) => ledger.unheard(&said.part),
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "the owners could not be told what does not work"),
                }
            }
            let wait = ledger.next_look(now);
            tokio::select! {
                () = stop.cancelled() => return,
                changed = heard.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}
