//! What a tool is: its trait, what is known of it, a call of it and what comes of that.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use crate::audience::Audience;
use crate::changes::Drafts;
use crate::dialogue::Dialogue;
use crate::hook::Hooks;
use crate::mcp::classes::Classes;
use crate::mcp::parked::ParkedCalls;
use crate::mention::Mention;
use crate::results::ResultStore;
use crate::workspace::Workspace;
use hob_core::domain::agents::Mission;
use hob_core::domain::draft::DraftUse;
use hob_core::domain::elicitation::Elicitation;
use hob_core::domain::ids::{CallId, RunId, SessionId, SessionKey, UserId};
use hob_core::domain::inbound::{ChannelKind, Conversation, DEFAULT_ACCOUNT};
use hob_core::domain::notebook::NotebookChange;
use hob_core::domain::origin::{OriginSource, Taint};
use hob_core::domain::outgoing::{DeliveryRequest, Destination};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::domain::tools::{Assessment, ToolFacts};
use hob_core::domain::undo::InverseCall;
use hob_core::policy::memory::SpeakingPlace;
use hob_memory::embedding::Bill;
use hob_model::provider::ToolSchema;
use hob_store::error::StoreError;

/// How long a tool may take (row E3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// As tools usually may.
    Usual,
    /// As tools may that let a model work in turn.
    Agent,
    /// As its own declaration says; zero: without end.
    Own(Duration),
}

/// What the usual timeouts are; zero: none (row E3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// A tool's.
    pub usual: Duration,
    /// An agent tool's.
    pub agent: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { usual: Duration::from_secs(120), agent: Duration::from_secs(600) }
    }
}

impl Timeouts {
    /// How long such a tool may take; none: without end.
    pub fn limit(&self, timeout: Timeout) -> Option<Duration> {
        let limit = match timeout {
            Timeout::Usual => self.usual,
            Timeout::Agent => self.agent,
            Timeout::Own(own) => own,
        };
        (!limit.is_zero()).then_some(limit)
    }
}

/// How tools are run here, whatever they are.
#[derive(Debug, Clone)]
pub struct ToolRuntime {
    /// How long they may take.
    pub timeouts: Timeouts,
    /// Who is asked before a call and told after it.
    pub hooks: Hooks,
    /// Where long results are kept.
    pub results: ResultStore,
    /// The drafts of the workspace.
    pub drafts: Drafts,
    /// What owners have said that the tools of MCP servers do.
    pub classes: Classes,
    /// Calls whose servers wait for a person's answer.
    pub parked: ParkedCalls,
}

impl ToolRuntime {
    /// As a household has it that configures nothing.
    pub fn plain(data_dir: &Path) -> Self {
        let hooks = Hooks::new(Vec::new(), data_dir);
        let drafts = Drafts::new(data_dir, &Workspace::of(data_dir));
        Self {
            timeouts: Timeouts::default(),
            hooks,
            results: ResultStore::of(data_dir),
            drafts,
            classes: Classes::default(),
            parked: ParkedCalls::default(),
        }
    }
}

/// What Hob and the model know of a tool.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// Name, description and arguments, for the model.
    pub schema: ToolSchema,
    /// Safe to run twice with the same arguments: after a crash it is simply run again.
    pub idempotent: bool,
    /// How long it may take.
    pub timeout: Timeout,
    /// What a run has to know of it.
    pub facts: ToolFacts,
    /// The group that personas choose tools by (row C3); `control` is always on offer.
    pub module: String,
    /// Who may have it called (row C5).
    pub role: Role,
    /// Its schema goes with every request; others are named there, and shown on need.
    pub core: bool,
    /// Whose words its description and its schema are, if nobody vouches for them: whoever reads them is tainted (row N6).
    pub words_of: Option<OriginSource>,
}

impl ToolSpec {
    /// The same tool in this module, for this role and those above.
    #[must_use]
    pub fn of(self, module: &str, role: Role) -> Self {
        Self { module: module.to_owned(), role, ..self }
    }

    /// The same tool, with these facts.
    #[must_use]
    pub fn with(self, facts: ToolFacts) -> Self {
        Self { facts, ..self }
    }

    /// The same tool, shown to the model only on need.
    #[must_use]
    pub fn shown_on_need(self) -> Self {
        Self { core: false, ..self }
    }
}

/// One call, with what every tool is told about it (row A10).
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Whose run, and whether their words may instruct.
    pub principal: Principal,
    /// Who Hob is for them; none: nobody in particular.
    pub persona: Option<String>,
    pub session: SessionKey,
    /// What kind of place it is: whose memories may be seen there.
    pub place: SpeakingPlace,
    /// Where the run's answer goes.
    pub destination: Destination,
    /// What the run has read up to now that nobody vouches for.
    pub taint: Taint,
    pub run: RunId,
    /// The call within it.
    pub call: CallId,
    /// 1 for the first time.
    pub attempt: u32,
    /// The arguments: an object that fits the schema.
    pub arguments: Value,
    /// Where it works, if it can work in a draft of the workspace.
    pub draft: DraftUse,
    /// What goes between it and people while it works.
    pub dialogue: Dialogue,
    pub now: Timestamp,
}

impl Invocation {
    /// On whose bill it is what the tool buys.
    pub(crate) fn bill(&self) -> Bill {
        Bill::Asked { user: self.principal.user, persona: self.persona.clone() }
    }

    /// Has the run listened up to now to words that nobody vouches for?
    pub fn is_tainted(&self) -> bool {
        !self.taint.is_clean() || self.principal.trust == Trust::Untrusted
    }

    /// A first call by a user of the house, in a private chat, of a run that has read nothing.
    #[doc(hidden)]
    pub fn for_trial(arguments: Value) -> Self {
        let (channel, account) = (ChannelKind::Telegram, DEFAULT_ACCOUNT.to_owned());
        let conversation = Conversation { channel, account, chat: "7".to_owned(), thread: None };
        Self {
            principal: Principal { user: UserId(1), name: "Ada".to_owned(), role: Role::User, trust: Trust::Trusted },
            persona: None,
            session: conversation.session_key(),
            place: SpeakingPlace { session: SessionId(7), private: true },
            destination: Destination { conversation, reply_to: None },
            taint: Taint::default(),
            run: RunId(12),
            call: CallId::new(1, 0),
            attempt: 1,
            arguments,
            draft: DraftUse::AtOnce,
            dialogue: Dialogue::default(),
            now: Timestamp::UNIX_EPOCH,
        }
    }
}

/// A file that a tool brings along with its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Words for the model.
    Text(String),
    /// A command ended; any code but 0 is a failure.
    Exited {
        /// Its output, in words for the model.
        text: String,
        code: i32,
    },
    /// It failed; words for the model (row D5).
    Error(String),
    /// It failed in a way that may pass by itself: a timeout, a refused connection, 429, 5xx (row B1).
    Transient(String),
    /// Something that only the machine can do.
    Request(Request),
    /// Any of the others, with words in it that come from there: who reads them is tainted (row N6).
    From(OriginSource, Box<Self>),
    /// Any of the others, with files: they are recorded as those are that come with messages, and pictures are shown to the
    /// model (row C6).
    Along(Vec<OutputFile>, Box<Self>),
    /// Any of the others, of an effect that this call takes back: it is offered for an hour (row N16).
    Undoable(Box<InverseCall>, Box<Self>),
}

/// What a call ends with. An outcome that breaks it off is handed up by `?`; to whoever called, both sides are outcomes.
pub type ToolResult = Result<Outcome, Outcome>;

/// What a tool asks of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// To read or change the run's journal (row B12).
    Notebook(NotebookChange),
    /// That what the call names is planned (row N16).
    Plan,
    /// A larger budget of iterations (row A6).
    MoreIterations { reason: String },
    /// An agent that works on a task by itself.
    Spawn(Mission),
    /// That an agent at work hears something, and its report.
    Tell {
        /// The agent's number.
        agent: u32,
        text: String,
    },
    /// A person's answer (row B15).
    Ask {
        question: String,
        /// A server asks it: the call goes on with the answer, and is made again for that.
        form: Option<Box<Elicitation>>,
    },
    /// Nothing: the call was to go on with an answer, and what it was at is gone.
    CutOff,
    /// Words or a file to be delivered, once.
    Deliver(Box<DeliveryRequest>),
}

impl Outcome {
    /// The same, with words in it that come from there.
    #[must_use]
    pub fn from(self, source: OriginSource) -> Self {
        Self::From(source, Box::new(self))
    }

    /// The same; this call, with all of its arguments as they are now, takes the effect back.
    #[must_use]
    pub fn undone_by(self, inverse: InverseCall) -> Self {
        Self::Undoable(Box::new(inverse), Box::new(self))
    }

    /// The same, with these files.
    #[must_use]
    pub fn with_files(self, files: Vec<OutputFile>) -> Self {
        if files.is_empty() { self } else { Self::Along(files, Box::new(self)) }
    }

    /// The same, with a line of Hob's below its words, if it has any.
    #[must_use]
    pub fn with(self, line: &str) -> Self {
        let told = |text: String| format!("{text}\n{line}");
        match self {
            Self::Text(text) => Self::Text(told(text)),
            Self::Exited { text, code } => Self::Exited { text: told(text), code },
            Self::Error(text) => Self::Error(told(text)),
            Self::Transient(text) => Self::Transient(told(text)),
            Self::Request(request) => Self::Request(request),
            Self::From(source, inner) => Self::From(source, Box::new(inner.with(line))),
            Self::Along(files, inner) => Self::Along(files, Box::new(inner.with(line))),
            Self::Undoable(inverse, inner) => Self::Undoable(inverse, Box::new(inner.with(line))),
        }
    }

    /// What came of it, whether it was gone through with or broken off.
    pub fn of(ended: ToolResult) -> Self {
        match ended {
            Ok(outcome) | Err(outcome) => outcome,
        }
    }

    /// A tool's words about the database that failed it: whether that may pass, the database knows.
    pub fn of_store(error: &StoreError, text: String) -> Self {
        if error.is_passing() { Self::Transient(text) } else { Self::Error(text) }
    }
}

/// Whether somebody has told the run this.
pub type MentionCheck<'a> = dyn Fn(&Mention<'_>) -> bool + Send + Sync + 'a;

/// A tool. Dropping the future of [`Tool::call`] stops it, with everything it started.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What is known of it.
    fn spec(&self) -> &ToolSpec;

    /// Does this argument only say something? All others steer the call (row N16).
    fn is_content(&self, _argument: &str) -> bool {
        false
    }

    /// What its settings name that a call may be steered by, such as those whom it may write to (row N16).
    fn settled(&self) -> Vec<String> {
        Vec::new()
    }

    /// For whom it is, beside role and module; none: for everybody whom these let have it.
    fn audience(&self) -> Option<&dyn Audience> {
        None
    }

    /// Does the result of such a call say how its effect is taken back ([`Outcome::undone_by`])? Then it is graded lower (row N16).
    fn undoable(&self, _arguments: &Value) -> bool {
        false
    }

    /// What is to be known of a call before it is made. Its arguments fit the schema; nothing may be changed or sent for it.
    /// `is_mentioned` tells whether somebody has told the run an address or a word up to now.
    async fn assess(&self, _invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        Assessment::usual(self.spec().facts.risk)
    }

    /// Runs it.
    async fn call(&self, invocation: Invocation) -> ToolResult;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b1_what_the_database_says_will_pass_may_pass() {
        let of = |error| Outcome::of_store(&error, "no".to_owned());
        assert_eq!(of(StoreError::Busy(String::new())), Outcome::Transient("no".to_owned()));
        assert_eq!(of(StoreError::Damaged(String::new())), Outcome::Error("no".to_owned()));
    }

    #[test]
    fn e3_a_tool_has_two_minutes_an_agent_ten_and_zero_is_no_limit() {
        let secs = |timeout| Timeouts::default().limit(timeout).map(|limit| limit.as_secs());
        assert_eq!((secs(Timeout::Usual), secs(Timeout::Agent)), (Some(120), Some(600)));
        assert_eq!(secs(Timeout::Own(Duration::from_secs(3))), Some(3));
        assert_eq!(secs(Timeout::Own(Duration::ZERO)), None);
        let none = Timeouts { usual: Duration::ZERO, agent: Duration::ZERO };
        assert_eq!((none.limit(Timeout::Usual), none.limit(Timeout::Agent)), (None, None));
    }
}
