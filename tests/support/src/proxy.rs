//! A connection between a client and a server that a test can hold up or cut silently.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Passes on what comes to its address, until set to do otherwise.
#[derive(Debug)]
pub struct Proxy {
    address: String,
    state: watch::Sender<State>,
    accepting: JoinHandle<()>,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// `host:port` of the server, once it is known.
    server: String,
    /// Bytes are held back.
    hangs: bool,
    /// What clients say is lost on its way; what the server says is passed on.
    loses_upstream: bool,
    /// Lines made before this one pass nothing on any more, not even their end.
    sound_from: usize,
    made: usize,
}

impl Proxy {
    /// Listens on a port of loopback, 0 for any. `server`: as for [`Self::lead_to`], or nothing yet.
    ///
    /// # Panics
    /// The port is taken.
    pub async fn start(port: u16, server: &str) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST, port, server).await
    }

    /// As [`Self::start`], at another address of loopback.
    ///
    /// # Panics
    /// The port is taken.
    pub async fn start_at(address: Ipv4Addr, port: u16, server: &str) -> Self {
        let listener = TcpListener::bind((address, port)).await.expect("the port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let state = watch::Sender::new(State { server: bare(server), ..State::default() });
        let lines = state.clone();
        let accepting = tokio::task::spawn_local(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut number = 0;
                lines.send_modify(|state| {
                    number = state.made;
                    state.made += 1;
                });
                tokio::task::spawn_local(connect(client, number, lines.subscribe()));
            }
        });
        Self { address, state, accepting }
    }

    /// `host:port` for clients.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sets where lines made from now on lead: `host:port`, or a server's `http://…`.
    pub fn lead_to(&self, server: &str) {
        self.state.send_modify(|state| state.server = bare(server));
    }

    /// Sets whether bytes are held back, on all lines.
    pub fn hang(&self, hangs: bool) {
        self.state.send_modify(|state| state.hangs = hangs);
    }

    /// Sets whether what clients say is lost on its way, on all lines.
    pub fn lose_upstream(&self, loses: bool) {
        self.state.send_modify(|state| state.loses_upstream = loses);
    }

    /// From now on the lines that are open stay open but pass nothing on, either way. New ones do.
    pub fn swallow(&self) {
        self.state.send_modify(|state| state.sound_from = state.made);
    }
}

fn bare(server: &str) -> String {
    server.trim_start_matches("http://").to_owned()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connect(client: TcpStream, number: usize, state: watch::Receiver<State>) {
    let server = state.borrow().server.clone();
    let Ok(server) = TcpStream::connect(server).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let there = tokio::task::spawn_local(pass(from_client, to_server, number, state.clone(), true));
    pass(from_server, to_client, number, state, false).await;
    there.await.ok(); // it ends with its connection
}

/// Passes bytes on. A line that swallows them goes on reading, so that neither end notices.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    number: usize,
    mut state: watch::Receiver<State>,
    is_upstream: bool,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut bytes).await.unwrap_or(0);
        let free = state.wait_for(|state| !state.hangs).await;
        let Ok((sound_from, loses)) = free.map(|state| (state.sound_from, state.loses_upstream)) else {
            return;
        };
        if is_upstream && loses && count > 0 {
            continue;
        }
        match (number >= sound_from, count) {
            (false, 0) => std::future::pending::<()>().await,
            (false, _) => {}
            (true, 0) => return,
            (true, count) if to.write_all(&bytes[..count]).await.is_err() => return,
            (true, _) => {}
        }
    }
}
