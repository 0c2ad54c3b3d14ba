//! The bytes of a socket, passed on unchanged in both directions until one side ends.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Bytes passed on at once.
const PIECE_BYTES: usize = 8 * 1024;
/// Once one side has said its last, the other has this long for what it still says.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(5);

thread_local! {
    /// What is passed on at once goes through here, so a socket that is silent holds no buffer.
    static PIECE: RefCell<[u8; PIECE_BYTES]> = const { RefCell::new([0; PIECE_BYTES]) };
}

/// A connection, and what was read from it before.
pub(super) type Side = (TcpStream, BytesMut);

/// Joins two connections until one side ends. Neither is waited for here: the owner finds out whether its client lives, and ends the
/// connection if not.
pub(super) async fn join((client, from_client): Side, (owner, from_owner): Side) -> io::Result<()> {
    write_all(&owner, &from_client).await?;
    write_all(&client, &from_owner).await?;
    drop((from_client, from_owner));
    let (up, down) = (pass_on(&client, &owner), pass_on(&owner, &client));
    tokio::pin!(up, down);
    tokio::select! {
        ended = &mut up => {
            ended?;
            timeout(LAST_WORDS_WITHIN, down).await?
        }
        ended = &mut down => {
            ended?;
            timeout(LAST_WORDS_WITHIN, up).await?
        }
    }
}

/// Passes on what one side says until its end, and then says that it ended.
async fn pass_on(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    loop {
        from.readable().await?;
        match piece(from, to)? {
            Some(rest) => write_all(to, &rest).await?,
            None => return SockRef::from(to).shutdown(Shutdown::Write),
        }
    }
}

/// Reads a piece and writes what can be written at once; gives the rest, or `None` at the end.
fn piece(from: &TcpStream, to: &TcpStream) -> io::Result<Option<Bytes>> {
    PIECE.with_borrow_mut(|piece| {
        let read = match from.try_read(piece) {
            Ok(0) => return Ok(None),
            Ok(read) => &piece[..read],
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Some(Bytes::new())),
            Err(error) => return Err(error),
        };
        let written = match to.try_write(read) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            written => written?,
        };
        Ok(Some(Bytes::copy_from_slice(&read[written..])))
    })
}

async fn write_all(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
