//! What a server was found to refuse: such a parameter is left out, or given its other name, from then on.
//!
//! Never: I/O; what outlives the process goes through [`RefusedParameterStore`].
//! Start at `ParameterMemory`. A dialect builds its request by `ParameterMemory::current`, asks, and asks again at once as long as
//! `ParameterMemory::learn` says that the refusal taught something: `ADAPTATIONS_MAX` times for one call, no more.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::error::ErrorClass;
use crate::exchange::answer::Failure;
use hob_core::domain::lock::lock;

#[cfg(test)]
mod tests;

/// How often one call is changed and made again.
pub(crate) const ADAPTATIONS_MAX: usize = 4;

/// What is learned where a model thinks unless it is told not to, and takes no tools while it thinks (OpenAI's, from
/// GPT-5.6 on): no name on the wire, for what it refuses may not have been sent.
pub(crate) const THINKING_BESIDE_TOOLS: &str = "thinking beside tools";
/// How such a model says so.
const NOT_BESIDE_TOOLS: &str = "set reasoning_effort to 'none'";

/// The parameters that one model at one server refuses, by their names on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RefusedParameters(BTreeSet<String>);

impl RefusedParameters {
    /// Whether the parameter is refused.
    pub fn refuses(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The first of the names that is not refused.
    pub fn usable(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| !self.refuses(name))
    }

    /// Learns from a refusal; answers with the parameter, one of those `sent`, that is to be done without.
    pub fn learn(&mut self, failure: &Failure, sent: &[&'static str]) -> Option<&'static str> {
        let name = refused(failure, sent)?;
        self.0.insert(name.to_owned()).then_some(name)
    }
}

/// Which of the parameters `sent` the server refuses, if it is one of them that it refuses.
fn refused(failure: &Failure, sent: &[&'static str]) -> Option<&'static str> {
    if failure.error.class != ErrorClass::BadRequest || !matches!(failure.status, 400 | 422) {
        return None;
    }
    if let Some(name) = sent.iter().copied().find(|name| *name == THINKING_BESIDE_TOOLS)
        && failure.body.contains(NOT_BESIDE_TOOLS)
    {
        return Some(name);
    }
    if let Some(told) = &failure.error.parameter {
        // `stream_options.include_usage`, `messages[0].content[1].image_url`
        let told: Vec<&str> = told.split(['.', '[', ']']).collect();
        if let Some(name) = sent.iter().copied().find(|name| told.contains(name)) {
            return Some(name);
        }
    }
    let found = sent.iter().copied().filter_map(|name| Some((word_position(&failure.body, name)?, name)));
    found.min().map(|(_, name)| name)
}

/// Where `name` stands in the text, not as a part of a longer name.
fn word_position(text: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).map(|(at, _)| at).find(|&at| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(part) && !after.starts_with(part)
    })
}

/// Keeps what was learned across restarts; `place` names a model at a server.
pub trait RefusedParameterStore: Send + Sync {
    /// What was learned before.
    fn load(&self, place: &str) -> RefusedParameters;

    /// Something was learned: this is all of it.
    fn learned(&self, place: &str, learned: &RefusedParameters);
}

/// Remembers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoParameterStore;

impl RefusedParameterStore for NoParameterStore {
    fn load(&self, _place: &str) -> RefusedParameters {
        RefusedParameters::default()
    }

    fn learned(&self, _place: &str, _learned: &RefusedParameters) {}
}

/// What is known of one model at one server; calls at the same time share it.
pub(crate) struct ParameterMemory {
    place: String,
    learned: Mutex<RefusedParameters>,
    remember: Arc<dyn RefusedParameterStore>,
}

impl ParameterMemory {
    /// What was learned before of the model `label` at `base_url`.
    pub(crate) fn new(label: &str, base_url: &str, remember: Arc<dyn RefusedParameterStore>) -> Self {
        let place = format!("{label} at {}", base_url.trim().trim_end_matches('/'));
        let learned = Mutex::new(remember.load(&place));
        Self { place, learned, remember }
    }

    /// What is known by now.
    pub(crate) fn current(&self) -> RefusedParameters {
        lock(&self.learned).clone()
    }

    /// Learns from a refusal of a request that was built with `known` and had the parameters `sent`; answers whether
    /// another attempt will differ.
    pub(crate) fn learn(&self, failure: &Failure, known: &RefusedParameters, sent: &[&'static str]) -> bool {
        let mut learned = lock(&self.learned);
        if let Some(parameter) = learned.learn(failure, sent) {
            tracing::info!(place = %self.place, parameter, "the model does not take this parameter: it is left out");
            self.remember.learned(&self.place, &learned);
        }
        // Perhaps another call has learned it in the meantime.
        *learned != *known
    }
}
