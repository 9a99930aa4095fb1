//! The port to everything that is neither the person nor the config: model servers, platforms, the service manager.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;

use crate::cli::init::asker::SetupError;
use crate::cli::init::save::ConfigDraft;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::money::Money;
use hob_model::provider::OfferedModel;

/// Why something outside does not work, in words that say what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetupTrouble {
    /// The words.
    pub(super) why: String,
    /// The key or token itself is refused.
    pub(super) of_key: bool,
}

/// A conversation of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TrialTurn {
    pub(super) model: String,
    pub(super) asked: String,
    pub(super) said: String,
    /// The tools that it called, and got an answer from.
    pub(super) tools: Vec<String>,
    /// From the question to the answer.
    pub(super) took: Duration,
    /// What it cost; none: the price is not known.
    pub(super) cost: Option<Money>,
}

/// What came of waiting for the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OwnerOutcome {
    /// They wrote, and Hob's answer has reached them.
    Owner { name: String },
    /// They wrote, and the answer could not be sent.
    Mute { why: String },
    /// The person at the terminal waits no longer, or it took too long.
    Nobody,
}

/// How Hob is started from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// As your own service
    User,
    /// As the machine's; needs root
    System,
    /// By hand: `hob run`
    None,
}

impl Service {
    /// As it is written down.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::System => "system",
            Self::None => "none",
        }
    }
}

/// Everything outside. What takes long ends with [`SetupError::Left`] when the person presses Ctrl-C.
pub(super) trait SetupEnvironment {
    /// Whether this Hob was built with the platform of this section.
    fn is_built(&self, section: &str) -> bool;

    /// The model of an Ollama on this machine, if one answers.
    fn ollama(&mut self) -> Result<Option<String>, SetupError>;

    /// What the provider of this config offers; none: it keeps no list.
    fn offered(&mut self, draft: &ConfigDraft) -> Result<Result<Option<Vec<OfferedModel>>, SetupTrouble>, SetupError>;

    /// Asks the model of this config one question that needs a tool, through the parts of the daemon, in a place that is
    /// thrown away.
    fn turn(&mut self, draft: &ConfigDraft) -> Result<Result<TrialTurn, SetupTrouble>, SetupError>;

    /// Starts Hob with one channel of this config, and gives who Hob is there. It goes on until [`SetupEnvironment::hang_up`].
    fn connect(
        &mut self,
        draft: &ConfigDraft,
        channel: ChannelKind,
    ) -> Result<Result<String, SetupTrouble>, SetupError>;

    /// A new code; whoever sends it by the connected channel becomes an owner.
    fn code(&mut self) -> Result<String, SetupError>;

    /// Waits until an owner has written by the connected channel and has an answer. Ctrl-C ends the waiting alone.
    fn hear(&mut self) -> Result<OwnerOutcome, SetupError>;

    /// Stops what [`SetupEnvironment::connect`] began. The code holds no more.
    fn hang_up(&mut self) -> Result<(), SetupError>;

    /// By which channels an owner was paired before.
    fn paired(&mut self, draft: &ConfigDraft) -> Result<BTreeSet<ChannelKind>, SetupError>;

    /// This machine's address in the network of a home, if it is in one.
    fn home_address(&self) -> Option<IpAddr>;

    /// A link to the page of the Hob that was started from this config, with what it does, as it is shown at a terminal; none: it
    /// serves none.
    fn page(&mut self, draft: &ConfigDraft) -> Result<Option<String>, SetupError>;

    /// Installs the service.
    fn serve(&mut self, service: Service, config: &Path) -> Result<(), SetupTrouble>;
}
