//! What an owner says that the tools of MCP servers do (row N16).

use std::sync::Arc;

use crate::command::LoginRequest;
use crate::command_follow_ups::{conclude, persist};
use crate::intake::Router;
use crate::texts;
use hob_core::domain::ids::InboundId;
use hob_core::domain::inbound::Conversation;
use hob_store::Tx;
use hob_telemetry::tasks;
use hob_tools::mcp::tool_table::{ClassChange, ClassError, ServerTools};

impl Router {
    /// Begins or ends a login at a server for an owner, and says what came of it. Others are not kept waiting for it.
    pub(crate) fn log_in(&self, order: LoginRequest, message: InboundId, place: Conversation) {
        let (servers, store, delivery) =
            (self.config().services.servers.clone(), self.store.clone(), self.delivery.clone());
        let (clock, redactor) = (Arc::clone(&self.clock), self.redactor.clone());
        tasks::spawn("mcp.login", async move {
            let LoginRequest { server, pasted } = order;
            let came = match pasted {
                None => servers.begin_login(&server).await.map(|link| texts::login_link(&server, &link)),
                Some(pasted) => {
                    let scopes = servers.finish_login(&server, &pasted).await;
                    scopes.map(|scopes| texts::logged_in(&server, &scopes))
                }
            };
            let text = came.unwrap_or_else(|error| texts::not_logged_in(&server, &error.to_string()));
            let (text, now) = (redactor.redact(&text).into_owned(), clock.now());
            let said = async move |tx: &mut Tx| conclude(tx, message, &place, &text, now).await;
            persist(|| async {
                store.write(said.clone()).await?.into_iter().for_each(|session| delivery.wake(session));
                Ok(())
            })
            .await;
        });
    }

    /// The tools of a server, classed as an owner wishes. They are so from the next message on.
    ///
    /// # Errors
    /// When there is no such server or tool, or the database fails.
    pub async fn class_tools(&self, server: &str, wish: &ClassChange) -> Result<ServerTools, ClassError> {
        let servers = self.config().services.servers.clone();
        if *wish == ClassChange::default() {
            return servers.tools_of(server);
        }
        servers.class(server, wish, &self.store, self.clock.now()).await
    }
}
