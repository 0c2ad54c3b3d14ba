//! How a server ends, and how long it waits for what.

use std::io;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long a stopping server waits for its sockets to end. Together with the seconds for requests, for commits and
/// for the store, it stops in less than ten seconds, however stuck the store is.
pub(super) const SOCKETS_WITHIN: Duration = Duration::from_secs(4);
/// How long it waits for connections to the store to close.
pub(super) const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// How long it waits for its threads to end: longer than they wait for requests in progress. One that hangs never ends.
const THREADS_WITHIN: Duration = Duration::from_secs(3);

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By request.
    Asked,
    /// Another server has taken over its store, or the store was put back to an earlier state.
    TakenOver,
    /// The server cannot go on, as the log explains; it should be started again.
    Broken,
}

/// The threads that serve, which a server that ends does not wait for if one of them hangs: they end with the process.
#[derive(Default)]
pub(super) struct Serving {
    left: CancellationToken,
}

impl Serving {
    /// Serves until [`Serving::stop`].
    pub(super) async fn run(&self, server: Server) -> io::Result<()> {
        self.left.run_until_cancelled(server).await.unwrap_or(Ok(()))
    }

    /// Waits for requests in progress and for the threads to end, for some seconds at most.
    pub(super) async fn stop(&self, handle: &ServerHandle) {
        if timeout(THREADS_WITHIN, handle.stop(true)).await.is_err() {
            tracing::error!("a thread that serves does not end; the process ends without it");
            self.left.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::net::{TcpListener, TcpStream};
    use std::thread::sleep;

    use actix_rt::net::TcpStream as Accepted;
    use actix_service::fn_service;
    use tokio::sync::mpsc;

    use super::*;

    /// Much longer than anybody waits for a thread.
    const HANGS_FOR: Duration = Duration::from_secs(60);

    #[actix_rt::test]
    async fn a_thread_that_hangs_does_not_keep_a_server_from_its_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, mut hangs) = mpsc::unbounded_channel();
        let served = move || {
            let sender = sender.clone();
            fn_service(move |_: Accepted| {
                sender.send(()).ok();
                sleep(HANGS_FOR);
                ready(Ok::<_, ()>(()))
            })
        };
        let server = Server::build().workers(1).disable_signals().listen("test", listener, served);
        let server = server.unwrap().run();
        let (serving, handle) = (Serving::default(), server.handle());
        let end = async {
            let _client = TcpStream::connect(address).unwrap();
            hangs.recv().await;
            serving.stop(&handle).await;
        };
        let both = async { tokio::join!(serving.run(server), end) };
        let (served, ()) = timeout(HANGS_FOR / 2, both).await.expect("it ends without the thread");
        served.unwrap();
    }
}
