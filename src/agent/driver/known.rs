//! What a run knows when it begins: facts, and what was said before that bears on its message (row A4).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::agent::journal::RunKey;
use crate::agent::known::{Known, Reader, Shown};
use crate::agent::machine::event::{Accepted, Order};
use crate::agent::ports::Ports;
use crate::domain::memory::Scope;
use crate::memory::facts::FACT_COLUMNS;
use crate::memory::recall::{KnownFact, Question, Window, match_expression};
use crate::policy::memory::{Place, visible};
use crate::store::error::StoreError;
use crate::store::facts::FactRow;
use crate::store::{Statement, Tx, facts};

/// A run does not wait any longer for its memories.
const RECALL_MAX: Duration = Duration::from_secs(2);

/// What the context of a run that begins tells of earlier days; the history that goes along is not told twice.
///
/// A memory that cannot be read costs itself, not the run.
pub(super) async fn look_back(ports: &Ports, key: &RunKey, accepted: &Accepted, (from, through): (i64, i64)) -> Shown {
    let place = Place::of(key.session, &accepted.destination.conversation);
    let limits = ports.memory.limits;
    let question = Question {
        text: accepted.text.clone(),
        scopes: visible(&accepted.principal, place),
        window: (from <= through).then_some(Window { session: key.session, from, through }),
        limits,
        now: ports.clock.now(),
    };
    let known = match tokio::time::timeout(RECALL_MAX, look_up(ports, accepted.order, question)).await {
        Ok(Ok(known)) => known,
        Ok(Err(error)) => {
            tracing::warn!(run = %key.run, %error, "nothing could be recalled; the run goes on without");
            Known::default()
        }
        Err(_) => {
            tracing::warn!(run = %key.run, "recalling took too long; the run goes on without");
            Known::default()
        }
    };
    let reader = Reader { name: &accepted.principal.name, zone: &ports.prompt.zone };
    let shown = known.shown(reader, limits);
    if accepted.order == Order::Answer {
        return shown;
    }
    // A heartbeat knows what is known, but nobody's words brought it up.
    Shown { recalled: Vec::new(), ..shown }
}

async fn look_up(ports: &Ports, order: Order, question: Question) -> Result<Known, StoreError> {
    let (scopes, limit) = (question.scopes.clone(), question.limits.facts);
    let text = match order {
        Order::Compact => return Ok(Known::default()),
        Order::Heartbeat => String::new(),
        Order::Answer => question.text.clone(),
    };
    let facts = ports.memory.store.read(FactsFor { scopes, text, limit }).await?;
    let fragments = match order {
        Order::Answer => ports.memory.recall(&question).await?.fragments,
        Order::Compact | Order::Heartbeat => Vec::new(),
    };
    Ok(Known { facts, fragments })
}

/// The facts that go along with a message: those that share its words, then the newest.
struct FactsFor {
    scopes: Vec<Scope>,
    text: String,
    limit: usize,
}

#[async_trait]
impl Statement for FactsFor {
    type Output = Vec<KnownFact>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<KnownFact>, StoreError> {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let matching = match match_expression(&self.text, &self.scopes, FACT_COLUMNS) {
            Some(query) => facts::search(tx, &query, limit).await?,
            None => Vec::new(),
        };
        let mut newest = Vec::new();
        for scope in &self.scopes {
            newest.extend(facts::list(tx, *scope, limit).await?);
        }
        newest.sort_by_key(|fact| Reverse((fact.created_at, fact.id)));
        let mut seen = BTreeSet::new();
        let matching = matching.into_iter().map(|fact| fact_of(fact, 1.0));
        let all = matching.chain(newest.into_iter().map(|fact| fact_of(fact, 0.0)));
        Ok(all.filter(|fact| seen.insert(fact.fact)).take(self.limit).collect())
    }
}

fn fact_of(row: FactRow, score: f64) -> KnownFact {
    let at = Timestamp::from_millisecond(row.created_at).unwrap_or(Timestamp::UNIX_EPOCH);
    KnownFact { fact: row.id, key: row.key, value: row.value, at, score }
}
