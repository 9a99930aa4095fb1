//! Somebody's mailbox: its connection, kept while it works, and its folders.

use std::sync::Arc;

use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use tokio::sync::{Mutex, MutexGuard};
use tokio_rustls::rustls::ClientConfig;

use crate::folders::{self, Folder, FolderRole, Folders};
use crate::letter_id::LetterId;
use crate::login::{LoginError, MailLogin};
use crate::settings::{ServerAddress, Settings};
use hob_core::domain::secret::Secret;
use hob_email::SetupError;
use hob_email::command::run;
use hob_email::connect::{self, ImapSession, MailboxError};
use hob_email::settings::{Credential, Server};
use hob_email::smtp::{self, Greeting};

/// Why something was not done in a mailbox.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The server.
    #[error("{0}")]
    Mailbox(#[from] MailboxError),
    #[error("{0}.")]
    Login(#[from] LoginError),
    /// What was asked for cannot be done; words for the model.
    #[error("{0}")]
    Unfit(String),
}

impl MailError {
    /// May it work when it is tried again?
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Mailbox(MailboxError::Lost(_) | MailboxError::Busy(_)) | Self::Login(LoginError::Unreachable(_))
        )
    }
}

/// By what Hob may use a mailbox.
pub enum SignIn {
    Password(Secret),
    /// What a person has logged in for.
    Login(Box<MailLogin>),
}

/// Somebody's mailbox.
pub struct Account {
    /// How it is reached.
    pub settings: Settings,
    sign_in: SignIn,
    tls: Arc<ClientConfig>,
    smtp_tls: Option<TlsParameters>,
    kept: Mutex<Option<ImapSession>>,
}

/// A turn at the mailbox. What fails in it costs the connection.
pub(crate) struct MailboxTurn<'a> {
    place: MutexGuard<'a, Option<ImapSession>>,
    pub(crate) session: ImapSession,
}

impl MailboxTurn<'_> {
    /// All went well: the connection is kept for the next one.
    pub(crate) fn end(mut self) {
        *self.place = Some(self.session);
    }
}

impl Account {
    /// An account; nothing is connected yet.
    pub fn new(settings: Settings, sign_in: SignIn) -> Result<Self, SetupError> {
        let ca_file = settings.ca_file.as_deref();
        let tls = connect::tls(ca_file)?;
        let smtp_tls = smtp::tls(&settings.smtp.host, settings.smtp.security, ca_file)?;
        Ok(Self { settings, sign_in, tls, smtp_tls, kept: Mutex::default() })
    }

    /// Takes a turn: the connection that is there, if it still works, or a new one.
    pub(crate) async fn turn(&self) -> Result<MailboxTurn<'_>, MailError> {
        let mut place = self.kept.lock().await;
        if let Some(mut session) = place.take()
            && let Ok(Ok(())) = connect::with_deadline(self.settings.deadline, run(&mut session, "NOOP")).await
        {
            return Ok(MailboxTurn { place, session });
        }
        Ok(MailboxTurn { session: self.imap().await?, place })
    }

    /// By what Hob signs in; `refused` is a token that a server has just not taken.
    async fn credential(&self, refused: Option<&Secret>) -> Result<Credential, LoginError> {
        match &self.sign_in {
            SignIn::Password(password) => Ok(Credential::Password(password.clone())),
            SignIn::Login(login) => Ok(Credential::Token(login.token(refused).await?)),
        }
    }

    fn server(&self, place: &ServerAddress, credential: Credential) -> Server {
        Server { host: place.host.clone(), port: place.port, user: self.settings.user.clone(), credential }
    }

    /// Signs in where letters lie. A token that is refused is renewed once: its issuer may have ended it before its time.
    async fn imap(&self) -> Result<ImapSession, MailError> {
        let credential = self.credential(None).await?;
        let connected = self.imap_by(credential.clone()).await;
        let is_refused = matches!(connected, Err(MailboxError::Refused(_)));
        match credential {
            Credential::Token(token) if is_refused => {
                let renewed = self.credential(Some(&token)).await?;
                Ok(self.imap_by(renewed).await?)
            }
            Credential::Token(_) | Credential::Password(_) => Ok(connected?),
        }
    }

    async fn imap_by(&self, credential: Credential) -> Result<ImapSession, MailboxError> {
        let Settings { imap, deadline, .. } = &self.settings;
        connect::connect(&self.server(imap, credential), imap.security, &self.tls, *deadline).await
    }

    /// The folder of this name or role.
    pub(crate) async fn folder(&self, turn: &mut MailboxTurn<'_>, named: &str) -> Result<Folder, MailError> {
        let folders = self.list(turn).await?;
        let unknown = || MailError::Unfit(format!("There is no folder {named:?}. There are: {folders}."));
        folders.find(named).cloned().ok_or_else(unknown)
    }

    /// The folder with this role; none: neither the server nor the owner names one.
    pub(crate) async fn of_role(
        &self,
        turn: &mut MailboxTurn<'_>,
        role: FolderRole,
    ) -> Result<Option<Folder>, MailError> {
        Ok(self.list(turn).await?.of_role(role).cloned())
    }

    async fn list(&self, turn: &mut MailboxTurn<'_>) -> Result<Folders, MailError> {
        let listed = folders::list(&mut turn.session, &self.settings.folders);
        Ok(connect::with_deadline(self.settings.deadline, listed).await??)
    }

    /// Opens the folder that a letter lies in.
    pub(crate) async fn open(&self, turn: &mut MailboxTurn<'_>, id: &LetterId, changes: bool) -> Result<(), MailError> {
        let folder = folders::on_the_wire(&id.folder);
        let opened = connect::open(&mut turn.session, &folder, changes);
        let opened = connect::with_deadline(self.settings.deadline, opened).await?;
        let (_, validity) = opened.map_err(|error| match error {
            MailboxError::No(_) => MailError::Unfit(format!("There is no folder {:?} any more.", id.folder)),
            error => MailError::Mailbox(error),
        })?;
        if validity == id.validity {
            return Ok(());
        }
        Err(MailError::Unfit(format!("{} has been numbered anew: look for the letter again.", id.folder)))
    }

    /// A connection to the server that letters go out by.
    pub(crate) async fn smtp(&self) -> Result<AsyncSmtpConnection, String> {
        let words = |error: LoginError| error.to_string();
        let credential = self.credential(None).await.map_err(words)?;
        let connected = self.smtp_by(credential.clone()).await;
        let Credential::Token(token) = &credential else { return connected.map_err(|error| error.to_string()) };
        match connected {
            Err(error) if smtp::is_refused_token(&error) => {
                let renewed = self.credential(Some(token)).await.map_err(words)?;
                let refused = |error: SmtpError| format!("the mail server refuses the login ({error})");
                self.smtp_by(renewed).await.map_err(refused)
            }
            connected => connected.map_err(|error| error.to_string()),
        }
    }

    async fn smtp_by(&self, credential: Credential) -> Result<AsyncSmtpConnection, SmtpError> {
        let Settings { smtp, deadline, .. } = &self.settings;
        let greeting = Greeting { domain: self.settings.domain(), deadline: *deadline };
        smtp::connect(&self.server(smtp, credential), smtp.security, self.smtp_tls.as_ref(), greeting).await
    }

    /// Looks whether all of it works: signs in on both servers, and says which folders have a role. Nothing is changed.
    ///
    /// # Errors
    /// With what is wrong, in words for an operator.
    pub async fn check(&self) -> Result<Folders, MailError> {
        let mut turn = self.turn().await.map_err(|error| MailError::Unfit(format!("IMAP: {error}")))?;
        let folders = self.list(&mut turn).await?;
        turn.end();
        let refused = |why: String| MailError::Unfit(format!("SMTP: {why}"));
        let signed_in = tokio::time::timeout(self.settings.deadline, self.smtp()).await;
        let late = |_elapsed| refused("the mail server has not answered in time".to_owned());
        let mut smtp = signed_in.map_err(late)?.map_err(refused)?;
        if let Err(error) = smtp.quit().await {
            tracing::debug!(%error, "the mail server did not say good-bye");
        }
        Ok(folders)
    }
}
