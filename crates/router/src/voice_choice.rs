//! `/voice`: whether answers are spoken in a conversation (row F10), its answers and its words.

use crate::command_handlers::Caller;
use hob_core::domain::choices::VoiceMode;
use hob_store::Tx;
use hob_store::error::StoreError;
use hob_store::sessions;

/// Where nobody can.
pub(super) const NONE: &str = "I have no voice. Whoever owns me can give me one: [speech] in config.toml, with a server or a program \
     that speaks (docs/files.md).";

/// The answer to `/voice`, with a mode or without.
pub(super) async fn answer(tx: &mut Tx, caller: &Caller<'_>, mode: Option<VoiceMode>) -> Result<String, StoreError> {
    let Some(mode) = mode else {
        let chosen = sessions::voice(tx, caller.session.id).await?;
        let mode = chosen.as_deref().and_then(VoiceMode::parse).unwrap_or_default();
        return Ok(format!("{} /voice on, /voice off or /voice auto changes that.", shown(mode)));
    };
    let stored = (mode != VoiceMode::Auto).then(|| mode.as_str());
    sessions::set_voice(tx, caller.session.id, stored).await?;
    Ok(shown(mode).to_owned())
}

fn shown(mode: VoiceMode) -> &'static str {
    match mode {
        VoiceMode::On => "I speak each answer here, and write it as well.",
        VoiceMode::Off => "I write here, and do not speak.",
        VoiceMode::Auto => "I answer here by voice, and in writing as well, if you speak to me; else in writing.",
    }
}
