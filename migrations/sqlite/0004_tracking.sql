-- Fixes as recorded. Written by the track writer only.
create table position (
    vehicle_id blob not null,
    recorded_at integer not null,
    latitude real not null,
    longitude real not null,
    received_at integer not null,
    speed_kmh real,
    heading_degrees real,
    altitude_meters real,
    accuracy_meters real,
    odometer_km real,
    ignition integer,
    fuel_percent real,
    fuel_liters real,
    fuel_raw real,
    quarantine text,
    constraint position_pkey primary key (vehicle_id, recorded_at, latitude, longitude)
) strict, without rowid;

-- The newest state of each vehicle: its newest fix for readers, and the engine's whole state.
-- `dirty_from`: events from this instant on await a correction. Written by the track writer only.
create table vehicle_state (
    vehicle_id blob not null,
    organization_id blob not null,
    recorded_at integer,
    latitude real,
    longitude real,
    state text not null,
    dirty_from integer,
    constraint vehicle_state_pkey primary key (vehicle_id)
) strict;

-- Stays in geofences, open ones without an exit. Written by the track writer only.
create table visit (
    id blob not null,
    organization_id blob not null,
    vehicle_id blob not null,
    geofence_id blob not null,
    entry_event_id blob not null,
    entered_at integer not null,
    exit_event_id blob,
    exited_at integer,
    constraint visit_pkey primary key (id)
) strict;
create index visit_geofence_idx on visit (geofence_id, entered_at);
create index visit_vehicle_idx on visit (vehicle_id, entered_at);

-- Entry, exit and dwell records, numbered at commit without gaps. Written by the track writer only.
create table geofence_event (
    id blob not null,
    sequence integer not null,
    kind text not null,
    status text not null,
    revision integer not null,
    visit_id blob not null,
    organization_id blob not null,
    vehicle_id blob not null,
    geofence_id blob not null,
    geofence_version integer not null,
    driver_id blob,
    occurred_at integer not null,
    time_uncertainty_seconds real not null,
    detected_at integer not null,
    origin text not null,
    cause text not null,
    inferred integer not null,
    latitude real not null,
    longitude real not null,
    fix_recorded_at integer not null,
    fix_latitude real not null,
    fix_longitude real not null,
    fix_speed_kmh real,
    fix_heading_degrees real,
    fix_accuracy_meters real,
    constraint geofence_event_pkey primary key (id),
    constraint geofence_event_sequence_key unique (sequence),
    constraint geofence_event_kind_check check (kind in ('entry', 'exit', 'dwell')),
    constraint geofence_event_status_check check (status in ('active', 'retracted'))
) strict;
create index geofence_event_organization_idx on geofence_event (organization_id, occurred_at, id);
create index geofence_event_vehicle_idx on geofence_event (vehicle_id, occurred_at, id);
create index geofence_event_geofence_idx on geofence_event (geofence_id, occurred_at, id);
create index geofence_event_feed_idx on geofence_event (organization_id, sequence);

-- Who may write the live tables, and the next number of an event. One row; its epoch rises with
-- each server that takes over, so that a server that lost the lock cannot commit.
create table writer (
    name text not null,
    epoch integer not null,
    next_sequence integer not null,
    constraint writer_pkey primary key (name)
) strict;
insert into writer (name, epoch, next_sequence) values ('main', 0, 1);
