//! A system that stands ready: sockets, ears, processes, and how fixes are written for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Packing;
use crate::load::{Awaited, Ear, Ears, Expecting, Log, Plan, SharedLog, Slice};
use crate::wire::http;
use crate::world::Transition;

/// How long an opening may take to be answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Openings under way at a time.
const OPENINGS: usize = 64;

/// The processes whose CPU time counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Processes {
    /// The server's.
    pub(crate) server: Option<u32>,
    /// The database's.
    pub(crate) database: Option<u32>,
}

/// Writes one frame: its connection, its fixes (numbers in the slice), and the buffer to write to.
pub(crate) type Encode = Box<dyn FnMut(&Slice, u32, &[u32], &mut Vec<u8>)>;
/// Says which sockets to open.
pub(crate) type Reopen = Box<dyn Fn() -> Vec<Opening>>;
/// Asks for transitions that are not pushed.
pub(crate) type FetchTransitions = Box<dyn FnMut(&Slice) -> Result<Vec<Transition>>>;

/// A system with its sockets open.
pub(crate) struct Session {
    pub(crate) name: String,
    pub(crate) processes: Processes,
    pub(crate) packing: Packing,
    vehicles: u32,
    encode: Encode,
    /// Opens the sockets anew for each run: for servers that hang up on clients that are silent for some seconds.
    pub(crate) reopen: Option<Reopen>,
    /// `None`: they are heard on a socket.
    pub(crate) fetch_transitions: Option<FetchTransitions>,
    sockets: Vec<TcpStream>,
    expecting: Vec<Expecting>,
    ears: Ears,
    /// What must live as long as this.
    keep: Option<Box<dyn std::any::Any>>,
}

impl Session {
    pub(crate) fn new(
        name: &str,
        processes: Processes,
        packing: Packing,
        vehicles: u32,
        encode: Encode,
    ) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            processes,
            packing,
            vehicles,
            encode,
            reopen: None,
            fetch_transitions: None,
            sockets: Vec::new(),
            expecting: Vec::new(),
            ears: Ears::start()?,
            keep: None,
        })
    }

    /// Keeps something for as long as the session lasts.
    pub(crate) fn keep(&mut self, what: Box<dyn std::any::Any>) {
        self.keep = Some(what);
    }

    /// Gives back what was kept, if it is of this type.
    pub(crate) fn take<T: 'static>(&mut self) -> Option<T> {
        self.keep.take()?.downcast().ok().map(|kept| *kept)
    }

    pub(crate) const fn log(&self) -> &SharedLog {
        self.ears.log()
    }

    pub(crate) fn sockets(&self) -> &[TcpStream] {
        &self.sockets
    }

    /// Opens the sockets that fixes are written to, each by its opening, if it has one.
    pub(crate) fn open(&mut self, openings: Vec<Opening>) -> Result<()> {
        for (socket, ear) in opened(openings)? {
            self.expecting.push(self.ears.add(&socket, ear)?);
            self.sockets.push(socket);
        }
        Ok(())
    }

    /// Opens sockets that are only heard.
    pub(crate) fn listen(&mut self, openings: Vec<Opening>) -> Result<Vec<TcpStream>> {
        let mut listening = Vec::new();
        for (socket, ear) in opened(openings)? {
            self.ears.add(&socket, ear)?;
            listening.push(socket);
        }
        Ok(listening)
    }

    /// Everything to send of a slice; the log and the ears are made ready for it.
    pub(crate) fn plan(&mut self, slice: &Arc<Slice>, per_second: f64) -> Result<Arc<Plan>> {
        let (connections, fixes) = self.packing.of(self.vehicles);
        let encode = &mut self.encode;
        let plan = Plan::new(slice, connections, fixes, per_second, |connection, fixes, bytes| {
            encode(slice, connection, fixes, bytes);
        });
        let plan = Arc::new(plan);
        let mut awaited: Vec<Vec<Awaited>> = vec![Vec::new(); connections as usize];
        for (number, frame) in plan.frames.iter().enumerate() {
            let frame_awaited = Awaited { frame: number as u32, fixes: frame.fixes };
            awaited[frame.connection as usize].push(frame_awaited);
        }
        if let Some(openings) = self.reopen.as_ref().map(|openings| openings()) {
            self.sockets.clear();
            self.expecting.clear();
            self.open(openings)?;
        }
        *self.ears.log().lock() = Log::new(Arc::clone(slice), Arc::clone(&plan));
        for (expecting, frames) in self.expecting.iter().zip(awaited) {
            expecting.expect(frames);
        }
        Ok(plan)
    }
}

/// What must come back before an opening is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Nothing,
    /// A head up to an empty line that holds this.
    Head(&'static str),
    /// An HTTP answer, whatever it says.
    Whole,
    Byte(u8),
}

/// A socket to open: its address, what to send first, what is answered, and the ear for the rest.
pub(crate) struct Opening {
    pub(crate) address: String,
    pub(crate) request: Vec<u8>,
    pub(crate) answer: Answer,
    pub(crate) then: Vec<u8>,
    pub(crate) ear: Box<dyn Ear>,
}

fn opened(openings: Vec<Opening>) -> Result<Vec<(TcpStream, Box<dyn Ear>)>> {
    let mut done = Vec::with_capacity(openings.len());
    let mut openings = openings.into_iter().peekable();
    while openings.peek().is_some() {
        let mut asked = Vec::new();
        for opening in openings.by_ref().take(OPENINGS) {
            let mut socket = TcpStream::connect(&opening.address)
                .with_context(|| format!("{}: no connection", opening.address))?;
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(ANSWER_WITHIN))?;
            socket.write_all(&opening.request)?;
            asked.push((socket, opening));
        }
        for (mut socket, opening) in asked {
            opening.answer.await_on(&mut socket).with_context(|| opening.address.clone())?;
            socket.write_all(&opening.then)?;
            done.push((socket, opening.ear));
        }
    }
    Ok(done)
}

impl Answer {
    fn await_on(self, socket: &mut TcpStream) -> Result<()> {
        match self {
            Self::Nothing => {}
            Self::Head(wanted) => {
                let head = answer_head(socket)?;
                if !head.contains(wanted) {
                    bail!("not {wanted:?} but {head}");
                }
            }
            Self::Whole => {
                let mut bytes = Vec::new();
                while http::first_answer(&bytes).is_none() {
                    let mut some = [0; 1_024];
                    let read = socket.read(&mut some).context("no answer")?;
                    if read == 0 {
                        bail!("closed after {:?}", String::from_utf8_lossy(&bytes));
                    }
                    bytes.extend_from_slice(&some[..read]);
                }
            }
            Self::Byte(wanted) => {
                let mut byte = [0];
                socket.read_exact(&mut byte).context("no answer")?;
                if byte != [wanted] {
                    bail!("not {wanted} but {}", byte[0]);
                }
            }
        }
        Ok(())
    }
}

/// Reads up to the empty line and no further: what follows is for the ear.
fn answer_head(socket: &mut TcpStream) -> Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket
            .read_exact(&mut byte)
            .with_context(|| format!("after {:?}", String::from_utf8_lossy(&head)))?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Waits until a condition holds; an error names what was waited for.
pub(crate) fn wait_until(what: &str, within: Duration, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > within {
            bail!("{what}: not within {} s", within.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
