//! Words and buttons that answer what a run asks: whose they are, and whether they may (rows B10, D6).

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::command::{self, Command};
use crate::intake::transaction::{IncomingMessage, IntakeOutcome, IntakeTransaction};
use crate::open_questions::{OpenQuestion, extract_answer, waiting_run, waiting_runs};
use crate::{mail, texts};
use hob_agent::driver::encode_signal;
use hob_agent::journal::{FoldedRun, RunKey};
use hob_agent::machine::answer_rights::PermittedAnswerer;
use hob_agent::machine::human::Decision;
use hob_agent::machine::notebook::Notebook;
use hob_agent::machine::question::{Answer, Question};
use hob_agent::machine::state::{ActiveState, Phase};
use hob_agent::projection::buttons::{QuestionPress, UndoPress};
use hob_agent::projection::failure::FailurePress;
use hob_agent::projection::owner_questions::AskedThread;
use hob_agent::signal::Signal;
use hob_agent::write_off::{fold, load_or_park};
use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::inbound::{Inbound, InboundEvent};
use hob_core::domain::principal::{Principal, Role};
use hob_core::render::clean::clean;
use hob_store::agents::WaitingAgent;
use hob_store::arrival::Arrival;
use hob_store::error::StoreError;
use hob_store::{Tx, journal, runs, signals};

impl IntakeTransaction {
    /// What a waiting run asks: as it was seen before, if nothing has been recorded of it since.
    pub(super) async fn open_question(
        &self,
        tx: &mut Tx,
        session: SessionId,
        run: RunId,
    ) -> Result<WaitState, StoreError> {
        open_question(tx, &RunKey { run, session }, self.waiting_runs(), self.now).await
    }

    pub(super) async fn answer(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        asking: &WaitingAgent,
        mut answer: Answer,
    ) -> Result<IntakeOutcome, StoreError> {
        let Some(inbound) = self.claim(tx, arriving, &answer.text, "answer").await? else {
            return Ok(IntakeOutcome::duplicate(asking.session));
        };
        // What others say in a recording answers nothing.
        answer.text = self.with_files(tx, arriving, inbound, &answer.text).await?.text;
        signals::add(tx, asking.run.id, &encode_signal(&Signal::Answer(answer))?, self.now).await?;
        Ok(IntakeOutcome { lane: Some(asking.session), ..IntakeOutcome::without_effects(UpdateOutcome::Committed) })
    }

    /// What somebody's words answer; a file decides nothing.
    pub(super) fn answer_to(&self, asked: &OpenQuestion, by: &Principal, text: &str) -> Option<Answer> {
        let decides = self.files.is_empty() || Decision::takes_words(&asked.question);
        let said = extract_answer(text, &asked.question).filter(|_| decides)?;
        Some(Answer { by: by.user, text: said.to_owned(), question: Some(asked.number) })
    }

    /// What an owner says in the thread in which they were asked answers that question; none: it is a message of its own.
    pub(super) async fn handle_email_answer(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
    ) -> Result<Option<IntakeOutcome>, StoreError> {
        let thread = AskedThread::of(&self.inbound.conversation);
        let by = &arriving.principal;
        // Whoever else writes there was not asked.
        let own = thread.filter(|_| PermittedAnswerer::Owner.admits(by, by.user, by.role));
        let Some(thread) = own else {
            return Ok(None);
        };
        // A letter says itself to which thread it belongs.
        let Some(offered) = thread.choices_asked_in(tx, arriving.session.id).await? else {
            return Ok(None);
        };
        let AskedThread { run, question } = thread;
        let press = QuestionPress { run: run.0, question, choice: 0 };
        let Some((_, asking, asked)) = self.question_of_press(tx, arriving, press).await? else {
            // A word that would have decided it comes too late. Whatever else they write there is a message of its own.
            let labels: Vec<&str> = offered.iter().map(|choice| choice.label.as_str()).collect();
            if !Decision::would_have_decided(text, &labels) {
                return Ok(None);
            }
            return self.tell_refused(tx, arriving, text, texts::TOO_LATE).await.map(Some);
        };
        match self.answer_to(&asked, by, text) {
            Some(answer) => self.answer(tx, arriving, &asking, answer).await.map(Some),
            None => Ok(None),
        }
    }

    /// A button: it checks who presses, and which question it belongs to.
    pub(super) async fn handle_button_press(
        &self,
        tx: &mut Tx,
        mut arriving: IncomingMessage,
        token: &str,
    ) -> Result<IntakeOutcome, StoreError> {
        // A press is not a message that could be replied to.
        arriving.destination.reply_to = None;
        if let Some(press) = mail::MailButtonPress::parse(token) {
            let decided = mail::carry_out(tx, &arriving.principal, mail::MailCommand::Decide(press), self.now).await?;
            let claimed = self.claim(tx, &arriving, token, "command").await?;
            let taken = self.tell(tx, &arriving, claimed, &decided.text).await?;
            return Ok(IntakeOutcome { released: decided.released, ..taken });
        }
        if let Some(press) = FailurePress::parse(token) {
            return self.settle_failure(tx, &arriving, press.choice.label(), press).await;
        }
        if let Some(UndoPress { run }) = UndoPress::parse(token) {
            return self.press_undo(tx, &arriving, token, run).await;
        }
        let open = match QuestionPress::parse(token) {
            Some(press) => self.question_of_press(tx, &arriving, press).await?,
            None => None,
        };
        match open {
            None => self.tell_refused(tx, &arriving, token, texts::TOO_LATE).await,
            Some((_, asking, asked)) if !asked.may_be_answered_by(&arriving.principal, &asking.run) => {
                self.tell_refused(tx, &arriving, token, asked.refusal_text()).await
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
    async fn question_of_press(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        press: QuestionPress,
    ) -> Result<Option<(QuestionPress, WaitingAgent, OpenQuestion)>, StoreError> {
        let here = arriving.session.id;
        let active = runs::find_active(tx, here).await?;
        let at_home =
            waiting_runs(tx, here, active.as_ref()).await?.into_iter().find(|asking| asking.run.id.0 == press.run);
        let is_here = at_home.is_some();
        let asking = match at_home {
            None if arriving.principal.role == Role::Owner => waiting_run(tx, RunId(press.run)).await?,
            found => found,
        };
        let Some(asking) = asking else {
            return Ok(None);
        };
        Ok(match self.open_question(tx, asking.session, asking.run.id).await? {
            WaitState::Question(asked)
                if asked.number == press.question && (is_here || asked.answerer == PermittedAnswerer::Owner) =>
            {
                Some((press, asking, asked))
            }
            WaitState::Question(_) | WaitState::Agents(_) | WaitState::Nothing | WaitState::Gone => None,
        })
    }
}

/// What a waiting run asked when it was looked at. To fold a long journal takes long; it is done before anybody holds the
/// writer.
#[derive(Debug)]
pub(crate) struct WaitingRunSnapshot {
    run: RunId,
    /// The number of the last event that was there.
    last: i64,
    asked: WaitState,
    /// What it has noted.
    notebook: Notebook,
}

/// Looks at what the runs ask that a message may be an answer to.
#[derive(Clone)]
pub(super) struct WaitingRunsQuery {
    /// The conversation whose runs may ask.
    session: Option<SessionId>,
    /// The run whose button was pressed, or in whose thread it is said.
    pressed: Option<RunId>,
    /// It asks for the run's notes.
    shows: bool,
}

impl WaitingRunsQuery {
    pub(super) async fn look(&self, tx: &mut Tx) -> Result<Vec<WaitingRunSnapshot>, StoreError> {
        let mut runs: BTreeSet<RunId> = BTreeSet::new();
        if let Some(session) = self.session {
            let active = runs::find_active(tx, session).await?;
            runs.extend(active.iter().filter(|_| self.shows).map(|run| run.id));
            runs.extend(waiting_runs(tx, session, active.as_ref()).await?.into_iter().map(|asking| asking.run.id));
        }
        if let Some(pressed) = self.pressed {
            runs.extend(waiting_run(tx, pressed).await?.map(|asking| asking.run.id));
        }
        look(tx, runs).await
    }

    /// Before this is taken in; none: nothing that may be asked bears on it.
    pub(super) fn for_message(inbound: &Inbound, arrival: &Arrival) -> Option<Self> {
        let session = arrival.session.as_ref().filter(|_| arrival.lane.may_ask()).map(|session| session.id);
        let pressed = match &inbound.happening {
            InboundEvent::Posted { .. } => AskedThread::of(&inbound.conversation).map(|thread| thread.run),
            InboundEvent::Pressed { token } => QuestionPress::parse(token).map(|press| RunId(press.run)),
            InboundEvent::Edited { .. } | InboundEvent::Deleted => return None,
        };
        let shows = matches!(&inbound.happening, InboundEvent::Posted { text }
            if command::parse(clean(text).trim()) == Some(Command::Journal));
        (session.is_some() || pressed.is_some()).then_some(Self { session, pressed, shows })
    }

    /// At this run alone.
    pub(super) fn run(run: RunId) -> Self {
        Self { session: None, pressed: Some(run), shows: false }
    }
}

/// What these runs ask now. One that cannot be read is put aside by whoever goes by this.
pub(crate) async fn look(tx: &mut Tx, runs: BTreeSet<RunId>) -> Result<Vec<WaitingRunSnapshot>, StoreError> {
    let mut seen = Vec::new();
    for run in runs {
        if let Ok(folded) = fold(tx, run).await? {
            seen.push(WaitingRunSnapshot {
                run,
                last: folded.replay.seq,
                asked: wait_state(&folded),
                notebook: notebook(&folded),
            });
        }
    }
    Ok(seen)
}

/// What a waiting run asks: as it was seen before, if nothing has been recorded of it since. One whose record cannot be read
/// asks nothing, and stands in nobody's way.
pub(crate) async fn open_question(
    tx: &mut Tx,
    key: &RunKey,
    seen: &[WaitingRunSnapshot],
    now: Timestamp,
) -> Result<WaitState, StoreError> {
    if let Some(seen) = find_snapshot(tx, key.run, seen).await? {
        return Ok(seen.asked.clone());
    }
    let folded = load_or_park(tx, key, now).await?;
    Ok(folded.map_or(WaitState::Gone, |folded| wait_state(&folded)))
}

/// What a run has noted: as it was seen before, likewise.
pub(crate) async fn notebook_of(
    tx: &mut Tx,
    key: &RunKey,
    seen: &[WaitingRunSnapshot],
    now: Timestamp,
) -> Result<Notebook, StoreError> {
    if let Some(seen) = find_snapshot(tx, key.run, seen).await? {
        return Ok(seen.notebook.clone());
    }
    let folded = load_or_park(tx, key, now).await?;
    Ok(folded.map_or_else(Notebook::default, |folded| notebook(&folded)))
}

/// Does a run that waits do so for nothing but its agents? As it was seen before, likewise; one whose record cannot be read does
/// not, and stays where it is.
pub(crate) async fn waits_for_agents(tx: &mut Tx, run: RunId, seen: &[WaitingRunSnapshot]) -> Result<bool, StoreError> {
    let asked = match find_snapshot(tx, run, seen).await? {
        Some(seen) => seen.asked.clone(),
        None => fold(tx, run).await?.map_or(WaitState::Gone, |folded| wait_state(&folded)),
    };
    Ok(matches!(asked, WaitState::Nothing | WaitState::Agents(_)))
}

/// What was seen of a run, if nothing has been recorded of it since.
async fn find_snapshot<'a>(
    tx: &mut Tx,
    run: RunId,
    seen: &'a [WaitingRunSnapshot],
) -> Result<Option<&'a WaitingRunSnapshot>, StoreError> {
    let Some(seen) = seen.iter().find(|seen| seen.run == run) else { return Ok(None) };
    Ok((journal::last(tx, run).await? == seen.last).then_some(seen))
}

fn notebook(folded: &FoldedRun) -> Notebook {
    folded.replay.state.active().map(|run| run.notebook.clone()).unwrap_or_default()
}

fn wait_state(folded: &FoldedRun) -> WaitState {
    match folded.replay.state.active() {
        Some(ActiveState { phase: Phase::Waiting { question: Question::Agents, .. }, questions, .. }) => {
            WaitState::Agents(*questions)
        }
        Some(run @ ActiveState { phase: Phase::Waiting { question, .. }, .. }) => WaitState::Question(OpenQuestion {
            number: run.questions,
            answerer: PermittedAnswerer::of(run, question),
            question: question.clone(),
        }),
        Some(_) | None => WaitState::Nothing,
    }
}

/// What a run that waits wants to know.
#[derive(Debug, Clone)]
pub(crate) enum WaitState {
    Question(OpenQuestion),
    /// Nothing: it waits for its agents, for so long; the number of that.
    Agents(u32),
    /// Nothing: it goes on by itself.
    Nothing,
    /// Its record cannot be read, and it is put aside.
    Gone,
}

/// Who waits for their agents asks nobody: such a run can be joined as any other that is at work.
pub(super) fn mark_running(run: &mut runs::ActiveRun) {
    "running".clone_into(&mut run.state);
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_agent::driver::{ClaimOutcome, claim, take_over};
    use hob_agent::journal::{append_step, open};
    use hob_agent::machine::event::Event;
    use hob_agent::machine::state::State;
    use hob_agent::machine::step;
    use hob_agent::machine::testkit::{Script, accepted, asks, begun, wants};
    use hob_store::runs::Lease;
    use hob_store::{SchedulingMode, Store};

    /// A run in a private chat that has asked its person something.
    async fn waiting() -> (tempfile::TempDir, Store, Tx) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hob.db");
        let store = Store::open(&path, SchedulingMode::Threaded).await.unwrap();
        let mut tx = Store::raw(&path).await.unwrap();
        let key = accepted().destination.conversation.session_key().0;
        for row in [
            "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Anna', 'user', 0)".to_owned(),
            format!("INSERT INTO sessions (id, key, channel, created_at) VALUES (1, '{key}', 'telegram', 0)"),
            "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance,
               disposition, sent_at, received_at) VALUES (1, 1, 1, 'telegram', 'default', '7', '1', 'hi', 0, 'run', 0, 0)"
                .to_owned(),
        ] {
            sqlx::query(sqlx::AssertSqlSafe(row)).execute(&mut tx).await.unwrap();
        }
        let at = Timestamp::UNIX_EPOCH;
        let run = open(&mut tx, SessionId(1), accepted(), None, at).await.unwrap();
        assert_eq!(run, RunId(1));
        let mut state = State::Queued(accepted());
        let mut seq = 1;
        for event in [Event::Begun(Box::new(begun())), wants(&["ask_human"]), asks("1.0", "Which?")] {
            seq = append_step(&mut tx, RunId(1), seq, &step(&mut state, event), at).await.unwrap();
        }
        sqlx::query("UPDATE runs SET state = 'waiting'").execute(&mut tx).await.unwrap();
        (dir, store, tx)
    }

    async fn parked(tx: &mut Tx) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM runs WHERE parked_why IS NOT NULL").fetch_one(&mut *tx).await.unwrap()
    }

    #[tokio::test]
    async fn b15_a_begun_runs_journal_is_folded_when_nobody_waits_for_the_writer() {
        let (_dir, store, mut tx) = waiting().await;
        sqlx::query("INSERT INTO signals (run_id, body, created_at) VALUES (1, '{}', 0)")
            .execute(&mut tx)
            .await
            .unwrap();
        sqlx::query("UPDATE run_events SET body = 'no json' WHERE seq = 1").execute(&mut tx).await.unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let (session, lease) = (SessionId(1), Lease { owner: "me".to_owned(), now, until: now });
        let key = RunKey { run: RunId(1), session: SessionId(1) };
        let mine = lease.clone();
        let found = store.write(async move |tx| claim(tx, session, &mine).await).await.unwrap();
        assert!(matches!(found, ClaimOutcome::Begun(found) if found == key), "nobody has looked at it yet");
        assert_eq!(parked(&mut tx).await, 0);
        assert!(matches!(take_over(&store, session, lease).await.unwrap(), ClaimOutcome::Parked));
        assert_eq!(parked(&mut tx).await, 1);
    }

    async fn asked_now(tx: &mut Tx, seen: &[WaitingRunSnapshot]) -> WaitState {
        let key = RunKey { run: RunId(1), session: SessionId(1) };
        open_question(tx, &key, seen, Timestamp::UNIX_EPOCH).await.unwrap()
    }

    #[tokio::test]
    async fn b15_a_journal_is_folded_before_the_writer_is_held_and_looked_at_again_only_if_it_moved() {
        let (_dir, store, mut tx) = waiting().await;
        let seen = store
            .read(async |tx| {
                WaitingRunsQuery { session: Some(SessionId(1)), pressed: None, shows: true }.look(tx).await
            })
            .await
            .unwrap();
        assert_eq!(seen.len(), 1);
        // Whoever folded it again would not be able to.
        let spoil = "UPDATE run_events SET body = 'no json' WHERE seq = 1";
        sqlx::query(spoil).execute(&mut tx).await.unwrap();
        assert!(matches!(asked_now(&mut tx, &seen).await, WaitState::Question(asked) if asked.number == 1));
        let (key, now) = (RunKey { run: RunId(1), session: SessionId(1) }, Timestamp::UNIX_EPOCH);
        assert!(notebook_of(&mut tx, &key, &seen, now).await.unwrap().is_empty());
        let at_agents = WaitingRunSnapshot { asked: WaitState::Nothing, notebook: Notebook::default(), ..seen[0] };
        assert!(waits_for_agents(&mut tx, RunId(1), &[at_agents]).await.unwrap());
        assert!(!waits_for_agents(&mut tx, RunId(1), &[]).await.unwrap());
        assert_eq!(parked(&mut tx).await, 0, "nobody has looked at it again");
        let (mut script, at) = (Script::begun(), Timestamp::UNIX_EPOCH);
        let more = step(&mut script.state, Event::SoftLimit);
        let last = journal::last(&mut tx, RunId(1)).await.unwrap();
        append_step(&mut tx, RunId(1), last, &more, at).await.unwrap();
        assert!(matches!(asked_now(&mut tx, &seen).await, WaitState::Gone), "it has moved, and is looked at again");
        assert!(matches!(asked_now(&mut tx, &[]).await, WaitState::Gone));
    }
}
