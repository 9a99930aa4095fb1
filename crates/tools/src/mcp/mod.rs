//! MCP servers: tools of programs and addresses that the operator names (`[mcp.NAME]`), through the protocol's own SDK.
//!
//! A server is started when one of its tools is called, and ended when nobody uses it. Which tools it has is known from the
//! last time. What it says is a stranger's word, in descriptions, results and errors alike, unless the operator vouches for it.
//!
//! Never: a server started before Hob is up.
//! Start at [`Servers`], then `server`.

mod answer;
mod bounded;
mod call_listeners;
mod child;
pub mod classes;
mod connection;
mod diagnostics;
pub mod error;
mod listed;
pub mod login;
mod names;
mod offer;
pub mod parked;
pub mod probe;
pub mod prompts;
mod server;
pub mod settings;
mod status;
#[cfg(test)]
mod tests;
mod tool_cache;
pub mod tool_table;
mod undo_rule;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::mcp::classes::Classes;
use crate::mcp::listed::plain;
use crate::mcp::login::{LoginError, PendingLogin, PendingLogins};
use crate::mcp::parked::ParkedCalls;
use crate::mcp::prompts::{PromptAnswer, PromptRequest};
use crate::mcp::server::Server;
use crate::mcp::settings::Settings;
use crate::mcp::tool_table::{ClassChange, ClassError, ServerTools};
use crate::process_reaper::ProcessReaper;
use crate::registry_handle::ToolRegistryHandle;
use crate::sandbox::program_sandbox::ProgramSandbox;
use hob_core::domain::clock::Clock;
use hob_core::domain::principal::Role;
use hob_core::domain::rng::Rng;
use hob_store::Store;
use hob_telemetry::tasks;

/// How many servers are asked at a time for tools that are not known yet.
const ASKED_MAX: usize = 2;
/// The most characters of a server's words in a message of Hob's.
const EXCERPT_CHARS_MAX: usize = 300;

/// Where servers live.
pub struct ServerContext {
    /// Where Hob's data is.
    pub data_dir: PathBuf,
    /// Whose mark their processes carry.
    pub leftovers: ProcessReaper,
    /// How programs are confined.
    pub program_sandbox: ProgramSandbox,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for their rests.
    pub rng: Arc<dyn Rng>,
    /// Their tasks.
    pub tracker: TaskTracker,
    /// Hob stops: they end.
    pub stop: CancellationToken,
    /// What owners have said that their tools do.
    pub classes: Classes,
    /// Their calls that wait for a person's answer.
    pub parked: ParkedCalls,
}

/// All servers of this Hob; by default there are none.
#[derive(Clone, Default)]
pub struct Servers {
    all: Arc<[Arc<Server>]>,
    place: Option<Arc<ServerContext>>,
    logins: PendingLogins,
}

impl Servers {
    /// These servers. What is known of their tools is on offer from now on in `shed`; none is started.
    pub fn new(all: Vec<Settings>, place: ServerContext, shed: &Arc<ToolRegistryHandle>) -> Self {
        let place = Arc::new(place);
        let all = all.into_iter().map(|settings| Server::new(settings, &place, shed)).collect();
        Self { all, place: Some(place), logins: PendingLogins::default() }
    }

    /// Looks after them until Hob stops. Those whose tools nobody knows yet are asked if `asks`.
    pub fn keep(&self, asks: bool) {
        self.keep_matching(asks, |_| true);
    }

    /// The servers of another config, on offer in `shed` instead. One of which nothing has changed stays as it is, with its
    /// connection; a new one is looked after at once, as by [`Servers::keep`]. One that is gone, or has changed, ends when
    /// nobody has its tools any more: runs that began with it go on with it.
    pub fn reconfigured(&self, all: Vec<Settings>, shed: &Arc<ToolRegistryHandle>, asks: bool) -> Self {
        let Some(place) = &self.place else { return Self::default() };
        let known = |settings: &Settings| self.all.iter().find(|server| server.settings == *settings);
        let next: Arc<[Arc<Server>]> = all
            .into_iter()
            .map(|settings| match known(&settings) {
                Some(server) => {
                    server.offer_in(shed);
                    Arc::clone(server)
                }
                None => Server::new(settings, place, shed),
            })
            .collect();
        let is_among = |all: &[Arc<Server>], server: &Arc<Server>| all.iter().any(|other| Arc::ptr_eq(other, server));
        self.all.iter().filter(|server| !is_among(&next, server)).for_each(|server| server.retired.cancel());
        let servers = Self { all: next, place: self.place.clone(), logins: Arc::clone(&self.logins) };
        servers.keep_matching(asks, |server| !is_among(&self.all, server));
        servers
    }

    fn keep_matching(&self, asks: bool, is_meant: impl Fn(&Arc<Server>) -> bool) {
        let Some(place) = &self.place else { return };
        let few = Arc::new(Semaphore::new(ASKED_MAX));
        for server in self.all.iter().filter(|server| is_meant(server)) {
            tasks::spawn_among(&place.tracker, "mcp", Arc::clone(server).supervise(Arc::clone(&few), asks));
        }
    }

    /// The tools of the server with this name, and what is said of them.
    ///
    /// # Errors
    /// When there is no such server, or it has not told its tools yet.
    pub fn tools_of(&self, name: &str) -> Result<ServerTools, ClassError> {
        let server = self.all.iter().find(|server| server.settings.name == name);
        let server = server.ok_or_else(|| ClassError::NoServer(name.to_owned()))?;
        server.tools().ok_or_else(|| ClassError::Unknown(name.to_owned()))
    }

    /// An owner says what tools of a server do. Gives them as they are classed then.
    ///
    /// # Errors
    /// When there is no such server or tool, or the database fails.
    pub async fn class(
        &self,
        name: &str,
        wish: &ClassChange,
        store: &Store,
        now: Timestamp,
    ) -> Result<ServerTools, ClassError> {
        let tools = self.tools_of(name)?;
        if let Some(place) = &self.place {
            tools.class(wish, store, &place.classes, now).await?;
        }
        self.tools_of(name)
    }

    /// What a prompt of a server says, for somebody who may this.
    pub async fn prompt(&self, asked: &PromptRequest, role: Role) -> PromptAnswer {
        let name = &asked.server;
        let Some(server) = self.all.iter().find(|server| server.settings.name == *name) else {
            return PromptAnswer::Told(format!("There is no MCP server {name:?}."));
        };
        if role < server.settings.role {
            return PromptAnswer::Told(format!("The MCP server {name} is not for you."));
        }
        let answered = Box::pin(server.prompt(asked)).await;
        answered.unwrap_or_else(|error| PromptAnswer::Told(format!("The MCP server {name} did not answer: {error}.")))
    }

    /// Begins a login at a server, for an owner. Gives the link for their browser.
    ///
    /// # Errors
    /// When there is no such server, or no login is to be had there.
    pub async fn begin_login(&self, name: &str) -> Result<String, LoginError> {
        let server = self.all.iter().find(|server| server.settings.name == name);
        let (server, place) = server.zip(self.place.as_ref()).ok_or_else(|| LoginError::NoServer(name.to_owned()))?;
        let pending = Box::pin(login::begin(&server.settings, &place.data_dir, place.clock.now())).await?;
        let link = pending.link().to_owned();
        self.logins().insert(name.to_owned(), pending);
        Ok(link)
    }

    /// Ends it with what an owner's browser brought back. Gives what Hob may do at the server now.
    ///
    /// # Errors
    /// When no login was begun there, or it is refused.
    pub async fn finish_login(&self, name: &str, pasted: &str) -> Result<Vec<String>, LoginError> {
        let pending = self.logins().remove(name);
        let (pending, place) = pending.zip(self.place.as_ref()).ok_or_else(|| LoginError::NotBegun(name.to_owned()))?;
        Box::pin(pending.finish(pasted, place.clock.now())).await
    }

    /// At which server a login waits for this address, to which a browser was sent.
    pub fn awaiting_login(&self, address: &str) -> Option<String> {
        let logins = self.logins();
        logins.iter().find(|(_, pending)| pending.is_answered_by(address)).map(|(name, _)| name.clone())
    }

    fn logins(&self) -> MutexGuard<'_, BTreeMap<String, PendingLogin>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|server| server.settings.name.clone()).collect()
    }

    /// A line about each, for people.
    pub fn standing(&self, now: Timestamp) -> Vec<String> {
        self.all.iter().map(|server| server.status().line(now)).collect()
    }
}

/// A server's words on one line, within bounds.
fn excerpt(words: &str) -> String {
    plain(words, EXCERPT_CHARS_MAX).split_whitespace().collect::<Vec<_>>().join(" ")
}
