//! Calls at work whose servers ask a person something: each waits here, with its connection, until the person has answered, while its
//! run rests.
//!
//! What is here is gone with the process: the run then asks what became of the call.
//! Start at `LiveCall`.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::mcp::answer::ToolAnswer;
use crate::mcp::call_listeners::CallListener;
use crate::mcp::connection::Connection;
use crate::mcp::connection::call::CallParams;
use crate::mcp::error::McpError;
use crate::mcp::listed::ListedTool;
use crate::mcp::server::{InFlightCall, Server};
use hob_core::domain::elicitation::{ElicitReply, Elicitation, ElicitationError};
use hob_core::domain::ids::{CallId, RunId};

/// The most calls that wait for people.
const PARKED_MAX: usize = 64;
/// The most questions of one call.
const QUESTIONS_MAX: usize = 10;

/// Which call waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallKey {
    pub(super) run: RunId,
    pub(super) call: CallId,
}

/// The calls that wait; clones are the same.
#[derive(Clone, Default)]
pub struct ParkedCalls(Arc<Mutex<BTreeMap<CallKey, ParkedCall>>>);

impl fmt::Debug for ParkedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParkedCalls({})", self.calls().len())
    }
}

impl ParkedCalls {
    fn calls(&self) -> MutexGuard<'_, BTreeMap<CallKey, ParkedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody wants the calls of this run any more: their servers are told so.
    pub fn drop_run(&self, run: RunId) {
        let gone: Vec<ParkedCall> =
            self.calls().extract_if(.., |key, _| key.run == run).map(|(_, call)| call).collect();
        // What ends with a call may take its time, and does it without the lock.
        drop(gone);
    }

    /// This one waits; false: too many do, and it is broken off.
    pub(super) fn park(&self, key: CallKey, call: ParkedCall) -> bool {
        let mut calls = self.calls();
        if calls.len() >= PARKED_MAX {
            return false;
        }
        let before = calls.insert(key, call);
        drop(calls);
        drop(before);
        true
    }

    /// This one goes on.
    pub(super) fn take(&self, key: &CallKey) -> Option<ParkedCall> {
        self.calls().remove(key)
    }
}

/// A call that waits for a person.
pub(super) struct ParkedCall {
    live: LiveCall,
    reply: oneshot::Sender<ElicitReply>,
}

impl ParkedCall {
    /// The server goes on with what the person said.
    pub(super) async fn answered(self, reply: ElicitReply) -> Result<CallStep, McpError> {
        // A server that does not wait any more has its own words for what comes of that.
        if self.reply.send(reply).is_err() {
            tracing::debug!("a server no longer waits for an answer");
        }
        self.live.step().await
    }
}

/// How far a call has come.
pub(super) enum CallStep {
    /// To its end.
    Answered(ToolAnswer),
    /// A person is asked.
    Asks(Box<Elicitation>, ParkedCall),
}

/// A call at work. Whoever lets go of it before there is an answer ends the process that works on it.
pub(super) struct LiveCall {
    hand: InFlightCall,
    work: Pin<Box<dyn Future<Output = Result<ToolAnswer, McpError>> + Send>>,
    listener: CallListener,
    asked: usize,
    /// Of what it asked nobody was told, and why.
    declined: Option<ElicitationError>,
}

impl LiveCall {
    /// Calls a tool.
    pub(super) fn begin(server: &Arc<Server>, link: &Arc<Connection>, tool: ListedTool, call: CallParams) -> Self {
        let (own, listener) = (Arc::clone(link), link.listeners().open());
        let work = Box::pin(async move { own.call(&tool, call).await });
        Self { hand: InFlightCall::of(server, link), work, listener, asked: 0, declined: None }
    }

    /// Until it is answered, or a person is asked; each within the server's time.
    pub(super) async fn step(mut self) -> Result<CallStep, McpError> {
        let within = self.hand.server.settings.call_within;
        let deadline = Instant::now() + within;
        loop {
            let asked = tokio::select! {
                biased;
                done = &mut self.work => return self.ended(done),
                Some(asked) = self.listener.asked.recv() => asked,
                () = tokio::time::sleep_until(deadline) => {
                    return self.ended(Err(McpError::Silent { within, why: String::new() }));
                }
            };
            self.asked += 1;
            match asked.question {
                Ok(question) if self.asked <= QUESTIONS_MAX => {
                    return Ok(CallStep::Asks(Box::new(question), ParkedCall { live: self, reply: asked.reply }));
                }
                // A person who has been asked so often is left alone.
                Ok(_) => {}
                Err(error) => {
                    self.declined = Some(error);
                    if asked.reply.send(ElicitReply::Decline).is_err() {
                        tracing::debug!("a server no longer waits for an answer");
                    }
                }
            }
        }
    }

    fn ended(mut self, done: Result<ToolAnswer, McpError>) -> Result<CallStep, McpError> {
        self.hand.end(done.as_ref().err());
        let mut answer = done?;
        if let Some(declined) = &self.declined {
            answer.text = format!(
                "{}\n\n[Hob: while it worked, this server asked the person for something, and was refused: {declined}. Tell them so.]",
                answer.text
            );
        }
        Ok(CallStep::Answered(answer))
    }
}
