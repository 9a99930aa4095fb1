//! A login at work: the device, its keys, and the homeserver that it talks with.

use std::sync::Arc;

use matrix_sdk_crypto::OlmMachine;
use matrix_sdk_crypto::store::CryptoStore as _;
use ruma::{OwnedUserId, UserId};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::Matrix;
use crate::call::{Api, CallError};
use crate::convert::Me;
use crate::key_store::{KeyStore, KeyStoreError};
use crate::login::{Login, LoginError};
use crate::machine::MachineError;
use crate::rooms::Rooms;
use crate::settings::Settings;
use hob_core::domain::channel::AccountError;
use hob_core::domain::rng::Rng;

/// What to do where a device's keys are gone.
const RESET: &str = "what is sealed for this device cannot be read any more; stop Hob, run `hob matrix reset`, and start it: it \
                     then logs in as a new device";

/// The account cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Keys(#[from] KeyStoreError),
    #[error("{0:?} is not the id of a user, such as @hob:example.org")]
    User(String),
    /// The device can go on no more.
    #[error("{0}: {RESET}")]
    KeysGone(&'static str),
}

impl From<CallError> for SessionError {
    fn from(error: CallError) -> Self {
        Self::Machine(error.into())
    }
}

impl SessionError {
    /// What the homeserver said, where it said something.
    pub(super) fn call(&self) -> Option<&CallError> {
        match self {
            Self::Login(LoginError::Call(error)) | Self::Machine(MachineError::Call(error)) => Some(error),
            Self::Login(_) | Self::Machine(_) | Self::Keys(_) | Self::User(_) | Self::KeysGone(_) => None,
        }
    }

    /// Can only whoever runs Hob mend it?
    pub(super) fn is_lasting(&self) -> bool {
        if let Some(error) = self.call() {
            return matches!(error.code(), Some("M_USER_DEACTIVATED" | "M_UNKNOWN_TOKEN" | "M_FORBIDDEN"));
        }
        match self {
            Self::Machine(_) | Self::Keys(KeyStoreError::Busy) => false,
            Self::Login(_) | Self::Keys(_) | Self::User(_) | Self::KeysGone(_) => true,
        }
    }
}

/// The login at work.
pub(super) struct Session {
    pub(super) api: Api,
    pub(super) machine: OlmMachine,
    pub(super) keys: Arc<KeyStore>,
    pub(super) rooms: Rooms,
    pub(super) me: OwnedUserId,
    pub(super) login: Mutex<Login>,
    /// One exchange of keys at a time.
    pub(super) exchanging: Mutex<()>,
    /// One room's key is given out at a time.
    pub(super) sharing: Mutex<()>,
    /// How Hob is called there.
    pub(super) name: String,
    pub(super) account: String,
    pub(super) is_command: fn(&str) -> bool,
}

impl Session {
    /// Logs in, or goes on with the login that there is, and looks whether its keys are still these.
    pub(super) async fn open(settings: &Settings, http: reqwest::Client, rng: &dyn Rng) -> Result<Self, SessionError> {
        let Ok(me) = UserId::parse(settings.user.as_str()) else {
            return Err(SessionError::User(settings.user.clone()));
        };
        let mut login = Login::open(settings, rng).await?;
        let keys = Arc::new(open_keys(settings, &login).await?);
        let api = Api::new(http, settings.homeserver.clone(), settings.pace.request_max);
        login.authorize(settings, &api).await?;
        let device = login.device.as_str().into();
        let machine = OlmMachine::with_store(&me, device, Arc::clone(&keys), None).await.map_err(MachineError::from)?;
        let name = display_name(&api, &me).await?;
        let (exchanging, sharing, had_keys) = (Mutex::default(), Mutex::default(), login.has_keys);
        let (account, is_command) = (settings.account.clone(), settings.is_command);
        let login = Mutex::new(login);
        let session = Self {
            api,
            machine,
            keys,
            rooms: Rooms::default(),
            me,
            login,
            exchanging,
            sharing,
            name,
            account,
            is_command,
        };
        match session.keys_match().await? {
            Some(false) => return Err(SessionError::KeysGone("the homeserver has other keys of Hob's device")),
            None if had_keys => {
                return Err(SessionError::KeysGone("the homeserver has no keys of Hob's device any more"));
            }
            Some(true) | None => {}
        }
        session.machine.update_tracked_users([&*session.me]).await.map_err(MachineError::from)?;
        session.exchange_keys().await?;
        session.login.lock().await.note_keys(settings).await?;
        let replaces = session.login.lock().await.replaces_identity;
        session.sign_device(&settings.password, replaces).await?;
        session.login.lock().await.note_identity(settings).await?;
        session.exchange_keys().await?;
        Ok(session)
    }

    /// Who Hob is, for what is translated.
    pub(super) fn me(&self) -> Me<'_> {
        Me { id: self.me.as_str(), name: &self.name, account: &self.account, is_command: self.is_command }
    }

    /// The files of the keys can be opened by somebody else from now on.
    pub(super) async fn close(&self) {
        self.keys.close().await;
    }
}

/// The file of the keys. Where the server has keys of this device that are not here, it is not begun anew.
async fn open_keys(settings: &Settings, login: &Login) -> Result<KeyStore, SessionError> {
    let Some(key) = login.key() else {
        return Err(LoginError::Broken(Login::file(settings).path().display().to_string()).into());
    };
    let path = settings.key_file();
    if login.has_keys && !path.exists() {
        return Err(SessionError::KeysGone("the keys of Hob's device on Matrix are gone"));
    }
    let dir = path.parent().map(std::path::Path::to_owned).unwrap_or_default();
    hob_tools::logins::blocking(move || {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
    })
    .await
    .map_err(KeyStoreError::from)?;
    let keys = match KeyStore::open(&path, &key).await {
        Err(KeyStoreError::Seal(_)) => {
            return Err(SessionError::KeysGone("the keys of Hob's device on Matrix cannot be unsealed"));
        }
        opened => opened?,
    };
    if login.has_keys && keys.load_account().await?.is_none() {
        return Err(SessionError::KeysGone("the keys of Hob's device on Matrix are gone"));
    }
    Ok(keys)
}

/// How the account is called; its id where it has no name.
async fn display_name(api: &Api, me: &UserId) -> Result<String, CallError> {
    let shown = match api.get(&["client", "v3", "profile", me.as_str()]).await {
        Ok(profile) => profile["displayname"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
        Err(CallError::Refused { code, .. }) if code == "M_NOT_FOUND" => None,
        Err(error) => return Err(error),
    };
    Ok(shown.unwrap_or_else(|| me.localpart().to_owned()))
}

/// Asks whether the account can be used, beside a Hob at work: with its token, if there is one.
pub(super) async fn check(matrix: &Matrix) -> Result<String, AccountError> {
    let settings = &matrix.settings;
    let words = |error: &dyn std::error::Error| AccountError(error.to_string());
    let api = Api::new(matrix.http.clone(), settings.homeserver.clone(), settings.pace.request_max);
    let login = Login::read(settings).await.map_err(|error| words(&error))?;
    if let Some(login) = login.filter(|login| login.give_token(&api)) {
        if login.has_keys && !settings.key_file().exists() {
            return Err(AccountError(
                SessionError::KeysGone("the keys of Hob's device on Matrix are gone").to_string(),
            ));
        }
        let me = api.get(&["client", "v3", "account", "whoami"]).await.map_err(|error| words(&error))?;
        return Ok(me["user_id"].as_str().unwrap_or(&settings.user).to_owned());
    }
    let ways: Value = api.get(&["client", "v3", "login"]).await.map_err(|error| words(&error))?;
    let takes_password = ways["flows"].as_array().into_iter().flatten().any(|way| way["type"] == "m.login.password");
    if !takes_password {
        return Err(AccountError("the homeserver takes no password, and Hob has no other way to log in".to_owned()));
    }
    Ok(format!("{}, not logged in yet", settings.user))
}
