//! `[speech]`: who says answers aloud.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{key_path, sandbox_keys, shape, values};
use hob_core::domain::secret::Secret;

/// Who says answers aloud: a server or a command.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<SpeechConfig>)]
pub struct SpeechConfig {
    /// The server: any that has OpenAI's /audio/speech and gives Opus.
    #[schemars(length(min = 1, max = 1000), example = &"http://127.0.0.1:8880/v1")]
    #[schemars(extend("x-goes" = true))]
    pub base_url: Option<String>,
    /// The server's key. Those on this machine need none.
    #[schemars(length(min = 1, max = 1000), example = &"sk-example")]
    pub api_key: Option<Secret>,
    /// The model, as the server calls it.
    #[schemars(length(min = 1, max = 200))]
    pub model: String,
    /// The voice, as the server calls it.
    #[schemars(length(min = 1, max = 200))]
    pub voice: String,
    /// In the place of a server: a program with its arguments, run without a shell, in the sandbox. It reads the words as one
    /// line on standard input and writes Opus in Ogg to standard output. docs/files.md has some.
    #[schemars(length(max = 256), example = ["/usr/local/bin/say-opus"])]
    pub command: Vec<String>,
    /// Whether the program has the network.
    pub network: bool,
    /// More that the program may read, as absolute paths: where its voices are.
    #[schemars(length(max = 64))]
    pub read_dirs: Vec<PathBuf>,
    /// The most characters that are spoken of one answer. Of a longer one the beginning is.
    #[schemars(range(min = 100, max = 4_096))]
    pub chars_max: usize,
    /// Seconds that one answer may take.
    #[schemars(range(min = 1, max = 300))]
    pub timeout_secs: u64,
    /// US dollars for a million characters, for the budget. Without it what a server says counts for nothing there.
    #[schemars(range(min = 0, max = 10_000), example = &15.0)]
    pub million_chars_usd: Option<f64>,
}

impl SpeechConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        let who = match (&self.base_url, self.command.first()) {
            (None, None) => Some(Finding::new(
                "base_url",
                "is missing, expected a server or a command",
                "set it, or `command`; or remove the section",
            )),
            (Some(_), Some(_)) => Some(Finding::new(
                "command",
                "stands beside a server, expected one of the two",
                "remove it, or `base_url`",
            )),
            (None, Some(program)) if program.is_empty() => {
                Some(Finding::new(key_path::item("command", 0), "is empty, expected a program", "write its path"))
            }
            (Some(_), None) | (None, Some(_)) => None,
        };
        let url = self.base_url.as_ref().and_then(|url| values::check_http_url("base_url", url));
        let key = self.api_key.as_ref().and_then(|key| values::header_secret("api_key", key.expose()));
        let words = [("model", &self.model), ("voice", &self.voice)].into_iter();
        let lines = words.filter(|(_, word)| word.chars().any(char::is_control)).map(|(name, _)| name.to_owned());
        let nul = self.command.iter().enumerate().filter(|(_, element)| element.contains('\0'));
        let signs = lines.chain(nul.map(|(index, _)| key_path::item("command", index)));
        let signs = signs.map(|key| Finding::new(key, "has a sign in it that no text has, expected text", "remove it"));
        let folders = sandbox_keys::folders([("read_dirs", &self.read_dirs), ("write_dirs", &[])]);
        who.into_iter().chain(url).chain(key).chain(signs).chain(folders).collect()
    }
}

impl Default for SpeechConfig {
    fn default() -> Self {
        Self {
            base_url: None,
            api_key: None,
            model: "tts-1".to_owned(),
            voice: "alloy".to_owned(),
            command: Vec::new(),
            network: false,
            read_dirs: Vec::new(),
            chars_max: 1_500,
            timeout_secs: 60,
            million_chars_usd: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f10_a_voice_has_one_way_out() {
        let told = |text: &str| {
            let config: SpeechConfig = toml::from_str(text).unwrap();
            config.validate().into_iter().map(|found| found.key).collect::<Vec<_>>()
        };
        for (text, keys) in [
            ("base_url = 'http://h/v1'", vec![]),
            ("command = ['say']\nread_dirs = ['/srv/voices']", vec![]),
            ("", vec!["base_url"]),
            ("base_url = 'http://h/v1'\ncommand = ['say']", vec!["command"]),
            ("command = ['']", vec!["command[1]"]),
            ("command = ['say', \"a\\u0000\"]\nread_dirs = ['voices']", vec!["command[2]", "read_dirs[1]"]),
            ("base_url = 'ftp://h'\nvoice = \"a\\nb\"", vec!["base_url", "voice"]),
        ] {
            assert_eq!(told(text), keys, "{text}");
        }
    }
}
