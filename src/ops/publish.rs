//! Carries a change from its commit to the live core: in order, and to the end even if the caller goes away.
//!
//! Two changes to one thing may be committed in one order and arrive here in the other. So no change publishes
//! what it wrote itself: in the thing's turn, what is stored by then is read and published. The last turn
//! publishes the newest state, and what was deleted stays deleted.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;
use waypost_actors::live::LiveError;
use waypost_actors::model::{Fence, GeofenceId, OrganizationId, Timestamp, TrackerId, Vehicle, VehicleId};

use super::error::OpError;
use crate::auth::OrgScope;
use crate::context::Context;
use crate::domain::tracker::TrackerConfig;
use crate::sessions::Sessions;
use crate::store::sql::{SqlError, Tx};
use crate::store::{calibration, geofence, organization, out_of_service, tracker, vehicle};

/// Pause between two attempts to read what is stored.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Resources of one change that are told to the live core at once: a deleted organization's may be thousands, and each
/// waits for a commit.
const AT_ONCE: usize = 32;

/// A resource that the live core keeps a copy of.
#[derive(Clone, Copy, Debug)]
pub(super) enum LiveResource {
    /// A vehicle.
    Vehicle(VehicleId),
    /// A geofence.
    Geofence(GeofenceId),
}

impl LiveResource {
    const fn id(self) -> Uuid {
        match self {
            Self::Vehicle(id) => id.0,
            Self::Geofence(id) => id.0,
        }
    }
}

/// The stored state of a thing.
enum Stored {
    /// A vehicle, and the config of its trackers.
    Vehicle(Vehicle, Vec<TrackerId>, TrackerConfig),
    /// Deleted, with the instant since when.
    NoVehicle(VehicleId, Timestamp),
    /// With the versions that are not settled.
    Geofence(Fence),
    /// With its newest version: all are settled, and its name may have changed.
    RenamedGeofence(Fence),
}

/// Ends open sockets, or sends them something.
type TellSessions = Box<dyn FnOnce(&Sessions) + Send>;

/// Side effects of a commit, besides updating the live core.
#[derive(Default)]
pub(super) struct AfterCommit {
    /// Changes wait for their numbers.
    pub(super) logs_changes: bool,
    /// Organizations whose settings may have changed.
    pub(super) organizations: Vec<OrganizationId>,
    /// Letters were put into the outbox.
    pub(super) wakes_post: bool,
    /// Something was deleted with all that was recorded of it.
    pub(super) wakes_purge: bool,
    /// Messages to open sockets, such as that they must end; sent in this order.
    pub(super) sessions: Vec<TellSessions>,
}

impl AfterCommit {
    fn run(self, context: &Context) {
        if self.wakes_post {
            context.mail.wake();
        }
        if self.wakes_purge {
            context.purges.notify_one();
        }
        self.sessions.into_iter().for_each(|tell| tell(&context.sessions));
    }
}

/// Commits a change to some things and updates the live core, or refuses if too many changes are still on their way
/// to it. If the commit fails, its outcome is unknown: the caller gets the error, and the live core is updated from
/// what is stored as soon as that can be read.
pub(super) async fn commit(
    context: &Context,
    tx: Tx,
    live_resources: Vec<(OrgScope, LiveResource)>,
    after: AfterCommit,
) -> Result<(), OpError> {
    let place = match live_resources.is_empty() {
        true => None,
        false => Some(
            context
                .keyed_lock
                .reserve(live_resources.iter().map(|(_, live_resource)| live_resource.id()))
                .ok_or(OpError::Busy)?,
        ),
    };
    let context = context.clone();
    let (done, result) = oneshot::channel();
    tokio::spawn(async move {
        let caller = Mutex::new(Some(done));
        let answer = |outcome: Result<(), OpError>| {
            let waits = caller.lock().take();
            waits.map(|done| done.send(outcome));
        };
        let committed = tx.commit().await;
        if after.logs_changes {
            context.live.number_changes();
        }
        let after = match committed {
            Ok(()) => after,
            Err(error) => {
                answer(Err(error.into()));
                AfterCommit::default()
            }
        };
        publish(&context, live_resources, &answer).await;
        for organization in &after.organizations {
            if let Err(error) = tell_silence(&context, *organization).await {
                answer(Err(error));
            }
        }
        after.run(&context);
        answer(Ok(()));
        drop(place);
    });
    result.await.unwrap_or_else(|_| Err(OpError::Internal("a change was not seen through".into())))
}

/// Tells the live core of what changed, each in its turn and however long that takes; `answer` hears what fails meanwhile.
async fn publish(
    context: &Context,
    mut live_resources: Vec<(OrgScope, LiveResource)>,
    answer: &impl Fn(Result<(), OpError>),
) {
    let mut known = HashSet::new();
    live_resources.retain(|(_, live_resource)| known.insert(live_resource.id()));
    let see_through = async |(scope, live_resource): (OrgScope, LiveResource)| {
        let turn = context.keyed_lock.lock(live_resource.id()).await;
        let stored = loop {
            match read(context, &scope, live_resource).await {
                Ok(stored) => break stored,
                Err(error) => answer(Err(error.into())),
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        };
        let told = match stored {
            Some(Stored::Geofence(fence)) => return Some((turn, fence)),
            Some(Stored::RenamedGeofence(fence)) => context.live.rename_fence(fence).await,
            Some(Stored::Vehicle(vehicle, trackers, config)) => {
                trackers.into_iter().for_each(|tracker| context.sessions.configure(tracker, config));
                put_vehicle(context, vehicle).await
            }
            Some(Stored::NoVehicle(id, since)) => context.live.remove_vehicle(id, since).await,
            None => Ok(()),
        };
        if let Err(error) = told {
            answer(Err(error.into()));
        }
        None
    };
    // Those of an import are settled together, once all are in force, and each has its turn until then.
    let settling = stream::iter(live_resources).map(see_through).buffer_unordered(AT_ONCE);
    let settling: Vec<_> = settling.filter_map(future::ready).collect().await;
    let (_turns, fences): (Vec<_>, Vec<_>) = settling.into_iter().unzip();
    if !fences.is_empty()
        && let Err(error) = context.live.put_fences(fences).await
    {
        answer(Err(error.into()));
    }
}

/// Tells the live core how much silence counts in an organization.
async fn tell_silence(context: &Context, organization: OrganizationId) -> Result<(), OpError> {
    let _turn = context.keyed_lock.lock(organization.0).await;
    for (organization, silence) in organization::silences(&context.db, Some(organization)).await? {
        context.live.put_silence(organization, silence).await?;
    }
    Ok(())
}

async fn read(
    context: &Context,
    scope: &OrgScope,
    live_resource: LiveResource,
) -> Result<Option<Stored>, SqlError> {
    let on = context.db.read();
    Ok(match live_resource {
        LiveResource::Vehicle(id) => {
            let spans = out_of_service::spans(on, scope, id).await?;
            let calibrations = calibration::versions(context.db.read(), scope, id).await?;
            Some(match vehicle::find(context.db.read(), scope, id).await? {
                Some(vehicle) => {
                    let trackers = tracker::installed_in(context.db.read(), scope, id).await?;
                    let config = vehicle.attributes.tracking.config();
                    Stored::Vehicle(vehicle.tracked(spans, calibrations), trackers, config)
                }
                None => {
                    let since = spans.last().map_or_else(|| context.clock.now(), |(from, _)| *from);
                    Stored::NoVehicle(id, since)
                }
            })
        }
        // A deleted geofence is still found, with the version that ends it; if none is found, it was never created.
        LiveResource::Geofence(id) => match geofence::unsettled(on, scope, id).await? {
            Some(fence) => Some(Stored::Geofence(fence)),
            None => {
                let on = context.db.read();
                geofence::current(on, scope, id).await?.map(Stored::RenamedGeofence)
            }
        },
    })
}

async fn put_vehicle(context: &Context, vehicle: Vehicle) -> Result<(), LiveError> {
    let id = vehicle.id;
    let told = context.live.put_vehicle(vehicle).await;
    // Otherwise the next start may find that older fixes would now be judged differently, and judge them anew.
    if let Err(error) = context.track.save_state(id).await {
        tracing::warn!(%error, vehicle.id = %id, "the vehicle's state could not be stored; the fix log tells it");
    }
    told
}
