//! Hob looks by itself whether there is something to do (row E14): a run for the owner that nobody has asked for.
//!
//! Never: two in one slot of the clock, one beside other work of its conversation, or a word about itself.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::intake::Router;
use crate::pause;
use crate::triggered_runs::{self, TriggeredRun};
use hob_agent::machine::accepted_input::RunKind;
use hob_core::domain::ids::SessionId;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::policy::heartbeat::slot;
use hob_store::error::StoreError;
use hob_store::{Tx, members, runs, sessions, users};

/// What is looked for, how often and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// The length of a slot, in seconds.
    pub every_secs: u64,
    /// What the model is told.
    pub prompt: String,
    /// Where it speaks, if it has something to say.
    pub conversation: Conversation,
    /// The platform's id of the owner in whose name it looks.
    pub owner: String,
    /// What there is to look at; while it is empty, nobody is asked.
    pub list: Option<HeartbeatList>,
    /// What its words come from.
    pub taint: Taint,
}

/// A file with what there is to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatList {
    pub path: PathBuf,
    /// Folders in which tools write for anybody who may ask for it: a list in there is no owner's words.
    pub written_by_tools: Vec<PathBuf>,
}

impl Router {
    /// Enqueues the run of the present slot; false if there is a reason for none.
    pub async fn beat(&self, heartbeat: &Heartbeat) -> Result<bool, StoreError> {
        let access = Arc::clone(&self.config().access);
        let role = async |tx: &mut Tx| members::role_of(tx, &access, &heartbeat.conversation, &heartbeat.owner).await;
        let Some(role) = self.store.read(role).await? else { return Ok(false) };
        let (heartbeat, now) = (heartbeat.clone(), self.clock.now());
        let begun = self.store.write(async move |tx| beat(tx, &heartbeat, role, now).await).await?;
        if let Some(session) = begun {
            self.lanes.wake(session);
        }
        Ok(begun.is_some())
    }
}

/// Enqueues the run of a slot.
async fn beat(tx: &mut Tx, heartbeat: &Heartbeat, role: Role, now: Timestamp) -> Result<Option<SessionId>, StoreError> {
    let Heartbeat { every_secs, prompt, conversation, owner, taint, .. } = heartbeat;
    // A platform lets nobody be spoken to who has never written.
    let Some(user) = users::find(tx, conversation, owner).await? else {
        return Ok(None);
    };
    let session = sessions::ensure(tx, &conversation.session_key().0, conversation.channel, now).await?;
    let busy = runs::find_active(tx, session.id).await?.is_some() || runs::count_queued(tx, session.id).await? > 0;
    if busy || pause::active_pause(tx, session.id).await?.is_some() {
        return Ok(None);
    }
    let name = users::name(tx, user).await?.unwrap_or_default();
    let slot = format!("heartbeat:{}", slot(now.as_second(), *every_secs));
    let what = TriggeredRun {
        session: session.id,
        claim: (conversation, &slot),
        due: now,
        principal: Principal { user, name, role, trust: Trust::Trusted },
        conversation,
        text: prompt.clone(),
        order: RunKind::Heartbeat,
        taint: taint.clone(),
        undo: None,
    };
    Ok(triggered_runs::begin(tx, what, now).await?.map(|_| session.id))
}
