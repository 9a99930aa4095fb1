//! Words and buttons that answer what a run asks: whose they are, and whether they may (rows B10, D6).

use jiff::Timestamp;

use crate::agent::driver::encode_signal;
use crate::agent::journal::RunKey;
use crate::agent::machine::asking::Answerer;
use crate::agent::machine::question::{Answer, Question};
use crate::agent::machine::state::{Active, Phase};
use crate::agent::projection::buttons::Press;
use crate::agent::signal::Signal;
use crate::agent::write_off::load_or_write_off;
use crate::domain::channel::Accepted;
use crate::domain::ids::{RunId, SessionId};
use crate::domain::principal::Role;
use crate::router::answering::{OpenQuestion, asking, asking_elsewhere};
use crate::router::intake::take::{Arriving, Take, Taken};
use crate::router::{mail, texts};
use crate::store::agents::WaitingAgent;
use crate::store::error::StoreError;
use crate::store::{Tx, runs, signals};

impl Take {
    /// What a waiting run asks.
    pub(super) async fn open_question(&self, tx: &mut Tx, session: SessionId, run: RunId) -> Result<Asked, StoreError> {
        open_question(tx, &RunKey { run, session }, self.now).await
    }

    pub(super) async fn answer(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        asking: &WaitingAgent,
        mut answer: Answer,
    ) -> Result<Taken, StoreError> {
        let Some(inbound) = self.claim(tx, arriving, (&answer.text, "answer")).await? else {
            return Ok(Taken::again(asking.session));
        };
        // What others say in a recording answers nothing.
        answer.text = self.with_files(tx, arriving, (inbound, &answer.text)).await?.text;
        signals::add(tx, asking.run.id, &encode_signal(&Signal::Answer(answer))?, self.now).await?;
        Ok(Taken { lane: Some(asking.session), ..Taken::quietly(Accepted::Committed) })
    }

    /// A button: it checks who presses, and which question it belongs to.
    pub(super) async fn pressed(&self, tx: &mut Tx, mut arriving: Arriving, token: &str) -> Result<Taken, StoreError> {
        // A press is no message that could be replied to.
        arriving.destination.reply_to = None;
        if let Some(press) = mail::Press::parse(token) {
            let order = (mail::Order::Decide(press), self.now);
            let decided = mail::carry_out(tx, &arriving.principal, order).await?;
            let taken = self.tell(tx, &arriving, (token, "command"), decided.text).await?;
            return Ok(Taken { released: decided.released, ..taken });
        }
        let open = match Press::parse(token) {
            Some(press) => self.asked_by(tx, &arriving, press).await?,
            None => None,
        };
        match open {
            None => self.tell(tx, &arriving, (token, "refused"), texts::TOO_LATE.to_owned()).await,
            Some((_, asking, asked)) if !asked.may_be_answered_by(&arriving.principal, &asking.run) => {
                self.tell(tx, &arriving, (token, "refused"), asked.not_yours().to_owned()).await
            }
            Some((press, asking, _)) => {
                let (by, text) = (arriving.principal.user, press.choice.to_string());
                let answer = Answer { by, text, question: Some(press.question) };
                self.answer(tx, &arriving, &asking, answer).await
            }
        }
    }

    /// The open question that a button belongs to, with its run and where that is: here, or, for an owner, where they were
    /// asked from.
    async fn asked_by(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        press: Press,
    ) -> Result<Option<(Press, WaitingAgent, OpenQuestion)>, StoreError> {
        let here = arriving.session.id;
        let active = runs::find_active(tx, here).await?;
        let at_home = asking(tx, here, active.as_ref()).await?.into_iter().find(|asking| asking.run.id.0 == press.run);
        let is_here = at_home.is_some();
        let asking = match at_home {
            None if arriving.principal.role == Role::Owner => asking_elsewhere(tx, RunId(press.run)).await?,
            found => found,
        };
        let Some(asking) = asking else {
            return Ok(None);
        };
        Ok(match self.open_question(tx, asking.session, asking.run.id).await? {
            Asked::Question(asked)
                if asked.number == press.question && (is_here || asked.answerer == Answerer::Owner) =>
            {
                Some((press, asking, asked))
            }
            Asked::Question(_) | Asked::Nothing | Asked::Gone => None,
        })
    }
}

/// What a waiting run asks. One whose record is damaged can ask nothing any more, and stands in nobody's way.
pub(super) async fn open_question(tx: &mut Tx, key: &RunKey, now: Timestamp) -> Result<Asked, StoreError> {
    let Some(folded) = load_or_write_off(tx, key, now).await? else {
        return Ok(Asked::Gone);
    };
    Ok(match folded.replay.state.active() {
        Some(Active { phase: Phase::Waiting { question: Question::Agents, .. }, .. }) => Asked::Nothing,
        Some(run @ Active { phase: Phase::Waiting { question, .. }, .. }) => Asked::Question(OpenQuestion {
            number: run.questions,
            answerer: Answerer::of(run, question),
            question: question.clone(),
        }),
        Some(_) | None => Asked::Nothing,
    })
}

/// What a run that waits wants to know.
pub(super) enum Asked {
    /// This.
    Question(OpenQuestion),
    /// Nothing: it goes on by itself, perhaps when its agents are done.
    Nothing,
    /// Its record was damaged, and it is over.
    Gone,
}

/// Who waits for their agents asks nobody: such a run can be joined as any other that is at work.
pub(super) fn at_work(run: &mut runs::ActiveRun) {
    "running".clone_into(&mut run.state);
}
