//! The message that a run is for, and those that join it. Stored as [`crate::machine::event`] is: change it only by adding.

use serde::{Deserialize, Serialize};

use crate::machine::agents::AgentTask;
use hob_core::domain::ids::{InboundId, RunId, SessionId, SessionKey};
use hob_core::domain::message_context::MessageContext;
use hob_core::domain::origin::Taint;
use hob_core::domain::outgoing::Destination;
use hob_core::domain::principal::Principal;
use hob_core::domain::undo::UndoOrder;
use hob_model::message::Pictures;

/// An accepted message: with it a run comes to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedInput {
    /// The message's row.
    pub inbound: InboundId,
    /// Who speaks, and with which authority (row N4).
    pub principal: Principal,
    /// Where the answer goes.
    pub destination: Destination,
    pub text: String,
    /// What is wanted.
    #[serde(default, skip_serializing_if = "crate::machine::is_default")]
    pub order: RunKind,
    /// Whom it works for, if not for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentTask>>,
    /// What nobody vouches for in it, or in what it was made from (row N6).
    #[serde(default, skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// The pictures that came with it (row C6).
    #[serde(default, skip_serializing_if = "Pictures::is_empty")]
    pub pictures: Pictures,
    /// What stands around them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around: Option<Box<MessageContext>>,
    /// The effect that is to be taken back, if that is what it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Box<UndoOrder>>,
}

impl AcceptedInput {
    /// The conversation that it belongs to, where `session` is its own.
    pub fn home(&self, session: SessionId) -> SessionId {
        self.agent.as_ref().map_or(session, |agent| agent.home)
    }

    /// Its session's published name.
    pub fn session_key(&self) -> SessionKey {
        match &self.agent {
            Some(agent) => agent.key.clone(),
            None => self.destination.conversation.session_key(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// To answer the message.
    #[default]
    Answer,
    /// To sum the conversation up (`/compact`).
    Compact,
    /// To look whether there is something to do; if not, it leaves no trace in the history (row E14).
    Heartbeat,
    /// To do what was asked for ahead (row N13).
    Scheduled,
    /// To look at something that called in from outside (row A12).
    Event,
    /// To take an effect back (row N16); no model is asked.
    Undo,
}

/// A message that joined a run on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteeringMessage {
    /// The run that the message would have had for itself.
    pub run: RunId,
    /// Who said it.
    pub principal: Principal,
    pub text: String,
    /// What nobody vouches for in it (row N6).
    #[serde(default, skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// The pictures that came with it (row C6).
    #[serde(default, skip_serializing_if = "Pictures::is_empty")]
    pub pictures: Pictures,
}
