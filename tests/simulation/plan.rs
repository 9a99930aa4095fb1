//! What people do in a world, and when the process dies: all of it from the seed.

use hob_core::domain::clock::Clock as _;
use hob_core::domain::email_envelope::{Envelope, Mailbox};
use hob_core::domain::inbound::{ChannelKind, Inbound, InboundEvent, MessageMetadata, Sender};

use crate::world::{AccountRef, CrashPoint, World};

/// The chat that everybody is in.
pub(crate) const GROUP: &str = "-100";
/// The same where platforms name chats otherwise.
const HALLS: [(ChannelKind, &str); 2] = [(ChannelKind::Slack, "C100"), (ChannelKind::Discord, "100")];
/// The account on the first platform.
pub(crate) const TELEGRAM: &str = "default";
/// The accounts on others.
pub(crate) const SLACK: &str = "work";
pub(crate) const DISCORD: &str = "club";
pub(crate) const EMAIL: &str = "post";
pub(crate) const TERMINAL: &str = "tty";
/// The head of the household.
pub(crate) const OWNER: &str = "1";
/// Those who live there.
pub(crate) const MEMBERS: [&str; 2] = ["2", "3"];
const STRANGER: &str = "9";
/// Where the owner talks with Hob besides.
const ELSEWHERE: &str = "1-elsewhere";

/// One life of the process.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    /// It is killed at this commit.
    pub(crate) crash: Option<(u64, CrashPoint)>,
    /// It is stopped in good order after so long.
    pub(crate) stop_ms: Option<i64>,
    /// How long nothing runs before it.
    pub(crate) down_ms: i64,
    /// Its system prompt.
    pub(crate) prompt: String,
    /// What goes wrong in it, and when after its start.
    pub(crate) troubles: Vec<(i64, ScheduledFault)>,
}

/// Something that goes wrong around a process, or is well again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScheduledFault {
    /// The database's file cannot grow.
    DiskFull,
    DiskFree,
    /// Another program holds the write lock for so many milliseconds.
    Locked(u64),
    /// The wall clock is off by so much from now on.
    ClockOff(i64),
    PlatformDown,
    PlatformUp,
    /// The next time that Hob asks a model for its name, it panics.
    LabelPanics,
}

impl Life {
    /// A life without an end of its own.
    pub(crate) fn long() -> Self {
        Self { crash: None, stop_ms: None, down_ms: 0, prompt: "You are simulated.".to_owned(), troubles: Vec::new() }
    }

    /// A life that ends at a commit.
    pub(crate) fn until(commit: u64, when: CrashPoint) -> Self {
        Self { crash: Some((commit, when)), ..Self::long() }
    }
}

pub(crate) fn anybody(world: &World) -> &'static str {
    ["1", "2", "3"][usize::try_from(world.below(3)).unwrap_or(0)]
}

/// Whose private chat this is, by any platform's name of it.
pub(crate) fn sender_of(name: &str) -> &'static str {
    let chat = ["D", "dm:"].into_iter().find_map(|ahead| name.strip_prefix(ahead)).unwrap_or(name);
    ["1", "2", "3"].into_iter().find(|user| *user == chat).unwrap_or(OWNER)
}

/// How a platform names a chat: by that Hob knows whether one person alone talks there.
pub(crate) fn name_of(kind: ChannelKind, chat: &str) -> String {
    let hall = HALLS.iter().find(|(platform, _)| *platform == kind && chat == GROUP);
    match (hall, kind) {
        (Some((_, name)), _) => (*name).to_owned(),
        (None, ChannelKind::Slack) => format!("D{chat}"),
        (None, ChannelKind::Discord) => format!("dm:{chat}"),
        (None, _) => chat.to_owned(),
    }
}

/// Whether a chat of this name is everybody's.
pub(crate) fn is_hall(name: &str) -> bool {
    name == GROUP || HALLS.iter().any(|(_, hall)| *hall == name)
}

/// Whether others may read what is said there: a letter can be handed on to anybody.
pub(crate) fn is_shared(channel: &str, name: &str) -> bool {
    channel == ChannelKind::Email.as_str() || is_hall(name)
}

/// The lives of a random world.
pub(crate) fn lives(world: &World) -> Vec<Life> {
    let mut lives = Vec::new();
    let mut prompt = Life::long().prompt;
    let most = if world.chance(300) { 10 } else { 5 };
    for _ in 0..world.below(most) {
        let when = if world.chance(500) { CrashPoint::Before } else { CrashPoint::After };
        let far = if world.chance(500) { 12 } else { 45 };
        let mut life = Life::until(world.below(far), when);
        if world.chance(250) {
            life.crash = None;
            life.stop_ms = Some(i64::try_from(world.between(1_000, 90_000)).unwrap_or(1_000));
        }
        life.down_ms = i64::try_from(world.below(30_000)).unwrap_or(0);
        if world.chance(100) {
            prompt.push('!');
        }
        life.prompt.clone_from(&prompt);
        lives.push(life);
    }
    lives.push(Life { prompt, ..Life::long() });
    lives
}

/// Each chat is on some platform, and the owner on two; with some seeds all are on the first.
pub(crate) fn settle(world: &World, seed: u64) {
    const ALL: [AccountRef; 4] = [
        (ChannelKind::Telegram, TELEGRAM),
        (ChannelKind::Slack, SLACK),
        (ChannelKind::Discord, DISCORD),
        (ChannelKind::Email, EMAIL),
    ];
    if seed.is_multiple_of(5) {
        return;
    }
    // Not from the world's own chance, so that a seed's people do the same wherever they are.
    let at = |shift: u64| ALL[usize::try_from((seed >> shift) % 4).unwrap_or(0)];
    let own = ["1", "2", "3", ELSEWHERE].into_iter().zip([0, 1, 2, 3].map(at));
    let hall = Some(at(4)).filter(|(kind, _)| *kind != ChannelKind::Email).map(|place| (GROUP, place));
    world.settle(own.chain(hall));
}

/// Posts everything that people do in a random world, over a few minutes.
pub(crate) fn people(world: &World) {
    let busy = world.chance(500);
    let length = if busy { world.between(5_000, 40_000) } else { world.between(5_000, 240_000) };
    let places: &[&str] = if busy { &[GROUP, GROUP, "2"] } else { &["1", "2", "3", GROUP, GROUP, TERMINAL, ELSEWHERE] };
    for number in 0..world.between(3, 14) {
        let at = i64::try_from(world.below(length)).unwrap_or(0);
        let chat = places[usize::try_from(world.below(places.len() as u64)).unwrap_or(0)];
        let who = if chat == GROUP { anybody(world) } else { sender_of(chat) };
        let who = if chat != TERMINAL && world.chance(20) { STRANGER } else { who };
        let text = words(world, number);
        say(world, at, Message { chat, who, id: &format!("m{number}"), text: &text });
    }
}

/// What somebody writes.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    pub(crate) chat: &'a str,
    pub(crate) who: &'a str,
    pub(crate) id: &'a str,
    pub(crate) text: &'a str,
}

/// One message, with what its sender and the platform do to it afterwards.
pub(crate) fn say(world: &World, at: i64, words: Message<'_>) {
    let Message { chat, who, id, text } = words;
    let update = |happening| update(world, chat, who, id, happening);
    post(world, at, words);
    let later = |most| at + i64::try_from(world.between(1, most)).unwrap_or(1);
    if world.chance(100) {
        world.post(later(60_000), account(world, chat), update(InboundEvent::Posted { text: text.to_owned() }));
    }
    if world.chance(120) {
        let text = format!("{id} edited do look");
        world.post(later(20_000), account(world, chat), update(InboundEvent::Edited { text }));
    }
    if world.chance(80) {
        world.post(later(20_000), account(world, chat), update(InboundEvent::Deleted));
    }
}

pub(crate) fn post(world: &World, at: i64, Message { chat, who, id, text }: Message<'_>) {
    world.post(at, account(world, chat), update(world, chat, who, id, InboundEvent::Posted { text: text.to_owned() }));
}

fn account(world: &World, chat: &str) -> &'static str {
    world.place(chat).1
}

fn update(world: &World, chat: &str, who: &str, id: &str, happening: InboundEvent) -> Inbound {
    let conversation = world.conversation(chat);
    let metadata = around(conversation.channel, who);
    let sender = Sender { external_id: who.to_owned(), name: format!("Person {who}") };
    Inbound {
        conversation,
        external_id: id.to_owned(),
        sender,
        happening,
        sent_at: world.now(),
        attachments: Vec::new(),
        metadata,
    }
}

/// A letter is answered to whoever wrote it.
pub(crate) fn around(channel: ChannelKind, who: &str) -> MessageMetadata {
    let to = vec![Mailbox { name: None, address: who.to_owned() }];
    let envelope = (channel == ChannelKind::Email).then(|| Envelope { to, ..Envelope::default() }.encode()).flatten();
    MessageMetadata { envelope, ..MessageMetadata::default() }
}

fn words(world: &World, number: u64) -> String {
    let pick = |words: &[&str]| words[usize::try_from(world.below(words.len() as u64)).unwrap_or(0)].to_owned();
    match world.below(100) {
        0..8 => "/stop".to_owned(),
        8..14 => pick(&["/queue mode queue", "/queue mode steer", "/queue mode interrupt"]),
        14..18 => pick(&["/queue", "/queue drop 1", "/queue drop 1"]),
        98 => pick(&["/pause", "/pause", "/resume", "/pause all", "/resume all"]),
        97 => pick(&["/pause", "/resume", "/grants", "/grants revoke 1"]),
        18..21 => pick(&["/new", "/status", "/help", "/model", "/model second", "/bogus"]),
        21 => String::new(),
        22 => "long ".repeat(500),
        23..30 => "just a word".to_owned(),
        _ => {
            let steps: Vec<String> = (0..world.between(1, 4))
                .map(|_| {
                    pick(&[
                        "look",
                        "append",
                        "append",
                        "append+append",
                        "look+append",
                        "ask",
                        "ask",
                        "append+ask",
                        "nap",
                        "page",
                        "page+append",
                        "plan page kept",
                        "plan page kept+kept",
                        "page plan kept",
                        "page+plan kept",
                        "plan kept page kept",
                        "stick",
                        "page stick",
                        "wall page stuck",
                        "wall page stuck+stuck",
                        "page wall stuck",
                        "wall plan page stuck kept",
                        "nap+append+look",
                        "more",
                        "pay",
                        "pay+append",
                        "peek",
                        "wipe+pay",
                        "torn",
                        "hush",
                        "no_such_tool",
                        "crawl",
                        "post",
                        "post+append",
                        "cry",
                        "spawn",
                        "spawn",
                        "spawn+append",
                        "spawn+spawn",
                        "spawn+ask",
                    ])
                })
                .collect();
            format!("m{number} do {}", steps.join(" "))
        }
    }
}
