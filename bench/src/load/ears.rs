//! Hears what comes on every socket, on one thread with its own runtime.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::SharedLog;

/// Interprets what comes on one socket.
pub(crate) trait Ear: Send {
    /// Takes whole messages out of `bytes`; returns how many bytes those were.
    fn hear(&mut self, bytes: &[u8], at: Instant, log: &SharedLog) -> usize;

    /// How many bytes it reads each second, if it is a slow reader.
    fn bytes_per_second(&self) -> Option<usize> {
        None
    }

    /// Whether the other side may hang up now.
    fn may_end(&self) -> bool {
        false
    }

    /// A new run begins: the frames it will be answered for, in their order.
    fn expect(&mut self, _frames: Vec<Awaited>) {}
}

/// A frame that will be sent and answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    /// Its number in the plan.
    pub(crate) frame: u32,
    /// How many fixes it has.
    pub(crate) fixes: u32,
}

type Opened = (TcpStream, Box<dyn Ear>, mpsc::UnboundedReceiver<Vec<Awaited>>);

/// The thread that hears, until dropped.
pub(crate) struct Ears {
    open: mpsc::UnboundedSender<Opened>,
    log: SharedLog,
}

/// Announces to a socket's ear which frames come next.
pub(crate) struct Expecting(mpsc::UnboundedSender<Vec<Awaited>>);

impl Expecting {
    pub(crate) fn expect(&self, frames: Vec<Awaited>) {
        self.0.send(frames).ok(); // a socket that is gone has said so in the log
    }
}

impl Ears {
    pub(crate) fn start() -> std::io::Result<Self> {
        let (open, opened) = mpsc::unbounded_channel();
        let log = SharedLog::default();
        let shared = log.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new()
            .name("ears".to_owned())
            .spawn(move || LocalSet::new().block_on(&runtime, listen(opened, shared)))?;
        Ok(Self { open, log })
    }

    pub(crate) const fn log(&self) -> &SharedLog {
        &self.log
    }

    /// Listens to a socket from now on.
    pub(crate) fn add(&self, socket: &TcpStream, ear: Box<dyn Ear>) -> std::io::Result<Expecting> {
        socket.set_nonblocking(true)?;
        let (expect, expecting) = mpsc::unbounded_channel();
        self.open.send((socket.try_clone()?, ear, expecting)).ok();
        Ok(Expecting(expect))
    }
}

async fn listen(mut opened: mpsc::UnboundedReceiver<Opened>, log: SharedLog) {
    while let Some((socket, ear, expecting)) = opened.recv().await {
        let log = log.clone();
        tokio::task::spawn_local(async move {
            if let Err(error) = hear(socket, ear, expecting, &log).await {
                log.lock().fail(format!("a connection broke: {error}"));
            }
        });
    }
}

async fn hear(
    socket: TcpStream,
    mut ear: Box<dyn Ear>,
    mut expecting: mpsc::UnboundedReceiver<Vec<Awaited>>,
    log: &SharedLog,
) -> std::io::Result<()> {
    let mut socket = tokio::net::TcpStream::from_std(socket)?;
    // Small until more comes: there may be ten thousand of these.
    let mut bytes: Vec<u8> = Vec::with_capacity(512);
    loop {
        if let Some(most) = ear.bytes_per_second() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let mut some = vec![0; most];
            let read = socket.read(&mut some).await?;
            bytes.extend_from_slice(&some[..read]);
        } else {
            bytes.reserve(512);
            match socket.read_buf(&mut bytes).await {
                Ok(1..) => {}
                Ok(0) if !ear.may_end() => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Err(error) if !ear.may_end() => return Err(error),
                Ok(0) | Err(_) => return Ok(()),
            }
        }
        let at = Instant::now();
        while let Ok(frames) = expecting.try_recv() {
            ear.expect(frames);
        }
        let heard = ear.hear(&bytes, at, log);
        bytes.drain(..heard);
    }
}
