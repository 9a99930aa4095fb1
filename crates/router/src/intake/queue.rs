//! The message becomes a run of its own at the end of the lane, or a word to the run that is at work.

use crate::attachments::{self, MessageContent};
use crate::command::Command;
use crate::intake::message_context::SurroundingContext;
use crate::intake::transaction::{IncomingMessage, IntakeOutcome, IntakeTransaction};
use crate::open_questions::is_waiting_for_answer;
use crate::{command_handlers, pause, pause_texts, texts};
use hob_agent::driver::{OpenedRun, encode_signal};
use hob_agent::journal::{self, RunKey};
use hob_agent::machine::accepted_input::{AcceptedInput as AcceptedEvent, RunKind};
use hob_agent::machine::stop::CancelReason;
use hob_agent::signal::Signal;
use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::choices::IntakeMode;
use hob_core::domain::ids::{InboundId, RunId};
use hob_store::error::StoreError;
use hob_store::sessions::Session;
use hob_store::{Tx, inbound, runs, signals};

/// What a message asks of the run that it becomes.
pub(super) struct NewRun<'a> {
    pub(super) text: &'a str,
    pub(super) order: RunKind,
}

impl IntakeTransaction {
    /// `/compact`: a word to one's own run, or a run of its own, which is recorded and paid for as any other.
    pub(super) async fn compact(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
    ) -> Result<IntakeOutcome, StoreError> {
        let active = arriving.active(tx).await?;
        let by = arriving.principal.user;
        match active {
            Some(run) if run.user == by => {
                let taken = self.command(tx, arriving, text, Command::Compact).await?;
                if matches!(taken.accepted, UpdateOutcome::Committed) {
                    signals::add(tx, run.id, &encode_signal(&Signal::Compact { by })?, self.now).await?;
                }
                Ok(taken)
            }
            active => self.enqueue(tx, arriving, NewRun { text, order: RunKind::Compact }, active.as_ref()).await,
        }
    }

    /// The message becomes a run of its own, with its sender's authority, at the end of the lane.
    pub(super) async fn enqueue(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        new: NewRun<'_>,
        active: Option<&runs::ActiveRun>,
    ) -> Result<IntakeOutcome, StoreError> {
        let NewRun { text, order } = new;
        let session = &arriving.session;
        let waiting = arriving.lane.queued;
        if waiting >= self.limits.queue_len_max {
            return self.refuse(tx, arriving, text, texts::queue_full(self.limits.queue_len_max)).await;
        }
        let Some(inbound) = self.claim(tx, arriving, text, "run").await? else {
            return Ok(IntakeOutcome::duplicate(session.id));
        };
        let told = self.with_files(tx, arriving, inbound, text).await?;
        let standstill = if arriving.lane.is_paused { pause::active_pause(tx, session.id).await? } else { None };
        let near = if order == RunKind::Answer {
            self.surrounding_context(tx, session).await?
        } else {
            SurroundingContext::default()
        };
        let mode = match order {
            // What joins a run joins it as bare words of its own person.
            RunKind::Answer | RunKind::Heartbeat | RunKind::Scheduled | RunKind::Event => {
                self.mode_for(session, arriving, active).without_joining(!near.is_bare())
            }
            // It is for whoever wrote it, and stands in nobody's way.
            RunKind::Compact | RunKind::Undo => IntakeMode::Queue,
        };
        let joins = mode == IntakeMode::Steer && active.is_some() && standstill.is_none();
        let tells = order == RunKind::Answer && !joins && arriving.lane.has_overheard;
        let near = if tells { near.with_overheard(tx, session.id, self.now).await? } else { near };
        let (around, mut taint) = near.split();
        taint.join(&told.taint);
        let accepted = AcceptedEvent {
            inbound,
            principal: arriving.principal.clone(),
            destination: arriving.destination.clone(),
            text: told.full_text(),
            order,
            agent: None,
            taint,
            pictures: told.pictures,
            around,
            undo: None,
        };
        let (run, opened) = self.open(tx, arriving, accepted).await?;
        let mut taken = IntakeOutcome {
            lane: Some(session.id),
            opened,
            ..IntakeOutcome::without_effects(UpdateOutcome::Committed)
        };
        let told = if let Some(standstill) = standstill {
            // Nothing moves here: it neither joins nor ends anything, and its sender is told why.
            Some(pause_texts::waits(&standstill, waiting + 1))
        } else if active.is_some() || waiting > 0 {
            match (mode, active) {
                (IntakeMode::Steer, Some(_)) => runs::allow_joining(tx, run).await?,
                (IntakeMode::Interrupt, Some(active)) => {
                    let reason = CancelReason::Interrupted { by: arriving.principal.user };
                    let signal = encode_signal(&Signal::Cancel { reason })?;
                    signals::add(tx, active.id, &signal, self.now).await?;
                }
                (IntakeMode::Queue, _) | (IntakeMode::Steer | IntakeMode::Interrupt, None) => {}
            }
            // Without a running one, the first of those who wait is about to be served.
            let place = if active.is_some() { waiting + 1 } else { waiting };
            Some(match active {
                Some(run)
                    if mode == IntakeMode::Queue
                        && is_waiting_for_answer(run)
                        && arriving.principal.may_act_for(run.user, run.role) =>
                {
                    texts::behind_a_question(place)
                }
                Some(_) | None => texts::acknowledged(mode, place),
            })
        } else {
            None
        };
        // Whoever has not spoken to Hob is not told that it waits its turn.
        if let Some(told) = told.filter(|_| !self.is_unaddressed()) {
            let reply = command_handlers::DirectReply::to(session.id, &arriving.destination, inbound);
            command_handlers::say(tx, &reply, &told, self.now).await?;
            taken.said = Some(session.id);
            taken.queued = Some((run, arriving.destination.clone()));
        }
        Ok(taken)
    }

    /// Makes a run of it. With nothing before it, it need not be claimed in a transaction of its own; and if it was foreseen, it
    /// begins in this one.
    async fn open(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        accepted: AcceptedEvent,
    ) -> Result<(RunId, Option<OpenedRun>), StoreError> {
        let IncomingMessage { session, begins, .. } = arriving;
        let lease = self.lease.as_ref().filter(|_| arriving.lane.is_free());
        let foreseen = self.foreseen.load_full().filter(|foreseen| foreseen.matches(&accepted, session, begins));
        if let Some((foreseen, lease)) = foreseen.zip(lease) {
            let opened = foreseen.open(tx, accepted, lease, self.now).await?;
            return Ok((opened.key.run, Some(opened)));
        }
        let run = journal::open(tx, session.id, accepted.clone(), lease, self.now).await?;
        let opened = lease.map(|_| OpenedRun {
            key: RunKey { run, session: session.id },
            session: session.clone(),
            with: begins.clone(),
            accepted: Box::new(accepted),
            at: self.now,
            begun: None,
        });
        Ok((run, opened))
    }

    /// Only who may act for the running one's sender may steer or interrupt it; others wait their turn (row N4).
    fn mode_for(&self, session: &Session, arriving: &IncomingMessage, active: Option<&runs::ActiveRun>) -> IntakeMode {
        let chosen = session.queue_mode.as_deref().and_then(IntakeMode::parse).unwrap_or(self.limits.mode);
        let Some(active) = active else {
            return IntakeMode::Queue;
        };
        let allowed = match chosen {
            IntakeMode::Queue => true,
            // Joining lends the running one's authority to the message: only the same person may.
            IntakeMode::Steer => arriving.principal.user == active.user && active.state == "running",
            // Nor does what was not said to Hob end anything.
            IntakeMode::Interrupt => !self.is_unaddressed() && arriving.principal.may_act_for(active.user, active.role),
        };
        if allowed { chosen } else { IntakeMode::Queue }
    }

    /// The words of a message with its files, which are recorded with it.
    pub(super) async fn with_files(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        inbound: InboundId,
        text: &str,
    ) -> Result<MessageContent, StoreError> {
        if self.files.is_empty() {
            return Ok(MessageContent::of(text));
        }
        let (session, principal) = (arriving.session.id, &arriving.principal);
        let private = self.inbound.conversation.is_private();
        let message = attachments::MessageOrigin { inbound, session, principal, private };
        let told = attachments::record_files(tx, &message, text, &self.files, self.now).await?;
        inbound::set_text(tx, inbound, &told.full_text()).await?;
        Ok(told)
    }
}
