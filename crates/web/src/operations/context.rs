//! What is needed of the running Hob beside its router: its config file, and where its data is.

use crate::status::StatusPaths;
use hob_config::environment::Environment;
use hob_config::good_configs::GoodConfigHistory;
use hob_config::writer::Writer;
use hob_core::domain::secret::Secret;

/// The config file of a running Hob.
pub struct ConfigFile {
    pub writer: Writer,
    /// The configs with which a model answered.
    pub history: GoodConfigHistory,
    /// What its `${NAME}` stand for.
    pub environment: Environment,
    /// The text that runs, as it was read. It may hold keys.
    pub running: Box<dyn Fn() -> Secret + Send + Sync>,
}

/// What the operations work with besides.
pub struct OperationsContext {
    /// Where things are.
    pub places: StatusPaths,
    /// The config file; none: Hob was started without one.
    pub config: Option<ConfigFile>,
}
