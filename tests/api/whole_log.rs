//! A log with an entry of every kind, and who may be told of each: a new kind is a line here.

use serde_json::{Value, json};
use uuid::Uuid;
use waypost::clock::new_id;
use waypost::domain::account::Role;
use waypost::store::time::Time;
use waypost_actors::model::{ChangeKind, ChangedResource};
use waypost_actors::tracking::RecordKind;
use waypost_test_support::eventually;

use crate::harness::{ANSWER_WITHIN, App, text};
use crate::matrix::World;

/// Numbers of the log that are free for entries.
const ROOM: usize = 100;
/// Scopes that open the changes of master data.
const OF_CHANGES: &str = "vehicles:read|drivers:read|geofences:read|users:read";

pub(crate) const EVENTS: May = May("SAODV", "events:read");
pub(crate) const FUEL: May = May("SAODV", "fuel:read");
pub(crate) const CHANGES: May = May("SAODV", OF_CHANGES);

/// Who may: letters of roles as in matrix.txt, and one of these scopes.
#[derive(Clone, Copy)]
pub(crate) struct May(&'static str, &'static str);

/// Who is told of a record.
const fn of_record(kind: RecordKind) -> May {
    match kind {
        RecordKind::Entry | RecordKind::Exit | RecordKind::Dwell | RecordKind::Overspeed => EVENTS,
        RecordKind::Trip | RecordKind::Stop => EVENTS,
        RecordKind::Online | RecordKind::Stale | RecordKind::Offline => EVENTS,
        // Of what is made here; one of a drain is for who may read fuel (tests/api/alerts.rs).
        RecordKind::Alert => EVENTS,
        RecordKind::Refuel | RecordKind::Drain => FUEL,
    }
}

/// Which thing of a world is changed, and who is told.
const fn of_change(resource: ChangedResource) -> (&'static str, May) {
    match resource {
        ChangedResource::Organization => ("organizations", CHANGES),
        ChangedResource::Vehicle => ("vehicles", May("SAODV", "vehicles:read")),
        ChangedResource::Tracker => ("trackers", May("SAODV", "vehicles:read")),
        ChangedResource::Geofence => ("geofences", May("SAODV", "geofences:read")),
        ChangedResource::Driver => ("drivers", May("SAODV", "drivers:read")),
        ChangedResource::Assignment => ("assignments", May("SAODV", "drivers:read")),
        // A dispatcher may list people, and is told of them as the list shows them.
        ChangedResource::User => ("users", May("SAOD", "users:read")),
        ChangedResource::SystemUser => ("system-users", May("SAO", "-")),
        ChangedResource::ApiKey => ("keys", May("SAO", "-")),
        // A system user takes two scopes for it.
        ChangedResource::Alert => ("alerts", May("SAODV", "-")),
    }
}

impl May {
    /// Whether it is for somebody who is this: a letter, or a scope.
    pub(crate) fn holds(self, is: &str) -> bool {
        match is.len() {
            1 => self.0.contains(is),
            _ => self.1.split('|').any(|scope| scope == is),
        }
    }
}

/// An entry of the log.
pub(crate) struct Entry {
    pub(crate) sequence: i64,
    /// Its kind, and which thing: what tells two entries apart.
    pub(crate) key: (String, String),
    /// Whose; none for the platform's own accounts.
    pub(crate) organization: Option<String>,
    pub(crate) may: May,
    /// Whether it is a change of master data.
    pub(crate) is_change: bool,
}

/// The entry that a reader was told of.
pub(crate) fn key(said: &Value) -> (String, String) {
    match said.get("resource") {
        Some(resource) => (format!("{} {}", text(resource), text(&said["kind"])), text(&said["resourceId"])),
        None => (text(&said["type"]), text(&said["id"])),
    }
}

/// Makes a log of every kind of entry. At its end are three of the first world, of which everybody there who is told of
/// anything is told one.
pub(crate) async fn log(app: &App, own: &World, foreign: &World) -> Vec<Entry> {
    let mut next = room(app, own).await;
    let mut log = Vec::new();
    let mut number = || {
        next += 1;
        next - 1
    };
    for world in [foreign, own] {
        for (_, kind) in RecordKind::WORDS {
            log.push(record(app, world, *kind, number()).await);
        }
        for (_, resource) in ChangedResource::WORDS {
            for (_, kind) in ChangeKind::WORDS {
                log.push(changed(app, Some(world), *resource, *kind, number()).await);
            }
        }
    }
    for (_, kind) in ChangeKind::WORDS {
        log.push(changed(app, None, ChangedResource::User, *kind, number()).await);
    }
    log.push(changed(app, Some(own), ChangedResource::Organization, ChangeKind::Updated, number()).await);
    log.push(record(app, own, RecordKind::Entry, number()).await);
    log.push(record(app, own, RecordKind::Refuel, number()).await);
    assert!(log.len() < ROOM, "{}", log.len());
    log
}

/// Makes room in the middle of the log; returns its first number.
async fn room(app: &App, world: &World) -> i64 {
    let tracker = &world.owned["trackers"];
    let path = format!("/v1/trackers/{tracker}?organizationId={}", world.organization);
    numbered(app).await;
    for number in 0..ROOM {
        app.put(&path, &app.root, json!({ "model": number.to_string() })).await.ok(200);
    }
    numbered(app).await;
    let tracker: Uuid = tracker.parse().unwrap();
    let first = "select min(sequence) from change where resource_id = $1 and kind = 'updated'";
    let first = app.context.db.read().sql(first).bind(tracker).scalar().await.unwrap();
    let delete = "delete from change where resource_id = $1 and kind = 'updated'";
    app.context.db.write().sql(delete).bind(tracker).run().await.unwrap();
    first
}

/// Waits until no change is without its number.
async fn numbered(app: &App) {
    let left = "select count(*) from change where sequence is null";
    let left = async || app.context.db.read().sql(left).scalar::<i64>().await.unwrap();
    eventually(ANSWER_WITHIN, async || left().await == 0).await;
}

async fn record(app: &App, world: &World, kind: RecordKind, sequence: i64) -> Entry {
    let id = new_id();
    let detail = match kind {
        RecordKind::Entry | RecordKind::Exit | RecordKind::Dwell => json!({ "durationSeconds": 1.0,
            "distanceMeters": 1.0, "movingSeconds": 1.0, "stoppedSeconds": 0.0, "gapSeconds": 0.0, "fixCount": 2,
            "stops": 0, "fuelUsedLiters": 3.5 }),
        RecordKind::Refuel | RecordKind::Drain => {
            json!({ "levelBeforeLiters": 20.0, "levelAfterLiters": 60.0,
            "volumeLiters": 40.0, "geofenceIds": [], "motion": "stopped", "confidence": 0.9, "calibrationVersion": 1 })
        }
        RecordKind::Overspeed => json!({ "limitKmh": 80.0, "maxSpeedKmh": 99.0, "distanceMeters": 300.0,
            "durationSeconds": 12.0 }),
        RecordKind::Trip | RecordKind::Stop => json!({ "endLocation": null, "startGeofenceIds": [],
            "endGeofenceIds": [], "totals": [[0, 0, 0, 0, 0, 0], 0.0] }),
        RecordKind::Online | RecordKind::Stale | RecordKind::Offline => {
            json!({ "heardAt": "2026-05-01T11:00:00Z" })
        }
        RecordKind::Alert => json!({ "causeId": id, "limitKmh": 80.0, "maxSpeedKmh": 99.0 }),
    };
    let insert = "insert into records (id, sequence, kind, status, revision, visit_id, organization_id, vehicle_id, \
        geofence_id, geofence_version, confirmed_at, occurred_at, time_uncertainty_seconds, detected_at, origin, cause, \
        inferred, latitude, longitude, fix_recorded_at, fix_latitude, fix_longitude, detail) values ($1, $2, $3, 'active', 1, \
        $1, $4, $5, $6, 1, $7, $7, 0.5, $7, 'live', $10, $8, 1.5, 2.5, $7, 1.5, 2.5, $9)";
    let uuid = |text: &str| text.parse::<Uuid>().unwrap();
    let stmt = app.context.db.write().sql(insert).bind(id).bind(sequence).bind(kind.as_str());
    let stmt = stmt.bind(uuid(&world.organization)).bind(uuid(&world.owned["vehicles"]));
    let stmt = stmt.bind(uuid(&world.owned["geofences"])).bind(Time(app.context.clock.now())).bind(false);
    let cause = if kind == RecordKind::Alert { "overspeed" } else { "crossing" };
    stmt.bind(detail.to_string()).bind(cause).run().await.unwrap();
    Entry {
        sequence,
        key: (kind.as_str().to_owned(), id.to_string()),
        organization: Some(world.organization.clone()),
        may: of_record(kind),
        is_change: false,
    }
}

/// A change of a thing of a world; without one, of an account of the platform.
async fn changed(
    app: &App,
    world: Option<&World>,
    resource: ChangedResource,
    kind: ChangeKind,
    sequence: i64,
) -> Entry {
    let (owned, may) = of_change(resource);
    let id = match world {
        Some(world) => world.owned[owned].parse().unwrap(),
        None => app.account(Role::Admin, None).await,
    };
    let organization = world.map(|world| world.organization.clone());
    let insert = "insert into change (id, sequence, organization_id, resource, resource_id, kind, changed_at) \
        values ($1, $2, $3, $4, $5, $6, $7)";
    let stmt = app.context.db.write().sql(insert).bind(new_id()).bind(sequence);
    let stmt = stmt.bind(organization.as_ref().map(|id| id.parse::<Uuid>().unwrap()));
    let stmt = stmt.bind(resource.as_str()).bind(id).bind(kind.as_str());
    stmt.bind(Time(app.context.clock.now())).run().await.unwrap();
    let key = (format!("{} {}", resource.as_str(), kind.as_str()), id.to_string());
    Entry { sequence, key, organization, may, is_change: true }
}
