//! One run: a copy of the store, a server, its clients under load; faults from the test; then the checks.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use waypost::store::open::Location;
use waypost_client::Api;
use waypost_test_support::{Launch, NODE_LISTEN, Program, Proxy, eventually, port_for_restarts};

use crate::book::{Book, Counts};
use crate::dispatcher;
use crate::ground::{Bus, DEADLINE, Ground, launch};
use crate::ledger::{Undisturbed, Violation, at_any_moment, in_the_end};
use crate::outlets::Outlets;
use crate::ownership;
use crate::purge::Doomed;
use crate::seed::dice;
use crate::shelf::{self, Shelf};

/// How a load is made.
#[derive(Clone)]
pub(crate) struct Load {
    /// One bus in this many takes part.
    pub(crate) step: usize,
    /// Fixes in a frame, at most.
    pub(crate) items: usize,
    /// The least time between two frames of a tracker.
    pub(crate) pace: Duration,
    /// The most time before a tracker reconnects.
    pub(crate) away: Duration,
    /// Without an ack for this long, a tracker takes its connection for lost.
    pub(crate) patience: Duration,
    /// The server's settings, by variable.
    pub(crate) settings: Vec<(String, String)>,
    /// Where trackers connect to instead of the server, as `host:port`.
    pub(crate) through: Option<String>,
    /// Further nodes of a cluster, of which the server is one then.
    pub(crate) peers: usize,
    /// Whom else the nodes tell of events. Then buses report to nodes by listeners and by the broker as well.
    pub(crate) outlets: Option<Rc<Outlets>>,
}

impl Load {
    /// One bus in `step`, for a run that takes seconds.
    pub(crate) fn every(step: usize) -> Self {
        let (pace, away) = (Duration::ZERO, Duration::from_millis(300));
        let patience = Duration::from_secs(15);
        Self {
            step,
            items: 40,
            pace,
            away,
            patience,
            settings: Vec::new(),
            through: None,
            peers: 0,
            outlets: None,
        }
    }

    /// Adds a setting of the server.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.push((name.to_owned(), value.into()));
        self
    }
}

/// A run in progress.
pub(crate) struct Drill {
    pub(crate) server: Program,
    pub(crate) launch: Launch,
    /// The further nodes of a cluster.
    pub(crate) peers: Vec<(Launch, Program)>,
    pub(crate) book: Rc<Book>,
    pub(crate) api: Rc<Api>,
    /// The source of the moments of the faults.
    pub(crate) dice: StdRng,
    /// Fixes that the trackers will send, repetitions included.
    pub(crate) fixes: usize,
    /// Vehicles of which nothing is to be left.
    pub(crate) doomed: Doomed,
    pub(crate) seed: u64,
    pub(crate) load: Load,
    /// Where hardware connects to, of each node.
    pub(crate) listeners: Vec<SocketAddr>,
    pub(crate) buses: Vec<Bus>,
    pub(crate) trackers: JoinSet<()>,
    dispatcher: AbortHandle,
    /// On nodes, who follows all organizations at once, and what that one was told.
    operator: Option<(AbortHandle, Rc<Book>)>,
}

impl Drill {
    /// Starts everything; the load begins here.
    pub(crate) async fn begin(ground: &mut Ground, seed: u64, load: Load) -> Self {
        undisturbed(ground, load.step).await;
        let launch = launch(ground.copy().await);
        Self::launched(ground, launch, seed, load).await
    }

    /// Like [`Self::begin`], on a prepared store of the test's own.
    pub(crate) async fn begin_at(ground: &mut Ground, launch: Launch, seed: u64, load: Load) -> Self {
        undisturbed(ground, load.step).await;
        Self::launched(ground, launch, seed, load).await
    }

    /// Like [`Self::begin`], with trackers that reach the server through a proxy.
    pub(crate) async fn through(ground: &mut Ground, seed: u64, load: Load, proxy: &Proxy) -> Self {
        undisturbed(ground, load.step).await;
        let launch = launch(ground.copy().await);
        proxy.lead_to(&launch.url());
        Self::launched(ground, launch, seed, load).await
    }

    async fn launched(ground: &Ground, mut launch: Launch, seed: u64, load: Load) -> Self {
        launch.settings.extend(load.settings.iter().cloned());
        if let Some(outlets) = &load.outlets {
            launch.settings.extend(outlets.settings(&ground.fleet.organization));
        }
        let mut peers = Vec::new();
        for _ in 0..load.peers {
            let mut peer = launch.clone();
            peer.port = port_for_restarts();
            peers.push(peer);
        }
        let mut listeners = Vec::new();
        if !peers.is_empty() {
            for (number, node) in std::iter::once(&mut launch).chain(&mut peers).enumerate() {
                node.make_node();
                ownership::name(node, number);
                if load.outlets.is_some() {
                    let address = SocketAddr::from(([127, 0, 0, 1], port_for_restarts()));
                    let listener = format!("teltonika://{address}/{}", ground.fleet.organization);
                    node.settings.push(("WAYPOST_DEVICE_LISTENERS".to_owned(), listener));
                    listeners.push(address);
                }
            }
            ownership::record(&launch.location).await;
        }
        let server = Program::start(&launch).await;
        let peers: Vec<(Launch, Program)> =
            peers.into_iter().map(|launch| (launch.clone(), Program::spawn(&launch))).collect();
        for (_, peer) in &peers {
            peer.ready().await;
        }
        let api = Rc::new(server.operator().await);
        let book = Rc::new(Book::default());
        let organization = ground.fleet.organization.clone();
        if let Some(outlets) = &load.outlets {
            outlets.order(&api, &organization).await;
            let shelf = Shelf::open(&launch.location).await;
            eventually(DEADLINE, async || shelf.publishers().await == outlets.brokers()).await;
            shelf.close().await;
        }
        let mut servers = vec![launch.url()];
        servers.extend(peers.iter().map(|(launch, _)| launch.url()));
        let dispatcher = watching((&api, &servers), Some(organization), &book).await;
        let operator = match load.peers {
            0 => None,
            _ => {
                let book = Rc::new(Book::default());
                Some((watching((&api, &servers), None, &book).await, book))
            }
        };
        let buses: Vec<Bus> = ground.fleet.buses.iter().step_by(load.step).cloned().collect();
        let fixes = buses.iter().map(|bus| bus.points.len()).sum();
        let mut drill = Self {
            server,
            launch,
            peers,
            book,
            api,
            dice: dice(seed, 0),
            fixes,
            doomed: Doomed::default(),
            seed,
            load,
            listeners,
            buses,
            trackers: JoinSet::new(),
            dispatcher,
            operator,
        };
        drill.send_unknown(&ground.fleet.organization).await;
        drill.send_trackers();
        drill
    }

    /// Random moments of the run, as counts of answered fixes, in order.
    pub(crate) fn moments(&mut self, count: usize) -> Vec<usize> {
        let most = self.fixes * 9 / 10;
        let mut moments: Vec<usize> = (0..count).map(|_| self.dice.random_range(1..most)).collect();
        moments.sort_unstable();
        moments
    }

    /// Waits until `count` fixes are answered.
    pub(crate) async fn answered(&self, count: usize) {
        let in_time = self.book.until(DEADLINE, || self.book.read(|counts| counts.answered >= count)).await;
        assert!(in_time, "seed {}: {:?} of {}", self.seed, self.summary(), self.fixes);
    }

    /// Whether everything is answered: what happens now does not happen under load.
    pub(crate) fn is_through(&self) -> bool {
        self.book.read(|counts| counts.answered == self.fixes)
    }

    /// Kills the server, checks what it left, and starts it again; returns how long after that the first fix sent
    /// since was acknowledged.
    pub(crate) async fn kill_server(&mut self) -> Option<Duration> {
        self.book.fault_begins();
        self.server.kill();
        self.look().await;
        let since = Instant::now();
        self.server = Program::spawn(&self.launch);
        self.recovered(since).await
    }

    /// A node of the cluster; the server is the first.
    pub(crate) fn node(&mut self, number: usize) -> &mut Program {
        match number.checked_sub(1) {
            None => &mut self.server,
            Some(peer) => &mut self.peers[peer].1,
        }
    }

    /// Starts a node again that has gone.
    pub(crate) async fn start_node(&mut self, number: usize) {
        let launch = number.checked_sub(1).map_or(&self.launch, |peer| &self.peers[peer].0);
        let program = Program::spawn(launch);
        program.ready().await;
        *self.node(number) = program;
    }

    /// Has the database end a node's session.
    pub(crate) async fn cut_session(&self, number: usize) {
        let launch = number.checked_sub(1).map_or(&self.launch, |peer| &self.peers[peer].0);
        let (_, address) =
            launch.settings.iter().find(|(name, _)| name == NODE_LISTEN).expect("it is a node");
        let shelf = Shelf::open(&self.launch.location).await;
        shelf.cut(address).await;
        shelf.close().await;
    }

    /// Waits for the first ack of something sent since the fault began; returns how long after `since`, or `None`
    /// if there was nothing left to send.
    pub(crate) async fn recovered(&self, since: Instant) -> Option<Duration> {
        let ended = || self.book.fault_ended_at().is_some() || self.is_through();
        let in_time = self.book.until(DEADLINE, ended).await;
        assert!(in_time, "seed {}: no ack again: {:?} of {}", self.seed, self.summary(), self.fixes);
        Some(self.book.fault_ended_at()?.saturating_duration_since(since))
    }

    /// A summary of what happened, without the long lists.
    pub(crate) fn summary(&self) -> Counts {
        self.book.read(|counts| Counts { latencies: Vec::new(), ..counts.clone() })
    }

    /// Everything that was acknowledged or sent to the feed so far must be stored now.
    pub(crate) async fn look(&self) {
        let transcript = self.doomed.left_out(self.book.transcript());
        let shelf = Shelf::open(&self.launch.location).await;
        let stored = shelf.keys().await;
        shelf.close().await;
        self.judge(&at_any_moment(&transcript, &stored));
    }

    fn judge(&self, violations: &[Violation]) {
        let shown = &violations[..violations.len().min(10)];
        assert!(
            violations.is_empty(),
            "WAYPOST_TEST_SEED={}: {} promises broken, such as {shown:#?}\n{:?}",
            self.seed,
            violations.len(),
            self.summary()
        );
    }

    /// Waits until everything is acknowledged, corrected and sent to the feed, stops the server and checks it all.
    pub(crate) async fn finish(mut self, ground: &mut Ground) -> Counts {
        self.all_answered().await;
        let place = self.launch.location.clone();
        self.all_corrected().await;
        let peers = self.peers.iter_mut().map(|(_, peer)| peer);
        Program::stop_all(peers.chain([&mut self.server])).await;
        self.book.is_over.set(true);
        self.dispatcher.abort();
        if !self.peers.is_empty() {
            ownership::check(&place, self.seed).await;
        }
        let mut stored = shelf::read_whole(&place).await;
        stored.purged_numbers = self.doomed.numbers;
        let undisturbed = Rc::clone(&ground.undisturbed[&self.load.step]);
        let transcript = self.doomed.left_out(self.book.transcript());
        self.judge(&in_the_end(&transcript, &stored, &undisturbed));
        if let Some((operator, book)) = &self.operator {
            operator.abort();
            let transcript = self.doomed.left_out(self.book.as_told_to(book));
            self.judge(&in_the_end(&transcript, &stored, &undisturbed));
        }
        ground.drop_copy(&place).await;
        self.book.counts()
    }

    /// Waits until every tracker is done.
    pub(crate) async fn all_answered(&mut self) {
        while let Some(done) = self.next_tracker().await {
            done.expect("a tracker does not panic");
        }
    }

    async fn next_tracker(&mut self) -> Option<Result<(), tokio::task::JoinError>> {
        // As long as something changes, it is not stuck.
        loop {
            let before = self.book.read(|counts| counts.answered);
            match tokio::time::timeout(DEADLINE, self.trackers.join_next()).await {
                Ok(done) => return done,
                Err(_) if self.book.read(|counts| counts.answered) > before => {}
                Err(_) => panic!("seed {}: stuck: {:?} of {}", self.seed, self.summary(), self.fixes),
            }
        }
    }

    /// Waits until no vehicle awaits a correction, and the dispatcher has received everything.
    async fn all_corrected(&self) {
        let shelf = Shelf::open(&self.launch.location).await;
        shelf.has_all(&self.book.transcript().entrusted).await;
        eventually(DEADLINE, || shelf.has_no_dirty()).await;
        eventually(DEADLINE, || shelf.has_nothing_to_purge()).await;
        let last = shelf.newest_record().await;
        if let Some(outlets) = &self.load.outlets {
            outlets.told_all(&shelf.at_geofences().await).await;
        }
        shelf.close().await;
        // If it never comes, the checks report it.
        let operator = self.operator.as_ref().map(|(_, book)| book);
        for book in std::iter::once(&self.book).chain(operator) {
            book.until(Duration::from_secs(30), || book.last_told() >= last).await;
        }
    }
}

/// Somebody on the feed, once that is so.
async fn watching((api, servers): (&Rc<Api>, &[String]), of: Option<String>, book: &Rc<Book>) -> AbortHandle {
    let watching = dispatcher::watch((Rc::clone(api), servers.to_vec()), of, Rc::clone(book));
    let watching = tokio::task::spawn_local(watching).abort_handle();
    assert!(book.until(DEADLINE, || book.read(|counts| counts.subscriptions > 0)).await, "no feed");
    watching
}

/// Runs the load of these buses without faults, once per ground.
async fn undisturbed(ground: &mut Ground, step: usize) {
    if !ground.undisturbed.contains_key(&step) {
        let place = ground.copy().await;
        learn_undisturbed(ground, step, place).await;
    }
}

/// Runs the load of these buses without faults, on a copy of the prepared store.
pub(crate) async fn learn_undisturbed(ground: &mut Ground, step: usize, place: Location) {
    let mut drill = Drill::launched(ground, launch(place), 0, Load::every(step)).await;
    drill.all_answered().await;
    drill.all_corrected().await;
    drill.server.stop().await;
    drill.dispatcher.abort();
    let stored = shelf::read_whole(&drill.launch.location).await;
    let fixes: HashSet<_> = stored.fixes.keys().copied().collect();
    let undisturbed = Undisturbed { fixes, records: stored.lasting() };
    assert!(!undisturbed.records.is_empty(), "a load without records checks little");
    // The undisturbed run must itself keep every promise.
    drill.judge(&in_the_end(&drill.book.transcript(), &stored, &undisturbed));
    ground.drop_copy(&drill.launch.location).await;
    ground.undisturbed.insert(step, Rc::new(undisturbed));
}
