//! An echo on TCP, in one thread.

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::systems::{Ready, server_loop};

/// Gives back what comes, until the parent is gone.
pub(crate) fn echo() -> Result<()> {
    server_loop(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?.to_string();
        let serve = async move {
            loop {
                let (mut socket, _) = listener.accept().await?;
                socket.set_nodelay(true)?;
                tokio::task::spawn_local(async move {
                    let mut bytes = vec![0; 4096];
                    while let Ok(read @ 1..) = socket.read(&mut bytes).await {
                        if socket.write_all(&bytes[..read]).await.is_err() {
                            break;
                        }
                    }
                });
            }
        };
        Ok((Ready { address, ..Ready::default() }, serve))
    })
}
