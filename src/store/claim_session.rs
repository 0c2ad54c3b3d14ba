//! A node's session with its locks, on a thread of its own: whatever else the node is busy with, PostgreSQL hears of it in time.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::claims::{Claimed, Claims, Joined};
use super::open::OpenError;
use super::shard::Shard;
use super::sql::SqlError;

/// Pause between two looks at the locks, each of which also tells PostgreSQL that this node is alive.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What a node asks of its session while it waits for an answer.
const ASKED: usize = 32;

/// Hears of each look, with when it began, on the session's thread.
pub type Saw = Box<dyn Fn(&Claimed, Instant) + Send>;

/// A session, which ends when this is dropped.
pub struct ClaimSession {
    asking: mpsc::Sender<Request>,
    seen: watch::Receiver<Claimed>,
}

/// The session is gone, and with it every lock.
#[derive(Debug, thiserror::Error)]
#[error("the session with the shards' locks is gone")]
pub struct SessionGone;

enum Command {
    LetOthersIn,
    Want,
    Drain,
    Take(Shard),
    GiveBack(Shard),
}

type Request = (Command, oneshot::Sender<bool>);

impl ClaimSession {
    /// Joins the nodes on a PostgreSQL database as the node with this address, and says whether it is alone with the store: then it
    /// keeps others out until [`ClaimSession::let_others_in`]. `None` while a single server has the store, or another node prepares it
    /// for a cluster.
    pub async fn join(url: &str, node: SocketAddr, saw: Saw) -> Result<Option<(Self, bool)>, OpenError> {
        let (asking, asked) = mpsc::channel(ASKED);
        let (telling, seen) = watch::channel(Claimed::default());
        let (joining, joined) = oneshot::channel();
        let url = url.to_owned();
        let runtime = Builder::new_current_thread().enable_all().build().map_err(sqlx::Error::Io)?;
        let serving = move || {
            runtime.block_on(async {
                match Claims::join(&url, node).await {
                    Ok(Joined::Alone(claims)) => {
                        joining.send(Ok(Some(true))).ok();
                        serve(claims, asked, &telling, &saw).await;
                    }
                    Ok(Joined::WithOthers(claims)) => {
                        joining.send(Ok(Some(false))).ok();
                        serve(claims, asked, &telling, &saw).await;
                    }
                    Ok(Joined::NotYet) => drop(joining.send(Ok(None))),
                    Err(error) => drop(joining.send(Err(error))),
                }
            });
        };
        thread::Builder::new().name("claims".to_owned()).spawn(serving).map_err(sqlx::Error::Io)?;
        let is_alone = joined.await.unwrap_or(Ok(None))?;
        Ok(is_alone.map(|is_alone| (Self { asking, seen }, is_alone)))
    }

    /// Waits for the next look, and gives what it found.
    pub async fn look(&mut self) -> Result<Claimed, SessionGone> {
        self.seen.changed().await.map_err(|_| SessionGone)?;
        Ok(self.seen.borrow_and_update().clone())
    }

    /// Waits until the session is gone.
    pub async fn gone(&self) {
        self.asking.closed().await;
    }

    /// Lets other nodes join; still no single server.
    pub async fn let_others_in(&self) -> Result<(), SessionGone> {
        self.ask(Command::LetOthersIn).await.map(drop)
    }

    /// Wants shards from now on.
    pub async fn want(&self) -> Result<(), SessionGone> {
        self.ask(Command::Want).await.map(drop)
    }

    /// Wants no more shards: others are to take those it has.
    pub async fn drain(&self) -> Result<(), SessionGone> {
        self.ask(Command::Drain).await.map(drop)
    }

    /// Takes a shard; `false` if somebody has it.
    pub async fn take(&self, shard: Shard) -> Result<bool, SessionGone> {
        self.ask(Command::Take(shard)).await
    }

    /// Gives a shard back; `false` if this node did not have it.
    pub async fn give_back(&self, shard: Shard) -> Result<bool, SessionGone> {
        self.ask(Command::GiveBack(shard)).await
    }

    async fn ask(&self, wish: Command) -> Result<bool, SessionGone> {
        let (sender, answer) = oneshot::channel();
        self.asking.send((wish, sender)).await.map_err(|_| SessionGone)?;
        answer.await.map_err(|_| SessionGone)
    }
}

/// Looks and does what is asked until the session ends.
async fn serve(
    mut claims: Claims,
    mut asked: mpsc::Receiver<Request>,
    telling: &watch::Sender<Claimed>,
    saw: &Saw,
) {
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let error = loop {
        tokio::select! {
            _ = tick.tick() => {
                let began = Instant::now();
                match claims.look().await {
                    Ok(claimed) => {
                        saw(&claimed, began);
                        telling.send_replace(claimed);
                    }
                    Err(error) => break error,
                }
            }
            next = asked.recv() => {
                let Some((wish, answer)) = next else { return };
                match fulfil(&mut claims, wish).await {
                    Ok(done) => drop(answer.send(done)),
                    Err(error) => break error,
                }
            }
        }
    };
    tracing::warn!(%error, "this node's session with its shards is gone");
}

async fn fulfil(claims: &mut Claims, wish: Command) -> Result<bool, SqlError> {
    match wish {
        Command::LetOthersIn => claims.let_others_in().await.map(|()| true),
        Command::Want => claims.want().await.map(|()| true),
        Command::Drain => claims.drain().await.map(|()| true),
        Command::Take(shard) => claims.take(shard).await,
        Command::GiveBack(shard) => claims.give_back(shard).await,
    }
}
