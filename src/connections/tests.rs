//! Which connections the listener keeps, and which it closes to make room.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::peer::{ENDING_BYTES, MOST_UNREAD, READ_IN_ANY_CASE, WAITING_BYTES_EACH};
use super::*;

/// A connection that was let in, and its client.
async fn connected(connections: &Connections, listener: &TcpListener) -> (Option<Connection>, TcpStream) {
    let (client, accepted) =
        tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    let admitted = connections.admit(accepted.unwrap().0).ok();
    (admitted.map(|(connection, ..)| connection), client.unwrap())
}

/// The state of a connection: `None` while it is open, else why it ended.
fn looked_at(connection: &mut Connection) -> Option<ErrorKind> {
    connection.read_u8().now_or_never().map(|read| read.unwrap_err().kind())
}

#[test]
fn beyond_what_the_process_may_have_who_keeps_it_waiting_makes_room() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connections = Connections::limited(None, 10, || 13);
        let (mut held, mut clients) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let (connection, client) = connected(&connections, &listener).await;
            let mut connection = connection.unwrap();
            assert_eq!(looked_at(&mut connection), None);
            held.push(connection);
            clients.push(client);
        }
        let first = held[0].peer().handled();
        let (fourth, _client) = connected(&connections, &listener).await;
        assert!(fourth.is_some());
        let seen: Vec<_> = held.iter_mut().map(looked_at).collect();
        assert_eq!(seen, [None, Some(ErrorKind::ConnectionAborted), None]);
        // No connection keeps the server waiting any more, so none can be closed to make room.
        let all: Vec<Handled> = held.iter().map(|connection| connection.peer().handled()).collect();
        assert!(connected(&connections, &listener).await.0.is_none());
        drop((first, all));
        held.clear();
        assert!(connected(&connections, &listener).await.0.is_some());
    });
}

#[test]
fn what_is_sent_in_pieces_waits_for_no_acknowledgement_of_the_piece_before() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = listener.accept().await.unwrap().0;
        let same = std::net::TcpStream::from(accepted.as_fd().try_clone_to_owned().unwrap());
        let _admitted = Connections::new(None).admit(accepted).unwrap();
        assert!(same.nodelay().unwrap());
    });
}

#[test]
fn of_one_address_strangers_are_counted_and_who_is_known_only_within_a_request() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connections = Connections::limited(Some(1), 10, || 1_000);
        let (mut held, mut clients) = (Vec::new(), Vec::new());
        for is_known in [true, true, false] {
            let (connection, client) = connected(&connections, &listener).await;
            let mut connection = connection.unwrap();
            let request = connection.peer().handled();
            if is_known {
                connection.peer().know();
            }
            drop(request);
            assert_eq!(looked_at(&mut connection), None);
            held.push(connection);
            clients.push(client);
        }
        let seen: Vec<_> = held.iter_mut().map(looked_at).collect();
        assert_eq!(seen, [None, None, None], "one stranger may wait, and whoever is known");
        let peer = held[0].peer();
        let _request = peer.handled();
        let _body = peer.awaited();
        let seen: Vec<_> = held.iter_mut().map(looked_at).collect();
        assert_eq!(seen[0], None, "the body of who is known counts as the newest");
        assert_eq!(looked_at(&mut held[2]), Some(ErrorKind::ConnectionAborted));
    });
}

#[test]
fn beyond_their_memory_strangers_of_any_address_are_closed_and_nobody_who_is_known() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // Room for two that have sent nothing.
        let shared = Shared::new(10, || 1_000, 2 * WAITING_BYTES_EACH + 100);
        let connections = Connections { shared: Arc::new(shared), per_address: None };
        let (mut held, mut clients) = (Vec::new(), Vec::new());
        for is_known in [true, true, true, false, false] {
            let (connection, client) = connected(&connections, &listener).await;
            let mut connection = connection.unwrap();
            let request = connection.peer().handled();
            if is_known {
                connection.peer().know();
            }
            drop(request);
            assert_eq!(looked_at(&mut connection), None);
            held.push(connection);
            clients.push(client);
        }
        let seen: Vec<_> = held.iter_mut().map(looked_at).collect();
        assert_eq!(seen, [None; 5], "there is room for two strangers, and whoever is known takes none");
        // The newest sends more than there is room for: the one that has waited longest goes.
        clients[4].write_all(&[b'x'; 15]).await.unwrap();
        held[4].read_exact(&mut [0; 15]).await.unwrap();
        let seen: Vec<_> = held.iter_mut().map(looked_at).collect();
        assert_eq!(seen, [None, None, None, Some(ErrorKind::ConnectionAborted), None]);
    });
}

/// Whether the listener takes another connection now.
fn is_ready(connections: &Connections) -> bool {
    poll_fn(|cx| Service::poll_ready(connections, cx)).now_or_never().is_some()
}

#[test]
fn a_burst_of_connections_is_left_to_the_system_until_those_before_it_were_read_from() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connections = Connections::limited(None, 10, || 1_000);
        let (mut held, mut clients) = (Vec::new(), Vec::new());
        while is_ready(&connections) {
            let (connection, client) = connected(&connections, &listener).await;
            held.push(connection.unwrap());
            clients.push(client);
        }
        assert_eq!(held.len(), MOST_UNREAD);
        let mut next = pin!(poll_fn(|cx| Service::poll_ready(&connections, cx)));
        assert!(next.as_mut().now_or_never().is_none());
        assert_eq!(looked_at(&mut held[0]), None);
        // Woken, not asked again by chance.
        next.await.unwrap();
        let (_unread, _client) = connected(&connections, &listener).await;
        assert!(!is_ready(&connections));
        held.pop();
        assert!(is_ready(&connections), "whoever ends is not unread any more");
    });
}

#[test]
fn closed_strangers_take_memory_until_they_have_ended() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // Room for three, or for one that has sent a little: each closes one before.
        let shared = Shared::new(10, || 1_000, 3 * WAITING_BYTES_EACH + WAITING_BYTES_EACH / 2);
        let connections = Connections { shared: Arc::new(shared), per_address: None };
        let (mut held, mut clients) = (Vec::new(), Vec::new());
        while is_ready(&connections) {
            let (connection, client) = connected(&connections, &listener).await;
            let mut connection = connection.unwrap();
            assert_eq!(looked_at(&mut connection), None);
            held.push(connection);
            clients.push(client);
        }
        assert_eq!(held.len(), ENDING_BYTES / WAITING_BYTES_EACH + 1 + 3);
        // A small request is read even so, and a connection that was closed ends though there is more to read. The rest of what strangers
        // send is left to the system too.
        let (mut newest, newest_client) = (held.pop().unwrap(), clients.last_mut().unwrap());
        newest_client.write_all(&[b'x'; READ_IN_ANY_CASE + 1]).await.unwrap();
        newest.read_exact(&mut [0; READ_IN_ANY_CASE + 1]).await.unwrap();
        newest_client.write_all(b"y").await.unwrap();
        clients[0].write_all(b"x").await.unwrap();
        assert_eq!(looked_at(&mut newest), None);
        assert_eq!(looked_at(&mut held[0]), Some(ErrorKind::ConnectionAborted));
        held.clear();
        assert!(is_ready(&connections));
        assert_eq!(newest.read_u8().await.unwrap(), b'y');
    });
}

#[test]
fn an_answer_that_is_not_taken_counts_as_memory_until_the_next_request() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let answer = vec![b'x'; 16 << 20]; // more than the system buffers
        let shared = Shared::new(10, || 1_000, answer.len() + 2 * WAITING_BYTES_EACH);
        let connections = Connections { shared: Arc::new(shared), per_address: None };
        let mut held = Vec::new();
        for _ in 0..2 {
            let (connection, client) = connected(&connections, &listener).await;
            let mut connection = connection.unwrap();
            while connection.write(&answer).now_or_never().is_some() {}
            held.push((connection, client));
        }
        let looked: Vec<_> = held.iter_mut().map(|(connection, _)| looked_at(connection)).collect();
        assert_eq!(looked, [Some(ErrorKind::ConnectionAborted), None]);
        drop(held[1].0.peer().handled());
        let (third, _client) = connected(&connections, &listener).await;
        let mut third = third.unwrap();
        while third.write(&answer).now_or_never().is_some() {}
        assert_eq!((looked_at(&mut held[1].0), looked_at(&mut third)), (None, None));
    });
}

#[test]
fn an_address_is_counted_with_its_network() {
    let counted = |text: &str| network(text.parse().unwrap()).to_string();
    assert_eq!(counted("192.0.2.7"), "192.0.2.7");
    assert_eq!(counted("::ffff:192.0.2.7"), "192.0.2.7");
    assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
}

struct Held;

impl Wake for Held {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_stream_that_is_taken_out_lets_go_of_who_waited_for_it() {
    actix_rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (connection, mut client) = connected(&Connections::new(None), &listener).await;
        let connection = connection.unwrap();
        let before = Arc::new(Held);
        let waker = Waker::from(Arc::clone(&before));
        let stream = connection.stream();
        // A connection that has just been accepted may be marked as readable until it is tried.
        stream.try_read(&mut [0]).unwrap_err();
        assert!(stream.poll_read_ready(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        assert_eq!(Arc::strong_count(&before), 2);
        let (mut stream, _open_connection) = connection.into_parts();
        assert_eq!(Arc::strong_count(&before), 1);
        client.write_all(b"x").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'x');
    });
}
