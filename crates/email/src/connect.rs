//! A connection to the mailbox: TLS, sign in, and no command that waits for ever.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_imap::error::Error as ImapError;
use async_imap::types::Mailbox;
use async_imap::{Authenticator, Client, Session};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::settings::{Credential, Security, Server};
use crate::{SetupError, one_line};
use hob_core::domain::secret::Secret;

/// So much of a server's reason is told.
pub(crate) const REASON_CHARS: usize = 200;

/// Why the mailbox cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MailboxError {
    /// There is no connection, or there is none any more.
    #[error("{0}")]
    Lost(String),
    /// The password is not right, or the account may not be used so.
    #[error("the mail server refuses the user name or the password ({0})")]
    Refused(String),
    /// It lets nobody in for now, whatever the password.
    #[error("the mail server does not let Hob in for now: {0}")]
    Busy(String),
    /// The server understood, and said no.
    #[error("the mail server refused: {0}")]
    No(String),
    /// What the server said makes no sense.
    #[error("the mail server's answer cannot be read: {0}")]
    Unreadable(String),
}

impl MailboxError {
    fn lost(error: impl fmt::Display) -> Self {
        Self::Lost(error.to_string())
    }
}

impl From<ImapError> for MailboxError {
    fn from(error: ImapError) -> Self {
        match error {
            ImapError::No(why) | ImapError::Bad(why) => Self::No(why),
            // What these say quotes what was read: it may be a letter.
            ImapError::Parse(_) => Self::Unreadable("it is not IMAP".to_owned()),
            ImapError::Io(why) if why.kind() == std::io::ErrorKind::Other => {
                Self::Unreadable("it is not IMAP".to_owned())
            }
            other => Self::Lost(other.to_string()),
        }
    }
}

/// The stream below: secured, or not.
trait ByteStream: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> ByteStream for T {}

/// Any of them.
#[derive(Debug)]
pub struct MailStream(Box<dyn ByteStream>);

impl AsyncRead for MailStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for MailStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// A session in the mailbox.
pub type ImapSession = Session<MailStream>;

/// What TLS believes: the usual authorities, and those of `ca_file`.
///
/// # Errors
/// When that cannot be read, in words for an operator.
pub fn tls(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, SetupError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = ca_file {
        let unreadable = |error: &dyn fmt::Display| {
            SetupError(format!("the certificates in {} cannot be read: {error}", path.display()))
        };
        let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))?;
        for certificate in certificates {
            roots.add(certificate.map_err(|error| unreadable(&error))?).map_err(|error| unreadable(&error))?;
        }
    }
    let config =
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
    let config = config.map_err(|error| SetupError(error.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Connects and signs in.
///
/// # Errors
/// When the server cannot be reached, or lets nobody in.
pub async fn connect(
    server: &Server,
    security: Security,
    tls: &Arc<ClientConfig>,
    deadline: Duration,
) -> Result<ImapSession, MailboxError> {
    with_deadline(deadline, sign_in(server, security, tls)).await?
}

/// Ends what takes too long.
pub async fn with_deadline<T>(deadline: Duration, work: impl Future<Output = T>) -> Result<T, MailboxError> {
    let in_time = tokio::time::timeout(deadline, work).await;
    in_time.map_err(|_elapsed| MailboxError::Lost(format!("the mail server has not answered for {deadline:?}")))
}

async fn sign_in(server: &Server, security: Security, tls: &Arc<ClientConfig>) -> Result<ImapSession, MailboxError> {
    let stream = TcpStream::connect((server.host.as_str(), server.port)).await.map_err(MailboxError::lost)?;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(channel = "email", %error, "TCP_NODELAY cannot be set");
    }
    let line = match security {
        Security::Plain => MailStream(Box::new(stream)),
        Security::Tls => MailStream(Box::new(secured(stream, &server.host, tls).await?)),
        Security::StartTls => {
            let mut client = Client::new(stream);
            greeting(client.read_response().await)?;
            client.run_command_and_check_ok("STARTTLS", None).await?;
            let line = MailStream(Box::new(secured(client.into_inner(), &server.host, tls).await?));
            return log_in(Client::new(line), server).await;
        }
    };
    let mut client = Client::new(line);
    greeting(client.read_response().await)?;
    log_in(client, server).await
}

async fn log_in(client: Client<MailStream>, server: &Server) -> Result<ImapSession, MailboxError> {
    let signed_in = match &server.credential {
        Credential::Password(password) => client.login(&server.user, password.expose()).await,
        Credential::Token(token) => client.authenticate("XOAUTH2", TokenProof::new(&server.user, token)).await,
    };
    signed_in.map_err(|(error, _client)| match error {
        ImapError::No(why) | ImapError::Bad(why) => sign_in_error(&why),
        other => other.into(),
    })
}

/// Says once who signs in, and by which token. What a server answers to that is why it refuses, and wants an empty word before it
/// ends the matter.
struct TokenProof(Option<String>);

impl TokenProof {
    fn new(user: &str, token: &Secret) -> Self {
        Self(Some(format!("user={user}\x01auth=Bearer {}\x01\x01", token.expose())))
    }
}

impl Authenticator for TokenProof {
    type Response = String;

    fn process(&mut self, _challenge: &[u8]) -> String {
        self.0.take().unwrap_or_default()
    }
}

/// Why a server does not let Hob in. By these codes (RFC 5530, RFC 9051) it says that it is not the password.
///
/// They are read from words because nothing else of them is left: the parser knows the codes of RFC 3501 and takes any other for
/// the beginning of the server's words, and the library makes one text of both before anybody sees them. It alone can make a
/// session of a client, so its `login` cannot be done without.
fn sign_in_error(told: &str) -> MailboxError {
    // `code: None, info: Some("[LIMIT] Too many connections")`
    let words = told.split_once("info: Some(\"").and_then(|(_, words)| words.strip_suffix("\")"));
    let words = one_line(words.unwrap_or(told), REASON_CHARS);
    let code = words.strip_prefix('[').and_then(|rest| rest.split([']', ' ']).next()).map(str::to_ascii_uppercase);
    match code.as_deref() {
        Some("LIMIT" | "UNAVAILABLE" | "INUSE" | "SERVERBUG" | "OVERQUOTA") => MailboxError::Busy(words),
        _ => MailboxError::Refused(words),
    }
}

async fn secured(
    stream: TcpStream,
    host: &str,
    tls: &Arc<ClientConfig>,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, MailboxError> {
    let name = ServerName::try_from(host.to_owned()).map_err(MailboxError::lost)?;
    TlsConnector::from(Arc::clone(tls)).connect(name, stream).await.map_err(MailboxError::lost)
}

fn greeting<T>(response: std::io::Result<Option<T>>) -> Result<(), MailboxError> {
    match response {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(MailboxError::Lost("the mail server hangs up at once".to_owned())),
        Err(error) => Err(MailboxError::lost(error)),
    }
}

/// Opens a folder to look into, and gives its UIDVALIDITY.
///
/// # Errors
/// When there is none, or none that can be looked into.
pub async fn open(session: &mut ImapSession, folder: &str, changes: bool) -> Result<(Mailbox, u32), MailboxError> {
    let mailbox = if changes { session.select(folder).await? } else { session.examine(folder).await? };
    let validity = mailbox.uid_validity;
    let validity = validity.ok_or_else(|| MailboxError::Unreadable("the folder has no UIDVALIDITY".to_owned()))?;
    Ok((mailbox, validity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n14_a_server_that_is_busy_finds_no_fault_with_the_password() {
        let told = |words: &str| sign_in_error(&format!("code: None, info: Some(\"{words}\")")).to_string();
        for code in ["LIMIT", "UNAVAILABLE", "INUSE", "SERVERBUG", "OVERQUOTA"] {
            let words = format!("[{code}] Too many connections");
            assert!(matches!(sign_in_error(&words), MailboxError::Busy(_)), "{code}");
            assert_eq!(told(&words), format!("the mail server does not let Hob in for now: {words}"));
        }
        for words in ["[AUTHENTICATIONFAILED] No", "[EXPIRED] Old", "[CONTACTADMIN] Hm", "No", "LIMIT", "[LIMITED] No"]
        {
            assert!(matches!(sign_in_error(words), MailboxError::Refused(_)), "{words}");
        }
        let alert = "code: Some(Alert), info: Some(\"Application-specific password required\")";
        insta::assert_snapshot!(sign_in_error(alert), @"the mail server refuses the user name or the password (Application-specific password required)");
    }
}
