//! What cannot be handed on, and owners that end too soon.

use std::rc::Rc;

use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use crate::nodes::{bare, edge, head, nowhere, rest, say};

const GET: &str = "GET /v1/vehicles HTTP/1.1\r\nhost: a\r\nx-request-id: mine\r\nconnection: close\r\n\r\n";
const SOCKET: &str = "GET /v1/ws/tracker HTTP/1.1\r\nhost: a\r\nx-request-id: mine\r\nconnection: upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

#[actix_rt::test]
async fn without_an_owner_the_client_is_asked_to_come_again() {
    let silent = bare(|mut stream| async move {
        head(&mut stream).await;
    });
    for owner in [nowhere(), silent] {
        let edge = edge(owner, false);
        for request in [GET, SOCKET] {
            let said = String::from_utf8(rest(&mut say(edge.address, request).await).await).unwrap();
            assert!(said.starts_with("HTTP/1.1 503 "), "{said}");
            for part in [
                "retry-after: 1",
                "application/problem+json",
                "x-request-id: mine",
                "x-content-type-options: nosniff",
                "\"code\":\"unavailable\"",
                "\"requestId\":\"mine\"",
                "cannot be reached now",
            ] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
    }
}

#[actix_rt::test]
async fn an_answer_that_breaks_off_does_so_for_the_client() {
    for length in ["content-length: 99", "transfer-encoding: chunked"] {
        let seen = Rc::new(Notify::new());
        let is_seen = Rc::clone(&seen);
        let owner = bare(move |mut stream| {
            let is_seen = Rc::clone(&is_seen);
            async move {
                head(&mut stream).await;
                let answer = format!("HTTP/1.1 200 OK\r\n{length}\r\n\r\n4\r\nhalf\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
                is_seen.notified().await;
            }
        });
        let edge = edge(owner, false);
        let mut stream = say(edge.address, GET).await;
        assert!(head(&mut stream).await.starts_with("HTTP/1.1 200 OK"));
        seen.notify_one();
        // Neither a body of the length that was promised, nor a last chunk.
        assert_eq!(String::from_utf8(rest(&mut stream).await).unwrap(), "4\r\nhalf\r\n", "{length}");
    }
}

#[actix_rt::test]
async fn a_refusal_before_the_end_of_the_body_reaches_the_client() {
    let owner = bare(|mut stream| async move {
        head(&mut stream).await;
        let answer =
            "HTTP/1.1 413 Payload Too Large\r\ncontent-length: 7\r\nconnection: close\r\n\r\ntoo big";
        stream.write_all(answer.as_bytes()).await.unwrap();
        rest(&mut stream).await;
    });
    let edge = edge(owner, false);
    let mut stream =
        say(edge.address, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999\r\n\r\n").await;
    stream.write_all(&[0; 64 * 1024]).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 413 "));
}

#[actix_rt::test]
async fn a_refused_socket_is_refused_in_the_owners_words() {
    let owner = bare(|mut stream| async move {
        let asked = head(&mut stream).await;
        assert!(asked.contains("upgrade: websocket") && asked.contains("connection: upgrade"), "{asked}");
        let answer = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 4\r\n\r\nno!!";
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let edge = edge(owner, false);
    let said = String::from_utf8(rest(&mut say(edge.address, SOCKET).await).await).unwrap();
    assert!(said.starts_with("HTTP/1.1 401 ") && said.ends_with("\r\n\r\nno!!"), "{said}");
    assert!(said.contains("www-authenticate: Bearer"), "{said}");
}
