//! Why Hob could not start.

use crate::daemon::channels::BuildError;
use hob_core::domain::inbound::ChannelKind;
use hob_model::discover::DiscoverError;
use hob_model::error::ModelError;
use hob_model::model_table::TableError;
use hob_store::backup::BackupError;
use hob_store::error::StoreError;
use hob_store::lock::LockError;

/// Hob could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process has the data directory.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A backup that was being restored cannot be put in place.
    #[error("a restore that was cut off cannot be finished: {0}")]
    Restore(#[from] BackupError),
    /// The configured model cannot be used.
    #[error("[provider]: {0}")]
    Provider(#[from] DiscoverError),
    /// A configured fallback cannot be used.
    #[error("[[provider.fallbacks]] {model}: {source}")]
    Fallback {
        /// Which.
        model: String,
        /// Why.
        source: DiscoverError,
    },
    /// A model's client cannot be built.
    #[error("[provider]: {0}")]
    Model(#[from] ModelError),
    /// The table of models cannot be read.
    #[error("the table of models: {0}")]
    Table(#[from] TableError),
    /// A platform's client cannot be built.
    #[error("[{channel}] ({account}): {source}")]
    Channel {
        channel: ChannelKind,
        account: String,
        /// Why.
        source: BuildError,
    },
    /// The address of `[server]` cannot be had.
    #[error("[server] listen = {address:?}: {source}")]
    Listen {
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// A value that the config's validator should have refused.
    #[error("{0}")]
    Config(String),
}

impl StartError {
    /// Whether Hob could start with another config, and cannot with this one however often it is tried. A server that is not
    /// up yet is another matter, and so is a port that is taken: it may be had a moment later.
    pub fn is_of_config(&self) -> bool {
        match self {
            Self::Lock(_) | Self::Store(_) | Self::Restore(_) | Self::Listen { .. } => false,
            Self::Provider(source) | Self::Fallback { source, .. } => *source != DiscoverError::NoOllama,
            Self::Model(_) | Self::Table(_) | Self::Channel { .. } | Self::Config(_) => true,
        }
    }
}
