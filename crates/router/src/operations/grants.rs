//! Taking back what was allowed for good.

use jiff::Timestamp;

use crate::command_handlers::take_grant_back;
use crate::intake::Router;
use hob_core::domain::ids::GrantId;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::grants::GrantRow;
use hob_store::operations::{self, HeldGrant};

async fn revoke(tx: &mut Tx, id: GrantId, now: Timestamp) -> Result<Option<HeldGrant>, StoreError> {
    let Some(held) = operations::grant(tx, id).await? else { return Ok(None) };
    let HeldGrant { id, user, created_at, .. } = held;
    let row = GrantRow { id, user, name: held.name.clone(), tool: held.tool.clone(), created_at };
    take_grant_back(tx, held.session, &row, now).await?;
    Ok(Some(held))
}

impl Router {
    /// Takes a grant back at once, also from a run that has begun with it. False: it does not hold any more.
    pub async fn revoke_grant(&self, id: GrantId) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let revoked = self.store.write(async move |tx| revoke(tx, id, now).await).await?;
        if let Some(held) = &revoked {
            tracing::info!(grant = %id, tool = held.tool, "grant.revoked");
            self.lanes.wake(held.session);
        }
        Ok(revoked.is_some())
    }
}
