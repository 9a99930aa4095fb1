//! Counterparts for tests: strict models, with state, of the services that Hob talks to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::missing_panics_doc,
    reason = "a test's own machinery fails loudly"
)]

pub mod crowd;
mod cut;
pub mod dialect;
pub mod fake_anthropic;
pub mod fake_audio;
pub mod fake_discord;
pub mod fake_embeddings;
pub mod fake_gemini;
pub mod fake_issuer;
pub mod fake_model;
pub mod fake_ollama;
pub mod fake_responses;
pub mod fake_slack;
pub mod fake_speech;
pub mod fake_telegram;
pub mod fake_transcription;
pub mod fifo;
pub mod grounds;
pub mod histories;
pub mod intake;
pub mod mail_servers;
pub mod outgoing;
pub mod postgres;
pub mod postgres_wire;
pub mod process;
pub mod scripted;
pub mod served;
pub mod standby;
pub mod stream;
pub mod test_hob;
pub mod validate;
