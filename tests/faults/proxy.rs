//! A line between clients and a server that a test can make swallow everything.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Forwards what comes to its address, until told to swallow it.
pub(crate) struct Proxy {
    address: String,
    lines: Rc<Lines>,
    accepting: AbortHandle,
}

#[derive(Default)]
struct Lines {
    /// The server's `host:port`, once it is known.
    server: RefCell<String>,
    /// Lines made before this one swallow everything.
    sound_from: Cell<u64>,
    made: Cell<u64>,
}

impl Proxy {
    /// Listens on a port of its own.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lines = Rc::new(Lines::default());
        let shared = Rc::clone(&lines);
        let accepting = tokio::task::spawn_local(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::task::spawn_local(connect(client, Rc::clone(&shared)));
            }
        });
        Self { address, lines, accepting: accepting.abort_handle() }
    }

    /// `host:port` for clients.
    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Whom the lines lead to from now on.
    pub(crate) fn lead_to(&self, url: &str) {
        *self.lines.server.borrow_mut() = url.trim_start_matches("http://").to_owned();
    }

    /// From now on the open lines stay open and bring nothing through, either way. New ones do.
    pub(crate) fn swallow(&self) {
        self.lines.sound_from.set(self.lines.made.get());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn connect(client: TcpStream, lines: Rc<Lines>) {
    let number = lines.made.get();
    lines.made.set(number + 1);
    let server = lines.server.borrow().clone();
    let Ok(server) = TcpStream::connect(server).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::join!(pass(from_client, to_server, number, &lines), pass(from_server, to_client, number, &lines));
}

/// Passes bytes on. A line that swallows goes on reading, so that nobody notices.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, number: u64, lines: &Lines) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count) = from.read(&mut bytes).await {
        let is_sound = || number >= lines.sound_from.get();
        if count == 0 {
            if !is_sound() {
                // Not even the end of the connection comes through.
                std::future::pending::<()>().await;
            }
            return;
        }
        if is_sound() && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
