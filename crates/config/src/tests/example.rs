//! `config.example.toml` is what the types say, and it works.

use std::path::Path;

use super::parse;
use crate::Config;
use crate::environment::Environment;
use crate::example::example;

/// Set to make the file again.
const UPDATE: &str = "UPDATE_EXAMPLE";

#[test]
fn the_file_is_what_the_types_say() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("config.example.toml");
    if Environment::of_process().get(UPDATE).is_some() {
        std::fs::write(&path, example()).unwrap();
    }
    let file = std::fs::read_to_string(&path).unwrap();
    assert!(
        file == example(),
        "config.example.toml is out of date: {UPDATE}=1 cargo nextest run the_file_is_what_the_types_say"
    );
}

#[test]
fn as_it_stands_it_is_the_defaults() {
    assert_eq!(parse(&example()).unwrap(), Config::default());
}

#[test]
fn with_everything_on_it_has_no_problems() {
    let on = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest.to_owned(),
        _ => line.to_owned(),
    };
    // An MCP server is a program or an address: here it is a program.
    let of_address = ["url = \"https://mcp", "bearer = ", "headers = ", "client_id = ", "client_secret = "];
    let is_address = |line: &String| of_address.iter().any(|key| line.starts_with(key));
    // A destination is one place: here on Telegram. So is where Hob speaks by itself. A schedule looks by a command or at a page.
    // Answers are spoken by a server or a command: here by a server.
    let others = [
        "slack_channel = ",
        "discord_channel = ",
        "matrix_room = ",
        "to = ",
        "watch = ",
        "command = [\"/usr/local/bin/say-",
    ];
    let is_elsewhere = |line: &String| others.iter().any(|key| line.starts_with(key));
    let text: String = example()
        .lines()
        .map(on)
        .filter(|line| !is_address(line) && !is_elsewhere(line))
        .map(|line| line + "\n")
        .collect();
    // A mailbox has a password or a login: here a password.
    let (before, login) = text.split_once("[mail.ada.oauth]").unwrap();
    let text = format!("{before}[{}", login.split_once("\n[").unwrap().1);
    // Each bot has a token of its own.
    let (one, other) = text.rsplit_once("\"123456789:").unwrap();
    let text = format!("{one}\"987654321:{other}");
    let config = parse(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let provider = config.provider.unwrap();
    assert!(provider.api_key.is_some() && provider.models.smart.is_some() && provider.fallbacks[0].base_url.is_some());
    assert!(config.telegram.is_some() && config.state.dir.is_some() && config.agent.time_zone.is_some());
    assert_eq!(config.tools["switch_light"].parameters.len(), 2);
    assert!(config.mcp["notes"].env.len() == 1 && config.mcp["notes"].url.is_none());
}
