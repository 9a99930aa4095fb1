//! What Hob says to models and hears from them: each dialect against its strict fake, and the fakes against clients of others.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod anthropic;
mod extraction;
mod fake_model;
mod fakes;
mod gemini;
mod legal;
mod ollama;
mod openai;
mod wire;
