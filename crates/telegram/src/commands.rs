//! The list of commands that Telegram shows to whoever types a slash.

use serde::Deserialize;
use teloxide::Bot;
use teloxide::payloads::{GetMyCommands, SetMyCommands};
use teloxide::types::BotCommand;
use tracing::{info, warn};

use crate::Telegram;
use crate::call::{CallError, call};
use crate::settings::Settings;
use hob_telemetry::tasks;

/// A command as Telegram knows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct RegisteredCommand {
    command: String,
    description: String,
}

/// Tells Telegram the commands there are, if it knows others; best effort, and nothing waits for it.
pub(super) fn register_commands(telegram: &Telegram) {
    if telegram.settings.commands.is_empty() {
        return;
    }
    let (bot, settings, life) = (telegram.sender.clone(), telegram.settings.clone(), telegram.life.clone());
    let told = life.run_until_cancelled_owned(async move {
        match update_if_changed(&bot, &settings).await {
            Ok(false) => {}
            Ok(true) => info!(channel = "telegram", "Telegram knows the commands now"),
            Err(error) => warn!(channel = "telegram", %error, "Telegram was not told the commands: {error}"),
        }
    });
    tasks::spawn_among(&telegram.tracker, "telegram.commands", told);
}

/// True: they were told anew.
async fn update_if_changed(bot: &Bot, settings: &Settings) -> Result<bool, CallError> {
    let deadline = settings.pace.send_deadline;
    let known = call(bot, &GetMyCommands::new(), deadline).await?;
    let there = settings.commands.iter();
    let there: Vec<RegisteredCommand> = there
        .map(|(command, description)| RegisteredCommand { command: command.clone(), description: description.clone() })
        .collect();
    // An answer that cannot be read is not the list that is wanted.
    if known.result::<Vec<RegisteredCommand>>().is_ok_and(|known| known == there) {
        return Ok(false);
    }
    let list = there.into_iter().map(|RegisteredCommand { command, description }| BotCommand { command, description });
    call(bot, &SetMyCommands::new(list), deadline).await?;
    Ok(true)
}
