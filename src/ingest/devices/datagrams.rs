//! Teltonika over UDP. A datagram is answered after its commit, or not at all: then the device sends it again.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use waypost_actors::live::LiveError;

use super::listener_context::ListenerContext;
use super::teltonika::{Datagram, datagram};
use crate::auth::{Reports, TrackerCredential};
use crate::ingest::Intake;
use crate::report_log::Tally;

/// Bytes of the longest datagram taken; a longer one is cut, and then none.
const LONGEST: usize = 2_048;
/// Datagrams on their way at once. Beyond that none is read, and the kernel drops what it has no room for.
const AT_ONCE: usize = 64;
/// How long a look-up of an unknown name keeps its turn, which limits guessing.
const UNKNOWN_FOR: Duration = Duration::from_secs(1);
/// Pause after the socket failed.
const ERROR_PAUSE: Duration = Duration::from_millis(10);
/// A datagram that is not stored by then is given up; its device has sent it again.
const STORED_WITHIN: Duration = Duration::from_secs(30);

/// Serves a socket until `stopping` completes. `take` stores a datagram, and gives the answer.
pub async fn serve_datagrams<F>(
    socket: UdpSocket,
    stopping: impl Future<Output = ()>,
    take: impl Fn(Datagram) -> F,
) where
    F: Future<Output = Option<Vec<u8>>> + 'static,
{
    let (socket, turns) = (Arc::new(socket), Arc::new(Semaphore::new(AT_ONCE)));
    let mut stopping = std::pin::pin!(stopping);
    let mut bytes = [0; LONGEST];
    loop {
        let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { return };
        let received = tokio::select! {
            received = socket.recv_from(&mut bytes) => received,
            () = &mut stopping => return,
        };
        let Ok((count, from)) = received else {
            // Either the error of an earlier answer (its receiver is gone) or a lasting one: the pause avoids a busy loop.
            sleep(ERROR_PAUSE).await;
            continue;
        };
        let Some(mut datagram) = datagram(&bytes[..count]) else { continue };
        datagram.sender = Some(from.ip());
        let (socket, taken) = (Arc::clone(&socket), take(datagram));
        actix_rt::spawn(async move {
            if let Some(answer) = taken.await
                && let Err(error) = socket.send_to(&answer, from).await
            {
                tracing::debug!(%error, "an answer could not be sent");
            }
            drop(turn);
        });
    }
}

/// Stores a datagram; gives its answer once that is committed, and none if its device may not report.
pub async fn take_datagram(context: ListenerContext, datagram: Datagram) -> Option<Vec<u8>> {
    let tracker = find(&context, &datagram).await?;
    timeout(STORED_WITHIN, stored(&context, tracker, &datagram)).await.ok()?.ok()?;
    Some(datagram.answer().to_vec())
}

/// Who sends it. One that was never found is not looked up while too many of its sender's network are: names can be made up.
async fn find(context: &ListenerContext, datagram: &Datagram) -> Option<Arc<TrackerCredential>> {
    let (organization, name) = (context.listener.organization, datagram.device.as_str());
    if let Some(known) = context.auth.known_device(organization, name) {
        return Some(known);
    }
    if context.auth.recalls_device(organization, name) {
        return context.auth.device(organization, name).await.ok()?;
    }
    let turn = context.look_ups.begin(datagram.sender)?;
    let found = context.auth.device(organization, name).await.ok()?;
    if found.is_none() {
        context.keep_pending(name, &datagram.items);
        actix_rt::spawn(async move {
            sleep(UNKNOWN_FOR).await;
            drop(turn);
        });
    }
    found
}

async fn stored(
    context: &ListenerContext,
    tracker: Arc<TrackerCredential>,
    datagram: &Datagram,
) -> Result<(), LiveError> {
    let mut intake = Intake::new(context.live.clone(), Reports::Own(tracker), context.report_log.clone());
    intake = intake.item_by_item().by(context.listener.protocol.as_str());
    intake.hear(&[None]).await?;
    let (counts, rejected) = intake.take(0, datagram.items.clone()).await?.committed().await?;
    let tally = Tally { stored: counts.stored, duplicates: counts.duplicates, ..Tally::default() };
    intake.note(tally, rejected, &datagram.raw);
    Ok(())
}
