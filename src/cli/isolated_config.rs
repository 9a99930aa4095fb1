//! The config of a Hob that is started to try something, beside the real one.

use hob_config::Config;
use hob_config::backup::BackupConfig;
use hob_core::domain::inbound::ChannelKind;

/// The config without accounts and channels, but for this channel; such a Hob begins nothing by itself.
pub(super) fn isolated_config(config: &Config, channel: Option<ChannelKind>) -> Config {
    let mut config = config.clone();
    config.telegram.take_if(|_| channel != Some(ChannelKind::Telegram));
    config.slack.take_if(|_| channel != Some(ChannelKind::Slack));
    config.discord.take_if(|_| channel != Some(ChannelKind::Discord));
    config.matrix.take_if(|_| channel != Some(ChannelKind::Matrix));
    config.email.take_if(|_| channel != Some(ChannelKind::Email));
    config.telegram_accounts.clear();
    config.slack_accounts.clear();
    config.discord_accounts.clear();
    config.matrix_accounts.clear();
    config.email_accounts.clear();
    config.schedule.clear();
    config.webhooks.clear();
    config.heartbeat = None;
    config.server.turn_off();
    config.mcp.clear();
    config.backup = BackupConfig::default();
    config
}
