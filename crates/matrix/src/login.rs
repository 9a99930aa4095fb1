//! The login, and the device that it made: kept in a file that only Hob's user may read, written before the server is asked.
//!
//! The id of the device is Hob's own choice, and stored first: a login whose answer is lost is made again for the same device. So
//! the server goes on knowing which transactions it has seen.

use std::io;

use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::call::{Api, CallError};
use crate::settings::Settings;
use hob_core::domain::rng::Rng;
use hob_core::domain::secret::Secret;
use hob_tools::logins::{TokenFile, blocking};

/// How the device is called in lists of them.
const DEVICE_NAME: &str = "Hob";

/// What is in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) homeserver: String,
    pub(super) user: String,
    pub(super) device: String,
    /// None: not logged in yet.
    access_token: Option<String>,
    /// What the keys are sealed with, in hexadecimal digits.
    key: String,
    /// Whether the server has this device's keys. Without them here the device can go on no more.
    pub(super) has_keys: bool,
    /// Whether it makes new cross-signing keys, whatever the account has.
    #[serde(default)]
    pub(super) replaces_identity: bool,
}

/// There is no login.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    #[error("the login cannot be kept or read: {0}")]
    File(#[from] io::Error),
    #[error("the login in {0} is not whole: run `hob matrix reset`, with Hob stopped")]
    Broken(String),
    #[error(
        "the login is {user}'s at {homeserver}, which the config no longer names: run `hob matrix reset`, with Hob stopped"
    )]
    Another { user: String, homeserver: String },
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the homeserver does not know the user or the password: {0}")]
    Refused(String),
}

impl Login {
    pub(super) fn file(settings: &Settings) -> TokenFile {
        TokenFile::new(&settings.data_dir, &format!("matrix-{}", settings.account))
    }

    /// The login that is kept, if there is one.
    pub(super) async fn read(settings: &Settings) -> Result<Option<Self>, LoginError> {
        let file = Self::file(settings);
        let shown = file.path().display().to_string();
        match blocking(move || file.read::<Self>()).await {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(LoginError::Broken(shown)),
            read => Ok(read?),
        }
    }

    /// That of a device that nobody knows yet.
    pub(super) fn fresh(settings: &Settings, rng: &dyn Rng) -> Self {
        Self {
            homeserver: settings.homeserver.to_string(),
            user: settings.user.clone(),
            device: format!("HOB{}", &rng.id()[..10].to_uppercase()),
            access_token: None,
            key: format!("{}{}", rng.id(), rng.id()),
            has_keys: false,
            replaces_identity: false,
        }
    }

    /// The one before had the account's cross-signing keys, and they are gone with it.
    #[must_use]
    pub(super) fn replacing_identity(self) -> Self {
        Self { replaces_identity: true, ..self }
    }

    pub(super) async fn keep(&self, settings: &Settings) -> Result<(), LoginError> {
        let (file, kept) = (Self::file(settings), self.clone());
        Ok(blocking(move || {
            let _held = file.lock()?;
            file.write(&kept)
        })
        .await?)
    }

    /// The kept login, or a new device's: it has no token before it was asked for.
    pub(super) async fn open(settings: &Settings, rng: &dyn Rng) -> Result<Self, LoginError> {
        let (homeserver, user) = (settings.homeserver.to_string(), settings.user.clone());
        let login = match Self::read(settings).await? {
            Some(login) if login.homeserver == homeserver && login.user == user => return Ok(login),
            Some(
                Self { user, homeserver, access_token: Some(_), .. } | Self { user, homeserver, has_keys: true, .. },
            ) => {
                return Err(LoginError::Another { user, homeserver });
            }
            // No server has let it in: the name or the address was mistyped. The keys of one account are not another's.
            Some(login) => {
                let replaces_identity = login.replaces_identity && login.user == user;
                Self { homeserver, user, replaces_identity, ..login }
            }
            None => Self::fresh(settings, rng),
        };
        login.keep(settings).await?;
        Ok(login)
    }

    /// The key that the keys are sealed with.
    pub(super) fn key(&self) -> Option<[u8; 32]> {
        let digits = self.key.as_bytes().chunks_exact(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        digits.map(byte).collect::<Option<Vec<u8>>>()?.try_into().ok()
    }

    /// Gives the token to who asks the server, if there is one.
    pub(super) fn give_token(&self, api: &Api) -> bool {
        self.access_token.iter().for_each(|token| api.set_token(Secret::new(token.clone())));
        self.access_token.is_some()
    }

    /// Gives the token to who asks the server; without one, logs this device in.
    pub(super) async fn authorize(&mut self, settings: &Settings, api: &Api) -> Result<(), LoginError> {
        if self.give_token(api) {
            return Ok(());
        }
        let body = json!({
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": self.user},
            "password": settings.password.expose(),
            "device_id": self.device,
            "initial_device_display_name": DEVICE_NAME,
        });
        let answer = match api.post(&["client", "v3", "login"], &body).await {
            Err(CallError::Refused { status: StatusCode::FORBIDDEN, message, .. }) => {
                return Err(LoginError::Refused(message));
            }
            answer => answer?,
        };
        let token = answer["access_token"].as_str().unwrap_or_default().to_owned();
        api.set_token(Secret::new(token.clone()));
        self.access_token = Some(token);
        self.keep(settings).await
    }

    /// The server wants this device to log in anew. What it took back is forgotten first: whoever is killed in between begins with nothing.
    pub(super) async fn renew(&mut self, settings: &Settings, api: &Api) -> Result<(), LoginError> {
        self.access_token = None;
        self.keep(settings).await?;
        self.authorize(settings, api).await
    }

    /// The same of the login that is kept, where none is at work.
    pub(super) async fn forget_token(settings: &Settings) -> Result<(), LoginError> {
        match Self::read(settings).await? {
            Some(login) => Self { access_token: None, ..login }.keep(settings).await,
            None => Ok(()),
        }
    }

    /// The account's cross-signing keys are this device's.
    pub(super) async fn note_identity(&mut self, settings: &Settings) -> Result<(), LoginError> {
        if self.replaces_identity {
            self.replaces_identity = false;
            self.keep(settings).await?;
        }
        Ok(())
    }

    /// The server has the device's keys from now on.
    pub(super) async fn note_keys(&mut self, settings: &Settings) -> Result<(), LoginError> {
        if !self.has_keys {
            self.has_keys = true;
            self.keep(settings).await?;
        }
        Ok(())
    }
}
