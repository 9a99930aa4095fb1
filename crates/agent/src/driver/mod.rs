//! Drives one run: the only place that performs effects, and only those whose start is committed.
//!
//! Never: a decision about the run (that is the machine's), or a crash path of its own (that is `machine/resume.rs`).
//! Start at [`Driver::drive`]: commit a cause, perform what follows, wait for the next cause.

mod advance;
mod assess;
mod begin;
mod claim;
mod drafts;
mod first_step;
mod metrics;
mod offered_tools;
mod perform;
mod pictures;
mod plan_sources;
mod presence;
mod procedures;
mod provenance;
mod recall;
mod redaction;
mod speculation;
mod telemetry;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::driver::advance::{AdvanceCause, AdvanceOutcome, AdvanceTransaction, Committed};
use crate::driver::assess::AssessmentContext;
pub(crate) use crate::driver::claim::LoadPromptInputs;
pub use crate::driver::claim::{ClaimOutcome, ClaimedRun, OpenedRun, claim, reload, take_over};
use crate::driver::drafts::{DraftContext, DraftLock};
use crate::driver::metrics::StageTimers;
use crate::driver::perform::PendingWork;
use crate::driver::presence::FinalProgress;
pub use crate::driver::speculation::SpeculativeRun;
use crate::journal::RunKey;
use crate::machine::draft;
use crate::machine::effect::{Effect, ModelCall, SummaryCall};
use crate::machine::event::Event;
use crate::machine::question::Question;
use crate::machine::reading;
use crate::machine::state::{ActiveState, Phase, State};
use crate::machine::status::Status;
use crate::machine::stop::CancelReason;
use crate::ports::{OutboxReservation, Ports};
use crate::prompt::PromptInputs;
use crate::signal::Signal;
use hob_core::domain::ids::SessionId;
use hob_core::domain::outgoing::Destination;
use hob_core::policy::memory::SpeakingPlace;
use hob_model::message::ToolCall;
use hob_store::error::StoreError;
use hob_store::unit::UnitOfWork;

/// The first wait after a commit that failed for a passing reason; it doubles.
const COMMIT_RETRY: Duration = Duration::from_millis(100);
/// The longest such wait.
const COMMIT_RETRY_MAX: Duration = Duration::from_secs(30);

/// How a drive came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveOutcome {
    /// The run is over.
    Ended {
        /// Another one waits in the lane.
        more: bool,
    },
    /// The run waits for a person.
    Waiting,
    /// The daemon stops: the run goes on at the next start.
    Suspended,
    /// Another process has taken the run over.
    LeaseLost,
}

/// Words from outside that a drive listens to.
pub struct RunControl {
    /// There are signals for the run, or messages that may join it.
    pub signal: Arc<Notify>,
    /// The daemon will not wait any longer.
    pub cut: CancellationToken,
    /// Wakes another session's lane, in which something is due now.
    pub wake: Arc<dyn Fn(SessionId) + Send + Sync>,
}

/// What a drive does next.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each lane at work: a box would save nothing that counts"
)]
enum NextStep {
    /// It commits this.
    Cause(AdvanceCause),
    /// Something is committed; this follows from it.
    Done(Vec<Committed<Effect>>),
}

/// One run, driven by this process.
pub struct Driver {
    ports: Arc<Ports>,
    line: RunControl,
    key: RunKey,
    destination: Destination,
    /// The conversation that it belongs to; an agent's is the one that it works for.
    home: SessionId,
    state: Arc<State>,
    seq: i64,
    material: Option<Arc<PromptInputs>>,
    work: PendingWork,
    more: bool,
    /// Its conversation's outbox, with the words to begin with: they go out when this is dropped.
    outbox: Option<Box<dyn OutboxReservation>>,
    blobs: Vec<(String, String)>,
    stages: StageTimers,
    /// One call at a time in the run's draft.
    turn: DraftLock,
    /// The run's drafts below this number are thrown away, where they were not kept.
    dropped: u32,
}

impl Driver {
    /// A drive of a run that this process has claimed.
    pub fn new(ports: Arc<Ports>, line: RunControl, claimed: &ClaimedRun) -> Option<Self> {
        let accepted = match &claimed.folded.replay.state {
            State::Queued(accepted) => accepted,
            State::Active(active) => &active.input,
            State::Empty | State::Closed(_) => return None,
        };
        let stages = StageTimers::of(&ports.meters, accepted);
        Some(Self {
            ports,
            line,
            key: claimed.key.clone(),
            destination: accepted.destination.clone(),
            home: accepted.home(claimed.key.session),
            state: Arc::new(claimed.folded.replay.state.clone()),
            seq: claimed.folded.replay.seq,
            material: None,
            work: PendingWork::default(),
            more: false,
            outbox: None,
            blobs: Vec::new(),
            stages,
            turn: DraftLock::default(),
            dropped: 0,
        })
    }

    /// Takes the run from where its journal stands to its end, to a question, or to the daemon's stop. After an error the
    /// journal stands where the last commit left it.
    pub async fn drive(mut self, claimed: ClaimedRun) -> Result<DriveOutcome, StoreError> {
        let mut last = FinalProgress::of(&self);
        let mut hard = Some(Instant::now() + self.ports.limits.hard);
        let mut soft = Some(Instant::now() + self.ports.limits.soft);
        let mut next = self.first(claimed).await?;
        loop {
            let effects = match next {
                NextStep::Done(effects) => effects,
                NextStep::Cause(cause) => match self.commit(cause).await? {
                    Some(effects) => effects,
                    None => return Ok(DriveOutcome::LeaseLost),
                },
            };
            last.look(&self.state, &effects);
            self.drop_drafts().await;
            for effect in effects {
                self.perform(effect).await?;
            }
            self.outbox = None;
            match self.state.status() {
                Status::Running => last.works(),
                Status::Waiting | Status::Queued => return Ok(DriveOutcome::Waiting),
                Status::Completed | Status::Cancelled | Status::Failed | Status::Withdrawn | Status::Joined => {
                    self.ports.meters.runs.of(&[self.state.status().as_str()]).inc();
                    return Ok(DriveOutcome::Ended { more: self.more });
                }
            }
            next = NextStep::Cause(tokio::select! {
                biased;
                () = self.line.cut.cancelled() => return self.suspend().await,
                () = self.line.signal.notified() => AdvanceCause::Signals,
                events = self.work.next() => AdvanceCause::World(events),
                () = reached(hard) => {
                    hard = None;
                    AdvanceCause::Event(Event::CancelRequested(CancelReason::HardLimit))
                }
                () = reached(soft) => {
                    soft = None;
                    AdvanceCause::Event(Event::SoftLimit)
                }
            });
        }
    }

    /// Commits a cause with everything that follows from it; only then are the effects handed out.
    async fn commit(&mut self, cause: AdvanceCause) -> Result<Option<Vec<Committed<Effect>>>, StoreError> {
        let cause = match cause {
            AdvanceCause::Event(event) => AdvanceCause::Event(redaction::event(&self.ports.redactor, event)),
            AdvanceCause::World(events) => AdvanceCause::World(
                events.into_iter().map(|event| redaction::event(&self.ports.redactor, event)).collect(),
            ),
            AdvanceCause::Signals => AdvanceCause::Signals,
        };
        let mut wait = COMMIT_RETRY;
        let mut outbox = self.ports.watcher.reserve(self.home);
        loop {
            let advance = Arc::new(AdvanceTransaction {
                key: self.key.clone(),
                home: self.home,
                owner: self.ports.owner.clone(),
                destination: self.destination.clone(),
                state: Arc::clone(&self.state),
                seq: self.seq,
                cause: cause.clone(),
                blobs: self.blobs.clone(),
                unwritten: Vec::new(),
                takes_words: outbox.is_some(),
                budget_guard: Arc::clone(&self.ports.budget_guard),
                meter: Arc::clone(&self.ports.meter),
                access: Arc::clone(&self.ports.access),
                contents: self.ports.contents.clone(),
                at: self.ports.clock.now(),
            });
            match self.ports.store.write(async move |tx| advance.run(tx).await).await {
                Err(StoreError::LeaseLost) => return Ok(None),
                Ok(mut advanced) => {
                    if let Some((mut outbox, words)) = outbox.take().zip(advanced.words.take()) {
                        outbox.begin_with(words);
                        self.outbox = Some(outbox);
                    }
                    self.remember_count(&cause);
                    return Ok(Some(self.reached(advanced)));
                }
                Err(error) if error.is_passing() && !self.line.cut.is_cancelled() => {
                    tracing::warn!(run = %self.key.run, %error, "the run's next step could not be stored; trying again");
                    tokio::select! {
                        biased;
                        () = self.line.cut.cancelled() => return Err(error),
                        () = tokio::time::sleep(wait) => {}
                    }
                    wait = (wait * 2).min(COMMIT_RETRY_MAX);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What a commit came to is where the run stands now. Gives what follows from it.
    fn reached(&mut self, advanced: AdvanceOutcome) -> Vec<Committed<Effect>> {
        let AdvanceOutcome { state, seq, effects, remembered, classed, told, due, more, kept, words: _ } = advanced;
        drop(kept);
        telemetry::tainted(self.key.run, &self.state, &state);
        told.into_iter().for_each(|session| self.ports.watcher.outbox_changed(session));
        if remembered {
            self.ports.memory.embedding_service.memories_written();
        }
        classed.iter().for_each(|classing| self.ports.toolbox.classes.accept_hints(classing));
        due.into_iter().for_each(&*self.line.wake);
        self.more = more;
        self.state = Arc::new(state);
        self.seq = seq;
        self.blobs.clear();
        effects
    }

    async fn read<T: Send>(&mut self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        let store = self.ports.store.clone();
        self.retry_read(|| store.read(unit.clone())).await
    }

    /// Reads, again and again where the reason passes by itself: the database's trouble is not the run's.
    async fn retry_read<T, F>(&mut self, read: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut wait = COMMIT_RETRY;
        loop {
            match read().await {
                Err(error) if error.is_passing() && !self.line.cut.is_cancelled() => {
                    tracing::warn!(run = %self.key.run, %error, "what the run needs cannot be read; trying again");
                    tokio::select! {
                        biased;
                        () = self.line.cut.cancelled() => {}
                        () = tokio::time::sleep(wait) => {}
                    }
                    wait = (wait * 2).min(COMMIT_RETRY_MAX);
                }
                other => return other,
            }
        }
    }

    /// Starts an effect whose start is recorded; not while another daemon may have taken the run over.
    async fn perform(&mut self, effect: Committed<Effect>) -> Result<(), StoreError> {
        tokio::select! {
            biased;
            () = self.ports.store.until_certain() => {}
            () = self.line.cut.cancelled() => return Ok(()),
        }
        match effect.into_inner() {
            Effect::CallModel(call) => self.call_model(call).await?,
            Effect::RunTool { call, attempt, delay_ms } => self.run_tool(call, attempt, delay_ms),
            Effect::Look(call) => self.reassess_call(call).await?,
            Effect::Summarise(call) => self.summarise(call).await?,
            Effect::Note(event) => telemetry::noted(self.key.run, &event),
            Effect::AbortTools(calls) => self.work.abort(&calls),
            Effect::AskHuman(Question::Paused { by }) => tracing::info!(run = %self.key.run, %by, "agent_run.paused"),
            Effect::AskHuman(Question::Agents) => tracing::debug!(run = %self.key.run, "agent_run.waits_for_agents"),
            Effect::Reply(_) => {
                self.stages.answered();
                self.wake_outbox();
            }
            Effect::AskHuman(question) => {
                telemetry::asked(self.key.run, &question);
                self.wake_outbox();
            }
            Effect::End(end) => {
                // Whoever stops a run that waits for a person wants nothing of its server any more.
                self.ports.toolbox.parked.drop_run(self.key.run);
                telemetry::ended(self.key.run, &end);
            }
            Effect::Ignored { why } => tracing::info!(run = %self.key.run, why, "agent_run.ignored"),
        }
        Ok(())
    }

    /// What was committed to be said goes out.
    fn wake_outbox(&mut self) {
        if self.outbox.take().is_none() {
            self.ports.watcher.outbox_changed(self.home);
        }
    }

    async fn call_model(&mut self, call: ModelCall) -> Result<(), StoreError> {
        let state = Arc::clone(&self.state);
        let Some(active) = state.active() else {
            return Ok(());
        };
        let material = self.prompt_inputs(active).await?;
        let mut request = material.request_of(active, &call);
        request.max_output_tokens = self.reply_limit(active, &call);
        let request = self.with_pictures(request, &call).await?;
        let mute = active.input.agent.is_some();
        let (ports, run, stages) = (&self.ports, self.key.run, &self.stages);
        let stage = perform::ReplyTarget { ports, destination: &self.destination, run, mute, stages };
        let look = self.assessment_context(state, material);
        self.work.call_model(&stage, call, request, look);
        Ok(())
    }

    /// What tools go by that look at calls.
    fn assessment_context(&self, state: Arc<State>, material: Arc<PromptInputs>) -> AssessmentContext {
        let place = SpeakingPlace::of(self.home, &self.destination.conversation);
        AssessmentContext { ports: Arc::clone(&self.ports), state, material, place, run: self.key.run }
    }

    /// Has a call's tool look at it as things stand now.
    async fn reassess_call(&mut self, call: ToolCall) -> Result<(), StoreError> {
        let state = Arc::clone(&self.state);
        let Some(active) = state.active() else {
            return Ok(());
        };
        let material = self.prompt_inputs(active).await?;
        self.work.look(self.assessment_context(state, material), call);
        Ok(())
    }

    async fn summarise(&mut self, summary: SummaryCall) -> Result<(), StoreError> {
        let state = Arc::clone(&self.state);
        let Some(active) = state.active() else {
            return Ok(());
        };
        let material = self.prompt_inputs(active).await?;
        let request = material.summary_request(&active.view, &active.transcript, summary.from, summary.messages);
        let deadline = Duration::from_secs(active.policy.context.summary_secs);
        self.work.summarise(&self.ports, summary.call.label, request, deadline);
        Ok(())
    }

    /// What the run's requests are made of, loaded once.
    async fn prompt_inputs(&mut self, active: &ActiveState) -> Result<Arc<PromptInputs>, StoreError> {
        if let Some(material) = &self.material {
            return Ok(Arc::clone(material));
        }
        let (reader, context) = (active.input.principal.user, active.context.clone());
        let load = LoadPromptInputs { session: self.key.session, reader, context };
        let material = Arc::new(self.read(async |tx| load.load(tx).await).await?);
        self.material = Some(Arc::clone(&material));
        Ok(material)
    }

    /// The most tokens of a reply, where the persona sets it: never more than the model can write.
    fn reply_limit(&self, active: &ActiveState, call: &ModelCall) -> Option<u64> {
        let wished = active.persona.as_ref()?.max_output_tokens?;
        Some(self.ports.table.facts(&call.label).max_output_tokens.map_or(wished, |most| wished.min(most)))
    }

    fn run_tool(&mut self, call: ToolCall, attempt: u32, delay_ms: u64) {
        let Some(active) = self.state.active() else {
            return;
        };
        let principal = active.input.principal.clone();
        let session = active.input.session_key();
        let place = SpeakingPlace::of(self.home, &self.destination.conversation);
        let (destination, taint) = (self.destination.clone(), active.taint.clone());
        let tools = self.ports.tools.offer(|tool| active.tools.contains_key(&tool.schema.name)).tools.clone();
        let run = self.key.run;
        let is_read = reading::is_read(active, &call.id);
        let answer = match &active.phase {
            Phase::Acting(batch) => batch.get(&call.id).and_then(|open| open.reply(attempt)).cloned(),
            Phase::Calling(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => None,
        };
        let draft = DraftContext {
            place: draft::place_of(active, &call.id),
            known: active.draft.as_ref().map(|draft| draft.digest.clone()),
            turn: Arc::clone(&self.turn),
        };
        let job = perform::tool::ToolJob {
            principal,
            persona: active.persona.as_ref().map(|persona| persona.name.clone()),
            session,
            place,
            destination,
            taint,
            run,
            draft,
            tools,
            call,
            attempt,
            delay_ms,
            answer,
            is_read,
            mute: active.input.agent.is_some(),
        };
        self.work.run_tool(&self.ports, job);
    }

    /// The daemon stops: what is under way is cut, and the journal says that it was on purpose.
    async fn suspend(mut self) -> Result<DriveOutcome, StoreError> {
        self.work = PendingWork::default();
        match self.commit(AdvanceCause::Event(Event::Suspended)).await? {
            Some(_) => Ok(DriveOutcome::Suspended),
            None => Ok(DriveOutcome::LeaseLost),
        }
    }
}

/// Ends a run whose driver panicked. Its journal stands where the last commit left it.
pub async fn end_panicked(
    ports: Arc<Ports>,
    line: RunControl,
    claimed: ClaimedRun,
    message: String,
) -> Result<(), StoreError> {
    let Some(mut driver) = Driver::new(ports, line, &claimed) else {
        return Ok(());
    };
    let mut last = FinalProgress::of(&driver);
    driver.ports.toolbox.parked.drop_run(driver.key.run);
    if let Some(effects) = driver.commit(AdvanceCause::Event(Event::Panicked { message })).await? {
        last.look(&driver.state, &effects);
        for effect in effects {
            if let Effect::End(end) = effect.into_inner() {
                telemetry::ended(driver.key.run, &end);
            }
        }
        driver.ports.watcher.outbox_changed(driver.home);
        driver.ports.meters.runs.of(&[driver.state.status().as_str()]).inc();
    }
    Ok(())
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The stored form of a signal.
///
/// # Errors
/// Never: it is plain data.
pub fn encode_signal(signal: &Signal) -> Result<String, StoreError> {
    serde_json::to_string(signal).map_err(|error| StoreError::Database(error.to_string()))
}
