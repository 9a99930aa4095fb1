//! The kinds of provider as people know them.

use hob_config::provider::ProviderKind;
use hob_model::discover::preset::Preset;

/// A kind of provider.
#[derive(Debug)]
pub(in crate::cli) struct ProviderInfo {
    /// In the config.
    pub(in crate::cli) kind: ProviderKind,
    /// There, as text.
    pub(in crate::cli) name: &'static str,
    /// For people.
    pub(in crate::cli) title: &'static str,
    /// Where its keys are made; none: it needs none.
    pub(in crate::cli) keys: Option<&'static str>,
}

const fn kind_of(
    kind: ProviderKind,
    name: &'static str,
    title: &'static str,
    keys: Option<&'static str>,
) -> ProviderInfo {
    ProviderInfo { kind, name, title, keys }
}

/// All of them, in the order in which they are offered.
pub(in crate::cli) const KINDS: [ProviderInfo; 15] = [
    kind_of(ProviderKind::Openai, "openai", "OpenAI", Some("https://platform.openai.com/api-keys")),
    kind_of(ProviderKind::Anthropic, "anthropic", "Anthropic", Some("https://console.anthropic.com/settings/keys")),
    kind_of(ProviderKind::Gemini, "gemini", "Google Gemini", Some("https://aistudio.google.com/apikey")),
    kind_of(ProviderKind::Openrouter, "openrouter", "OpenRouter", Some("https://openrouter.ai/keys")),
    kind_of(ProviderKind::Deepseek, "deepseek", "DeepSeek", Some("https://platform.deepseek.com/api_keys")),
    kind_of(ProviderKind::Groq, "groq", "Groq", Some("https://console.groq.com/keys")),
    kind_of(ProviderKind::Xai, "xai", "xAI", Some("https://console.x.ai")),
    kind_of(ProviderKind::Moonshot, "moonshot", "Moonshot AI", Some("https://platform.moonshot.ai/console/api-keys")),
    kind_of(ProviderKind::Mistral, "mistral", "Mistral", Some("https://console.mistral.ai/api-keys")),
    kind_of(ProviderKind::Ollama, "ollama", "Ollama, on your own machine", None),
    kind_of(ProviderKind::Vllm, "vllm", "vLLM, on your own machine", None),
    kind_of(ProviderKind::LlamaCpp, "llama_cpp", "llama.cpp, on your own machine", None),
    kind_of(ProviderKind::LmStudio, "lm_studio", "LM Studio, on your own machine", None),
    kind_of(ProviderKind::OpenaiCompatible, "openai_compatible", "another server that speaks OpenAI's API", None),
    kind_of(ProviderKind::Offline, "offline", "none: the built-in model, which knows a few sentences", None),
];

impl ProviderInfo {
    /// Of this name in the config.
    pub(in crate::cli) fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Of this kind in the config.
    pub(in crate::cli) fn of(kind: ProviderKind) -> Option<&'static Self> {
        KINDS.iter().find(|known| known.kind == kind)
    }

    /// What is usual for it.
    pub(in crate::cli) fn preset(&self) -> Option<&'static Preset> {
        Preset::of(self.kind)
    }

    /// Where its key is looked for in the environment.
    pub(in crate::cli) fn variable(&self) -> Option<&'static str> {
        self.preset()?.key_variable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_config_is_offered_under_its_own_name() {
        for kind in &KINDS {
            assert_eq!(serde_json::to_value(kind.kind).unwrap(), kind.name);
            assert_eq!(kind.keys.is_some(), kind.variable().is_some(), "{}", kind.name);
        }
        let schema = serde_json::to_value(schemars::schema_for!(ProviderKind)).unwrap();
        let text = schema.to_string();
        assert!(KINDS.iter().all(|kind| text.contains(&format!("\"{}\"", kind.name))));
        assert_eq!(text.matches("\"const\"").count(), KINDS.len(), "{text}");
    }
}
