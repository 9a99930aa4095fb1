//! A call at work, and what its end says of its server.

use std::sync::Arc;

use crate::mcp::connection::Connection;
use crate::mcp::error::McpError;
use crate::mcp::server::Server;

/// A call at work. Whoever lets go of it before there is an answer ends the process that works on it.
pub(in crate::mcp) struct InFlightCall {
    pub(in crate::mcp) server: Arc<Server>,
    link: Arc<Connection>,
    is_answered: bool,
}

impl InFlightCall {
    pub(in crate::mcp) fn of(server: &Arc<Server>, link: &Arc<Connection>) -> Self {
        Self { server: Arc::clone(server), link: Arc::clone(link), is_answered: false }
    }

    /// It is over, well or not.
    pub(in crate::mcp) fn end(&mut self, error: Option<&McpError>) {
        match error {
            None => self.server.is_well(),
            Some(error) if error.is_outage() || matches!(error, McpError::NeedsLogin(_)) => {
                self.server.failed(error);
                self.server.retire(&self.link);
            }
            Some(_) => {}
        }
        self.is_answered = true;
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        if !self.is_answered && self.link.is_process() {
            self.server.retire(&self.link);
        }
    }
}
