//! Heads of requests and answers as they are handed on: without what concerns one connection alone.

use std::net::IpAddr;

use actix_http::header::HeaderMap;
use actix_http::{ConnectionType, RequestHead, ResponseHead};
use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody};
use actix_web::dev::ServiceRequest;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, Version};

use super::from_node::CLIENT_ADDRESS;

/// Headers about one connection (RFC 9110, 7.6.1), and those that the codec writes itself.
const OF_THE_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // The server has told the client to go on before anything of ours sees the request.
    header::EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Whether a client asks for another protocol on its connection, in the way that the HTTP server lets go of it.
pub(super) fn asks_for_socket(request: &ServiceRequest) -> bool {
    let upgrade = request.headers().get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|name| name.trim().eq_ignore_ascii_case("websocket"))
        && !request.headers().contains_key(header::TRANSFER_ENCODING)
}

/// The head for the owner. `from`: the client's address.
pub(super) fn for_owner(request: &ServiceRequest, from: Option<IpAddr>, is_socket: bool) -> RequestHead {
    let mut head = RequestHead::default();
    head.method = request.method().clone();
    head.uri = request.uri().clone();
    head.version = request.version();
    copy(request.headers(), &mut head.headers);
    for name in [header::CONTENT_LENGTH, CLIENT_ADDRESS] {
        head.headers.remove(name);
    }
    if let Some(address) = from.and_then(|ip| HeaderValue::try_from(ip.to_string()).ok()) {
        head.headers.insert(CLIENT_ADDRESS, address);
    }
    if is_socket {
        ask_for_socket(&mut head);
    } else if head.version == Version::HTTP_11 {
        head.set_connection_type(ConnectionType::KeepAlive);
    } else {
        head.set_connection_type(ConnectionType::Close);
    }
    head
}

/// Asks for another protocol in the way that the owner's HTTP server lets go of the connection.
pub(super) fn ask_for_socket(head: &mut RequestHead) {
    head.headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    head.set_connection_type(ConnectionType::Upgrade);
}

/// How long a request's body is said to be.
pub(super) fn body_size(request: &ServiceRequest) -> BodySize {
    if request.headers().contains_key(header::TRANSFER_ENCODING) {
        return BodySize::Stream;
    }
    length(request.headers()).map_or(BodySize::None, BodySize::Sized)
}

/// How long an answer's body is said to be; `has_body`: whether one follows.
pub(super) fn answer_size(method: &Method, head: &ResponseHead, has_body: bool) -> BodySize {
    let length = length(&head.headers);
    match (has_body || method == Method::HEAD, length) {
        _ if is_bare(head.status) => BodySize::None,
        (_, Some(length)) => BodySize::Sized(length),
        (true, None) if has_body || head.headers.contains_key(header::TRANSFER_ENCODING) => BodySize::Stream,
        _ => BodySize::None,
    }
}

/// Whether answers with this status never have a body.
pub(super) fn is_bare(status: StatusCode) -> bool {
    status.is_informational() || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status)
}

/// The owner's answer for the client.
pub(super) fn for_client(head: &ResponseHead, body: BoxBody) -> HttpResponse {
    let mut answer = HttpResponse::with_body(head.status, body);
    copy(&head.headers, answer.headers_mut());
    answer
}

/// The owner's consent to another protocol, for the client.
pub(super) fn switching(head: &ResponseHead) -> HttpResponse {
    let mut answer = for_client(head, BoxBody::new(()));
    if let Some(protocol) = head.headers.get(header::UPGRADE) {
        answer.headers_mut().insert(header::UPGRADE, protocol.clone());
    }
    answer.head_mut().set_connection_type(ConnectionType::Upgrade);
    answer
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// Copies what is not about the connection. Its own header may name more that is.
fn copy(from: &HeaderMap, to: &mut HeaderMap) {
    let named: Vec<String> = from
        .get_all(header::CONNECTION)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    for (name, value) in from.iter() {
        if !OF_THE_CONNECTION.contains(name) && !named.iter().any(|named| named == name.as_str()) {
            to.append(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn what_is_about_the_connection_stays_behind_and_the_clients_own_claim_is_replaced() {
        let request = TestRequest::post()
            .uri("/v1/positions?a=%2F")
            .insert_header(("connection", "X-Hop, close"))
            .insert_header(("x-hop", "1"))
            .insert_header(("keep-alive", "5"))
            .insert_header(("te", "trailers"))
            .insert_header(("expect", "100-continue"))
            .insert_header(("host", "fleet.example.org"))
            .insert_header(("content-length", "12"))
            .insert_header(("waypost-client-address", "192.0.2.99"))
            .append_header(("x-more", "1"))
            .append_header(("x-more", "2"))
            .to_srv_request();
        let head = for_owner(&request, "192.0.2.1".parse().ok(), false);
        let mut names: Vec<String> =
            head.headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
        names.sort_unstable();
        let kept = ["host=fleet.example.org", "waypost-client-address=192.0.2.1", "x-more=1", "x-more=2"];
        assert_eq!(names, kept);
        assert_eq!(
            (head.uri.to_string().as_str(), body_size(&request)),
            ("/v1/positions?a=%2F", BodySize::Sized(12))
        );
        assert!(for_owner(&request, None, false).headers.get(CLIENT_ADDRESS).is_none());
    }

    #[test]
    fn only_what_the_http_server_lets_go_of_is_a_socket() {
        let asks = |name: &str, value: &str| {
            asks_for_socket(&TestRequest::get().insert_header((name, value)).to_srv_request())
        };
        assert!(asks("upgrade", "WebSocket"));
        assert!(!asks("upgrade", "h2c") && !asks("connection", "upgrade"));
    }

    #[test]
    fn an_answers_length_is_told_as_the_owner_told_it() {
        let size = |method: &Method, status: u16, headers: &[(HeaderName, &'static str)], has_body| {
            let mut head = ResponseHead::new(StatusCode::from_u16(status).unwrap());
            for (name, value) in headers {
                head.headers.insert(name.clone(), HeaderValue::from_static(value));
            }
            answer_size(method, &head, has_body)
        };
        let long: &[_] = &[(header::CONTENT_LENGTH, "7")];
        let chunked: &[_] = &[(header::TRANSFER_ENCODING, "chunked")];
        assert_eq!(size(&Method::GET, 200, long, true), BodySize::Sized(7));
        assert_eq!(size(&Method::HEAD, 200, long, false), BodySize::Sized(7));
        assert_eq!(size(&Method::GET, 200, chunked, true), BodySize::Stream);
        assert_eq!(size(&Method::HEAD, 200, chunked, false), BodySize::Stream);
        assert_eq!(size(&Method::GET, 304, long, false), BodySize::None);
        assert_eq!(size(&Method::DELETE, 204, &[], false), BodySize::None);
    }
}
