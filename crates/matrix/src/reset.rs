//! A device whose keys are gone ends, and a new one takes its place at the next start.

use std::fs::{self, File};
use std::io;

use serde_json::json;

use crate::call::{Api, CONNECT_MAX};
use crate::login::Login;
use crate::settings::Settings;
use hob_core::domain::rng::Rng;

/// The device cannot be given up now.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    #[error("a running Hob uses the device")]
    Busy,
    #[error("the files of the device: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    Http(#[from] hob_http::HttpError),
    #[error("{0}")]
    Login(String),
}

/// Signs the device out where the homeserver still knows it, removes its keys, and puts a new device in its place. Gives whether the
/// homeserver was told.
pub async fn reset(settings: &Settings, rng: &dyn Rng) -> Result<bool, ResetError> {
    let keys = settings.key_file();
    let held = match File::open(keys.with_extension("lock")) {
        Ok(lock) => Some(lock),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if held.as_ref().is_some_and(|lock| lock.try_lock().is_err()) {
        return Err(ResetError::Busy);
    }
    let api = Api::new(hob_http::client(CONNECT_MAX)?, settings.homeserver.clone(), settings.pace.request_max);
    // One that cannot be read is replaced as well.
    let former = Login::read(settings).await.ok().flatten();
    let was_told = former.is_some_and(|login| login.give_token(&api))
        && api.post(&["client", "v3", "logout"], &json!({})).await.is_ok();
    for ending in ["db", "db-wal", "db-shm"] {
        match fs::remove_file(keys.with_extension(ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let login = Login::fresh(settings, rng).replacing_identity();
    login.keep(settings).await.map_err(|error| ResetError::Login(error.to_string()))?;
    Ok(was_told)
}
