//! `/pause` and `/resume`, for a conversation and for the house (rows B7, E1).
//!
//! What arrives meanwhile is taken in and waits; what runs stands still at its next safe boundary. It is all in the
//! database, so a restart changes nothing.

use jiff::Timestamp;

use crate::command::PauseScope;
use crate::pause_texts as texts;
use hob_agent::driver::encode_signal;
use hob_agent::signal::Signal;
use hob_core::domain::ids::SessionId;
use hob_core::domain::principal::{Principal, Role};
use hob_store::error::StoreError;
use hob_store::sessions::Session;
use hob_store::{Tx, agents, emergency_stop, open_runs, runs, sessions, signals};

/// What stands in the way of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ActivePause {
    /// The emergency stop, and by whom.
    Everywhere(String),
    /// The conversation's own, and by whom.
    Here(String),
}

/// Does the conversation stand still? The emergency stop is named first: nothing else helps.
pub(super) async fn active_pause(tx: &mut Tx, session: SessionId) -> Result<Option<ActivePause>, StoreError> {
    if let Some(name) = emergency_stop::paused_by(tx).await? {
        return Ok(Some(ActivePause::Everywhere(name)));
    }
    Ok(sessions::paused_by(tx, session).await?.map(|pause| ActivePause::Here(pause.name)))
}

/// Who paused or resumes what, and when.
pub(super) struct PauseRequest<'a> {
    pub(super) session: &'a Session,
    pub(super) principal: &'a Principal,
    pub(super) now: Timestamp,
}

/// `/pause`, `/pause all`.
pub(super) async fn pause(tx: &mut Tx, order: &PauseRequest<'_>, channels: PauseScope) -> Result<String, StoreError> {
    let by = order.principal.user;
    let signal = Signal::Pause { by };
    match channels {
        PauseScope::Everywhere if order.principal.role < Role::Owner => Ok(texts::OWNERS_ONLY.to_owned()),
        PauseScope::Everywhere => {
            emergency_stop::pause(tx, by, order.now).await?;
            for run in open_runs::list_active(tx).await? {
                signals::add(tx, run.id, &encode_signal(&signal)?, order.now).await?;
            }
            tracing::warn!(%by, "house.paused");
            Ok(texts::PAUSED_ALL.to_owned())
        }
        PauseScope::Here => {
            if let Some(standstill) = active_pause(tx, order.session.id).await? {
                return Ok(texts::stands_still(&standstill));
            }
            let active = runs::find_active(tx, order.session.id).await?;
            if active.as_ref().is_some_and(|run| !order.principal.may_act_for(run.user, run.role)) {
                return Ok(crate::texts::NOT_YOURS.to_owned());
            }
            sessions::set_paused_by(tx, order.session.id, Some(by)).await?;
            let agents = agents::open_at_home(tx, order.session.id).await?;
            let agents = agents.iter().filter(|run| !run.is_queued()).map(|run| run.id);
            for run in active.iter().map(|run| run.id).chain(agents) {
                signals::add(tx, run, &encode_signal(&signal)?, order.now).await?;
            }
            Ok(if active.is_some() { texts::PAUSED_AT_WORK } else { texts::PAUSED }.to_owned())
        }
    }
}

/// `/resume`, `/resume all`.
pub(super) async fn resume(tx: &mut Tx, order: &PauseRequest<'_>, channels: PauseScope) -> Result<String, StoreError> {
    let by = order.principal.user;
    let signal = Signal::Resume { by };
    match channels {
        PauseScope::Everywhere if order.principal.role < Role::Owner => Ok(texts::OWNERS_ONLY.to_owned()),
        PauseScope::Everywhere => {
            if emergency_stop::paused_by(tx).await?.is_none() {
                return Ok(texts::NOTHING_PAUSED.to_owned());
            }
            emergency_stop::resume(tx).await?;
            for run in open_runs::list_active(tx).await? {
                // A conversation's own pause holds on.
                let home = agents::home(tx, run.id).await?.unwrap_or(run.session);
                if sessions::paused_by(tx, home).await?.is_none() {
                    signals::add(tx, run.id, &encode_signal(&signal)?, order.now).await?;
                }
            }
            tracing::warn!(%by, "house.resumed");
            Ok(texts::RESUMED_ALL.to_owned())
        }
        PauseScope::Here => {
            let everywhere = emergency_stop::paused_by(tx).await?.map(ActivePause::Everywhere);
            let Some(pause) = sessions::paused_by(tx, order.session.id).await? else {
                return Ok(everywhere.map_or(texts::NOTHING_PAUSED.to_owned(), |all| texts::stands_still(&all)));
            };
            if !order.principal.may_act_for(pause.user, pause.role) {
                return Ok(crate::texts::NOT_YOURS.to_owned());
            }
            sessions::set_paused_by(tx, order.session.id, None).await?;
            if let Some(all) = everywhere {
                return Ok(texts::stands_still(&all));
            }
            let active = runs::find_active(tx, order.session.id).await?;
            let agents = agents::open_at_home(tx, order.session.id).await?;
            let agents = agents.iter().filter(|run| !run.is_queued()).map(|run| run.id);
            for run in active.iter().map(|run| run.id).chain(agents) {
                signals::add(tx, run, &encode_signal(&signal)?, order.now).await?;
            }
            Ok(texts::RESUMED.to_owned())
        }
    }
}
