//! What it takes to reach a model, whatever its dialect.
//!
//! Never: a default that belongs to one provider.
//! Start at [`Settings`].

use std::time::Duration;

use hob_core::domain::choices::Effort;
use hob_core::domain::secret::Secret;

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For the connection.
    pub connect: Duration,
    /// From sending to the first event of the reply.
    pub first_event: Duration,
    /// From one event to the next.
    pub between_events: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_event: Duration::from_secs(120),
            between_events: Duration::from_secs(60),
        }
    }
}

/// What the owner sets about a model's way of answering; what is not set is left to the provider.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tuning {
    /// How freely it chooses its words: 0 to 2.
    pub temperature: Option<f64>,
    /// The most tokens of one reply.
    pub max_output_tokens: Option<u64>,
    /// How much it thinks.
    pub effort: Option<Effort>,
}

/// What it takes to reach a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where the API is; the dialect adds its own path.
    pub base_url: String,
    /// Local servers need none.
    pub api_key: Option<Secret>,
    /// As the provider calls it.
    pub model: String,
    /// `provider/model`, for people; what it sealed is known by it.
    pub label: String,
    /// How long to wait.
    pub deadlines: Deadlines,
    /// How it is to answer.
    pub tuning: Tuning,
    /// Whether it takes pictures.
    pub sees_images: bool,
    /// The most tokens it can read and write, where that is known.
    pub context_tokens: Option<u64>,
}
