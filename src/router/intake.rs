//! What becomes of a message: one transaction that claims it, with everything that follows from it.

mod answers;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::Notify;
use tracing::Instrument;

use crate::agent::driver::encode_signal;
use crate::agent::journal::{self, QueueChange, RunKey};
use crate::agent::machine::event::{Accepted as AcceptedEvent, CancelReason, Order};
use crate::agent::machine::human::Decision;
use crate::agent::machine::question::Answer;
use crate::agent::signal::Signal;
use crate::agent::write_off::change_queued;
use crate::domain::channel::{Accepted, Intake, IntakeError};
use crate::domain::clock::Clock;
use crate::domain::ids::{InboundId, MemoryId, SessionId};
use crate::domain::inbound::{ChannelKind, Circumstances, Conversation, Cursor, Happening, Inbound};
use crate::domain::memory::Scope;
use crate::domain::origin::Taint;
use crate::domain::outgoing::Destination;
use crate::domain::principal::{Principal, Role, Trust};
use crate::domain::redactor::Redactor;
use crate::memory::{forget, importance};
use crate::policy::access::AccessList;
use crate::render::clean::clean;
use crate::router::answering::{answer_in, asking, is_asking};
use crate::router::attachments::{self, Came};
use crate::router::command::{self, Command, Mode, Reach};
use crate::router::delivery::Delivery;
use crate::router::intake::answers::{Asked, at_work};
use crate::router::lanes::Lanes;
use crate::router::respond::{self, Desk, House};
use crate::router::{memory, pause, pause_texts, texts};
use crate::store::agents::OpenAgent;
use crate::store::error::StoreError;
use crate::store::inbound::NewInbound;
use crate::store::open_runs::OpenRun;
use crate::store::sessions::Session;
use crate::store::users::Identity;
use crate::store::{Statement, Store, Tx, agents, cursors, inbound, open_runs, runs, sessions, signals, users};

/// So much of a scope of which everything is to go is gone before its command is done with; the lanes' rounds do the rest.
const SLICES_AT_ONCE: usize = 20;

/// The numbers of intake, as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntakeLimits {
    /// The longest message, in characters (row E1).
    pub message_chars_max: usize,
    /// The most messages that wait in one lane.
    pub queue_len_max: i64,
    /// What happens to messages during a run, unless a session says otherwise.
    pub mode: Mode,
}

/// Takes in what the channels receive.
pub struct Router {
    /// The database.
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Who is let in.
    pub access: Arc<AccessList>,
    /// Finds this Hob's secrets: who says one has it neither recorded nor sent on.
    pub redactor: Redactor,
    /// The numbers.
    pub limits: IntakeLimits,
    /// What commands can tell about the house.
    pub house: Arc<House>,
    /// The lanes.
    pub lanes: Lanes,
    /// The outbox's workers.
    pub delivery: Delivery,
    /// Rung when a schedule has changed.
    pub alarm: Arc<Notify>,
}

#[async_trait]
impl Intake for Router {
    async fn accept(&self, inbound: Inbound) -> Result<Accepted, IntakeError> {
        let span = tracing::info_span!(
            "router.accept",
            channel = %inbound.conversation.channel,
            session = %inbound.conversation.session_key()
        );
        self.take(inbound).instrument(span).await.map_err(|error| IntakeError(error.to_string()))
    }

    async fn cursors(&self, channel: ChannelKind, account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        let read = self.store.read(Cursors { channel, account: account.to_owned() }).await;
        read.map_err(|error| IntakeError(error.to_string()))
    }

    async fn advance(&self, channel: ChannelKind, account: &str, cursor: Cursor) -> Result<(), IntakeError> {
        let advance = Advance { channel, account: account.to_owned(), cursor };
        self.store.write(advance).await.map_err(|error| IntakeError(error.to_string()))
    }
}

struct Cursors {
    channel: ChannelKind,
    account: String,
}

#[async_trait]
impl Statement for Cursors {
    type Output = BTreeMap<String, i64>;

    async fn run(&self, tx: &mut Tx) -> Result<BTreeMap<String, i64>, StoreError> {
        cursors::of_account(tx, (self.channel, &self.account)).await
    }
}

struct Advance {
    channel: ChannelKind,
    account: String,
    cursor: Cursor,
}

#[async_trait]
impl Statement for Advance {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        cursors::advance(tx, (self.channel, &self.account), &self.cursor).await
    }
}

impl Router {
    async fn take(&self, mut inbound: Inbound) -> Result<Accepted, StoreError> {
        if let Happening::Posted { text } | Happening::Edited { text } = &mut inbound.happening {
            self.redactor.clean(text);
        }
        self.redactor.clean(&mut inbound.sender.name);
        inbound.attachments.iter_mut().for_each(|file| self.redactor.clean(&mut file.name));
        let Some(role) = self.access.role_of(&inbound.conversation, &inbound.sender.external_id) else {
            tracing::info!(sender = %inbound.sender.external_id, "a message from somebody who is not let in was ignored");
            if let Some(cursor) = inbound.circumstances.cursor {
                let Conversation { channel, account, .. } = inbound.conversation;
                self.store.write(Advance { channel, account, cursor }).await?;
            }
            return Ok(Accepted::Ignored);
        };
        let now = self.clock.now();
        let others = self.access.others_of(&inbound.conversation, &inbound.sender.external_id);
        let others = others.into_iter().map(|alias| (alias.channel, alias.external_id)).collect();
        let looked = memory::look(&self.house.memory, &inbound, role, now).await?;
        let desk = self.house.desk(now, texts::channels(&self.delivery.health()), looked);
        let files = self.fetch(&inbound).await?;
        let take = Take { inbound, role, others, files, limits: self.limits, desk, now };
        let taken = self.store.write(take).await?;
        if let Some(session) = taken.lane {
            self.lanes.wake(session);
        }
        for run in taken.everywhere {
            self.lanes.wake_served(run.session, &run.channel);
        }
        if let Some(session) = taken.said {
            self.delivery.wake(session);
        }
        for session in taken.released {
            self.delivery.wake(session);
        }
        if taken.reschedules {
            self.alarm.notify_one();
        }
        self.take_out(&taken.forgotten);
        if let Some(scope) = taken.emptied {
            if let Err(error) = forget::some_of(&self.house.memory, scope, SLICES_AT_ONCE).await {
                tracing::warn!(%error, "not everything is forgotten yet; the next round goes on");
            }
            if let Err(error) = self.delivery.sweep_contents().await {
                tracing::warn!(%error, "forgotten files are not deleted yet; the next round does it");
            }
        }
        Ok(taken.accepted)
    }

    /// What came with a new message is fetched before it is taken in, and not again when it is delivered again.
    async fn fetch(&self, inbound: &Inbound) -> Result<Vec<Came>, StoreError> {
        let is_new = matches!(inbound.happening, Happening::Posted { .. }) && !inbound.attachments.is_empty();
        let known = IsClaimed { conversation: inbound.conversation.clone(), external_id: inbound.external_id.clone() };
        if !is_new || self.store.read(known).await? {
            return Ok(Vec::new());
        }
        Ok(attachments::fetch(&self.delivery, inbound, &self.redactor).await)
    }

    /// What is gone from the database need not be found by meaning either.
    fn take_out(&self, forgotten: &[(Scope, MemoryId)]) {
        for (scope, memory) in forgotten {
            self.house.memory.nearby.forget(*scope, *memory);
        }
    }
}

/// Was a message taken in before?
struct IsClaimed {
    conversation: Conversation,
    external_id: String,
}

#[async_trait]
impl Statement for IsClaimed {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        inbound::is_claimed(tx, &self.conversation, &self.external_id).await
    }
}

/// What a transaction of intake did, and whom to wake for it.
struct Taken {
    accepted: Accepted,
    lane: Option<SessionId>,
    said: Option<SessionId>,
    /// What was said concerns these too.
    everywhere: Vec<OpenRun>,
    /// Letters of these go out now.
    released: Vec<SessionId>,
    /// Memories that are gone.
    forgotten: Vec<(Scope, MemoryId)>,
    /// Of this scope everything is to go.
    emptied: Option<Scope>,
    /// What is due may be due at another time now.
    reschedules: bool,
}

impl Taken {
    fn quietly(accepted: Accepted) -> Self {
        let (everywhere, released, forgotten) = (Vec::new(), Vec::new(), Vec::new());
        Self { accepted, lane: None, said: None, everywhere, released, forgotten, emptied: None, reschedules: false }
    }
}

/// Takes one update in.
struct Take {
    inbound: Inbound,
    role: Role,
    /// The sender's other names.
    others: Vec<(ChannelKind, Option<String>)>,
    /// The files that came with it.
    files: Vec<Came>,
    limits: IntakeLimits,
    desk: Desk,
    now: Timestamp,
}

/// A message that is being taken in: who said it, and where its answer goes.
struct Arriving {
    session: Session,
    principal: Principal,
    destination: Destination,
}

#[async_trait]
impl Statement for Take {
    type Output = Taken;

    async fn run(&self, tx: &mut Tx) -> Result<Taken, StoreError> {
        let Circumstances { cursor, .. } = &self.inbound.circumstances;
        if let Some(cursor) = cursor {
            let Conversation { channel, account, .. } = &self.inbound.conversation;
            cursors::advance(tx, (*channel, account), cursor).await?;
        }
        match &self.inbound.happening {
            Happening::Posted { text } => self.posted(tx, clean(text).trim()).await,
            Happening::Edited { text } => self.changed(tx, Some(clean(text).trim())).await,
            Happening::Deleted => self.changed(tx, None).await,
            Happening::Pressed { token } => self.pressed(tx, token).await,
        }
    }
}

impl Take {
    async fn arriving(&self, tx: &mut Tx) -> Result<Arriving, StoreError> {
        let conversation = &self.inbound.conversation;
        let session = sessions::ensure(tx, &conversation.session_key().0, conversation.channel, self.now).await?;
        let sender = &self.inbound.sender;
        let identity = Identity {
            channel: conversation.channel,
            account: &conversation.account,
            external_id: &sender.external_id,
            name: &sender.name,
            role: self.role,
            others: self.others.clone(),
        };
        let user = users::ensure(tx, &identity, self.now).await?;
        let principal = Principal { user, name: sender.name.clone(), role: self.role, trust: Trust::Trusted };
        let reply_to = Some(self.inbound.external_id.clone());
        Ok(Arriving { session, principal, destination: Destination { conversation: conversation.clone(), reply_to } })
    }

    async fn claim(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        (text, disposition): (&str, &'static str),
    ) -> Result<Option<InboundId>, StoreError> {
        let new = NewInbound {
            session: arriving.session.id,
            user: arriving.principal.user,
            conversation: &self.inbound.conversation,
            external_id: &self.inbound.external_id,
            text,
            importance: importance::score(text),
            envelope: self.inbound.circumstances.envelope.as_deref(),
            disposition,
            sent_at: self.inbound.sent_at,
            received_at: self.now,
        };
        inbound::claim(tx, &new).await
    }

    async fn posted(&self, tx: &mut Tx, text: &str) -> Result<Taken, StoreError> {
        let arriving = self.arriving(tx).await?;
        let chars = text.chars().count();
        if text.is_empty() && self.files.is_empty() {
            return self.tell(tx, &arriving, ("", "refused"), texts::EMPTY.to_owned()).await;
        }
        if chars > self.limits.message_chars_max {
            let told = texts::too_long(chars, self.limits.message_chars_max);
            return self.tell(tx, &arriving, ("", "refused"), told).await;
        }
        if command::parse(text) == Some(Command::Compact) {
            return self.compact(tx, &arriving, text).await;
        }
        if let Some(command) = command::parse(text) {
            return self.command(tx, &arriving, text, command).await;
        }
        let mut active = runs::find_active(tx, arriving.session.id).await?;
        // One word is enough: what comes after it, before the run goes on, is a message of its own.
        for asking in asking(tx, arriving.session.id, active.as_ref()).await? {
            let run = &asking.run;
            match self.open_question(tx, asking.session, run.id).await? {
                Asked::Question(asked) if asked.may_be_answered_by(&arriving.principal, run) => {
                    // A file decides nothing.
                    let decides = self.files.is_empty() || Decision::takes_words(&asked.question);
                    if let Some(said) = answer_in(text, &asked.question).filter(|_| decides) {
                        let by = arriving.principal.user;
                        let answer = Answer { by, text: said.to_owned(), question: Some(asked.number) };
                        return self.answer(tx, &arriving, &asking, answer).await;
                    }
                }
                Asked::Question(asked) if asked.is_for_requester && answer_in(text, &asked.question).is_some() => {
                    return self.tell(tx, &arriving, (text, "refused"), asked.not_yours().to_owned()).await;
                }
                Asked::Question(_) => {}
                Asked::Nothing => active.iter_mut().filter(|own| own.id == run.id).for_each(at_work),
                Asked::Gone => active = active.filter(|own| own.id != run.id),
            }
        }
        self.enqueue(tx, &arriving, (text, Order::Answer), active.as_ref()).await
    }

    /// `/compact`: a word to one's own run, or a run of its own, which is recorded and paid for as any other.
    async fn compact(&self, tx: &mut Tx, arriving: &Arriving, text: &str) -> Result<Taken, StoreError> {
        let active = runs::find_active(tx, arriving.session.id).await?;
        let by = arriving.principal.user;
        match active {
            Some(run) if run.user == by => {
                let taken = self.command(tx, arriving, text, Command::Compact).await?;
                if matches!(taken.accepted, Accepted::Committed) {
                    signals::add(tx, run.id, &encode_signal(&Signal::Compact { by })?, self.now).await?;
                }
                Ok(taken)
            }
            active => self.enqueue(tx, arriving, (text, Order::Compact), active.as_ref()).await,
        }
    }

    /// The message becomes a run of its own, with its sender's authority, at the end of the lane.
    async fn enqueue(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        (text, order): (&str, Order),
        active: Option<&runs::ActiveRun>,
    ) -> Result<Taken, StoreError> {
        let session = &arriving.session;
        let waiting = runs::count_queued(tx, session.id).await?;
        if waiting >= self.limits.queue_len_max {
            let told = texts::queue_full(self.limits.queue_len_max);
            return self.tell(tx, arriving, (text, "refused"), told).await;
        }
        let Some(inbound) = self.claim(tx, arriving, (text, "run")).await? else {
            return Ok(Taken::quietly(Accepted::Duplicate));
        };
        let told = self.with_files(tx, arriving, (inbound, text)).await?;
        let text = told.as_str();
        let user = arriving.principal.user;
        let run = runs::enqueue(tx, session.id, inbound, user, self.now).await?;
        let accepted = AcceptedEvent {
            inbound,
            principal: arriving.principal.clone(),
            destination: arriving.destination.clone(),
            text: text.to_owned(),
            order,
            agent: None,
            taint: Taint::default(),
        };
        journal::open(tx, run, accepted, self.now).await?;
        let mut taken = Taken { lane: Some(session.id), ..Taken::quietly(Accepted::Committed) };
        if let Some(standstill) = pause::standstill(tx, session.id).await? {
            // Nothing moves here: it neither joins nor ends anything, and its sender is told why.
            let told = pause_texts::waits(&standstill, waiting + 1);
            let reply = respond::Reply::to(session.id, &arriving.destination, inbound);
            respond::say(tx, &reply, &told, self.now).await?;
            taken.said = Some(session.id);
        } else if active.is_some() || waiting > 0 {
            let mode = match order {
                Order::Answer | Order::Heartbeat | Order::Scheduled | Order::Event => {
                    self.mode_for(session, arriving, active)
                }
                // It is for whoever wrote it, and stands in nobody's way.
                Order::Compact => Mode::Queue,
            };
            match (mode, active) {
                (Mode::Steer, Some(_)) => runs::allow_joining(tx, run).await?,
                (Mode::Interrupt, Some(active)) => {
                    let reason = CancelReason::Interrupted { by: user };
                    let signal = encode_signal(&Signal::Cancel { reason })?;
                    signals::add(tx, active.id, &signal, self.now).await?;
                }
                (Mode::Queue, _) | (Mode::Steer | Mode::Interrupt, None) => {}
            }
            // Without a running one, the first of those who wait is about to be served.
            let place = if active.is_some() { waiting + 1 } else { waiting };
            let told = match active {
                Some(run)
                    if mode == Mode::Queue && is_asking(run) && arriving.principal.may_act_for(run.user, run.role) =>
                {
                    texts::behind_a_question(place)
                }
                Some(_) | None => texts::acknowledged(mode, place),
            };
            respond::say(tx, &respond::Reply::to(arriving.session.id, &arriving.destination, inbound), &told, self.now)
                .await?;
            taken.said = Some(session.id);
        }
        Ok(taken)
    }

    /// Only who may act for the running one's sender may steer or interrupt it; others wait their turn (row N4).
    fn mode_for(&self, session: &Session, arriving: &Arriving, active: Option<&runs::ActiveRun>) -> Mode {
        let chosen = session.queue_mode.as_deref().and_then(Mode::parse).unwrap_or(self.limits.mode);
        let Some(active) = active else {
            return Mode::Queue;
        };
        let allowed = match chosen {
            Mode::Queue => true,
            // Joining lends the running one's authority to the message: only the same person may.
            Mode::Steer => arriving.principal.user == active.user && active.state == "running",
            Mode::Interrupt => arriving.principal.may_act_for(active.user, active.role),
        };
        if allowed { chosen } else { Mode::Queue }
    }

    /// The words of a message with its files, which are recorded with it.
    async fn with_files(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        (inbound, text): (InboundId, &str),
    ) -> Result<String, StoreError> {
        if self.files.is_empty() {
            return Ok(text.to_owned());
        }
        let (session, principal) = (arriving.session.id, &arriving.principal);
        let private = self.inbound.conversation.is_private();
        let message = attachments::Message { inbound, session, principal, private };
        let told = attachments::record(tx, &message, (text, &self.files), self.now).await?;
        inbound::set_text(tx, inbound, &told).await?;
        Ok(told)
    }

    /// An edit or deletion on the platform reaches what still waits; what runs already is not touched.
    async fn changed(&self, tx: &mut Tx, text: Option<&str>) -> Result<Taken, StoreError> {
        let place = &self.inbound.conversation;
        let Some(waiting) = inbound::find_queued(tx, place, &self.inbound.external_id).await? else {
            return Ok(Taken::quietly(Accepted::Ignored));
        };
        let change = match text {
            // Who may edit is the sender alone; who may delete, the platform has decided.
            Some(text) => {
                let editor = users::find(tx, place, &self.inbound.sender.external_id).await?;
                let fits = !text.is_empty() && text.chars().count() <= self.limits.message_chars_max;
                if editor != Some(waiting.user) || !fits {
                    tracing::info!(run = %waiting.run, "an edit that cannot be taken was ignored");
                    return Ok(Taken::quietly(Accepted::Ignored));
                }
                let text = attachments::again(tx, waiting.inbound, text).await?;
                inbound::set_text(tx, waiting.inbound, &text).await?;
                QueueChange::Edited { text }
            }
            None => QueueChange::Withdrawn,
        };
        let key = RunKey { run: waiting.run, session: waiting.session };
        change_queued(tx, &key, change, self.now).await?;
        let (lane, said) = (Some(waiting.session), Some(waiting.session));
        Ok(Taken { lane, said, ..Taken::quietly(Accepted::Committed) })
    }

    /// Claims the message and answers it in the same transaction, without a run.
    async fn tell(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        (text, disposition): (&str, &'static str),
        told: String,
    ) -> Result<Taken, StoreError> {
        let Some(inbound) = self.claim(tx, arriving, (text, disposition)).await? else {
            return Ok(Taken::quietly(Accepted::Duplicate));
        };
        let reply = respond::Reply::to(arriving.session.id, &arriving.destination, inbound);
        respond::say(tx, &reply, &told, self.now).await?;
        Ok(Taken { said: Some(arriving.session.id), ..Taken::quietly(Accepted::Committed) })
    }

    /// A command is carried out and answered outside the lane: it never waits behind a run.
    async fn command(
        &self,
        tx: &mut Tx,
        arriving: &Arriving,
        text: &str,
        command: Command,
    ) -> Result<Taken, StoreError> {
        let Some(inbound) = self.claim(tx, arriving, (text, "command")).await? else {
            return Ok(Taken::quietly(Accepted::Duplicate));
        };
        let caller = respond::Caller {
            session: &arriving.session,
            principal: &arriving.principal,
            place: &self.inbound.conversation,
            mode: self.limits.mode,
        };
        let (reach, stops) = (command.reach(), command == Command::Stop);
        let reschedules = matches!(command, Command::Schedule(..));
        let told = respond::carry_out(tx, &self.desk, &caller, command).await?;
        let reply = respond::Reply::to(arriving.session.id, &arriving.destination, inbound);
        respond::say(tx, &reply, &told.text, self.now).await?;
        let everywhere = match reach {
            Some(Reach::Everywhere) => open_runs::list_open(tx).await?,
            Some(Reach::Here) | None => {
                let open = agents::open_at_home(tx, arriving.session.id).await?;
                let run = |open: OpenAgent| OpenRun { id: open.id, session: open.session, channel: open.channel };
                let beside = if stops { open_runs::beside(tx, arriving.session.id).await? } else { Vec::new() };
                open.into_iter().map(run).chain(beside.into_iter().map(|(_, run)| run)).collect()
            }
        };
        let (lane, said) = (Some(arriving.session.id), Some(arriving.session.id));
        let (released, forgotten, emptied) = (told.released, told.forgotten, told.emptied);
        Ok(Taken { accepted: Accepted::Committed, lane, said, everywhere, released, forgotten, emptied, reschedules })
    }
}
