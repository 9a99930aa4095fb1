//! What goes between a call at work and people: what it is at, for whoever watches, and what they have answered its server.

use std::fmt;
use std::sync::Arc;

use hob_core::domain::elicitation::ElicitReply;

/// That; by default nobody watches, and nothing was answered.
#[derive(Debug, Clone, Default)]
pub struct Dialogue {
    /// What a person has answered, where this very call has asked them: it goes on with that.
    pub answer: Option<ElicitReply>,
    /// Who hears what it is at.
    pub activity: ActivityListener,
}

/// Who hears what a call is at.
#[derive(Clone, Default)]
pub struct ActivityListener(Option<Arc<ActivityFn>>);

type ActivityFn = dyn Fn(&str) + Send + Sync;

impl ActivityListener {
    pub fn new(hears: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hears)))
    }

    /// It is at this, in words on a line.
    pub fn hear(&self, words: &str) {
        if let Some(hears) = &self.0 {
            hears(words);
        }
    }
}

impl fmt::Debug for ActivityListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActivityListener({})", self.0.is_some())
    }
}
