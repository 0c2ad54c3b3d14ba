//! Who may report at a listener: the trackers of its organization, by the name that the device gives.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use waypost_actors::live::Live;

use super::inbox::Inbox;
use super::message::Message;
use super::protocols::dialect;
use crate::auth::{Auth, AuthError, TrackerCredential};
use crate::config::DeviceListener;
use crate::connections::network;
use crate::ingest::decode::{BadItem, Item};
use crate::ingest::pending;
use crate::report_log::ReportLog;
use crate::sessions::{Sessions, TrackerSession};

/// A device has to name itself within this.
const NAMED_WITHIN: Duration = Duration::from_secs(30);
/// A device that may not report waits this long for its refusal. Together with the bound on connections of one
/// address that keep the server waiting, this is how many names a stranger may try.
const REFUSED_AFTER: Duration = Duration::from_secs(5);

/// Devices of one network looked up by datagrams at once, so that names made up by a stranger take no other's turns.
const LOOK_UPS_OF_A_NETWORK: usize = 8;
/// Devices of neighbouring networks looked up by datagrams at once: senders' addresses can be made up as well.
const LOOK_UPS_OF_A_SITE: usize = 32;
/// Devices looked up by datagrams at once.
const LOOK_UPS: usize = 256;

/// Devices that are looked up by datagrams now: the network of each, `None` for those that come by a node that does not say it.
#[derive(Clone, Default)]
pub struct LookUps(Arc<Mutex<Vec<Option<IpAddr>>>>);

/// A look-up, until it is dropped.
pub(super) struct LookUp {
    all: LookUps,
    network: Option<IpAddr>,
}

impl LookUps {
    /// A turn to look one up, for who sends from an address; `None` while too many are.
    pub(super) fn begin(&self, sender: Option<IpAddr>) -> Option<LookUp> {
        let network = sender.map(network);
        let mut networks = self.0.lock();
        let of_it = networks.iter().filter(|other| **other == network).count();
        let of_site = networks.iter().filter(|other| other.map(site) == network.map(site)).count();
        if of_it >= LOOK_UPS_OF_A_NETWORK || of_site >= LOOK_UPS_OF_A_SITE || networks.len() >= LOOK_UPS {
            return None;
        }
        networks.push(network);
        Some(LookUp { all: self.clone(), network })
    }
}

/// The neighbourhood of a network that one subscriber is likely to have: of IPv4 a /24, of IPv6 a /56.
fn site(network: IpAddr) -> IpAddr {
    match network {
        IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits() & (u32::MAX << 8)).into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 72)).into(),
    }
}

impl Drop for LookUp {
    fn drop(&mut self) {
        let mut networks = self.all.0.lock();
        if let Some(at) = networks.iter().position(|network| *network == self.network) {
            networks.swap_remove(at);
        }
    }
}

/// What the connections of a listener share.
#[derive(Clone)]
pub struct ListenerContext {
    /// Finds trackers.
    pub auth: Arc<Auth>,
    /// The live core.
    pub live: Live,
    /// Open sockets.
    pub sessions: Sessions,
    /// When devices were heard, and what was refused of them.
    pub report_log: ReportLog,
    /// Devices that are looked up by datagrams.
    pub look_ups: LookUps,
    /// Protocol and organization.
    pub listener: DeviceListener,
}

/// A device that may report, and what it messages so far.
pub(super) struct Admitted {
    pub(super) tracker: Arc<TrackerCredential>,
    pub(super) open: TrackerSession,
    pub(super) inbox: Inbox,
    pub(super) messages: Vec<Message>,
}

impl ListenerContext {
    /// Waits until the device has named itself. `None` if it does not, or may not report; it was told then, after `verdict`.
    pub(super) async fn admit<S>(&self, connection: &mut S, verdict: &[u8]) -> Option<Admitted>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut inbox = Inbox::new(dialect(self.listener.protocol));
        let (name, first) = timeout(NAMED_WITHIN, self.named(connection, &mut inbox)).await.ok()??;
        match self.find(&name).await {
            Ok(Some((tracker, open))) => Some(Admitted { tracker, open, inbox, messages: vec![first] }),
            Ok(None) => {
                tracing::debug!(listener = %self.listener, device = name, "a device that may not report");
                self.keep_pending(&name, &first.items);
                refuse(connection, &[verdict, inbox.refusal()].concat()).await;
                None
            }
            // It hears nothing, and connects again.
            Err(error) => {
                tracing::warn!(%error, "devices cannot be looked up");
                None
            }
        }
    }

    /// Keeps what a device says that is no tracker of the listener's organization, for a user to make it one.
    pub(super) fn keep_pending(&self, name: &str, items: &[Result<Item<'static>, BadItem>]) {
        let DeviceListener { protocol, organization, .. } = self.listener;
        let device = (name, protocol.as_str());
        pending::keep(&self.report_log, organization, device, items.iter().flatten(), self.live.now());
    }

    async fn named<S: AsyncRead + Unpin>(
        &self,
        connection: &mut S,
        inbox: &mut Inbox,
    ) -> Option<(String, Message)> {
        let mut scratch = [0; 512];
        loop {
            while let Some(mut message) = inbox.take(self.live.now()).ok()? {
                // What comes before the name is nobody's.
                if let Some(name) = message.device.take() {
                    return Some((name, message));
                }
            }
            match connection.read(&mut scratch).await {
                Ok(count) if count > 0 => inbox.hear(&scratch[..count]),
                _ => return None,
            }
        }
    }

    /// The tracker, and its session among the open ones.
    async fn find(&self, name: &str) -> Result<Option<(Arc<TrackerCredential>, TrackerSession)>, AuthError> {
        let organization = self.listener.organization;
        let looked_up_at = self.sessions.revocations();
        let Some(tracker) = self.auth.device(organization, name).await? else { return Ok(None) };
        let open = self.sessions.open(tracker.tracker_id, organization);
        if self.sessions.revocations() == looked_up_at {
            return Ok(Some((tracker, open)));
        }
        // A revocation meanwhile found no session to end.
        Ok(self.auth.device(organization, name).await?.map(|tracker| (tracker, open)))
    }
}

/// Tells a device that it may not report, after a while in which nothing that it says is heard.
async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(connection: &mut S, refusal: &[u8]) {
    let mut scratch = [0; 512];
    let unheard = async { while connection.read(&mut scratch).await.is_ok_and(|count| count > 0) {} };
    // Without an answer the device is gone, or its connection was taken to make room.
    if timeout(REFUSED_AFTER, unheard).await.is_err() {
        let _gone = timeout(REFUSED_AFTER, connection.write_all(refusal)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(look_ups: &LookUps, sender: &str) -> Option<LookUp> {
        look_ups.begin(Some(sender.parse().unwrap()))
    }

    #[test]
    fn names_made_up_in_one_network_take_no_turns_of_another() {
        let look_ups = LookUps::default();
        let held: Vec<_> = (0..100).filter_map(|_| begun(&look_ups, "2001:db8::1")).collect();
        assert_eq!(held.len(), LOOK_UPS_OF_A_NETWORK);
        assert!(begun(&look_ups, "2001:db8::2").is_none(), "its neighbour's too");
        for other in ["2001:db8:0:1::1", "192.0.2.1"] {
            assert!(begun(&look_ups, other).is_some(), "{other}");
        }
        assert!(look_ups.begin(None).is_some(), "by a node that does not say where from");
        drop(held);
        assert!(begun(&look_ups, "2001:db8::2").is_some());
    }

    #[test]
    fn addresses_made_up_in_one_site_take_no_turns_of_another() {
        let v4: fn(u8) -> String = |number| format!("192.0.2.{number}");
        let v6: fn(u8) -> String = |number| format!("2001:db8:0:12{number:02x}::1");
        for (address, elsewhere) in [(v4, "192.0.3.1"), (v6, "2001:db8:0:1300::1")] {
            let look_ups = LookUps::default();
            let held: Vec<_> = (0..200).filter_map(|number| begun(&look_ups, &address(number))).collect();
            assert_eq!(held.len(), LOOK_UPS_OF_A_SITE, "{elsewhere}");
            assert!(begun(&look_ups, elsewhere).is_some(), "{elsewhere}");
        }
    }

    #[test]
    fn all_networks_together_are_bounded() {
        let look_ups = LookUps::default();
        let networks = (0..1_000_u32).map(|number| IpAddr::from((number << 8).to_be_bytes()));
        let held: Vec<_> = networks.filter_map(|network| look_ups.begin(Some(network))).collect();
        assert_eq!(held.len(), LOOK_UPS);
        drop(held);
        assert!(look_ups.0.lock().is_empty());
    }
}
