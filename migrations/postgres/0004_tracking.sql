-- Fixes as recorded. Written by the track writer only. Partitioned by the device's clock, so that
-- the key that makes a fix stored once can be the table's own; what no partition holds (a fix of
-- 2003) goes to the default one. The server creates weekly partitions ahead.
create table position (
    vehicle_id uuid not null,
    recorded_at timestamptz not null,
    latitude double precision not null,
    longitude double precision not null,
    received_at timestamptz not null,
    speed_kmh double precision,
    heading_degrees double precision,
    altitude_meters double precision,
    accuracy_meters double precision,
    odometer_km double precision,
    ignition boolean,
    fuel_percent double precision,
    fuel_liters double precision,
    fuel_raw double precision,
    quarantine text,
    constraint position_pkey primary key (vehicle_id, recorded_at, latitude, longitude)
) partition by range (recorded_at);
create table position_default partition of position default;

-- The newest state of each vehicle: its newest fix for readers, and the engine's whole state.
-- `dirty_from`: events from this instant on await a correction. Written by the track writer only.
create table vehicle_state (
    vehicle_id uuid not null,
    organization_id uuid not null,
    recorded_at timestamptz,
    latitude double precision,
    longitude double precision,
    state jsonb not null,
    dirty_from timestamptz,
    constraint vehicle_state_pkey primary key (vehicle_id)
) with (fillfactor = 70);

-- Stays in geofences, open ones without an exit. Written by the track writer only.
create table visit (
    id uuid not null,
    organization_id uuid not null,
    vehicle_id uuid not null,
    geofence_id uuid not null,
    entry_event_id uuid not null,
    entered_at timestamptz not null,
    exit_event_id uuid,
    exited_at timestamptz,
    constraint visit_pkey primary key (id)
);
create index visit_geofence_idx on visit (geofence_id, entered_at);
create index visit_vehicle_idx on visit (vehicle_id, entered_at);

-- Entry, exit and dwell records, numbered at commit without gaps. Written by the track writer only.
create table geofence_event (
    id uuid not null,
    sequence bigint not null,
    kind text not null,
    status text not null,
    revision bigint not null,
    visit_id uuid not null,
    organization_id uuid not null,
    vehicle_id uuid not null,
    geofence_id uuid not null,
    geofence_version bigint not null,
    driver_id uuid,
    occurred_at timestamptz not null,
    time_uncertainty_seconds double precision not null,
    detected_at timestamptz not null,
    origin text not null,
    cause text not null,
    inferred boolean not null,
    latitude double precision not null,
    longitude double precision not null,
    fix_recorded_at timestamptz not null,
    fix_latitude double precision not null,
    fix_longitude double precision not null,
    fix_speed_kmh double precision,
    fix_heading_degrees double precision,
    fix_accuracy_meters double precision,
    constraint geofence_event_pkey primary key (id),
    constraint geofence_event_sequence_key unique (sequence),
    constraint geofence_event_kind_check check (kind in ('entry', 'exit', 'dwell')),
    constraint geofence_event_status_check check (status in ('active', 'retracted'))
);
create index geofence_event_organization_idx on geofence_event (organization_id, occurred_at, id);
create index geofence_event_vehicle_idx on geofence_event (vehicle_id, occurred_at, id);
create index geofence_event_geofence_idx on geofence_event (geofence_id, occurred_at, id);
create index geofence_event_feed_idx on geofence_event (organization_id, sequence);

-- Who may write the live tables, and the next number of an event. One row; its epoch rises with
-- each server that takes over, so that a server that lost the lock cannot commit.
create table writer (
    name text not null,
    epoch bigint not null,
    next_sequence bigint not null,
    constraint writer_pkey primary key (name)
);
insert into writer (name, epoch, next_sequence) values ('main', 0, 1);
