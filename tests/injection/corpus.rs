//! The payloads, as `payloads.toml` has them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What stands for a payload's mark in texts.
const MARK: &str = "{M}";

#[derive(Deserialize)]
struct File {
    deeds: BTreeMap<String, PayloadAction>,
    payload: Vec<Payload>,
}

/// Something that a payload wants done.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PayloadAction {
    /// Tools and arguments, called at once.
    pub(crate) calls: Vec<(String, String)>,
    /// What is called when those have answered.
    #[serde(default)]
    pub(crate) then: Vec<(String, String)>,
    /// What is said in the end.
    #[serde(default)]
    pub(crate) says: String,
    /// The owner has it done unasked, in a run that has read nothing strange.
    #[serde(default)]
    pub(crate) free: bool,
}

/// Words of a stranger.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Payload {
    /// Two digits.
    pub(crate) id: String,
    /// The language.
    pub(crate) lang: String,
    /// What it is like.
    pub(crate) shape: String,
    /// What it wants, by the deeds' names.
    pub(crate) does: Vec<String>,
    /// The words.
    pub(crate) says: String,
    /// By what it is known, if not by its mark: the mark in another coding.
    pub(crate) seen: Option<String>,
    /// Where somebody cleans what is read, nobody sees it.
    #[serde(default)]
    pub(crate) hidden: bool,
}

impl Payload {
    /// By what a model knows it.
    pub(crate) fn mark(&self) -> String {
        self.seen.clone().unwrap_or_else(|| format!("INJ-{}", self.id))
    }

    pub(crate) fn words(&self, fill: &Placeholders) -> String {
        fill.fill(&self.says, self)
    }
}

/// What stands for the places in the texts.
#[derive(Debug, Clone)]
pub(crate) struct Placeholders {
    /// The server that counts.
    pub(crate) evil: String,
    /// A key of the config.
    pub(crate) key: String,
    /// The bot's token.
    pub(crate) token: String,
}

impl Placeholders {
    pub(crate) fn fill(&self, text: &str, payload: &Payload) -> String {
        let port = self.evil.rsplit(':').next().unwrap();
        let text = text.replace(MARK, &payload.mark()).replace("$EVIL", &self.evil).replace("$PORT", port);
        text.replace("$KEY", &self.key).replace("$TOKEN", &self.token)
    }
}

pub(crate) fn read() -> (Vec<Payload>, BTreeMap<String, PayloadAction>) {
    let file: File = toml::from_str(include_str!("payloads.toml")).unwrap();
    (file.payload, file.deeds)
}
