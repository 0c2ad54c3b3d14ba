//! What large request bodies share: memory while they arrive, turns to be processed, and the thread that processes
//! them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

/// Bytes of large bodies that may be arriving at any time, in total.
pub const LARGE_TOGETHER_BYTES: usize = 24 * 1024 * 1024;
/// Large bodies that are unpacked, parsed and checked at the same time; each needs much memory meanwhile.
pub const LARGE_AT_ONCE: usize = 1;
/// How long a large body waits for its room or its turn.
pub const LARGE_WAITS: Duration = Duration::from_secs(5);
/// Room is granted in pieces, so that a slow sender holds only what has arrived.
pub const PIECE_BYTES: usize = 256 * 1024;

type Job = Box<dyn FnOnce() + Send>;

/// What large bodies share; cheap to clone.
#[derive(Clone, Debug)]
pub struct LargeBodies {
    room: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    jobs: mpsc::Sender<Job>,
}

/// Room for a piece of a large body; kept until its bytes are dropped.
#[derive(Debug)]
pub struct Piece {
    _room: OwnedSemaphorePermit,
}

/// The right to process a large body; kept until everything made from the body is dropped.
#[derive(Debug)]
pub struct Turn {
    _turn: OwnedSemaphorePermit,
}

impl Default for LargeBodies {
    fn default() -> Self {
        // A single thread, because each of several would keep megabytes of freed memory that the others cannot use.
        // It ends with the server.
        let (jobs, given) = mpsc::channel::<Job>();
        thread::spawn(move || {
            for job in given {
                // If the job panics, its sender is dropped, which tells the caller.
                drop(catch_unwind(AssertUnwindSafe(job)));
            }
        });
        Self {
            room: Arc::new(Semaphore::new(LARGE_TOGETHER_BYTES / PIECE_BYTES)),
            turns: Arc::new(Semaphore::new(LARGE_AT_ONCE)),
            jobs,
        }
    }
}

impl LargeBodies {
    /// Room for the next piece of a body; `None` if there was none in time.
    pub async fn piece(&self) -> Option<Piece> {
        Some(Piece { _room: granted(&self.room).await? })
    }

    /// A turn for a body that has arrived; `None` if there was none in time.
    pub async fn turn(&self) -> Option<Turn> {
        Some(Turn { _turn: granted(&self.turns).await? })
    }

    /// Runs a job on the thread for large bodies, so that it blocks no worker; `None` if it panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (tell, told) = oneshot::channel();
        self.jobs.send(Box::new(move || drop(tell.send(job())))).ok()?;
        told.await.ok()
    }
}

async fn granted(of: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    timeout(LARGE_WAITS, Arc::clone(of).acquire_owned()).await.ok()?.ok()
}
