//! What an Ollama's model can do, read from what the server shows of it.
//!
//! Never: I/O.
//! Start at `Traits::of`.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use hob_core::domain::choices::Effort;

/// How many tokens a model holds unless its maker or the owner says more. Most could hold 128k, and a small machine
/// has no memory for it; Ollama itself would take 4,096, which tools and a few turns fill.
pub(crate) const CONTEXT_TOKENS_DEFAULT: u64 = 16_384;

/// The answer to `/api/show`, as far as it is read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ShowResponse {
    /// Keys of the model's file: `llama.context_length`.
    #[serde(default)]
    model_info: HashMap<String, Value>,
    /// A line each: `num_ctx 32768`.
    #[serde(default)]
    parameters: String,
    /// Servers before 0.6.4 do not tell.
    capabilities: Option<Vec<String>>,
}

/// What a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traits {
    /// The most tokens it was made for.
    context_length: Option<u64>,
    /// What its maker sets.
    num_ctx: Option<u64>,
    /// Whether it calls tools.
    pub(super) calls_tools: bool,
    /// Whether it takes pictures.
    pub(super) sees_images: bool,
    thinking: Thinking,
}

/// How a model is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinking {
    /// Not at all: it does not think.
    Untold,
    /// On or off.
    Switch,
    /// As one of three words.
    Levels,
}

/// The value of `think`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Think {
    /// On or off.
    Switch(bool),
    Level(&'static str),
}

impl Traits {
    /// Reads what the server shows; what it does not tell is taken to be there.
    pub(super) fn of(shown: &ShowResponse) -> Self {
        let can = |what: &str| shown.capabilities.as_ref().map(|all| all.iter().any(|one| one == what));
        let architecture = shown.model_info.get("general.architecture").and_then(Value::as_str).unwrap_or_default();
        let length = shown.model_info.get(&format!("{architecture}.context_length"));
        let thinking = match can("thinking") {
            Some(true) if matches!(architecture, "gptoss" | "gpt-oss") => Thinking::Levels,
            Some(true) => Thinking::Switch,
            Some(false) | None => Thinking::Untold,
        };
        Self {
            context_length: length.and_then(Value::as_u64).filter(|tokens| *tokens > 0),
            num_ctx: num_ctx(&shown.parameters),
            calls_tools: can("tools").unwrap_or(true),
            sees_images: can("vision").unwrap_or(true),
            thinking,
        }
    }

    /// How many tokens it is asked to hold: what the owner says, else [`CONTEXT_TOKENS_DEFAULT`] or its maker's higher
    /// number; never more than it was made for.
    pub(super) fn window(self, configured: Option<u64>) -> u64 {
        let usual = CONTEXT_TOKENS_DEFAULT.max(self.num_ctx.unwrap_or(0));
        let wanted = configured.filter(|tokens| *tokens > 0).unwrap_or(usual);
        self.context_length.map_or(wanted, |most| wanted.min(most))
    }

    /// The value of `think`. What only knows on and off does not think where a little is wanted.
    pub(super) fn think(self, effort: Option<Effort>) -> Option<Think> {
        let effort = effort?;
        match self.thinking {
            Thinking::Untold => None,
            Thinking::Switch => Some(Think::Switch(effort != Effort::Low)),
            Thinking::Levels => Some(Think::Level(match effort {
                Effort::Low => "low",
                Effort::Medium => "medium",
                Effort::High => "high",
            })),
        }
    }
}

fn num_ctx(parameters: &str) -> Option<u64> {
    parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn traits(shown: Value) -> Traits {
        Traits::of(&serde_json::from_value(shown).unwrap())
    }

    fn made_for(tokens: u64, parameters: &str) -> Traits {
        let info = json!({"general.architecture": "qwen3", "qwen3.context_length": tokens, "qwen3.block_count": 36});
        traits(json!({"model_info": info, "parameters": parameters, "capabilities": ["completion"]}))
    }

    #[test]
    fn the_window_is_what_fits_the_machine_the_model_and_the_owner() {
        let cases = [
            (made_for(131_072, ""), None, 16_384),
            (made_for(8192, "stop \"<s>\""), None, 8192),
            (made_for(131_072, "temperature 0.7\nnum_ctx                        32768\nstop \"x\""), None, 32_768),
            (made_for(131_072, "num_ctx 2048"), None, 16_384),
            (made_for(131_072, "num_ctx 32768"), Some(65_536), 65_536),
            (made_for(131_072, ""), Some(4096), 4096),
            (made_for(8192, ""), Some(65_536), 8192),
            (traits(json!({})), None, 16_384),
            (made_for(0, "num_ctx x"), Some(0), 16_384),
        ];
        for (traits, configured, window) in cases {
            assert_eq!(traits.window(configured), window, "{traits:?} {configured:?}");
        }
    }

    #[test]
    fn thinking_is_told_in_the_models_way() {
        let with = |architecture: &str, capabilities: Value| {
            traits(json!({"model_info": {"general.architecture": architecture}, "capabilities": capabilities}))
        };
        let efforts = [None, Some(Effort::Low), Some(Effort::Medium), Some(Effort::High)];
        let told = |traits: Traits| efforts.map(|effort| traits.think(effort));
        let (on, off) = (Some(Think::Switch(true)), Some(Think::Switch(false)));
        assert_eq!(told(with("qwen3", json!(["completion", "thinking"]))), [None, off, on, on]);
        let levels = ["low", "medium", "high"].map(|level| Some(Think::Level(level)));
        let [low, medium, high] = levels;
        assert_eq!(told(with("gptoss", json!(["thinking"]))), [None, low, medium, high]);
        assert_eq!(told(with("llama", json!(["completion"]))), [None; 4]);
        assert_eq!(told(traits(json!({}))), [None; 4]);
    }

    #[test]
    fn what_the_server_does_not_tell_is_taken_to_be_there() {
        let unknown = traits(json!({"model_info": {}}));
        assert!(unknown.calls_tools && unknown.sees_images);
        let known = traits(json!({"capabilities": ["completion", "vision"]}));
        assert!(!known.calls_tools && known.sees_images);
    }
}
