//! MCP servers: tools of programs and addresses that the operator names (`[mcp.NAME]`), through the protocol's own SDK.
//!
//! A server is started when one of its tools is called, and ended when nobody uses it. Which tools it has is known from the
//! last time. What it says is a stranger's word, in descriptions, results and errors alike, unless the operator vouches for it.
//!
//! Never: a server started before Hob is up, or an answer to what a server asks of Hob.
//! Start at [`Servers`], then [`server`].

mod bounded;
mod child;
pub mod error;
mod fate;
mod known;
mod link;
mod listed;
mod names;
mod offer;
pub mod probe;
mod said;
mod server;
pub mod settings;
mod standing;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::clock::Clock;
use crate::domain::rng::Rng;
use crate::tool::leftovers::Leftovers;
use crate::tool::mcp::listed::plain;
use crate::tool::mcp::server::Server;
use crate::tool::mcp::settings::Settings;
use crate::tool::shed::Tools;

/// How many servers are asked at a time for tools that are not known yet.
const ASKED_MAX: usize = 2;
/// The most characters of a server's words in a message of Hob's.
const EXCERPT_CHARS_MAX: usize = 300;

/// Where servers live.
pub struct Place {
    /// Where Hob's data is.
    pub data_dir: PathBuf,
    /// Whose mark their processes carry.
    pub leftovers: Leftovers,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for their rests.
    pub rng: Arc<dyn Rng>,
    /// Their tasks.
    pub tracker: TaskTracker,
    /// Hob stops: they end.
    pub stop: CancellationToken,
}

/// All servers of this Hob; by default there are none.
#[derive(Clone, Default)]
pub struct Servers {
    all: Arc<[Arc<Server>]>,
    tracker: TaskTracker,
}

impl Servers {
    /// These servers. What is known of their tools is on offer from now on in `shed`; none is started.
    #[must_use]
    pub fn new(all: Vec<Settings>, place: Place, shed: &Arc<Tools>) -> Self {
        let tracker = place.tracker.clone();
        let place = Arc::new(place);
        let all = all.into_iter().map(|settings| Server::new(settings, &place, shed)).collect();
        Self { all, tracker }
    }

    /// Looks after them until Hob stops. Those whose tools nobody knows yet are asked if `asks`.
    pub fn keep(&self, asks: bool) {
        let few = Arc::new(Semaphore::new(ASKED_MAX));
        for server in &*self.all {
            self.tracker.spawn(Arc::clone(server).keep(Arc::clone(&few), asks));
        }
    }

    /// A line about each, for people.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Vec<String> {
        self.all.iter().map(|server| server.standing().line(now)).collect()
    }
}

/// A server's words on one line, within bounds.
fn excerpt(words: &str) -> String {
    plain(words, EXCERPT_CHARS_MAX).split_whitespace().collect::<Vec<_>>().join(" ")
}
