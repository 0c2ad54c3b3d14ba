//! Sends frames when they are due, on one thread. A connection that takes no more keeps its own frames
//! waiting, and no other's; a frame that could not go out in time goes as soon as it can, never not at all.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::thread::set_current_timer_slack;

use super::{Plan, SharedLog};

/// After the last frame is due, everything must be taken within this time.
const TAKEN_WITHIN: Duration = Duration::from_secs(120);
/// Between two attempts at connections that take nothing.
const AGAIN_AFTER: Duration = Duration::from_micros(500);

/// Sends the plan; calls `warm` once `warm_frames` frames are out. Returns by how many microseconds each frame was
/// late.
pub(crate) fn send(
    plan: &Plan,
    sockets: &[TcpStream],
    begun: Instant,
    warm_frames: usize,
    mut warm: impl FnMut(),
) -> Result<Vec<u32>> {
    let _punctual = Punctual::begin()?;
    let mut lateness = Vec::with_capacity(plan.frames.len());
    let mut blocked = Blocked::new(sockets.len());
    for (number, frame) in plan.frames.iter().enumerate() {
        if number == warm_frames {
            warm();
        }
        let due = begun + Duration::from_nanos(frame.due_nanos);
        loop {
            let early = due.saturating_duration_since(Instant::now());
            if early.is_zero() {
                break;
            }
            std::thread::sleep(if blocked.connections.is_empty() { early } else { early.min(AGAIN_AFTER) });
            blocked.retry(plan, sockets)?;
        }
        lateness.push(u32::try_from(due.elapsed().as_micros()).unwrap_or(u32::MAX));
        blocked.write(plan, sockets, frame.connection as usize, number)?;
    }
    let last = Instant::now();
    while !blocked.connections.is_empty() {
        if last.elapsed() > TAKEN_WITHIN {
            bail!("{} connections do not take what is sent", blocked.connections.len());
        }
        std::thread::sleep(AGAIN_AFTER);
        blocked.retry(plan, sockets)?;
    }
    Ok(lateness)
}

/// Sends the plan without a clock: each frame once all but `under_way` of those before it are acknowledged.
pub(crate) fn send_in_turn(
    plan: &Plan,
    sockets: &[TcpStream],
    log: &SharedLog,
    under_way: usize,
) -> Result<()> {
    let mut blocked = Blocked::new(sockets.len());
    let mut sent = vec![0];
    for (number, frame) in plan.frames.iter().enumerate() {
        let awaited = sent[(number + 1).saturating_sub(under_way)];
        let begun = Instant::now();
        while log.lock().acknowledged < awaited {
            if !log.lock().failures.is_empty() {
                return Ok(()); // whoever reads the log says why
            }
            if begun.elapsed() > TAKEN_WITHIN {
                bail!("{awaited} fixes are not acknowledged");
            }
            std::thread::sleep(AGAIN_AFTER);
            blocked.retry(plan, sockets)?;
        }
        blocked.write(plan, sockets, frame.connection as usize, number)?;
        sent.push(sent[number] + u64::from(frame.fixes));
    }
    Ok(())
}

/// While it exists, the kernel wakes this thread at the requested time; without it, up to 50 µs later, which is as
/// long as some of what is measured. Dropped before another process is started, which would inherit it.
struct Punctual;

impl Punctual {
    fn begin() -> Result<Self> {
        set_current_timer_slack(Some(NonZeroU64::MIN)).context("the thread's timer slack")?;
        Ok(Self)
    }
}

impl Drop for Punctual {
    fn drop(&mut self) {
        set_current_timer_slack(None).ok(); // as it was set
    }
}

/// Frames of connections that took no more.
struct Blocked {
    /// By connection: frames, and how much of the first one is out.
    waiting: Vec<(VecDeque<usize>, usize)>,
    connections: Vec<usize>,
}

impl Blocked {
    fn new(connections: usize) -> Self {
        Self { waiting: (0..connections).map(|_| (VecDeque::new(), 0)).collect(), connections: Vec::new() }
    }

    fn write(&mut self, plan: &Plan, sockets: &[TcpStream], connection: usize, frame: usize) -> Result<()> {
        let (frames, _) = &mut self.waiting[connection];
        frames.push_back(frame);
        if frames.len() == 1 && !self.drain(plan, &sockets[connection], connection)? {
            self.connections.push(connection);
        }
        Ok(())
    }

    fn retry(&mut self, plan: &Plan, sockets: &[TcpStream]) -> Result<()> {
        for connection in std::mem::take(&mut self.connections) {
            if !self.drain(plan, &sockets[connection], connection)? {
                self.connections.push(connection);
            }
        }
        Ok(())
    }

    /// Whether all of a connection's frames are out.
    fn drain(&mut self, plan: &Plan, mut socket: &TcpStream, connection: usize) -> Result<bool> {
        let (frames, out) = &mut self.waiting[connection];
        while let Some(&frame) = frames.front() {
            let bytes = &plan.bytes[plan.frames[frame].bytes.clone()];
            match socket.write(&bytes[*out..]) {
                Ok(written) => *out += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("a connection broke"),
            }
            if *out == bytes.len() {
                frames.pop_front();
                *out = 0;
            }
        }
        Ok(true)
    }
}
