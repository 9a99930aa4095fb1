//! The look of a schedule that follows an entity: how it stands now, beside what was last known.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::entity::EntityState;
use crate::exposure::EntityId;
use crate::home::Home;
use crate::tools::source;
use crate::watch::judge::{CurrentState, Judgement, PreviousState, judge};
use crate::watch::observed::Observation;
use hob_core::policy::schedule::check::{EntityWatch, LookTarget, LookVerdict};
use hob_tools::schedule::look::{LookOrder, LookResult, Looker};

/// How an entity stands, for a schedule.
#[async_trait]
impl Looker for Home {
    async fn look(&self, order: &LookOrder) -> LookResult {
        let failed = |why: String| LookResult::failed(source(), why);
        let LookTarget::Entity(watch) = &order.target else { return failed("that is no entity".to_owned()) };
        // The first look of one tells of it.
        self.observed.changed.notify_one();
        let id = EntityId::parse(&watch.entity).filter(|id| self.settings.exposure.shows(id));
        let Some(id) = id else { return failed(format!("{} is not under `entities` in the config", watch.entity)) };
        // What was observed before is in what is asked now.
        let observed = self.observed.of(watch);
        match self.state(&id, self.settings.clock.now()).await {
            Ok(found) => {
                let present =
                    CurrentState { state: &found.state, changed: found.changed, now: self.settings.clock.now() };
                result(watch, order.seen.as_deref(), present, &observed)
            }
            Err(error) => failed(error.to_string().trim_end_matches('.').to_owned()),
        }
    }
}

/// How an entity stands when somebody begins to wait for it, for the first look: what it becomes before that look has become so.
pub(crate) fn first_seen(watch: &EntityWatch, found: &EntityState, now: Timestamp) -> Option<String> {
    let present = CurrentState { state: &found.state, changed: found.changed, now };
    written(judge(watch, None, present, &Observation::default()).seen)
}

/// It is made of texts and numbers.
fn written(seen: Option<PreviousState>) -> Option<String> {
    seen.and_then(|seen| serde_json::to_string(&seen).ok())
}

fn result(watch: &EntityWatch, seen: Option<&str>, present: CurrentState<'_>, observed: &Observation) -> LookResult {
    let before = seen.and_then(|seen| match serde_json::from_str::<PreviousState>(seen) {
        Ok(before) => Some(before),
        Err(error) => {
            tracing::warn!(%error, entity = watch.entity, "what was last known cannot be read: it is begun anew");
            None
        }
    });
    let Judgement { woken, seen } = judge(watch, before.as_ref(), present, observed);
    let was = before.map(|before| before.state).unwrap_or_default();
    let verdict = match woken {
        None => LookVerdict::Idle,
        Some(state) if state == present.state => {
            LookVerdict::Wake { data: format!("{}: {state} (it was {was})", watch.entity) }
        }
        Some(state) => LookVerdict::Wake {
            data: format!("{}: it was {state} for a while, and is {} now", watch.entity, present.state),
        },
    };
    LookResult { verdict, source: source(), seen: written(seen), said: String::new() }
}
