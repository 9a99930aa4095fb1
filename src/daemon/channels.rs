//! The platforms' adapters, as the config names them.

use std::sync::Arc;

use crate::daemon::{Blueprint, StartError, discord, letters, slack, telegram};
use crate::domain::channel::Adapter;

/// Builds every account's adapter; nothing is sent yet. With a channel of the caller's own there are none.
pub(super) fn adapters(blueprint: &Blueprint) -> Result<Vec<Arc<dyn Adapter>>, StartError> {
    if blueprint.own_channel.is_some() {
        return Ok(Vec::new());
    }
    let mut all = telegram::adapters(blueprint)?;
    all.extend(slack::adapters(blueprint)?);
    all.extend(discord::adapters(blueprint)?);
    all.extend(letters::adapters(blueprint)?);
    Ok(all)
}
