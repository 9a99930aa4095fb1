//! What becomes of a message: one transaction that claims it, with everything that follows from it.

pub(crate) mod answers;
mod edits;
mod failures;
mod message_context;
mod queue;
pub mod run_commands;
mod sender_access;
mod speculation;
pub(crate) mod transaction;
mod undo;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::Notify;
use tracing::Instrument;

use crate::agenda::TodayRequest;
use crate::attachments::{self, ReceivedFile};
use crate::command_handlers::{CommandServices, FollowUp};
use crate::delivery::Delivery;
use crate::intake::sender_access::{attribute_quotation, redact};
use crate::intake::transaction::{FollowUpRequest, IntakeTransaction};
use crate::lanes::Lanes;
use crate::speech::SpeechSettings;
use crate::undo::CommandOrigin;
use crate::voice::{LinkedIdentity, VoiceInput};
use crate::{memory, prompts};
use hob_core::domain::channel::{Intake, IntakeError, UpdateOutcome};
use hob_core::domain::choices::IntakeMode;
use hob_core::domain::clock::Clock;
use hob_core::domain::inbound::{ChannelKind, Conversation, Cursor, Inbound, InboundEvent, SenderProof};
use hob_core::domain::principal::Role;
use hob_core::domain::redactor::Redactor;
use hob_core::policy::access::{AccessList, known_as};
use hob_core::policy::groups::MessageDisposition;
use hob_core::policy::pairing::Code;
use hob_model::transcription::Transcriber;
use hob_store::error::StoreError;
use hob_store::{Store, cursors, inbound, members};
use hob_tools::schedule::look::Looker;

/// The numbers of intake, as configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntakeLimits {
    /// The longest message, in characters (row E1).
    pub message_chars_max: usize,
    /// The most messages that wait in one lane.
    pub queue_len_max: i64,
    /// What happens to messages during a run, unless a session says otherwise.
    pub mode: IntakeMode,
}

/// Takes in what the channels receive.
pub struct Router {
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Finds this Hob's secrets: who says one has it neither recorded nor sent on.
    pub redactor: Redactor,
    /// The config in use. Whoever takes something in looks once.
    pub config: ArcSwap<IntakeConfig>,
    pub lanes: Lanes,
    /// The outbox's workers.
    pub delivery: Delivery,
    /// Rung when a schedule has changed.
    pub alarm: Arc<Notify>,
}

/// What the config says of intake and commands, exchanged as a whole.
pub struct IntakeConfig {
    /// Who is let in.
    pub access: Arc<AccessList>,
    /// The numbers.
    pub limits: IntakeLimits,
    /// What commands can tell about the house.
    pub services: Arc<CommandServices>,
    /// Who puts recordings into words; none: nobody.
    pub transcriber: Option<Arc<Transcriber>>,
    /// Who says answers aloud; none: nobody.
    pub speech: Option<Arc<SpeechSettings>>,
    /// Who looks whether a schedule has something to do; none: nobody can.
    pub looker: Option<Arc<dyn Looker>>,
}

#[async_trait]
impl Intake for Router {
    async fn accept(&self, inbound: Inbound) -> Result<UpdateOutcome, IntakeError> {
        // A trace of its own: the span around it may be a poller's, which lasts as long as the process.
        let span = tracing::info_span!(
            parent: None,
            "router.accept",
            channel = %inbound.conversation.channel,
            session = %inbound.conversation.session_key()
        );
        let channel = inbound.conversation.channel;
        let taken = self.take(inbound).instrument(span).await;
        let outcome = match &taken {
            Ok(UpdateOutcome::Committed) => "committed",
            Ok(UpdateOutcome::Duplicate) => "duplicate",
            Ok(UpdateOutcome::Ignored) => "ignored",
            Err(_) => "not_stored",
        };
        self.delivery.meters().messages.of(&[channel.as_str(), outcome]).inc();
        taken.map_err(|error| IntakeError(error.to_string()))
    }

    async fn cursors(&self, channel: ChannelKind, account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        let read = self.store.read(async |tx| cursors::of_account(tx, channel, account).await).await;
        read.map_err(|error| IntakeError(error.to_string()))
    }

    async fn admits(&self, place: &Conversation, sender: &str) -> Result<bool, IntakeError> {
        let (access, there, who) = (self.config.load().access.clone(), place.clone(), sender.to_owned());
        let member = self.store.read(async move |tx| members::role(tx, &there, &who).await).await;
        let member = member.map_err(|error| IntakeError(error.to_string()))?;
        Ok(access.role_of(place, sender, member).is_some())
    }

    async fn advance(&self, channel: ChannelKind, account: &str, cursor: Cursor) -> Result<(), IntakeError> {
        let account = account.to_owned();
        let written = self.store.write(async move |tx| cursors::advance(tx, channel, &account, &cursor).await);
        written.await.map_err(|error| IntakeError(error.to_string()))
    }

    async fn chat_moved(&self, place: Conversation, chat: &str) -> Result<(), IntakeError> {
        self.migrate_chat(place, chat).await.map_err(|error| IntakeError(error.to_string()))
    }
}

impl Router {
    /// The config in use.
    pub fn config(&self) -> Arc<IntakeConfig> {
        self.config.load_full()
    }

    async fn take(&self, mut inbound: Inbound) -> Result<UpdateOutcome, StoreError> {
        let config = self.config();
        redact(&self.redactor, &mut inbound);
        attribute_quotation(&mut inbound);
        // From here on nobody has a name that they cannot prove.
        inbound.sender.external_id = known_as(&inbound.sender.external_id, &inbound.metadata.proof);
        let now = self.clock.now();
        let others = match inbound.metadata.proof {
            SenderProof::Platform => {
                config.access.linked_identities(&inbound.conversation, &inbound.sender.external_id)
            }
            SenderProof::Nobody { .. } => Vec::new(),
        };
        let others = others.into_iter().map(|alias| (alias.channel, alias.external_id)).collect::<Vec<_>>();
        let (mut looked, files) = self.load_remote_inputs(&config, &inbound, &others, now).await?;
        looked.prompt = looked.prompt.take().and_then(|answer| prompts::hand_on(answer, &mut inbound, &self.redactor));
        attachments::insert_spoken_text(&mut inbound, &files);
        let channels = self.delivery.health();
        let context = config.services.command_context(now, channels, looked, Arc::clone(&config.access));
        let code = Code::new(|| config.services.rng.next_u64());
        let place = inbound.conversation.clone();
        let (lease, room) = self.lanes.lease_for(place.channel).unzip();
        let (seen, foreseen) = (OnceLock::new(), ArcSwapOption::empty());
        let limits = config.limits;
        let take =
            Arc::new(IntakeTransaction { inbound, others, files, seen, limits, context, lease, foreseen, code, now });
        self.foresee(&take).await;
        let mut taken = self.write(&take).await?;
        if let Some(look) = taken.looks.take() {
            // To fold a long journal takes long: not while the writer is held.
            let seen = self.store.read(async |tx| look.look(tx).await).await?;
            take.seen.get_or_init(|| seen);
            taken = self.write(&take).await?;
        }
        // Before its turn may come: what the run shows then is the later sign.
        if let Some((run, destination)) = &taken.queued {
            self.delivery.message_queued(destination, *run);
        }
        match (taken.opened.zip(room), taken.lane) {
            (Some((opened, room)), _) => self.lanes.start_opened_run(opened, room),
            (None, Some(session)) => self.lanes.wake(session),
            (None, None) => {}
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
        if let Some(FollowUpRequest { what, order }) = taken.follow_up {
            match (what, config.services.agenda.clone()) {
                (FollowUp::Reload, _) => config.services.config.request_reload(place),
                (FollowUp::Undo, _) => self.undo(&config.services.drafts, order, place).await,
                (FollowUp::LogIn(login), _) => self.log_in(login, order.inbound, place),
                (FollowUp::Today, Some(agenda)) => {
                    let CommandOrigin { inbound, principal, .. } = order;
                    self.tell_today(agenda, TodayRequest { inbound, principal }, place);
                }
                (FollowUp::Today, None) => {}
            }
        }
        memory::remove_from_index(&config, &taken.forgotten);
        if let Some(scope) = taken.emptied {
            self.forget_some_now(&config, scope).await;
        }
        Ok(taken.accepted)
    }

    /// What is for Hob may need what is far away, and is not to be waited for in a transaction, which looks again who speaks.
    async fn load_remote_inputs(
        &self,
        config: &IntakeConfig,
        inbound: &Inbound,
        others: &[LinkedIdentity],
        now: Timestamp,
    ) -> Result<(memory::PrefetchedInputs, Vec<ReceivedFile>), StoreError> {
        let is_asked_for = memory::is_asked_for(inbound) || prompts::asked_for(inbound).is_some();
        if inbound.attachments.is_empty() && !is_asked_for {
            return Ok((memory::PrefetchedInputs::default(), Vec::new()));
        }
        let known =
            self.store.read(async |tx| sender_access::load_sender_access(tx, &config.access, inbound).await).await?;
        let Some(role) = known.role.filter(|_| sender_access::fate_of(inbound, &known) == MessageDisposition::Heard)
        else {
            return Ok((memory::PrefetchedInputs::default(), Vec::new()));
        };
        let memories = memory::prefetch(&config.services.memory, inbound, role, now).await?;
        let prompt = prompts::prefetch(&config.services.servers, inbound, role).await;
        Ok((memory::PrefetchedInputs { memories, prompt }, self.fetch(config, inbound, role, others).await?))
    }

    /// What came with a new message is fetched before it is taken in, and not again when it is delivered again.
    async fn fetch(
        &self,
        config: &IntakeConfig,
        inbound: &Inbound,
        role: Role,
        others: &[LinkedIdentity],
    ) -> Result<Vec<ReceivedFile>, StoreError> {
        let is_new = matches!(inbound.happening, InboundEvent::Posted { .. }) && !inbound.attachments.is_empty();
        let (place, id) = (&inbound.conversation, &inbound.external_id);
        if !is_new || self.store.read(async |tx| inbound::is_claimed(tx, place, id).await).await? {
            return Ok(Vec::new());
        }
        let voice = VoiceInput {
            transcriber: config.transcriber.as_deref(),
            delivery: &self.delivery,
            store: &self.store,
            budget_guard: &config.services.budget_guard,
            personas: &config.services.personas,
            speaker: (role, others),
            redactor: &self.redactor,
            now: self.clock.now(),
        };
        Ok(attachments::fetch(&voice, inbound, &self.redactor).await)
    }
}
