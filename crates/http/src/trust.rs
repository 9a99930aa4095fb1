//! What TLS believes: the machine's certificates, one set of them for the whole process.
//!
//! They are read when the first server shows a certificate, from the bundle that distributions keep of them, and again when that
//! bundle has become another. A folder with a file for each is read only where there is no bundle, or where the environment names it.
//!
//! Never: a file read when a client is made.
//! Start at [`tls`].

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::SystemTime;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};

use hob_core::domain::lock::lock;

/// Why nobody can be believed.
pub const NONE: &str = "no certificates on this machine; install the package ca-certificates";

/// What all clients share; none: this machine has no place for certificates.
static SHARED: LazyLock<Option<Arc<ClientConfig>>> = LazyLock::new(|| {
    let source = Source::of_machine()?;
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier { provider: Arc::clone(&provider), source, read: Mutex::default() };
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let versions = versions.inspect_err(|error| tracing::error!(%error, "TLS cannot be set up")).ok()?;
    let trusting = versions.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    Some(Arc::new(trusting.with_no_client_auth()))
});

/// TLS that believes what the machine believes. None: it has no place for certificates, so that nobody can be believed.
pub fn tls() -> Option<Arc<ClientConfig>> {
    SHARED.clone()
}

/// The same, for whoever speaks these protocols.
pub(crate) fn speaking(protocols: &[&[u8]]) -> Option<ClientConfig> {
    let mut speaking = ClientConfig::clone(&*tls()?);
    speaking.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Some(speaking)
}

/// Where the certificates are.
#[derive(Debug)]
enum Source {
    /// All in one file.
    Bundle(PathBuf),
    /// In folders, with a file for each.
    Folders,
}

impl Source {
    #[expect(
        clippy::disallowed_methods,
        reason = "what the environment says of TLS holds for every program, and is not a setting of Hob's"
    )]
    fn of_machine() -> Option<Self> {
        let (file, folders) = (std::env::var_os("SSL_CERT_FILE"), std::env::var_os("SSL_CERT_DIR"));
        if folders.is_some() {
            return Some(Self::Folders);
        }
        let probed = openssl_probe::probe();
        match file.map(PathBuf::from).or(probed.cert_file) {
            Some(bundle) => Some(Self::Bundle(bundle)),
            None => (!probed.cert_dir.is_empty()).then_some(Self::Folders),
        }
    }

    /// When it was written, as far as one look tells.
    fn written(&self) -> Option<SystemTime> {
        match self {
            Self::Bundle(bundle) => fs::metadata(bundle).and_then(|bundle| bundle.modified()).ok(),
            Self::Folders => None,
        }
    }

    fn roots(&self) -> RootCertStore {
        let bundle = match self {
            Self::Bundle(bundle) => taken(load_certs_from_paths(Some(bundle), None)),
            Self::Folders => RootCertStore::empty(),
        };
        if bundle.is_empty() { taken(load_native_certs()) } else { bundle }
    }
}

/// What of it can be used: among many certificates are some that nobody understands.
fn taken(found: CertificateResult) -> RootCertStore {
    for error in found.errors {
        tracing::warn!(%error, "a certificate of this machine cannot be read");
    }
    let mut roots = RootCertStore::empty();
    let (_, left) = roots.add_parsable_certificates(found.certs);
    if left > 0 {
        tracing::warn!(left, "certificates of this machine that cannot be used");
    }
    roots
}

/// Checks a server's certificate against those that are read by then.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    source: Source,
    read: Mutex<Option<(Option<SystemTime>, Arc<WebPkiServerVerifier>)>>,
}

impl Verifier {
    fn read(&self) -> Result<Arc<WebPkiServerVerifier>, Error> {
        let written = self.source.written();
        let mut read = lock(&self.read);
        if let Some((of, known)) = &*read
            && *of == written
        {
            return Ok(Arc::clone(known));
        }
        let roots = self.source.roots();
        if roots.is_empty() {
            return Err(Error::General(NONE.to_owned()));
        }
        let known = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider));
        let known = known.build().map_err(|error| Error::Other(OtherError(Arc::new(error))))?;
        *read = Some((written, Arc::clone(&known)));
        Ok(known)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.read()?.verify_server_cert(shown, between, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use rustls::pki_types::pem::PemObject as _;
    use tempfile::NamedTempFile;

    use super::*;

    const SERVERS: &str = include_str!("../../../tests/fixtures/email/servers/localhost.crt");

    fn verifier(bundle: &Path) -> Verifier {
        let provider = Arc::new(ring::default_provider());
        Verifier { provider, source: Source::Bundle(bundle.to_owned()), read: Mutex::default() }
    }

    /// What is found of the test server's certificate.
    fn shown(verifier: &Verifier) -> Result<ServerCertVerified, Error> {
        let shown = CertificateDer::from_pem_slice(SERVERS.as_bytes()).unwrap();
        let (name, now) = (ServerName::try_from("localhost").unwrap(), Duration::from_secs(1_800_000_000));
        verifier.verify_server_cert(&shown, &[], &name, &[], UnixTime::since_unix_epoch(now))
    }

    #[test]
    fn certificates_are_read_when_one_is_shown_and_anew_when_they_are_others() {
        let bundle = NamedTempFile::new().unwrap();
        let verifier = verifier(bundle.path());
        assert!(verifier.read.lock().unwrap().is_none(), "nothing was read yet");
        fs::write(bundle.path(), SERVERS).unwrap();
        assert!(shown(&verifier).is_ok());
        let read = || Arc::as_ptr(&verifier.read.lock().unwrap().as_ref().unwrap().1);
        let first = read();
        assert!(shown(&verifier).is_ok() && read() == first, "once");
        let later = fs::metadata(bundle.path()).unwrap().modified().unwrap() + Duration::from_secs(1);
        bundle.as_file().set_modified(later).unwrap();
        assert!(shown(&verifier).is_ok() && read() != first);
    }

    #[test]
    fn whom_the_machine_does_not_know_is_not_believed() {
        let empty = Verifier { source: Source::Folders, ..verifier(Path::new("")) };
        let of_this_machine = shown(&empty).unwrap_err();
        // A machine may have no certificates at all.
        let is_so = matches!(of_this_machine, Error::InvalidCertificate(_))
            || of_this_machine == Error::General(NONE.to_owned());
        assert!(is_so, "{of_this_machine}");
    }
}
