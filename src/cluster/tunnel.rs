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
/// A side that takes nothing for this long is given up. Meanwhile nobody reads what the other one says, not even that it ended.
const STALLED_FOR: Duration = Duration::from_secs(60);

thread_local! {
    /// What is passed on at once goes through here, so a socket that is silent holds no buffer.
    static PIECE: RefCell<[u8; PIECE_BYTES]> = const { RefCell::new([0; PIECE_BYTES]) };
}

/// A connection, and what was read from it before.
pub(super) type Side = (TcpStream, BytesMut);

/// Joins two connections until one side ends, or takes nothing any more. Whether a silent client lives is found out by the owner, who
/// ends the connection if not.
pub(super) async fn join(client: Side, owner: Side) -> io::Result<()> {
    join_patiently(client, owner, STALLED_FOR).await
}

async fn join_patiently(
    (client, from_client): Side,
    (owner, from_owner): Side,
    patience: Duration,
) -> io::Result<()> {
    write_all(&owner, &from_client, patience).await?;
    write_all(&client, &from_owner, patience).await?;
    drop((from_client, from_owner));
    let (up, down) = (pass_on(&client, &owner, patience), pass_on(&owner, &client, patience));
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
async fn pass_on(from: &TcpStream, to: &TcpStream, patience: Duration) -> io::Result<()> {
    loop {
        from.readable().await?;
        match piece(from, to)? {
            Some(rest) => write_all(to, &rest, patience).await?,
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

/// Fails once `to` takes nothing for that long.
async fn write_all(to: &TcpStream, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
    while !bytes.is_empty() {
        timeout(patience, to.writable()).await??;
        match to.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (near, far) = tokio::join!(connecting, listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    #[actix_rt::test]
    async fn a_client_that_takes_nothing_any_more_is_given_up() {
        let ((_client, near), (far, mut owner)) = tokio::join!(pair(), pair());
        let (near, far) = ((near, BytesMut::new()), (far, BytesMut::new()));
        // More than any buffer between them takes.
        let said = async { while owner.write_all(&[0; 1 << 20]).await.is_ok() {} };
        let (ended, ()) = tokio::join!(join_patiently(near, far, Duration::from_millis(100)), said);
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
