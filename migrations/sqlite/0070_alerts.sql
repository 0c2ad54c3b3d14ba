-- Alerts: records that a dispatcher should look at. SQLite cannot change a constraint, so the tables are made anew with all
-- kinds named. Written by the track writer only.
alter table records rename to records_before;

create table records (
    id blob not null,
    shard integer not null default 0,
    sequence integer not null,
    kind text not null,
    status text not null,
    revision integer not null,
    organization_id blob not null,
    vehicle_id blob not null,
    driver_id blob,
    occurred_at integer not null,
    ended_at integer,
    confirmed_at integer not null,
    detected_at integer not null,
    origin text not null,
    latitude real,
    longitude real,
    visit_id blob,
    geofence_id blob,
    geofence_version integer,
    time_uncertainty_seconds real,
    cause text,
    inferred integer,
    fix_recorded_at integer,
    fix_latitude real,
    fix_longitude real,
    fix_speed_kmh real,
    fix_heading_degrees real,
    fix_accuracy_meters real,
    detail text,
    constraint records_pkey primary key (id),
    constraint records_sequence_key unique (shard, sequence),
    constraint records_kind_check check (kind in ('entry', 'exit', 'dwell', 'refuel', 'drain', 'overspeed',
        'online', 'stale', 'offline', 'trip', 'stop', 'alert')),
    constraint records_status_check check (status in ('active', 'retracted'))
) strict;

insert into records (
    id, shard, sequence, kind, status, revision, organization_id, vehicle_id, driver_id, occurred_at, ended_at,
    confirmed_at, detected_at, origin, latitude, longitude, visit_id, geofence_id, geofence_version,
    time_uncertainty_seconds, cause, inferred, fix_recorded_at, fix_latitude, fix_longitude, fix_speed_kmh,
    fix_heading_degrees, fix_accuracy_meters, detail)
    select
    id, shard, sequence, kind, status, revision, organization_id, vehicle_id, driver_id, occurred_at, ended_at,
    confirmed_at, detected_at, origin, latitude, longitude, visit_id, geofence_id, geofence_version,
    time_uncertainty_seconds, cause, inferred, fix_recorded_at, fix_latitude, fix_longitude, fix_speed_kmh,
    fix_heading_degrees, fix_accuracy_meters, detail
    from records_before;
drop table records_before;

create index records_organization_idx on records (organization_id, occurred_at, id);
create index records_vehicle_idx on records (vehicle_id, occurred_at, id);
-- Corrections find the records of a part by `occurred_at`, which is hardly earlier; these are the others.
create index records_lagging_idx on records (vehicle_id, confirmed_at) where confirmed_at - occurred_at > 3600000000;
create index records_geofence_idx on records (geofence_id, occurred_at, id) where geofence_id is not null;
create index records_feed_idx on records (organization_id, shard, sequence);
create index records_vehicle_feed_idx on records (vehicle_id, shard, sequence);
create index records_driver_idx on records (organization_id, driver_id, occurred_at, id) where driver_id is not null;

-- What few records are; lists say it in the same words.
create index records_dwell_idx on records (organization_id, occurred_at, id) where kind = 'dwell';
create index records_overspeed_idx on records (organization_id, occurred_at, id) where kind = 'overspeed';
create index records_fuel_idx on records (organization_id, occurred_at, id) where kind in ('refuel', 'drain');
create index records_fuel_feed_idx on records (organization_id, shard, sequence) where kind in ('refuel', 'drain');
create index records_vehicle_fuel_idx on records (vehicle_id, occurred_at, id) where kind in ('refuel', 'drain');
create index records_retracted_idx on records (organization_id, occurred_at, id) where status = 'retracted';
create index records_inferred_idx on records (organization_id, occurred_at, id) where inferred;
create index records_cause_idx on records (organization_id, occurred_at, id) where cause <> 'crossing';
create index records_origin_idx on records (organization_id, occurred_at, id) where origin <> 'live';
create index records_connection_idx on records (organization_id, occurred_at, id)
    where kind in ('online', 'stale', 'offline');
-- A start asks for the newest one of each vehicle.
create index records_vehicle_connection_idx on records (vehicle_id, sequence) where kind in ('online', 'stale', 'offline');

-- Trips and stops: of an organization, of a vehicle, and those that go on.
create index records_trip_idx on records (organization_id, occurred_at, id) where kind = 'trip';
create index records_stop_idx on records (organization_id, occurred_at, id) where kind = 'stop';
create index records_vehicle_trip_idx on records (vehicle_id, occurred_at, id) where kind = 'trip';
create index records_vehicle_stop_idx on records (vehicle_id, occurred_at, id) where kind = 'stop';
create index records_open_trip_idx on records (organization_id, occurred_at, id) where kind = 'trip' and ended_at is null;
create index records_open_stop_idx on records (organization_id, occurred_at, id) where kind = 'stop' and ended_at is null;

-- Alerts: of an organization, of a vehicle, as they were numbered, and those that go on. Their rule is the cause.
create index records_alert_idx on records (organization_id, occurred_at, id) where kind = 'alert';
create index records_alert_feed_idx on records (organization_id, shard, sequence) where kind = 'alert';
create index records_vehicle_alert_idx on records (vehicle_id, occurred_at, id) where kind = 'alert';
create index records_open_alert_idx on records (organization_id, occurred_at, id)
    where kind = 'alert' and status = 'active' and ended_at is null;

-- What is done with an alert is among the changes.
alter table change rename to change_before;

create table change (
    id blob not null,
    shard integer not null default 0,
    sequence integer,
    organization_id blob,
    resource text not null,
    resource_id blob not null,
    kind text not null,
    changed_at integer not null,
    vehicle_id blob,
    driven_from integer,
    driven_to integer,
    constraint change_pkey primary key (id),
    constraint change_sequence_key unique (shard, sequence),
    constraint change_resource_check check (resource in
        ('organization', 'vehicle', 'tracker', 'geofence', 'driver', 'user', 'systemUser', 'apiKey', 'assignment', 'alert')),
    constraint change_kind_check check (kind in ('created', 'updated', 'deleted'))
) strict;

insert into change (id, shard, sequence, organization_id, resource, resource_id, kind, changed_at,
    vehicle_id, driven_from, driven_to)
    select id, shard, sequence, organization_id, resource, resource_id, kind, changed_at,
    vehicle_id, driven_from, driven_to from change_before;
drop table change_before;

create index change_waiting_idx on change (id) where sequence is null;
create index change_feed_idx on change (organization_id, shard, sequence);
create index change_driven_idx on change (id) where driven_from is not null;

-- What dispatchers did with an alert: that somebody has seen it, and until when it is put off. Written by store/alert;
-- retention deletes the rows whose alert is gone.
create table alert_state (
    alert_id blob not null,
    organization_id blob not null,
    acknowledged_at integer,
    acknowledged_by blob,
    snoozed_until integer,
    snoozed_by blob,
    updated_at integer not null,
    constraint alert_state_pkey primary key (alert_id),
    constraint alert_state_organization_fkey foreign key (organization_id) references organization (id)
) strict;
create index alert_state_organization_idx on alert_state (organization_id);

-- Whose licences have expired.
create index driver_license_expiry_idx on driver (license_expires_at) where license_expires_at is not null;
