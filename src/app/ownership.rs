//! Which shards of the cluster this node serves: takes what falls to it and gives back what falls to others, by each look at the
//! locks.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use super::error::StartError;
use super::inputs;
use super::rest::Rest;
use super::shard_server::{Parts, ShardServer, Store};
use super::upkeep::renew_partitions;
use crate::cluster::assignment::assign;
use crate::cluster::shards::Shards;
use crate::context::Context;
use crate::sessions::Counts;
use crate::store::claim_session::{ClaimSession, SessionGone};
use crate::store::claims::Claimed;
use crate::store::handover;
use crate::store::open::{for_writer, open_and_migrate};
use crate::store::shard::Shard;
use crate::store::sql::Db;

/// Pause between two attempts to join.
pub(super) const JOIN_EVERY: Duration = Duration::from_millis(500);
/// How long the sockets of a shard that is given back have to end.
const SOCKETS_WITHIN: Duration = Duration::from_secs(1);
const LOOK_FOR_SOCKETS_EVERY: Duration = Duration::from_millis(20);
/// How long requests in progress of such a shard have; new ones wait for its next owner for longer.
const REQUESTS_WITHIN: Duration = Duration::from_secs(3);
/// How long a node that stops goes on handing requests on, so that a balancer which asks `/readyz` every two seconds finds out.
const DRAIN_FOR: Duration = Duration::from_secs(3);
/// And how long after its last shard was given back: by then every node has seen who has it.
const SEEN_WITHIN: Duration = Duration::from_secs(1);

/// What this node does with a shard.
enum Held {
    Starting,
    /// With the number of its start.
    Serving(u64, Box<ShardServer>),
    Ending,
}

enum Event {
    /// Of the session with this number.
    Started(u64, Shard, Result<Box<ShardServer>, StartError>),
    Ended(Shard),
    /// Somebody else has it, whatever this node's session says. With the number of the start.
    TakenOver(Shard, u64),
    /// Its live core cannot go on.
    Broken(String),
}

/// Joins the cluster of the database, as the first node once its store is that of one. `known`: its connections, if they are open
/// already. `None` while a single server has the store, or another node prepares it.
pub(super) async fn join(
    parts: &Parts,
    (url, node): (&str, SocketAddr),
    shards: &Shards,
    known: Option<&Db>,
) -> Result<Option<(ClaimSession, Db)>, StartError> {
    let (options, seen) = (parts.settings.store(), shards.clone());
    let saw = Box::new(move |claimed: &Claimed, at| seen.saw(claimed, node, at));
    let Some((session, is_alone)) = ClaimSession::join(url, node, saw).await? else { return Ok(None) };
    let opening = async {
        let db = match known {
            Some(db) => db.clone(),
            None => open_and_migrate(&options).await?,
        };
        if is_alone {
            renew_partitions(&db, &parts.clock).await;
            handover::to_cluster(&db, &for_writer(&db, &options)?).await?;
        }
        Ok::<_, StartError>(db)
    };
    let db = tokio::select! {
        opened = opening => opened?,
        () = session.gone() => return Err(SessionGone.into()),
    };
    if is_alone {
        session.let_others_in().await?;
    }
    session.want().await?;
    Ok(Some((session, db)))
}

/// Takes shards and gives them back, for as long as the node runs.
pub(super) struct Ownership {
    parts: Rc<Parts>,
    url: String,
    node: SocketAddr,
    store: Store,
    shards: Shards,
    sockets: TaskTracker,
    session: Option<ClaimSession>,
    /// Counts sessions.
    sessions: u64,
    /// Counts starts.
    started: u64,
    rest: Rest,
    /// Why it has not joined again, as told last.
    not_joined: Option<String>,
    held: BTreeMap<Shard, Held>,
    sender: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
    /// Whether other nodes want shards.
    has_others: bool,
    /// When a node that stops may end, once it has given everything back.
    drained_at: Option<Instant>,
}

impl Ownership {
    pub(super) fn new(
        parts: Rc<Parts>,
        (url, node): (String, SocketAddr),
        (session, store): (ClaimSession, Store),
        shards: Shards,
        sockets: TaskTracker,
    ) -> Self {
        // One event for each thing that was begun, of which there are a few for each shard.
        let (sender, events) = mpsc::unbounded_channel();
        Self {
            parts,
            url,
            node,
            store,
            shards,
            sockets,
            session: Some(session),
            sessions: 1,
            started: 0,
            rest: Rest::default(),
            not_joined: None,
            held: BTreeMap::new(),
            sender,
            events,
            has_others: false,
            drained_at: None,
        }
    }

    /// Runs until it is asked to drain, has given everything back and others know it; or until a live core cannot go on: then says
    /// why. Gives the session too: what other nodes handed on to this one ends once they miss it.
    pub(super) async fn run(
        mut self,
        mut draining: watch::Receiver<bool>,
    ) -> (Option<ClaimSession>, Option<String>) {
        loop {
            tokio::select! {
                seen = look(&mut self.session) => match seen {
                    Some(Ok(claimed)) => self.follow(claimed).await,
                    Some(Err(SessionGone)) => self.lose(),
                    None => self.join_again().await,
                },
                Some(event) = self.events.recv() => {
                    if let Some(why) = self.handle(event).await {
                        return (self.session, Some(why));
                    }
                }
                _ = draining.changed(), if self.drained_at.is_none() => {
                    self.drained_at = Some(Instant::now() + DRAIN_FOR);
                    self.drain().await;
                }
            }
            let is_drained = self.drained_at.is_some_and(|at| !self.has_others || Instant::now() >= at);
            if is_drained && self.held.is_empty() {
                return (self.session, None);
            }
        }
    }

    async fn drain(&mut self) {
        if let Some(session) = &self.session
            && session.drain().await.is_err()
        {
            tracing::debug!("the other nodes find out by themselves that this one ends");
        }
        self.end_all();
    }

    fn end_all(&mut self) {
        let own: Vec<Shard> = self.held.keys().copied().collect();
        own.into_iter().for_each(|shard| self.end(shard));
    }

    /// The session is gone, and with it every lock.
    fn lose(&mut self) {
        if self.session.take().is_some() {
            self.sessions += 1;
            // Whoever joins again wants shards.
            self.rest.cancel();
            self.end_all();
        }
    }

    async fn join_again(&mut self) {
        let node = (self.url.as_str(), self.node);
        match join(&self.parts, node, &self.shards, Some(&self.store.db)).await {
            Ok(None) => tracing::debug!("not joined yet: the store is another's"),
            Ok(Some((session, _))) => {
                tracing::info!("this node has joined again");
                self.not_joined = None;
                self.session = Some(session);
                if self.drained_at.is_some() {
                    self.drain().await;
                }
            }
            Err(error) => {
                let error = format!("{:#}", anyhow::Error::from(error));
                if self.not_joined.as_ref() != Some(&error) {
                    tracing::warn!(error, "this node has not joined again yet");
                    self.not_joined = Some(error);
                }
            }
        }
    }

    /// Takes what falls to this node and is free, and gives back what falls to another.
    async fn follow(&mut self, Claimed { nodes, owners, .. }: Claimed) {
        let targets = assign(&nodes);
        self.has_others = nodes.iter().any(|node| *node != self.node);
        self.want_again().await;
        for shard in Shard::all() {
            let falls_to = targets.get(&shard).copied();
            if falls_to == Some(self.node) && self.drained_at.is_none() {
                if !owners.contains_key(&shard) && !self.held.contains_key(&shard) {
                    self.take(shard).await;
                }
            } else if falls_to.is_some() && matches!(self.held.get(&shard), Some(Held::Serving(..))) {
                tracing::info!(shard = shard.number(), "given back to another node");
                self.end(shard);
            }
        }
    }

    async fn take(&mut self, shard: Shard) {
        let Some(session) = &self.session else { return };
        match session.take(shard).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(SessionGone) => return self.lose(),
        }
        self.held.insert(shard, Held::Starting);
        let (parts, store) = (Rc::clone(&self.parts), self.store.clone());
        let (sender, session) = (self.sender.clone(), self.sessions);
        actix_rt::spawn(async move {
            let started = ShardServer::open(&parts, &store, shard).await.map(Box::new);
            sender.send(Event::Started(session, shard, started)).ok();
        });
    }

    async fn handle(&mut self, event: Event) -> Option<String> {
        match event {
            Event::Started(session, shard, Ok(server)) => {
                self.started += 1;
                self.rest.started();
                self.held.insert(shard, Held::Serving(self.started, server));
                if session == self.sessions && self.drained_at.is_none() {
                    self.serve(shard);
                } else {
                    self.end(shard);
                }
            }
            Event::Started(session, shard, Err(error)) => {
                self.start_failed(session, shard, error).await;
                self.ended(shard).await;
            }
            Event::Ended(shard) => self.ended(shard).await,
            Event::TakenOver(shard, start) => {
                // A core that was stopped tells this too.
                if matches!(self.held.get(&shard), Some(Held::Serving(of, _)) if *of == start) {
                    self.end(shard);
                }
            }
            Event::Broken(why) => return Some(why),
        }
        None
    }

    /// Tries again at the next look, unless this node is to leave its shards to others for a while.
    async fn start_failed(&mut self, session: u64, shard: Shard, error: StartError) {
        let error = format!("{:#}", anyhow::Error::from(error));
        // Those that were begun before a rest fail for the same reason.
        if !self.rest.is_on() {
            tracing::error!(shard = shard.number(), error, "a shard cannot be taken over; it is tried again");
        }
        let may_rest = self.has_others && self.drained_at.is_none();
        if session == self.sessions && self.rest.failed(may_rest, Instant::now()) {
            tracing::error!("this node cannot take over shards; for a minute it leaves them to others");
            // What it serves it gives back once they want it.
            if let Some(session) = &self.session
                && session.drain().await.is_err()
            {
                self.lose();
            }
        }
    }

    /// Wants shards again after a rest.
    async fn want_again(&mut self) {
        if self.drained_at.is_none()
            && self.rest.end(self.has_others, Instant::now())
            && let Some(session) = &self.session
            && session.want().await.is_err()
        {
            self.lose();
        }
    }

    fn serve(&mut self, shard: Shard) {
        let Some(Held::Serving(start, server)) = self.held.get_mut(&shard) else { return };
        server.run();
        let context = server.context.clone();
        tracing::info!(shard = shard.number(), epoch = context.track.epoch(), "takes over");
        let first_start = server.first_start.as_ref();
        if let Some(notice) = first_start.and_then(|start| start.notice(&context.settings.public_url())) {
            println!("{notice}");
        }
        if let Err(error) = inputs::subscribe(&context, &server.missing, &self.sockets) {
            tracing::error!(
                error = format!("{:#}", anyhow::Error::from(error)),
                "nobody reports by this broker"
            );
        }
        actix_rt::spawn(watch_over((shard, *start), context.clone(), self.sender.clone()));
        self.shards.serve(shard, context);
    }

    /// Begins to end a shard's service; one that starts ends once it has started.
    fn end(&mut self, shard: Shard) {
        let Some(held) = self.held.get_mut(&shard).filter(|held| matches!(held, Held::Serving(..))) else {
            return;
        };
        let Held::Serving(_, server) = std::mem::replace(held, Held::Ending) else { return };
        let requests = self.shards.leave(shard);
        let sender = self.sender.clone();
        actix_rt::spawn(async move {
            tokio::join!(end_sockets(&server.context), end_requests(requests));
            server.end().await;
            sender.send(Event::Ended(shard)).ok();
        });
    }

    /// A shard's service has ended; its lock goes back, if this session has it.
    async fn ended(&mut self, shard: Shard) {
        self.held.remove(&shard);
        self.drained_at = self.drained_at.map(|at| at.max(Instant::now() + SEEN_WITHIN));
        if let Some(session) = &self.session
            && session.give_back(shard).await.is_err()
        {
            self.lose();
        }
    }
}

/// Waits for the next look at the locks; without a session, until it is time to join again: then `None`.
async fn look(session: &mut Option<ClaimSession>) -> Option<Result<Claimed, SessionGone>> {
    match session {
        Some(session) => Some(session.look().await),
        None => {
            sleep(JOIN_EVERY).await;
            None
        }
    }
}

async fn watch_over((shard, start): (Shard, u64), context: Context, events: mpsc::UnboundedSender<Event>) {
    let event = tokio::select! {
        () = context.live.taken_over() => Event::TakenOver(shard, start),
        why = context.live.broken() => Event::Broken(why),
    };
    events.send(event).ok();
}

/// Tells a shard's sockets to come back, and waits for them for a while.
async fn end_sockets(context: &Context) {
    context.sessions.end_all();
    let until = Instant::now() + SOCKETS_WITHIN;
    while context.sessions.counts() != Counts::default() && Instant::now() < until {
        sleep(LOOK_FOR_SOCKETS_EVERY).await;
    }
}

/// Waits for a while for the requests of a shard that are in progress: what an edit has stored is answered once the live core has
/// settled it, and without that its client would make it again.
async fn end_requests(requests: Option<TaskTracker>) {
    let Some(requests) = requests else { return };
    if timeout(REQUESTS_WITHIN, requests.wait()).await.is_err() {
        tracing::info!(left = requests.len(), "requests that take long may be refused though they are done");
    }
}
