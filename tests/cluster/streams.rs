//! Bodies pass as they come, however large.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{self, Bytes, Payload};
use actix_web::{Error, HttpResponse};
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::HEAP;
use crate::nodes::{SOON, edge, head, owner, say};

const PIECE: usize = 16 * 1024;
const PIECES: usize = 3_200;
/// Far less than 50 MB, with what the other tests take meanwhile.
const AT_ONCE: usize = 16 << 20;

fn pieces() -> impl futures_util::Stream<Item = Result<Bytes, Error>> {
    stream::iter((0..PIECES).map(|_| Ok(Bytes::from(vec![b'a'; PIECE]))))
}

async fn count(mut body: Payload) -> String {
    let mut length = 0;
    while let Some(piece) = body.next().await {
        length += piece.unwrap().len();
    }
    length.to_string()
}

#[actix_rt::test]
async fn fifty_megabytes_pass_both_ways_in_little_memory() {
    let owner = owner(|routes| {
        routes.route("/down", web::get().to(|| async { HttpResponse::Ok().streaming(pieces()) }));
        routes.route("/up", web::post().to(count));
    });
    let edge = edge(owner, false);
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();

    let mut down = say(edge.address, "GET /down HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(head(&mut down).await.contains("transfer-encoding: chunked"));
    // Who does not read holds the owner up.
    sleep(Duration::from_millis(300)).await;
    let (mut buffer, mut length) = (vec![0; PIECE], 0);
    while let Ok(read) = timeout(SOON, down.read(&mut buffer)).await.unwrap() {
        if read == 0 {
            break;
        }
        length += read;
    }
    assert!(length > PIECES * PIECE, "{length}");

    let request = format!("POST /up HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", PIECES * PIECE);
    let mut up = say(edge.address, &request).await;
    for _ in 0..PIECES {
        timeout(SOON, up.write_all(&buffer)).await.unwrap().unwrap();
    }
    assert!(head(&mut up).await.starts_with("HTTP/1.1 200 OK"));
    let mut told = vec![0; (PIECES * PIECE).to_string().len()];
    up.read_exact(&mut told).await.unwrap();
    assert_eq!(String::from_utf8(told).unwrap(), (PIECES * PIECE).to_string());
    let taken = HEAP.peak_usage().saturating_sub(before);
    assert!(taken < AT_ONCE, "{taken} bytes");
}

#[actix_rt::test]
async fn a_stream_of_events_comes_piece_by_piece() {
    let next = Arc::new(Notify::new());
    let told = Arc::clone(&next);
    let owner = owner(move |routes| {
        let told = Arc::clone(&told);
        let events = move || {
            let told = Arc::clone(&told);
            async move {
                let body = stream::unfold(0, move |number| {
                    let told = Arc::clone(&told);
                    async move {
                        told.notified().await;
                        Some((Ok::<_, Error>(Bytes::from(format!("data: {number}\n\n"))), number + 1))
                    }
                });
                HttpResponse::Ok().content_type("text/event-stream").streaming(body)
            }
        };
        routes.route("/v1/events/stream", web::get().to(events));
    });
    let edge = edge(owner, false);
    let mut stream = say(edge.address, "GET /v1/events/stream HTTP/1.1\r\nhost: a\r\n\r\n").await;
    // The head comes before the first event.
    assert!(head(&mut stream).await.contains("content-type: text/event-stream"));
    for number in 0..3 {
        next.notify_one();
        let mut chunk = vec![0; "9\r\ndata: 0\n\n\r\n".len()];
        timeout(SOON, stream.read_exact(&mut chunk)).await.expect("it is not held back").unwrap();
        assert_eq!(String::from_utf8(chunk).unwrap(), format!("9\r\ndata: {number}\n\n\r\n"));
    }
}
