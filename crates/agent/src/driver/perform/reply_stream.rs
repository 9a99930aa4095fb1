//! What is shown of a reply while it comes.

use std::sync::{Arc, Mutex};

use crate::driver::metrics::StageTimers;
use crate::driver::perform::ReplyTarget;
use crate::machine::texts::may_be_silence;
use crate::ports::RunWatcher;
use hob_core::domain::channel::Progress;
use hob_core::domain::ids::RunId;
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::Destination;
use hob_model::provider::Sink;

/// The way of a reply to whoever watches.
pub(super) struct ReplyStream {
    watcher: Arc<dyn RunWatcher>,
    destination: Destination,
    run: RunId,
    stages: StageTimers,
    /// What comes may be no word for a person.
    mute: bool,
    /// What is held back, for as long as it may turn out to be silence (row E13). None: it is not.
    held: Mutex<Option<String>>,
}

impl ReplyStream {
    /// For one call of a model; one that is mute shows nothing.
    pub(super) fn of(stage: &ReplyTarget<'_>, mute: bool) -> Self {
        Self {
            watcher: Arc::clone(&stage.ports.watcher),
            destination: stage.destination.clone(),
            run: stage.run,
            stages: stage.stages.clone(),
            mute,
            held: Mutex::new(Some(String::new())),
        }
    }

    /// Tells whoever watches.
    pub(super) fn tell(&self, progress: Progress) {
        self.watcher.progress(&self.destination, self.run, progress);
    }
}

impl Sink for ReplyStream {
    fn delta(&self, text: &str) {
        self.stages.first_token();
        if self.mute {
            return;
        }
        let mut held = lock(&self.held);
        let shown = match held.take() {
            None => text.to_owned(),
            Some(begun) => {
                let begun = begun + text;
                if may_be_silence(&begun) {
                    *held = Some(begun);
                    return;
                }
                begun
            }
        };
        drop(held);
        self.tell(Progress::Delta(shown));
    }
}
