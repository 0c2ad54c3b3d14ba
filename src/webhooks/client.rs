//! One attempt to deliver: a POST over a connection to an address that the guard lets through. Redirects are not
//! followed; of the answer a little is read.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix_service::{Service, fn_service};
use actix_tls::connect::tcp::TcpConnector;
use actix_tls::connect::{ConnectError, ConnectInfo};
use awc::http::Uri;
use awc::http::header::{self, HttpDate};
use awc::{ClientResponse, Connector};
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, timeout, timeout_at};
use waypost_actors::clock;
use waypost_actors::model::Timestamp;

use super::guard::Guard;

/// A receiver has this long to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// It has this long for the body of its answer, which decides nothing.
const BODY_WITHIN: Duration = Duration::from_secs(2);
/// Bytes that are kept of it.
const BODY_BYTES: usize = 1_000;
/// A connection that nothing was sent over for this long is closed: before most receivers close it.
pub(super) const IDLE: Duration = Duration::from_secs(3);
/// The longest life of a connection: after it, the name is looked up and its address checked again.
const LIFETIME: Duration = Duration::from_secs(60);
/// The name by which receivers know the sender.
const USER_AGENT: &str = concat!("Waypost-Webhooks/", env!("CARGO_PKG_VERSION"));

/// Looks up the addresses of a name with a port.
pub(super) type Resolve = Rc<dyn Fn(String, u16) -> LocalBoxFuture<'static, io::Result<Vec<SocketAddr>>>>;

/// How receivers are connected to: what all clients of a thread have in common.
pub(super) struct Dialer {
    guard: Rc<Guard>,
    resolve: Resolve,
    tls: Arc<ClientConfig>,
}

/// Sends to a receiver. Its connections are kept for the next message and closed when the last copy of it is dropped: a
/// connection that no message follows is closed by nothing else.
#[derive(Clone)]
pub(super) struct Client {
    http: awc::Client,
    /// A receiver has this long for the head of its answer, however slowly that comes.
    answer_within: Duration,
}

/// What became of a request.
#[derive(Debug)]
pub(super) struct Sent {
    /// The status of the answer; `None` without one.
    pub(super) status: Option<u16>,
    /// Seconds that the receiver asks to wait.
    pub(super) retry_after: Option<f64>,
    /// Why it failed.
    pub(super) detail: Option<String>,
    /// The beginning of the answer's body.
    pub(super) answer: Option<String>,
    /// How long it took.
    pub(super) took: Duration,
}

/// A name that leads to no address that may be connected to.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} leads to no address that webhooks may reach; an operator may allow it by the setting webhookNetworks"
)]
struct NotAllowed(String);

/// The headers of a message.
pub(super) struct Headers<'a> {
    pub(super) id: &'a str,
    pub(super) timestamp: i64,
    pub(super) signature: &'a str,
}

/// The system's resolver.
pub(super) fn system_resolver() -> Resolve {
    Rc::new(|host, port| {
        async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }.boxed_local()
    })
}

impl Dialer {
    /// For one thread.
    pub(super) fn new(guard: Guard, resolve: Resolve) -> Self {
        Self { guard: Rc::new(guard), resolve, tls: Arc::new(tls()) }
    }

    /// A client that has no connection yet.
    pub(super) fn client(&self) -> Client {
        let (guard, resolve) = (Rc::clone(&self.guard), Rc::clone(&self.resolve));
        let connect = fn_service(move |asked: ConnectInfo<Uri>| {
            let (guard, resolve) = (Rc::clone(&guard), Rc::clone(&resolve));
            async move {
                let addresses = allowed(&guard, &resolve, &asked).await?;
                TcpConnector::default().service().call(asked.set_addrs(addresses)).await
            }
        });
        let connector = Connector::new()
            .connector(connect)
            .rustls_0_23(Arc::clone(&self.tls))
            .timeout(ANSWER_WITHIN)
            .handshake_timeout(ANSWER_WITHIN)
            .conn_keep_alive(IDLE)
            .conn_lifetime(LIFETIME)
            .limit(0);
        let http = awc::Client::builder()
            .connector(connector)
            .disable_redirects()
            .disable_timeout()
            .add_default_header((header::USER_AGENT, USER_AGENT))
            .finish();
        Client { http, answer_within: ANSWER_WITHIN }
    }
}

impl Client {
    /// Posts a message.
    pub(super) async fn post(&self, url: &str, headers: Headers<'_>, body: String) -> Sent {
        let began = Instant::now();
        let request = self
            .http
            .post(url)
            .no_decompress()
            .content_type("application/json")
            .insert_header(("webhook-id", headers.id))
            .insert_header(("webhook-timestamp", headers.timestamp))
            .insert_header(("webhook-signature", headers.signature));
        let failed = |detail: String| Sent {
            status: None,
            retry_after: None,
            detail: Some(detail),
            answer: None,
            took: began.elapsed(),
        };
        match timeout(self.answer_within, request.send_body(body)).await {
            Ok(Ok(answer)) => Self::read(answer, began).await,
            Ok(Err(error)) => failed(told(&error)),
            Err(_) => failed(format!("no answer within {} seconds", self.answer_within.as_secs())),
        }
    }

    async fn read<S>(mut answer: ClientResponse<S>, began: Instant) -> Sent
    where
        S: Stream<Item = Result<bytes::Bytes, actix_http::error::PayloadError>> + Unpin,
    {
        let status = answer.status();
        let retry_after = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.and_then(|text| seconds_to_wait(text.trim(), clock::now()));
        let took = began.elapsed();
        let (mut body, until) = (Vec::new(), Instant::now() + BODY_WITHIN);
        while body.len() < BODY_BYTES
            && let Ok(Some(Ok(part))) = timeout_at(until, answer.next()).await
        {
            body.extend_from_slice(&part[..part.len().min(BODY_BYTES - body.len())]);
        }
        let detail = match status.as_u16() {
            200..=299 => None,
            300..=399 => {
                Some(format!("answered {status}: redirects are not followed; change the webhook's url"))
            }
            _ => Some(format!("answered {status}")),
        };
        let answer = (!body.is_empty()).then(|| plain(&String::from_utf8_lossy(&body)));
        Sent { status: Some(status.as_u16()), retry_after, detail, answer, took }
    }
}

/// The addresses of a receiver that may be connected to: those that were looked up now, for this connection.
async fn allowed(
    guard: &Guard,
    resolve: &Resolve,
    asked: &ConnectInfo<Uri>,
) -> Result<Vec<SocketAddr>, ConnectError> {
    let host = asked.hostname().trim_start_matches('[').trim_end_matches(']');
    let found = match host.parse::<IpAddr>() {
        Ok(literal) => vec![SocketAddr::new(literal, asked.port())],
        Err(_) => resolve(host.to_owned(), asked.port())
            .await
            .map_err(|error| ConnectError::Resolver(error.into()))?,
    };
    if found.is_empty() {
        return Err(ConnectError::NoRecords);
    }
    let is_https = asked.request().scheme_str() == Some("https");
    let allowed: Vec<SocketAddr> = found.into_iter().filter(|at| guard.lets(at.ip(), is_https)).collect();
    if allowed.is_empty() {
        // Not the addresses, which would tell what the operator's own network is like.
        return Err(ConnectError::Resolver(Box::new(NotAllowed(host.to_owned()))));
    }
    Ok(allowed)
}

/// Trusts the certificates that are built in, and those of the machine.
fn tls() -> ClientConfig {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the usual versions of TLS");
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// An error with its causes, on one line.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    plain(&text)
}

/// Text that every store can hold, of bounded length.
fn plain(text: &str) -> String {
    text.chars().take(BODY_BYTES).map(|c| if c == '\0' { '\u{fffd}' } else { c }).collect()
}

/// `Retry-After` in seconds, which may be said as an instant (RFC 9110).
fn seconds_to_wait(text: &str, now: Timestamp) -> Option<f64> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(f64::from(seconds));
    }
    let at = SystemTime::from(text.parse::<HttpDate>().ok()?).duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some((at.as_secs_f64() - now.as_micros() as f64 / 1e6).max(0.0))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const HEADERS: Headers<'_> = Headers { id: "a_1", timestamp: 1, signature: "v1,x" };

    /// A receiver at an address that says the same to every request, and how many connections it had.
    async fn receiver(address: &str, says: &'static str) -> (SocketAddr, Rc<Cell<usize>>) {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let (at, count) = (listener.local_addr().unwrap(), Rc::new(Cell::new(0)));
        let counted = Rc::clone(&count);
        actix_rt::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                counted.set(counted.get() + 1);
                let mut bytes = [0; 4096];
                while socket.read(&mut bytes).await.is_ok_and(|read| read > 0) {
                    socket.write_all(says.as_bytes()).await.unwrap();
                    if says.contains("close") {
                        break;
                    }
                }
            }
        });
        (at, count)
    }

    fn client(resolve: Resolve) -> Client {
        Dialer::new(Guard::new(vec!["127.0.0.1/32".parse().unwrap()]), resolve).client()
    }

    #[actix_rt::test]
    async fn a_connection_is_kept_for_the_next_message_and_closed_with_its_client() {
        const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        let (at, connections) = receiver("127.0.0.1", OK).await;
        let url = format!("http://{at}");
        // This receiver takes a connection only once the one before is closed.
        for many in 1..=2 {
            let http = client(system_resolver());
            for _ in 0..3 {
                let sent = http.post(&url, HEADERS, "{}".into()).await;
                assert_eq!((sent.status, connections.get()), (Some(200), many), "{sent:?}");
            }
        }
    }

    #[actix_rt::test]
    async fn an_address_is_checked_when_it_is_connected_to_and_not_before() {
        const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
        let (allowed, to_allowed) = receiver("127.0.0.1", OK).await;
        let (refused, to_refused) = receiver("127.0.0.2", OK).await;
        // A name that changes to another address after its first look-up.
        let lookups = Rc::new(Cell::new(0));
        let looked_up = Rc::clone(&lookups);
        let http = client(Rc::new(move |host, _| {
            assert_eq!(host, "receiver.example");
            looked_up.set(looked_up.get() + 1);
            let at = if looked_up.get() == 1 { allowed } else { refused };
            async move { Ok(vec![at]) }.boxed_local()
        }));
        let sent = http.post("http://receiver.example/", HEADERS, "{}".into()).await;
        assert_eq!(
            (sent.status, sent.answer.as_deref(), to_allowed.get()),
            (Some(200), Some("ok"), 1),
            "{sent:?}"
        );
        let sent = http.post("http://receiver.example/", HEADERS, "{}".into()).await;
        assert_eq!((sent.status, to_refused.get(), lookups.get()), (None, 0, 2), "{sent:?}");
        assert!(
            sent.detail
                .as_ref()
                .unwrap()
                .contains("receiver.example leads to no address that webhooks may reach"),
            "{sent:?}"
        );
        assert!(!sent.detail.as_ref().unwrap().contains("127.0.0.2"), "{sent:?}");
        // Literal addresses, which no resolver sees.
        for host in ["127.0.0.2", "[::ffff:127.0.0.2]", "[::1]"] {
            let url = format!("http://{host}:{}/", refused.port());
            let sent = http.post(&url, HEADERS, "{}".into()).await;
            assert_eq!((sent.status, to_refused.get()), (None, 0), "{host}: {sent:?}");
        }
    }

    #[actix_rt::test]
    async fn what_a_receiver_says_of_its_length_decides_nothing_and_redirects_are_not_followed() {
        let http = client(system_resolver());
        let more = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 99999999\r\n\r\nshort";
        let (at, _) = receiver("127.0.0.1", more).await;
        let sent = http.post(&format!("http://{at}"), HEADERS, "{}".into()).await;
        assert_eq!((sent.status, sent.answer.as_deref()), (Some(200), Some("short")), "{sent:?}");
        // Less than it sends: what is beyond must not be taken for the answer to the next request.
        let less =
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
        let (at, _) = receiver("127.0.0.1", less).await;
        for _ in 0..3 {
            let sent = http.post(&format!("http://{at}"), HEADERS, "{}".into()).await;
            assert_eq!((sent.status, sent.answer.as_deref()), (Some(200), Some("x")), "{sent:?}");
        }
        let (target, followed) = receiver("127.0.0.1", less).await;
        let location =
            format!("HTTP/1.1 302 Found\r\nlocation: http://{target}/\r\ncontent-length: 0\r\n\r\n");
        let (at, _) = receiver("127.0.0.1", location.leak()).await;
        let sent = http.post(&format!("http://{at}"), HEADERS, "{}".into()).await;
        assert_eq!((sent.status, followed.get()), (Some(302), 0), "{sent:?}");
        assert!(sent.detail.unwrap().contains("redirects are not followed"));
    }

    #[actix_rt::test]
    async fn a_head_that_trickles_without_end_is_no_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        actix_rt::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = "HTTP/1.1 200 OK\r\n".bytes().chain("x: y\r\n".bytes().cycle());
            while socket.write_all(&[head.next().unwrap()]).await.is_ok() {
                actix_rt::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let http = Client { answer_within: Duration::from_secs(1), ..client(system_resolver()) };
        let sent = http.post(&format!("http://{at}"), HEADERS, "{}".into()).await;
        assert_eq!((sent.status, sent.detail.as_deref()), (None, Some("no answer within 1 seconds")));
    }

    #[test]
    fn a_wait_is_said_in_seconds_or_until_when() {
        let now = Timestamp::from_micros(784_111_777_000_000);
        for (text, expected) in [
            ("120", Some(120.0)),
            ("Sun, 06 Nov 1994 08:51:37 GMT", Some(120.0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0)),
            ("soon", None),
        ] {
            assert_eq!(seconds_to_wait(text, now), expected, "{text}");
        }
    }

    #[actix_rt::test]
    async fn of_an_answer_a_little_is_kept_and_a_wait_that_is_asked_for_is_read() {
        let body = "a".repeat(5_000);
        let long = format!("HTTP/1.1 429 No\r\nretry-after: 7\r\ncontent-length: 5000\r\n\r\n{body}");
        let (at, _) = receiver("127.0.0.1", long.leak()).await;
        let sent = client(system_resolver()).post(&format!("http://{at}"), HEADERS, "{}".into()).await;
        assert_eq!((sent.status, sent.retry_after), (Some(429), Some(7.0)));
        assert_eq!(sent.answer.unwrap().len(), BODY_BYTES);
    }
}
