//! The services that are known by name.
//!
//! Never: logic.
//! Start at [`PRESETS`].

use crate::model::discover::ProviderKind;

/// A service and what it takes to use it with nothing but a key.
#[derive(Debug)]
pub struct Preset {
    /// The kind in the config.
    pub kind: ProviderKind,
    /// The first part of the label.
    pub name: &'static str,
    /// Where its key is found in the environment.
    pub key_variable: &'static str,
    /// Its OpenAI-compatible endpoint.
    pub base_url: &'static str,
    /// The model taken when none is named: a fast one with tools.
    pub model: &'static str,
}

/// In the order in which their keys are looked for.
///
/// Models written down in 2026-11, not tried against the services: look through them with each release.
pub const PRESETS: &[Preset] = &[
    Preset {
        kind: ProviderKind::OpenAi,
        name: "openai",
        key_variable: "OPENAI_API_KEY",
        base_url: "https://api.openai.com/v1",
        model: "gpt-5-mini",
    },
    Preset {
        kind: ProviderKind::Anthropic,
        name: "anthropic",
        key_variable: "ANTHROPIC_API_KEY",
        base_url: "https://api.anthropic.com/v1/",
        model: "claude-haiku-4-5",
    },
    Preset {
        kind: ProviderKind::Gemini,
        name: "gemini",
        key_variable: "GEMINI_API_KEY",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai/",
        model: "gemini-2.5-flash",
    },
    Preset {
        kind: ProviderKind::OpenRouter,
        name: "openrouter",
        key_variable: "OPENROUTER_API_KEY",
        base_url: "https://openrouter.ai/api/v1",
        model: "openrouter/auto",
    },
];
