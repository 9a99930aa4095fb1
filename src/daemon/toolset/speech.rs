//! Who says answers aloud, as the config says.

use std::path::Path;
use std::time::Duration;

use crate::daemon::error::StartError;
use crate::daemon::toolset::own_programs::{of_speech, program_sandbox};
use hob_config::Config;
use hob_config::speech::SpeechConfig;
use hob_core::domain::money::Money;
use hob_model::speech::{Settings, Speaker};
use hob_router::speech::{SpeechSettings, Voice};
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::sandbox::trial::SandboxTrial;
use hob_tools::speech::SpeechCommand;

/// The voice, if there is one.
///
/// # Errors
/// When the server's address or key is none.
pub fn settings(
    config: &Config,
    sandbox: &SandboxTrial,
    data_dir: &Path,
) -> Result<Option<SpeechSettings>, StartError> {
    let Some(speech) = &config.speech else { return Ok(None) };
    let timeout = Duration::from_secs(speech.timeout_secs);
    let voice: Box<dyn Voice> = match &speech.base_url {
        Some(base_url) => Box::new(server(speech, base_url, timeout)?),
        None => {
            let own = of_speech(speech);
            Box::new(SpeechCommand {
                command: speech.command.clone(),
                dir: own.home(data_dir),
                timeout,
                confinement: program_sandbox(&config.terminal, sandbox, data_dir).confine(&own, &speech.command),
                leftovers: ProcessReaper::of(data_dir),
            })
        }
    };
    Ok(Some(SpeechSettings { voice, chars_max: speech.chars_max }))
}

fn server(speech: &SpeechConfig, base_url: &str, timeout: Duration) -> Result<Speaker, StartError> {
    let settings = Settings {
        base_url: base_url.to_owned(),
        api_key: speech.api_key.clone(),
        model: speech.model.clone(),
        voice: speech.voice.clone(),
        timeout,
        million_chars: speech.million_chars_usd.map(Money::from_usd),
    };
    Speaker::new(settings).map_err(|error| StartError::Config(format!("[speech]: {}", error.message)))
}
