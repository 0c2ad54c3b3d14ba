//! The actors wired together, each on its thread. Owns the wiring between them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::dev::channel::{AddressReceiver, channel};
use actix::prelude::*;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::directory::{Directory, DirectoryParts};
use super::handles::VehicleHandles;
use super::permits::Permits;
use super::registry::{FenceSnapshots, GeofenceRegistry};
use super::router::VehicleRouter;
use super::threads::CoreThreads;
use super::watchdog::{IsThere, Watched};
use super::workers::Workers;
use crate::actor::watch::connections::{self, Connections, ConnectionsParts, TrackedVehicles};
use crate::actor::watch::hub::PositionHub;
use crate::actor::watch::occupancy::Occupancy;
use crate::actor::writer::cache::Cache;
use crate::actor::writer::corrections::{Corrections, CorrectionsParts};
use crate::actor::writer::inbox::Writer;
use crate::actor::writer::parts::PersistenceParts;
use crate::actor::writer::persistence::Persistence;
use crate::clock::Clock;
use crate::config::{LiveConfig, LiveParts};
use crate::health::Health;
use crate::meters::Meters;
use crate::model::{GeofenceId, OrganizationId, Silence, VehicleId};
use crate::ports::{Seeds, TrackStore};

/// Messages that may wait for the coordinator of corrections without their senders waiting.
const MAILBOX: usize = 64;

/// The actors of which there is one each.
pub(crate) struct Core {
    pub(crate) store: Arc<dyn TrackStore>,
    pub(crate) clock: Clock,
    pub(crate) router: VehicleRouter,
    pub(crate) corrections: Addr<Corrections>,
    pub(crate) registry: Addr<GeofenceRegistry>,
    pub(crate) occupancy: Addr<Occupancy>,
    pub(crate) connections: Addr<Connections>,
    pub(crate) cache: Option<Addr<Cache>>,
    pub(crate) writer: Writer,
    pub(crate) taken_over: watch::Receiver<bool>,
    pub(crate) health: watch::Sender<Health>,
    pub(crate) meters: Meters,
    pub(crate) watch_capacity: usize,
    pub(crate) probe_every: Duration,
    threads: CoreThreads,
    watched: Mutex<Option<Arc<Watched>>>,
    /// Versions of fences that are settled once they take effect.
    pub(super) ahead: Mutex<HashSet<(GeofenceId, i64)>>,
}

impl Core {
    pub(crate) fn start(parts: LiveParts, mut seeds: Seeds) -> Self {
        let LiveParts { config, store, cache, clock, meters, threads } = parts;
        let threads = CoreThreads::on(threads);
        let permits = Permits::new(config.max_waiting_fixes, meters.clone());
        let snapshots = FenceSnapshots::new(std::mem::take(&mut seeds.fences));
        let hub = PositionHub::new(permits.clone());
        threads.run(hub.clone().keep_telling());
        let tracked = connections::connectivity_of(&seeds);
        let occupancy = start_occupancy(&threads, &mut seeds, &tracked, hub.clone(), meters.clone());
        let made = |cache| Cache::new(cache, occupancy.clone(), Arc::clone(&clock), meters.clone());
        let cache = cache.map(made).map(|cache| threads.start(cache));
        let ((is_taken_over, taken_over), health) = (watch::channel(false), watch::Sender::new(Health::Well));
        // The writer sends to it, and it asks the vehicles, which need the writer: so it starts last.
        let (corrections, mailbox) = channel(MAILBOX);
        let corrections = Addr::new(corrections);
        let persistence = PersistenceParts {
            store: Arc::clone(&store),
            permits: permits.clone(),
            occupancy: occupancy.clone(),
            cache: cache.clone(),
            corrections: corrections.clone(),
            config: config.clone(),
            taken_over: is_taken_over,
            health: health.clone(),
            meters: meters.clone(),
        };
        let writer = Persistence::begin(&threads, persistence, seeds.next_sequence);
        let (dirty, silences) = (dirty_among(&seeds), seeds.silences.into_iter().collect());
        let begun = (&config, &clock, &meters);
        let connections =
            start_connections(&threads, begun, &writer, &occupancy, &permits, (silences, tracked));
        let handles = VehicleHandles::default();
        let vehicles = DirectoryParts {
            handles: handles.clone(),
            workers: threads.shared().workers().clone(),
            writer: writer.clone(),
            occupancy: occupancy.clone(),
            connections: connections.clone(),
            hub: hub.clone(),
            snapshots: snapshots.clone(),
            store: Arc::clone(&store),
            permits: permits.clone(),
            clock: Arc::clone(&clock),
            idle_after: config.idle_after,
            restart_window: config.restart_window,
            meters: meters.clone(),
        };
        let known = seeds.vehicles.into_iter().map(|seed| seed.vehicle).collect();
        let directory = threads.start(Directory::new(vehicles, known));
        let router = VehicleRouter { directory, handles, permits, hub };
        start_corrections(&threads, mailbox, &router, dirty, (&config, &meters));
        let registry = GeofenceRegistry::new(snapshots, meters.clone());
        let registry = threads.start_on(threads.shared().registry(), registry);
        let actors = once(&writer, &router.directory, &occupancy, &corrections, &registry, &connections);
        let watched = threads.shared().watchdog().watch(actors, health.clone());
        Self {
            store,
            clock,
            router,
            corrections,
            registry,
            occupancy,
            connections,
            cache,
            writer,
            taken_over,
            health,
            meters,
            watch_capacity: config.watch_capacity,
            probe_every: config.probe_every,
            threads,
            watched: Mutex::new(Some(watched)),
            ahead: Mutex::default(),
        }
    }

    /// Runs a task beside the actors until it ends or they stop.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.threads.run(task);
    }

    /// The threads that vehicles live on.
    pub(crate) fn workers(&self) -> &Workers {
        self.threads.shared().workers()
    }

    /// Stops every actor at once, but for vehicles that somebody still has the address of.
    pub(crate) fn stop(&self) {
        // The watchdog would report the actors that stop now as broken.
        self.watched.lock().take();
        self.threads.stop();
    }
}

/// The vehicles that await a correction.
fn dirty_among(seeds: &Seeds) -> Vec<VehicleId> {
    seeds.vehicles.iter().filter(|seed| seed.dirty_from.is_some()).map(|seed| seed.vehicle.id).collect()
}

fn start_occupancy(
    threads: &CoreThreads,
    seeds: &mut Seeds,
    tracked: &TrackedVehicles,
    hub: PositionHub,
    meters: Meters,
) -> Addr<Occupancy> {
    let connectivity_of =
        |vehicle| tracked.get(&vehicle).map(|tracked| Arc::clone(&tracked.connectivity)).unwrap_or_default();
    let occupancy = Occupancy::new(&mut seeds.vehicles, connectivity_of, seeds.next_sequence, hub, meters);
    threads.start(occupancy)
}

fn start_corrections(
    threads: &CoreThreads,
    mailbox: AddressReceiver<Corrections>,
    router: &VehicleRouter,
    dirty: Vec<VehicleId>,
    (config, meters): (&LiveConfig, &Meters),
) {
    let parts = CorrectionsParts {
        router: router.clone(),
        delay: config.correction_delay,
        pause: config.probe_every,
        dirty,
        meters: meters.clone(),
    };
    threads.start_behind(threads.shared().router(), mailbox, Corrections::new(parts));
}

fn start_connections(
    threads: &CoreThreads,
    (config, clock, meters): (&LiveConfig, &Clock, &Meters),
    writer: &Writer,
    occupancy: &Addr<Occupancy>,
    permits: &Permits,
    (silences, tracked): (HashMap<OrganizationId, Silence>, TrackedVehicles),
) -> Addr<Connections> {
    let connections = Connections::new(ConnectionsParts {
        writer: writer.clone(),
        occupancy: occupancy.clone(),
        permits: permits.clone(),
        clock: Arc::clone(clock),
        meters: meters.clone(),
        every: config.connection_look_every,
        silences,
        tracked,
    });
    threads.start(connections)
}

/// The actors of which there is one each, by name.
fn once(
    writer: &Writer,
    directory: &Addr<Directory>,
    occupancy: &Addr<Occupancy>,
    corrections: &Addr<Corrections>,
    registry: &Addr<GeofenceRegistry>,
    connections: &Addr<Connections>,
) -> Vec<(&'static str, IsThere)> {
    vec![
        ("persistence", is_writer_there(writer)),
        ("directory", is_there(directory)),
        ("occupancy", is_there(occupancy)),
        ("corrections", is_there(corrections)),
        ("registry", is_there(registry)),
        ("connections", is_there(connections)),
    ]
}

fn is_there<A: Actor<Context = Context<A>>>(actor: &Addr<A>) -> IsThere {
    let actor = actor.clone();
    Box::new(move || actor.connected())
}

fn is_writer_there(writer: &Writer) -> IsThere {
    let wake = writer.wake.clone();
    Box::new(move || wake.connected())
}
