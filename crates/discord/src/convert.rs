//! What happens on Discord, in Hob's words. Pure.

use jiff::Timestamp;
use serenity::model::permissions::Permissions;

use crate::text::{content, quoted};
use crate::wire::{File, Id, Interaction, Member, Message, User};
use hob_core::domain::inbound::{
    Attachment, Audience, ChannelKind, Conversation, Cursor, DISCORD_PRIVATE, Inbound, InboundEvent, MessageMetadata,
    Sender, SenderProof, VoiceRecording,
};

/// A plain message, and one that answers another; all other kinds are Discord's own notices, or Hob's answers to commands.
const HEARD: [u8; 2] = [0, 19];
/// A reference that hands a message on.
const FORWARD: u8 = 1;
/// The threads among the channels.
const THREADS: [u8; 3] = [10, 11, 12];
/// A private chat among the channels.
const PRIVATE: u8 = 1;
/// What stands before the id of a press or command: it is not a message that could be answered.
const INTERACTION: &str = "in:";
/// A command, and a button.
const COMMAND: u8 = 2;
const COMPONENT: u8 = 3;
/// The command that takes anything.
pub(super) const SAY: &str = "hob";

/// Where Hob hears, and as whom.
#[derive(Debug, Clone)]
pub(super) struct ConversionContext<'a> {
    /// The account's name.
    pub(super) account: &'a str,
    /// The bot's user.
    pub(super) me: Id,
    pub(super) now: Timestamp,
}

/// The kind of a place, as far as it says where a message belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// Somebody's own chat with Hob.
    Private,
    /// A server's channel.
    Channel,
    /// A thread of that channel.
    Thread(Id),
}

impl PlaceKind {
    /// Of a channel's type and parent; none: nothing that is understood.
    pub(super) fn of(kind: u8, parent: Option<Id>) -> Option<Self> {
        match kind {
            PRIVATE => Some(Self::Private),
            thread if THREADS.contains(&thread) => parent.map(Self::Thread),
            // A group of friends, to which no bot is let.
            3 => None,
            _ => Some(Self::Channel),
        }
    }
}

pub(super) fn conversation(account: &str, place: Id, kind: PlaceKind) -> Conversation {
    let (chat, thread) = match kind {
        PlaceKind::Private => (format!("{DISCORD_PRIVATE}{place}"), None),
        PlaceKind::Channel => (place.to_string(), None),
        PlaceKind::Thread(parent) => (parent.to_string(), Some(place.to_string())),
    };
    Conversation { channel: ChannelKind::Discord, account: account.to_owned(), chat, thread }
}

/// The name under which a place's cursor is kept.
pub(super) fn list(place: Id, kind: PlaceKind) -> String {
    if kind == PlaceKind::Private { format!("{DISCORD_PRIVATE}{place}") } else { place.to_string() }
}

/// How far that list has come.
pub(super) fn cursor(place: Id, kind: PlaceKind, message: Id) -> Cursor {
    Cursor { list: list(place, kind), position: message.position() }
}

/// Who wrote, if it is a person: other bots, webhooks, Discord itself and Hob's own are not heard.
fn author<'a>(message: &'a Message, view: &ConversionContext<'_>) -> Option<&'a User> {
    let author = message.author.as_ref()?;
    let own = author.id == view.me || message.webhook_id.is_some();
    (!own && !author.bot && !author.system).then_some(author)
}

/// How somebody is called: in the server, everywhere, or by their handle.
pub(super) fn name(user: &User, member: Option<&Member>) -> String {
    let member = member.or(user.member.as_ref());
    let nick = member.and_then(|member| member.nick.as_deref());
    nick.or(user.global_name.as_deref()).unwrap_or(&user.username).to_owned()
}

/// A new message; none if it is nothing that a person said.
pub(super) fn inbound_from_message(
    message: &Message,
    kind: PlaceKind,
    view: &ConversionContext<'_>,
) -> Option<Inbound> {
    let text = content(message, view.me)?;
    inbound(message, kind, InboundEvent::Posted { text }, view)
}

/// A message that reads otherwise; none if what changed is not its text: a preview that came, a pin.
pub(super) fn edited(message: &Message, kind: PlaceKind, view: &ConversionContext<'_>) -> Option<Inbound> {
    message.edited_timestamp.as_ref()?;
    message.said.content.as_ref()?;
    let text = content(message, view.me)?;
    inbound(message, kind, InboundEvent::Edited { text }, view)
}

fn inbound(
    message: &Message,
    kind: PlaceKind,
    happening: InboundEvent,
    view: &ConversionContext<'_>,
) -> Option<Inbound> {
    if !HEARD.contains(&message.kind) {
        return None;
    }
    let author = author(message, view)?;
    let time = match happening {
        InboundEvent::Edited { .. } => message.edited_timestamp.as_ref(),
        _ => message.timestamp.as_ref(),
    };
    let answered = message.referenced_message.as_deref();
    let is_own = |other: &Message| other.author.as_ref().is_some_and(|author| author.id == view.me);
    let is_named = message.said.mentions.iter().any(|user| user.id == view.me);
    let to_hob = kind == PlaceKind::Private || is_named || answered.is_some_and(is_own);
    let forwarded = message.message_reference.as_ref().is_some_and(|reference| reference.kind == FORWARD);
    Some(Inbound {
        conversation: conversation(view.account, message.channel_id, kind),
        external_id: message.id.to_string(),
        sender: Sender { external_id: author.id.to_string(), name: name(author, message.member.as_ref()) },
        happening,
        sent_at: time.and_then(|time| time.parse().ok()).unwrap_or(view.now),
        attachments: files(message),
        metadata: MessageMetadata {
            audience: if to_hob { Audience::Hob } else { Audience::Group },
            proof: SenderProof::Platform,
            // Discord does not tell who wrote what is handed on.
            forwarded_from: forwarded.then(|| "somebody on Discord".to_owned()),
            quoted: answered.map(|other| quoted(other, view.me, is_own(other))),
            spoken: voice_recording(message).filter(|_| !forwarded),
            server: message.guild_id.map(|guild| guild.to_string()),
            ..MessageMetadata::default()
        },
    })
}

/// The files that came, with a message that was handed on as well.
fn files(message: &Message) -> Vec<Attachment> {
    let handed_on = message.message_snapshots.iter().map(|snapshot| &snapshot.message);
    let all = std::iter::once(&message.said).chain(handed_on).flat_map(|said| &said.attachments);
    let file = |file: &File| Attachment { handle: file.url.clone(), name: file.filename.clone(), bytes: file.size };
    all.map(file).collect()
}

/// Whether its sender speaks in it.
fn voice_recording(message: &Message) -> Option<VoiceRecording> {
    let [file] = message.said.attachments.as_slice() else { return None };
    file.waveform.as_ref()?;
    let seconds = file.duration_secs.filter(|seconds| (0.0..1e9).contains(seconds));
    // A number of seconds within what fits.
    Some(VoiceRecording { seconds: seconds.and_then(|seconds| format!("{seconds:.0}").parse().ok()) })
}

/// A message that is gone. Discord does not tell whose it was.
pub(super) fn deleted(message: Id, sender: Sender, conversation: Conversation, now: Timestamp) -> Inbound {
    Inbound {
        conversation,
        external_id: message.to_string(),
        sender,
        happening: InboundEvent::Deleted,
        sent_at: now,
        attachments: Vec::new(),
        metadata: MessageMetadata::default(),
    }
}

/// A command or a press; none if it is of another kind.
pub(super) fn interaction(interaction: &Interaction, kind: PlaceKind, view: &ConversionContext<'_>) -> Option<Inbound> {
    let place = interaction.channel_id.or(interaction.channel.as_ref().map(|channel| channel.id))?;
    let member = interaction.member.as_ref();
    let user = member.and_then(|member| member.user.as_deref()).or(interaction.user.as_ref())?;
    let data = interaction.data.as_ref()?;
    let happening = match interaction.kind {
        COMMAND => {
            let name = data.name.as_ref()?;
            let values = data.options.iter().filter_map(|option| option.value.as_ref());
            let words: Vec<String> =
                values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect();
            let words = words.join(" ");
            let text = if name == SAY { words } else { format!("/{name} {words}").trim_end().to_owned() };
            InboundEvent::Posted { text }
        }
        COMPONENT => InboundEvent::Pressed { token: data.custom_id.clone()? },
        _ => return None,
    };
    Some(Inbound {
        conversation: conversation(view.account, place, kind),
        external_id: format!("{INTERACTION}{}", interaction.id),
        sender: Sender { external_id: user.id.to_string(), name: name(user, member) },
        happening,
        sent_at: view.now,
        attachments: Vec::new(),
        metadata: MessageMetadata {
            server: interaction.guild_id.map(|guild| guild.to_string()),
            ..MessageMetadata::default()
        },
    })
}

/// Whether it is a command: its deferred answer has to be taken back.
pub(super) fn is_command(interaction: &Interaction) -> bool {
    interaction.kind == COMMAND
}

/// Whether a message of Hob's can be shown where it happens; as long as nothing is known against it.
pub(super) fn can_answer(interaction: &Interaction) -> bool {
    let bits = interaction.app_permissions.as_deref().and_then(|bits| bits.parse().ok());
    // In private there are no such permissions.
    let (Some(bits), Some(_guild)) = (bits, interaction.guild_id) else { return true };
    let is_thread = interaction.channel.as_ref().is_some_and(|place| THREADS.contains(&place.kind));
    let send = if is_thread { Permissions::SEND_MESSAGES_IN_THREADS } else { Permissions::SEND_MESSAGES };
    let may = Permissions::from_bits_truncate(bits);
    may.contains(Permissions::ADMINISTRATOR) || may.contains(Permissions::VIEW_CHANNEL | send)
}

/// Whether it is one that Hob takes at all.
pub(super) fn is_supported(interaction: &Interaction) -> bool {
    matches!(interaction.kind, COMMAND | COMPONENT)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
