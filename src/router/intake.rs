//! What becomes of a message: one transaction that claims it, with everything that follows from it.

mod answers;
mod around;
mod before;
mod changed;
mod door;
mod queue;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::Notify;
use tracing::Instrument;

use crate::agent::machine::event::Order;
use crate::agent::machine::human::Decision;
use crate::agent::machine::question::Answer;
use crate::domain::channel::{Accepted, Intake, IntakeError};
use crate::domain::clock::Clock;
use crate::domain::ids::{InboundId, MemoryId, RunId, SessionId};
use crate::domain::inbound::{Audience, ChannelKind, Circumstances, Conversation, Cursor, Happening, Inbound, Proof};
use crate::domain::memory::Scope;
use crate::domain::outgoing::Destination;
use crate::domain::principal::{Principal, Role};
use crate::domain::redactor::Redactor;
use crate::memory::{forget, importance};
use crate::model::transcription::Transcriber;
use crate::policy::access::{AccessList, known_as};
use crate::policy::groups::Fate;
use crate::policy::pairing::Code;
use crate::render::clean::clean;
use crate::router::answering::{answer_in, asking};
use crate::router::attachments::{self, Came};
use crate::router::command::{self, Command, Mode, Reach};
use crate::router::delivery::Delivery;
use crate::router::intake::answers::{Asked, at_work};
use crate::router::intake::before::{Advance, Cursors, IsClaimed};
use crate::router::intake::door::{Known, Look, redact};
use crate::router::lanes::Lanes;
use crate::router::respond::{self, Desk, House};
use crate::router::voice::Ear;
use crate::router::{memory, texts, voice};
use crate::store::agents::OpenAgent;
use crate::store::error::StoreError;
use crate::store::inbound::NewInbound;
use crate::store::open_runs::OpenRun;
use crate::store::sessions::Session;
use crate::store::users::Identity;
use crate::store::{Statement, Store, Tx, agents, cursors, inbound, open_runs, private_chats, runs, sessions, users};

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
    /// Finds this Hob's secrets: who says one has it neither recorded nor sent on.
    pub redactor: Redactor,
    /// What is gone by, of the config that runs. Whoever takes something in looks once.
    pub terms: ArcSwap<Terms>,
    /// The lanes.
    pub lanes: Lanes,
    /// The outbox's workers.
    pub delivery: Delivery,
    /// Rung when a schedule has changed.
    pub alarm: Arc<Notify>,
}

/// What intake and commands go by: all that is of one config, exchanged as a whole.
pub struct Terms {
    /// Who is let in.
    pub access: Arc<AccessList>,
    /// The numbers.
    pub limits: IntakeLimits,
    /// What commands can tell about the house.
    pub house: Arc<House>,
    /// Who puts recordings into words; none: nobody.
    pub transcriber: Option<Arc<Transcriber>>,
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

    async fn moved(&self, place: Conversation, chat: &str) -> Result<(), IntakeError> {
        self.goes_on(place, chat).await.map_err(|error| IntakeError(error.to_string()))
    }
}

impl Router {
    /// What is gone by now.
    #[must_use]
    pub fn terms(&self) -> Arc<Terms> {
        self.terms.load_full()
    }

    async fn take(&self, mut inbound: Inbound) -> Result<Accepted, StoreError> {
        let terms = self.terms();
        redact(&self.redactor, &mut inbound);
        // From here on nobody has a name that they cannot prove.
        inbound.sender.external_id = known_as(&inbound.sender.external_id, &inbound.circumstances.proof);
        let now = self.clock.now();
        // What is for Hob may need what is far away; the transaction looks again.
        let known = self.store.read(Look { access: Arc::clone(&terms.access), inbound: inbound.clone() }).await?;
        let heard = known.role.filter(|_| door::fate_of(&inbound, &known) == Fate::Heard);
        let (looked, files) = match heard {
            Some(role) => {
                (memory::look(&terms.house.memory, &inbound, role, now).await?, self.fetch(&terms, &inbound).await?)
            }
            None => (None, Vec::new()),
        };
        let others = match inbound.circumstances.proof {
            Proof::Platform => terms.access.others_of(&inbound.conversation, &inbound.sender.external_id),
            Proof::Nobody { .. } => Vec::new(),
        };
        let others = others.into_iter().map(|alias| (alias.channel, alias.external_id)).collect();
        attachments::speak(&mut inbound, &files);
        let heard_by = terms.transcriber.as_deref().map(Transcriber::label).unwrap_or_default();
        let channels = texts::channels(&self.delivery.health());
        let desk = terms.house.desk(now, channels, (looked, Arc::clone(&terms.access)));
        let code = Code::new(|| terms.house.rng.next_u64());
        let place = inbound.conversation.clone();
        let take = Take { inbound, others, files, heard_by, limits: terms.limits, desk, code, now };
        let taken = self.store.write(take).await?;
        // Before its turn may come: what the run shows then is the later sign.
        if let Some((run, destination)) = &taken.queued {
            self.delivery.seen(destination, *run);
        }
        if let Some(session) = taken.lane {
            self.lanes.wake(session);
        }
        for run in taken.everywhere {
            self.lanes.wake_served(run.session, &run.channel);
        }
        for session in taken.said.into_iter().chain(taken.elsewhere) {
            self.delivery.wake(session);
        }
        for session in taken.released {
            self.delivery.wake(session);
        }
        if taken.reschedules {
            self.alarm.notify_one();
        }
        if taken.reloads {
            terms.house.config.ask(place);
        }
        take_out(&terms, &taken.forgotten);
        if let Some(scope) = taken.emptied {
            if let Err(error) = forget::some_of(&terms.house.memory, scope, SLICES_AT_ONCE).await {
                tracing::warn!(%error, "not everything is forgotten yet; the next round goes on");
            }
            if let Err(error) = self.delivery.sweep_contents().await {
                tracing::warn!(%error, "forgotten files are not deleted yet; the next round does it");
            }
        }
        Ok(taken.accepted)
    }

    /// What came with a new message is fetched before it is taken in, and not again when it is delivered again.
    async fn fetch(&self, terms: &Terms, inbound: &Inbound) -> Result<Vec<Came>, StoreError> {
        let is_new = matches!(inbound.happening, Happening::Posted { .. }) && !inbound.attachments.is_empty();
        let known = IsClaimed { conversation: inbound.conversation.clone(), external_id: inbound.external_id.clone() };
        if !is_new || self.store.read(known).await? {
            return Ok(Vec::new());
        }
        let ear = Ear {
            transcriber: terms.transcriber.as_deref(),
            delivery: &self.delivery,
            store: &self.store,
            purse: &terms.house.purse,
            now: self.clock.now(),
        };
        Ok(attachments::fetch(&ear, inbound, &self.redactor).await)
    }
}

/// What is gone from the database need not be found by meaning either.
fn take_out(terms: &Terms, forgotten: &[(Scope, MemoryId)]) {
    for (scope, memory) in forgotten {
        terms.house.memory.nearby.forget(*scope, *memory);
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
    /// It became this run, which waits for its turn.
    queued: Option<(RunId, Destination)>,
    /// Something is to be said in another conversation as well.
    elsewhere: Option<SessionId>,
    /// The config file is read again.
    reloads: bool,
}

impl Taken {
    fn quietly(accepted: Accepted) -> Self {
        Self {
            accepted,
            lane: None,
            said: None,
            everywhere: Vec::new(),
            forgotten: Vec::new(),
            emptied: None,
            reschedules: false,
            queued: None,
            elsewhere: None,
            released: Vec::new(),
            reloads: false,
        }
    }
}

/// Takes one update in.
struct Take {
    inbound: Inbound,
    /// The sender's other names.
    others: Vec<(ChannelKind, Option<String>)>,
    /// The files that came with it.
    files: Vec<Came>,
    /// Who put its recordings into words.
    heard_by: String,
    limits: IntakeLimits,
    desk: Desk,
    /// For a stranger, if they are to get one.
    code: Code,
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
        let known = Known::of(tx, &self.desk.access, &self.inbound).await?;
        match (&self.inbound.happening, known.role) {
            (Happening::Posted { text }, _) => self.said(tx, &known, clean(text).trim()).await,
            (Happening::Edited { text }, _) => self.changed(tx, &known, Some(clean(text).trim())).await,
            (Happening::Deleted, _) => self.changed(tx, &known, None).await,
            (Happening::Pressed { token }, Some(role)) if known.may_press(role) => {
                let arriving = self.arriving(tx, (role, known.member)).await?;
                self.pressed(tx, arriving, token).await
            }
            (Happening::Pressed { .. }, _) => Ok(Taken::quietly(Accepted::Ignored)),
        }
    }
}

impl Take {
    /// What is said goes where it belongs: each role is the sender's own.
    async fn said(&self, tx: &mut Tx, known: &Known, text: &str) -> Result<Taken, StoreError> {
        match (door::fate_of(&self.inbound, known), known.role) {
            (Fate::Heard, Some(role)) => {
                let arriving = self.arriving(tx, (role, known.member)).await?;
                self.posted(tx, &arriving, text).await
            }
            (Fate::Overheard, _) => self.overhear(tx, known, text).await,
            (Fate::Unknown, _) => self.unknown(tx, text).await,
            (Fate::Heard | Fate::Ignored, _) => {
                tracing::debug!("a message that is not for Hob was ignored");
                Ok(Taken::quietly(Accepted::Ignored))
            }
        }
    }

    async fn arriving(&self, tx: &mut Tx, (role, member): (Role, Option<Role>)) -> Result<Arriving, StoreError> {
        let conversation = &self.inbound.conversation;
        let session = sessions::ensure(tx, &conversation.session_key().0, conversation.channel, self.now).await?;
        let sender = &self.inbound.sender;
        let identity = Identity {
            channel: conversation.channel,
            account: &conversation.account,
            external_id: &sender.external_id,
            name: &sender.name,
            role,
            others: self.others.clone(),
        };
        let user = users::ensure(tx, &identity, self.now).await?;
        let said_by = (sender.external_id.as_str(), &self.inbound.circumstances.proof);
        let trust = self.desk.access.trust(conversation, said_by, member);
        let principal = Principal { user, name: sender.name.clone(), role, trust };
        if conversation.is_private() && conversation.channel != ChannelKind::Terminal {
            private_chats::note(tx, user, conversation, self.now).await?;
        }
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
        let claimed = inbound::claim(tx, &new).await?;
        // Whatever becomes of it, it was heard.
        for heard in self.files.iter().filter_map(Came::heard).filter(|_| claimed.is_some()) {
            voice::bill(tx, arriving.principal.user, (&self.heard_by, heard), self.now).await?;
        }
        Ok(claimed)
    }

    async fn posted(&self, tx: &mut Tx, arriving: &Arriving, text: &str) -> Result<Taken, StoreError> {
        let chars = text.chars().count();
        let refused = if text.is_empty() && self.files.is_empty() {
            Some(texts::EMPTY.to_owned())
        } else {
            let max = self.limits.message_chars_max;
            (chars > max).then(|| texts::too_long(chars, max))
        };
        if let Some(told) = refused {
            return self.refuse(tx, arriving, "", told).await;
        }
        // What somebody hands on is another's: it commands nothing, and decides nothing.
        if self.inbound.circumstances.forwarded_from.is_some() {
            let active = runs::find_active(tx, arriving.session.id).await?;
            return self.enqueue(tx, arriving, (text, Order::Answer), active.as_ref()).await;
        }
        if command::parse(text) == Some(Command::Compact) {
            return self.compact(tx, arriving, text).await;
        }
        if let Some(command) = command::parse(text) {
            return self.command(tx, arriving, text, command).await;
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
                        return self.answer(tx, arriving, &asking, answer).await;
                    }
                }
                Asked::Question(asked)
                    if asked.is_for_requester
                        && !self.is_unaddressed()
                        && answer_in(text, &asked.question).is_some() =>
                {
                    return self.tell(tx, arriving, (text, "refused"), asked.not_yours().to_owned()).await;
                }
                Asked::Question(_) => {}
                Asked::Nothing => active.iter_mut().filter(|own| own.id == run.id).for_each(at_work),
                Asked::Gone => active = active.filter(|own| own.id != run.id),
            }
        }
        self.enqueue(tx, arriving, (text, Order::Answer), active.as_ref()).await
    }

    /// It is said to everybody in the group, and not to Hob by name.
    fn is_unaddressed(&self) -> bool {
        self.inbound.circumstances.audience == Audience::Group
    }

    /// Says that it is not taken; what was not said to Hob by name is passed over in silence.
    async fn refuse(&self, tx: &mut Tx, arriving: &Arriving, text: &str, told: String) -> Result<Taken, StoreError> {
        if self.is_unaddressed() {
            return Ok(Taken::quietly(Accepted::Ignored));
        }
        self.tell(tx, arriving, (text, "refused"), told).await
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
        // A code may still let somebody in.
        let kept = if matches!(command, Command::Pair(_)) { "/pair" } else { text };
        let Some(inbound) = self.claim(tx, arriving, (kept, "command")).await? else {
            return Ok(Taken::quietly(Accepted::Duplicate));
        };
        let caller = respond::Caller {
            session: &arriving.session,
            principal: &arriving.principal,
            place: &self.inbound.conversation,
            mode: self.limits.mode,
            inbound: &self.inbound,
        };
        let (reach, stops) = (command.reach(), command == Command::Stop);
        let reschedules = matches!(command, Command::Schedule(..));
        let told = respond::carry_out(tx, &self.desk, &caller, command).await?;
        let reply = respond::Reply::to(arriving.session.id, &arriving.destination, inbound);
        if !told.text.is_empty() {
            respond::say(tx, &reply, &told.text, self.now).await?;
        }
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
        let (forgotten, emptied, elsewhere) = (told.forgotten, told.emptied, told.elsewhere);
        Ok(Taken {
            lane,
            said,
            everywhere,
            forgotten,
            emptied,
            reschedules,
            elsewhere,
            released: told.released,
            reloads: told.reloads,
            ..Taken::quietly(Accepted::Committed)
        })
    }
}
