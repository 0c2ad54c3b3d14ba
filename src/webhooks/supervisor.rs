//! Starts and ends the tasks of webhooks, tells them of commits, carries out orders, and saves what they note.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;
use waypost_actors::live::Live;
use waypost_actors::model::OrganizationId;
use waypost_actors::ports::RecordLog;
use waypost_actors::watch::{Audience, Interest, News, Watch};

use super::client::{Dialer, system_resolver};
use super::delivery_log::{self, DeliveryLog};
use super::handle::{Inbox, NotDone, Order, Webhooks};
use super::manual::send_now;
use super::orders::Orders;
use super::parts::{Ports, Shared};
use super::worker::Worker;
use crate::clock::Clock;
use crate::store::sql::Db;
use crate::store::webhook_delivery::{Progress, Target, targets};

/// How often what happened is saved.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// Saves between two of the progress of webhooks that delivered nothing.
const SAVES_BETWEEN_ALL: u32 = 60;
/// Saves between two polls for changes of configuration that were missed.
const SAVES_BETWEEN_LOOKS: u32 = 10;
/// Pause before trying again what the store or the live core refused.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Webhooks that read the store at the same time.
const READING: usize = 4;
/// Orders under way at the same time.
const MOST_ORDERED: usize = 16;

/// A webhook that is served.
struct Served {
    target: Target,
    moves: i64,
    wake: Rc<Notify>,
    task: AbortOnDropHandle<()>,
}

/// Delivers to webhooks.
pub struct Supervisor {
    db: Db,
    live: Live,
    shared: Rc<Shared>,
    inbox: Inbox,
    served: HashMap<Uuid, Served>,
    ordering: Arc<Semaphore>,
}

impl Supervisor {
    /// Deliveries on this thread, reached by a handle; `None` if that has deliveries already.
    #[must_use]
    pub fn new(
        (db, live, clock): (Db, Live, Clock),
        log: Arc<dyn RecordLog>,
        handle: &Webhooks,
        ports: Ports,
    ) -> Option<Self> {
        let inbox = handle.take_inbox()?;
        let shared = Shared {
            clock,
            log,
            master: handle.master.clone(),
            dialer: Dialer::new((*handle.guard).clone(), system_resolver()),
            ports,
            recent: RefCell::default(),
            delivery_log: RefCell::new(DeliveryLog::new(Arc::clone(&handle.meters))),
            reading: Semaphore::new(READING),
            orders: Orders::default(),
        };
        let (served, ordering) = (HashMap::new(), Arc::new(Semaphore::new(MOST_ORDERED)));
        Some(Self { db, live, shared: Rc::new(shared), inbox, served, ordering })
    }

    /// Delivers until it is asked to stop.
    pub async fn run(mut self) {
        let mut watch: Option<Watch> = None;
        let (mut tick, mut saves) = (interval(SAVE_EVERY), 0_u32);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.look().await;
        loop {
            if self.served.is_empty() {
                watch = None;
            } else if watch.is_none() {
                watch = self.watch().await;
            }
            tokio::select! {
                _ = self.inbox.stopping.changed() => break,
                () = self.inbox.changed.notified() => self.look().await,
                Some(order) = self.inbox.orders.recv() => self.carry_out(order),
                news = news(&mut watch) => match news {
                    News::Commit(update, _) => {
                        let whose = self.shared.recent.borrow_mut().add(&update);
                        self.wake(|organization| whose.contains(&organization));
                    }
                    News::Provisional(_) => {}
                    News::Lost => watch = None,
                },
                _ = tick.tick() => {
                    saves = saves.wrapping_add(1);
                    if let Some(known) = watch.as_ref().and_then(Watch::known_up_to) {
                        self.shared.recent.borrow_mut().passed(known);
                    }
                    if saves % SAVES_BETWEEN_ALL == 0 {
                        self.shared.delivery_log.borrow_mut().hurry();
                    }
                    if saves % SAVES_BETWEEN_LOOKS == 0 {
                        self.look().await;
                    }
                    self.shared.delivery_log.borrow_mut().tell(self.shared.clock.now());
                    delivery_log::save(&self.shared.delivery_log, &self.db).await;
                }
            }
        }
        self.served.clear();
        self.shared.delivery_log.borrow_mut().hurry();
        delivery_log::save(&self.shared.delivery_log, &self.db).await;
    }

    /// Watches the live core; what came before is in the log.
    async fn watch(&self) -> Option<Watch> {
        let Ok(mut watch) = self.live.watch(Interest::of_log(Audience::Everyone)).await else {
            sleep(AGAIN_AFTER).await;
            return None;
        };
        watch.vehicles = Vec::new();
        self.shared.recent.borrow_mut().begin(watch.next_sequence);
        self.wake(|_| true);
        Some(watch)
    }

    fn wake(&self, whose: impl Fn(OrganizationId) -> bool) {
        for served in self.served.values().filter(|served| whose(served.target.organization_id)) {
            served.wake.notify_one();
        }
    }

    /// Starts and ends tasks, so that every enabled webhook is served as it is now.
    async fn look(&mut self) {
        match targets(&self.db).await {
            Ok(targets) => self.serve(targets),
            Err(error) => tracing::debug!(%error, "webhooks are looked for later"),
        }
    }

    fn serve(&mut self, targets: Vec<(Target, Progress)>) {
        let wanted: HashSet<Uuid> = targets.iter().map(|(target, _)| target.id).collect();
        let organizations = targets.iter().map(|(target, _)| target.organization_id).collect();
        self.shared.recent.borrow_mut().follow(&organizations);
        self.served.retain(|id, served| wanted.contains(id) && !served.task.is_finished());
        self.shared.delivery_log.borrow_mut().keep(|id| wanted.contains(id));
        for (target, stored) in targets {
            let known = self.served.get(&target.id);
            if known.is_some_and(|served| served.target == target && served.moves == stored.moves) {
                continue;
            }
            let is_edited = known.is_some_and(|served| served.target != target);
            let reached = self.shared.delivery_log.borrow().progress(target.id);
            let mut progress = reached.filter(|reached| reached.moves == stored.moves).unwrap_or(stored);
            if is_edited {
                // What failed was sent to what the webhook was before; as it is now, it is tried at once.
                progress = Progress { failing_since: None, stopped: None, ..progress };
            }
            self.shared.delivery_log.borrow_mut().reached(target.id, progress, is_edited);
            let wake = Rc::new(Notify::new());
            let worker = Worker::new(Rc::clone(&self.shared), target.clone(), progress, Rc::clone(&wake));
            let task = AbortOnDropHandle::new(actix_rt::spawn(worker.run()));
            let served = Served { moves: stored.moves, wake, task, target };
            self.served.insert(served.target.id, served);
        }
    }

    fn carry_out(&self, Order { webhook, what, reply }: Order) {
        let (shared, db) = (Rc::clone(&self.shared), self.db.clone());
        let Ok(permit) = Arc::clone(&self.ordering).try_acquire_owned() else {
            drop(reply.send(Err(NotDone::Busy)));
            return;
        };
        actix_rt::spawn(async move {
            let sent = send_now(&shared, &db, webhook, what).await;
            // The request that asked may be gone.
            drop(reply.send(sent));
            drop(permit);
        });
    }
}

/// The next news of a watch, if there is one.
async fn news(watch: &mut Option<Watch>) -> News {
    match watch {
        Some(watch) => poll_fn(|cx| watch.poll_news(false, cx)).await,
        None => pending().await,
    }
}
