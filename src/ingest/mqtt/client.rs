//! How a broker is connected to. To read: a session that the broker keeps while the server is away, acknowledgements by hand.
//! To publish: a session that ends with its connection. By TLS or without.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rumqttc::{AsyncClient, ConnectionError, EventLoop, MqttOptions, TlsConfiguration, Transport};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;

use crate::clock;
use crate::config::{MqttBroker, Secret};
use crate::ingest::adapters::MAX_BODY_BYTES;

/// A broker that answers no ping for this long is gone.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Bytes of the longest message: the longest that an adapter takes, and its topic.
const LONGEST: usize = MAX_BODY_BYTES + 64 * 1024;
/// Bytes of the longest message that is published, with its topic.
const LONGEST_PUBLISHED: usize = 8 * 1024 * 1024;
/// Requests that wait to be sent: more than there can be messages without an acknowledgement, whose numbers have 16 bits.
const REQUESTS: usize = 70_000;
/// How long a broker may take to let a client in.
const CHECKED_WITHIN: Duration = Duration::from_secs(10);

/// Why a broker's settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MqttError {
    /// The file of authorities cannot be read.
    #[error("the authorities in {0} cannot be read")]
    Authorities(PathBuf, #[source] rustls::pki_types::pem::Error),
    /// It has none.
    #[error("there are no authorities in {0}")]
    NoAuthority(PathBuf),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// The broker cannot be reached, or refuses the credentials.
    #[error("the broker cannot be signed in to")]
    Broker(#[from] Box<ConnectionError>),
    /// It does not answer.
    #[error("the broker does not answer")]
    Silent,
}

/// A client that reads, not connected yet.
pub(super) fn reader(broker: &MqttBroker) -> Result<(AsyncClient, EventLoop), MqttError> {
    let mut options = options(broker, broker.reader_id().unwrap_or_default())?;
    options.set_clean_session(false).set_manual_acks(true);
    Ok(AsyncClient::new(options, REQUESTS))
}

/// How a client connects that publishes, with at most `most_under_way` messages without an acknowledgement.
pub fn publisher(broker: &MqttBroker, most_under_way: u16) -> Result<MqttOptions, MqttError> {
    let mut options = options(broker, broker.publisher_id().unwrap_or_default())?;
    options
        .set_clean_session(true)
        .set_inflight(most_under_way)
        .set_max_packet_size(LONGEST, LONGEST_PUBLISHED);
    Ok(options)
}

/// Signs in once, as a client of which nothing is left behind.
pub async fn check(broker: &MqttBroker) -> Result<(), MqttError> {
    let options = options(broker, format!("waypost-check-{}", clock::new_id().simple()))?;
    let (_client, mut events) = AsyncClient::new(options, 1);
    let connected = timeout(CHECKED_WITHIN, events.poll()).await.map_err(|_| MqttError::Silent)?;
    connected.map(drop).map_err(|error| MqttError::Broker(Box::new(error)))
}

fn options(broker: &MqttBroker, client_id: String) -> Result<MqttOptions, MqttError> {
    let mut options = MqttOptions::new(client_id, &broker.host, broker.port);
    options.set_keep_alive(KEEP_ALIVE).set_max_packet_size(LONGEST, LONGEST);
    if let Some((user, password)) = &broker.user {
        options.set_credentials(user, Secret::reveal(password));
    }
    if broker.has_tls {
        options.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(Arc::new(tls(broker)?))));
    }
    Ok(options)
}

fn tls(broker: &MqttBroker) -> Result<ClientConfig, MqttError> {
    let mut roots = RootCertStore::empty();
    match &broker.authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(file) => {
            let unreadable = |error| MqttError::Authorities(file.clone(), error);
            for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
                roots.add(certificate.map_err(unreadable)?)?;
            }
            if roots.is_empty() {
                return Err(MqttError::NoAuthority(file.clone()));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
