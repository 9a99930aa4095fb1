//! The slash commands: which there are, and their registration where it differs.

use serde::Deserialize;
use serenity::builder::{CreateCommand, CreateCommandOption};
use serenity::model::application::CommandOptionType;
use tracing::{debug, info, warn};

use crate::call::{Api, CallError, Request};
use crate::convert::SAY;
use crate::settings::Timing;
use crate::wire::Id;

/// How often the registration is tried after each start.
const TRIES: u32 = 5;
/// The type of an option that takes text.
const TEXT: u8 = 3;

/// A command: its name, what it does, and what its words are if it takes any.
type CommandRow = (&'static str, &'static str, Option<(&'static str, bool)>);

/// Hob's chat commands, as the router knows them.
pub const COMMANDS: [CommandRow; 25] = [
    (SAY, "Say something to Hob", Some(("What to say", true))),
    ("help", "What can be said", None),
    ("status", "How Hob is", None),
    ("stop", "End what runs here", Some(("now: also what has an effect", false))),
    ("new", "Begin a new conversation", None),
    ("reset", "Begin a new conversation and end what runs here", None),
    ("compact", "Sum up the older part of the conversation", None),
    ("model", "Show or choose the model", Some(("Which one, or auto", false))),
    ("auto", "Let each message choose the model again", None),
    ("persona", "Show or choose who Hob is", Some(("Who", false))),
    ("voice", "Show or choose whether answers are spoken", Some(("on, off or auto", false))),
    ("cost", "What was spent", None),
    ("journal", "What the run has noted", None),
    ("queue", "What waits", Some(("drop and a number, or mode and queue, steer or interrupt", false))),
    ("pause", "Stand still", Some(("all: the whole house", false))),
    ("resume", "Go on", Some(("all: the whole house", false))),
    ("grants", "What is allowed for good", Some(("revoke and a number", false))),
    ("schedules", "What is to be done later", Some(("pause, resume, run or delete, and a number", false))),
    ("skills", "Show the skills", None),
    ("why", "What was recalled for the last answer", None),
    ("memory", "What is remembered", Some(("What to look for", false))),
    ("facts", "What is known for a fact", Some(("What to look for", false))),
    ("forget", "Forget something", Some(("Which, or words that fit", false))),
    ("pin", "Keep something at hand", Some(("Which", true))),
    ("unpin", "Keep it at hand no longer", Some(("Which", true))),
];

/// A command as Discord lists it, as far as it is compared.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct ListedCommand {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    options: Vec<ListedOption>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct ListedOption {
    #[serde(rename = "type")]
    kind: u8,
    name: String,
    description: String,
    #[serde(default)]
    required: bool,
}

/// What should be listed.
fn expected_commands() -> Vec<ListedCommand> {
    let option = |(description, required): (&str, bool)| ListedOption {
        kind: TEXT,
        name: "text".to_owned(),
        description: description.to_owned(),
        required,
    };
    let listed = |(name, description, words): &CommandRow| ListedCommand {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        options: words.iter().copied().map(option).collect(),
    };
    COMMANDS.iter().map(listed).collect()
}

/// The same as Discord takes it.
fn payload() -> Vec<CreateCommand> {
    let command = |(name, description, words): &CommandRow| {
        let command = CreateCommand::new(*name).description(*description);
        match words {
            Some((words, required)) => {
                let option = CreateCommandOption::new(CommandOptionType::String, "text", *words).required(*required);
                command.add_option(option)
            }
            None => command,
        }
    };
    COMMANDS.iter().map(command).collect()
}

/// One list of commands, and what it should be.
struct CommandList<'a> {
    application: &'a str,
    /// The server's own; none: everywhere.
    guild: Option<&'a str>,
    /// Whether nothing should be in it.
    none: bool,
    /// The servers whose own lists have to be empty before this one is filled.
    before: &'a [String],
}

impl<'a> CommandList<'a> {
    fn path(&self) -> Vec<&'a str> {
        match self.guild {
            Some(guild) => vec!["applications", self.application, "guilds", guild, "commands"],
            None => vec!["applications", self.application, "commands"],
        }
    }
}

/// Registers the commands in these servers, or everywhere, where they are not as they should be. `joined` are the servers
/// that the bot is in.
pub(super) async fn register(api: &Api, application: Id, guilds: &[String], joined: &[String], pace: Timing) {
    let application = application.to_string();
    // Named servers have them for themselves: everywhere else there are none, lest they show twice.
    let none = !guilds.is_empty();
    let before = if none { &[] } else { joined };
    register_until_done(api, &CommandList { application: &application, guild: None, none, before }, pace).await;
    for guild in guilds {
        register_until_done(
            api,
            &CommandList { application: &application, guild: Some(guild), none: false, before: &[] },
            pace,
        )
        .await;
    }
}

async fn register_until_done(api: &Api, list: &CommandList<'_>, pace: Timing) {
    for tried in 1..=TRIES {
        match attempt(api, list).await {
            Ok(true) => return info!(channel = "discord", "the slash commands are registered"),
            Ok(false) => return debug!(channel = "discord", "the slash commands stand as they are"),
            Err(error) if error.is_transient() && tried < TRIES => {
                let wait = error.after().unwrap_or(pace.retry_min * tried);
                debug!(channel = "discord", %error, "the slash commands wait {wait:?}: {error}");
                tokio::time::sleep(wait).await;
            }
            Err(error) => {
                return warn!(channel = "discord", %error, "the slash commands are not registered: {error}; is the bot \
                    invited with the scope applications.commands?");
            }
        }
    }
}

/// Whether anything had to be changed.
async fn attempt(api: &Api, list: &CommandList<'_>) -> Result<bool, CallError> {
    let path = list.path();
    let answer = api.call(Request::at(reqwest::Method::GET, &path)).await?;
    let mut there: Vec<ListedCommand> = answer.parse().map_err(|error| CallError::Lost(error.to_string()))?;
    let mut wanted = if list.none { Vec::new() } else { expected_commands() };
    there.sort_by(|a, b| a.name.cmp(&b.name));
    wanted.sort_by(|a, b| a.name.cmp(&b.name));
    if there == wanted {
        return Ok(false);
    }
    // Looked at only now: while this list stands as it should, nobody has changed where the commands are.
    for guild in list.before {
        empty(api, &CommandList { guild: Some(guild), none: true, before: &[], ..*list }).await?;
    }
    let commands = if list.none { Vec::new() } else { payload() };
    api.call(Request::at(reqwest::Method::PUT, &path).json(&commands)?).await?;
    Ok(true)
}

/// Takes a server's own commands away, which stand there from when it was named.
async fn empty(api: &Api, list: &CommandList<'_>) -> Result<(), CallError> {
    match Box::pin(attempt(api, list)).await {
        Ok(_changed) => Ok(()),
        Err(error) if error.is_transient() => Err(error),
        Err(error) => {
            debug!(channel = "discord", %error, "a server's own commands cannot be looked at: {error}");
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_what_is_compared_and_within_the_limits() {
        let sent = serde_json::to_value(payload()).unwrap();
        let listed: Vec<ListedCommand> = serde_json::from_value(sent).unwrap();
        assert_eq!(listed, expected_commands());
        for command in listed {
            assert!(command.description.len() <= 100 && command.name.len() <= 32, "{}", command.name);
            assert!(command.options.iter().all(|option| (1..=100).contains(&option.description.len())));
        }
    }
}
