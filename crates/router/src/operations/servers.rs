//! What an owner says that the tools of MCP servers do (row N16).

use crate::intake::Router;
use hob_tools::mcp::tool_table::{ClassChange, ClassError, ServerTools};

impl Router {
    /// The tools of a server, classed as an owner wishes. They are so from the next message on.
    ///
    /// # Errors
    /// When there is no such server or tool, or the database fails.
    pub async fn class_tools(&self, server: &str, wish: &ClassChange) -> Result<ServerTools, ClassError> {
        let servers = self.config().house.servers.clone();
        if *wish == ClassChange::default() {
            return servers.tools_of(server);
        }
        servers.class(server, wish, &self.store, self.clock.now()).await
    }
}
