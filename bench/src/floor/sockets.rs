//! The tracker socket by hand, in one thread: a read buffer per connection, frames unmasked in place, one ack per
//! read.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use anyhow::Result;
use clap::Args;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Pipeline;
use super::durable::{Base, Keeper};
use super::rows::push_row;
use crate::systems::{Ready, Store, server_loop};
use crate::world::World;

/// The initial size; larger frames make the buffer grow.
const BUFFER_BYTES: usize = 8 * 1024;
/// The buffer of dropped rows is emptied at this many bytes.
const DROPPED_BYTES: usize = 900_000;
const SWITCHING: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// What the floor is started with.
#[derive(Clone, Debug, Args)]
pub(crate) struct FloorOptions {
    #[command(flatten)]
    world: World,
    /// When the world begins, milliseconds since 1970
    #[arg(long)]
    begin_millis: i64,
    /// What keeps its rows
    #[arg(long, value_enum, default_value_t = Store::Null)]
    store: Store,
    /// Its PostgreSQL
    #[arg(long)]
    database_url: Option<String>,
}

/// What becomes of rows.
enum Rows {
    /// They are written to a buffer that is never read.
    Dropped(RefCell<Vec<u8>>),
    /// They are kept before they are acknowledged.
    Kept(Keeper),
}

impl Rows {
    async fn take(&self, pipeline: &RefCell<Pipeline>) {
        match self {
            Self::Dropped(bytes) => {
                let (mut bytes, mut pipeline) = (bytes.borrow_mut(), pipeline.borrow_mut());
                pipeline.rows.drain(..).for_each(|row| push_row(&row, &mut bytes));
                if bytes.len() > DROPPED_BYTES {
                    std::hint::black_box(&*bytes);
                    bytes.clear();
                }
            }
            Self::Kept(keeper) => {
                let count = keeper.take(&mut pipeline.borrow_mut().rows);
                keeper.kept(count).await;
            }
        }
    }
}

/// Serves until the parent is gone. A socket's bearer token is its vehicle's number, or anything for a fleet's;
/// `GET /transitions` tells those since the last time.
pub(crate) fn floor(options: FloorOptions) -> Result<()> {
    let pipeline = Rc::new(RefCell::new(Pipeline::new(&options.world, options.begin_millis)));
    let folder = tempfile::tempdir()?;
    server_loop(async move {
        let base = match (options.store, &options.database_url) {
            (Store::Postgres, Some(url)) => Some(Base::postgres(url).await?),
            (Store::Sqlite, _) => Some(Base::sqlite(folder.path()).await?),
            _ => None,
        };
        let rows = match base {
            Some(base) => {
                let rows = Rc::new(Rows::Kept(Keeper::new()));
                let keeping = Rc::clone(&rows);
                tokio::task::spawn_local(async move {
                    if let Rows::Kept(keeper) = &*keeping
                        && let Err(error) = keeper.keep(base).await
                    {
                        eprintln!("the floor keeps nothing any more: {error:#}");
                    }
                });
                rows
            }
            None => Rc::new(Rows::Dropped(RefCell::default())),
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?.to_string();
        let serve = async move {
            loop {
                let (socket, _) = listener.accept().await?;
                socket.set_nodelay(true)?;
                let (pipeline, rows) = (Rc::clone(&pipeline), Rc::clone(&rows));
                tokio::task::spawn_local(async move { serve(socket, &pipeline, &rows).await });
            }
        };
        Ok((Ready { address, ..Ready::default() }, serve))
    })
}

async fn serve(mut socket: TcpStream, pipeline: &RefCell<Pipeline>, rows: &Rows) -> std::io::Result<()> {
    let mut bytes = vec![0; BUFFER_BYTES];
    let mut filled = 0;
    while !bytes[..filled].windows(4).any(|four| four == b"\r\n\r\n") {
        filled += socket.read(&mut bytes[filled..]).await?;
    }
    let head = String::from_utf8_lossy(&bytes[..filled]).into_owned();
    if head.starts_with("GET /transitions ") {
        return tell_transitions(&mut socket, pipeline).await;
    }
    let own = head.lines().find_map(|line| line.strip_prefix("Authorization: Bearer ")?.trim().parse().ok());
    socket.write_all(SWITCHING).await?;
    filled = 0;
    let mut acks = Vec::with_capacity(256);
    loop {
        if filled == bytes.len() {
            bytes.resize(bytes.len() * 2, 0);
        }
        let read = socket.read(&mut bytes[filled..]).await?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let taken = take_frames(&mut bytes[..filled], own, &mut pipeline.borrow_mut(), &mut acks);
        bytes.copy_within(taken..filled, 0);
        filled -= taken;
        if !acks.is_empty() {
            rows.take(pipeline).await;
            socket.write_all(&acks).await?;
            acks.clear();
        }
    }
}

/// Takes the whole frames; writes one ack for all of them. Returns how many bytes they were.
fn take_frames(bytes: &mut [u8], own: Option<u32>, pipeline: &mut Pipeline, acks: &mut Vec<u8>) -> usize {
    let mut taken = 0;
    let mut acked = None;
    while let [_, second, rest @ ..] = &mut bytes[taken..] {
        let (length, head) = match (*second & 0x7f, &*rest) {
            (126, [a, b, ..]) => (usize::from(u16::from_be_bytes([*a, *b])), 2),
            (126, _) => break,
            (length, _) => (usize::from(length), 0),
        };
        let Some(masked) = rest.get_mut(head..head + 4 + length) else { break };
        let Some((mask, payload)) = masked.split_first_chunk_mut() else { break };
        unmask(payload, *mask);
        if let Ok(text) = std::str::from_utf8(payload) {
            acked = pipeline.frame(text, own).or(acked);
        }
        taken += 2 + head + 4 + length;
    }
    if let Some(number) = acked {
        let text =
            format!(r#"{{"type":"ack","seq":{number},"rejected":[],"stored":1,"duplicates":0,"credit":8}}"#);
        acks.extend([0x81, text.len() as u8]);
        acks.extend(text.bytes());
    }
    taken
}

/// Eight bytes at a time.
pub(super) fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let mask = u32::from_ne_bytes(mask);
    let mask = (u64::from(mask) << 32 | u64::from(mask)).to_ne_bytes();
    let (chunks, rest) = payload.as_chunks_mut::<8>();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ u64::from_ne_bytes(mask)).to_ne_bytes();
    }
    rest.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
}

async fn tell_transitions(socket: &mut TcpStream, pipeline: &RefCell<Pipeline>) -> std::io::Result<()> {
    let transitions = std::mem::take(&mut pipeline.borrow_mut().transitions);
    let mut body = String::new();
    for told in transitions {
        let _ = writeln!(body, "{} {} {} {}", told.vehicle, told.round, u8::from(told.is_entry), told.fence);
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await
}
