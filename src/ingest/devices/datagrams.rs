//! Teltonika over UDP. A datagram is answered after its commit, or not at all: then the device sends it again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use waypost_actors::live::LiveError;

use super::gate::Gate;
use super::teltonika::{Datagram, datagram};
use crate::auth::{Reports, TrackerCredential};
use crate::ingest::Intake;
use crate::report_log::Tally;

/// Bytes of the longest datagram taken; a longer one is cut, and then none.
const LONGEST: usize = 2_048;
/// Datagrams on their way at once. Beyond that none is read, and the kernel drops what it has no room for.
const AT_ONCE: usize = 64;
/// Devices looked up in the store at once.
const LOOK_UPS: usize = 8;
/// How long a look-up that found nobody keeps its turn: strangers may try so many names.
const UNKNOWN_FOR: Duration = Duration::from_secs(1);
/// Pause after the socket failed.
const ERROR_PAUSE: Duration = Duration::from_millis(10);
/// A datagram that is not stored by then is given up; its device has sent it again.
const STORED_WITHIN: Duration = Duration::from_secs(30);

/// Serves a socket until the server stops.
pub async fn serve_datagrams(socket: UdpSocket, gate: Gate) {
    let socket = Arc::new(socket);
    let (turns, look_ups) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::new(Semaphore::new(LOOK_UPS)));
    let mut stopping = gate.sessions.stopping();
    let mut bytes = [0; LONGEST];
    loop {
        let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
        let received = tokio::select! {
            received = socket.recv_from(&mut bytes) => received,
            _ = stopping.wait_for(Option::is_some) => return,
        };
        let Ok((count, from)) = received else {
            // Either the error of an earlier answer (its receiver is gone) or a lasting one: the pause avoids a busy loop.
            sleep(ERROR_PAUSE).await;
            continue;
        };
        let Some(datagram) = datagram(&bytes[..count]) else { continue };
        let (socket, gate, look_ups) = (Arc::clone(&socket), gate.clone(), Arc::clone(&look_ups));
        actix_rt::spawn(async move {
            let Some(tracker) = find(&gate, &datagram, look_ups).await else { return };
            if let Ok(Ok(())) = timeout(STORED_WITHIN, stored(&gate, tracker, &datagram)).await {
                answer(&socket, &datagram, from).await;
            }
            drop(turn);
        });
    }
}

/// Who sends it. One that is not in memory is not looked up while too many are.
async fn find(gate: &Gate, datagram: &Datagram, look_ups: Arc<Semaphore>) -> Option<Arc<TrackerCredential>> {
    let (organization, name) = (gate.listener.organization, datagram.device.as_str());
    if let Some(known) = gate.auth.known_device(organization, name) {
        return Some(known);
    }
    let turn = look_ups.try_acquire_owned().ok()?;
    let found = gate.auth.device(organization, name).await.ok()?;
    if found.is_none() {
        gate.keep_pending(name, &datagram.items);
        actix_rt::spawn(async move {
            sleep(UNKNOWN_FOR).await;
            drop(turn);
        });
    }
    found
}

async fn stored(gate: &Gate, tracker: Arc<TrackerCredential>, datagram: &Datagram) -> Result<(), LiveError> {
    let mut intake = Intake::new(gate.live.clone(), Reports::Own(tracker), gate.report_log.clone());
    intake = intake.item_by_item().by(gate.listener.protocol.as_str());
    intake.hear(&[None]).await?;
    let (counts, rejected) = intake.take(datagram.items.clone()).await?.committed().await?;
    let tally = Tally { stored: counts.stored, duplicates: counts.duplicates, ..Tally::default() };
    intake.note(tally, rejected, &datagram.raw);
    Ok(())
}

async fn answer(socket: &UdpSocket, datagram: &Datagram, to: SocketAddr) {
    if let Err(error) = socket.send_to(&datagram.answer(), to).await {
        tracing::debug!(%error, "an answer could not be sent");
    }
}
