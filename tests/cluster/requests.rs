//! Plain requests reach the owner as they were sent, and its answers come back as it gave them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{ETAG, EXPECT};
use actix_web::web::{self, Bytes};
use actix_web::{HttpRequest, HttpResponse};
use tokio::io::AsyncWriteExt;
use waypost::cluster::from_node;

use crate::nodes::{bare, edge, head, owner, rest, say};

/// Says what came, one line for each header.
async fn told(request: HttpRequest, body: Bytes) -> HttpResponse {
    let mut lines: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort_unstable();
    let target = request.uri().path_and_query().unwrap().as_str();
    let text = format!("{} {target}\n{}\n\n{}", request.method(), lines.join("\n"), body.escape_ascii());
    HttpResponse::Ok()
        .insert_header(("content-encoding", "br"))
        .insert_header(("x-request-id", "of-the-owner"))
        .append_header(("link", "a"))
        .append_header(("link", "b"))
        .body(text)
}

#[actix_rt::test]
async fn a_request_arrives_as_it_was_sent_and_so_does_its_answer() {
    let edge = edge(
        owner(|routes| {
            routes.default_service(web::to(told));
        }),
        false,
    );
    let request = "POST /v1/a%2Fb//c?q=%20x&q=y HTTP/1.1\r\nhost: fleet.example.org\r\naccept-encoding: br\r\n\
        waypost-client-address: 192.0.2.9\r\nconnection: x-mine\r\nx-mine: 1\r\nx-kept: 1\r\n\
        content-length: 3\r\n\r\na\nb";
    let mut stream = say(edge.address, request).await;
    stream.shutdown().await.unwrap();
    let said = String::from_utf8(rest(&mut stream).await).unwrap();
    let (answer, body) = said.split_once("\r\n\r\n").unwrap();
    let expected = "POST /v1/a%2Fb//c?q=%20x&q=y\naccept-encoding: br\ncontent-length: 3\n";
    assert!(body.starts_with(expected) && body.ends_with("\n\na\\nb"), "{body}");
    for line in ["host: fleet.example.org", "waypost-client-address: 127.0.0.1", "x-kept: 1"] {
        assert!(body.contains(&format!("\n{line}\n")), "{line}: {body}");
    }
    assert!(!body.contains("x-mine") && !body.contains("192.0.2.9"), "{body}");
    for line in
        ["HTTP/1.1 200 OK", "content-encoding: br", "x-request-id: of-the-owner", "link: a", "link: b"]
    {
        assert!(answer.contains(line), "{line}: {answer}");
    }
    assert!(answer.contains(&format!("content-length: {}", body.len())), "{answer}");
}

#[actix_rt::test]
async fn the_owner_believes_a_node_about_where_a_request_came_from() {
    let owner = owner(|routes| {
        routes.default_service(web::to(|request: HttpRequest| async move {
            let request = ServiceRequest::from_request(request);
            format!("{} {:?}", from_node::is_from_node(&request), from_node::told_address(&request))
        }));
    });
    let edge = edge(owner, false);
    let mut stream = say(edge.address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    stream.shutdown().await.unwrap();
    let said = String::from_utf8(rest(&mut stream).await).unwrap();
    assert!(said.ends_with("true Some(127.0.0.1)"), "{said}");
}

#[actix_rt::test]
async fn head_and_not_modified_tell_a_length_and_have_no_body() {
    let owner = owner(|routes| {
        routes.route("/long", web::head().to(|| async { HttpResponse::Ok().body("seven b") }));
        routes.route(
            "/same",
            web::get().to(|| async { HttpResponse::NotModified().insert_header((ETAG, "\"a\"")).finish() }),
        );
        routes.route("/gone", web::delete().to(|| async { HttpResponse::NoContent().finish() }));
        routes.route("/next", web::get().to(|| async { "next" }));
    });
    let edge = edge(owner, false);
    let mut stream = say(edge.address, "").await;
    for (request, status, line) in [
        ("HEAD /long", "200 OK", "content-length: 7"),
        ("GET /same", "304 Not Modified", "etag: \"a\""),
        ("DELETE /gone", "204 No Content", "date: "),
        ("GET /next", "200 OK", "content-length: 4"),
    ] {
        stream.write_all(format!("{request} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await.unwrap();
        // A body that should not be there would be read as the next head.
        let head = head(&mut stream).await;
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}\r\n")) && head.contains(line),
            "{request}: {head}"
        );
    }
}

#[actix_rt::test]
async fn connections_to_the_owner_are_used_again() {
    let (connections, counted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = Arc::clone(&connections);
    let owner = bare(move |mut stream| {
        counts.fetch_add(1, Ordering::Relaxed);
        let counted = Arc::clone(&counted);
        async move {
            while head(&mut stream).await.ends_with("\r\n\r\n") {
                let number = counted.fetch_add(1, Ordering::Relaxed);
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}");
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    });
    let edge = edge(owner, false);
    for number in 0..4 {
        let mut stream = say(edge.address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        stream.shutdown().await.unwrap();
        let said = String::from_utf8(rest(&mut stream).await).unwrap();
        assert!(said.ends_with(&format!("\r\n\r\n{number}")), "{said}");
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[actix_rt::test]
async fn a_client_that_waits_for_leave_to_send_its_body_gets_it_and_the_owner_is_not_asked() {
    let owner = owner(|routes| {
        routes.default_service(web::to(|request: HttpRequest, body: Bytes| async move {
            format!("{} {}", request.headers().contains_key(EXPECT), body.len())
        }));
    });
    let edge = edge(owner, false);
    let request = "PUT / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n";
    let mut stream = say(edge.address, request).await;
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 100 Continue"));
    stream.write_all(b"abc").await.unwrap();
    stream.shutdown().await.unwrap();
    let said = String::from_utf8(rest(&mut stream).await).unwrap();
    assert!(said.ends_with("false 3"), "{said}");
}
