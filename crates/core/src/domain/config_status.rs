//! How it stands with the config of a running Hob, for `/status`, health and whoever asks; and the bell by which somebody has
//! it read again (row K5).

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tokio::sync::{Notify, watch};

use crate::domain::inbound::Conversation;
use crate::domain::lock::lock;

/// So many people may wait for an answer at a time.
const ASKING_MAX: usize = 16;

/// What runs, and what does not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigStatus {
    /// Since when it runs; none: there is no config file.
    pub at: Option<Timestamp>,
    /// The SHA-256 of its text, in hex.
    pub hash: String,
    /// How many keys it changed of what ran before; none: it is what Hob was started with.
    pub changes: Option<usize>,
    /// What was refused since, and when: file, line, key, what was expected.
    pub refused: Option<(Timestamp, String)>,
    /// The keys whose change waits for a restart.
    pub waits: Vec<String>,
}

/// The standing of this process's config; whoever has a clone sees and asks the same.
#[derive(Debug, Clone, Default)]
pub struct ConfigStatusHandle(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    now: watch::Sender<ConfigStatus>,
    asking: Mutex<Vec<Conversation>>,
    bell: Notify,
}

impl ConfigStatusHandle {
    /// How it stands.
    pub fn status(&self) -> ConfigStatus {
        self.0.now.borrow().clone()
    }

    /// From now on it stands so.
    pub fn set_status(&self, change: impl FnOnce(&mut ConfigStatus)) {
        self.0.now.send_modify(change);
    }

    /// Hears of every change from now on.
    pub fn subscribe(&self) -> watch::Receiver<ConfigStatus> {
        self.0.now.subscribe()
    }

    /// Somebody wants it read again, and hears there what came of it.
    pub fn request_reload(&self, place: Conversation) {
        let mut asking = lock(&self.0.asking);
        if asking.len() < ASKING_MAX && !asking.contains(&place) {
            asking.push(place);
        }
        self.wake_reloader();
    }

    /// It is to be read again; whoever wants that sees what came of it in [`Self::status`].
    pub fn wake_reloader(&self) {
        self.0.bell.notify_one();
    }

    /// Waits until somebody asks.
    pub async fn wait_for_request(&self) {
        self.0.bell.notified().await;
    }

    /// Who has asked since this was last called.
    pub fn take_requesters(&self) -> Vec<Conversation> {
        std::mem::take(&mut lock(&self.0.asking))
    }
}
