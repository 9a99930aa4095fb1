//! What an owner orders of one run by its number, wherever its conversation is. The run hears the same words as from `/stop`,
//! `/resume` and an answer in its chat.

use std::sync::Arc;

use jiff::Timestamp;

use crate::command::PauseScope;
use crate::failures::{self, DecisionContext, SettleOutcome};
use crate::intake::Router;
use crate::intake::answers::{WaitState, WaitingRunSnapshot, WaitingRunsQuery, open_question};
use crate::open_questions::{extract_answer, waiting_run};
use crate::operations::queue::{self, EndRunOutcome};
use crate::stopping::effects_under_way;
use crate::{pause, texts};
use hob_agent::driver::encode_signal;
use hob_agent::journal::RunKey;
use hob_agent::machine::question::Answer;
use hob_agent::machine::status::Status;
use hob_agent::projection::failure::{AfterFailure, FailurePress};
use hob_agent::signal::Signal;
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::principal::Principal;
use hob_core::policy::access::AccessList;
use hob_store::error::StoreError;
use hob_store::runs::queries::RunRow;
use hob_store::{Tx, agents, runs, sessions, signals};

/// It came too late.
const OVER: &str = "That run is over.";

/// What is ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunCommand {
    /// It ends; if it waits its turn, it is taken back.
    Stop {
        /// What has an effect is not waited for.
        at_once: bool,
    },
    /// Its conversation goes on.
    Resume,
    /// What is to be done about its failure.
    AfterFailure(AfterFailure),
    /// An answer to what it asks.
    Answer {
        question: u32,
        /// A decision's label or number, or words where it takes words.
        text: String,
    },
}

/// What came of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunCommandOutcome {
    /// It is done, as these words say.
    Done(String),
    /// It is not, for this reason.
    Refused(String),
    /// There is no such run.
    NoRun,
}

impl Router {
    /// Carries out what an owner orders of a run.
    pub async fn execute_run_command(
        &self,
        by: Principal,
        run: RunId,
        mut order: RunCommand,
    ) -> Result<RunCommandOutcome, StoreError> {
        if let RunCommand::Answer { text, .. } = &mut order {
            self.redactor.redact_in_place(text);
        }
        let seen = match &order {
            RunCommand::Answer { .. } => self.store.read(async |tx| WaitingRunsQuery::run(run).look(tx).await).await?,
            RunCommand::Stop { .. } | RunCommand::Resume | RunCommand::AfterFailure(_) => Vec::new(),
        };
        let access = Arc::clone(&self.config().access);
        let carry = Arc::new(RunCommandTransaction { run, order, by, access, seen, now: self.clock.now() });
        let (ordered, lanes) = self.store.write(async move |tx| carry.run(tx).await).await?;
        tracing::info!(%run, ?ordered, "agent_run.ordered");
        for (session, channel) in lanes {
            self.lanes.wake_served(session, &channel);
            self.delivery.wake(session);
        }
        Ok(ordered)
    }
}

struct RunCommandTransaction {
    run: RunId,
    order: RunCommand,
    by: Principal,
    /// Who is let in now.
    access: Arc<AccessList>,
    /// What the run asked.
    seen: Vec<WaitingRunSnapshot>,
    now: Timestamp,
}

/// Lanes in which there is something to do now, with their platforms.
type LanesToWake = Vec<(SessionId, String)>;

impl RunCommandTransaction {
    async fn run(&self, tx: &mut Tx) -> Result<(RunCommandOutcome, LanesToWake), StoreError> {
        let Some(row) = runs::queries::lookup(tx, self.run).await? else {
            return Ok((RunCommandOutcome::NoRun, Vec::new()));
        };
        match &self.order {
            RunCommand::Stop { at_once } => self.stop(tx, &row, *at_once).await,
            RunCommand::Resume => self.resume(tx, &row).await,
            RunCommand::AfterFailure(choice) => self.settle(tx, *choice).await,
            RunCommand::Answer { question, text } => self.answer(tx, *question, text).await,
        }
    }

    async fn stop(
        &self,
        tx: &mut Tx,
        row: &RunRow,
        at_once: bool,
    ) -> Result<(RunCommandOutcome, LanesToWake), StoreError> {
        let at_work = effects_under_way(tx, row.id).await?;
        let (ended, open) = queue::end(tx, row.id, self.by.user, at_once, self.now).await?;
        let ordered = match ended {
            EndRunOutcome::Done(_) if row.state == Status::Queued.as_str() => {
                RunCommandOutcome::Done("Taken back.".to_owned())
            }
            EndRunOutcome::Done(_) => RunCommandOutcome::Done(texts::stopping(&at_work, at_once)),
            EndRunOutcome::Over => RunCommandOutcome::Refused(OVER.to_owned()),
            EndRunOutcome::WaitedFor(parent) => {
                RunCommandOutcome::Refused(format!("It has not begun, and run {parent} waits for it: stop that one."))
            }
        };
        Ok((ordered, open.into_iter().map(|open| (open.session, open.channel)).collect()))
    }

    async fn resume(&self, tx: &mut Tx, row: &RunRow) -> Result<(RunCommandOutcome, LanesToWake), StoreError> {
        let home = agents::home(tx, row.id).await?.unwrap_or(row.session);
        let Some(session) = sessions::lookup(tx, home).await? else {
            return Ok((RunCommandOutcome::NoRun, Vec::new()));
        };
        let was_paused = sessions::paused_by(tx, home).await?.is_some();
        let order = pause::PauseRequest { session: &session, principal: &self.by, now: self.now };
        let told = pause::resume(tx, &order, PauseScope::Here).await?;
        if !was_paused {
            return Ok((RunCommandOutcome::Refused(told), Vec::new()));
        }
        let open = agents::open_at_home(tx, home).await?.into_iter().map(|agent| (agent.session, agent.channel));
        Ok((RunCommandOutcome::Done(told), std::iter::once((home, session.channel)).chain(open).collect()))
    }

    async fn settle(&self, tx: &mut Tx, choice: AfterFailure) -> Result<(RunCommandOutcome, LanesToWake), StoreError> {
        let decider = DecisionContext { by: &self.by, access: &self.access, now: self.now };
        match failures::settle(tx, &decider, FailurePress { run: self.run, choice }).await? {
            SettleOutcome::Refused(why) => Ok((RunCommandOutcome::Refused(why.to_owned()), Vec::new())),
            SettleOutcome::Done(session) => {
                Ok((RunCommandOutcome::Done(texts::settled(choice)), lane(tx, session).await?))
            }
        }
    }

    async fn answer(
        &self,
        tx: &mut Tx,
        question: u32,
        text: &str,
    ) -> Result<(RunCommandOutcome, LanesToWake), StoreError> {
        let refused = |why: &str| Ok((RunCommandOutcome::Refused(why.to_owned()), Vec::new()));
        let Some(asking) = waiting_run(tx, self.run).await? else {
            return refused(texts::TOO_LATE);
        };
        let key = RunKey { run: asking.run.id, session: asking.session };
        let asked = match open_question(tx, &key, &self.seen, self.now).await? {
            WaitState::Question(asked) if asked.number == question => asked,
            WaitState::Question(_) | WaitState::Agents(_) | WaitState::Nothing | WaitState::Gone => {
                return refused(texts::TOO_LATE);
            }
        };
        if !asked.may_be_answered_by(&self.by, &asking.run) {
            return refused(asked.refusal_text());
        }
        let Some(said) = extract_answer(text, &asked.question).filter(|said| !said.trim().is_empty()) else {
            return refused("That is none of the answers to its question.");
        };
        let answer = Answer { by: self.by.user, text: said.to_owned(), question: Some(question) };
        signals::add(tx, self.run, &encode_signal(&Signal::Answer(answer))?, self.now).await?;
        Ok((RunCommandOutcome::Done("Answered.".to_owned()), lane(tx, asking.session).await?))
    }
}

async fn lane(tx: &mut Tx, session: SessionId) -> Result<LanesToWake, StoreError> {
    Ok(sessions::lookup(tx, session).await?.map(|found| (session, found.channel)).into_iter().collect())
}
