//! What the large request bodies of one server share: room while they come in, turns to be worked on, and the thread on
//! which that is done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

/// Large bodies that are coming in, all of them together.
pub const LARGE_TOGETHER_BYTES: usize = 24 * 1024 * 1024;
/// Large bodies that are unpacked, parsed and checked at the same time: what each holds meanwhile is large.
pub const LARGE_AT_ONCE: usize = 1;
/// A large body waits this long for its room or its turn.
pub const LARGE_WAITS: Duration = Duration::from_secs(5);
/// Room is taken in pieces, so that whoever sends slowly holds only what has come.
pub const PIECE_BYTES: usize = 256 * 1024;

type Job = Box<dyn FnOnce() + Send>;

/// What large bodies share; cheap to clone.
#[derive(Clone, Debug)]
pub struct LargeBodies {
    room: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    jobs: mpsc::Sender<Job>,
}

/// Room for a piece of a large body; dropped with its bytes.
#[derive(Debug)]
pub struct Piece {
    _room: OwnedSemaphorePermit,
}

/// The right to work on a large body; dropped when what was made of it is no longer held.
#[derive(Debug)]
pub struct Turn {
    _turn: OwnedSemaphorePermit,
}

impl Default for LargeBodies {
    fn default() -> Self {
        // One thread: several that take turns would each keep, of what the last one took, megabytes that the next
        // cannot use. It ends with the server.
        let (jobs, given) = mpsc::channel::<Job>();
        thread::spawn(move || {
            for job in given {
                // Whoever waits for it hears that it is lost.
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

    /// A turn for a body that has come; `None` if there was none in time.
    pub async fn turn(&self) -> Option<Turn> {
        Some(Turn { _turn: granted(&self.turns).await? })
    }

    /// Does something with a large body where it holds nobody up; `None` if it panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (tell, told) = oneshot::channel();
        self.jobs.send(Box::new(move || drop(tell.send(job())))).ok()?;
        told.await.ok()
    }
}

async fn granted(of: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    timeout(LARGE_WAITS, Arc::clone(of).acquire_owned()).await.ok()?.ok()
}
