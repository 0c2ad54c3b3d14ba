//! A way to PostgreSQL that a test can close and open, that can hang, and whose lines can go silent for ever.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use waypost::store::open::Location;
use waypost_test_support::TestStore;

/// The way, at an address of its own.
pub(crate) struct Proxy {
    state: watch::Sender<State>,
    accepting: JoinHandle<()>,
}

/// What becomes of what is sent.
#[derive(Clone, Copy, Default)]
struct State {
    /// It waits.
    hangs: bool,
    /// Lines made before this one bring nothing through any more, not even their end.
    sound_from: usize,
    made: usize,
}

/// The URL of a test's store by way of a port of this machine.
pub(crate) fn url_by(store: &TestStore, port: u16) -> String {
    let (before, after, _) = parts(store);
    format!("{before}127.0.0.1:{port}{after}")
}

/// What comes before and after the address in the URL of a test's store, and the address.
fn parts(store: &TestStore) -> (String, String, SocketAddr) {
    let Location::Postgres(url) = &store.options.location else { panic!("a store on PostgreSQL") };
    let (before, rest) = url.split_once('@').unwrap();
    let (address, database) = rest.split_once('/').unwrap();
    (format!("{before}@"), format!("/{database}"), address.parse().unwrap())
}

impl Proxy {
    /// Opens the way to a test's store.
    pub(crate) async fn open(store: &TestStore, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let (_, _, server) = parts(store);
        let state = watch::Sender::new(State::default());
        let lines = state.clone();
        let accepting = actix_rt::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut number = 0;
                lines.send_modify(|state| {
                    number = state.made;
                    state.made += 1;
                });
                let told = lines.subscribe();
                actix_rt::spawn(async move {
                    let Ok(server) = TcpStream::connect(server).await else { return };
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.into_split(), server.into_split());
                    actix_rt::spawn(pump(from_client, to_server, number, told.clone()));
                    pump(from_server, to_client, number, told).await;
                });
            }
        });
        Self { state, accepting }
    }

    /// Whether what is sent arrives.
    pub(crate) fn hang(&self, hangs: bool) {
        self.state.send_modify(|state| state.hangs = hangs);
    }

    /// From now on the open lines stay open and bring nothing through, either way. New ones do.
    pub(crate) fn silence(&self) {
        self.state.send_modify(|state| state.sound_from = state.made);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    number: usize,
    mut state: watch::Receiver<State>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        let Ok(sound_from) = state.wait_for(|state| !state.hangs).await.map(|state| state.sound_from) else {
            return;
        };
        if number < sound_from {
            std::future::pending::<()>().await;
        }
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
