//! One update is taken in: the transaction that claims it, and what it comes to for its sender's role.

use std::sync::OnceLock;

use arc_swap::ArcSwapOption;
use jiff::Timestamp;

use crate::attachments::ReceivedFile;
use crate::command::{self, Command, PauseScope};
use crate::command_follow_ups;
use crate::command_handlers::{self, CommandContext, FollowUp};
use crate::intake::IntakeLimits;
use crate::intake::answers::{WaitState, WaitingRunSnapshot, WaitingRunsQuery, mark_running};
use crate::intake::queue::NewRun;
use crate::intake::sender_access::{self, SenderAccess};
use crate::open_questions::{extract_answer, waiting_runs};
use crate::texts;
use crate::undo::CommandOrigin;
use hob_agent::driver::{OpenedRun, SpeculativeRun};
use hob_agent::machine::accepted_input::RunKind;
use hob_agent::machine::answer_rights::PermittedAnswerer;
use hob_core::domain::channel::UpdateOutcome;
use hob_core::domain::ids::{InboundId, MemoryId, RunId, SessionId, SessionKey, UserId};
use hob_core::domain::inbound::{Audience, ChannelKind, Conversation, Inbound, InboundEvent, MessageMetadata};
use hob_core::domain::memory::Scope;
use hob_core::domain::outgoing::Destination;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::groups::MessageDisposition;
use hob_core::policy::pairing::Code;
use hob_core::render::clean::clean;
use hob_memory::importance;
use hob_store::agents::OpenAgent;
use hob_store::arrival::{Arrival, LaneStanding};
use hob_store::error::StoreError;
use hob_store::inbound::NewInbound;
use hob_store::open_runs::OpenRun;
use hob_store::run_context::StoredRunContext;
use hob_store::runs::{ActiveRun, Lease};
use hob_store::sessions::Session;
use hob_store::users::Identity;
use hob_store::{Tx, agents, arrival, cursors, inbound, open_runs, private_chats, recordings, runs, sessions, users};

/// What a transaction of intake did, and whom to wake for it.
pub(super) struct IntakeOutcome {
    pub(super) accepted: UpdateOutcome,
    /// Nothing was done: it may be an answer, and this is to be looked at before.
    pub(super) looks: Option<WaitingRunsQuery>,
    pub(super) lane: Option<SessionId>,
    pub(super) said: Option<SessionId>,
    /// What was said concerns these too.
    pub(super) everywhere: Vec<OpenRun>,
    /// Letters of these go out now.
    pub(super) released: Vec<SessionId>,
    /// Memories that are gone.
    pub(super) forgotten: Vec<(Scope, MemoryId)>,
    /// Of this scope everything is to go.
    pub(super) emptied: Option<Scope>,
    /// What is due may be due at another time now.
    pub(super) reschedules: bool,
    /// It became this run, which waits for its turn.
    pub(super) queued: Option<(RunId, Destination)>,
    /// Something is to be said in another conversation as well.
    pub(super) elsewhere: Option<SessionId>,
    /// It became this run, which is claimed with it.
    pub(super) opened: Option<OpenedRun>,
    /// What is still to be done for a command.
    pub(super) follow_up: Option<FollowUpRequest>,
}

/// What is still to be done, and for which command.
pub(crate) struct FollowUpRequest {
    pub(crate) what: FollowUp,
    pub(crate) order: CommandOrigin,
}

impl IntakeOutcome {
    pub(super) fn without_effects(accepted: UpdateOutcome) -> Self {
        Self {
            accepted,
            looks: None,
            lane: None,
            said: None,
            everywhere: Vec::new(),
            forgotten: Vec::new(),
            emptied: None,
            reschedules: false,
            queued: None,
            opened: None,
            elsewhere: None,
            released: Vec::new(),
            follow_up: None,
        }
    }

    /// It was taken in before. Whoever handed it in then may have gone before anybody was woken, so that is made up for.
    pub(super) fn duplicate(session: SessionId) -> Self {
        Self { lane: Some(session), said: Some(session), ..Self::without_effects(UpdateOutcome::Duplicate) }
    }
}

/// Takes one update in.
pub(super) struct IntakeTransaction {
    pub(super) inbound: Inbound,
    /// The sender's other names.
    pub(super) others: Vec<(ChannelKind, Option<String>)>,
    /// The files that came with it.
    pub(super) files: Vec<ReceivedFile>,
    /// What the runs asked that it may be an answer to, once that was looked at.
    pub(super) seen: OnceLock<Vec<WaitingRunSnapshot>>,
    pub(super) limits: IntakeLimits,
    pub(super) context: CommandContext,
    /// Under which a run begins at once, if there is a place for it.
    pub(super) lease: Option<Lease>,
    /// What it becomes, if nothing moves until it is taken in.
    pub(super) foreseen: ArcSwapOption<SpeculativeRun>,
    /// For a stranger, if they are to get one.
    pub(super) code: Code,
    pub(super) now: Timestamp,
}

/// A message that is being taken in: who said it, and where its answer goes.
pub(super) struct IncomingMessage {
    pub(super) session: Session,
    /// What stands in the session's lane.
    pub(super) lane: LaneStanding,
    pub(super) principal: Principal,
    pub(super) destination: Destination,
    pub(super) begins: StoredRunContext,
}

impl IncomingMessage {
    /// The run that has the lane.
    pub(super) async fn active(&self, tx: &mut Tx) -> Result<Option<ActiveRun>, StoreError> {
        if self.lane.is_active { runs::find_active(tx, self.session.id).await } else { Ok(None) }
    }
}

impl IntakeTransaction {
    pub(super) async fn run(&self, tx: &mut Tx) -> Result<IntakeOutcome, StoreError> {
        let arrival = self.look(tx).await?;
        if self.seen.get().is_none()
            && let Some(look) = WaitingRunsQuery::for_message(&self.inbound, &arrival)
        {
            return Ok(IntakeOutcome { looks: Some(look), ..IntakeOutcome::without_effects(UpdateOutcome::Ignored) });
        }
        let MessageMetadata { cursor, .. } = &self.inbound.metadata;
        if let Some(cursor) = cursor {
            let Conversation { channel, account, .. } = &self.inbound.conversation;
            cursors::advance(tx, *channel, account, cursor).await?;
        }
        let known = SenderAccess::of(tx, &self.context.access, &self.inbound, arrival.member).await?;
        match (&self.inbound.happening, known.role) {
            (InboundEvent::Posted { text }, _) => self.route_message(tx, &known, arrival, clean(text).trim()).await,
            (InboundEvent::Edited { text }, _) => self.changed(tx, &known, Some(clean(text).trim())).await,
            (InboundEvent::Deleted, _) => self.changed(tx, &known, None).await,
            (InboundEvent::Pressed { token }, Some(role)) if known.may_press(role) => {
                let arriving = self.arriving(tx, arrival, role).await?;
                self.handle_button_press(tx, arriving, token).await
            }
            (InboundEvent::Pressed { .. }, _) => Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored)),
        }
    }

    /// What is said goes where it belongs: each role is the sender's own.
    async fn route_message(
        &self,
        tx: &mut Tx,
        known: &SenderAccess,
        arrival: Arrival,
        text: &str,
    ) -> Result<IntakeOutcome, StoreError> {
        match (sender_access::fate_of(&self.inbound, known), known.role) {
            (MessageDisposition::Heard, Some(role)) => {
                let arriving = self.arriving(tx, arrival, role).await?;
                self.handle_text(tx, &arriving, text).await
            }
            (MessageDisposition::Overheard, _) => self.overhear(tx, known, text).await,
            (MessageDisposition::Unknown, _) => self.handle_stranger(tx, text).await,
            (MessageDisposition::Heard | MessageDisposition::Ignored, _) => {
                tracing::debug!("a message that is not for Hob was ignored");
                Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored))
            }
        }
    }

    /// What was seen of those who ask.
    pub(super) fn waiting_runs(&self) -> &[WaitingRunSnapshot] {
        self.seen.get().map_or(&[], Vec::as_slice)
    }

    /// What is known of it.
    pub(super) async fn look(&self, tx: &mut Tx) -> Result<Arrival, StoreError> {
        arrival::look(tx, &self.inbound.conversation, &self.inbound.sender.external_id).await
    }

    pub(super) async fn arriving(
        &self,
        tx: &mut Tx,
        arrival: Arrival,
        role: Role,
    ) -> Result<IncomingMessage, StoreError> {
        let Arrival { session, lane, user, member, is_latest_chat, begins } = arrival;
        let known = user.as_ref().map(|user| user.id);
        let conversation = &self.inbound.conversation;
        let mut session = match session {
            Some(session) => session,
            None => sessions::ensure(tx, &conversation.session_key().0, conversation.channel, self.now).await?,
        };
        let server = self.inbound.metadata.server.as_ref();
        if let Some(server) = server.filter(|server| session.server.as_ref() != Some(server)) {
            sessions::set_server(tx, session.id, server).await?;
            session.server = Some(server.clone());
        }
        let sender = &self.inbound.sender;
        let identity = Identity {
            channel: conversation.channel,
            account: &conversation.account,
            external_id: &sender.external_id,
            name: self.sender_name(member),
            role,
            others: self.others.clone(),
        };
        let user = users::settle(tx, &identity, user, self.now).await?;
        let principal = self.principal(user, role, member);
        let is_noted = is_latest_chat && known == Some(user);
        if conversation.is_private() && conversation.channel != ChannelKind::Terminal && !is_noted {
            private_chats::note(tx, user, conversation, self.now).await?;
        }
        Ok(IncomingMessage { session, lane, principal, destination: self.destination(), begins })
    }

    /// The sender, as this user with this role; the second by having been paired.
    pub(super) fn principal(&self, user: UserId, role: Role, member: Option<Role>) -> Principal {
        Principal { user, name: self.sender_name(member).to_owned(), role, trust: self.trust(member) }
    }

    fn trust(&self, member: Option<Role>) -> Trust {
        let Inbound { conversation, sender, metadata, .. } = &self.inbound;
        self.context.access.trust(conversation, &sender.external_id, &metadata.proof, member)
    }

    /// How the sender is called. Letters come from anybody, in any name: whom nobody knows is called by the address.
    fn sender_name(&self, member: Option<Role>) -> &str {
        let is_own_word = self.inbound.conversation.channel == ChannelKind::Email;
        let sender = &self.inbound.sender;
        if is_own_word && self.trust(member) == Trust::Untrusted { &sender.external_id } else { &sender.name }
    }

    /// Where its answer goes.
    pub(super) fn destination(&self) -> Destination {
        let reply_to = Some(self.inbound.external_id.clone());
        Destination { conversation: self.inbound.conversation.clone(), reply_to }
    }

    pub(super) async fn claim(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
        disposition: &'static str,
    ) -> Result<Option<InboundId>, StoreError> {
        let new = NewInbound {
            session: arriving.session.id,
            user: arriving.principal.user,
            conversation: &self.inbound.conversation,
            external_id: &self.inbound.external_id,
            text,
            importance: importance::score(text),
            envelope: self.inbound.metadata.envelope.as_deref(),
            spoken: self.inbound.metadata.spoken.is_some() && self.inbound.metadata.forwarded_from.is_none(),
            disposition,
            sent_at: self.inbound.sent_at,
            received_at: self.now,
        };
        let claimed = inbound::claim(tx, &new).await?;
        // Whatever becomes of it, it was heard.
        if claimed.is_some() && self.files.iter().any(ReceivedFile::is_transcribed) {
            recordings::settle(tx, &self.inbound.conversation, &self.inbound.external_id).await?;
        }
        Ok(claimed)
    }

    async fn handle_text(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
    ) -> Result<IntakeOutcome, StoreError> {
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
        let MessageMetadata { forwarded_from, by_program, .. } = &self.inbound.metadata;
        // What somebody hands on is another's: it commands nothing, and decides nothing. Nor does what no person said.
        if forwarded_from.is_some() || *by_program {
            let active = arriving.active(tx).await?;
            return self.enqueue(tx, arriving, NewRun { text, order: RunKind::Answer }, active.as_ref()).await;
        }
        if command::parse(text) == Some(Command::Compact) {
            return self.compact(tx, arriving, text).await;
        }
        if let Some(command) = command::parse(text) {
            return self.command(tx, arriving, text, command).await;
        }
        if let Some(taken) = self.handle_email_answer(tx, arriving, text).await? {
            return Ok(taken);
        }
        let mut active = arriving.active(tx).await?;
        // One word is enough: what comes after it, before the run goes on, is a message of its own.
        let asking = if arriving.lane.may_ask() {
            waiting_runs(tx, arriving.session.id, active.as_ref()).await?
        } else {
            Vec::new()
        };
        for asking in asking {
            let run = &asking.run;
            match self.open_question(tx, asking.session, run.id).await? {
                WaitState::Question(asked) if asked.may_be_answered_by(&arriving.principal, run) => {
                    if let Some(answer) = self.answer_to(&asked, &arriving.principal, text) {
                        return self.answer(tx, arriving, &asking, answer).await;
                    }
                }
                WaitState::Question(asked)
                    if asked.answerer != PermittedAnswerer::Anybody
                        && !self.is_unaddressed()
                        && extract_answer(text, &asked.question).is_some() =>
                {
                    return self.tell_refused(tx, arriving, text, asked.refusal_text()).await;
                }
                WaitState::Question(_) => {}
                WaitState::Agents(_) | WaitState::Nothing => {
                    active.iter_mut().filter(|own| own.id == run.id).for_each(mark_running)
                }
                WaitState::Gone => active = active.filter(|own| own.id != run.id),
            }
        }
        if let Some(taken) = self.settles_failure(tx, arriving, text).await? {
            return Ok(taken);
        }
        self.enqueue(tx, arriving, NewRun { text, order: RunKind::Answer }, active.as_ref()).await
    }

    /// It is said to everybody in the group, and not to Hob by name.
    pub(super) fn is_unaddressed(&self) -> bool {
        self.inbound.metadata.audience == Audience::Group
    }

    /// Says that it is not taken; what was not said to Hob by name is passed over in silence.
    pub(super) async fn refuse(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
        told: String,
    ) -> Result<IntakeOutcome, StoreError> {
        if self.is_unaddressed() {
            return Ok(IntakeOutcome::without_effects(UpdateOutcome::Ignored));
        }
        self.tell_refused(tx, arriving, text, &told).await
    }

    /// Claims the message as refused, and says why.
    pub(super) async fn tell_refused(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
        told: &str,
    ) -> Result<IntakeOutcome, StoreError> {
        let claimed = self.claim(tx, arriving, text, "refused").await?;
        self.tell(tx, arriving, claimed, told).await
    }

    /// Answers a message in the transaction that claimed it, without a run; none: it was claimed before.
    pub(super) async fn tell(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        claimed: Option<InboundId>,
        told: &str,
    ) -> Result<IntakeOutcome, StoreError> {
        let Some(inbound) = claimed else { return Ok(IntakeOutcome::duplicate(arriving.session.id)) };
        let reply = command_handlers::DirectReply::to(arriving.session.id, &arriving.destination, inbound);
        command_handlers::say(tx, &reply, told, self.now).await?;
        Ok(IntakeOutcome {
            said: Some(arriving.session.id),
            ..IntakeOutcome::without_effects(UpdateOutcome::Committed)
        })
    }

    /// A command is carried out and answered outside the lane: it never waits behind a run.
    pub(super) async fn command(
        &self,
        tx: &mut Tx,
        arriving: &IncomingMessage,
        text: &str,
        command: Command,
    ) -> Result<IntakeOutcome, StoreError> {
        // A code may still let somebody in.
        let kept = if matches!(command, Command::Pair(_)) { "/pair" } else { text };
        let (channels, stops) = (command.channels(), matches!(command, Command::Stop { .. }));
        let Some(inbound) = self.claim(tx, arriving, kept, "command").await? else {
            let everywhere = affected_runs(tx, arriving.session.id, channels, stops).await?;
            return Ok(IntakeOutcome { everywhere, ..IntakeOutcome::duplicate(arriving.session.id) });
        };
        let caller = command_handlers::Caller {
            session: &arriving.session,
            principal: &arriving.principal,
            place: &self.inbound.conversation,
            mode: self.limits.mode,
            inbound: &self.inbound,
            seen: self.waiting_runs(),
        };
        let reschedules = matches!(command, Command::Schedule(..));
        let told = command_handlers::carry_out(tx, &self.context, &caller, command).await?;
        let reply = command_handlers::DirectReply::to(arriving.session.id, &arriving.destination, inbound);
        if !told.text.is_empty() {
            command_handlers::say(tx, &reply, &told.text, self.now).await?;
        }
        let everywhere = affected_runs(tx, arriving.session.id, channels, stops).await?;
        let (lane, said) = (Some(arriving.session.id), Some(arriving.session.id));
        let order = CommandOrigin {
            inbound,
            principal: arriving.principal.clone(),
            session: SessionKey(arriving.session.key.clone()),
            id: arriving.session.id,
        };
        let (forgotten, emptied, elsewhere) = (told.forgotten, told.emptied, told.elsewhere);
        let follow_up = told.follow_up.map(|what| FollowUpRequest { what, order });
        if let Some(request) = &follow_up {
            command_follow_ups::note(tx, request, &self.inbound.conversation).await?;
        }
        Ok(IntakeOutcome {
            lane,
            said,
            everywhere,
            forgotten,
            emptied,
            reschedules,
            elsewhere,
            released: told.released,
            follow_up,
            ..IntakeOutcome::without_effects(UpdateOutcome::Committed)
        })
    }
}

/// The runs besides the conversation's own that a command may concern.
async fn affected_runs(
    tx: &mut Tx,
    home: SessionId,
    channels: Option<PauseScope>,
    stops: bool,
) -> Result<Vec<OpenRun>, StoreError> {
    match channels {
        Some(PauseScope::Everywhere) => open_runs::list_open(tx).await,
        Some(PauseScope::Here) | None => {
            let open = agents::open_at_home(tx, home).await?;
            let run = |open: OpenAgent| OpenRun { id: open.id, session: open.session, channel: open.channel };
            let beside = if stops { open_runs::beside(tx, home).await? } else { Vec::new() };
            Ok(open.into_iter().map(run).chain(beside.into_iter().map(|(_, run)| run)).collect())
        }
    }
}
