//! TLS with a certificate authority of one's own.

use crate::server::{Server, json};
use emberscope_source::client::{Client, ClientOptions};
use emberscope_source::error::FetchError;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

/// A server on TLS, and the authority's certificate in PEM.
fn server() -> (Server, String) {
    let mut ca_params = CertificateParams::new(Vec::<String>::new()).unwrap();
    ca_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let ca = ca_params.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(ca_params, ca_key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let wrap = move |stream: TcpStream| {
        rustls::StreamOwned::new(rustls::ServerConnection::new(Arc::clone(&config)).unwrap(), stream)
    };
    (Server::start_on(wrap, |_, _, out| json(out, r#"{"ok":true}"#)), ca.pem())
}

fn ask(server: &Server, ca_cert: Option<&Path>, insecure: bool) -> Result<serde_json::Value, FetchError> {
    let options =
        ClientOptions { ca_cert: ca_cert.map(Path::to_owned), insecure, ..ClientOptions::default() };
    let mut client = Client::new(options)?;
    let url = client.name(&format!("https://localhost:{}/x", server.port))?;
    client.get_json(&url)
}

#[test]
fn a_private_authority_is_trusted_when_it_is_named() {
    let (server, pem) = server();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();
    assert_eq!(ask(&server, Some(&file), false).unwrap()["ok"], true);
    assert_eq!(ask(&server, None, true).unwrap()["ok"], true);
    let error = ask(&server, None, false).unwrap_err();
    assert!(matches!(error, FetchError::Connection { is_tls: true, .. }), "{error}");
    assert!(error.hint().contains("--ca-cert"));
}

#[test]
fn a_file_that_holds_no_certificate() {
    let (server, _) = server();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    for text in ["", "nothing\n"] {
        std::fs::write(&file, text).unwrap();
        assert!(matches!(ask(&server, Some(&file), false), Err(FetchError::CaCert { .. })));
    }
    assert!(matches!(ask(&server, Some(&dir.path().join("none")), false), Err(FetchError::CaCert { .. })));
}
