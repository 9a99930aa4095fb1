//! What an owner orders of one run by its number, wherever its conversation is. The run hears the same words as from `/stop`,
//! `/resume` and an answer in its chat.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::agent::driver::encode_signal;
use crate::agent::journal::{QueueChange, RunKey};
use crate::agent::machine::question::Answer;
use crate::agent::machine::status::Status;
use crate::agent::machine::stop::CancelReason;
use crate::agent::signal::Signal;
use crate::agent::write_off::change_queued;
use crate::domain::ids::{RunId, SessionId};
use crate::domain::inbound::{ChannelKind, Conversation, Sender};
use crate::domain::principal::{Principal, Role, Trust};
use crate::router::answering::{answer_in, asking_elsewhere};
use crate::router::command::Reach;
use crate::router::intake::Router;
use crate::router::intake::answers::{Asked, open_question};
use crate::router::{pause, texts};
use crate::store::error::StoreError;
use crate::store::runs::RunRow;
use crate::store::users::Identity;
use crate::store::{Statement, Tx, agents, runs, sessions, signals, users};

/// The run waits for another run's word.
const AN_AGENT: &str = "It has not begun, and another run waits for it: stop that one.";
/// It came too late.
const OVER: &str = "That run is over.";

/// What is ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// It ends; if it waits its turn, it is taken back.
    Stop,
    /// Its conversation goes on.
    Resume,
    /// An answer to what it asks.
    Answer {
        /// Which of its questions.
        question: u32,
        /// A decision's label or number, or words where it takes words.
        text: String,
    },
}

/// What came of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ordered {
    /// It is done, as these words say.
    Done(String),
    /// It is not, for this reason.
    Refused(String),
    /// There is no such run.
    NoRun,
}

impl Router {
    /// Carries out what an owner orders of a run. `by` is who, and where they speak.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn order(
        &self,
        (place, sender): (Conversation, Sender),
        run: RunId,
        mut order: Order,
    ) -> Result<Ordered, StoreError> {
        if let Order::Answer { text, .. } = &mut order {
            self.redactor.clean(text);
        }
        let others = self.terms().access.others_of(&place, &sender.external_id);
        let others = others.into_iter().map(|alias| (alias.channel, alias.external_id)).collect();
        let now = self.clock.now();
        let carry = CarryOut { run, order, by: By { place, sender, others }, now };
        let (ordered, lanes) = self.store.write(carry).await?;
        tracing::info!(%run, ?ordered, "agent_run.ordered");
        for (session, channel) in lanes {
            self.lanes.wake_served(session, &channel);
        }
        Ok(ordered)
    }
}

/// Who orders.
struct By {
    place: Conversation,
    sender: Sender,
    /// Their other names.
    others: Vec<(ChannelKind, Option<String>)>,
}

struct CarryOut {
    run: RunId,
    order: Order,
    by: By,
    now: Timestamp,
}

/// Lanes in which there is something to do now, with their platforms.
type Lanes = Vec<(SessionId, String)>;

#[async_trait]
impl Statement for CarryOut {
    type Output = (Ordered, Lanes);

    async fn run(&self, tx: &mut Tx) -> Result<(Ordered, Lanes), StoreError> {
        let Some(row) = runs::lookup(tx, self.run).await? else {
            return Ok((Ordered::NoRun, Vec::new()));
        };
        let principal = self.principal(tx).await?;
        match &self.order {
            Order::Stop => self.stop(tx, &row, &principal).await,
            Order::Resume => self.resume(tx, &row, &principal).await,
            Order::Answer { question, text } => self.answer(tx, &principal, (*question, text)).await,
        }
    }
}

impl CarryOut {
    async fn principal(&self, tx: &mut Tx) -> Result<Principal, StoreError> {
        let By { place, sender, others } = &self.by;
        let identity = Identity {
            channel: place.channel,
            account: &place.account,
            external_id: &sender.external_id,
            name: &sender.name,
            // Whoever may change things on the page is an owner there: its door has seen to that.
            role: Role::Owner,
            others: others.clone(),
        };
        let user = users::ensure(tx, &identity, self.now).await?;
        Ok(Principal { user, name: sender.name.clone(), role: Role::Owner, trust: Trust::Trusted })
    }

    async fn stop(&self, tx: &mut Tx, row: &RunRow, principal: &Principal) -> Result<(Ordered, Lanes), StoreError> {
        let lanes = lane(tx, row.session).await?;
        if row.state == Status::Queued.as_str() {
            if agents::parent(tx, row.id).await?.is_some() {
                return Ok((Ordered::Refused(AN_AGENT.to_owned()), Vec::new()));
            }
            let key = RunKey { run: row.id, session: row.session };
            change_queued(tx, &key, QueueChange::Withdrawn, self.now).await?;
            return Ok((Ordered::Done("Taken back.".to_owned()), lanes));
        }
        if ![Status::Running.as_str(), Status::Waiting.as_str()].contains(&row.state.as_str()) {
            return Ok((Ordered::Refused(OVER.to_owned()), Vec::new()));
        }
        let reason = CancelReason::Stopped { by: principal.user };
        signals::add(tx, row.id, &encode_signal(&Signal::Cancel { reason })?, self.now).await?;
        Ok((Ordered::Done(texts::STOPPING.to_owned()), lanes))
    }

    async fn resume(&self, tx: &mut Tx, row: &RunRow, principal: &Principal) -> Result<(Ordered, Lanes), StoreError> {
        let home = agents::home(tx, row.id).await?.unwrap_or(row.session);
        let Some(session) = sessions::lookup(tx, home).await? else {
            return Ok((Ordered::NoRun, Vec::new()));
        };
        let was_paused = sessions::paused_by(tx, home).await?.is_some();
        let order = pause::Order { session: &session, principal, now: self.now };
        let told = pause::resume(tx, &order, Reach::Here).await?;
        if !was_paused {
            return Ok((Ordered::Refused(told), Vec::new()));
        }
        let open = agents::open_at_home(tx, home).await?.into_iter().map(|agent| (agent.session, agent.channel));
        Ok((Ordered::Done(told), std::iter::once((home, session.channel)).chain(open).collect()))
    }

    async fn answer(
        &self,
        tx: &mut Tx,
        principal: &Principal,
        (question, text): (u32, &str),
    ) -> Result<(Ordered, Lanes), StoreError> {
        let refused = |why: &str| Ok((Ordered::Refused(why.to_owned()), Vec::new()));
        let Some(asking) = asking_elsewhere(tx, self.run).await? else {
            return refused(texts::TOO_LATE);
        };
        let key = RunKey { run: asking.run.id, session: asking.session };
        let asked = match open_question(tx, &key, self.now).await? {
            Asked::Question(asked) if asked.number == question => asked,
            Asked::Question(_) | Asked::Nothing | Asked::Gone => return refused(texts::TOO_LATE),
        };
        if !asked.may_be_answered_by(principal, &asking.run) {
            return refused(asked.not_yours());
        }
        let Some(said) = answer_in(text, &asked.question).filter(|said| !said.trim().is_empty()) else {
            return refused("That is none of the answers to its question.");
        };
        let answer = Answer { by: principal.user, text: said.to_owned(), question: Some(question) };
        signals::add(tx, self.run, &encode_signal(&Signal::Answer(answer))?, self.now).await?;
        Ok((Ordered::Done("Answered.".to_owned()), lane(tx, asking.session).await?))
    }
}

async fn lane(tx: &mut Tx, session: SessionId) -> Result<Lanes, StoreError> {
    Ok(sessions::lookup(tx, session).await?.map(|found| (session, found.channel)).into_iter().collect())
}
