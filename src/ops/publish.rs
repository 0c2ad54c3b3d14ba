//! From the commit of a change to the live core: in order, and to the end even if the caller goes away.
//!
//! Two changes of one thing may be committed in one order and get here in the other. So nobody tells
//! what he wrote: in the thing's turn, what is stored now is read and told. Whoever comes last tells
//! the newest, and what was deleted stays so.

use std::time::Duration;

use tokio::sync::oneshot;
use uuid::Uuid;
use waypost_actors::live::LiveError;
use waypost_actors::model::{Fence, GeofenceId, Timestamp, TrackerId, Vehicle, VehicleId};

use super::error::OpError;
use crate::auth::OrgScope;
use crate::context::Context;
use crate::domain::tracker::TrackerConfig;
use crate::sessions::Sessions;
use crate::store::sql::{SqlError, Tx};
use crate::store::{calibration, geofence, out_of_service, tracker, vehicle};

/// Between two attempts to read what is stored.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Something the live core knows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Thing {
    /// A vehicle.
    Vehicle(VehicleId),
    /// A geofence.
    Geofence(GeofenceId),
}

impl Thing {
    const fn id(self) -> Uuid {
        match self {
            Self::Vehicle(id) => id.0,
            Self::Geofence(id) => id.0,
        }
    }
}

/// A thing as it is stored.
enum Stored {
    /// A vehicle, and what its trackers are to do.
    Vehicle(Vehicle, Vec<TrackerId>, TrackerConfig),
    /// Gone, and since when.
    NoVehicle(VehicleId, Timestamp),
    Geofence(Fence),
}

/// Ends open sockets, or tells them something.
type TellSessions = Box<dyn FnOnce(&Sessions) + Send>;

/// What follows from a commit, beside what the live core is told.
#[derive(Default)]
pub(super) struct AfterCommit {
    /// Letters were put into the outbox.
    pub(super) wakes_post: bool,
    /// Sockets are to end, or to hear of it; in this order.
    pub(super) sessions: Vec<TellSessions>,
}

impl AfterCommit {
    fn run(self, context: &Context) {
        if self.wakes_post {
            context.mail.wake();
        }
        self.sessions.into_iter().for_each(|tell| tell(&context.sessions));
    }
}

/// Commits a change of some things and tells the live core, unless too many changes are on their way to it. After an error of the
/// commit nobody knows whether it happened: the caller is told so, and the core gets what is stored once that can be read.
pub(super) async fn commit(
    context: &Context,
    tx: Tx,
    things: Vec<(OrgScope, Thing)>,
    after: AfterCommit,
) -> Result<(), OpError> {
    let place = match things.is_empty() {
        true => None,
        false => Some(
            context.keyed_lock.reserve(things.iter().map(|(_, thing)| thing.id())).ok_or(OpError::Busy)?,
        ),
    };
    let context = context.clone();
    let (done, result) = oneshot::channel();
    tokio::spawn(async move {
        let mut caller = Some(done);
        let mut answer = |said: Result<(), OpError>| {
            caller.take().map(|done| done.send(said));
        };
        let after = match tx.commit().await {
            Ok(()) => after,
            Err(error) => {
                answer(Err(error.into()));
                AfterCommit::default()
            }
        };
        for (scope, thing) in things {
            let _turn = context.keyed_lock.lock(thing.id()).await;
            let stored = loop {
                match read(&context, &scope, thing).await {
                    Ok(stored) => break stored,
                    Err(error) => answer(Err(error.into())),
                }
                tokio::time::sleep(AGAIN_AFTER).await;
            };
            if let Err(error) = tell(&context, stored).await {
                answer(Err(error.into()));
            }
        }
        after.run(&context);
        answer(Ok(()));
        drop(place);
    });
    result.await.unwrap_or_else(|_| Err(OpError::Internal("a change was not seen through".to_owned())))
}

async fn read(context: &Context, scope: &OrgScope, thing: Thing) -> Result<Option<Stored>, SqlError> {
    let on = context.db.read();
    Ok(match thing {
        Thing::Vehicle(id) => {
            let spans = out_of_service::spans(on, scope, id).await?;
            let calibrations = calibration::versions(context.db.read(), scope, id).await?;
            Some(match vehicle::find(context.db.read(), scope, id).await? {
                Some(vehicle) => {
                    let trackers = tracker::installed_in(context.db.read(), scope, id).await?;
                    let config = vehicle.said.tracking.config();
                    Stored::Vehicle(vehicle.tracked(spans, calibrations), trackers, config)
                }
                None => {
                    let since = spans.last().map_or_else(|| context.clock.now(), |(from, _)| *from);
                    Stored::NoVehicle(id, since)
                }
            })
        }
        // A deleted one is there, with the version that ends it; none was ever made if it is not.
        Thing::Geofence(id) => geofence::unsettled(on, scope, id).await?.map(Stored::Geofence),
    })
}

async fn tell(context: &Context, stored: Option<Stored>) -> Result<(), LiveError> {
    match stored {
        Some(Stored::Vehicle(vehicle, trackers, config)) => {
            trackers.into_iter().for_each(|tracker| context.sessions.configure(tracker, config));
            let id = vehicle.id;
            let told = context.live.put_vehicle(vehicle).await;
            // Without it a start may find that fixes of before would be judged otherwise now, and judge them anew.
            if let Err(error) = context.track.save_state(id).await {
                tracing::warn!(%error, vehicle.id = %id, "the vehicle's state could not be stored; the fix log tells it");
            }
            told
        }
        Some(Stored::NoVehicle(id, since)) => context.live.remove_vehicle(id, since).await,
        Some(Stored::Geofence(fence)) => context.live.put_fence(fence).await,
        None => Ok(()),
    }
}
