//! What every part needs to know of a tool without knowing the tool.

use serde::{Deserialize, Serialize};

use crate::domain::plan::PlannedCall;
use crate::domain::tool_class::ServerClassification;

/// The module of the tools by which a run is steered: they are always on offer.
pub const CONTROL: &str = "control";

/// The tool by which those are shown and called whose schemas are not in every request.
pub const USE_TOOL: &str = "use_tool";

/// The tool by which what a run has changed in its draft of the workspace is kept.
pub const KEEP_CHANGES: &str = "keep_changes";

/// The tool by which a run says what it intends, before it reads what others wrote.
pub const PLAN: &str = "plan";

/// The tool by which a question about what another one finds is put to a reader.
pub const ASK_READER: &str = "ask_reader";

/// The tool by which skills are read: who does not have it is not told of any.
pub const USE_SKILL: &str = "use_skill";

/// The modules of the built-in tools that personas choose by (row C3).
pub const MODULES: [&str; 13] = [
    "memory",
    "time",
    "journal",
    "commands",
    "files",
    "terminal",
    "web",
    "messages",
    "schedules",
    "agents",
    "skills",
    "system",
    "mcp",
];

/// The built-in tools.
pub const BUILT_IN: [&str; 39] = [
    "agent_send",
    "append_run_journal_entry",
    "ask_human",
    ASK_READER,
    "cli_agent",
    "current_time",
    "delete_file",
    "edit_file",
    "forget",
    "get_run_journal",
    "http_request",
    KEEP_CHANGES,
    "keep_file",
    "list_files",
    "manage_config",
    "manage_people",
    "manage_skills",
    "move_file",
    PLAN,
    "read_file",
    "read_result",
    "recall",
    "remember_fact",
    "request_more_iterations",
    "schedule",
    "search_files",
    "send_file",
    "send_message",
    "spawn_agent",
    "system_info",
    "terminal",
    "update_run_journal",
    USE_SKILL,
    USE_TOOL,
    "watch_command",
    "watch_page",
    "web_fetch",
    "web_search",
    "write_file",
];

/// What a run knows of a tool, as it was when the run began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and stored")]
pub struct ToolFacts {
    /// It changes something outside: what it did must be told as it was (row E10).
    pub changes: bool,
    /// It runs alone: no other call of the same reply beside it (row D4).
    pub exclusive: bool,
    /// It works on the files of the workspace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub workspace: bool,
    /// A person has to approve each call (row D6).
    pub approval: Approval,
    /// What a call may do, at most.
    #[serde(skip_serializing_if = "Risk::is_read")]
    pub risk: Risk,
    /// What a call does depends on how things stand: it runs alone, and its tool looks at it anew as it starts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_state: bool,
}

impl ToolFacts {
    /// Does no other call of the same reply run beside it?
    pub fn is_alone(&self) -> bool {
        self.exclusive || self.by_state
    }

    /// What a call may do, at most. What is only known to change something is taken for more than a look.
    pub fn most(&self) -> Risk {
        if self.changes && self.risk.is_read() { Risk::Execute } else { self.risk }
    }
}

/// What a call may do, from little to much. From `Write` on it has an effect: a tainted run may not have it unasked (row N6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It looks at something.
    #[default]
    Read,
    /// It changes what Hob keeps, files or memory.
    Write,
    /// It runs something.
    Execute,
    /// It tells somebody something, an address on the network too.
    Send,
    /// It spends money.
    Spend,
}

impl Risk {
    /// Has it no effect?
    pub fn is_read(&self) -> bool {
        *self == Self::Read
    }

    /// In a word, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Send => "send",
            Self::Spend => "spend",
        }
    }
}

/// How dangerous one call is, by its arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DangerGrade {
    /// It may be made as the tool's settings say.
    #[default]
    Safe,
    /// A person is asked, unless they have said "always".
    Medium,
    /// A person is asked each time.
    High,
    /// A person is asked each time, with a warning.
    Critical,
    /// Nobody may have it made.
    Refused,
}

impl DangerGrade {
    /// Is there nothing to be said of it?
    pub fn is_safe(&self) -> bool {
        *self == Self::Safe
    }

    /// One less, of what can be taken back. What is critical stays so, and what nobody may have made.
    #[must_use]
    pub fn lowered(self) -> Self {
        match self {
            Self::Safe | Self::Medium => Self::Safe,
            Self::High => Self::Medium,
            Self::Critical | Self::Refused => self,
        }
    }

    /// In a word, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
            Self::Refused => "refused",
        }
    }
}

/// What "always" would cover, said of a call (row D6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// Calls of the tool that are told in the same words.
    #[default]
    SameArguments,
    /// Calls of the tool whose arguments, as it gets them, have this digest.
    Call(String),
    /// Calls that run this program, for the same reasons: nobody says that any more, but stored journals do.
    Program(String),
    /// Nothing that could be said: it is not offered.
    Never,
}

impl GrantScope {
    fn is_usual(&self) -> bool {
        *self == Self::SameArguments
    }
}

/// What a tool says of one call before it is made. It is looked at when the model's reply is taken in, and recorded with it;
/// where it depends on how things stand, again as the call starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    /// What this call may do: perhaps less than its tool.
    #[serde(default, skip_serializing_if = "Risk::is_read")]
    pub risk: Risk,
    /// How dangerous it is.
    #[serde(default, skip_serializing_if = "DangerGrade::is_safe")]
    pub grade: DangerGrade,
    /// Why, in words for people; each is a sentence without its full stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The site that a look goes out to by an address which the run was told. A tainted run has few of these unasked: which
    /// of many addresses it chooses says something as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Where what it changes lies, if a link leads elsewhere than the arguments say: absolute or within the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind_links: Vec<String>,
    /// What it changes can be judged afterwards: it works in a draft of the workspace, and reaches nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contained: bool,
    /// What its tool is for, in a sentence for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What "always" would cover.
    #[serde(default, skip_serializing_if = "GrantScope::is_usual")]
    pub always: GrantScope,
    /// Of a call that plans: the calls that it names, with who has said what steers them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlannedCall>,
    /// Its effect can be taken back for a while, if the answer leaves a way (`policy::undo`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undoable: bool,
    /// The tools of its server that nobody has classed, where that can be done with the answer to a question about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classing: Option<Box<ServerClassification>>,
}

impl Assessment {
    /// A call like any other of its tool.
    pub fn usual(risk: Risk) -> Self {
        Self { risk, ..Self::default() }
    }
}

/// Whether a person has to approve a call (row D6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// No.
    #[default]
    Free,
    /// Yes, unless they have said "always".
    Ask,
    /// Yes, each time: no "always" covers it.
    Critical,
}
