//! The platforms' adapters, as the config names them.

use std::sync::Arc;

use crate::channel::email::Email;
use crate::channel::telegram::Telegram;
use crate::daemon::{Blueprint, StartError, letters, parts};
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
    for (account, config) in letters::accounts(&blueprint.config) {
        let settings = letters::settings(account, config);
        let email = Email::new(settings, Arc::clone(&blueprint.clock), Arc::clone(&blueprint.rng));
        all.push(Arc::new(email.map_err(|source| StartError::Email { account: account.to_owned(), source })?));
    }
    Ok(all)
}
