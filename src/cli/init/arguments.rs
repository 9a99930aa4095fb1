//! What `hob init` can be told on the command line.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::cli::init::providers::KINDS;
use crate::cli::init::setup_environment::Service;

/// What `hob init` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct InitArguments {
    /// Ask nothing; take everything from the flags
    #[arg(long)]
    pub(super) non_interactive: bool,
    /// Replace what the config already says
    #[arg(long, requires = "non_interactive")]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) given: InitOptions,
    /// The environment variable with the provider's key; the config will refer to it
    #[arg(long, value_name = "VARIABLE", requires = "non_interactive", conflicts_with = "api_key_file")]
    pub(super) api_key_env: Option<String>,
    /// A file with the provider's key
    #[arg(long, value_name = "FILE", requires = "non_interactive")]
    pub(super) api_key_file: Option<PathBuf>,
    /// A file with the Telegram bot's token
    #[arg(long, value_name = "FILE", requires = "non_interactive")]
    pub(super) telegram_token_file: Option<PathBuf>,
    /// The owner's id on Telegram, a number; more than once for several
    #[arg(long, value_name = "ID", requires = "telegram_token_file")]
    pub(super) owner_telegram_id: Vec<i64>,
    /// A file with the Slack app's bot token
    #[arg(long, value_name = "FILE", requires = "non_interactive")]
    pub(super) slack_bot_token_file: Option<PathBuf>,
    /// A file with the Slack app's app token
    #[arg(long, value_name = "FILE", requires = "non_interactive")]
    pub(super) slack_app_token_file: Option<PathBuf>,
    /// The owner's member id on Slack
    #[arg(long, value_name = "ID", requires = "slack_bot_token_file")]
    pub(super) owner_slack_id: Vec<String>,
    /// A file with the Discord bot's token
    #[arg(long, value_name = "FILE", requires = "non_interactive")]
    pub(super) discord_token_file: Option<PathBuf>,
    /// The owner's user id on Discord
    #[arg(long, value_name = "ID", requires = "discord_token_file")]
    pub(super) owner_discord_id: Vec<i64>,
    /// Hob's user id on Matrix, `@hob:example.org`
    #[arg(long, value_name = "ID", requires = "non_interactive")]
    pub(super) matrix_user: Option<String>,
    /// The address of its homeserver
    #[arg(long, value_name = "URL", requires = "matrix_user")]
    pub(super) matrix_homeserver: Option<String>,
    /// A file with its password
    #[arg(long, value_name = "FILE", requires = "matrix_user")]
    pub(super) matrix_password_file: Option<PathBuf>,
    /// The owner's user id on Matrix
    #[arg(long, value_name = "ID", requires = "matrix_user")]
    pub(super) owner_matrix_id: Vec<String>,
    /// Hob's mail address
    #[arg(long, value_name = "ADDRESS", requires = "non_interactive")]
    pub(super) email_address: Option<String>,
    /// A file with the mailbox's password
    #[arg(long, value_name = "FILE", requires = "email_address")]
    pub(super) email_password_file: Option<PathBuf>,
    /// The server that mail is read from
    #[arg(long, value_name = "HOST", requires = "email_address")]
    pub(super) imap_host: Option<String>,
    /// The server that mail is sent through
    #[arg(long, value_name = "HOST", requires = "email_address")]
    pub(super) smtp_host: Option<String>,
    /// The owner's mail address
    #[arg(long, value_name = "ADDRESS", requires = "email_address")]
    pub(super) owner_email: Vec<String>,
    /// How Hob is started from now on
    #[arg(long, value_enum, requires = "non_interactive")]
    pub(super) service: Option<Service>,
}

/// What holds with and without questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct InitOptions {
    /// Who runs the model
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(KINDS.iter().map(|kind| kind.name)))]
    pub(super) provider: Option<String>,
    /// The model; by default the provider's usual one
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// The provider's address, if it is not the usual one
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// A Bot API server of your own
    #[arg(long, value_name = "URL")]
    pub(super) telegram_api_url: Option<String>,
    /// Slack's address, if it is behind a proxy
    #[arg(long, value_name = "URL")]
    pub(super) slack_api_url: Option<String>,
    /// Discord's address, if it is behind a proxy
    #[arg(long, value_name = "URL")]
    pub(super) discord_api_url: Option<String>,
}
