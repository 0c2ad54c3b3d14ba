//! Connections that keep the server waiting: those of one address make room for one another.

use std::cell::RefCell;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use waypost_test_support::eventually;

use crate::bare::{DEADLINE, asked, exchange, request};
use crate::harness::{App, text};

/// Connections of one address that may wait.
const MOST: usize = 5;

/// Opens connections that send these beginnings of requests in turn, until all but those that may wait are closed.
async fn crowd(address: &str, beginnings: &[&str]) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for beginning in beginnings.iter().cycle().take(24) {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(beginning.as_bytes()).await.ok();
        held.push(connection);
    }
    all_but_those_that_may(held).await
}

/// Waits until all but those that may wait are closed.
async fn all_but_those_that_may(held: Vec<TcpStream>) -> Vec<TcpStream> {
    let held = RefCell::new(held);
    let closed = || async {
        let is_open = |connection: &mut TcpStream| connection.read(&mut [0]).now_or_never().is_none();
        held.borrow_mut().retain_mut(is_open);
        held.borrow().len() == MOST
    };
    eventually(Duration::from_secs(5), closed).await;
    held.into_inner()
}

/// Opens a dispatcher's socket without a credential.
async fn socket_of_nobody(address: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).await.unwrap();
    let handshake = "GET /v1/ws/live HTTP/1.1\r\nhost: w\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    connection.write_all(handshake.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        assert_ne!(connection.read_buf(&mut answer).await.unwrap(), 0, "{answer:?}");
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    connection
}

#[test]
fn of_one_address_only_so_many_connections_keep_the_server_waiting() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|settings| settings.waiting_connections = MOST).await;
        let address = app.url.strip_prefix("http://").unwrap();
        let beginnings = [
            "GET /healthz HTTP/1.1\r\nhost: w",
            "POST /v1/auth/refresh HTTP/1.1\r\nhost: w\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{",
            "",
        ];
        // All but five are closed, long before their time is up; a new connection that sends its request is served.
        let _held = crowd(address, &beginnings).await;
        let healthy = exchange(address, &request("GET", "/healthz", &[], b"")).await;
        assert_eq!(healthy.status, 200);
        app.stop().await;
    });
}

#[test]
fn who_came_to_a_socket_with_a_credential_is_no_stranger() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with_root(|settings| {
            settings.waiting_connections = MOST;
        })
        .await;
        let org = app.org("known").await;
        let bus = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" } });
        let made = app.post("/v1/vehicles", &org.org_admin, bus).await.ok(201);
        let (_, fleet) = app.system_user(&org.org_admin, &["positions:ingest"]).await;
        let address = app.url.strip_prefix("http://").unwrap();
        let mut known = Vec::new();
        for (path, token) in [
            ("/v1/ws/tracker", text(&made["tracker"]["token"])),
            ("/v1/ws/tracker", fleet),
            ("/v1/ws/live", org.viewer),
        ] {
            // No handshake: the connection stays with the HTTP server.
            let request = format!("GET {path} HTTP/1.1\r\nhost: w\r\nauthorization: Bearer {token}\r\n\r\n");
            let mut connection = TcpStream::connect(address).await.unwrap();
            assert_eq!(asked(&mut connection, request.as_bytes()).await.status, 400, "{path}");
            let (beginning, rest) = request.split_at(request.len() / 2);
            connection.write_all(beginning.as_bytes()).await.unwrap();
            known.push((connection, path, rest.to_owned()));
        }
        let _held = crowd(address, &[""]).await;
        for (mut connection, path, rest) in known {
            assert_eq!(asked(&mut connection, rest.as_bytes()).await.status, 400, "{path}");
        }
        app.stop().await;
    });
}

#[test]
fn a_socket_that_nobody_has_signed_in_waits_as_any_connection_does() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|settings| settings.waiting_connections = MOST).await;
        let address = app.url.strip_prefix("http://").unwrap();
        let mut held = Vec::new();
        for _ in 0..24 {
            held.push(socket_of_nobody(address).await);
        }
        // Long before the time is up within which it has to sign in.
        let _held = all_but_those_that_may(held).await;
        app.stop().await;
    });
}

#[test]
fn of_a_socket_that_nobody_has_signed_in_little_is_kept() {
    actix_rt::System::new().block_on(async {
        let app = App::start_with(|_| ()).await;
        let mut socket = socket_of_nobody(app.url.strip_prefix("http://").unwrap()).await;
        // A text of 60,000 bytes is begun: most of it would have to be kept.
        let begun = [&[0x81, 0x80 | 126, 0xea, 0x60, 0, 0, 0, 0][..], &[b' '; 20_000]].concat();
        socket.write_all(&begun).await.unwrap();
        let mut said = Vec::new();
        timeout(DEADLINE, socket.read_to_end(&mut said)).await.expect("it is refused at once").ok();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("frameTooLarge") && said.contains("4096 bytes"), "{said}");
        app.stop().await;
    });
}
