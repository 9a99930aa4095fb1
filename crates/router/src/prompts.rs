//! `/SERVER:PROMPT`: a message in the words of an MCP server's prompt. The server is asked before the message is taken in.
//!
//! Never: such words taken for the person's own, unless somebody vouches for the server: they are handed on.

use std::time::Duration;

use crate::command::{self, Command};
use hob_core::domain::inbound::{Inbound, InboundEvent};
use hob_core::domain::principal::Role;
use hob_core::domain::redactor::Redactor;
use hob_core::render::clean::clean;
use hob_tools::mcp::Servers;
use hob_tools::mcp::prompts::{PromptAnswer, PromptRequest};

/// So long a message waits for a server, which may have to be started.
const WITHIN: Duration = Duration::from_secs(60);
/// What is said where nothing came of it.
pub(super) const NONE: &str = "That server does not answer. Try again.";

/// The prompt that a message asks for. What somebody hands on, or a program says, asks for none.
pub(super) fn asked_for(inbound: &Inbound) -> Option<PromptRequest> {
    let InboundEvent::Posted { text } = &inbound.happening else { return None };
    if inbound.metadata.forwarded_from.is_some() || inbound.metadata.by_program {
        return None;
    }
    match command::parse(clean(text).trim()) {
        Some(Command::Prompt(asked)) => Some(asked),
        _ => None,
    }
}

/// What comes of it; none: the message asks for none.
pub(super) async fn prefetch(servers: &Servers, inbound: &Inbound, role: Role) -> Option<PromptAnswer> {
    let asked = asked_for(inbound)?;
    let late = || PromptAnswer::Told(NONE.to_owned());
    let answered = tokio::time::timeout(WITHIN, Box::pin(servers.prompt(&asked, role))).await;
    Some(answered.unwrap_or_else(|_elapsed| late()))
}

/// The message says what the prompt says; else words for the person are left.
pub(super) fn hand_on(answer: PromptAnswer, inbound: &mut Inbound, redactor: &Redactor) -> Option<PromptAnswer> {
    match answer {
        PromptAnswer::Said { text, from } => {
            inbound.happening = InboundEvent::Posted { text: redactor.redact(&text).into_owned() };
            inbound.metadata.wanted = from.is_some();
            inbound.metadata.forwarded_from = from;
            None
        }
        PromptAnswer::Told(text) => Some(PromptAnswer::Told(redactor.redact(&text).into_owned())),
    }
}
