//! Tests the verification of certificates.

use std::sync::Arc;

use guard_policy::approval::GatewayUrl;
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use tokio::join;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::sign::{CertifiedKey as Signed, SingleCertAndKey};
use tokio_rustls::rustls::{ServerConfig, version};

use crate::gateway::testing::{Client, Gateway, hello};
use crate::gateway::tls::{Trust, fingerprint};
use crate::gateway::{Credentials, Link, OpenError};

fn certified() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap()
}

/// Returns a server that presents this certificate and signs with this key.
fn server(
    certificate: &CertifiedKey<KeyPair>,
    key: &KeyPair,
    version: &'static tokio_rustls::rustls::SupportedProtocolVersion,
) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = provider.key_provider.load_private_key(key).unwrap();
    // The key is not checked, so it may be another certificate's.
    let signed = Signed::new(vec![certificate.cert.der().clone()], key);
    let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    let config = config.with_no_client_auth().with_cert_resolver(Arc::new(SingleCertAndKey::from(signed)));
    TlsAcceptor::from(Arc::new(config))
}

async fn opening(acceptor: TlsAcceptor, trust: Trust) -> Result<Link, OpenError> {
    let gateway = Gateway::new().await;
    let url = gateway.url().replace("ws://", "wss://");
    let access = Credentials { endpoint: GatewayUrl::parse(&url).unwrap(), trust, ..gateway.access() };
    let talk = async {
        let Ok(stream) = acceptor.accept(gateway.raw().await).await else { return };
        let mut client = Client::upgrade(stream).await;
        client.challenge().await;
        let connect = client.hear().await;
        client.answer(&connect["id"], hello()).await;
    };
    join!(Link::open(&access), talk).0
}

#[tokio::test]
async fn the_one_that_is_pinned_is_taken_and_no_other() {
    let (one, other) = (certified(), certified());
    let pin = |certificate: &CertifiedKey<KeyPair>| Trust::Pinned(fingerprint(certificate.cert.der()));
    let tls13 = &version::TLS13;
    opening(server(&one, &one.signing_key, tls13), pin(&one)).await.unwrap();
    let problem =
        opening(server(&other, &other.signing_key, tls13), pin(&one)).await.unwrap_err().to_string();
    let (seen, pinned) = (fingerprint(other.cert.der()), fingerprint(one.cert.der()));
    assert!(problem.contains(&seen.to_string()) && problem.contains(&pinned.to_string()), "{problem}");
    // The certificate is public; only its owner has the key.
    let problem = opening(server(&one, &other.signing_key, tls13), pin(&one)).await.unwrap_err();
    assert!(matches!(problem, OpenError::Insecure { .. }), "{problem}");
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let one = certified();
    let problem =
        opening(server(&one, &one.signing_key, &version::TLS13), Trust::Authorities).await.unwrap_err();
    assert!(matches!(problem, OpenError::Insecure { .. }), "{problem}");
    let problem = problem.to_string();
    assert!(!problem.contains("unexpected"), "{problem}");
    let names_certificate = problem.contains(&fingerprint(one.cert.der()).to_string());
    // The second text is for a host that trusts no authority.
    assert!(names_certificate || problem.contains("no certificate authority"), "{problem}");
}

#[tokio::test]
async fn a_server_without_tls_is_sent_no_secret() {
    let gateway = Gateway::new().await;
    let url = gateway.url().replace("ws://", "wss://");
    let access = Credentials { endpoint: GatewayUrl::parse(&url).unwrap(), ..gateway.access() };
    let talk = async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut raw = gateway.raw().await;
        let mut heard = vec![0; 4096];
        let length = raw.read(&mut heard).await.unwrap();
        // A record of the TLS handshake.
        assert_eq!((heard[0], heard[1]), (0x16, 3), "{:?}", &heard[..length.min(16)]);
        raw.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    };
    let (opened, ()) = join!(Link::open(&access), talk);
    assert!(matches!(opened, Err(OpenError::Insecure { .. })));
}
