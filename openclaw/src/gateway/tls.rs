//! TLS to a gateway. Its certificate is pinned, or an authority that this host trusts vouches for it.

use std::io;
use std::sync::Arc;

use guard_policy::approval::{Fingerprint, GatewayHost};
use sha2::{Digest, Sha256};
use tokio::task::JoinError;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, PeerIncompatible, RootCertStore, SignatureScheme, version,
};

/// How a gateway's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// By the authorities that this host trusts. Errors suggest approvals.gateway.fingerprint.
    Authorities,
    /// By the authorities that this host trusts. Errors do not suggest approvals.gateway.fingerprint.
    AuthoritiesAlone,
    /// By the fingerprint of the one certificate that is accepted.
    Pinned(Fingerprint),
}

/// The key of guard.json with the fingerprint of a gateway's certificate.
const PIN: &str = "approvals.gateway.fingerprint";

/// Why TLS is not established.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate can be for this name.
    #[error("it is not the name of a host")]
    NotHostName,
    /// The thread that reads the certificates has failed.
    #[error(transparent)]
    Thread(#[from] JoinError),
    /// There is no authority to vouch for a certificate.
    #[error("this host trusts no certificate authority{}: install ca-certificates{}", reason(.why), or_set(.pin))]
    NoAuthorities {
        /// Why an authority's certificate could not be read.
        why: Option<rustls_native_certs::Error>,
        /// The key of guard.json that can name a certificate instead.
        pin: Option<&'static str>,
    },
    /// The authorities' certificates cannot be used.
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
    /// The library does not support what the guard requires.
    #[error(transparent)]
    Config(#[from] Error),
    /// The other end's certificate is not the right one, or the connection has failed.
    #[error("{}", error_text(.0))]
    Handshake(#[source] io::Error),
}

fn reason(why: &Option<rustls_native_certs::Error>) -> String {
    why.as_ref().map(|error| format!(" ({error})")).unwrap_or_default()
}

fn or_set(pin: &Option<&'static str>) -> String {
    pin.map(|key| format!(", or set {key}")).unwrap_or_default()
}

/// Establishes TLS over a connection.
///
/// # Errors
/// Why that failed.
pub async fn over<S>(stream: S, host: &GatewayHost, trust: Trust) -> Result<TlsStream<S>, TlsError>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let name = match host {
        GatewayHost::Address(address) => ServerName::from(*address),
        GatewayHost::Name(name) => ServerName::try_from(name.clone()).map_err(|_| TlsError::NotHostName)?,
    };
    // The disk may be slow.
    let config = tokio::task::spawn_blocking(move || config(trust)).await??;
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    connecting.await.map_err(TlsError::Handshake)
}

/// Returns the text of an error; for an error of [`Looks`], only the words of [`Looks`].
fn error_text(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::General(text)) => text.clone(),
        _ => error.to_string(),
    }
}

/// Returns the fingerprint of a certificate.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    Fingerprint::new(Sha256::digest(certificate).into())
}

fn config(trust: Trust) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let at = match trust {
        Trust::Authorities | Trust::AuthoritiesAlone => {
            let hint = (trust == Trust::Authorities).then_some(PIN);
            Who::Vouched(authorities(&provider, hint)?, hint)
        }
        Trust::Pinned(pinned) => Who::Pinned(pinned),
    };
    let verifier = Arc::new(Looks { at, provider: Arc::clone(&provider) });
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&version::TLS13]);
    Ok(config?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn authorities(
    provider: &Arc<CryptoProvider>,
    pin: Option<&'static str>,
) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(TlsError::NoAuthorities { why: found.errors.into_iter().next(), pin });
    }
    Ok(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build()?)
}

/// A verifier of the certificate. The handshake proves that the other end has its key.
#[derive(Debug)]
struct Looks {
    at: Who,
    provider: Arc<CryptoProvider>,
}

/// What the certificate must be.
#[derive(Debug)]
enum Who {
    /// A certificate that an authority vouches for. Holds the key of guard.json that can name another certificate.
    Vouched(Arc<WebPkiServerVerifier>, Option<&'static str>),
    /// The certificate with this fingerprint, whatever its issuer, name and age.
    Pinned(Fingerprint),
}

impl ServerCertVerifier for Looks {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let seen = fingerprint(end_entity);
        match &self.at {
            Who::Vouched(by, pin) => {
                let verified =
                    by.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
                verified.map_err(|error| {
                    let advice = pin
                        .map(|key| format!("; if {seen} is the SHA-256 of its certificate, set {key} to it"));
                    Error::General(format!("{error}{}", advice.unwrap_or_default()))
                })
            }
            Who::Pinned(pinned) if seen == *pinned => Ok(ServerCertVerified::assertion()),
            Who::Pinned(pinned) => Err(Error::General(format!(
                "the SHA-256 of its certificate is {seen}, but approvals.gateway.fingerprint is {pinned}"
            ))),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
