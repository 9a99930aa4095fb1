//! `[memory]`: what is remembered, for how long, and how it is found again.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Finding;
use crate::{shape, values};
use hob_core::domain::secret::Secret;

/// What is remembered, for how long, and how it is found again.
///
/// Of health, money, politics and religion nothing is noted by itself, whatever is set here.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<MemoryConfig>)]
pub struct MemoryConfig {
    /// The most known facts that go along with a message.
    #[schemars(range(min = 0, max = 1000))]
    pub max_facts: usize,
    /// The most things said earlier that go along with a message.
    #[schemars(range(min = 0, max = 25))]
    pub fragments_max: usize,
    /// The most tokens of what was said earlier.
    #[schemars(range(min = 0, max = 100_000))]
    pub tokens_max: u64,
    /// Whether a model notes facts from conversations when they are over.
    pub extract: bool,
    /// The model that notes facts, as /model takes it. Without it: the one for simple work.
    #[schemars(length(min = 1, max = 200), example = &"openai/gpt-5-mini")]
    pub extract_model: Option<String>,
    /// Days after which what was said is forgotten, unless it is pinned or matters enough. Without it: never.
    #[schemars(range(min = 1, max = 36_500), example = 730)]
    pub retention_days: Option<u64>,
    /// What is near in meaning, found with the vectors of a small model.
    pub embedding: EmbeddingConfig,
}

/// Where vectors come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingKind {
    /// a small model on this machine (all-MiniLM-L6-v2), which nothing leaves
    #[default]
    Local,
    /// any server that speaks OpenAI's `/embeddings`, at base_url; what is remembered is sent there
    OpenaiCompatible,
    /// from nowhere: memories are found by their words alone
    None,
}

/// What is near in meaning, found with the vectors of a small model.
///
/// Until it is there, or without it, memories are found by their words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<EmbeddingConfig>)]
pub struct EmbeddingConfig {
    /// Where vectors come from.
    #[schemars(extend("x-goes" = true))]
    pub kind: EmbeddingKind,
    /// A folder with the files of a local model, as an absolute path: config.json, tokenizer.json, model.safetensors. Nothing
    /// is fetched then.
    #[schemars(length(min = 1, max = 4000), example = &"/srv/models/all-MiniLM-L6-v2")]
    pub path: Option<PathBuf>,
    /// Whether the local model may be fetched: 91 MB, once, in the background, as soon as a process that stays has been up
    /// for a minute. `false` is for a line that is dear; so is $HOB_NO_FETCH.
    pub fetch: bool,
    /// Where the local model is fetched from; its files are known by their checksums. Without it: huggingface.co.
    #[schemars(length(min = 1, max = 1000), example = &"https://mirror.example.org/all-MiniLM-L6-v2")]
    pub fetch_url: Option<String>,
    /// The server, with the version of its API.
    #[schemars(length(min = 1, max = 1000), example = &"http://127.0.0.1:11434/v1")]
    #[schemars(extend("x-goes" = true))]
    pub base_url: Option<String>,
    /// The server's model. Budgets count what it costs where a price is known: of OpenAI's own, and of others by
    /// `[models."embedding/NAME"]`.
    #[schemars(length(min = 1, max = 200), example = &"nomic-embed-text")]
    pub model: Option<String>,
    /// The server's key; local servers need none.
    #[schemars(length(min = 1, max = 1000), example = &"sk-example")]
    pub api_key: Option<Secret>,
    /// How many numbers a vector is to have, for models that can be told. Without it: as many as the model makes.
    #[schemars(range(min = 1, max = 8192), example = 512)]
    pub dimensions: Option<usize>,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            max_facts: 100,
            fragments_max: 5,
            tokens_max: 800,
            extract: true,
            extract_model: None,
            retention_days: None,
            embedding: EmbeddingConfig::default(),
        }
    }
}

impl Default for EmbeddingConfig {
    fn default() -> Self {
        Self {
            kind: EmbeddingKind::default(),
            path: None,
            fetch: true,
            fetch_url: None,
            base_url: None,
            model: None,
            api_key: None,
            dimensions: None,
        }
    }
}

impl MemoryConfig {
    /// What cannot be.
    pub fn validate(&self) -> Vec<Finding> {
        self.embedding.validate().into_iter().map(|finding| finding.within("embedding")).collect()
    }
}

impl EmbeddingConfig {
    fn validate(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        found.extend(self.path.as_ref().and_then(|path| values::absolute_path("path", path)));
        found.extend(self.fetch_url.as_ref().and_then(|url| values::check_http_url("fetch_url", url)));
        found.extend(self.base_url.as_ref().and_then(|url| values::check_http_url("base_url", url)));
        found.extend(self.api_key.as_ref().and_then(|key| values::header_secret("api_key", key.expose())));
        if self.kind != EmbeddingKind::OpenaiCompatible {
            return found;
        }
        let needed = [
            ("base_url", self.base_url.is_some(), "the server's URL", "http://127.0.0.1:11434/v1"),
            ("model", self.model.is_some(), "the server's model", "nomic-embed-text"),
        ];
        found.extend(needed.into_iter().filter(|(_, is_there, ..)| !is_there).map(|(key, _, what, example)| {
            let why = format!("is missing, expected {what}, because kind is openai_compatible");
            Finding::new(key, why, format!("for example `{key} = \"{example}\"`")).with("kind")
        }));
        found
    }
}
