//! A model that cannot be asked, as what it needs is missing: it says so, and whatever names it still finds it.
//!
//! Never: a call.

use async_trait::async_trait;

use crate::error::{ErrorClass, ModelError};
use crate::message::Completion;
use crate::provider::{ModelCheck, Provider, Request, Sink};

/// A model in whose place there are only words on what is missing.
#[derive(Debug, Clone)]
pub struct UnconfiguredProvider {
    /// `provider/model`.
    pub label: String,
    /// What is missing, for people.
    pub missing: String,
}

impl UnconfiguredProvider {
    fn error(&self) -> ModelError {
        ModelError::new(ErrorClass::Auth, format!("{} is off: {}", self.label, self.missing))
    }
}

#[async_trait]
impl Provider for UnconfiguredProvider {
    fn label(&self) -> &str {
        &self.label
    }

    async fn complete(&self, _request: &Request, _sink: &dyn Sink) -> Result<Completion, ModelError> {
        Err(self.error())
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        Err(self.error())
    }
}
