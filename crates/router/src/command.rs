//! Chat commands: what a line that begins with a slash asks for. Pure.

use crate::mail::MailCommand;
use hob_core::domain::choices::{IntakeMode, VoiceMode};
use hob_core::domain::ids::ScheduleId;
use hob_core::domain::principal::Role;
use hob_core::policy::groups::GroupMode;
use hob_memory::item::MemoryItem;
use hob_tools::mcp::prompts::PromptRequest;
use hob_tools::schedule::change::Change;

/// A command of the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// What can be said.
    Help,
    /// How Hob is.
    Status,
    /// End what runs here.
    Stop {
        /// What has an effect is not waited for.
        at_once: bool,
    },
    /// Begin a new conversation.
    New,
    /// The same, and end what runs here.
    Reset,
    /// Go on without what was read.
    Clean,
    /// Sum up the older part of the conversation.
    Compact,
    /// Show or choose the model.
    Model(Option<String>),
    /// Let the message's form choose the model again.
    Auto,
    /// Show or choose who Hob is.
    Persona(Option<String>),
    /// Show or choose whether answers are spoken.
    Voice(Option<VoiceMode>),
    /// Show what was spent.
    Cost,
    /// Show what the run has noted.
    Journal,
    /// Show what waits.
    Queue,
    /// Take the Nth back.
    Drop(usize),
    /// Choose what happens to messages during a run.
    Mode(IntakeMode),
    /// Stand still.
    Pause(PauseScope),
    /// Go on.
    Resume(PauseScope),
    /// Show what is allowed for good.
    Grants,
    /// Take the Nth of that back.
    Revoke(usize),
    /// Show what is to be done later.
    Schedules,
    /// Change that with this number.
    Schedule(Change, ScheduleId),
    /// Show what is on today.
    Today,
    /// Show the skills.
    Skills,
    /// Show what was recalled for the last answer.
    Why,
    /// Show what is remembered, or look for something in it.
    Memory(Option<String>),
    /// Show what is known for a fact, or look for something in it.
    Facts(Option<String>),
    /// Show what was ever known under a key.
    FactHistory(String),
    /// Forget something.
    Forget(ForgetTarget),
    /// Keep something at hand; none: it was not said what.
    Pin(Option<MemoryItem>),
    /// Do so no longer.
    Unpin(Option<MemoryItem>),
    /// Show the letters that wait for an owner, or decide over one.
    Mail(MailCommand),
    /// Send a file, of which nothing was said, or where files are sent otherwise.
    Attach,
    /// Show or choose when Hob answers in this group.
    Group(GroupChange),
    /// Show who is let in.
    People,
    /// Let in whoever has this code; none: it was not said which.
    Pair(Option<PairRequest>),
    /// Let somebody in no longer; none: it was not said whom.
    Unpair(Option<String>),
    /// Take back what was done last here.
    Undo,
    /// What a prompt of an MCP server says.
    Prompt(PromptRequest),
    /// Log in at an MCP server; with what a browser brought back, to end it.
    Login(LoginRequest),
    /// Read the config file again.
    Reload,
    /// It looks like a command and is none.
    Unknown(String),
}

/// A login at an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRequest {
    /// Its name in the config.
    pub server: String,
    /// What the browser brought back; none: the link is asked for.
    pub pasted: Option<String>,
}

/// What is to become of a group's mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupChange {
    /// It is shown.
    Show,
    Set(GroupMode),
    AsConfigured,
}

/// Somebody who is to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairRequest {
    /// The code, as it was written.
    pub code: String,
    pub role: Role,
}

impl PairRequest {
    /// What people who are paired may, unless it is said.
    pub const USUAL: Role = Role::User;

    /// The role with this name, if it can be given away by a code.
    pub fn role(name: &str) -> Option<Role> {
        [Role::Guest, Role::User, Role::Admin].into_iter().find(|role| role.as_str() == name)
    }
}

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetTarget {
    /// It was not said what.
    Nothing,
    One(MemoryItem),
    /// Something that fits these words: which, is asked.
    Words(String),
    Everything {
        /// It was said twice.
        sure: bool,
    },
}

impl Command {
    /// Does it choose for all who talk here, whoever says it: which model reads and is paid, who Hob is, what is in sight? That is
    /// the household's. What a guest sees alone is theirs to begin anew.
    pub(super) fn is_for_household(&self, is_private: bool) -> bool {
        match self {
            Self::Model(chosen) | Self::Persona(chosen) => chosen.is_some(),
            Self::Voice(chosen) => chosen.is_some(),
            Self::Auto | Self::Mode(_) | Self::Pause(PauseScope::Here) => true,
            Self::New | Self::Reset | Self::Clean => !is_private,
            _ => false,
        }
    }

    /// How far it reaches, if it is one that pauses or resumes.
    pub(super) fn channels(&self) -> Option<PauseScope> {
        match self {
            Self::Pause(channels) | Self::Resume(channels) => Some(*channels),
            _ => None,
        }
    }
}

/// How far a pause reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseScope {
    /// This conversation.
    Here,
    /// The whole house.
    Everywhere,
}

/// The commands that a platform may offer to whoever types a slash, with what they do. What only works with words behind
/// it is left out: `/help` tells of those.
pub const LISTED: [(&str, &str); 20] = [
    ("help", "what you can say"),
    ("status", "how I am and what I am doing"),
    ("stop", "end what I am doing here"),
    ("new", "begin a new conversation"),
    ("reset", "the same, and end what I am doing here"),
    ("clean", "go on with what you said, without what I have read"),
    ("compact", "sum up the older part of our conversation"),
    ("model", "show or choose the model"),
    ("auto", "let each message choose the model"),
    ("persona", "show or choose who I am here"),
    ("voice", "show or choose whether I speak my answers"),
    ("cost", "what was spent"),
    ("undo", "take back what I did last"),
    ("journal", "what I noted on the task I am at"),
    ("queue", "what waits"),
    ("pause", "stand still here"),
    ("resume", "go on"),
    ("schedules", "what I am to do later"),
    ("grants", "what I may do here without asking"),
    ("memory", "what I remember"),
];

/// The command in a message; none if it is not one. A path (`/etc/hosts`) is not.
pub fn parse(text: &str) -> Option<Command> {
    if let Some(asked) = PromptRequest::parse(text.trim()) {
        return Some(Command::Prompt(asked));
    }
    let mut words = text.trim().trim_end_matches(['!', '.']).strip_prefix('/')?.split_whitespace();
    let name = words.next().unwrap_or_default().to_lowercase();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let rest: Vec<&str> = words.collect();
    Some(match (name.as_str(), rest.as_slice()) {
        ("help" | "start", []) => Command::Help,
        ("status", []) => Command::Status,
        // Who says it with other words behind it, in whatever language, means it.
        ("stop", rest) => Command::Stop { at_once: matches!(rest, [word] if word.eq_ignore_ascii_case("now")) },
        ("new", []) => Command::New,
        ("reset", []) => Command::Reset,
        ("clean", []) => Command::Clean,
        ("compact", []) => Command::Compact,
        ("model", []) => Command::Model(None),
        ("auto", []) | ("model", ["auto"]) => Command::Auto,
        ("persona", []) => Command::Persona(None),
        ("persona", [name]) => Command::Persona(Some((*name).to_owned())),
        ("voice", []) => Command::Voice(None),
        ("voice", [mode]) => VoiceMode::parse(mode)
            .map_or_else(|| Command::Unknown(text.trim().to_owned()), |mode| Command::Voice(Some(mode))),
        ("cost", []) => Command::Cost,
        ("pause", []) => Command::Pause(PauseScope::Here),
        ("pause", ["all"]) => Command::Pause(PauseScope::Everywhere),
        ("resume", []) => Command::Resume(PauseScope::Here),
        ("resume", ["all"]) => Command::Resume(PauseScope::Everywhere),
        ("grants", []) => Command::Grants,
        ("grants", ["revoke", number]) => {
            number.parse().map_or_else(|_| Command::Unknown(text.trim().to_owned()), Command::Revoke)
        }
        ("schedules", []) => Command::Schedules,
        ("today", []) => Command::Today,
        ("schedules", [change, number]) => {
            schedule(change, number).unwrap_or_else(|| Command::Unknown(text.trim().to_owned()))
        }
        ("mail", words) => {
            MailCommand::parse(words).map_or_else(|| Command::Unknown(text.trim().to_owned()), Command::Mail)
        }
        ("journal", []) => Command::Journal,
        ("reload", []) => Command::Reload,
        ("undo", []) => Command::Undo,
        ("login", [server]) => Command::Login(LoginRequest { server: (*server).to_owned(), pasted: None }),
        ("login", [server, pasted]) => {
            Command::Login(LoginRequest { server: (*server).to_owned(), pasted: Some((*pasted).to_owned()) })
        }
        ("skills", []) => Command::Skills,
        // With a path at the terminal it never comes here.
        ("attach", _) => Command::Attach,
        ("model", [name]) => Command::Model(Some((*name).to_owned())),
        ("queue", []) => Command::Queue,
        ("queue", ["drop", number]) => {
            number.parse().map_or_else(|_| Command::Unknown(text.trim().to_owned()), Command::Drop)
        }
        ("queue", ["mode", mode]) => {
            IntakeMode::parse(mode).map_or_else(|| Command::Unknown(text.trim().to_owned()), Command::Mode)
        }
        ("group" | "people" | "pair" | "unpair", rest) => parse_access_command(&name, rest)
            .unwrap_or_else(|| Command::Unknown(text.trim().chars().take(60).collect())),
        (name, rest) => {
            parse_memory_command(name, rest).unwrap_or_else(|| Command::Unknown(text.trim().chars().take(60).collect()))
        }
    })
}

fn schedule(change: &str, number: &str) -> Option<Command> {
    let change = match change {
        "pause" => Change::Pause,
        "resume" => Change::Resume,
        "delete" => Change::Remove,
        "run" => Change::RunNow,
        _ => return None,
    };
    Some(Command::Schedule(change, ScheduleId(number.parse().ok()?)))
}

/// What is about who is let in, and where Hob answers.
fn parse_access_command(name: &str, rest: &[&str]) -> Option<Command> {
    Some(match (name, rest) {
        ("group", []) => Command::Group(GroupChange::Show),
        ("group", ["default"]) => Command::Group(GroupChange::AsConfigured),
        ("group", [mode]) => Command::Group(GroupChange::Set(GroupMode::parse(mode)?)),
        ("people", []) => Command::People,
        ("pair", []) => Command::Pair(None),
        ("pair", [code]) => Command::Pair(Some(PairRequest { code: (*code).to_owned(), role: PairRequest::USUAL })),
        ("pair", [code, role]) => {
            Command::Pair(Some(PairRequest { code: (*code).to_owned(), role: PairRequest::role(role)? }))
        }
        ("unpair", []) => Command::Unpair(None),
        ("unpair", who) => Command::Unpair(Some(who.join(" "))),
        _ => return None,
    })
}

/// What asks for memory takes words, as many as there are.
fn parse_memory_command(name: &str, rest: &[&str]) -> Option<Command> {
    let words = (!rest.is_empty()).then(|| rest.join(" "));
    let item = match rest {
        [name] => MemoryItem::parse(name),
        _ => None,
    };
    Some(match (name, rest) {
        ("why", []) => Command::Why,
        ("memory", _) => Command::Memory(words),
        ("facts", ["history", key @ ..]) if !key.is_empty() => Command::FactHistory(key.join(" ")),
        ("facts", _) => Command::Facts(words),
        ("forget", ["everything"]) => Command::Forget(ForgetTarget::Everything { sure: false }),
        ("forget", ["everything", "yes"]) => Command::Forget(ForgetTarget::Everything { sure: true }),
        ("forget", _) => Command::Forget(match (item, words) {
            (Some(item), _) => ForgetTarget::One(item),
            (None, Some(words)) => ForgetTarget::Words(words),
            (None, None) => ForgetTarget::Nothing,
        }),
        ("pin", _) => Command::Pin(item),
        ("unpin", _) => Command::Unpin(item),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_what_is_offered_is_there_and_fits_every_platform() {
        for (name, what) in LISTED {
            assert!(!matches!(parse(&format!("/{name}")), None | Some(Command::Unknown(_))), "{name}");
            // Telegram: 1 to 32 lowercase letters, digits and underscores; 1 to 256 characters.
            assert!(name.len() <= 32 && name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
            assert!(!what.is_empty() && what.len() <= 100, "{name}: {what}");
        }
    }
    use hob_core::domain::ids::{FactId, MemoryId};

    #[test]
    fn n8_reads_what_asks_for_memory() {
        let (said, known) = (MemoryItem::Memory(MemoryId(12)), MemoryItem::Fact(FactId(7)));
        let table = [
            ("/why", Command::Why),
            ("/why not", Command::Unknown("/why not".into())),
            ("/memory", Command::Memory(None)),
            ("/memory  Anna's   birthday", Command::Memory(Some("Anna's birthday".into()))),
            ("/facts", Command::Facts(None)),
            ("/facts history", Command::Facts(Some("history".into()))),
            ("/facts history home town", Command::FactHistory("home town".into())),
            ("/facts sister", Command::Facts(Some("sister".into()))),
            ("/forget", Command::Forget(ForgetTarget::Nothing)),
            ("/forget m12", Command::Forget(ForgetTarget::One(said))),
            ("/forget F7", Command::Forget(ForgetTarget::One(known))),
            ("/forget m12 f7", Command::Forget(ForgetTarget::Words("m12 f7".into()))),
            ("/forget 12", Command::Forget(ForgetTarget::Words("12".into()))),
            ("/forget my PIN", Command::Forget(ForgetTarget::Words("my PIN".into()))),
            ("/forget everything", Command::Forget(ForgetTarget::Everything { sure: false })),
            ("/forget everything yes", Command::Forget(ForgetTarget::Everything { sure: true })),
            ("/forget everything about Oslo", Command::Forget(ForgetTarget::Words("everything about Oslo".into()))),
            ("/pin m12", Command::Pin(Some(said))),
            ("/pin 12", Command::Pin(None)),
            ("/unpin f7", Command::Unpin(Some(known))),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn c1_reads_who_is_to_be_let_in() {
        let pair = |code: &str, role| Command::Pair(Some(PairRequest { code: code.to_owned(), role }));
        let table = [
            ("/pair", Command::Pair(None)),
            ("/pair ABCD-EFGH", pair("ABCD-EFGH", Role::User)),
            ("/pair ABCD-EFGH admin", pair("ABCD-EFGH", Role::Admin)),
            ("/pair ABCD-EFGH guest", pair("ABCD-EFGH", Role::Guest)),
            // An owner is made by the daemon's own code, or by the config.
            ("/pair ABCD-EFGH owner", Command::Unknown("/pair ABCD-EFGH owner".into())),
            ("/pair AB CD user", Command::Unknown("/pair AB CD user".into())),
            ("/people", Command::People),
            ("/people all", Command::Unknown("/people all".into())),
            ("/unpair", Command::Unpair(None)),
            ("/unpair p3", Command::Unpair(Some("p3".into()))),
            ("/unpair Eve  Adams", Command::Unpair(Some("Eve Adams".into()))),
            ("/group", Command::Group(GroupChange::Show)),
            ("/group all", Command::Group(GroupChange::Set(GroupMode::All))),
            ("/group mention", Command::Group(GroupChange::Set(GroupMode::Mention))),
            ("/group off", Command::Group(GroupChange::Set(GroupMode::Off))),
            ("/group default", Command::Group(GroupChange::AsConfigured)),
            ("/group loud", Command::Unknown("/group loud".into())),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn reads_commands_and_leaves_the_rest() {
        let table = [
            ("/help", Some(Command::Help)),
            ("  /STATUS ", Some(Command::Status)),
            ("/stop", Some(Command::Stop { at_once: false })),
            ("/stop now", Some(Command::Stop { at_once: true })),
            ("/new", Some(Command::New)),
            ("/reset", Some(Command::Reset)),
            ("/clean", Some(Command::Clean)),
            ("/compact", Some(Command::Compact)),
            ("/model", Some(Command::Model(None))),
            ("/model smart", Some(Command::Model(Some("smart".into())))),
            ("/model auto", Some(Command::Auto)),
            ("/auto", Some(Command::Auto)),
            ("/cost", Some(Command::Cost)),
            ("/voice", Some(Command::Voice(None))),
            ("/voice on", Some(Command::Voice(Some(VoiceMode::On)))),
            ("/voice auto", Some(Command::Voice(Some(VoiceMode::Auto)))),
            ("/voice loud", Some(Command::Unknown("/voice loud".into()))),
            ("/persona", Some(Command::Persona(None))),
            ("/persona cook", Some(Command::Persona(Some("cook".into())))),
            ("/persona of mine", Some(Command::Unknown("/persona of mine".into()))),
            (
                "/login notes http://h/?code=1",
                Some(Command::Login(LoginRequest { server: "notes".into(), pasted: Some("http://h/?code=1".into()) })),
            ),
            ("/login", Some(Command::Unknown("/login".into()))),
            ("/journal", Some(Command::Journal)),
            ("/skills", Some(Command::Skills)),
            ("/journal all", Some(Command::Unknown("/journal all".into()))),
            ("/queue", Some(Command::Queue)),
            ("/queue drop 2", Some(Command::Drop(2))),
            ("/queue drop two", Some(Command::Unknown("/queue drop two".into()))),
            ("/queue mode steer", Some(Command::Mode(IntakeMode::Steer))),
            ("/stop it now", Some(Command::Stop { at_once: false })),
            ("/stop bitte", Some(Command::Stop { at_once: false })),
            ("/stop Now", Some(Command::Stop { at_once: true })),
            ("/stop!", Some(Command::Stop { at_once: false })),
            ("/pause", Some(Command::Pause(PauseScope::Here))),
            ("/pause all", Some(Command::Pause(PauseScope::Everywhere))),
            ("/pause now", Some(Command::Unknown("/pause now".into()))),
            ("/resume", Some(Command::Resume(PauseScope::Here))),
            ("/resume all", Some(Command::Resume(PauseScope::Everywhere))),
            ("/schedules", Some(Command::Schedules)),
            ("/today", Some(Command::Today)),
            ("/schedules pause 3", Some(Command::Schedule(Change::Pause, ScheduleId(3)))),
            ("/schedules resume 3", Some(Command::Schedule(Change::Resume, ScheduleId(3)))),
            ("/schedules delete 3", Some(Command::Schedule(Change::Remove, ScheduleId(3)))),
            ("/schedules run 3", Some(Command::Schedule(Change::RunNow, ScheduleId(3)))),
            ("/schedules eat 3", Some(Command::Unknown("/schedules eat 3".into()))),
            ("/schedules run it", Some(Command::Unknown("/schedules run it".into()))),
            ("/attach", Some(Command::Attach)),
            ("/attach list.txt", Some(Command::Attach)),
            ("/grants", Some(Command::Grants)),
            ("/grants revoke 2", Some(Command::Revoke(2))),
            ("/grants revoke", Some(Command::Unknown("/grants revoke".into()))),
            ("/grants revoke pay", Some(Command::Unknown("/grants revoke pay".into()))),
            ("/frobnicate", Some(Command::Unknown("/frobnicate".into()))),
            ("/etc/hosts is broken", None),
            ("/", None),
            ("what does /help do?", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
