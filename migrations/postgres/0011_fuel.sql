-- What fuel sensors said, one row per vehicle and instant, and what that means by the calibration in force then.
-- `id` follows from vehicle and instant: the instant in milliseconds, then a hash of the vehicle. Written by the
-- track writer only. Partitioned as positions are.
create table fuel_log (
    vehicle_id uuid not null,
    recorded_at timestamptz not null,
    id uuid not null,
    organization_id uuid not null,
    received_at timestamptz not null,
    latitude double precision,
    longitude double precision,
    speed_kmh double precision,
    odometer_km double precision,
    ignition boolean,
    distance_meters double precision,
    unit text not null,
    raw_value double precision not null,
    level_raw_liters double precision,
    level_liters double precision,
    level_percent double precision,
    counter_liters double precision,
    quality text not null,
    driver_id uuid,
    calibration_version bigint,
    constraint fuel_log_pkey primary key (vehicle_id, recorded_at),
    constraint fuel_log_unit_check check (unit in ('percent', 'liters', 'raw', 'cumulative')),
    constraint fuel_log_quality_check check (quality in ('ok', 'outOfRange', 'sensorError', 'uncalibrated'))
) partition by range (recorded_at);
create index fuel_log_organization_idx on fuel_log (organization_id, recorded_at, id);
create table fuel_log_default partition of fuel_log default;

-- Refuels and drains, numbered at commit from the same row as geofence events. `confirmed_at`: the instant on the
-- vehicle's timeline that made a record. Written by the track writer only.
create table fuel_event (
    id uuid not null,
    sequence bigint not null,
    kind text not null,
    status text not null,
    revision bigint not null,
    organization_id uuid not null,
    vehicle_id uuid not null,
    driver_id uuid,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    level_before_liters double precision not null,
    level_after_liters double precision not null,
    volume_liters double precision not null,
    latitude double precision,
    longitude double precision,
    geofence_ids jsonb not null,
    motion text not null,
    confidence double precision not null,
    calibration_version bigint not null,
    detected_at timestamptz not null,
    origin text not null,
    confirmed_at timestamptz not null,
    constraint fuel_event_pkey primary key (id),
    constraint fuel_event_sequence_key unique (sequence),
    constraint fuel_event_kind_check check (kind in ('refuel', 'drain')),
    constraint fuel_event_status_check check (status in ('active', 'retracted'))
);
create index fuel_event_organization_idx on fuel_event (organization_id, started_at, id);
create index fuel_event_vehicle_idx on fuel_event (vehicle_id, started_at, id);
create index fuel_event_confirmed_idx on fuel_event (vehicle_id, confirmed_at);
create index fuel_event_feed_idx on fuel_event (organization_id, sequence);

-- A vehicle's fuel sensor through its versions, as given; of those in force by an instant the one of the highest
-- number counts. Without `effective_from` it always was. `settled`: what it changes of the past is put right, or owed
-- by a dirty mark. Written by ops/vehicles; `settled` by the track writer.
create table fuel_calibration (
    vehicle_id uuid not null,
    version bigint not null,
    effective_from timestamptz,
    tank_capacity_liters double precision,
    sensor jsonb,
    created_at timestamptz not null,
    settled boolean not null,
    constraint fuel_calibration_pkey primary key (vehicle_id, version),
    constraint fuel_calibration_vehicle_fkey foreign key (vehicle_id) references vehicle (id)
);
insert into fuel_calibration (vehicle_id, version, tank_capacity_liters, created_at, settled)
    select id, 1, (fuel->>'tankCapacityLiters')::double precision, created_at, true from vehicle
    where fuel->>'tankCapacityLiters' is not null;

-- A counter of litres burnt, which a device may report beside a level.
alter table position add column fuel_cumulative double precision;
