//! What is kept of a login at a server: a file of Hob's own, which nobody else can read, `logins/mcp-NAME.json` in the data directory.
//! It holds for one address. Another one that the config gives to the same name finds nothing in it.

use std::io;
use std::path::Path;

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};

use crate::logins::{TokenFile, blocking};
use hob_core::domain::redactor::Redactor;
use hob_core::domain::secret::Secret;

/// The most bytes of a challenge that are kept.
const CHALLENGE_BYTES_MAX: usize = 4_000;

/// What was issued, and by whom. Tokens are renewed there and nowhere else, whatever the server says later.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Issued {
    /// What they were asked for.
    pub(super) resource: String,
    /// Who issued them.
    pub(super) metadata: AuthorizationMetadata,
    /// Who Hob is there.
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    pub(super) redirect: String,
    /// None: they hold no longer.
    pub(super) credentials: Option<StoredCredentials>,
}

/// The file.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct LoginFile {
    /// For which server.
    url: String,
    pub(super) issued: Option<Issued>,
    /// What the server said when it asked for a login; none: it has not, since the last one.
    pub(super) challenge: Option<String>,
}

/// Where the login at a server is kept.
#[derive(Debug, Clone)]
pub(in crate::mcp) struct LoginStore {
    file: TokenFile,
    url: String,
}

impl LoginStore {
    /// That of the server called `name` at `url`.
    pub(in crate::mcp) fn new(data_dir: &Path, name: &str, url: &str) -> Self {
        Self { file: TokenFile::new(data_dir, &format!("mcp-{name}")), url: url.to_owned() }
    }

    /// What is in the file; none: nothing, or nothing for this server.
    pub(super) fn read(&self) -> io::Result<Option<LoginFile>> {
        Ok(self.file.read()?.filter(|file: &LoginFile| file.url == self.url))
    }

    /// Changes what is in the file, for whoever does not hold the lock.
    pub(super) async fn update(&self, change: impl FnOnce(&mut LoginFile) + Send + 'static) -> io::Result<()> {
        let store = self.clone();
        blocking(move || {
            let _lock = store.file.lock()?;
            store.rewrite(change)
        })
        .await
    }

    /// Is a login needed, as far as is known?
    pub(in crate::mcp) fn is_wanted(&self) -> bool {
        self.read().is_ok_and(|file| file.is_some_and(|file| file.challenge.is_some()))
    }

    /// The server asks for a login, in these words.
    pub(in crate::mcp) async fn challenged(&self, challenge: &str) {
        let kept = challenge[..challenge.floor_char_boundary(CHALLENGE_BYTES_MAX)].to_owned();
        if let Err(error) = self.update(|file| file.challenge = Some(kept)).await {
            tracing::warn!(path = %self.file.path().display(), %error, "that a server asks for a login is not kept");
        }
    }

    /// Forgets all of it.
    pub(super) fn remove(&self) -> io::Result<bool> {
        self.file.remove()
    }

    /// The text without what is secret of this login: a server hears the token, and may repeat it.
    pub(in crate::mcp) fn redact(&self, text: String) -> String {
        let issued = self.read().ok().flatten().and_then(|file| file.issued);
        let Some(Issued { client_secret, credentials, .. }) = issued else { return text };
        let tokens = credentials.and_then(|credentials| serde_json::to_value(credentials.token_response).ok());
        let token = |name: &str| tokens.as_ref().and_then(|all| all[name].as_str()).map(str::to_owned);
        let secrets = [client_secret, token("access_token"), token("refresh_token")];
        let secrets: Vec<Secret> = secrets.into_iter().flatten().map(Secret::new).collect();
        match Redactor::new(&secrets) {
            Ok(redactor) => redactor.redact(&text).into_owned(),
            Err(error) => {
                tracing::warn!(%error, "a server's answer is withheld: its token cannot be looked for in it");
                String::new()
            }
        }
    }

    fn rewrite(&self, change: impl FnOnce(&mut LoginFile)) -> io::Result<()> {
        let none = || LoginFile { url: self.url.clone(), issued: None, challenge: None };
        let mut file = self.read()?.unwrap_or_else(none);
        change(&mut file);
        self.file.write(&file)
    }

    fn keep_credentials(&self, credentials: Option<StoredCredentials>) -> Result<(), AuthError> {
        let keep = |file: &mut LoginFile| {
            if let Some(issued) = &mut file.issued {
                issued.credentials = credentials;
            }
        };
        self.rewrite(keep).map_err(failed)
    }
}

fn failed(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

/// The SDK renews tokens under this lock, and has the new ones kept before it uses them.
#[async_trait]
impl CredentialStore for LoginStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.read().map_err(failed)?.and_then(|file| file.issued).and_then(|issued| issued.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.keep_credentials(Some(credentials))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.keep_credentials(None)
    }

    async fn on_refresh_token_rejected(&self, _credentials: &StoredCredentials) -> Result<(), AuthError> {
        // Under the lock: nobody has replaced them meanwhile.
        self.keep_credentials(None)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let store = self.clone();
        let lock = blocking(move || store.file.lock()).await.map_err(failed)?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}
