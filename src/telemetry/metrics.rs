//! THE table of metrics: every name, what it says, and where its value comes from. Values are read when they are
//! requested; what is counted is counted where it happens.

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;
use waypost_actors::live::{FixesInFlight, Live};
use waypost_actors::meters::{Figures, Invariant, NumberingStep};

use super::page::{Format, Page};
use super::panics;
use crate::cluster::shards::Shards;
use crate::ingest::mqtt;
use crate::meters::Meters;
use crate::readiness::Readiness;
use crate::report_log::{Tallies, Tally};
use crate::sessions::{Counts, Sessions};
use crate::{mqtt_out, webhooks};

/// The metrics of a server, from its start.
pub struct Metrics {
    sources: Arc<Sources>,
}

struct Sources {
    readiness: Readiness,
    meters: Meters,
    /// Set once the server serves.
    serving: OnceLock<Serving>,
}

/// What is served.
enum Serving {
    /// Everything, by a single server.
    Whole(Live, Sessions),
    /// Shards, by a node of a cluster.
    Shards(Shards),
}

impl Metrics {
    /// The metrics of a server that starts.
    #[must_use]
    pub fn new(readiness: Readiness, meters: Meters) -> Self {
        Self { sources: Arc::new(Sources { readiness, meters, serving: OnceLock::new() }) }
    }

    /// Adds the metrics that exist only once a single server serves.
    pub fn serving(&self, live: Live, sessions: Sessions) {
        // Called once in a server's life.
        self.sources.serving.set(Serving::Whole(live, sessions)).ok();
    }

    /// Adds those of a node of a cluster.
    pub fn cluster(&self, shards: Shards) {
        // Called once in a server's life.
        self.sources.serving.set(Serving::Shards(shards)).ok();
    }

    /// Why the server cannot do its work, if it cannot.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.sources.trouble()
    }

    /// All metrics as text.
    pub fn text(&self, format: Format) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Scrape { sources: Arc::clone(&self.sources), format }));
        let mut written = String::new();
        match format {
            Format::OpenMetrics => text::encode(&mut written, &registry)?,
            Format::Prometheus => text::encode_registry(&mut written, &registry)?,
        }
        Ok(written)
    }
}

impl Sources {
    fn trouble(&self) -> Option<String> {
        match self.serving.get() {
            Some(Serving::Whole(live, _)) => self.readiness.trouble_with(live),
            Some(Serving::Shards(shards)) => shards.trouble(&self.readiness),
            None => self.readiness.trouble(),
        }
    }

    fn server(&self, page: &mut Page<'_>) -> fmt::Result {
        let version = env!("CARGO_PKG_VERSION");
        page.gauges("waypost_build", "The server's version, as a label", "version", [(version, 1.0)])?;
        page.gauge("waypost_ready", "Whether /readyz says 200", f64::from(self.trouble().is_none()))?;
        let (name, help) = ("waypost_standby", "Whether another server has the store and this one waits");
        page.gauge(name, help, f64::from(self.readiness.is_standby()))?;
        let store_up = f64::from(self.readiness.is_store_up());
        page.gauge("waypost_store_up", "Whether the store answered when it was asked last", store_up)?;
        page.counter("waypost_panics", "Panics anywhere in the process", panics::count())?;
        let backlog = self.readiness.backlog();
        page.gauges(
            "waypost_mail_outbox",
            "Letters in the outbox, as counted last",
            "state",
            [("waiting", backlog.letters_waiting as f64), ("givenUp", backlog.letters_given_up as f64)],
        )?;
        let refused = backlog.refused_fixes as f64;
        page.gauge("waypost_quarantine_rows", "Fixes in quarantine, as counted last", refused)
    }
}

fn sockets(page: &mut Page<'_>, open: Counts) -> fmt::Result {
    let open = [("tracker", open.trackers), ("fleet", open.fleets), ("dispatcher", open.dispatchers)];
    let open = open.map(|(kind, count)| (kind, count as f64));
    page.gauges("waypost_sockets", "Open sockets", "kind", open)
}

impl Serving {
    fn sockets(&self) -> Counts {
        match self {
            Self::Whole(_, sessions) => sessions.counts(),
            Self::Shards(shards) => {
                let open = shards.served().into_iter().map(|(_, context)| context.sessions.counts());
                open.fold(Counts::default(), |all, of| Counts {
                    trackers: all.trackers + of.trackers,
                    fleets: all.fleets + of.fleets,
                    dispatchers: all.dispatchers + of.dispatchers,
                })
            }
        }
    }

    /// Fixes between their arrival and their commit, of each live core: one full core refuses, however empty the others are.
    fn in_flight(&self) -> Vec<FixesInFlight> {
        match self {
            Self::Whole(live, _) => vec![live.in_flight()],
            Self::Shards(shards) => {
                shards.served().into_iter().map(|(_, context)| context.live.in_flight()).collect()
            }
        }
    }
}

/// What a node of a cluster has.
fn cluster(page: &mut Page<'_>, shards: &Shards) -> fmt::Result {
    let (here, elsewhere, unknown) = shards.counts();
    let places = [("here", here), ("elsewhere", elsewhere), ("unknown", unknown)];
    let places = places.map(|(place, count)| (place, count as f64));
    page.gauges("waypost_shards", "Shards of the cluster, by where this node finds them", "place", places)?;
    page.counter("waypost_shard_takeovers", "Shards that this node took over", shards.takeovers())
}

/// What came in other clients' words.
fn inputs(page: &mut Page<'_>, tallies: &Tallies) -> fmt::Result {
    let tallies = tallies.read();
    let of = |read: fn(&Tally) -> u64| tallies.iter().map(move |(input, tally)| (*input, read(tally)));
    let (name, help) = ("waypost_input_stored", "Positions stored that came by an adapter");
    page.counters(name, help, "input", of(|tally| tally.stored))?;
    let (name, help) = ("waypost_input_duplicates", "Positions that were stored before");
    page.counters(name, help, "input", of(|tally| tally.duplicates))?;
    let (name, help) =
        ("waypost_input_rejected", "Positions refused for good, and requests that cannot be read");
    page.counters(name, help, "input", of(|tally| tally.rejected))?;
    let (name, help) = ("waypost_input_contacts", "Messages without a position");
    page.counters(name, help, "input", of(|tally| tally.contacts))
}

/// What was sent to webhooks.
fn deliveries(page: &mut Page<'_>, of: &webhooks::Meters) -> fmt::Result {
    let (name, help) = ("waypost_webhook_attempts", "Attempts to deliver to webhooks, by how they ended");
    page.counters(name, help, "outcome", of.outcomes())?;
    let (name, help) = ("waypost_webhook_attempt_seconds", "From the beginning of an attempt to its end");
    page.histogram(name, help, &of.attempt_seconds.read())?;
    let (served, failing) = (of.served.get() as f64, of.failing.get() as f64);
    page.gauge("waypost_webhooks", "Webhooks that are served", served)?;
    page.gauge("waypost_webhooks_failing", "Those of them whose last attempt failed", failing)?;
    let (name, help) =
        ("waypost_webhook_lag_seconds", "How old the oldest event is that a webhook still has to take");
    page.gauge(name, help, of.lag().as_secs_f64())
}

/// What was read from brokers.
fn read_from_brokers(page: &mut Page<'_>, of: &mqtt::Meters) -> fmt::Result {
    let (brokers, connected) = (of.brokers.get() as f64, of.connected.get() as f64);
    page.gauge("waypost_mqtt_input_brokers", "Brokers that devices publish to and that are read", brokers)?;
    page.gauge("waypost_mqtt_input_brokers_connected", "Those of them that are connected", connected)?;
    let (name, help) = ("waypost_mqtt_input_reconnects", "Connections to them that came after another one");
    page.counter(name, help, of.reconnects.get())?;
    let (name, help) = ("waypost_mqtt_input_messages", "Their messages that are stored or refused for good");
    page.counter(name, help, of.messages.get())?;
    let (name, help) = ("waypost_mqtt_input_refused", "Messages of which something was refused for good");
    page.counter(name, help, of.refused.get())
}

/// What was published to brokers.
fn published(page: &mut Page<'_>, of: &mqtt_out::Meters) -> fmt::Result {
    let (name, help) = ("waypost_mqtt_published", "Messages published to brokers; events once acknowledged");
    let counts = [("position", of.positions.get()), ("event", of.events.get())];
    page.counters(name, help, "kind", counts)?;
    let (brokers, connected) = (of.brokers.get() as f64, of.connected.get() as f64);
    page.gauge("waypost_mqtt_brokers", "Brokers that are published to", brokers)?;
    page.gauge("waypost_mqtt_brokers_connected", "Those of them that are connected", connected)
}

fn queues(page: &mut Page<'_>, of: &Figures, in_flight: &[FixesInFlight]) -> fmt::Result {
    let queues = [
        ("fixes", &of.fixes),
        ("writes", &of.writes),
        ("corrections", &of.corrections),
        ("watchers", &of.watchers),
        ("cache", &of.cache),
    ];
    let counts =
        |read: fn(&waypost_actors::meters::QueueMeter) -> u64| queues.map(|(name, of)| (name, read(of)));
    page.counters("waypost_queue_offered", "What came to a queue", "queue", counts(|of| of.offered.get()))?;
    page.counters("waypost_queue_accepted", "What got through it", "queue", counts(|of| of.accepted.get()))?;
    page.counters("waypost_queue_refused", "What it turned away", "queue", counts(|of| of.refused.get()))?;
    let waited = queues.map(|(name, of)| (name, of.waited.read()));
    page.histograms("waypost_queue_waiting_seconds", "How long what got through waited", "queue", &waited)?;
    let all: FixesInFlight = in_flight.iter().copied().sum();
    page.gauge(
        "waypost_fixes_on_their_way",
        "Fixes between their arrival and their commit",
        f64::from(all.count),
    )?;
    let bound = f64::from(all.capacity);
    page.gauge("waypost_fixes_on_their_way_bound", "How many there may be", bound)?;
    let used = in_flight.iter().map(|of| f64::from(of.count) / f64::from(of.capacity.max(1)));
    let (name, help) = ("waypost_fixes_room_used", "The part of that room in use, of the fullest shard");
    page.gauge(name, help, used.fold(0.0, f64::max))
}

fn commits(page: &mut Page<'_>, of: &Figures) -> fmt::Result {
    page.histogram("waypost_commit_seconds", "What commits take", &of.commit_seconds.read())?;
    page.histogram("waypost_commit_rows", "Rows and records of a commit", &of.commit_rows.read())?;
    page.counter("waypost_commits_failed", "Commits that failed, or may have", of.failed_commits.get())?;
    page.counters(
        "waypost_numbering_failures",
        "Steps beside the commits that failed while the store answered all else",
        "step",
        NumberingStep::ALL.map(|step| (step.as_str(), of.numbering_failures(step))),
    )?;
    let lag = of.lag_seconds.read();
    page.histogram(
        "waypost_lag_seconds",
        "From the arrival of a commit's oldest fix to its acknowledgement",
        &lag,
    )?;
    let newest = of.newest_fix_millis.get() as f64 / 1_000.0;
    page.gauge(
        "waypost_newest_fix_timestamp_seconds",
        "When the newest committed fix arrived; 0: none yet",
        newest,
    )?;
    page.counter(
        "waypost_connection_looks",
        "Looks for vehicles that became silent",
        of.connection_looks.get(),
    )?;
    let waiting = of.corrections_waiting.get() as f64;
    page.gauge("waypost_corrections_waiting", "Vehicles that await a correction of late data", waiting)
}

fn actors(page: &mut Page<'_>, of: &Figures) -> fmt::Result {
    page.gauge("waypost_vehicle_actors", "Vehicle actors alive", of.vehicles_alive.get() as f64)?;
    page.counter(
        "waypost_vehicle_restarts",
        "Vehicle actors started again after a panic",
        of.restarts.get(),
    )?;
    page.counter("waypost_vehicle_rests", "Vehicles refused an actor after too many panics", of.rests.get())?;
    let stalled = of.stalled_threads.get() as f64;
    page.gauge("waypost_stalled_threads", "Threads of actors that do not answer", stalled)?;
    let snapshot = of.fence_snapshot.get() as f64;
    page.gauge("waypost_fence_snapshot_version", "How often a snapshot of fences was published", snapshot)?;
    page.counters(
        "waypost_quarantined_fixes",
        "Fixes refused for good",
        "by",
        [("store", of.refused_by_store.get()), ("engine", of.panicked_on.get())],
    )?;
    page.counters(
        "waypost_invariant_violations",
        "What can never be, and was: a defect of Waypost",
        "invariant",
        Invariant::ALL.map(|which| (which.as_str(), of.violations(which))),
    )
}

/// One reading of all metrics.
struct Scrape {
    sources: Arc<Sources>,
    format: Format,
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page::new(encoder, self.format);
        self.sources.server(&mut page)?;
        let Some(serving) = self.sources.serving.get() else { return Ok(()) };
        if let Serving::Shards(shards) = serving {
            cluster(&mut page, shards)?;
        }
        let Meters { live, inputs: tallies, webhooks, mqtt_in, mqtt_out } = &self.sources.meters;
        sockets(&mut page, serving.sockets())?;
        inputs(&mut page, tallies)?;
        read_from_brokers(&mut page, mqtt_in)?;
        deliveries(&mut page, webhooks)?;
        published(&mut page, mqtt_out)?;
        queues(&mut page, live, &serving.in_flight())?;
        commits(&mut page, live)?;
        actors(&mut page, live)
    }
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}
