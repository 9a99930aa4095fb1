//! What the driver is given: the world, as arguments.

use std::sync::Arc;
use std::time::Duration;

use crate::machine::policy::Policy;
use crate::persona::Personas;
use crate::prompt::PromptSettings;
use crate::quota::QuotaChecker;
use crate::token_counts::TokenCountHistory;
use hob_core::domain::channel::Progress;
use hob_core::domain::clock::Clock;
use hob_core::domain::ids::{RunId, SessionId};
use hob_core::domain::outgoing::Destination;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::Rng;
use hob_core::policy::access::AccessList;
use hob_memory::recall::Memory;
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::Catalog;
use hob_model::model_table::ModelTable;
use hob_skill::library::Library;
use hob_store::Store;
use hob_store::contents::Contents;
use hob_store::outbox::PendingChunk;
use hob_telemetry::meters::Meters;
use hob_tools::ToolRuntime;
use hob_tools::registry_handle::ToolRegistryHandle;

/// Hears of runs while they go on; must return at once.
pub trait RunWatcher: Send + Sync {
    /// A sign of life.
    fn progress(&self, destination: &Destination, run: RunId, progress: Progress);

    /// Rows were added to a session's outbox.
    fn outbox_changed(&self, session: SessionId);

    /// Nobody else sends in this session until what is given is dropped; none: somebody does.
    fn reserve(&self, session: SessionId) -> Option<Box<dyn OutboxReservation>>;
}

/// A session in which nobody sends until this is dropped.
pub trait OutboxReservation: Send + Sync {
    /// What is sent then, which counts as being sent already.
    fn begin_with(&mut self, first: PendingChunk);
}

/// The numbers of a run, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLimits {
    /// Model calls that may ask for tools.
    pub iterations: u32,
    /// What one request for more adds.
    pub iterations_step: u32,
    /// The most that can be reached.
    pub iterations_cap: u32,
    /// After this, one last turn.
    pub soft: Duration,
    /// After this, the end.
    pub hard: Duration,
    /// The most characters of a tool's result.
    pub tool_output_chars_max: usize,
    /// How runs are decided.
    pub policy: Policy,
}

/// Everything a driver needs.
pub struct Ports {
    pub store: Store,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    pub models: Arc<Catalog>,
    /// The tools, which come and go.
    pub tools: Arc<ToolRegistryHandle>,
    /// Who Hob is where.
    pub personas: Arc<Personas>,
    /// Finds this Hob's secrets: nothing that is recorded or shown holds one.
    pub redactor: Redactor,
    /// How they are run.
    pub toolbox: ToolRuntime,
    /// What is remembered.
    pub memory: Memory,
    /// The contents of files: pictures are among them.
    pub contents: Contents,
    pub skills: Arc<Library>,
    pub prompt: PromptSettings,
    /// The numbers.
    pub limits: RunLimits,
    /// What models can do and cost.
    pub table: Arc<ModelTable>,
    /// How the models' providers count.
    pub counts: Arc<TokenCountHistory>,
    /// The tokens of a reply that are set aside for each call.
    pub reply_tokens: u64,
    /// The household's caps on money.
    pub budget_guard: Arc<BudgetGuard>,
    /// The limits of each person.
    pub meter: Arc<QuotaChecker>,
    /// Who is let in.
    pub access: Arc<AccessList>,
    /// Jitter.
    pub rng: Arc<dyn Rng>,
    /// What is counted.
    pub meters: Arc<Meters>,
    /// Who hears of progress.
    pub watcher: Arc<dyn RunWatcher>,
    /// This process's name on leases.
    pub owner: String,
    /// How long a lease lasts without a heartbeat.
    pub lease: Duration,
}
