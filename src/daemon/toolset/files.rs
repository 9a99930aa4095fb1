//! The tools that read, write and send files, and send messages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::daemon::toolset::{ToolDependencies, terminal};
use hob_config::Config;
use hob_config::destinations::DestinationConfig;
use hob_core::domain::inbound::{ChannelKind, Conversation, DEFAULT_ACCOUNT};
use hob_tools::files::access::FileAccess;
use hob_tools::files::document::DocumentReader;
use hob_tools::files::keep_file::KeepFile;
use hob_tools::files::read_file::ReadFile;
use hob_tools::files::record::FileRecords;
use hob_tools::files::{delete_file, edit_file, list_files, move_file, search_files, write_file};
use hob_tools::messages::addresses::Addresses;
use hob_tools::messages::send_file::SendFile;
use hob_tools::messages::send_message::SendMessage;
use hob_tools::registry::Registry;

pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    let own = forbidden_paths(dependencies);
    let room = FileAccess::new(dependencies.workspace, own, dependencies.config.workspace.trusted);
    let room = Arc::new(room.with_drafts(terminal::draft_workspace(dependencies)));
    let records = FileRecords { store: dependencies.memory.store.clone(), contents: dependencies.contents.clone() };
    let reader = DocumentReader::new(dependencies.sandbox.clone(), dependencies.data_dir);
    registry
        .with(Arc::new(ReadFile::new(Arc::clone(&room), records.clone(), reader)))
        .with(Arc::new(KeepFile::new(Arc::clone(&room), records.clone())))
        .with(Arc::new(write_file::tool(Arc::clone(&room))))
        .with(Arc::new(edit_file::tool(Arc::clone(&room))))
        .with(Arc::new(move_file::tool(Arc::clone(&room))))
        .with(Arc::new(delete_file::tool(Arc::clone(&room))))
        .with(Arc::new(list_files::tool(Arc::clone(&room))))
        .with(Arc::new(search_files::tool(Arc::clone(&room))))
        .with(Arc::new(SendFile::new(room, records)))
        .with(Arc::new(SendMessage::new(addresses(dependencies.config))))
}

/// What no tool may use, whatever folder the owner allows: Hob's data, and the config wherever it may be.
fn forbidden_paths(dependencies: &ToolDependencies<'_>) -> Vec<PathBuf> {
    let environment = dependencies.environment;
    let home = environment.absolute_path("HOME").map(|home| home.join(".config/hob"));
    let here = environment.seen_from_here(Path::new("config.toml"));
    [dependencies.data_dir.to_owned(), here].into_iter().chain(environment.path("HOB_CONFIG")).chain(home).collect()
}

/// The destinations that the config names, and the private chats of its people.
fn addresses(config: &Config) -> Addresses {
    let telegram = |chat: String| Conversation {
        channel: ChannelKind::Telegram,
        account: DEFAULT_ACCOUNT.to_owned(),
        chat,
        thread: None,
    };
    let people = config.people.iter().filter_map(|(name, person)| {
        let id = person.telegram_user_ids.first()?;
        Some((name.clone(), telegram(id.to_string())))
    });
    let named = config.destinations.iter().filter_map(|(name, at)| Some((name.clone(), destination(at)?)));
    // A destination goes before a person of the same name.
    Addresses(people.chain(named).collect())
}

/// The conversation that a destination names.
pub(in crate::daemon) fn destination(config: &DestinationConfig) -> Option<Conversation> {
    let DestinationConfig { telegram_chat, topic, slack_channel, discord_channel, matrix_room, account } = config;
    let telegram = telegram_chat.map(|chat| (ChannelKind::Telegram, chat.to_string()));
    let slack = slack_channel.clone().map(|chat| (ChannelKind::Slack, chat));
    let discord = discord_channel.clone().map(|chat| (ChannelKind::Discord, chat));
    let matrix = matrix_room.clone().map(|chat| (ChannelKind::Matrix, chat));
    let (channel, chat) = telegram.or(slack).or(discord).or(matrix)?;
    let account = account.clone().unwrap_or_else(|| DEFAULT_ACCOUNT.to_owned());
    Some(Conversation { channel, account, chat, thread: topic.map(|topic| topic.to_string()) })
}
