-- What fuel sensors said, one row per vehicle and instant, and what that means by the calibration in force then.
-- `id` follows from vehicle and instant: the instant in milliseconds, then a hash of the vehicle. Written by the
-- track writer only.
create table fuel_log (
    vehicle_id blob not null,
    recorded_at integer not null,
    id blob not null,
    organization_id blob not null,
    received_at integer not null,
    latitude real,
    longitude real,
    speed_kmh real,
    odometer_km real,
    ignition integer,
    distance_meters real,
    unit text not null,
    raw_value real not null,
    level_raw_liters real,
    level_liters real,
    level_percent real,
    counter_liters real,
    quality text not null,
    driver_id blob,
    calibration_version integer,
    constraint fuel_log_pkey primary key (vehicle_id, recorded_at),
    constraint fuel_log_unit_check check (unit in ('percent', 'liters', 'raw', 'cumulative')),
    constraint fuel_log_quality_check check (quality in ('ok', 'outOfRange', 'sensorError', 'uncalibrated'))
) strict, without rowid;
create index fuel_log_organization_idx on fuel_log (organization_id, recorded_at, id);

-- Refuels and drains, numbered at commit from the same row as geofence events. `confirmed_at`: the instant on the
-- vehicle's timeline that made a record. Written by the track writer only.
create table fuel_event (
    id blob not null,
    sequence integer not null,
    kind text not null,
    status text not null,
    revision integer not null,
    organization_id blob not null,
    vehicle_id blob not null,
    driver_id blob,
    started_at integer not null,
    ended_at integer not null,
    level_before_liters real not null,
    level_after_liters real not null,
    volume_liters real not null,
    latitude real,
    longitude real,
    geofence_ids text not null,
    motion text not null,
    confidence real not null,
    calibration_version integer not null,
    detected_at integer not null,
    origin text not null,
    confirmed_at integer not null,
    constraint fuel_event_pkey primary key (id),
    constraint fuel_event_sequence_key unique (sequence),
    constraint fuel_event_kind_check check (kind in ('refuel', 'drain')),
    constraint fuel_event_status_check check (status in ('active', 'retracted'))
) strict;
create index fuel_event_organization_idx on fuel_event (organization_id, started_at, id);
create index fuel_event_vehicle_idx on fuel_event (vehicle_id, started_at, id);
create index fuel_event_confirmed_idx on fuel_event (vehicle_id, confirmed_at);
create index fuel_event_feed_idx on fuel_event (organization_id, sequence);

-- A vehicle's fuel sensor through its versions, as given; of those in force by an instant the one of the highest
-- number counts. Without `effective_from` it always was. `settled`: what it changes of the past is put right, or owed
-- by a dirty mark. Written by ops/vehicles; `settled` by the track writer.
create table fuel_calibration (
    vehicle_id blob not null,
    version integer not null,
    effective_from integer,
    tank_capacity_liters real,
    sensor text,
    created_at integer not null,
    settled integer not null,
    constraint fuel_calibration_pkey primary key (vehicle_id, version),
    constraint fuel_calibration_vehicle_fkey foreign key (vehicle_id) references vehicle (id)
) strict;
insert into fuel_calibration (vehicle_id, version, tank_capacity_liters, created_at, settled)
    select id, 1, cast(json_extract(fuel, '$.tankCapacityLiters') as real), created_at, 1 from vehicle
    where json_extract(fuel, '$.tankCapacityLiters') is not null;

-- A counter of litres burnt, which a device may report beside a level.
alter table position add column fuel_cumulative real;
