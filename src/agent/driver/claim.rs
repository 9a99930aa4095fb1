//! Taking a run over: the claim, and loading what its requests are made of.

use async_trait::async_trait;

use jiff::Timestamp;

use crate::agent::journal::{self, Folded, RunKey};
use crate::agent::machine::event::Context;
use crate::agent::machine::state::{State, Status};
use crate::agent::machine::texts;
use crate::agent::projection::{self, Row, Target};
use crate::agent::prompt::{FACTS_MAX, Material};
use crate::domain::ids::{RunId, SessionId};
use crate::model::message::Message;
use crate::model::provider::ToolSchema;
use crate::store::error::StoreError;
use crate::store::facts::FactRow;
use crate::store::runs::Lease;
use crate::store::sessions::Session;
use crate::store::{Statement, Tx, blobs, facts, messages, millis, runs, sessions};

/// Claims the session's next run, if there is one to be driven.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Whose lane.
    pub session: SessionId,
    /// By whom and for how long.
    pub lease: Lease,
}

/// A claimed run.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// Run and session.
    pub key: RunKey,
    /// Its journal.
    pub folded: Folded,
    /// Its conversation.
    pub session: Session,
    /// What is known about its sender; only for a run that has not begun.
    pub facts: Vec<FactRow>,
}

#[async_trait]
impl Statement for Claim {
    type Output = Found;

    async fn run(&self, tx: &mut Tx) -> Result<Found, StoreError> {
        let Some(run) = runs::claim(tx, self.session, &self.lease).await? else {
            return Ok(Found::Nothing);
        };
        match load(tx, run, self.session).await {
            Ok(claimed) => Ok(Found::Run(Box::new(claimed))),
            Err(StoreError::Inconsistent { table, id, what }) => {
                let why = format!("{table} {id}: {what}");
                write_off(tx, &RunKey { run, session: self.session }, self.lease.now).await?;
                Ok(Found::WrittenOff { run, why })
            }
            Err(error) => Err(error),
        }
    }
}

/// What a claim found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A run to be driven.
    Run(Box<Claimed>),
    /// A run whose journal cannot be read: it is over, and its sender is told.
    WrittenOff {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing to be done in this lane.
    Nothing,
}

/// Ends a run whose journal cannot be read. Nothing can be folded, so this alone is done without the machine.
async fn write_off(tx: &mut Tx, key: &RunKey, now: Timestamp) -> Result<(), StoreError> {
    runs::set_state(tx, key.run, Status::Failed.as_str(), Some(millis(now))).await?;
    let Some(accepted) = journal::first(tx, key.run).await? else {
        return Ok(());
    };
    let target = Target { key, destination: &accepted.destination, at: now };
    let told = Row::Say { seq: 0, text: texts::UNREADABLE.to_owned(), choices: Vec::new() };
    projection::write(tx, &target, &[told]).await
}

/// Loads a run that this process has claimed already.
#[derive(Debug, Clone)]
pub struct Reload {
    /// Run and session.
    pub key: RunKey,
}

#[async_trait]
impl Statement for Reload {
    type Output = Claimed;

    async fn run(&self, tx: &mut Tx) -> Result<Claimed, StoreError> {
        load(tx, self.key.run, self.key.session).await
    }
}

async fn load(tx: &mut Tx, run: RunId, session: SessionId) -> Result<Claimed, StoreError> {
    let folded = journal::load(tx, run).await?;
    let facts = match &folded.replay.state {
        State::Queued(accepted) => facts::list(tx, accepted.principal.user, FACTS_MAX).await?,
        State::Empty | State::Active(_) | State::Closed(_) => Vec::new(),
    };
    let row = sessions::lookup(tx, session).await?.ok_or_else(|| StoreError::Inconsistent {
        table: "sessions",
        id: session.to_string(),
        what: "a run refers to it, and it is missing".to_owned(),
    })?;
    Ok(Claimed { key: RunKey { run, session }, folded, session: row, facts })
}

/// A stretch of a conversation's history.
pub(super) struct History {
    pub(super) session: SessionId,
    pub(super) from: i64,
    pub(super) through: i64,
}

#[async_trait]
impl Statement for History {
    type Output = Vec<Message>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Message>, StoreError> {
        let rows = messages::list(tx, self.session, self.from, self.through).await?;
        let decode = |row: messages::MessageRow| {
            serde_json::from_str(&row.body).map_err(|error| StoreError::Inconsistent {
                table: "messages",
                id: row.id.to_string(),
                what: error.to_string(),
            })
        };
        rows.into_iter().map(decode).collect()
    }
}

/// The recorded parts of a run's requests: exactly what it began with.
pub(super) struct LoadMaterial {
    pub(super) session: SessionId,
    pub(super) context: Context,
}

#[async_trait]
impl Statement for LoadMaterial {
    type Output = Material;

    async fn run(&self, tx: &mut Tx) -> Result<Material, StoreError> {
        let tools = blobs::get(tx, &self.context.tools.0).await?;
        let tools: Vec<ToolSchema> = serde_json::from_str(&tools).map_err(|error| StoreError::Inconsistent {
            table: "blobs",
            id: self.context.tools.to_string(),
            what: error.to_string(),
        })?;
        let history =
            History { session: self.session, from: self.context.history_from, through: self.context.history_through };
        Ok(Material {
            system: blobs::get(tx, &self.context.system.0).await?,
            tools,
            tail: blobs::get(tx, &self.context.tail.0).await?,
            history: history.run(tx).await?,
        })
    }
}
