//! Ready-made bytes to many sockets, in one thread: what a delivery costs when nothing is decided about it.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval};

use crate::systems::{Ready, server_loop};

/// What is sent to whom.
#[derive(Clone, Debug, Args)]
pub(crate) struct FanOutOptions {
    /// Readers to wait for
    #[arg(long)]
    readers: usize,
    /// Bytes of a write
    #[arg(long)]
    bytes: usize,
    /// Writes to each reader in a second
    #[arg(long)]
    per_second: f64,
}

/// Sends until the parent is gone.
pub(crate) fn fan_out(options: FanOutOptions) -> Result<()> {
    server_loop(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?.to_string();
        let serve = async move {
            let mut readers = Vec::with_capacity(options.readers);
            while readers.len() < options.readers {
                let (socket, _) = listener.accept().await?;
                socket.set_nodelay(true)?;
                readers.push(socket);
            }
            let bytes = vec![0x42; options.bytes];
            let mut tick = interval(Duration::from_secs_f64(1.0 / options.per_second));
            tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
            loop {
                tick.tick().await;
                for reader in &mut readers {
                    reader.write_all(&bytes).await?;
                }
            }
        };
        Ok((Ready { address, ..Ready::default() }, serve))
    })
}
