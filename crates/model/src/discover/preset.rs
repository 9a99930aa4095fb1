//! The services that are known by name, and what sets them apart.
//!
//! Never: logic.
//! Start at `PRESETS`.

use crate::openai::quirks::{EffortFormat, OutputLimit, PLAIN, Quirks, ReasoningReplay};
use hob_config::provider::ProviderKind;

/// The API that a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's chat completions, with what sets the service apart.
    OpenAi(&'static Quirks),
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's generateContent.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

/// A service and what it takes to use it.
#[derive(Debug)]
pub struct Preset {
    /// The kind in the config.
    pub kind: ProviderKind,
    /// The first part of the label.
    pub name: &'static str,
    /// Where its key is found in the environment; a server on this machine needs none.
    pub key_variable: Option<&'static str>,
    /// Where it is; none: the config must say.
    pub base_url: Option<&'static str>,
    /// The API it speaks there, unless another is chosen (`ApiConfig`).
    pub dialect: Dialect,
    /// The model taken when none is named: a fast one with tools. None: the config must say.
    pub model: Option<&'static str>,
}

const OPENAI: Quirks = Quirks { output_limit: OutputLimit::MaxCompletionTokens, ..PLAIN };
const OPENROUTER: Quirks = Quirks { effort: EffortFormat::Object, reasoning: ReasoningReplay::Details, ..PLAIN };
const DEEPSEEK: Quirks = Quirks { reasoning: ReasoningReplay::Content, ..PLAIN };
const GROQ: Quirks = Quirks { output_limit: OutputLimit::MaxCompletionTokens, ..PLAIN };
const XAI: Quirks = Quirks { output_limit: OutputLimit::MaxCompletionTokens, ..PLAIN };
const MOONSHOT: Quirks =
    Quirks { output_limit: OutputLimit::MaxCompletionTokens, reasoning: ReasoningReplay::Content, ..PLAIN };
/// It refuses fields that it does not know (422), always reports the usage, and wants a word of its own after results.
const MISTRAL: Quirks = Quirks { usage_option: false, speaks_after_results: true, ..PLAIN };

/// What is taken for the window of a hosted model that nobody knows.
const HOSTED_WINDOW: u64 = 128_000;

/// What is taken for the window of the model with this label where nobody knows it; none: as little as a small one has.
///
/// That is what runs on one's own machine, and a server at an address that the config must say is taken for one of these.
pub fn assumed_window(label: &str) -> Option<u64> {
    let provider = label.split('/').next().unwrap_or_default().replace('_', "-");
    let preset = PRESETS.iter().find(|preset| preset.name == provider)?;
    preset.base_url.is_some_and(|address| address.starts_with("https://")).then_some(HOSTED_WINDOW)
}

/// In the order in which their keys are looked for.
///
/// Models and addresses written down in 2026-11 from the vendors' pages, not tried against the services: look through
/// them with each release.
pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        kind: ProviderKind::Openai,
        name: "openai",
        key_variable: Some("OPENAI_API_KEY"),
        base_url: Some("https://api.openai.com/v1"),
        dialect: Dialect::OpenAi(&OPENAI),
        model: Some("gpt-6-luna"),
    },
    Preset {
        kind: ProviderKind::Anthropic,
        name: "anthropic",
        key_variable: Some("ANTHROPIC_API_KEY"),
        base_url: Some("https://api.anthropic.com"),
        dialect: Dialect::Anthropic,
        model: Some("claude-haiku-5-5"),
    },
    Preset {
        kind: ProviderKind::Gemini,
        name: "gemini",
        key_variable: Some("GEMINI_API_KEY"),
        base_url: Some("https://generativelanguage.googleapis.com"),
        dialect: Dialect::Gemini,
        model: Some("gemini-3.8-flash"),
    },
    Preset {
        kind: ProviderKind::Openrouter,
        name: "openrouter",
        key_variable: Some("OPENROUTER_API_KEY"),
        base_url: Some("https://openrouter.ai/api/v1"),
        dialect: Dialect::OpenAi(&OPENROUTER),
        model: Some("openrouter/auto"),
    },
    Preset {
        kind: ProviderKind::Deepseek,
        name: "deepseek",
        key_variable: Some("DEEPSEEK_API_KEY"),
        base_url: Some("https://api.deepseek.com"),
        dialect: Dialect::OpenAi(&DEEPSEEK),
        model: Some("deepseek-flash"),
    },
    Preset {
        kind: ProviderKind::Groq,
        name: "groq",
        key_variable: Some("GROQ_API_KEY"),
        base_url: Some("https://api.groq.com/openai/v1"),
        dialect: Dialect::OpenAi(&GROQ),
        model: Some("openai/gpt-oss-120b"),
    },
    Preset {
        kind: ProviderKind::Xai,
        name: "xai",
        key_variable: Some("XAI_API_KEY"),
        base_url: Some("https://api.x.ai/v1"),
        dialect: Dialect::OpenAi(&XAI),
        model: Some("grok-4.3"),
    },
    Preset {
        kind: ProviderKind::Moonshot,
        name: "moonshot",
        key_variable: Some("MOONSHOT_API_KEY"),
        base_url: Some("https://api.moonshot.ai/v1"),
        dialect: Dialect::OpenAi(&MOONSHOT),
        model: Some("kimi-k2.6"),
    },
    Preset {
        kind: ProviderKind::Mistral,
        name: "mistral",
        key_variable: Some("MISTRAL_API_KEY"),
        base_url: Some("https://api.mistral.ai/v1"),
        dialect: Dialect::OpenAi(&MISTRAL),
        model: Some("mistral-medium-3.5"),
    },
    // Its address may also be in $OLLAMA_HOST, and it tells which models it has.
    Preset {
        kind: ProviderKind::Ollama,
        name: "ollama",
        key_variable: None,
        base_url: Some("http://127.0.0.1:11434"),
        dialect: Dialect::Ollama,
        model: None,
    },
    Preset {
        kind: ProviderKind::Vllm,
        name: "vllm",
        key_variable: None,
        base_url: Some("http://127.0.0.1:8000/v1"),
        dialect: Dialect::OpenAi(&PLAIN),
        model: None,
    },
    Preset {
        kind: ProviderKind::LlamaCpp,
        name: "llama-cpp",
        key_variable: None,
        base_url: Some("http://127.0.0.1:8080/v1"),
        dialect: Dialect::OpenAi(&PLAIN),
        model: None,
    },
    Preset {
        kind: ProviderKind::LmStudio,
        name: "lm-studio",
        key_variable: None,
        base_url: Some("http://127.0.0.1:1234/v1"),
        dialect: Dialect::OpenAi(&PLAIN),
        model: None,
    },
    Preset {
        kind: ProviderKind::OpenaiCompatible,
        name: "openai-compatible",
        key_variable: None,
        base_url: None,
        dialect: Dialect::OpenAi(&PLAIN),
        model: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e3_a_window_that_nobody_knows_is_larger_at_a_hosted_kind() {
        for label in ["openai/gpt-7", "anthropic/claude-new", "openrouter/maker/model", "mistral/new"] {
            assert_eq!(assumed_window(label), Some(128_000), "{label}");
        }
        for label in [
            "ollama/qwen3",
            "lm_studio/any",
            "llama-cpp/any",
            "vllm/any",
            "openai-compatible/own",
            "offline/built-in",
            "?",
        ] {
            assert_eq!(assumed_window(label), None, "{label}");
        }
    }
}
