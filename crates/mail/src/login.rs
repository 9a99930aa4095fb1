//! Logins at whoever issues tokens for a mailbox (OAuth 2.0).
//!
//! A person types a code in on any device (RFC 8628); mail servers take the tokens that come of it instead of a password (XOAUTH2).
//!
//! Never: a token for other servers than those that the config named when it was issued, two parties that renew it at a time, or a
//! renewed token in use that is not on the disk.
//! Start at [`MailLogin::begin`] and [`MailLogin::token`].

pub mod issuer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::login::issuer::{DeviceCode, IssuedTokens, Issuer, PollOutcome};
use hob_core::domain::clock::{Clock, SystemClock};
use hob_core::domain::secret::Secret;
use hob_tools::logins::{TokenFile, blocking};
use hob_tools::net::EgressGuard;

/// A token that holds no longer than this is renewed before it is used.
const SPARE: SignedDuration = SignedDuration::from_secs(60);
/// What the time between two questions grows by when the issuer asks for it (RFC 8628, 3.5).
const SLOWER: Duration = Duration::from_secs(5);

/// No token.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// Nobody has logged in, or it holds no longer.
    #[error("nobody is logged in at {account}'s mail: on Hob's machine, hob mail login {account}")]
    Needed { account: String },
    /// The issuer cannot be asked now.
    #[error("the service that issues tokens for this mailbox cannot be asked: {0}")]
    Unreachable(String),
    /// The issuer, or the person, said no.
    #[error("it was refused: {0}")]
    Refused(String),
    /// Nobody typed the code in in time.
    #[error("the code has expired: begin again")]
    Expired,
    /// What was issued cannot be kept or read.
    #[error("the login cannot be kept or read: {0}")]
    Unkept(#[from] std::io::Error),
}

/// What is in the file.
#[derive(Serialize, Deserialize)]
struct StoredLogin {
    /// For what it was issued, in the config's words. With others it is worth nothing.
    holds_for: Vec<String>,
    access_token: String,
    /// When that ends; none: nobody said.
    expires: Option<Timestamp>,
    /// None: it can be renewed no more.
    refresh_token: Option<String>,
}

/// The login of one mailbox.
#[derive(Clone)]
pub struct MailLogin {
    account: String,
    issuer: Issuer,
    guard: EgressGuard,
    file: TokenFile,
    holds_for: Vec<String>,
    clock: Arc<dyn Clock>,
}

impl MailLogin {
    /// That of an account, at this issuer. `servers` are all that its tokens may be shown to, and as whom.
    pub fn new(account: &str, issuer: Issuer, servers: Vec<String>, data_dir: &Path, guard: &EgressGuard) -> Self {
        let guard = issuer.guarded(guard);
        let holds_for = [issuer.token_url.to_string(), issuer.client_id.clone()].into_iter().chain(servers).collect();
        let file = TokenFile::new(data_dir, &format!("mail-{account}"));
        Self { account: account.to_owned(), issuer, guard, file, holds_for, clock: Arc::new(SystemClock) }
    }

    /// The same, at another time.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Asks for a code that a person can type in.
    pub async fn begin(&self) -> Result<DeviceCode, LoginError> {
        self.issuer.device_code(&self.guard).await
    }

    /// Asks until the person has typed it in, and keeps what is issued then. `pause` waits.
    ///
    /// # Errors
    /// When they refuse, or take too long.
    pub async fn finish(&self, code: DeviceCode, pause: impl AsyncFn(Duration)) -> Result<(), LoginError> {
        let (mut between, mut waited) = (code.interval, Duration::ZERO);
        while waited < code.holds {
            pause(between).await;
            waited += between;
            match self.issuer.poll(&self.guard, &code).await {
                Ok(PollOutcome::Issued(issued)) => {
                    let kept = self.kept(issued, None);
                    let file = self.file.clone();
                    let keep = move || file.lock().and_then(|_lock| file.write(&kept));
                    return Ok(blocking(keep).await?);
                }
                Ok(PollOutcome::Pending) => {}
                Ok(PollOutcome::TooFast) => between += SLOWER,
                // Whoever does not answer is asked half as often (RFC 8628, 3.5).
                Err(LoginError::Unreachable(why)) => {
                    tracing::debug!(account = self.account, why, "the issuer does not answer");
                    between *= 2;
                }
                Err(other) => return Err(other),
            }
        }
        Err(LoginError::Expired)
    }

    /// Forgets it; gives whether there was one.
    pub fn forget(&self) -> Result<bool, LoginError> {
        Ok(self.file.remove()?)
    }

    /// A token that holds; `refused` is one that a server has just not taken.
    ///
    /// # Errors
    /// When somebody must log in first, or the issuer cannot be asked.
    pub async fn token(&self, refused: Option<&Secret>) -> Result<Secret, LoginError> {
        if let Some(token) = self.usable(refused)? {
            return Ok(token);
        }
        let (login, refused) = (self.clone(), refused.cloned());
        let runtime = Handle::current();
        // To its end, even if nobody waits any more: the issuer may take a refresh token once only.
        blocking(move || {
            let _lock = login.file.lock()?;
            // Another party may have renewed it meanwhile.
            match login.usable(refused.as_ref()) {
                Ok(Some(token)) => Ok(Ok(token)),
                Ok(None) => Ok(runtime.block_on(login.renew())),
                Err(error) => Ok(Err(error)),
            }
        })
        .await?
    }

    fn read(&self) -> Result<StoredLogin, LoginError> {
        let kept = self.file.read::<StoredLogin>()?.filter(|kept| kept.holds_for == self.holds_for);
        kept.ok_or_else(|| LoginError::Needed { account: self.account.clone() })
    }

    /// The token that is there, if it can be used.
    fn usable(&self, refused: Option<&Secret>) -> Result<Option<Secret>, LoginError> {
        let kept = self.read()?;
        let holds = kept.expires.is_none_or(|expires| expires.duration_since(self.clock.now()) > SPARE);
        Ok(Some(Secret::new(kept.access_token)).filter(|token| holds && refused != Some(token)))
    }

    /// For whoever holds the lock.
    async fn renew(&self) -> Result<Secret, LoginError> {
        let kept = self.read()?;
        let needed = || LoginError::Needed { account: self.account.clone() };
        let refresh = Secret::new(kept.refresh_token.clone().ok_or_else(needed)?);
        let Some(issued) = self.issuer.renew(&self.guard, &refresh).await? else {
            tracing::warn!(account = self.account, "mail.login_over: the login at the mailbox holds no longer");
            self.file.write(&StoredLogin { refresh_token: None, ..kept })?;
            return Err(needed());
        };
        // Whoever issues no new one lets the former one hold on.
        let kept = self.kept(issued, Some(refresh));
        self.file.write(&kept)?;
        Ok(Secret::new(kept.access_token))
    }

    fn kept(&self, issued: IssuedTokens, before: Option<Secret>) -> StoredLogin {
        let IssuedTokens { access_token, refresh_token, holds } = issued;
        let expires = holds.and_then(|holds| self.clock.now().checked_add(holds).ok());
        let text = |token: Secret| token.expose().to_owned();
        let (access_token, refresh_token) = (text(access_token), refresh_token.or(before).map(text));
        StoredLogin { holds_for: self.holds_for.clone(), access_token, expires, refresh_token }
    }
}
