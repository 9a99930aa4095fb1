//! A connection to the server that letters go out by: TLS, and sign in.

use std::path::Path;
use std::time::Duration;

use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::extension::ClientId;

use crate::SetupError;
use crate::settings::{Credential, Security, Server};

/// What TLS believes there; none: nothing is secured.
pub fn tls(host: &str, security: Security, ca_file: Option<&Path>) -> Result<Option<TlsParameters>, SetupError> {
    if security == Security::Plain {
        return Ok(None);
    }
    let mut tls = TlsParameters::builder(host.to_owned()).certificate_store(CertificateStore::WebpkiRoots);
    if let Some(path) = ca_file {
        let unreadable = |error: &dyn std::fmt::Display| {
            SetupError(format!("the certificates in {} cannot be read: {error}", path.display()))
        };
        let pem = std::fs::read(path).map_err(|error| unreadable(&error))?;
        tls = tls.add_root_certificate(Certificate::from_pem(&pem).map_err(|error| unreadable(&error))?);
    }
    Ok(Some(tls.build_rustls().map_err(|error| SetupError(error.to_string()))?))
}

/// Whom the server is told that it speaks with, and how long it may take.
#[derive(Debug, Clone)]
pub struct Greeting<'a> {
    /// The domain of whoever writes.
    pub domain: &'a str,
    /// For each command.
    pub deadline: Duration,
}

/// Is this how a server refuses a token? It says why first, in what is no step of the library's.
pub fn is_refused_token(error: &SmtpError) -> bool {
    error.is_client() || error.status().is_some_and(|code| u16::from(code) == 535)
}

/// Connects and signs in.
///
/// # Errors
/// When the server cannot be reached, or lets nobody in.
pub async fn connect(
    server: &Server,
    security: Security,
    tls: Option<&TlsParameters>,
    greeting: Greeting<'_>,
) -> Result<AsyncSmtpConnection, SmtpError> {
    let hello = ClientId::Domain(greeting.domain.to_owned());
    let at_once = tls.filter(|_| security == Security::Tls).cloned();
    let address = (server.host.as_str(), server.port);
    let mut connection =
        AsyncSmtpConnection::connect_tokio1(address, Some(greeting.deadline), &hello, at_once, None).await?;
    if let (Security::StartTls, Some(tls)) = (security, tls) {
        connection.starttls(tls.clone(), &hello).await?;
    }
    if !server.user.is_empty() {
        let (ways, secret): (&[Mechanism], _) = match &server.credential {
            Credential::Password(password) => (&[Mechanism::Plain, Mechanism::Login], password),
            Credential::Token(token) => (&[Mechanism::Xoauth2], token),
        };
        let credentials = Credentials::new(server.user.clone(), secret.expose().to_owned());
        connection.auth(ways, &credentials).await?;
    }
    Ok(connection)
}
