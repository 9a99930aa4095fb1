//! A platform that holds what it was sent, loses answers, delivers again what was not acknowledged, and its people.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use hob_core::domain::channel::{Channel, Intake, IntakeError, PresenceSignal, UpdateOutcome};
use hob_core::domain::clock::Clock as _;
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::inbound::{ChannelKind, Conversation, Inbound, InboundEvent, Sender};
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, Outgoing, Receipt};
use jiff::Timestamp;
use tokio::time::sleep;

use crate::plan;
use crate::world::{AcceptedMessage, CallerBehaviour, DuplicateProtection, VisibleMessage, World};

/// Hob's account on a platform.
pub(crate) struct Account {
    pub(crate) world: Arc<World>,
    pub(crate) kind: ChannelKind,
    pub(crate) name: &'static str,
}

/// How the platform treats one request.
#[derive(Debug, Clone, Copy)]
enum DeliveryBehaviour {
    Takes,
    Later {
        after: Option<Duration>,
    },
    Refuses,
    /// The connection breaks; the message may have arrived.
    Breaks {
        arrived: bool,
    },
    /// No answer comes.
    Hangs {
        arrived: bool,
    },
    /// The adapter has a fault.
    Panics,
}

impl Account {
    fn manner(&self) -> DeliveryBehaviour {
        if self.world.state().unreachable {
            return DeliveryBehaviour::Breaks { arrived: false };
        }
        if self.world.is_calm() {
            return DeliveryBehaviour::Takes;
        }
        let arrived = self.world.chance(500);
        match self.world.below(100) {
            0..80 => DeliveryBehaviour::Takes,
            80..85 => DeliveryBehaviour::Later { after: None },
            85..89 => DeliveryBehaviour::Later { after: Some(Duration::from_secs(self.world.between(1, 40))) },
            89 => DeliveryBehaviour::Refuses,
            90..97 => DeliveryBehaviour::Breaks { arrived },
            97 => DeliveryBehaviour::Panics,
            _ => DeliveryBehaviour::Hangs { arrived },
        }
    }

    /// The message is there; gives its place in the record, and its name.
    fn take(&self, message: &Outgoing) -> (usize, String) {
        let chat = &message.destination.conversation.chat;
        let mark = if message.may_repeat { " (may repeat)" } else { "" };
        let first: String = message.text.chars().take(48).collect();
        let how = message.replaces.as_ref().map_or(String::new(), |it| format!(" instead of {}", it.external_id));
        self.world.note(format!("{chat} sees outbox {}{mark}{how}: {:?}", message.id, first));
        let index = self.world.take(AcceptedMessage {
            account: self.name.to_owned(),
            chat: chat.clone(),
            outbox: message.id.0,
            text: message.text.clone(),
            may_repeat: message.may_repeat,
            told: None,
        });
        let shown = self.shown(chat, &message.text, Some(message.id.0));
        let edited = message.replaces.as_ref().filter(|it| self.edit(&it.external_id, &shown));
        let name = match edited {
            Some(replaces) => replaces.external_id.clone(),
            None => self.post(shown),
        };
        react(&self.world, self.kind, message);
        (index, name)
    }

    fn shown(&self, chat: &str, text: &str, outbox: Option<i64>) -> VisibleMessage {
        let account = self.name.to_owned();
        VisibleMessage { account, chat: chat.to_owned(), text: text.to_owned(), outbox, told: None }
    }

    fn post(&self, shown: VisibleMessage) -> String {
        let name = self.world.serial();
        self.world.state().shown.insert(name, shown);
        format!("p{name}")
    }

    /// Whether there is such a message to be changed.
    fn edit(&self, name: &str, to: &VisibleMessage) -> bool {
        let mut state = self.world.state();
        let there = number(name).and_then(|number| state.shown.get_mut(&number));
        there.map(|shown| (shown.text, shown.outbox) = (to.text.clone(), to.outbox)).is_some()
    }

    /// The name under which the platform has this message already, where it can tell.
    fn known(&self, message: &Outgoing) -> Option<String> {
        let state = self.world.state();
        let tells = match state.contract(self.name) {
            DuplicateProtection::Marked => false,
            DuplicateProtection::Nonce => true,
            // Who has no doubt does not look.
            DuplicateProtection::Lookup => message.may_repeat,
        };
        let mut shown = state.shown.iter().filter(|_| tells);
        shown.find(|(_, shown)| shown.outbox == Some(message.id.0)).map(|(name, _)| format!("p{name}"))
    }

    /// A draft is there, or reads otherwise; none: there is none of this name.
    fn draw(&self, draft: &DraftMessage) -> Option<String> {
        let chat = &draft.destination.conversation.chat;
        self.world.note(format!("{chat} sees {} bytes of a draft {:?}", draft.text.len(), draft.external_id));
        let shown = self.shown(chat, &draft.text, None);
        match &draft.external_id {
            Some(name) => self.edit(name, &shown).then(|| name.clone()),
            None => Some(self.post(shown)),
        }
    }

    /// How the platform treats what is asked beside messages, once that took its time.
    async fn asked(&self, what: impl FnOnce()) -> Result<(), DeliveryError> {
        let world = &self.world;
        let manner = self.manner();
        sleep(Duration::from_millis(world.below(400))).await;
        match manner {
            DeliveryBehaviour::Takes => {
                what();
                sleep(Duration::from_millis(world.below(300))).await;
                Ok(())
            }
            DeliveryBehaviour::Later { after } => Err(DeliveryError::Retry { after, why: "429".to_owned() }),
            DeliveryBehaviour::Panics => panic!("simulated: the adapter panics"),
            DeliveryBehaviour::Refuses => Err(DeliveryError::Refused { why: "400".to_owned() }),
            DeliveryBehaviour::Breaks { arrived } | DeliveryBehaviour::Hangs { arrived } => {
                if arrived {
                    what();
                }
                sleep(Duration::from_secs(if matches!(manner, DeliveryBehaviour::Hangs { .. }) { 1_000 } else { 1 }))
                    .await;
                Err(DeliveryError::Unknown { why: "connection reset".to_owned() })
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix('p')?.parse().ok()
}

#[async_trait]
impl Channel for Account {
    fn address(&self) -> (ChannelKind, &str) {
        (self.kind, self.name)
    }

    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        let world = &self.world;
        let manner = self.manner();
        sleep(Duration::from_millis(world.below(400))).await;
        match manner {
            DeliveryBehaviour::Takes => {
                if let Some(known) = self.known(message) {
                    return Ok(Receipt { external_id: Some(known) });
                }
                let (index, name) = self.take(message);
                sleep(Duration::from_millis(world.below(300))).await;
                world.told(index);
                Ok(Receipt { external_id: Some(name) })
            }
            DeliveryBehaviour::Later { after } => Err(DeliveryError::Retry { after, why: "429".to_owned() }),
            DeliveryBehaviour::Panics => panic!("simulated: the adapter panics"),
            DeliveryBehaviour::Refuses => {
                world.note(format!("outbox {} is refused", message.id));
                world.state().refused.push(message.id.0);
                Err(DeliveryError::Refused { why: "403".to_owned() })
            }
            DeliveryBehaviour::Breaks { arrived } | DeliveryBehaviour::Hangs { arrived } => {
                if arrived && self.known(message).is_none() {
                    self.take(message);
                }
                let hang = matches!(manner, DeliveryBehaviour::Hangs { .. });
                sleep(Duration::from_secs(if hang { 1_000 } else { 1 })).await;
                world.note(format!("outbox {} is lost, arrived: {arrived}", message.id));
                Err(DeliveryError::Unknown { why: "connection reset".to_owned() })
            }
        }
    }

    async fn draft(&self, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
        let mut drawn = None;
        self.asked(|| drawn = self.draw(draft)).await?;
        let Some(name) = drawn else {
            return Err(DeliveryError::Refused { why: "400: message to edit not found".to_owned() });
        };
        let mut state = self.world.state();
        let told = (state.process.number, state.process.commits);
        if let Some(shown) = number(&name).and_then(|name| state.shown.get_mut(&name)) {
            shown.told = Some(told);
        }
        Ok(Receipt { external_id: Some(name) })
    }

    async fn retract(&self, place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
        let world = &self.world;
        let asked = self
            .asked(|| {
                world.note(format!("{} sees {external_id} no more", place.conversation.chat));
                if let Some(name) = number(external_id) {
                    let mut state = world.state();
                    let gone = state.shown.remove(&name).filter(|shown| shown.outbox.is_some());
                    state.wrong.extend(gone.map(|shown| format!("p{name} was taken back, and is no draft: {shown:?}")));
                }
            })
            .await;
        if let (Err(DeliveryError::Refused { .. }), Some(name)) = (&asked, number(external_id)) {
            world.note(format!("{external_id} may not be taken back"));
            // Nobody can do more about it: it stays.
            if let Some(shown) = world.state().shown.get_mut(&name) {
                shown.told = None;
            }
        }
        asked
    }

    async fn sign(&self, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
        let world = &self.world;
        self.asked(|| world.note(format!("{} sees the sign {sign:?}", place.conversation.chat))).await
    }

    fn health(&self) -> ChannelHealth {
        ChannelHealth::plain(Liveness::Connected, Timestamp::UNIX_EPOCH)
    }
}

/// Hands in what is due, in order, a few at a time; the acknowledgement travels with the next request.
pub(crate) async fn feed(account: Arc<Account>, intake: Arc<dyn Intake>) {
    let world = &account.world;
    loop {
        let batch = due(&account);
        if batch.is_empty() {
            let next = world.state().updates.iter().find(|(_, (name, _))| name == account.name).map(|(key, _)| key.0);
            let wait = next.map_or(3_600_000, |at| (at - world.now_ms()).max(1));
            tokio::select! {
                biased;
                () = world.posted.notified() => {}
                () = sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(1))) => {}
            }
            continue;
        }
        let mut acks = Vec::new();
        for (key, inbound) in batch {
            let accepted = loop {
                match hand_in(world, intake.as_ref(), &inbound).await {
                    Ok(accepted) => break accepted,
                    Err(error) => {
                        world.note(format!("not stored: {error}"));
                        sleep(Duration::from_secs(1)).await;
                    }
                }
            };
            world.note(format!(
                "{} {} {:?}: {accepted:?}",
                inbound.conversation.chat, inbound.external_id, inbound.happening
            ));
            acks.push((key, inbound));
        }
        sleep(Duration::from_millis(world.below(60))).await;
        let mut state = world.state();
        for (key, acked) in acks {
            state.updates.remove(&key);
            state.acked.push(acked);
        }
    }
}

/// Hands it in; where the platform hangs up, for the second time.
async fn hand_in(world: &World, intake: &dyn Intake, inbound: &Inbound) -> Result<UpdateOutcome, IntakeError> {
    if world.state().caller == CallerBehaviour::HangsUp {
        let before = world.state().process.commits;
        // The commit is seen before whoever waits for it is told.
        let committed =
            poll_fn(|_| if world.state().process.commits > before { Poll::Ready(()) } else { Poll::Pending });
        tokio::select! {
            biased;
            () = committed => world.note(format!("{} hangs up", inbound.external_id)),
            accepted = intake.accept(inbound.clone()) => return accepted,
        }
    }
    intake.accept(inbound.clone()).await
}

fn due(account: &Account) -> Vec<((i64, u64), Inbound)> {
    let now = account.world.now_ms();
    let state = account.world.state();
    let mine = state.updates.iter().filter(|(key, (name, _))| key.0 <= now && name == account.name);
    mine.take(3).map(|(key, (_, inbound))| (*key, inbound.clone())).collect()
}

/// People answer what they are asked: by button or in words, soon or late, the right ones or others.
fn react(world: &World, kind: ChannelKind, message: &Outgoing) {
    let question = !message.choices.is_empty() || message.text.starts_with("Which one");
    if !question || world.is_calm() || world.chance(150) {
        return;
    }
    let place = &message.destination.conversation;
    let who = if plan::is_hall(&place.chat) { plan::anybody(world) } else { plan::sender_of(&place.chat) };
    let times = if world.chance(200) { 2 } else { 1 };
    for _ in 0..times {
        let soon = world.chance(800);
        let at = world.now_ms() + i64::try_from(world.between(500, if soon { 20_000 } else { 400_000 })).unwrap_or(0);
        let choice = message.choices.get(usize::try_from(world.below(3)).unwrap_or(0));
        let happening = match choice {
            Some(choice) if world.chance(600) => InboundEvent::Pressed { token: choice.token.clone() },
            Some(choice) if world.chance(800) => InboundEvent::Posted { text: choice.label.clone() },
            Some(_) => InboundEvent::Posted { text: "what do you mean?".to_owned() },
            None => InboundEvent::Posted { text: format!("the {}th", world.serial()) },
        };
        world.post(at, &place.account, from(world, kind, place, who, happening));
    }
}

/// An update as the platform would hand it out.
pub(crate) fn from(
    world: &World,
    kind: ChannelKind,
    place: &Conversation,
    who: &str,
    happening: InboundEvent,
) -> Inbound {
    Inbound {
        conversation: Conversation { channel: kind, ..place.clone() },
        external_id: format!("x{}", world.serial()),
        sender: Sender { external_id: who.to_owned(), name: format!("Person {who}") },
        happening,
        sent_at: world.now(),
        attachments: Vec::new(),
        metadata: plan::around(kind, who),
    }
}
