//! What is still to be done for commands that were taken in.
//!
//! It is noted with the command, and goes with the words that say what came of it: whoever is killed in between finds it at the next
//! start.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::InboundId;

/// Something that is still to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFollowUp {
    /// The command's message.
    pub inbound: InboundId,
    /// What, for whom and where: opaque here.
    pub request: String,
    /// Which change of the workspace it was taking back; none: it had not begun.
    pub draft: Option<String>,
}

/// Notes it.
pub async fn add(tx: &mut Tx, inbound: InboundId, request: &str) -> Result<(), StoreError> {
    let add = sql::query!("INSERT INTO follow_ups (inbound_id, request) VALUES ($1, $2)", inbound, request);
    add.execute(&mut *tx).await?;
    Ok(())
}

/// Notes which change of the workspace it takes back, before it does.
pub async fn set_draft(tx: &mut Tx, inbound: InboundId, draft: &str) -> Result<(), StoreError> {
    let set = sql::query!("UPDATE follow_ups SET draft = $2 WHERE inbound_id = $1", inbound, draft);
    set.execute(&mut *tx).await?;
    Ok(())
}

/// What is still to be done for this command; none: it is done.
pub async fn find(tx: &mut Tx, inbound: InboundId) -> Result<Option<OpenFollowUp>, StoreError> {
    let open = sql::query_as!(
        OpenFollowUp,
        r#"SELECT inbound_id AS "inbound!: InboundId", request, draft FROM follow_ups WHERE inbound_id = $1"#,
        inbound
    );
    Ok(open.fetch_optional(&mut *tx).await?)
}

/// It is done; false: it was already.
pub async fn remove(tx: &mut Tx, inbound: InboundId) -> Result<bool, StoreError> {
    let gone = sql::query!("DELETE FROM follow_ups WHERE inbound_id = $1", inbound).execute(&mut *tx).await?;
    Ok(gone.rows_affected() > 0)
}

/// All that is still to be done, in the order in which it was asked for.
pub async fn list(tx: &mut Tx) -> Result<Vec<OpenFollowUp>, StoreError> {
    let open = sql::query_as!(
        OpenFollowUp,
        r#"SELECT inbound_id AS "inbound!: InboundId", request, draft FROM follow_ups ORDER BY inbound_id"#
    );
    Ok(open.fetch_all(&mut *tx).await?)
}
