//! The listeners for hardware trackers, as the settings name them.

use std::future::ready;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use actix_server::ServerBuilder;
use actix_service::{ServiceFactoryExt, fn_factory};
use tokio_util::task::TaskTracker;
use waypost_actors::model::OrganizationId;

use super::error::StartError;
use super::tune::tune;
use crate::config::{DeviceListener, DeviceProtocol};
use crate::connections::{Admitted, Connection, Connections};
use crate::http::{Front, MakeFront};
use crate::ingest::devices::{self, Datagram, serve_datagrams};

/// A listener whose address is taken, and which nobody serves yet: devices wait in the kernel.
pub(super) struct Bound {
    setting: DeviceListener,
    tcp: TcpListener,
    udp: Option<UdpSocket>,
}

impl Bound {
    /// Where it listens, also if the settings left the port to the system.
    pub(super) const fn address(&self) -> SocketAddr {
        self.setting.address
    }

    /// Whose trackers may report here.
    pub(super) const fn organization(&self) -> OrganizationId {
        self.setting.organization
    }
}

/// Takes the addresses of all of them.
pub(super) fn bind(settings: &[DeviceListener]) -> Result<Vec<Bound>, StartError> {
    settings.iter().map(|setting| bind_one(*setting)).collect()
}

fn bind_one(mut setting: DeviceListener) -> Result<Bound, StartError> {
    let failed = |error| StartError::Devices(setting, error);
    let tcp = TcpListener::bind(setting.address).map_err(failed)?;
    tune(&tcp);
    let address = tcp.local_addr().map_err(failed)?;
    let udp = match setting.protocol {
        DeviceProtocol::Teltonika => {
            let socket = UdpSocket::bind(address).map_err(failed)?;
            socket.set_nonblocking(true).map_err(failed)?;
            Some(socket)
        }
        _ => None,
    };
    setting.address = address;
    Ok(Bound { setting, tcp, udp })
}

/// Adds the listeners to the server: their connections live on its threads, beside those of other trackers.
pub(super) fn serve_devices(
    mut server: ServerBuilder,
    listeners: Vec<Bound>,
    front: &MakeFront,
    connections: &Connections,
    sockets: &TaskTracker,
) -> Result<ServerBuilder, StartError> {
    for Bound { setting, tcp, udp } in listeners {
        if let Some(udp) = udp {
            let socket = tokio::net::UdpSocket::from_std(udp).map_err(StartError::Run)?;
            let (stopping, taking) = (front(), front());
            let take = move |datagram| take_datagram(taking.clone(), datagram, setting);
            actix_rt::spawn(sockets.track_future(async move {
                serve_datagrams(socket, stopping.stopping(), take).await;
            }));
        }
        let (front, connections, sockets) = (Arc::clone(front), connections.clone(), sockets.clone());
        let served = move || {
            let (connections, sockets, front) = (connections.clone(), sockets.clone(), front());
            fn_factory(move || ready(Ok::<_, ()>(connections.clone()))).map(
                move |(connection, ..): Admitted| {
                    actix_rt::spawn(sockets.track_future(serve_connection(
                        front.clone(),
                        connection,
                        setting,
                    )));
                },
            )
        };
        server = server.listen(setting.protocol.as_str(), tcp, served).map_err(StartError::Run)?;
        tracing::info!(listener = %setting, "devices may report");
    }
    Ok(server)
}

async fn serve_connection(front: Front, connection: Connection, listener: DeviceListener) {
    match front {
        Front::Single(context) => devices::serve(connection, context.device_listener(listener)).await,
        // In a box: what handing on needs would be room in each connection of a single server.
        Front::Cluster(router) => Box::pin(router.serve_device(connection, listener)).await,
    }
}

async fn take_datagram(front: Front, datagram: Datagram, listener: DeviceListener) -> Option<Vec<u8>> {
    match front {
        Front::Single(context) => devices::take_datagram(context.device_listener(listener), datagram).await,
        Front::Cluster(router) => router.take_datagram(datagram, listener).await,
    }
}
