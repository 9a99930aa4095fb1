//! The platforms' adapters, as the config names them.

use std::sync::Arc;

use crate::channel::discord::Discord;
use crate::channel::telegram::Telegram;
use crate::daemon::{Blueprint, StartError, parts};
use crate::domain::channel::Adapter;

/// Builds every account's adapter; nothing is sent yet. With a channel of the caller's own there are none.
pub(super) fn adapters(blueprint: &Blueprint) -> Result<Vec<Arc<dyn Adapter>>, StartError> {
    let mut all: Vec<Arc<dyn Adapter>> = Vec::new();
    if blueprint.own_channel.is_some() {
        return Ok(all);
    }
    if let Some(config) = &blueprint.config.telegram {
        let settings = parts::telegram(config)?;
        let telegram = Telegram::new(settings, Arc::clone(&blueprint.clock), Arc::clone(&blueprint.rng))?;
        all.push(Arc::new(telegram));
    }
    for (account, config) in parts::discords(&blueprint.config) {
        let settings = parts::discord(account, config)?;
        all.push(Arc::new(Discord::new(settings, Arc::clone(&blueprint.clock), Arc::clone(&blueprint.rng))?));
    }
    Ok(all)
}
